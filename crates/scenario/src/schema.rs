//! The JSON Schema of scenario files.

use crate::document::Document;
use afflux_config::keys::Written;
use afflux_net::spec::{HostKeys, NicKeys, SwitchKeys};
use serde_json::Value;

pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Document).to_value();
    without_null(&mut schema);
    // `kind` is optional in a transport: without it, the transport is TCP.
    if let Some(forms) = schema.pointer_mut("/$defs/Transport/oneOf").and_then(Value::as_array_mut)
        && let Some(required) =
            forms.first_mut().and_then(|tcp| tcp.get_mut("required")).and_then(Value::as_array_mut)
    {
        required.retain(|key| key != "kind");
    }
    defaults_of_override(&mut schema, "SwitchOverride", "switch", &SwitchKeys::names());
    defaults_of_override(
        &mut schema,
        "HostOverride",
        "host",
        &[NicKeys::names(), HostKeys::names()].concat(),
    );
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// Sets the description of each default in the override `form`: the keys of `table` that it
/// repeats default to their values there.
fn defaults_of_override(schema: &mut Value, form: &str, table: &str, repeated: &[&str]) {
    let keys = schema.pointer_mut(&format!("/$defs/{form}/properties"));
    let keys = keys.and_then(Value::as_object_mut).into_iter().flatten();
    for (name, key) in keys.filter(|(name, _)| repeated.contains(&name.as_str())) {
        let Some(key) = key.as_object_mut() else { continue };
        key.remove("default");
        let about = key.get("description").and_then(Value::as_str).unwrap_or_default();
        let about = format!("{about} In an override the default is that of `[{table}] {name}`.");
        key.insert("description".into(), about.into());
    }
}

/// Removes null from the schema. TOML has no null; an optional key is left out instead.
fn without_null(schema: &mut Value) {
    let is_null = |form: &Value| form.get("type").is_some_and(|kind| kind == "null");
    if let Value::Object(entries) = schema {
        if let Some(Value::Array(types)) = entries.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [one] = types.as_slice() {
                let one = one.clone();
                entries.insert("type".into(), one);
            }
        }
        if let Some(Value::Array(forms)) = entries.get_mut("anyOf") {
            forms.retain(|form| !is_null(form));
            if let [Value::Object(only)] = forms.as_mut_slice() {
                let only = std::mem::take(only);
                entries.remove("anyOf");
                for (key, value) in only {
                    entries.entry(key).or_insert(value);
                }
            }
        }
    }
    match schema {
        Value::Object(entries) => entries.values_mut().for_each(without_null),
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}
