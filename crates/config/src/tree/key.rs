//! The dotted path of a key: `switch.ecn.kmin`, `traffic[1].load`.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    Name(String),
    Index(usize),
}

/// A key's path from the top of the document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Key(Vec<Segment>);

impl Key {
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }
    pub fn is_top(&self) -> bool {
        self.0.is_empty()
    }
    /// Parses `a.b[1].c`, or its equivalent `a.b.1.c`. A name in quotes may have dots, as in
    /// `a."b.c"`.
    pub fn parse(text: &str) -> Option<Key> {
        let mut key = Vec::new();
        let mut rest = text;
        loop {
            let (segment, mut after) = if let Some(inside) = rest.strip_prefix('"') {
                let (name, after) = inside.split_once('"')?;
                (Segment::Name(name.to_string()), after)
            } else {
                let (name, after) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
                match name.parse() {
                    Ok(index) => (Segment::Index(index), after),
                    Err(_) if name.is_empty() => return None,
                    Err(_) => (Segment::Name(name.to_string()), after),
                }
            };
            key.push(segment);
            while let Some(open) = after.strip_prefix('[') {
                let (index, behind) = open.split_once(']')?;
                key.push(Segment::Index(index.parse().ok()?));
                after = behind;
            }
            if after.is_empty() {
                return Some(Key(key));
            }
            rest = after.strip_prefix('.')?;
        }
    }
    /// Returns this path inside `outer`.
    pub fn within(mut self, outer: Segment) -> Key {
        self.0.insert(0, outer);
        self
    }
    pub fn name(mut self, name: &str) -> Key {
        self.0.push(Segment::Name(name.to_string()));
        self
    }
    pub fn index(mut self, index: usize) -> Key {
        self.0.push(Segment::Index(index));
        self
    }
}

/// Converts text that is known to be well-formed.
impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key::parse(text).unwrap_or_default()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, segment) in self.0.iter().enumerate() {
            if place > 0 && matches!(segment, Segment::Name(_)) {
                f.write_str(".")?;
            }
            match segment {
                Segment::Name(name) if name.contains(['.', '[']) => write!(f, "\"{name}\"")?,
                Segment::Name(name) => f.write_str(name)?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        for text in [
            "switch.ecn.kmin",
            "traffic[1].load",
            "topology.fault[0].down[2].from",
            "kernel[0].at.\"0.1s\"",
            "\"a.b\"[1].c",
        ] {
            assert_eq!(Key::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Key::parse("traffic.1.load"), Key::parse("traffic[1].load"));
        assert_eq!(Key::parse("traffic.\"1\""), Some(Key::from("traffic").name("1")));
        for text in ["", "a..b", "a[", "a[x]", "a[1]b", "a.", "a.\"b", "a.\"b\"c"] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }
}
