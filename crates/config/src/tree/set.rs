//! Changes of a scenario by the command line: `--set key.path=value`.

use super::{Entry, Key, Origin, Segment, Tree, Value};
use crate::spelling;

impl Tree {
    /// Sets `key` to `value` (TOML, or a bare word that is read as text), and creates missing
    /// tables.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let origin = Origin::Option(format!("--set {key}={value}"));
        let path = Key::parse(key.trim()).ok_or_else(|| format!("\"{key}\" is not a key path: write --set switch.buffer=9MB or --set traffic[0].load=0.5"))?;
        self.put(&path, from_text(value, &origin), &origin)
    }

    pub fn put(&mut self, path: &Key, value: Value, origin: &Origin) -> Result<(), String> {
        let mut here = self;
        for (depth, segment) in path.segments().iter().enumerate() {
            let around = || {
                if depth == 0 {
                    "the scenario".to_string()
                } else {
                    Key::of(&path.segments()[..depth]).to_string()
                }
            };
            let shown = here.value.shown();
            // A number after a table is the name of a key.
            let numbered;
            let segment = match segment {
                Segment::Index(index) if matches!(here.value, Value::Table(_)) => {
                    numbered = Segment::Name(index.to_string());
                    &numbered
                }
                other => other,
            };
            here = match segment {
                Segment::Name(name) if matches!(here.value, Value::Array(_)) => {
                    let Value::Array(items) = &mut here.value else {
                        unreachable!("just looked at")
                    };
                    let place = element(items, name)
                        .map_err(|message| format!("{} {message}", around()))?;
                    &mut items[place]
                }
                Segment::Name(name) => {
                    let Value::Table(entries) = &mut here.value else {
                        return Err(format!("{} is {shown}: it has no key \"{name}\"", around()));
                    };
                    let known = entries.iter().position(|e| e.name == *name);
                    if known.is_none()
                        && let Some(Segment::Index(index)) = path.segments().get(depth + 1)
                    {
                        let list = Key::of(&path.segments()[..=depth]);
                        return Err(format!(
                            "{list} is not in the file, so it has no element {index}: write the whole list, as in --set '{list}=[{{ … }}]', or \"{index}\" with quotes if it is the name of a key"
                        ));
                    }
                    let place = known.unwrap_or_else(|| {
                        let tree = Tree { value: Value::Table(Vec::new()), origin: origin.clone() };
                        entries.push(Entry { name: name.clone(), origin: origin.clone(), tree });
                        entries.len() - 1
                    });
                    if depth + 1 == path.segments().len() {
                        entries[place].origin = origin.clone();
                    }
                    &mut entries[place].tree
                }
                Segment::Index(index) => {
                    let Value::Array(items) = &mut here.value else {
                        return Err(format!("{} is {shown}: it has no element {index}", around()));
                    };
                    let count = items.len();
                    match items.get_mut(*index) {
                        Some(item) => item,
                        None => {
                            return Err(format!(
                                "{} has {count} element{}, counted from 0: there is no element {index}",
                                around(),
                                if count == 1 { "" } else { "s" }
                            ));
                        }
                    }
                }
            };
        }
        *here = Tree { value, origin: origin.clone() };
        Ok(())
    }
}

/// Returns the index of the array's table with this `name`, or else of the only table with this
/// `class`.
fn element(items: &[Tree], wanted: &str) -> Result<usize, String> {
    let text = |tree: &Tree, key: &str| match &tree.value {
        Value::Table(entries) => entries.iter().find(|entry| entry.name == key).and_then(|entry| {
            match &entry.tree.value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            }
        }),
        _ => None,
    };
    let mut known: Vec<String> = Vec::new();
    for key in ["name", "class"] {
        let names: Vec<Option<String>> = items.iter().map(|item| text(item, key)).collect();
        let found: Vec<usize> = names
            .iter()
            .enumerate()
            .filter(|(_, name)| name.as_deref() == Some(wanted))
            .map(|(place, _)| place)
            .collect();
        match found[..] {
            [place] => return Ok(place),
            [] => {}
            [first, second, ..] => {
                return Err(format!(
                    "has several elements with {key} = \"{wanted}\": write their number, {first} or {second}, counted from 0"
                ));
            }
        }
        for name in names.into_iter().flatten() {
            if !known.contains(&name) {
                known.push(name);
            }
        }
    }
    let numbers = match items.len() {
        0 => return Err(format!("is empty: it has no element \"{wanted}\"")),
        1 => "the number 0".to_string(),
        count => format!("a number from 0 to {}", count - 1),
    };
    let hint = spelling::suggestion(wanted, known.iter().map(String::as_str));
    let cure = if known.is_empty() {
        format!("none has a name or a class, write {numbers}")
    } else {
        format!("write {} or {numbers}", spelling::list(known.iter().map(String::as_str)))
    };
    Err(format!("has no element with the name or class \"{wanted}\"{hint}: {cure}"))
}

