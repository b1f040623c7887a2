//! Tables of a file, as written.

/// Declares tables. A key declared as `key: Type` is optional (an [`Option`]), and `pub key: Type`
/// is required. Unknown keys are refused.
///
/// ```
/// use afflux_config::{table, tree::Tree};
/// use serde::Deserialize;
///
/// table! {
///     /// An example.
///     #[derive(Default)]
///     pub struct Example {
///         /// It has to be there.
///         pub size: u32,
///         /// It may be left out.
///         rate: f64,
///     }
/// }
/// let read = |text: &str| Example::deserialize(&Tree::read(text).unwrap());
/// assert_eq!(read("size = 3").unwrap(), Example { size: 3, rate: None });
/// assert_eq!(toml::to_string(&read("size = 3").unwrap()).unwrap(), "size = 3\n");
/// assert!(read("rate = 0.5").is_err() && read("size = 3\nrates = 0.5").is_err());
/// let over = Example::default().or(Example { size: 3, rate: Some(0.5) });
/// assert_eq!(over, Example { size: 0, rate: Some(0.5) }, "keys that may be left out are those of the other table");
/// ```
#[macro_export]
macro_rules! table {
    ($($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* })+) => {
        $($crate::table!(@next [$(#[$meta])*] $name [] [] [] $($fields)*);)+
    };
    (@next $meta:tt $name:ident [$($done:tt)*] $optional:tt [$($kept:ident)*] $(#[$note:meta])* pub $key:ident: $ty:ty, $($rest:tt)*) => {
        $crate::table!(@next $meta $name [$($done)* $(#[$note])* pub $key: $ty,] $optional [$($kept)* $key] $($rest)*);
    };
    (@next $meta:tt $name:ident [$($done:tt)*] [$($optional:ident)*] $kept:tt $(#[$note:meta])* $key:ident: $ty:ty, $($rest:tt)*) => {
        $crate::table!(@next $meta $name
            [$($done)* $(#[$note])* #[serde(skip_serializing_if = "Option::is_none")] pub $key: Option<$ty>,] [$($optional)* $key] $kept $($rest)*);
    };
    (@next [$($meta:tt)*] $name:ident [$($done:tt)*] [$($optional:ident)*] [$($kept:ident)*]) => {
        #[derive(Debug, Clone, PartialEq, $crate::serde::Serialize, $crate::serde::Deserialize, $crate::schemars::JsonSchema)]
        #[serde(deny_unknown_fields, crate = "afflux_config::serde")]
        #[schemars(crate = "afflux_config::schemars")]
        $($meta)*
        pub struct $name {
            $($done)*
        }

        #[allow(dead_code)]
        impl $name {
            /// Returns this table, with missing keys taken from `_other`.
            pub fn or(self, _other: $name) -> $name {
                $name { $($optional: self.$optional.or(_other.$optional),)* $($kept: self.$kept,)* }
            }
        }
    };
}
