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
    /// Parses `a.b[1].c`, or its equivalent `a.b.1.c`.
    pub fn parse(text: &str) -> Option<Key> {
        let mut key = Vec::new();
        for part in text.split('.') {
            let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            match name.parse::<usize>() {
                Ok(index) => key.push(Segment::Index(index)),
                Err(_) if name.is_empty() => return None,
                Err(_) => key.push(Segment::Name(name.trim_matches('"').to_string())),
            }
            while let Some(open) = rest.strip_prefix('[') {
                let (index, after) = open.split_once(']')?;
                key.push(Segment::Index(index.parse().ok()?));
                rest = after;
            }
            if !rest.is_empty() {
                return None;
            }
        }
        Some(Key(key))
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
            match segment {
                Segment::Name(name) if place == 0 => f.write_str(name)?,
                Segment::Name(name) => write!(f, ".{name}")?,
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
        for text in ["switch.ecn.kmin", "traffic[1].load", "topology.fault[0].down[2].from"] {
            assert_eq!(Key::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Key::parse("traffic.1.load"), Key::parse("traffic[1].load"));
        for text in ["", "a..b", "a[", "a[x]", "a[1]b"] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }
}
