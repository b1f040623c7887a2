//! Random choices, from a seed or from the bytes of a coverage-guided fuzzer.

use afflux_engine::random::Stream;
use toml::{Table, Value};

/// Where choices come from.
pub trait Source {
    /// A number below `n`, which is above 0.
    fn below(&mut self, n: u64) -> u64;
}

impl Source for Stream {
    fn below(&mut self, n: u64) -> u64 {
        Stream::below(self, n)
    }
}

/// Bytes that are taken one after the other; when there are none left, every choice is the first.
pub struct Bytes<'a>(pub &'a [u8]);

impl Source for Bytes<'_> {
    fn below(&mut self, n: u64) -> u64 {
        let bytes = (u64::BITS - (n - 1).leading_zeros()).div_ceil(8) as usize;
        let (taken, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)) % n
    }
}

/// What a generator asks for.
pub struct Choices<'a>(
    &'a mut dyn Source,
    /// Also what generators learnt later: without it they make what they always made.
    pub bool,
);

impl<'a> Choices<'a> {
    pub fn new(source: &'a mut dyn Source) -> Self {
        Choices(source, false)
    }

    /// True in so many cases of a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        // The first choice of exhausted bytes is "no".
        self.0.below(100) >= 100 - percent
    }

    /// From `least` to `most`, both included.
    pub fn range(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }

    /// The same, each power of two as likely as the next.
    pub fn scale(&mut self, least: u64, most: u64) -> u64 {
        let doublings = (most / least).ilog2() as u64;
        let floor = least << self.range(0, doublings);
        self.range(floor, (2 * floor - 1).min(most))
    }

    pub fn of<T: Clone>(&mut self, these: &[T]) -> T {
        these[self.0.below(these.len() as u64) as usize].clone()
    }

    /// One of these, each as likely as its weight says.
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

    /// From `least` to `most` in a thousand steps.
    pub fn real(&mut self, least: f64, most: f64) -> f64 {
        let share = self.0.below(1_001) as f64 / 1_000.0;
        ((least + share * (most - least)) * 1e6).round() / 1e6
    }

    /// A time in nanoseconds, as it is written.
    pub fn time(&mut self, least_ns: u64, most_ns: u64) -> String {
        format!("{}ns", self.scale(least_ns, most_ns))
    }

    pub fn size(&mut self, least: u64, most: u64) -> String {
        format!("{}B", self.scale(least, most))
    }

    /// So many different numbers below `n`, in ascending order.
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
pub struct Keys(pub Table);

impl Keys {
    pub fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.into(), value.into());
    }

    /// In so many cases of a hundred.
    pub fn may<V: Into<Value>>(&mut self, c: &mut Choices, percent: u64, key: &str, value: impl FnOnce(&mut Choices) -> V) {
        if c.chance(percent) {
            let value = value(c);
            self.put(key, value);
        }
    }
}

impl From<Keys> for Value {
    fn from(keys: Keys) -> Value {
        Value::Table(keys.0)
    }
}

/// A whole number, as TOML has it.
pub fn int(number: u64) -> Value {
    Value::Integer(number as i64)
}

pub fn ints(numbers: &[u64]) -> Value {
    Value::Array(numbers.iter().map(|number| int(*number)).collect())
}
