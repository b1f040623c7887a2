//! Quantities as written in a scenario: text with a unit.

use crate::form;
use afflux_units::{Bytes, ParseError, Probability, Rate, Span};
use schemars::json_schema;
use serde::de;
use serde::{Deserialize, Serialize, Serializer};

macro_rules! quantity {
    ($(#[$meta:meta])* $name:ident($inner:ty), $expecting:literal, $pattern:literal, $description:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $name(pub $inner);

        form! {
            $name<'de>, deserialize_str, $expecting {
                fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                    text.parse().map($name).map_err(|error: ParseError| E::custom(error.to_string().replace('`', "\"")))
                }
            }
            |_| {
                json_schema!({ "type": "string", "pattern": $pattern, "description": $description })
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }
    };
}

quantity!(
    /// Number of bytes: `"9MB"`, `"9MiB"`.
    Size(Bytes),
    "a size in quotes with its unit, as in \"9MB\"",
    r"^\s*\+?[0-9_.]+\s*(B|[kKMGT]B|[KMGT]iB)\s*$",
    "A size in bytes: a number with B, kB, MB, GB, TB (powers of ten) or KiB, MiB, GiB, TiB (powers of two), as in \"9MB\"."
);
quantity!(
    /// A length of time: `"1us"`.
    Duration(Span),
    "a time in quotes with its unit, as in \"1us\"",
    r"^\s*\+?[0-9_.]+\s*(ps|ns|us|µs|ms|s|min|h)\s*$",
    "A time: a number with ps, ns, us, ms, s, min or h, as in \"1us\"."
);
quantity!(
    /// Rate in bits per second: `"100Gbps"`.
    Speed(Rate),
    "a rate in quotes with its unit, as in \"100Gbps\"",
    r"^\s*\+?[0-9_.]+\s*([kKMGT]?bps|[MG]b/s)\s*$",
    "A rate in bits per second: a number with bps, kbps, Mbps, Gbps or Tbps, as in \"100Gbps\"."
);

/// A fixed time, or the lower and upper bound of a uniformly distributed time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between(pub Span, pub Span);

form! {
    Between<'de>, deserialize_any, "a time in quotes with its unit, as in \"1s\", or the least and the most, as in [\"0.5s\", \"2s\"]" {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Between, E> {
            Duration::deserialize(de::IntoDeserializer::into_deserializer(text)).map(|Duration(span)| Between(span, span))
        }
        fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Between, A::Error> {
            let mut times = Vec::new();
            while let Some(Duration(span)) = items.next_element()? {
                times.push(span);
            }
            match times.as_slice() {
                [least, most] if least <= most => Ok(Between(*least, *most)),
                [least, most] => Err(de::Error::custom(format!("[\"{least}\", \"{most}\"]: the first is the least, the second the most"))),
                other => Err(de::Error::invalid_length(other.len(), &self)),
            }
        }
    }
    |generator| {
        let time = generator.subschema_for::<Duration>();
        json_schema!({
            "description": "A time, or the least and the most of a time that is drawn uniformly.",
            "anyOf": [time, { "type": "array", "items": time, "minItems": 2, "maxItems": 2 }]
        })
    }
}
impl Serialize for Between {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == self.1 {
            Duration(self.0).serialize(serializer)
        } else {
            [Duration(self.0), Duration(self.1)].serialize(serializer)
        }
    }
}

/// A probability: `0.01` or `"1%"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance(pub Probability);

form! {
    Chance<'de>, deserialize_any, "a number from 0 to 1, or a percentage as in \"1%\"" {
        fn visit_f64<E: de::Error>(self, number: f64) -> Result<Chance, E> {
            Probability::new(number).map(Chance).ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Chance, E> {
            Probability::new(number as f64).map(Chance).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Chance, E> {
            text.parse().map(Chance).map_err(|error: ParseError| E::custom(error.to_string().replace('`', "\"")))
        }
    }
    |_| {
        json_schema!({
            "description": "A probability: a number from 0 to 1, or a percentage as in \"1%\".",
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "type": "string", "pattern": r"^\s*[0-9.]+\s*%?\s*$" }]
        })
    }
}
impl Serialize for Chance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.get())
    }
}
