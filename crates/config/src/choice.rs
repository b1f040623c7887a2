//! Forms that a key's value may take: one text or several, a table chosen by `kind`, one of several
//! words.

use crate::form;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, DeserializeSeed, SeqAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One text or an array of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Names(pub Vec<String>);

form! {
    Names<'de>, deserialize_any, "text in quotes, or an array of texts" {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Names, E> {
            Ok(Names(vec![text.to_string()]))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Names, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(items)).map(Names)
        }
    }
    |_| {
        json_schema!({
            "description": "One name or several; `*` stands for any characters, `?` for one.",
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]
        })
    }
}
crate::as_written!(Names);
impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => serializer.serialize_str(one),
            many => many.serialize(serializer),
        }
    }
}

/// Deserializer of a kind's name. Returns its index in the list.
pub struct Kind(pub &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Kind {
    type Value = usize;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        let name = String::deserialize(deserializer)?;
        self.0
            .iter()
            .position(|kind| *kind == name)
            .ok_or_else(|| de::Error::unknown_variant(&name, self.0))
    }
}

/// An enum of tables. The key `kind` selects the table.
pub trait Tagged: JsonSchema {
    const KINDS: &'static [&'static str];
}

/// Returns the JSON Schema of a key whose value is a [`Tagged`] table. The name of a kind alone
/// means that all its parameters keep their defaults.
pub fn name_or_table<T: Tagged>(generator: &mut SchemaGenerator) -> Schema {
    let table = generator.subschema_for::<T>();
    json_schema!({ "anyOf": [table, { "enum": T::KINDS }] })
}

