//! Properties of keys in the JSON Schema.

use crate::tree::Value;
use schemars::Schema;

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
        Value::Text(text) | Value::Datetime(text) | Value::Huge(text) => text.as_str().into(),
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
