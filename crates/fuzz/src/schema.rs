//! Words of the scenario format, taken from its schema, so that generators draw newly added words
//! without a change here.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Returns the words of an enumeration of the schema, for example of `Congestion`.
///
/// # Panics
/// If there is no enumeration of that name.
pub fn words(name: &str) -> Vec<String> {
    let every = enumerations();
    every.get(name).unwrap_or_else(|| panic!("the schema has no enumeration {name}")).clone()
}

/// Returns all enumerations of the schema.
pub fn enumerations() -> &'static BTreeMap<String, Vec<String>> {
    static FOUND: OnceLock<BTreeMap<String, Vec<String>>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let schema: serde_json::Value =
            serde_json::from_str(&afflux_scenario::schema()).expect("JSON");
        let definitions = schema["$defs"].as_object().expect("definitions");
        let of = |definition: &serde_json::Value| -> Option<Vec<String>> {
            if let Some(words) = definition["enum"].as_array() {
                return words.iter().map(|word| word.as_str().map(str::to_string)).collect();
            }
            definition["oneOf"]
                .as_array()?
                .iter()
                .map(|one| one["const"].as_str().map(str::to_string))
                .collect()
        };
        definitions
            .iter()
            .filter_map(|(name, definition)| Some((name.clone(), of(definition)?)))
            .collect()
    })
}
