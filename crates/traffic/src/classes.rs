//! Names of traffic classes, as `Flow::class` indexes them.

/// A list of distinct names; the first is `"default"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    names: Vec<String>,
    /// The name asked for last: neighbouring rows of a flow list mostly share one.
    last: u16,
}

impl Default for Classes {
    fn default() -> Self {
        Classes { names: vec!["default".to_string()], last: 0 }
    }
}

impl Classes {
    /// The index of `name`, which is added if it is new; `None` if there are more than 65,536 names.
    pub fn index(&mut self, name: &str) -> Option<u16> {
        if self.names[self.last as usize] == name {
            return Some(self.last);
        }
        let position = match self.names.iter().position(|known| known == name) {
            Some(position) => position,
            None => {
                self.names.push(name.to_string());
                self.names.len() - 1
            }
        };
        self.last = u16::try_from(position).ok()?;
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
