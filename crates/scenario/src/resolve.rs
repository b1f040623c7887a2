//! The resolved scenario, and its hash.
//!
//! The resolved scenario contains all written keys as they were written. A default that follows
//! from other keys must keep following them when somebody changes those keys. Defaults are
//! therefore comments, except the few that name a design or never depend on anything.

use crate::document::Document;
use crate::inputs::hash_of;
use afflux_config::tree::{self, Tree};
use afflux_net::spec::{EngineKind, RunKeys, SwitchKeys};
use std::fmt::Write;
use toml::{Table, Value};

/// Returns the resolved scenario as TOML: its keys as written in `tree`, with inputs as `document`
/// identifies them, and all other keys of `document` as comments. Without the comment signs the
/// text equals `document`.
pub fn text(document: &Document, tree: &Tree, default_transport: bool) -> Result<String, String> {
    let Value::Table(full) = Value::try_from(document).map_err(|error| error.to_string())? else {
        return Err("it is no table".into());
    };
    let merger = Merger { default_transport };
    let mut out = String::new();
    print(&merger.table(&full, Some(tree), &mut Vec::new()), &mut Vec::new(), &mut out);
    Ok(out)
}

/// Returns the keys of a switch as TOML, every default filled in.
pub fn of_switch(switch: &SwitchKeys) -> Result<String, String> {
    toml::to_string(switch).map_err(|error| error.to_string())
}

/// Value of a key, and whether it is written as a key or as a comment.
enum Node {
    Leaf {
        value: String,
        kept: bool,
    },
    /// Table with its entries. A table that was written (`written`) stays a table even if none of
    /// its keys was.
    Table {
        entries: Vec<(String, Node)>,
        written: bool,
    },
    Tables(Vec<Node>),
}

struct Merger {
    /// Whether traffic uses `[host.transport]`, written or not.
    default_transport: bool,
}

impl Merger {
    fn table(&self, full: &Table, tree: Option<&Tree>, path: &mut Vec<String>) -> Node {
        let written: &[tree::Entry] = match tree.map(|tree| &tree.value) {
            Some(tree::Value::Table(entries)) => entries,
            _ => &[],
        };
        // A bare name, as in `aqm = "codel"`, is short for a table of that kind.
        let by_name = tree.is_some_and(|tree| matches!(tree.value, tree::Value::Text(_)));
        let mut entries: Vec<(String, Node)> = Vec::new();
        for (name, value) in full {
            path.push(name.clone());
            let below = written.iter().find(|entry| entry.name == *name).map(|entry| &entry.tree);
            let kept = below.is_some()
                || self.names_the_design(path)
                || tree.is_some() && identifies(name)
                || path.iter().rev().nth(1).is_some_and(|table| table == "sha256")
                || by_name && name == "kind";
            entries.push((name.clone(), self.node(value, below, kept, path)));
            path.pop();
        }
        // Some written keys stand for others, and the document has only those others.
        for entry in written.iter().filter(|entry| !full.contains_key(&entry.name)) {
            entries.push((
                entry.name.clone(),
                Node::Leaf { value: inline(&value_of(&entry.tree)), kept: true },
            ));
        }
        // Written keys come first, in their order in the file.
        let first = |name: &str| {
            ["format", "name", "kind", "stack"]
                .iter()
                .position(|known| *known == name)
                .unwrap_or(usize::MAX)
        };
        let place = |(name, node): &(String, Node)| {
            let as_written =
                written.iter().position(|entry| entry.name == *name).unwrap_or(usize::MAX);
            (!node.is_kept(), as_written, first(name))
        };
        entries.sort_by_key(place);
        Node::Table { entries, written: tree.is_some() }
    }

    fn node(&self, value: &Value, tree: Option<&Tree>, kept: bool, path: &mut Vec<String>) -> Node {
        match (value, tree.map(|tree| &tree.value)) {
            (Value::Table(table), _) => self.table(table, tree, path),
            (Value::Array(items), Some(tree::Value::Array(written)))
                if items.len() == written.len()
                    && !items.is_empty()
                    && items.iter().all(Value::is_table) =>
            {
                let pairs = items.iter().zip(written);
                let item = |(item, tree): (&Value, &Tree)| {
                    item.as_table().map(|table| self.table(table, Some(tree), path))
                };
                Node::Tables(pairs.filter_map(item).collect())
            }
            _ => Node::Leaf { value: inline(value), kept },
        }
    }

