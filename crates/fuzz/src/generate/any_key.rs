//! Keys drawn from the schema of scenarios, so that a new key is drawn without a change here.

use crate::choices::Choices;
use afflux_results::ParquetFlowLists;
use afflux_scenario::{Overrides, parse};
use serde_json::Value as Schema;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::OnceLock;
use toml::{Table, Value};

/// Keys that are not drawn: they need files, real kernels or Python, choose what is compared, or
/// only name things.
const UNDRAWN: [&str; 17] = [
    "kind",
    "format",
    "kernel",
    "python",
    "sonic",
    "engine",
    "threads",
    "seed",
    "max_memory",
    "memory",
    "compat",
    "name",
    "description",
    "class",
    "file",
    "match",
    "override",
];
/// Number of keys that are tried, and number that are added at most.
const TRIED: u64 = 12;
const ADDED: u64 = 3;
/// Depth of tables and arrays in a drawn value.
const DEEPEST: u32 = 3;

/// Adds keys to the scenario `table`, each with a value that its schema allows. A key that makes
/// the scenario invalid is taken out again, so that no list of rules between keys is needed here.
/// `path` is the scenario's file, whose folder has the files that it names.
pub fn add(c: &mut Choices, table: &mut Table, path: &Path) {
    if !is_valid(table, path) {
        return;
    }
    let mut added = 0;
    for _ in 0..TRIED {
        let mut free = Vec::new();
        absent(schema(), &Value::Table(table.clone()), &mut Vec::new(), &mut free);
        if free.is_empty() || added == ADDED {
            return;
        }
        let (place, form) = c.of(&free);
        let Some(value) = value(c, form, 0) else { continue };
        let mut longer = table.clone();
        insert(&mut longer, &place, value);
        if is_valid(&longer, path) {
            *table = longer;
            added += 1;
        }
    }
}

/// True if the scenario is valid, or if checking it panics, which its examination will report.
fn is_valid(table: &Table, path: &Path) -> bool {
    let text = toml::to_string(table).expect("tables, texts and numbers");
    let checked = || parse(&text, path, &Overrides::default(), &ParquetFlowLists).is_ok();
    catch_unwind(AssertUnwindSafe(checked)).unwrap_or(true)
}

/// The schema of scenarios.
fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| serde_json::from_str(&afflux_scenario::schema()).expect("JSON"))
}

