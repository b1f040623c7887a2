//! Tables as written: how they are read, and defaults that are stored in them.

use crate::Refusal;
use crate::tree::{Origin, Tree, Value};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// A table as written.
pub trait Written: Default {
    /// Returns the names of all keys, those of embedded tables included.
    fn names() -> Vec<&'static str>;
    /// Reads the value of the key `name` of this table or an embedded one. Returns `false` if there
    /// is no such key.
    fn read_key<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        map: &mut A,
    ) -> Result<bool, A::Error>;
    /// Returns the first required key that is not written.
    fn missing(&self) -> Option<&'static str>;
}

/// Reads a table of keys.
pub fn read_table<'de, T: Written, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Table<T>(PhantomData<T>);
    impl<'de, T: Written> Visitor<'de> for Table<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
            let mut table = T::default();
            while let Some(key) = map.next_key::<String>()? {
                if !table.read_key(&key, &mut map)? {
                    map.next_value_seed(Refusal::unknown(&key, &T::names()))?;
                }
            }
            match table.missing() {
                Some(name) => Err(A::Error::missing_field(name)),
                None => Ok(table),
            }
        }
    }
    deserializer.deserialize_map(Table(PhantomData))
}

/// Returns a default from its spelling in a scenario.
///
/// # Panics
/// If a scenario could not spell the value like this.
pub fn written<T: for<'de> Deserialize<'de>>(value: Value) -> T {
    T::deserialize(&Tree { value, origin: Origin::Line(1) }).expect("a default is well-formed")
}

macro_rules! literals {
    ($($kind:ty => $form:ident;)+) => {$(
        impl From<$kind> for Value {
            fn from(value: $kind) -> Value {
                Value::$form(value.into())
            }
        }
    )+};
}
literals! {
    &str => Text;
    i64 => Integer;
    f64 => Float;
    bool => Boolean;
}

impl<const N: usize> From<[Value; N]> for Value {
    fn from(items: [Value; N]) -> Value {
        Value::Array(items.map(|value| Tree { value, origin: Origin::Line(1) }).into())
    }
}

/// Returns the value of a key. If the key is missing, stores the default first.
pub fn fill<T: Clone>(slot: &mut Option<T>, default: T) -> T {
    slot.get_or_insert(default).clone()
}
