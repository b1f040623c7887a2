//! Names from files: of hosts, classes, blocks and jobs. They appear in tables, pages, file names
//! and on terminals.

use crate::text;

/// Length of the longest name in bytes.
pub const LONGEST_BYTES: usize = 255;

/// Hosts by their names in a file.
pub trait HostNames {
    /// Returns the host with this name or address.
    fn find(&self, text: &str) -> Option<u32>;
    /// Returns the known name that differs least from `text`, if one is near.
    fn nearest(&self, text: &str) -> Option<String>;
}

/// A fabric whose hosts have only numbers.
pub struct NumbersOnly;

impl HostNames for NumbersOnly {
    fn find(&self, _: &str) -> Option<u32> {
        None
    }
    fn nearest(&self, _: &str) -> Option<String> {
        None
    }
}

/// Returns what a name must be, if `name` is invalid. The text ends a sentence that begins with
/// what was found.
pub fn wrong(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("a name that is not empty".into());
    }
    if name.len() > LONGEST_BYTES {
        return Some(format!(
            "a name of at most {LONGEST_BYTES} bytes (this one has {})",
            name.len()
        ));
    }
    if name.trim().len() < name.len() {
        return Some("a name without blanks at its ends".into());
    }
    let hidden = name.chars().find(|c| is_hidden(*c))?;
    Some(format!(
        "a name without control characters and invisible ones (this one has U+{:04X})",
        u32::from(hidden)
    ))
}

/// True for control characters, line separators, and characters that are invisible or change the
/// direction of text. Joiners are allowed, because scripts and emoji need them.
pub fn is_hidden(c: char) -> bool {
    let invisible = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    c.is_control()
        || invisible
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the name in quotes for a message: shortened, without unprintable characters.
pub fn shown(name: &str) -> String {
    if name.is_empty() {
        return "\"\"".to_string();
    }
    text::shown(name.as_bytes()).replace('`', "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_invisible_is_a_name() {
        for good in [
            "db1",
            "10.0.0.1",
            "fe80::1",
            "Köln",
            "東京",
            "a b",
            "=1+1",
            "\"quoted\"",
            "👩\u{200d}💻",
            "]#`'",
        ] {
            assert_eq!(wrong(good), None, "{good}");
        }
        for bad in [
            "",
            " a",
            "a\u{a0}",
            "a\nb",
            "a\0",
            "\u{1b}[31m",
            "\u{202e}abc",
            "\u{feff}a",
            "a\u{2028}b",
            "\u{7f}",
            &"x".repeat(256),
        ] {
            assert!(wrong(bad).is_some(), "{bad:?}");
            assert!(!shown(bad).contains(|c: char| c.is_control()), "{bad:?}");
        }
    }
}
