//! Reduction of a broken scenario to a smaller one with the same defect.

use crate::examine::{Broken, Limits, Verdict, examine};
use std::path::Path;
use std::time::{Duration, Instant};
use toml::{Table, Value};

/// One step of a path in a document: a key of a table or an index of an array.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Key(String),
    At(usize),
}

/// Removes tables, keys and entries, and halves numbers, as long as `text` keeps the same defect.
pub fn shrink(text: &str, path: &Path, broken: &Broken, limits: &Limits, time: Duration) -> String {
    let began = Instant::now();
    let Ok(mut best) = toml::from_str::<Table>(text) else { return text.to_string() };
    let still = |table: &Table| {
        toml::to_string(table).is_ok_and(|text| matches!(examine(&text, path, limits), Verdict::Broken(found) if found.what == broken.what))
    };
    loop {
        let before = best.clone();
        for change in [remove as fn(&mut Value) -> bool, halve] {
            // Large parts first.
            let mut places = places(&best);
            places.sort_by_key(Vec::len);
            for place in places {
                if began.elapsed() > time {
                    return toml::to_string(&best).unwrap_or_default();
                }
                // Repeat the change as long as it helps.
                while let Some(tried) = changed(&best, &place, change)
                    && began.elapsed() <= time
                    && still(&tried)
                {
                    best = tried;
                }
            }
        }
        if best == before {
            return toml::to_string(&best).unwrap_or_default();
        }
    }
}

/// Returns the paths of all values of a document.
fn places(table: &Table) -> Vec<Vec<Step>> {
    fn below(value: &Value, at: &[Step], found: &mut Vec<Vec<Step>>) {
        let mut visit = |step: Step, inner: &Value| {
            let place = [at, &[step]].concat();
            found.push(place.clone());
            below(inner, &place, found);
        };
        match value {
            Value::Table(table) => {
                table.iter().for_each(|(key, inner)| visit(Step::Key(key.clone()), inner))
            }
            Value::Array(entries) => {
                entries.iter().enumerate().for_each(|(place, inner)| visit(Step::At(place), inner))
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    below(&Value::Table(table.clone()), &[], &mut found);
    found
}

/// Returns the document with `change` applied at a path. `None` if nothing changes or the path no
/// longer exists.
fn changed(table: &Table, place: &[Step], change: fn(&mut Value) -> bool) -> Option<Table> {
    let mut document = Value::Table(table.clone());
    let (last, path) = place.split_last()?;
    let mut parent = &mut document;
    for step in path {
        parent = match step {
            Step::Key(key) => parent.get_mut(key)?,
            Step::At(place) => parent.get_mut(*place)?,
        };
    }
    match last {
        Step::Key(key) => {
            let entries = parent.as_table_mut()?;
            let value = entries.get_mut(key)?;
            if !change(value) {
                return None;
            }
            if *value == REMOVED.into() {
                entries.remove(key);
            }
        }
        Step::At(place) => {
            let entries = parent.as_array_mut()?;
            let value = entries.get_mut(*place)?;
            if !change(value) {
                return None;
            }
            if *value == REMOVED.into() {
                entries.remove(*place);
            }
        }
    }
    match document {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

/// Placeholder for a value that will be removed.
const REMOVED: &str = "\u{0}removed";

fn remove(value: &mut Value) -> bool {
    *value = REMOVED.into();
    true
}

fn halve(value: &mut Value) -> bool {
    match value {
        Value::Integer(number) if *number > 1 => *number /= 2,
        Value::String(text) => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let Ok(number) = text[..digits].parse::<u64>() else { return false };
            if number < 2 {
                return false;
            }
            *text = format!("{}{}", number / 2, &text[digits..]);
        }
        _ => return false,
    }
    true
}
