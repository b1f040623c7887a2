//! Types of keys: their resolved types, and tables within tables.

use crate::tree::{Key, Wrong};
use crate::{Chance, Duration, Or, Size, Speed};
use afflux_units::{Bytes, Probability, Rate, Span};
use std::collections::BTreeMap;

/// Conversion of a written value to its resolved type.
pub trait Quantity {
    type Parsed;
    fn parsed(self) -> Self::Parsed;
}

macro_rules! quantities {
    ($($name:ty => $parsed:ty, |$value:pat_param| $result:expr;)+) => {$(
        impl Quantity for $name {
            type Parsed = $parsed;
            fn parsed(self) -> $parsed {
                let $value = self;
                $result
            }
        }
    )+};
}
quantities! {
    Duration => Span, |Duration(span)| span;
    Size => Bytes, |Size(bytes)| bytes;
    Speed => Rate, |Speed(rate)| rate;
    Chance => Probability, |Chance(chance)| chance;
    f64 => f64, |number| number;
    u8 => u8, |number| number;
    u16 => u16, |number| number;
    u32 => u32, |number| number;
    u64 => u64, |number| number;
    bool => bool, |yes| yes;
    String => String, |text| text;
}
impl<T, const N: usize> Quantity for [T; N] {
    type Parsed = [T; N];
    fn parsed(self) -> [T; N] {
        self
    }
}
impl<T> Quantity for Vec<T> {
    type Parsed = Vec<T>;
    fn parsed(self) -> Vec<T> {
        self
    }
}

impl<K, T> Quantity for BTreeMap<K, T> {
    type Parsed = BTreeMap<K, T>;
    fn parsed(self) -> BTreeMap<K, T> {
        self
    }
}

/// Declares types that a resolved table holds as written.
#[macro_export]
macro_rules! as_written {
    ($($name:ty),+ $(,)?) => {$(
        impl $crate::keys::Quantity for $name {
            type Parsed = $name;
            fn parsed(self) -> $name {
                self
            }
        }
    )+};
}
impl<W, T: Quantity> Quantity for Or<W, T> {
    type Parsed = Option<T::Parsed>;
    fn parsed(self) -> Option<T::Parsed> {
        self.0.map(T::parsed)
    }
}

/// A value that is a table, or may hold one.
pub trait Nested {
    type Table;
    /// Returns the table, unless the value is a word for its absence.
    fn table(&mut self) -> Option<&mut Self::Table>;
}

/// Declares types that are tables.
#[macro_export]
macro_rules! nested {
    ($($name:ty),+) => {$(
        impl $crate::keys::Nested for $name {
            type Table = $name;
            fn table(&mut self) -> Option<&mut $name> {
                Some(self)
            }
        }
    )+};
}
impl<W, T> Nested for Or<W, T> {
    type Table = T;
    fn table(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }
}
impl<T> Nested for Vec<T> {
    type Table = Vec<T>;
    fn table(&mut self) -> Option<&mut Vec<T>> {
        Some(self)
    }
}

/// Resolves the table of a key, in place.
pub fn nested<S: Nested, T>(
    slot: &mut Option<S>,
    key: Key,
    resolve: impl FnOnce(&mut S::Table, &Key) -> Result<T, Wrong>,
) -> Result<Option<T>, Wrong> {
    slot.as_mut().and_then(S::table).map(|table| resolve(table, &key)).transpose()
}
