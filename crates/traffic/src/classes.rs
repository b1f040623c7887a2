//! Names of traffic classes, indexed by `Flow::class`.

use rustc_hash::FxHashMap;

/// A list of distinct class names. The first one is `"default"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    names: Vec<String>,
    numbers: FxHashMap<String, u16>,
    /// Index of the name of the last lookup. Neighbouring rows of a flow list mostly share a name,
    /// so it is tried first.
    last: u16,
}

impl Default for Classes {
    fn default() -> Self {
        Classes {
            names: vec!["default".to_string()],
            numbers: FxHashMap::from_iter([("default".to_string(), 0)]),
            last: 0,
        }
    }
}

impl Classes {
    /// Returns the index of `name`, which is added if it is new; `None` if there are more than
    /// 65,536 names.
    pub fn index(&mut self, name: &str) -> Option<u16> {
        if self.names[self.last as usize] == name {
            return Some(self.last);
        }
        self.last = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                let number = u16::try_from(self.names.len()).ok()?;
                self.names.push(name.to_string());
                self.numbers.insert(name.to_string(), number);
                number
            }
        };
        Some(self.last)
    }
    pub fn names(&self) -> &[String] {
        &self.names
    }
    pub fn into_names(self) -> Vec<String> {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_once() {
        let mut classes = Classes::default();
        assert_eq!(classes.index("query"), Some(1));
        assert_eq!(classes.index("default"), Some(0));
        assert_eq!(classes.index("query"), Some(1));
        assert_eq!(classes.into_names(), ["default", "query"]);
    }
}