/// Declares an enum of tables that the key `kind` selects. A kind is written as `"tag" => Type`,
/// with the table's type. In a registry of models it is written as `module Name(Table)`, where
/// `module` is the tag and `Name` is the tag in camel case.
#[macro_export]
macro_rules! tagged {
    ($(#[$meta:meta])* pub enum $name:ident, default $default:literal { $($(#[$note:meta])* $tag:literal => $variant:ident,)+ }) => {
        $crate::tagged!(@enum $(#[$meta])* $name, $default, { $([$(#[$note])* #[serde(rename = $tag)]] $tag, $variant($variant);)+ });
    };
    ($(#[$meta:meta])* pub enum $name:ident, default $default:literal { $($(#[$note:meta])* $module:ident $variant:ident($table:ty),)+ }) => {
        $crate::tagged!(@enum $(#[$meta])* #[serde(rename_all = "snake_case")] $name, $default,
            { $([$(#[$note])*] stringify!($module), $variant($table);)+ });
    };
    (@enum $(#[$meta:meta])* $name:ident, $default:literal, { $([$($attributes:tt)*] $tag:expr, $variant:ident($table:ty);)+ }) => {
        #[derive(Debug, Clone, PartialEq, $crate::serde::Serialize, $crate::schemars::JsonSchema)]
        $(#[$meta])*
        #[serde(tag = "kind", crate = "afflux_config::serde")]
        #[schemars(crate = "afflux_config::schemars")]
        // The size of the variants does not matter: a scenario holds only a handful of these
        // values.
        #[allow(clippy::large_enum_variant)]
        pub enum $name {
            $($($attributes)* $variant($table),)+
        }
        impl $crate::Tagged for $name {
            const KINDS: &'static [&'static str] = &[$($tag),+];
        }
        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const KINDS: &[&str] = <$name as $crate::Tagged>::KINDS;
                struct Tables;
                impl<'de> $crate::serde::de::Visitor<'de> for Tables {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a table with the key \"kind\"")
                    }
                    fn visit_enum<A: $crate::serde::de::EnumAccess<'de>>(self, access: A) -> Result<$name, A::Error> {
                        use $crate::serde::de::VariantAccess;
                        let (kind, table) = access.variant_seed($crate::Kind(KINDS))?;
                        $(if KINDS[kind] == $tag {
                            return table.newtype_variant().map($name::$variant);
                        })+
                        unreachable!("a kind outside the list")
                    }
                }
                deserializer.deserialize_enum($default, KINDS, Tables)
            }
        }
    };
}

/// Declares kinds that share one table of a scenario, where each key has a meaning with some of the
/// kinds only. `$kind` is the enum of the kinds' names. `$instead` maps a key to the advice that
/// the error message gives if the selected kind does not have the key.
#[macro_export]
macro_rules! merged {
    ($(#[doc = $about:literal])* pub enum $name:ident as $schema:literal, $kind:ident, $instead:expr; { $($(#[$note:meta])* $module:ident $variant:ident($table:ty),)+ }) => {
        $crate::words! {
            /// Name of a kind.
            pub enum $kind {
                $($(#[$note])* $variant,)+
            }
        }

        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, $crate::serde::Serialize)]
        #[serde(tag = "kind", rename_all = "snake_case", crate = "afflux_config::serde")]
        pub enum $name {
            $($(#[$note])* $variant($table),)+
        }
        impl $crate::schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $schema.into()
            }
            fn json_schema(generator: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                let tables = [$((stringify!($module), <$table>::json_schema(generator))),+];
                $crate::merged(concat!($($about),*), generator.subschema_for::<$kind>(), &tables)
            }
        }
        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use $crate::serde::de::{Error, MapAccess, Visitor};
                struct Tables;
                impl<'de> Visitor<'de> for Tables {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a table")
                    }
                    // The deserializer of a tree passes `kind` first.
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        if map.next_key::<String>()?.is_none_or(|first| first != "kind") {
                            return Err(A::Error::missing_field("kind"));
                        }
                        let (mut all, kind, keys) = match map.next_value()? {
                            $($kind::$variant => ($name::$variant(<$table>::default()), stringify!($module), <$table>::KEYS),)+
                        };
                        while let Some(key) = map.next_key::<String>()? {
                            let known = match &mut all {
                                $($name::$variant(table) => table.read(&key, &mut map)?,)+
                            };
                            if !known {
                                map.next_value_seed($crate::Refusal::of(&key, kind, keys, &[$(<$table>::KEYS),+], $instead))?;
                            }
                        }
                        Ok(all)
                    }
                }
                deserializer.deserialize_map(Tables)
            }
        }
    };
}

/// Merges the JSON Schemas of the tables of all kinds into one.
pub fn merged(about: &str, kind: Schema, tables: &[(&str, Schema)]) -> Schema {
    let mut keys = serde_json::Map::from_iter([("kind".to_string(), kind.to_value())]);
    for (kind, table) in tables {
        for (name, key) in
            table.get("properties").and_then(|keys| keys.as_object()).into_iter().flatten()
        {
            let mut key = key.clone();
            let mut about =
                format!("With `{kind}`: {}", key["description"].as_str().unwrap_or_default());
            if let Some(known) = keys.get(name).and_then(|known| known.as_object()) {
                about = format!("{} {about}", known["description"].as_str().unwrap_or_default());
                key.as_object_mut()
                    .expect("a schema of a key")
                    .retain(|name, value| known.get(name) == Some(value));
            }
            key["description"] = about.into();
            keys.insert(name.clone(), key);
        }
    }
    json_schema!({ "type": "object", "description": about.trim(), "properties": keys, "required": ["kind"], "additionalProperties": false })
}

/// Declares enums of words.
#[macro_export]
macro_rules! words {
    ($($(#[$meta:meta])* pub enum $name:ident { $($(#[$note:meta])* $variant:ident,)+ })+) => {$(
        #[derive(Debug, Clone, Copy, PartialEq, Eq, $crate::serde::Serialize, $crate::serde::Deserialize, $crate::schemars::JsonSchema)]
        $(#[$meta])*
        #[serde(rename_all = "snake_case", crate = "afflux_config::serde")]
        #[schemars(crate = "afflux_config::schemars")]
        pub enum $name {
            $($(#[$note])* $variant,)+
        }
        impl $crate::keys::Quantity for $name {
            type Parsed = $name;
            fn parsed(self) -> $name {
                self
            }
        }
    )+};
}
