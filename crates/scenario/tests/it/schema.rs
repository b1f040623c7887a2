//! Tests that the JSON Schema is complete and describes every key.

use serde_json::Value;

#[test]
fn every_key_has_a_description() {
    let schema: Value = serde_json::from_str(&afflux_scenario::schema()).unwrap();
    let mut missing = Vec::new();
    walk(&schema, "", &mut missing);
    assert_eq!(missing, Vec::<String>::new());
    for key in ["format", "topology", "switch", "host", "traffic", "run", "record", "cost"] {
        assert!(schema.pointer(&format!("/properties/{key}")).is_some(), "{key}");
    }
}

fn walk(value: &Value, path: &str, missing: &mut Vec<String>) {
    if let Some(properties) = value.get("properties").and_then(Value::as_object) {
        for (key, property) in properties {
            let described = property.get("description").is_some()
                || property.get("$ref").is_some()
                || property.get("const").is_some();
            if !described {
                missing.push(format!("{path}.{key}"));
            }
        }
    }
    match value {
        Value::Object(entries) => {
            entries.iter().for_each(|(key, inner)| walk(inner, &format!("{path}/{key}"), missing))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, inner)| walk(inner, &format!("{path}/{index}"), missing)),
        _ => {}
    }
}

#[test]
fn transports_may_leave_their_kind_out() {
    let schema: Value = serde_json::from_str(&afflux_scenario::schema()).unwrap();
    let forms = schema.pointer("/$defs/Transport/oneOf").and_then(Value::as_array).unwrap();
    assert!(
        forms[0]
            .get("required")
            .and_then(Value::as_array)
            .is_none_or(|required| required.is_empty()),
        "{}",
        forms[0]
    );
}

#[test]
fn there_is_no_null() {
    assert!(!afflux_scenario::schema().contains("null"));
}

#[test]
fn every_model_says_where_it_comes_from() {
    let models = afflux_scenario::models();
    assert!(models.iter().any(|model| model.kind == "wire" && model.name == "ethernet"));
    assert!(models.iter().all(|model| !model.source.is_empty()
        && !model.faithful.is_empty()
        && !model.simplified.is_empty()));
}
