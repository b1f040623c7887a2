//! Parser from TOML text to a tree.

use super::{Entry, Origin, Tree, Value};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// TOML syntax error: its line and a message.
#[derive(Debug)]
pub struct NotToml {
    pub line: Option<usize>,
    pub message: String,
}

impl Tree {
    pub fn read(text: &str) -> Result<Tree, NotToml> {
        let lines = Lines::new(text);
        match DeTable::parse(text) {
            Ok(table) => {
                Ok(Tree { value: lines.table(table.into_inner()), origin: Origin::Line(1) })
            }
            Err(error) => {
                let line = error.span().map(|span| lines.of(span.start));
                let mut message = error.message().replace('\n', ", ");
                if let Some(key) = error
                    .span()
                    .filter(|_| message == "duplicate key")
                    .and_then(|span| text.get(span))
                {
                    message = format!("the key \"{key}\" is there twice");
                }
                Err(NotToml { line, message })
            }
        }
    }
}

/// Start offsets of the lines of a text.
struct Lines {
    starts: Vec<usize>,
    /// Number of the last line. An offset behind a final line break belongs to this line.
    last: usize,
}

impl Lines {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines {
            starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect(),
            last: text.lines().count().max(1),
        }
    }
    fn of(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).min(self.last)
    }
    fn tree(&self, value: Spanned<DeValue<'_>>) -> Tree {
        let origin = Origin::Line(self.of(value.span().start));
        Tree { value: self.value(value.into_inner()), origin }
    }
    fn value(&self, value: DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => Value::Integer(number),
                    Err(_) => Value::Huge(number.as_str().to_string()),
                }
            }
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => Value::Float(number),
                Err(_) => Value::Text(number.as_str().to_string()),
            },
            DeValue::Boolean(value) => Value::Boolean(value),
            DeValue::Datetime(date) => Value::Datetime(date.to_string()),
            DeValue::Array(items) => {
                Value::Array(items.into_iter().map(|item| self.tree(item)).collect())
            }
            DeValue::Table(table) => self.table(table),
        }
    }
    fn table(&self, table: DeTable<'_>) -> Value {
        let mut entries: Vec<(Spanned<DeString<'_>>, Spanned<DeValue<'_>>)> =
            table.into_iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let entry = |(name, value): (Spanned<DeString<'_>>, Spanned<DeValue<'_>>)| Entry {
            origin: Origin::Line(self.of(name.span().start)),
            name: name.into_inner().into_owned(),
            tree: self.tree(value),
        };
        Value::Table(entries.into_iter().map(entry).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Key;

    #[test]
    fn remembers_lines() {
        let tree = Tree::read("format = 1\n[switch]\n\nbuffer = \"9MB\"\n[[traffic]]\nload = 1\n[[traffic]]\nload = [\n1,\n2]\n").unwrap();
        for (key, line) in [
            ("format", 1),
            ("switch", 2),
            ("switch.buffer", 4),
            ("switch.alpha", 2),
            ("traffic[1].load", 8),
            ("traffic[1].load[1]", 10),
        ] {
            assert_eq!(tree.origin_of(&Key::from(key)), Origin::Line(line), "{key}");
        }
        assert_eq!(Tree::read("a = 1\nb = \n").unwrap_err().line, Some(2));
    }
}