impl Key {
    fn of(segments: &[Segment]) -> Key {
        segments.iter().fold(Key::default(), |key, segment| match segment {
            Segment::Name(name) => key.name(name),
            Segment::Index(index) => key.index(*index),
        })
    }
}

fn from_text(text: &str, origin: &Origin) -> Value {
    let read = Tree::read(&format!("value = {text}")).ok().and_then(|tree| match tree.value {
        Value::Table(entries) if entries.len() == 1 => {
            entries.into_iter().next().map(|entry| entry.tree.value)
        }
        _ => None,
    });
    match read {
        Some(Value::Datetime(_)) | None => Value::Text(text.trim().to_string()),
        Some(value) => stamped(value, origin),
    }
}

/// Returns the same value with `origin` as the origin of all its parts.
fn stamped(value: Value, origin: &Origin) -> Value {
    let tree = |tree: Tree| Tree { value: stamped(tree.value, origin), origin: origin.clone() };
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(tree).collect()),
        Value::Table(entries) => Value::Table(
            entries
                .into_iter()
                .map(|e| Entry { name: e.name, origin: origin.clone(), tree: tree(e.tree) })
                .collect(),
        ),
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_values_of_all_kinds() {
        let mut tree = Tree::read("[switch]\nbuffer = \"9MB\"\n[[traffic]]\nload = 0.5\n").unwrap();
        for (key, value) in [
            ("switch.buffer", "4MB"),
            ("switch.ecn.k", "30kB"),
            ("traffic.0.load", "0.8"),
            ("name", "\"x y\""),
            ("record.paths", "true"),
        ] {
            tree.set(key, value).unwrap();
        }
        assert_eq!(
            tree.origin_of(&Key::from("switch.buffer")),
            Origin::Option("--set switch.buffer=4MB".into())
        );
        assert_eq!(
            tree.origin_of(&Key::from("switch.ecn.k")),
            Origin::Option("--set switch.ecn.k=30kB".into())
        );
        assert_eq!(
            tree.set("traffic.3.load", "1").unwrap_err(),
            "traffic has 1 element, counted from 0: there is no element 3"
        );
        assert_eq!(
            tree.set("switch.queue.0.weight", "3").unwrap_err(),
            "switch.queue is not in the file, so it has no element 0: write the whole list, as in --set 'switch.queue=[{ … }]', or \"0\" with quotes if it is the name of a key"
        );
        let mut named =
            Tree::read("[[traffic]]\nname = \"sort\"\n[[traffic]]\nclass = \"web\"\n[[traffic]]\nclass = \"web\"\n[[traffic]]\nclass = \"sort\"\n").unwrap();
        named.set("traffic.sort.load", "0.8").unwrap();
        assert_eq!(
            named.origin_of(&Key::from("traffic.0.load")),
            Origin::Option("--set traffic.sort.load=0.8".into())
        );
        let several = "traffic has several elements with class = \"web\": write their number, 1 or 2, counted from 0";
        assert_eq!(named.set("traffic.web.load", "1").unwrap_err(), several);
        let unknown = "traffic has no element with the name or class \"sorts\" (did you mean \"sort\"?): write \"sort\" or \"web\" or a number from 0 to 3";
        assert_eq!(named.set("traffic.sorts.load", "1").unwrap_err(), unknown);
        let nameless = "traffic has no element with the name or class \"web\": none has a name or a class, write the number 0";
        assert_eq!(tree.set("traffic.web.load", "1").unwrap_err(), nameless);
        assert_eq!(
            tree.set("name.first", "1").unwrap_err(),
            "name is \"x y\": it has no key \"first\""
        );
    }
}
