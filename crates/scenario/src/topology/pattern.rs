//! Patterns of names: `*`, `?`, and numbers or words in brackets, as in the host lists of batch
//! systems (`srv[1-8,12]`).

use afflux_traffic::names::shown;
use std::collections::BTreeSet;

/// A pattern that must match a whole name.
pub struct Pattern(Vec<Part>);

enum Part {
    /// `*`: any characters.
    Any,
    /// `?`: one character.
    One,
    Is(char),
    /// `[…]`: one of these items.
    Choice(Vec<Choice>),
}

enum Choice {
    Word(Vec<char>),
    /// Numbers from `first` to `last`, written with `digits` digits, or without leading zeros if
    /// `digits` is `None`.
    Numbers {
        first: u64,
        last: u64,
        digits: Option<usize>,
    },
}

impl Pattern {
    /// True if `text` contains a character that is special in patterns. A name may contain
    /// brackets, so `text` can still be a name.
    pub fn is_in(text: &str) -> bool {
        text.contains(['*', '?', '['])
    }

    pub fn parse(text: &str) -> Result<Pattern, String> {
        let mut parts = Vec::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            parts.push(match c {
                '*' => Part::Any,
                '?' => Part::One,
                '[' => {
                    let (inside, after) = rest.as_str().split_once(']').ok_or_else(|| {
                        format!("{}: the bracket does not end: write ]", shown(text))
                    })?;
                    rest = after.chars();
                    Part::Choice(
                        inside
                            .split(',')
                            .map(|item| choice(item.trim(), text))
                            .collect::<Result<_, _>>()?,
                    )
                }
                c => Part::Is(c),
            });
        }
        Ok(Pattern(parts))
    }

    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        // Positions in the name up to which the parts so far can match.
        let mut reached = BTreeSet::from([0]);
        for part in &self.0 {
            reached = match part {
                Part::Any => reached
                    .first()
                    .map_or_else(BTreeSet::new, |first| (*first..=name.len()).collect()),
                _ => reached
                    .iter()
                    .flat_map(|at| part.lengths(&name[*at..]).map(move |length| at + length))
                    .collect(),
            };
        }
        reached.contains(&name.len())
    }
}

impl Part {
    /// Returns the lengths of all prefixes of `name` that this part matches.
    fn lengths(&self, name: &[char]) -> impl Iterator<Item = usize> {
        let found: Vec<usize> = match self {
            Part::Any => (0..=name.len()).collect(),
            Part::One => (!name.is_empty()).then_some(1).into_iter().collect(),
            Part::Is(c) => (name.first() == Some(c)).then_some(1).into_iter().collect(),
            Part::Choice(choices) => {
                choices.iter().flat_map(|choice| choice.lengths(name)).collect()
            }
        };
        found.into_iter()
    }
}

impl Choice {
    fn lengths(&self, name: &[char]) -> Vec<usize> {
        match self {
            Choice::Word(word) => {
                name.starts_with(word).then_some(word.len()).into_iter().collect()
            }
            Choice::Numbers { first, last, digits } => {
                let longest = name.iter().take(18).take_while(|c| c.is_ascii_digit()).count();
                let right = |length: &usize| match digits {
                    Some(digits) => length == digits,
                    None => *length == 1 || name[0] != '0',
                };
                let number = |length: &usize| {
                    name[..*length]
                        .iter()
                        .fold(0, |number, c| 10 * number + u64::from(*c) - u64::from('0'))
                };
                (1..=longest)
                    .filter(right)
                    .filter(|length| (*first..=*last).contains(&number(length)))
                    .collect()
            }
        }
    }
}

/// Parses one item between brackets.
fn choice(item: &str, pattern: &str) -> Result<Choice, String> {
    let wrong = |reason: &str| Err(format!("{}: {reason}", shown(pattern)));
    let number = |text: &str| {
        text.parse::<u64>()
            .ok()
            .filter(|_| text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if item.is_empty() || item.contains(['*', '?', '[']) {
        return wrong(
            "between [ and ] stand numbers, ranges of numbers or words, with commas between them, as in \"host[1-3,7]\"",
        );
    }
    let Some((from, to)) = item.split_once('-') else {
        return Ok(Choice::Word(item.chars().collect()));
    };
    let (Some(first), Some(last)) = (number(from), number(to)) else {
        return Ok(Choice::Word(item.chars().collect()));
    };
    if first > last {
        return wrong(&format!("in {item} the first number is above the second"));
    }
    let padded = from.len() > 1 && from.starts_with('0');
    if padded && from.len() != to.len() {
        return wrong(&format!(
            "in {item} both numbers need as many digits, because the first begins with 0"
        ));
    }
    Ok(Choice::Numbers { first, last, digits: padded.then_some(from.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_match() {
        for (pattern, names, others) in [
            ("leaf*", &["leaf12", "leaf"][..], &["eaf1"][..]),
            ("leaf?", &["leaf1"], &["leaf12", "leaf"]),
            ("*f1*", &["leaf12"], &["leaf21"]),
            ("leaf1", &["leaf1"], &["leaf12"]),
            ("*", &["", "a"], &[]),
            ("a*b*c", &["axxbyyc", "abbc"], &["axxbyy"]),
            ("srv1[2-8]", &["srv12", "srv18"], &["srv11", "srv19", "srv128", "srv1", "srv102"]),
            ("srv[1,3]", &["srv1", "srv3"], &["srv2", "srv13", "srv1,3"]),
            ("srv[8-12]", &["srv8", "srv12"], &["srv08", "srv7", "srv13", "srv1"]),
            ("srv[08-12]", &["srv08", "srv12"], &["srv8", "srv012"]),
            ("srv[0-1]a", &["srv0a", "srv1a"], &["srv00a", "srv0"]),
            (
                "[web, db-a][1-20,40]?",
                &["web1x", "db-a40x", "web20x", "web200"],
                &["db1x", "web21x", "db-a4"],
            ),
            ("r[1-2]-*[3-4]", &["r1-h3", "r2-3", "r2-h13"], &["r3-h3", "r1-h5"]),
            ("n[1-99999999999999999]", &["n5"], &["n0", "n123456789012345678"]),
        ] {
            let parsed = Pattern::parse(pattern).unwrap();
            names.iter().for_each(|name| assert!(parsed.matches(name), "{pattern} {name}"));
            others.iter().for_each(|name| assert!(!parsed.matches(name), "{pattern} {name}"));
        }
    }

    #[test]
    fn mistakes_in_brackets() {
        for (pattern, says) in [
            ("srv[1-3", "\"srv[1-3\": the bracket does not end: write ]"),
            ("srv[]", "between [ and ] stand numbers"),
            ("srv[1,,2]", "between [ and ] stand numbers"),
            ("srv[*]", "between [ and ] stand numbers"),
            ("srv[8-2]", "\"srv[8-2]\": in 8-2 the first number is above the second"),
            ("srv[08-120]", "in 08-120 both numbers need as many digits"),
        ] {
            let message = Pattern::parse(pattern).err().unwrap();
            assert!(message.contains(says), "{message}");
        }
    }
}
