//! A scenario as written: TOML values with their origins.

mod de;
mod key;
mod read;
mod set;
mod written;

pub use de::{Wrong, with_range};
pub use key::{Key, Segment};
pub use read::NotToml;

/// Origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Line of the file, from 1.
    Line(usize),
    /// `--set` or another command line option, as given.
    Option(String),
}

#[derive(Debug, Clone)]
pub struct Tree {
    pub value: Value,
    pub origin: Origin,
}

#[derive(Debug, Clone)]
pub enum Value {
    Text(String),
    Integer(i64),
    /// A whole number of more than 64 bits, as written. No key has such a value.
    Huge(String),
    Float(f64),
    Boolean(bool),
    /// A TOML date. Scenarios do not use dates.
    Datetime(String),
    Array(Vec<Tree>),
    /// Entries in the order of the file.
    Table(Vec<Entry>),
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub name: String,
    /// Origin of the key.
    pub origin: Origin,
    pub tree: Tree,
}

impl Value {
    /// Returns the value as error messages show it.
    pub fn shown(&self) -> String {
        match self {
            Value::Text(text) => format!("\"{text}\""),
            Value::Integer(number) => number.to_string(),
            Value::Huge(digits) => digits.clone(),
            // With the decimal point, which distinguishes 1.0 from a whole number.
            Value::Float(number) => format!("{number:?}"),
            Value::Boolean(value) => value.to_string(),
            Value::Datetime(text) => format!("the date {text}"),
            Value::Array(_) => "an array".into(),
            Value::Table(_) => "a table".into(),
        }
    }
}

impl Tree {
    /// Returns the value at `key`, if there is one.
    pub fn at(&self, key: &Key) -> Option<&Tree> {
        key.segments().iter().try_fold(self, |tree, segment| match (&tree.value, segment) {
            (Value::Table(entries), Segment::Name(name)) => {
                entries.iter().find(|entry| entry.name == *name).map(|entry| &entry.tree)
            }
            (Value::Array(items), Segment::Index(index)) => items.get(*index),
            _ => None,
        })
    }

    /// True if there is a value at `key`.
    pub fn has(&self, key: &Key) -> bool {
        self.at(key).is_some()
    }

    /// True if the value at `key` is the number 0.
    pub fn is_zero(&self, key: &Key) -> bool {
        self.at(key).is_some_and(|tree| matches!(tree.value, Value::Integer(0)))
    }

    /// Returns the line of `key`, if the file has it.
    pub fn line_of(&self, key: &Key) -> Option<usize> {
        match self.origin_of(key) {
            Origin::Line(line) if self.has(key) => Some(line),
            _ => None,
        }
    }

    /// Returns the origin of `key`, or of the innermost written table that would contain it.
    pub fn origin_of(&self, key: &Key) -> Origin {
        let (mut tree, mut origin) = (self, &self.origin);
        for segment in key.segments() {
            match (&tree.value, segment) {
                (Value::Table(entries), Segment::Name(name)) => {
                    match entries.iter().find(|e| e.name == *name) {
                        Some(entry) => (tree, origin) = (&entry.tree, &entry.origin),
                        None => break,
                    }
                }
                (Value::Array(items), Segment::Index(index)) => match items.get(*index) {
                    Some(item) => (tree, origin) = (item, &item.origin),
                    None => break,
                },
                _ => break,
            }
        }
        origin.clone()
    }
}
