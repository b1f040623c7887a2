//! Values in messages as the file has them: a message shows the parsed value, in another unit or
//! rounded.

use super::{Tree, Value, Wrong};
use afflux_units::{Bytes, Rate, Span};
use std::str::FromStr;

impl Tree {
    /// Returns the message of `wrong`. If it begins with a quantity in quotes that is the value of
    /// the key in this tree, the message shows the text of the file: `"0us"` instead of `"0ps"`.
    pub fn as_written(&self, wrong: &Wrong) -> String {
        let quoted = || {
            let Value::Text(text) = &self.at(&wrong.key)?.value else { return None };
            let (shown, rest) = wrong.message.strip_prefix('"')?.split_once('"')?;
            let same = is_same::<Span>(shown, text)
                || is_same::<Rate>(shown, text)
                || is_same::<Bytes>(shown, text);
            same.then(|| format!("\"{text}\"{rest}"))
        };
        quoted().unwrap_or_else(|| wrong.message.clone())
    }
}

/// True if both texts are the same quantity of one kind.
fn is_same<T: FromStr + PartialEq>(one: &str, other: &str) -> bool {
    one.parse::<T>().ok().is_some_and(|one| other.parse().is_ok_and(|other: T| other == one))
}

#[cfg(test)]
mod tests {
    use crate::tree::{Key, Tree, Wrong};

    #[test]
    fn a_quantity_is_shown_as_the_file_has_it() {
        let text = "delay = \"1000h\"\nbuffer = \"0.5B\"\nrate = \"0.000001bps\"\nname = \"x\"";
        let tree = Tree::read(text).unwrap();
        for (key, message, shown) in [
            ("delay", "\"3600000s\": write less", "\"1000h\": write less"),
            ("buffer", "\"1B\": write more", "\"0.5B\": write more"),
            ("rate", "\"0bps\": write a rate above 0", "\"0.000001bps\": write a rate above 0"),
            ("delay", "\"1ms\" is another time", "\"1ms\" is another time"),
            ("name", "\"y\" is another name", "\"y\" is another name"),
            ("alpha", "\"1B\": no such key", "\"1B\": no such key"),
        ] {
            assert_eq!(tree.as_written(&Wrong::at(Key::from(key), message)), shown);
        }
    }
}
