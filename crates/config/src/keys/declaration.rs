//! The macro that declares a table of keys.

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
                        $($crate::keys!(@name $key $($word)?) => $crate::keys!(@next _map; [$($least, $most $(, $words)?)?]).map(|value| self.$key = Some(value)).map(|()| true),)?
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

    (@next $map:ident; []) => { $map.next_value() };
    (@next $map:ident; [$least:literal, $most:literal $(, $words:literal)?]) => {
        $map.next_value_seed($crate::keys::Ranged::of($least, $most, None $(.or(Some($words)))?))
    };

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
