//! Deserializer from a tree into a document, with errors that name the key.
//!
//! The key `kind` selects the table of an enum. Errors inside such a table keep their path, which
//! serde's own tagged enums lose.

use super::{Entry, Key, Segment, Tree, Value};
use crate::spelling;
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use std::fmt;
use std::path::{Path, PathBuf};

/// An error at a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    pub key: Key,
    pub message: String,
    /// Input file, and its line if known, that contains the mistake.
    pub input: Option<(PathBuf, Option<usize>)>,
}

/// Key that selects a variant of an enum of tables.
const TAG: &str = "kind";

impl Wrong {
    pub fn at(key: Key, message: impl Into<String>) -> Self {
        Wrong { key, message: message.into(), input: None }
    }
    /// Returns an error inside `file`, which the value of `key` names.
    pub fn input(key: Key, file: &Path, line: Option<usize>, message: impl Into<String>) -> Self {
        Wrong { key, message: message.into(), input: Some((file.to_path_buf(), line)) }
    }
    fn new(message: String) -> Self {
        Wrong::at(Key::default(), message)
    }
    fn inside(mut self, segment: Segment) -> Self {
        self.key = self.key.within(segment);
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_top() {
            f.write_str(&self.message)
        } else {
            write!(f, "key {}: {}", self.key, self.message)
        }
    }
}
impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Wrong::new(message.to_string())
    }
    fn invalid_type(found: Unexpected, expected: &dyn Expected) -> Self {
        Wrong::new(format!("found {}: write {}", shown(found), wanted(expected)))
    }
    fn invalid_value(found: Unexpected, expected: &dyn Expected) -> Self {
        Wrong::new(format!("found {}: write {}", shown(found), wanted(expected)))
    }
    fn invalid_length(count: usize, expected: &dyn Expected) -> Self {
        Wrong::new(format!("found {count} elements: write {}", wanted(expected)))
    }
    fn unknown_field(found: &str, known: &'static [&'static str]) -> Self {
        Wrong::new(spelling::unknown_key(found, known))
    }
    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Self {
        let known = known.iter().copied();
        Wrong::new(format!(
            "\"{found}\" is not known{}: write {}",
            spelling::suggestion(found, known.clone()),
            spelling::list(known)
        ))
    }
    fn missing_field(name: &'static str) -> Self {
        Wrong::new(format!("the key \"{name}\" is missing"))
    }
    fn duplicate_field(name: &'static str) -> Self {
        Wrong::new(format!("the key \"{name}\" is there twice"))
    }
}

fn shown(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Float(number) => format!("{number:?}"),
        Unexpected::Str(text) => format!("\"{text}\""),
        Unexpected::Seq => "an array".into(),
        Unexpected::Map => "a table".into(),
        other => other.to_string(),
    }
}

/// Describes the value that serde expects in the terms of a scenario file.
fn wanted(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    match text.as_str() {
        // Whether 0 is allowed depends on the key.
        "u8" => not_negative(u8::MAX.into()),
        "u16" => not_negative(u16::MAX.into()),
        "u32" => not_negative(u32::MAX.into()),
        "u64" | "usize" => not_negative(i64::MAX as u64),
        "i64" => WHOLE.into(),
        "f64" => NUMBER.into(),
        "a boolean" => "true or false".into(),
        "a string" => "text in quotes".into(),
        "a sequence" => "an array".into(),
        "a map" => "a table".into(),
        other if other.starts_with("struct ") => "a table".into(),
        other if other.starts_with("an array of length ") => {
            other.replacen("an array of length ", "an array of ", 1) + " elements"
        }
        _ => text,
    }
}

fn not_negative(most: u64) -> String {
    format!("{WHOLE} up to {most}, not negative")
}

/// Returns the message of a value of the wrong type for a key whose range is known. `range`
/// replaces the range of the type.
pub fn with_range(message: &str, range: &str) -> Option<String> {
    let (found, wanted) = message.rsplit_once(WRITE)?;
    let is_whole = wanted.starts_with(WHOLE);
    let number = found.strip_prefix("found ").unwrap_or_default();
    let has_point = number.parse::<f64>().is_ok() && number.contains(['.', 'e']);
    let range = match range.strip_prefix(NUMBER) {
        Some(limits) if is_whole && has_point => format!("{WHOLE}{limits}"),
        _ => range.to_string(),
    };
    (is_whole || wanted == NUMBER).then(|| format!("{found}{WRITE}{range}"))
}

