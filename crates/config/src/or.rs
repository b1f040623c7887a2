//! Keys that hold a value or a word for its absence.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// The word for "no value".
pub trait Word {
    const WORD: &'static str;
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Off;
impl Word for Off {
    const WORD: &'static str = "off";
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Auto;
impl Word for Auto {
    const WORD: &'static str = "auto";
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unlimited;
impl Word for Unlimited {
    const WORD: &'static str = "unlimited";
}

/// A value, or a word for its absence. `false` is accepted for `"off"`.
#[derive(Debug, Clone, PartialEq)]
pub struct Or<W, T>(pub Option<T>, PhantomData<W>);

impl<W, T> Or<W, T> {
    pub const NONE: Self = Or(None, PhantomData);
    pub fn some(value: T) -> Self {
        Or(Some(value), PhantomData)
    }
}

struct OrVisitor<W, T>(PhantomData<(W, T)>);

impl<'de, W: Word, T: Deserialize<'de>> Visitor<'de> for OrVisitor<W, T> {
    type Value = Or<W, T>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value or \"{}\"", W::WORD)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        if text == W::WORD {
            return Ok(Or::NONE);
        }
        T::deserialize(text.into_deserializer())
            .map(Or::some)
            .map_err(|error: E| E::custom(format!("{error}, or \"{}\"", W::WORD)))
    }
    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        if !value && W::WORD == Off::WORD {
            return Ok(Or::NONE);
        }
        T::deserialize(value.into_deserializer())
            .map(Or::some)
            .map_err(|error: E| E::custom(format!("{error}, or \"{}\"", W::WORD)))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer())
            .map(Or::some)
            .map_err(|error: E| E::custom(format!("{error}, or \"{}\"", W::WORD)))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer())
            .map(Or::some)
            .map_err(|error: E| E::custom(format!("{error}, or \"{}\"", W::WORD)))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Or::some)
    }
}
impl<'de, W: Word, T: Deserialize<'de>> Deserialize<'de> for Or<W, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrVisitor(PhantomData))
    }
}
impl<W: Word, T: Serialize> Serialize for Or<W, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_str(W::WORD),
        }
    }
}
impl<W: Word, T: JsonSchema> JsonSchema for Or<W, T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}_or_{}", T::schema_name(), W::WORD).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        let mut forms = vec![value, json_schema!({ "const": W::WORD })];
        if W::WORD == Off::WORD {
            forms.push(json_schema!({ "const": false }));
        }
        json_schema!({ "anyOf": forms })
    }
}
