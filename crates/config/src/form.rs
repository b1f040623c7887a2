//! Values that can be written in several forms.

/// Implements reading and JSON Schema of a type. Arguments: deserializer method, description of the
/// expected value, methods of the visitor, and the schema.
#[macro_export]
macro_rules! form {
    ($name:ident<$de:lifetime>, $read:ident, $expecting:literal { $($methods:tt)* } |$generator:pat_param| { $($schema:tt)* }) => {
        impl<$de> $crate::serde::Deserialize<$de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<$de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Form;
                impl<$de> $crate::serde::de::Visitor<$de> for Form {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    $($methods)*
                }
                deserializer.$read(Form)
            }
        }
        impl $crate::schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema($generator: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                $($schema)*
            }
        }
    };
}