/// Text between what was found and what is allowed.
const WRITE: &str = ": write ";
const WHOLE: &str = "a whole number";
const NUMBER: &str = "a number";

impl<'de> Deserializer<'de> for &'de Tree {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Text(text) => visitor.visit_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Huge(text) => Err(de::Error::invalid_type(Unexpected::Other(text), &visitor)),
            Value::Datetime(text) => Err(de::Error::invalid_type(
                Unexpected::Other(&format!("the date {text}")),
                &visitor,
            )),
            Value::Array(items) => visitor.visit_seq(Items { items, next: 0 }),
            Value::Table(entries) => {
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by_key(|entry| entry.name != TAG);
                visitor.visit_map(Entries { entries, next: 0 })
            }
        }
    }
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }
    /// `default` is the kind of a table without the key `kind`, or empty if the key is required.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        default: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Text(text) => visitor.visit_enum(Choice { name: text, tagged: None }),
            Value::Table(entries) => {
                let choices = || spelling::list(known.iter().copied());
                let Some(tag) = entries.iter().find(|e| e.name == TAG) else {
                    if known.contains(&default) {
                        return visitor.visit_enum(Choice { name: default, tagged: Some(entries) });
                    }
                    return Err(Wrong::new(format!(
                        "the key \"{TAG}\" is missing: write {TAG} = {}",
                        choices()
                    )));
                };
                let Value::Text(name) = &tag.tree.value else {
                    let message = format!("found {}: write {}", tag.tree.value.shown(), choices());
                    return Err(Wrong::new(message).inside(Segment::Name(TAG.into())));
                };
                visitor.visit_enum(Choice { name, tagged: Some(entries) })
            }
            other => Err(Wrong::new(format!(
                "found {}: write {}",
                other.shown(),
                spelling::list(known.iter().copied())
            ))),
        }
    }
    /// Checks the length of fixed-length arrays, because serde ignores surplus elements.
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Array(items) if items.len() != length => {
                Err(de::Error::invalid_length(items.len(), &visitor))
            }
            _ => self.deserialize_any(visitor),
        }
    }
    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple_struct
        map struct identifier ignored_any
    }
}

struct Items<'de> {
    items: &'de [Tree],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Wrong;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Wrong> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(item)
            .map(Some)
            .map_err(|wrong| wrong.inside(Segment::Index(self.next - 1)))
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

struct Entries<'de> {
    entries: Vec<&'de Entry>,
    next: usize,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Wrong;
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        let Some(entry) = self.entries.get(self.next) else { return Ok(None) };
        let name: StrDeserializer<'_, Wrong> = entry.name.as_str().into_deserializer();
        seed.deserialize(name)
            .map(Some)
            .map_err(|wrong| wrong.inside(Segment::Name(entry.name.clone())))
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let entry = self.entries[self.next];
        self.next += 1;
        seed.deserialize(&entry.tree)
            .map_err(|wrong| wrong.inside(Segment::Name(entry.name.clone())))
    }
}

/// A word, or a table with its `kind`.
struct Choice<'de> {
    name: &'de str,
    tagged: Option<&'de [Entry]>,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Wrong;
    type Variant = Self;
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Wrong> {
        let name: StrDeserializer<'_, Wrong> = self.name.into_deserializer();
        match seed.deserialize(name) {
            Ok(value) => Ok((value, self)),
            Err(wrong) if self.tagged.is_some() => Err(wrong.inside(Segment::Name(TAG.into()))),
            Err(wrong) => Err(wrong),
        }
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = Wrong;
    fn unit_variant(self) -> Result<(), Wrong> {
        match self.tagged {
            None => Ok(()),
            Some(_) => Err(Wrong::new(format!("found a table: write \"{}\"", self.name))),
        }
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Wrong> {
        match self.tagged {
            Some(entries) => seed.deserialize(Untagged(entries)),
            // The name alone is valid if the kind has no required key.
            None => seed.deserialize(Untagged(&[])).map_err(|_| {
                Wrong::new(format!("found \"{0}\": write a table with {TAG} = \"{0}\"", self.name))
            }),
        }
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        Err(de::Error::invalid_type(Unexpected::Map, &visitor))
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        Err(de::Error::invalid_type(Unexpected::Map, &visitor))
    }
}

/// A table without its key `kind`.
struct Untagged<'de>(&'de [Entry]);

impl<'de> Deserializer<'de> for Untagged<'de> {
    type Error = Wrong;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_map(Entries {
            entries: self.0.iter().filter(|e| e.name != TAG).collect(),
            next: 0,
        })
    }
    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}
