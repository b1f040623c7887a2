//! Refusal of keys that a table does not have.

use crate::spelling;
use serde::Deserializer;
use serde::de::{self, DeserializeSeed};

/// Error text for a refused key.
pub struct Refusal(String);

impl Refusal {
    /// Refuses `key`, which no table has. `own` are the keys that would be right.
    pub fn unknown(key: &str, own: &[&str]) -> Self {
        Refusal(spelling::unknown_key(key, own))
    }

    /// Refuses `key`, which `kind` does not have. `own` are the keys of `kind`, `tables` those of
    /// all kinds.
    pub fn of(
        key: &str,
        kind: &str,
        own: &[&str],
        tables: &[&[&str]],
        instead: &[(&str, &str)],
    ) -> Self {
        if !tables.iter().any(|keys| keys.contains(&key)) {
            return Refusal::unknown(key, own);
        }
        let instead = instead
            .iter()
            .find(|(name, _)| *name == key)
            .map_or("remove it", |(_, instead)| instead);
        Refusal(format!("has no effect with kind = \"{kind}\": {instead}"))
    }
}
impl<'de> DeserializeSeed<'de> for Refusal {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, _: D) -> Result<(), D::Error> {
        Err(de::Error::custom(self.0))
    }
}
