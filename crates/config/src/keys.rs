//! Tables of keys. Each key is declared once, with its documentation, default, and range or check.
//! The declaration generates the table as written (with its JSON Schema), the resolved table, and
//! the conversion from the first to the second.

use crate::tree::{Key, Origin, Tree, Value, Wrong};
use crate::{Chance, Duration, Or, Refusal, Size, Speed};
use afflux_units::{Bytes, Probability, Rate, Span};
use schemars::Schema;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::marker::PhantomData;

/// Declares a table of keys.
///
/// ```
/// use afflux_config::{Duration, keys, keys::up_to_a_second};
///
/// keys! {
///     /// Parameters of an example.
///     pub struct ExampleKeys as "Example" => Example {
///         /// Round trips below this raise the rate.
///         low: Duration = "50us" from "paper", check up_to_a_second;
///         /// Weight of the newest sample.
///         weight: f64 = 0.875, in 0.001 to 1.0;
///         /// Round trips above this lower the rate.
///         high: Duration = (Duration(afflux_units::Span(10 * low.0))) "ten times `low`";
///     }
/// }
/// let mut written = ExampleKeys { weight: Some(0.5), ..ExampleKeys::default() };
/// let used = written.resolve(&"host.example".into()).unwrap();
/// assert_eq!((used.weight, used.high), (0.5, afflux_units::Span::from_us(500)));
/// assert_eq!(written.low, Some(Duration(afflux_units::Span::from_us(50))), "defaults are written down");
/// ```
///
/// - `ExampleKeys` is the table as written. All its keys are optional, and `"Example"` is its name
///   in the JSON Schema. `Example` is the resolved table. A key's type there is
///   [`Quantity::Parsed`] of the declared type, or the type after `as`: `gain: f64 as u32 = …`.
/// - A default has one of five forms: a literal, or literals in brackets, as a scenario would spell
///   it, with its source if it needs one; an expression in parentheses, with a description for readers, which may use earlier
///   keys and the arguments of the table; such an expression in braces, which may be `None`;
///   `none`; or `required`: a table without the key is refused. Keys with the third or fourth form
///   become options.
/// - A literal after a key's name is its name in scenarios, for names that Rust reserves.
/// - `@NAME: TABLE;` embeds another table of keys: its keys stand in this table too, at this place,
///   and its owner resolves the field `NAME`.
/// - `@{ … };` has keys that their owner resolves, because they depend on each other: a name and a
///   type. Their documentation says their defaults.
/// - `of NAME` before the table names the table as written, with literal defaults filled in, for
///   defaults and checks that use later keys.
/// - `in LEAST to MOST` refuses numbers outside this range; `as` replaces the description of the
///   range in the error message. `check` receives the value and its key, and returns the resolved
///   value or an error.
/// - `table` is for a key whose value is a table, the word for its absence, or an array of tables.
///   It receives the table, with its key, and returns the resolved table, which becomes an option.
/// - After the table, `plus` adds fields that are not keys, and `check` validates all keys
///   together.
#[macro_export]
macro_rules! keys {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident as $schema:tt => $parsed:ident $(($($around:ident: $of:ty),+))? $(of $written:ident)? {
            $(
                $(@$part:ident: $of_part:ident)?
                $(@{$(
                    $(#[doc = $doc_owned:expr])*
                    $(#[schemars $form_owned:tt])?
                    $owned:ident $($word_owned:literal)?: $of_owned:ty;
                )*})?
                $(
                    $(#[doc = $doc:expr])*
                    $(#[schemars $form:tt])?
                    $key:ident $($word:literal)?: $ty:ty $(as $kind:ty)? = $default:tt $($prose:literal)? $(from $source:literal)?
                        $(, in $least:literal to $most:literal $(as $words:literal)?)?
                        $(, check $check:expr)?
                        $(, table $table:expr)?
                )?;
            )*
        }
        $(plus { $($(#[doc = $note:literal])* $extra:ident: $of_extra:ty = $value:expr;)+ })?
        $(check $rule:expr;)?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, $crate::serde::Serialize, $crate::schemars::JsonSchema)]
        #[serde(crate = "afflux_config::serde")]
        #[schemars(crate = "afflux_config::schemars", deny_unknown_fields, rename = $schema, transform = $name::describe)]
        $vis struct $name {
            $(
                $(#[serde(flatten)] pub $part: $of_part,)?
                $($(
                    $(#[doc = $doc_owned])*
                    $(#[schemars $form_owned])?
                    $(#[serde(rename = $word_owned)])?
                    #[serde(skip_serializing_if = "Option::is_none")]
                    pub $owned: Option<$of_owned>,
                )*)?
                $(
                    $(#[doc = $doc])*
                    $(#[schemars $form])?
                    $(#[serde(rename = $word)])?
                    #[serde(skip_serializing_if = "Option::is_none")]
                    pub $key: Option<$ty>,
                )?
            )*
        }

        impl $crate::keys::Written for $name {
            fn names() -> Vec<&'static str> {
                [
                    Vec::new(),
                    $(
                        $($of_part::names(),)?
                        $(vec![$($crate::keys!(@name $owned $($word_owned)?)),*],)?
                        $(vec![$crate::keys!(@name $key $($word)?)],)?
                    )*
                ].concat()
            }
            fn read_key<'de, A: $crate::serde::de::MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
                let read = $($(self.$part.read_key(name, map)? ||)?)* self.read(name, map)?;
                Ok(read)
            }
            fn missing(&self) -> Option<&'static str> {
                $(
                    $(if let Some(name) = self.$part.missing() {
                        return Some(name);
                    })?
                    $($crate::keys!(@missing self.$key; $crate::keys!(@name $key $($word)?); $default);)?
                )*
                None
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::keys::read_table(deserializer)
            }
        }

        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $parsed {
            $($(
                $(#[doc = $doc])*
                pub $key: $crate::keys!(@kind $ty; $default; $($kind)?),
            )?)*
            $($($(#[doc = $note])* pub $extra: $of_extra,)+)?
        }

        $crate::as_written!($name);
        $crate::nested!($name);

        #[allow(dead_code)]
        impl $name {
            pub const KEYS: &[&str] = &[$(
                $($($crate::keys!(@name $owned $($word_owned)?),)*)?
                $($crate::keys!(@name $key $($word)?),)?
            )*];

            /// Reads the value of the key `name`. Returns `false` if the table has no such key.
            pub fn read<'de, A: $crate::serde::de::MapAccess<'de>>(&mut self, name: &str, _map: &mut A) -> Result<bool, A::Error> {
                match name {
                    $(
                        $($($crate::keys!(@name $owned $($word_owned)?) => _map.next_value().map(|value| self.$owned = Some(value)).map(|()| true),)*)?
                        $($crate::keys!(@name $key $($word)?) => _map.next_value().map(|value| self.$key = Some(value)).map(|()| true),)?
                    )*
                    _ => Ok(false),
                }
            }

            /// Returns the first key that is written.
            pub fn given(&self) -> Option<&'static str> {
                let all: &[Option<&'static str>] = &[
                    $($(self.$part.given(),)? $($(self.$owned.as_ref().map(|_| $crate::keys!(@name $owned $($word_owned)?)),)*)? $(self.$key.as_ref().map(|_| $crate::keys!(@name $key $($word)?)),)?)*
                ];
                all.iter().copied().flatten().next()
            }

            /// Returns this table, with missing keys taken from `other`.
            pub fn or(self, _other: $name) -> $name {
                $name {
                    $(
                        $($part: self.$part.or(_other.$part),)?
                        $($($owned: self.$owned.or(_other.$owned),)*)?
                        $($key: self.$key.or(_other.$key),)?
                    )*
                }
            }

            /// Checks the written keys and fills in the defaults of the others. `key` is the path
            /// of the table.
            pub fn resolve(&mut self, key: &$crate::tree::Key $($(, $around: $of)+)?) -> Result<$parsed, $crate::tree::Wrong> {
                $($($crate::keys!(@early self.$key; $ty; $default);)?)*
                $(let $written = self.clone();)?
                $($(
                    let $key = $crate::keys!(@fill self.$key; $ty; $default);
                    let $key = $crate::keys!(@value $key, key.clone().name($crate::keys!(@name $key $($word)?)); $default;
                        [$($least, $most $(, $words)?)?] [$($check)?] [$(&mut self.$key, $table)?]);
                )?)*
                let _ = key;
                let parsed = $parsed { $($($key,)?)* $($($extra: $value,)+)? };
                $($crate::keys::together(&parsed, key, $rule)?;)?
                Ok(parsed)
            }

            fn describe(schema: &mut $crate::schemars::Schema) {
                $crate::keys::describe(schema, &[$(
                    $($($crate::keys::Described::owner_resolves($crate::keys!(@name $owned $($word_owned)?)),)*)?
                    $($crate::keys::Described {
                        name: $crate::keys!(@name $key $($word)?),
                        required: $crate::keys!(@required $default),
                        default: $crate::keys!(@literal $default),
                        prose: None $(.or(Some($prose)))?,
                        source: None $(.or(Some($source)))?,
                        range: None $(.or(Some(($least.into(), $most.into()))))?,
                    },)?
                )*]);
            }
        }
    };

    (@name $key:ident) => { stringify!($key) };
    (@name $key:ident $word:literal) => { $word };

    (@required required) => { true };
    (@required $default:tt) => { false };
    (@missing $slot:expr; $name:expr; required) => {
        if $slot.is_none() {
            return Some($name);
        }
    };
    (@missing $slot:expr; $name:expr; $default:tt) => {};

    (@early $slot:expr; $ty:ty; $literal:literal) => { $slot.get_or_insert_with(|| $crate::keys::written::<$ty>($literal.into())) };
    (@early $slot:expr; $ty:ty; [$($item:literal),+]) => { $slot.get_or_insert_with(|| $crate::keys::written::<$ty>([$($crate::tree::Value::from($item)),+].into())) };
    (@early $slot:expr; $ty:ty; $default:tt) => {};

    (@kind $ty:ty; $default:tt; $kind:ty) => { $kind };
    (@kind $ty:ty; none;) => { Option<<$ty as $crate::keys::Quantity>::Parsed> };
    (@kind $ty:ty; {$($some:tt)*};) => { Option<<$ty as $crate::keys::Quantity>::Parsed> };
    (@kind $ty:ty; $default:tt;) => { <$ty as $crate::keys::Quantity>::Parsed };

    (@fill $slot:expr; $ty:ty; none) => { $slot.clone() };
    (@fill $slot:expr; $ty:ty; {$($some:tt)*}) => {{
        if $slot.is_none() {
            $slot = { $($some)* };
        }
        $slot.clone()
    }};
    (@fill $slot:expr; $ty:ty; ($value:expr)) => { $slot.get_or_insert_with(|| $value).clone() };
    (@fill $slot:expr; $ty:ty; required) => { $slot.clone().expect("a table without it is refused") };
    (@fill $slot:expr; $ty:ty; [$($item:literal),+]) => { $slot.clone().expect("filled in") };
    (@fill $slot:expr; $ty:ty; $literal:literal) => { $slot.clone().expect("filled in") };

    (@value $given:expr, $at:expr; $default:tt; [] [] [$slot:expr, $table:expr]) => {{
        let _ = $given;
        $crate::keys::nested($slot, $at, $table)?
    }};
    (@value $given:expr, $at:expr; $default:tt; $range:tt $check:tt []) => { $crate::keys!(@parse $given, $at; $default; $range $check) };
    (@parse $given:expr, $at:expr; none; $range:tt $check:tt) => { $crate::keys!(@optional $given, $at; $range $check) };
    (@parse $given:expr, $at:expr; {$($some:tt)*}; $range:tt $check:tt) => { $crate::keys!(@optional $given, $at; $range $check) };
    (@parse $given:expr, $at:expr; $default:tt; $range:tt $check:tt) => { $crate::keys!(@one $given, $at; $range $check) };
    (@optional $given:expr, $at:expr; $range:tt $check:tt) => {
        match $given {
            Some(given) => Some($crate::keys!(@one given, $at; $range $check)),
            None => None,
        }
    };
    (@one $given:expr, $at:expr; [] [$($check:expr)?]) => { $crate::keys!(@checked $given, $at; $($check)?) };
    (@one $given:expr, $at:expr; [$least:literal, $most:literal $(, $words:literal)?] [$($check:expr)?]) => {{
        let given = $crate::keys::within($given, $least, $most, None $(.or(Some($words)))?, $at)?;
        $crate::keys!(@checked given, $at; $($check)?)
    }};
    (@checked $given:expr, $at:expr;) => { $crate::keys::Quantity::parsed($given) };
    (@checked $given:expr, $at:expr; $check:expr) => { $crate::keys::checked($given, $at, $check)? };

    (@literal $literal:literal) => { Some($literal.into()) };
    (@literal [$($item:literal),+]) => { Some([$($crate::tree::Value::from($item)),+].into()) };
    (@literal $default:tt) => { None };
}

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
    let words = words.map_or_else(|| format!("a number from {least} to {most}"), str::to_string);
    Err(Wrong::at(key, format!("found {value}: write {words}")))
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

/// Checks that a time is above 0 and at most a second.
pub fn up_to_a_second(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    match time {
        time if time == Span::ZERO || time > Span::from_s(1) => {
            Err(Wrong::at(key, format!("\"{time}\": write a time above 0, at most \"1s\"")))
        }
        time => Ok(time),
    }
}

/// Checks that a time is at most a second.
pub fn at_most_a_second(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    if time > Span::from_s(1) {
        Err(Wrong::at(key, format!("\"{time}\": write a time up to 1s")))
    } else {
        Ok(time)
    }
}

/// Checks that a time is above 0 and at most a day.
pub fn up_to_a_day(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    let right = time > Span::ZERO && time <= Span::from_s(86_400);
    if right {
        Ok(time)
    } else {
        Err(Wrong::at(key, format!("\"{time}\": write a time above 0, at most a day")))
    }
}

/// Checks that a rate is above 0.
pub fn above_zero(Speed(rate): Speed, key: Key) -> Result<Rate, Wrong> {
    match rate {
        Rate(0) => Err(Wrong::at(key, "\"0bps\": write a rate above 0")),
        rate => Ok(rate),
    }
}

/// Properties of a key for the JSON Schema, in addition to its type.
pub struct Described {
    pub name: &'static str,
    pub required: bool,
    pub default: Option<Value>,
    /// Description of a default that is not a literal.
    pub prose: Option<&'static str>,
    /// Source of the default.
    pub source: Option<&'static str>,
    pub range: Option<(Value, Value)>,
}

impl Described {
    /// Describes a key that its owner resolves. Its documentation says everything.
    pub fn owner_resolves(name: &'static str) -> Described {
        Described { name, required: false, default: None, prose: None, source: None, range: None }
    }

    /// Returns the sentence about the default that follows the key's documentation.
    fn sentence(&self) -> Option<String> {
        let source = self.source.map_or(String::new(), |source| format!(" ({source})"));
        match (&self.default, self.prose) {
            (Some(value), _) => Some(match value {
                Value::Integer(_) | Value::Float(_) => {
                    format!("Default {}{source}.", value.shown())
                }
                Value::Array(items) => {
                    let items: Vec<_> = items.iter().map(|item| item.value.shown()).collect();
                    format!("Default `[{}]`{source}.", items.join(", "))
                }
                _ => format!("Default `{}`{source}.", value.shown()),
            }),
            (None, Some(prose)) => Some(format!("Default: {prose}{source}.")),
            (None, None) => None,
        }
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) | Value::Datetime(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(yes) => (*yes).into(),
        Value::Array(items) => items.iter().map(|item| json(&item.value)).collect(),
        Value::Table(_) => serde_json::Value::Null,
    }
}

/// Adds required keys, defaults and ranges to the schema of a table.
pub fn describe(schema: &mut Schema, keys: &[Described]) {
    // The keys of embedded tables are properties of this table.
    if schema.remove("unevaluatedProperties").is_some() {
        schema.insert("additionalProperties".into(), false.into());
    }
    let own = keys.iter().filter(|key| key.required).map(|key| key.name.into());
    // A key with a schema of its own counts as required until here.
    let optional = |name: &serde_json::Value| {
        keys.iter().any(|key| !key.required && name.as_str() == Some(key.name))
    };
    let required: Vec<serde_json::Value> = schema
        .remove("required")
        .and_then(|required| required.as_array().cloned())
        .into_iter()
        .flatten()
        .filter(|name| !optional(name))
        .chain(own)
        .collect();
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    let Some(properties) =
        schema.get_mut("properties").and_then(|properties| properties.as_object_mut())
    else {
        return;
    };
    for key in keys {
        let Some(property) =
            properties.get_mut(key.name).and_then(|property| property.as_object_mut())
        else {
            continue;
        };
        if let Some(sentence) = key.sentence() {
            let about =
                property.get("description").and_then(|about| about.as_str()).unwrap_or_default();
            let about = format!("{about} {sentence}");
            property.insert("description".into(), about.trim().into());
        }
        if let Some(default) = &key.default {
            property.insert("default".into(), json(default));
        }
        if let Some(source) = key.source {
            property.insert("x-source".into(), source.into());
        }
        if let Some((least, most)) = &key.range {
            property.insert("minimum".into(), json(least));
            property.insert("maximum".into(), json(most));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Auto, Off, merged, words};

    words! {
        /// Rule set.
        pub enum Rules {
            /// Rules of the RFC.
            Rfc,
            /// Rules of ns-3.
            Ns3,
        }
    }
    keys! {
        /// Parameters of an example.
        pub struct ExampleKeys as "Example" => Example(ns3: bool) {
            /// Rule set.
            rules: Rules = (if ns3 { Rules::Ns3 } else { Rules::Rfc }) "the stack's";
            /// Below this it grows.
            low: Duration = "50us" from "paper", check up_to_a_second;
            /// A weight.
            weight: f64 = 0.875, in 0.001 to 1.0;
            /// A number.
            number: u16 as usize = 24, in 0 to 4096 as "a number of queues from 0 to 4096", check |number, _| Ok(usize::from(number));
            /// Above this it falls.
            high: Duration = (Duration(Span(10 * low.0))) "ten times `low`";
            /// Sending quantum.
            quantum: Or<Auto, u32> = "auto";
            /// Length of a tick.
            tick: Duration = {(rules == Rules::Rfc).then(|| Duration(Span::from_ms(4)))} "`\"4ms\"` with the RFC's rules";
            /// A rate.
            rate: Speed = none, check above_zero;
        }
        check |parsed, at| if parsed.high <= parsed.low { Err(Wrong::at(at("high"), "is not above low")) } else { Ok(()) };
    }

    fn read(text: &str) -> Result<ExampleKeys, Wrong> {
        ExampleKeys::deserialize(&Tree::read(text).unwrap())
    }

    #[test]
    fn defaults_are_written_down() {
        let mut written = read("weight = 0.5\nrate = \"1Gbps\"").unwrap();
        let used = written.resolve(&Key::from("a"), false).unwrap();
        let expected = Example {
            rules: Rules::Rfc,
            low: Span::from_us(50),
            weight: 0.5,
            number: 24,
            high: Span::from_us(500),
            quantum: None,
            tick: Some(Span::from_ms(4)),
            rate: Some(Rate::from_gbps(1)),
        };
        assert_eq!(used, expected);
        assert_eq!(
            toml::to_string(&written).unwrap(),
            "rules = \"rfc\"\nlow = \"50us\"\nweight = 0.5\nnumber = 24\nhigh = \"500us\"\nquantum = \"auto\"\ntick = \"4ms\"\nrate = \"1Gbps\"\n"
        );
        let mut again = written.clone();
        assert_eq!((again.resolve(&Key::from("a"), true).unwrap(), &again), (used, &written));
        let ns3 = read("").unwrap().resolve(&Key::from("a"), true).unwrap();
        assert_eq!((ns3.rules, ns3.tick, ns3.rate), (Rules::Ns3, None, None));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_key() {
        for (text, message) in [
            ("low = \"2s\"", "key a.low: \"2s\": write a time above 0, at most \"1s\""),
            ("weight = 2", "key a.weight: found 2: write a number from 0.001 to 1"),
            ("number = 5_000", "key a.number: found 5000: write a number of queues from 0 to 4096"),
            ("high = \"1us\"", "key a.high: is not above low"),
            ("rate = \"0bps\"", "key a.rate: \"0bps\": write a rate above 0"),
        ] {
            assert_eq!(
                read(text).unwrap().resolve(&Key::from("a"), false).unwrap_err().to_string(),
                message
            );
        }
        assert_eq!(
            read("lo = 1").unwrap_err().to_string(),
            "key lo: unknown key (did you mean \"low\"?); the keys here are rules, low, weight, number, high, quantum, tick, rate"
        );
    }

    keys! {
        /// Parameters of another.
        pub struct OtherKeys as "Other" => Other {
            /// Another weight.
            weight: f64 = 0.5;
            /// A limit.
            limit: u32 = 10;
        }
    }
    merged! {
        /// A table of either kind.
        pub enum Both as "Both", BothKind, &[("limit", "write number")]; {
            /// The first kind.
            example Example(ExampleKeys),
            /// The second kind.
            other Other(OtherKeys),
        }
    }

    #[test]
    fn a_table_over_another_keeps_its_own_keys() {
        let example = read("weight = 0.25").unwrap().or(read("weight = 0.5\nnumber = 7").unwrap());
        assert_eq!(
            example,
            ExampleKeys { weight: Some(0.25), number: Some(7), ..ExampleKeys::default() }
        );
        let other = OtherKeys { weight: None, limit: Some(1) }
            .or(OtherKeys { weight: Some(1.0), limit: Some(2) });
        assert_eq!(other, OtherKeys { weight: Some(1.0), limit: Some(1) });
    }

    #[test]
    fn tables_of_several_kinds_look_like_one() {
        let read = |text: &str| Both::deserialize(&Tree::read(text).unwrap());
        let Both::Other(mut other) = read("weight = 1\nkind = \"other\"").unwrap() else {
            panic!("the other kind")
        };
        assert_eq!(other.resolve(&Key::from("a")).unwrap(), Other { weight: 1.0, limit: 10 });
        for (text, message) in [
            (
                "kind = \"other\"\nlow = \"1us\"",
                "key low: has no effect with kind = \"other\": remove it",
            ),
            (
                "kind = \"example\"\nlimit = 1",
                "key limit: has no effect with kind = \"example\": write number",
            ),
            ("weight = 1", "the key \"kind\" is missing"),
            (
                "kind = \"other\"\nlimits = 1",
                "key limits: unknown key (did you mean \"limit\"?); the keys here are weight, limit",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), message);
        }
        let schema = schemars::schema_for!(Both).to_value();
        assert_eq!(
            schema["properties"]["weight"]["description"],
            "With `example`: A weight. Default 0.875. With `other`: Another weight. Default 0.5."
        );
        assert_eq!(
            (
                schema["properties"]["weight"].get("default"),
                &schema["properties"]["limit"]["default"]
            ),
            (None, &10.into())
        );
    }

    keys! {
        /// Ends of a whole.
        pub struct EndKeys as "End" => End {
            /// Changes.
            changes "override": Vec<u32> = none;
        }
    }
    keys! {
        /// Parameters of a whole.
        pub struct WholeKeys as "Whole" => Whole {
            @other: OtherKeys;
            /// A number of parts.
            parts: u32 = required, in 1 to 9;
            @end: EndKeys;
        }
    }

    #[test]
    fn embedded_keys_stand_in_the_table_itself() {
        let read = |text: &str| WholeKeys::deserialize(&Tree::read(text).unwrap());
        let text = "limit = 3\nparts = 2\noverride = [1, 2]\n";
        let mut whole = read(text).unwrap();
        assert_eq!(toml::to_string(&whole).unwrap(), text);
        assert_eq!(whole.resolve(&Key::from("a")).unwrap(), Whole { parts: 2 });
        assert_eq!(whole.other.resolve(&Key::from("a")).unwrap(), Other { weight: 0.5, limit: 3 });
        let end = whole.end.resolve(&Key::from("a")).unwrap();
        assert_eq!(end.changes, Some(vec![1, 2]));
        let over = read("parts = 4").unwrap().or(whole);
        assert_eq!((over.parts, over.other.limit), (Some(4), Some(3)));
        for (text, message) in [
            ("limit = 3", "the key \"parts\" is missing"),
            ("parts = \"2\"", "key parts: found \"2\": write a whole number from 0 to 4294967295"),
            ("parts = 1\noverride = 1", "key override: found 1: write an array"),
            (
                "parts = 1\noverrides = []",
                "key overrides: unknown key (did you mean \"override\"?); the keys here are weight, limit, parts, override",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), message);
        }
        let schema = schemars::schema_for!(WholeKeys).to_value();
        assert_eq!(
            (&schema["required"], &schema["additionalProperties"]),
            (&["parts"].into(), &false.into())
        );
        assert_eq!(schema["properties"]["weight"]["default"], 0.5);
        assert_eq!(schema["properties"]["override"]["items"]["type"], "integer");
        assert_eq!(schema.get("unevaluatedProperties"), None);
    }

    keys! {
        /// Parameters of an outer table.
        pub struct OuterKeys as "Outer" => Outer(most: u32) {
            /// A size.
            size: u32 = 1;
            @{
                /// A key of the owner. Default: what the owner says.
                free "loose": u32;
            };
            /// A table, or "off".
            other: Or<Off, OtherKeys> as Option<u32> = "off", table |other, key| {
                other.resolve(key).and_then(|other| if other.limit > most { Err(Wrong::at(key.clone(), "too much")) } else { Ok(other.limit) })
            };
            /// A last key.
            last: bool = false;
        }
    }

    #[test]
    fn a_key_with_a_table_resolves_it_in_place_and_a_key_of_the_owner_stays_as_written() {
        let read = |text: &str| OuterKeys::deserialize(&Tree::read(text).unwrap());
        let mut outer = read("loose = 3\nother = { limit = 4 }").unwrap();
        assert_eq!((outer.given(), read("").unwrap().given()), (Some("loose"), None));
        let used = outer.resolve(&Key::from("a"), 9).unwrap();
        assert_eq!(used, Outer { size: 1, other: Some(4), last: false });
        assert_eq!(
            toml::to_string(&outer).unwrap(),
            "size = 1\nloose = 3\nlast = false\n\n[other]\nweight = 0.5\nlimit = 4\n"
        );
        let wrong = outer.resolve(&Key::from("a"), 3).unwrap_err().to_string();
        assert_eq!(wrong, "key a.other: too much");
        assert_eq!(read("").unwrap().resolve(&Key::from("a"), 9).unwrap().other, None);
        assert_eq!(
            read("lose = 3").unwrap_err().to_string(),
            "key lose: unknown key (did you mean \"loose\"?); the keys here are size, loose, other, last"
        );
        let schema = schemars::schema_for!(OuterKeys).to_value();
        assert_eq!(
            schema["properties"]["loose"]["description"],
            "A key of the owner. Default: what the owner says."
        );
    }

    #[test]
    fn the_schema_has_defaults_and_ranges() {
        let schema = schemars::schema_for!(ExampleKeys).to_value();
        let key = |name: &str| schema["properties"][name].clone();
        assert_eq!(schema["title"], "Example");
        assert_eq!(key("low")["default"], "50us");
        assert_eq!(key("low")["description"], "Below this it grows. Default `\"50us\"` (paper).");
        assert_eq!(
            (&key("low")["x-source"], key("weight").get("x-source")),
            (&"paper".into(), None)
        );
        assert_eq!(
            (&key("weight")["minimum"], &key("weight")["maximum"]),
            (&0.001.into(), &1.0.into())
        );
        assert_eq!(key("weight")["description"], "A weight. Default 0.875.");
        assert_eq!(
            (&key("number")["default"], &key("number")["maximum"]),
            (&24.into(), &4096.into())
        );
        assert_eq!(key("high")["description"], "Above this it falls. Default: ten times `low`.");
        assert_eq!(key("rate")["description"], "A rate.");
        assert_eq!(key("rate").get("default"), None);
    }
}
