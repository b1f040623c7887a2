//! The JSON Schema of scenario files.

use crate::document::Document;
use serde_json::Value;

pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Document).to_value();
    // A transport without `kind` is TCP.
    if let Some(forms) = schema.pointer_mut("/$defs/Transport/oneOf").and_then(Value::as_array_mut)
        && let Some(required) = forms.first_mut().and_then(|tcp| tcp.get_mut("required")).and_then(Value::as_array_mut)
    {
        required.retain(|key| key != "kind");
    }
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}
