//! Checks of the values of keys.

use crate::tree::{Key, Wrong, with_range};
use crate::{Duration, Speed};
use afflux_units::{Rate, Span, Time};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer};
use std::fmt::Display;
use std::marker::PhantomData;

/// Returns the error for a key that has no effect together with another key.
pub fn meaningless(key: Key, beside: &str) -> Wrong {
    Wrong::at(key, format!("has no effect with {beside}: remove it"))
}

/// Returns `value` if it lies between `least` and `most`.
pub fn within<T: PartialOrd + Display>(
    value: T,
    least: T,
    most: T,
    words: Option<&str>,
    key: Key,
) -> Result<T, Wrong> {
    if value >= least && value <= most {
        return Ok(value);
    }
    Err(Wrong::at(key, format!("found {value}: write {}", range(least, most, words))))
}

fn range<T: Display>(least: T, most: T, words: Option<&str>) -> String {
    words.map_or_else(|| format!("a number from {least} to {most}"), str::to_string)
}

/// Reads a number whose range is known. A value of another type is refused with this range instead
/// of the range of the type.
pub struct Ranged<T> {
    words: String,
    number: PhantomData<T>,
}

impl<T: Display> Ranged<T> {
    pub fn of(least: T, most: T, words: Option<&str>) -> Self {
        let limit = match words {
            Some(words) if words.starts_with("at least") => format!(", up to {most}"),
            _ => String::new(),
        };
        Ranged { words: range(least, most, words) + &limit, number: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Ranged<T> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer).map_err(|error| {
            with_range(&error.to_string(), &self.words).map_or(error, de::Error::custom)
        })
    }
}

/// Applies `check` to a value.
pub fn checked<T, U>(
    value: T,
    key: Key,
    check: impl FnOnce(T, Key) -> Result<U, Wrong>,
) -> Result<U, Wrong> {
    check(value, key)
}

/// Applies `check` to all keys of a table. The second argument of `check` turns a name into a key
/// path.
pub fn together<T>(
    parsed: &T,
    key: &Key,
    check: impl FnOnce(&T, &dyn Fn(&str) -> Key) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    check(parsed, &|name| key.clone().name(name))
}

/// Returns the value if it is `right`, and otherwise an error that says what to `write`.
fn require<T: Copy + Display>(value: T, right: bool, key: Key, write: &str) -> Result<T, Wrong> {
    if right { Ok(value) } else { Err(Wrong::at(key, format!("\"{value}\": write {write}"))) }
}

/// Checks that a time is above 0 and at most a second.
pub fn up_to_a_second(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    let right = time > Span::ZERO && time <= Span::from_s(1);
    require(time, right, key, "a time above 0, at most \"1s\"")
}

/// Checks that a time is at most a second.
pub fn at_most_a_second(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    require(time, time <= Span::from_s(1), key, "a time up to 1s")
}

/// Checks that a time is at least `least` and at most `most`.
pub fn time_within(
    Duration(time): Duration,
    least: Span,
    most: Span,
    key: Key,
) -> Result<Span, Wrong> {
    let write = format!("a time from \"{least}\" to \"{most}\"");
    require(time, time >= least && time <= most, key, &write)
}

/// Checks the period of a timer: at least 100 ns and at most a second. Models count the expiries
/// that have passed one by one, which takes too long if there are millions in a simulated
/// millisecond.
pub fn timer_period(time: Duration, key: Key) -> Result<Span, Wrong> {
    time_within(time, SHORTEST_PERIOD, Span::from_s(1), key)
}

/// Shortest period of a timer. See [`timer_period`].
pub const SHORTEST_PERIOD: Span = Span::from_ns(100);

/// Checks that a time is at most a day.
pub fn at_most_a_day(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    require(time, time <= Span::from_s(86_400), key, "a time up to a day")
}

/// Checks that a time is at most 160 h, the latest time of a run.
pub fn at_most_160_h(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    require(time, time.0 <= Time::LATEST.0, key, "a time up to 160h")
}

/// Checks that a time is above 0 and at most a day.
pub fn up_to_a_day(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    let right = time > Span::ZERO && time <= Span::from_s(86_400);
    require(time, right, key, "a time above 0, at most a day")
}

/// Checks that a rate is above 0.
pub fn above_zero(Speed(rate): Speed, key: Key) -> Result<Rate, Wrong> {
    require(rate, rate > Rate(0), key, "a rate above 0")
}
