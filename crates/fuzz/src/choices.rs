//! Random choices, drawn from a seed or from the bytes of a coverage-guided fuzzer.

use crate::schema::words;
use afflux_engine::random::Stream;
use toml::Value;

/// Source of random numbers.
pub trait Source {
    /// Returns a number below `n`. `n` is above 0.
    fn below(&mut self, n: u64) -> u64;
}

impl Source for Stream {
    fn below(&mut self, n: u64) -> u64 {
        Stream::below(self, n)
    }
}

/// Bytes that are consumed in order. When they are exhausted, each choice is the first option.
pub struct Bytes<'a>(pub &'a [u8]);

impl Source for Bytes<'_> {
    fn below(&mut self, n: u64) -> u64 {
        let bytes = (u64::BITS - (n - 1).leading_zeros()).div_ceil(8) as usize;
        let (taken, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)) % n
    }
}

/// Random choices for a generator.
pub struct Choices<'a>(
    &'a mut dyn Source,
    /// True if scenarios may use the features of [`NEWER`](crate::generate::NEWER). Otherwise
    /// generators draw only older features.
    pub bool,
);

impl<'a> Choices<'a> {
    pub fn new(source: &'a mut dyn Source) -> Self {
        Choices(source, false)
    }

    /// Returns true with a probability of `percent` %.
    pub fn chance(&mut self, percent: u64) -> bool {
        // Exhausted bytes give "no".
        self.0.below(100) >= 100 - percent
    }

    /// Returns a number from `least` to `most`, both included.
    pub fn range(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }

    /// Returns a number from `least` to `most`. Each power of two is equally likely.
    pub fn scale(&mut self, least: u64, most: u64) -> u64 {
        let doublings = (most / least).ilog2() as u64;
        let floor = least << self.range(0, doublings);
        self.range(floor, (2 * floor - 1).min(most))
    }

    pub fn of<T: Clone>(&mut self, these: &[T]) -> T {
        these[self.0.below(these.len() as u64) as usize].clone()
    }

    /// Returns one of the items with a probability proportional to its weight.
    pub fn weighted<T: Clone>(&mut self, these: &[(u64, T)]) -> T {
        let mut left = self.0.below(these.iter().map(|(weight, _)| weight).sum());
        for (weight, this) in these {
            match left.checked_sub(*weight) {
                None => return this.clone(),
                Some(beyond) => left = beyond,
            }
        }
        unreachable!("below the sum")
    }

    /// Returns a number from `least` to `most` in steps of a thousandth of the range.
    pub fn real(&mut self, least: f64, most: f64) -> f64 {
        let share = self.0.below(1_001) as f64 / 1_000.0;
        ((least + share * (most - least)) * 1e6).round() / 1e6
    }

    /// Returns the text of a time between `least_ns` and `most_ns` nanoseconds.
    pub fn time(&mut self, least_ns: u64, most_ns: u64) -> String {
        format!("{}ns", self.scale(least_ns, most_ns))
    }

    pub fn size(&mut self, least: u64, most: u64) -> String {
        format!("{}B", self.scale(least, most))
    }

    /// Returns `count` different numbers below `n`, in ascending order.
    pub fn some_below(&mut self, count: u64, n: u64) -> Vec<u64> {
        let mut left: Vec<u64> = (0..n).collect();
        while left.len() as u64 > count {
            let gone = self.0.below(left.len() as u64);
            left.remove(gone as usize);
        }
        left
    }
}

/// A table under construction.
#[derive(Debug, Clone, Default)]
pub struct Keys(pub toml::Table);

impl Keys {
    pub fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.into(), value.into());
    }

    /// Sets `key` with a probability of `percent` %.
    pub fn may<V: Into<Value>>(
        &mut self,
        c: &mut Choices,
        percent: u64,
        key: &str,
        value: impl FnOnce(&mut Choices) -> V,
    ) {
        if c.chance(percent) {
            let value = value(c);
            self.put(key, value);
        }
    }

    /// Draws the keys of the rows, in their order.
    pub fn draw(&mut self, c: &mut Choices, rows: &[Row]) {
        for (percent, key, draw) in rows {
            if *percent == ALWAYS || c.chance(*percent) {
                self.put(key, draw.value(c));
            }
        }
    }

    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Returns the text of a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }
}

impl From<Keys> for Value {
    fn from(keys: Keys) -> Value {
        Value::Table(keys.0)
    }
}

/// Converts a whole number to TOML.
pub fn int(number: u64) -> Value {
    Value::Integer(number as i64)
}

pub fn ints(numbers: &[u64]) -> Value {
    Value::Array(numbers.iter().map(|number| int(*number)).collect())
}

use Draw::*;

/// Distribution of the value of a key.
#[derive(Debug, Clone, Copy)]
pub enum Draw {
    /// A whole number from the first to the second, both included.
    Int(u64, u64),
    /// A whole number between the two, where each power of two is equally likely. A unit may follow.
    Scale(u64, u64),
    Unit(u64, u64, &'static str),
    Size(u64, u64),
    /// A time in ns.
    Time(u64, u64),
    Real(f64, f64),
    /// True with this probability in %.
    Chance(u64),
    /// A random element of the list.
    Ints(&'static [u64]),
    Reals(&'static [f64]),
    Texts(&'static [&'static str]),
    /// A word of an enumeration of the schema.
    Word(&'static str),
    /// The first with this probability in %, and the second otherwise.
    Or(u64, &'static Draw, &'static Draw),
    Table(&'static [Row]),
    Flag(bool),
    Number(f64),
    Text(&'static str),
}
/// Probability of a key in %, the key, and its value.
pub type Row = (u64, &'static str, Draw);

/// Probability of a key that every table has: nothing is drawn for it.
pub const ALWAYS: u64 = 100;

pub const OFF: &Draw = &Text("off");

impl Draw {
    fn value(self, c: &mut Choices) -> Value {
        match self {
            Int(least, most) => int(c.range(least, most)),
            Scale(least, most) => int(c.scale(least, most)),
            Unit(least, most, unit) => format!("{}{unit}", c.scale(least, most)).into(),
            Size(least, most) => c.size(least, most).into(),
            Time(least, most) => c.time(least, most).into(),
            Real(least, most) => c.real(least, most).into(),
            Chance(percent) => c.chance(percent).into(),
            Ints(these) => int(c.of(these)),
            Reals(these) => c.of(these).into(),
            Texts(these) => c.of(these).into(),
            Word(name) => c.of(&words(name)).into(),
            Or(percent, first, _) if c.chance(percent) => first.value(c),
            Or(.., second) => second.value(c),
            Table(rows) => drawn(c, rows).into(),
            Flag(flag) => flag.into(),
            Number(number) => number.into(),
            Text(text) => text.into(),
        }
    }
}

/// Returns a table of drawn keys.
pub fn drawn(c: &mut Choices, rows: &[Row]) -> Keys {
    let mut keys = Keys::default();
    keys.draw(c, rows);
    keys
}