/// Follows references to definitions.
fn followed(mut form: &'static Schema) -> &'static Schema {
    while let Some(name) = form["$ref"].as_str() {
        form = schema().pointer(name.trim_start_matches('#')).expect("a definition");
    }
    form
}

/// Returns the alternatives of a schema, or the schema itself.
fn alternatives(form: &'static Schema) -> Vec<&'static Schema> {
    let form = followed(form);
    match form["oneOf"].as_array().or(form["anyOf"].as_array()) {
        Some(forms) => forms.iter().flat_map(alternatives).collect(),
        None => vec![form],
    }
}

/// Step from a value to one below it.
#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Item(usize),
}

/// Collects the keys that tables in `value` lack, with their schemas.
fn absent(
    form: &'static Schema,
    value: &Value,
    place: &mut Vec<Step>,
    found: &mut Vec<(Vec<Step>, &'static Schema)>,
) {
    match value {
        Value::Table(table) => {
            let kind = |form: &&Schema| {
                let word = &form["properties"]["kind"]["const"];
                form["properties"].is_object()
                    && (word.is_null()
                        || word.as_str() == table.get("kind").and_then(Value::as_str))
            };
            let Some(form) = alternatives(form).into_iter().find(kind) else { return };
            for (name, property) in form["properties"].as_object().expect("properties") {
                place.push(Step::Key(name.clone()));
                match table.get(name) {
                    _ if UNDRAWN.contains(&name.as_str()) => {}
                    Some(value) => absent(property, value, place, found),
                    None => found.push((place.clone(), property)),
                }
                place.pop();
            }
        }
        Value::Array(items) => {
            let Some(form) = alternatives(form).into_iter().find(|form| form["items"].is_object())
            else {
                return;
            };
            for (index, item) in items.iter().enumerate() {
                place.push(Step::Item(index));
                absent(&form["items"], item, place, found);
                place.pop();
            }
        }
        _ => {}
    }
}

fn insert(table: &mut Table, place: &[Step], value: Value) {
    match place {
        [Step::Key(name)] => drop(table.insert(name.clone(), value)),
        [Step::Key(name), rest @ ..] => {
            insert_below(table.get_mut(name).expect("a table or an array"), rest, value);
        }
        _ => unreachable!("a place in a table begins with a key"),
    }
}

fn insert_below(at: &mut Value, place: &[Step], value: Value) {
    match (at, place) {
        (Value::Table(table), _) => insert(table, place, value),
        (Value::Array(items), [Step::Item(index), rest @ ..]) => {
            insert_below(&mut items[*index], rest, value);
        }
        _ => unreachable!("places lead through tables and arrays"),
    }
}

/// Draws a value that the schema allows; `None` if the schema does not say enough.
fn value(c: &mut Choices, form: &'static Schema, depth: u32) -> Option<Value> {
    // The default stands beside a reference.
    let default = &form["default"];
    let forms = alternatives(form);
    if forms.is_empty() || depth > DEEPEST {
        return None;
    }
    let form = c.of(&forms);
    if let Some(word) = form["const"].as_str() {
        return Some(word.into());
    }
    if let Some(words) = form["enum"].as_array() {
        return c.of(words).as_str().map(Value::from);
    }
    match form["type"].as_str()? {
        "boolean" => Some(c.chance(50).into()),
        "integer" => {
            let least = form["minimum"].as_u64().unwrap_or(0);
            let usual = default.as_u64().unwrap_or(64).saturating_mul(4).max(least + 8);
            let most = form["maximum"].as_u64().unwrap_or(u64::MAX).min(usual);
            Some(Value::Integer(c.range(least, most.max(least)) as i64))
        }
        "number" => {
            let usual = default.as_f64().unwrap_or(1.0);
            let least = form["minimum"].as_f64().unwrap_or(usual / 4.0);
            Some(c.real(least, form["maximum"].as_f64().unwrap_or(usual * 4.0)).into())
        }
        "string" => {
            let pattern = form["pattern"].as_str()?;
            if pattern.contains("ns") {
                Some(c.time(1, 10_000_000).into())
            } else if pattern.contains("bps") {
                Some(format!("{}Mbps", c.scale(10, 400_000)).into())
            } else if pattern.contains("kMGT") {
                Some(c.size(1, 10_000_000).into())
            } else {
                pattern.contains('%').then(|| format!("{}%", c.range(1, 100)).into())
            }
        }
        "array" => {
            let least = form["minItems"].as_u64().unwrap_or(1);
            let most = form["maxItems"].as_u64().unwrap_or(least + 2).min(least + 2);
            let count = c.range(least, most);
            (0..count)
                .map(|_| value(c, &form["items"], depth + 1))
                .collect::<Option<Vec<_>>>()
                .map(Value::from)
        }
        "object" => {
            let required: Vec<&str> = form["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Schema::as_str)
                .collect();
            let mut table = Table::new();
            for (name, property) in form["properties"].as_object()? {
                let needed = required.contains(&name.as_str());
                let drawn = match property["const"].as_str() {
                    Some(word) if needed => Some(word.into()),
                    _ if needed || c.chance(20) => value(c, property, depth + 1),
                    _ => continue,
                };
                match drawn {
                    Some(value) => drop(table.insert(name.clone(), value)),
                    None if needed => return None,
                    None => {}
                }
            }
            Some(Value::Table(table))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::generate::scenario;
    use afflux_engine::random::Stream;
    use std::collections::BTreeSet;

    fn keys(value: &Value, name: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Table(table) => {
                for (key, value) in table {
                    found.insert(format!("{name}.{key}"));
                    keys(value, key, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| keys(item, name, found)),
            _ => {}
        }
    }

    #[test]
    fn scenarios_get_keys_from_the_schema_and_stay_valid() {
        let path = data().join("scenario.toml");
        let (scenarios, mut added) = (60, 0);
        for number in 0..scenarios {
            let mut stream = Stream::new(1, 1, number);
            let mut choices = Choices::new(&mut stream);
            choices.1 = true;
            let before = scenario(&mut choices, &data(), false);
            let mut after = before.clone();
            add(&mut choices, &mut after, &path);
            assert_eq!(is_valid(&before, &path), is_valid(&after, &path), "scenario {number}");
            let (mut known, mut all) = (BTreeSet::new(), BTreeSet::new());
            keys(&Value::Table(before), "", &mut known);
            keys(&Value::Table(after), "", &mut all);
            added += all.difference(&known).count() as u64;
        }
        assert!(added > scenarios / 2, "{added} keys in {scenarios} scenarios");
    }
}