    /// True for keys that the resolved scenario contains whether written or not: keys that name the
    /// design, and keys whose default depends on nothing.
    fn names_the_design(&self, path: &[String]) -> bool {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["format" | "name"] | ["run", _] => true,
            ["traffic", "name"] => true,
            ["host", "transport", name] => self.default_transport && is_kind(name),
            ["host", "transports", _, name] => is_kind(name),
            _ => false,
        }
    }
}

fn is_kind(name: &str) -> bool {
    matches!(name, "kind" | "stack" | "congestion" | "mode")
}

/// True for keys that locate and identify an input file. `sha256` may also be a table of files.
fn identifies(name: &str) -> bool {
    matches!(name, "file" | "sha256" | "matrix" | "matrix_sha256")
}

impl Node {
    fn is_kept(&self) -> bool {
        match self {
            Node::Leaf { kept, .. } => *kept,
            Node::Table { entries, written } => {
                *written || entries.iter().any(|(_, node)| node.is_kept())
            }
            Node::Tables(_) => true,
        }
    }
}

/// Prints keys first, then tables, because in TOML every key after a table's header belongs to that
/// table.
fn print(node: &Node, path: &mut Vec<String>, out: &mut String) {
    let Node::Table { entries, .. } = node else { return };
    for (name, node) in entries {
        keys(name, node, out);
    }
    for (name, node) in entries {
        path.push(name.clone());
        let head = path.iter().map(|name| key(name)).collect::<Vec<_>>().join(".");
        match node {
            Node::Leaf { .. } => {}
            Node::Table { .. } => {
                if node.is_kept() {
                    let _ = write!(out, "\n[{head}]\n");
                    print(node, path, out);
                }
            }
            Node::Tables(items) => {
                for item in items {
                    let _ = write!(out, "\n[[{head}]]\n");
                    print(item, path, out);
                }
            }
        }
        path.pop();
    }
}

/// Prints a key, or all keys of a table of which none is kept.
fn keys(name: &str, node: &Node, out: &mut String) {
    match node {
        Node::Leaf { value, kept } => {
            let _ = writeln!(out, "{}{} = {value}", if *kept { "" } else { "# " }, dotted(name));
        }
        Node::Table { entries, .. } if !node.is_kept() => {
            for (below, node) in entries {
                keys(&format!("{name}\0{below}"), node, out);
            }
        }
        Node::Table { .. } | Node::Tables(_) => {}
    }
}

/// Returns the dotted form of a key. The parts of `name` are separated by NUL, which no key
/// contains.
fn dotted(name: &str) -> String {
    name.split('\0').map(key).collect::<Vec<_>>().join(".")
}

fn key(name: &str) -> String {
    let bare =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { name.to_string() } else { quoted(name) }
}

/// Returns a TOML string on one line, with all special characters escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Table(table) if table.is_empty() => "{}".into(),
        Value::Table(table) => {
            format!(
                "{{ {} }}",
                table
                    .iter()
                    .map(|(name, value)| format!("{} = {}", key(name), inline(value)))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        plain => plain.to_string(),
    }
}

fn value_of(tree: &Tree) -> Value {
    match &tree.value {
        tree::Value::Text(text) | tree::Value::Datetime(text) | tree::Value::Huge(text) => {
            Value::String(text.clone())
        }
        tree::Value::Integer(number) => Value::Integer(*number),
        tree::Value::Float(number) => Value::Float(*number),
        tree::Value::Boolean(value) => Value::Boolean(*value),
        tree::Value::Array(items) => Value::Array(items.iter().map(value_of).collect()),
        tree::Value::Table(entries) => Value::Table(
            entries.iter().map(|entry| (entry.name.clone(), value_of(&entry.tree))).collect(),
        ),
    }
}

/// Returns the SHA-256 of everything that determines the results. Names, descriptions, threads, the
/// choice of packet engine, the memory limit, records, prices, the imported SONiC tables and paths
/// of inputs do not count.
pub fn hash(document: &Document) -> Result<String, String> {
    let mut document = document.clone();
    document.name = None;
    document.description = None;
    document.record = Default::default();
    document.sonic = None;
    document.cost = None;
    // The packet engines give the same results; the flow-level engine is another model.
    let engine = document.run.engine.filter(|engine| *engine == EngineKind::Ideal);
    document.run = RunKeys { threads: None, engine, memory: None, ..document.run };
    if let Some(file) = document.topology.fabric().file() {
        file.clear();
    }
    for block in &mut document.traffic {
        block.workload().paths().into_iter().for_each(String::clear);
    }
    let full = toml::to_string(&document).map_err(|error| error.to_string())?;
    Ok(hash_of(&full))
}
