//! Tests that a changed scenario file is read or refused and never causes a panic, and that an
//! error points into the file.

use crate::common::{VALID, parse};
use proptest::prelude::*;

/// Pieces of text that tend to cause errors.
const PIECES: &[&str] = &[
    "0",
    "-1",
    "1e9",
    "\"\"",
    "\"0B\"",
    "\"9MB\"",
    "\"1packets\"",
    "\"off\"",
    "\"unlimited\"",
    "[]",
    "{}",
    "[[]]",
    "true",
    "false",
    "nan",
    "inf",
    "4294967295",
    "\n",
    "=",
    "\"all\"",
    "\"host0\"",
    "\"leaf*\"",
    "2026-01-01",
    "kind",
    "k = \"1kB\"",
    "[switch]",
    "[[traffic]]",
    "\"star\"",
    "\"fat_tree\"",
    "é",
    "9223372036854775807",
    "\"0.000000000000000001s\"",
    "\"5000h\"",
    "\"1000000packets\"",
    "\"host0-leaf0#9\"",
    "\"a>b\"",
];

fn check(text: &str) {
    match parse(text) {
        Ok(scenario) => assert!(
            parse(&scenario.resolved).is_ok(),
            "the resolved form is refused:\n{}\n{text}",
            scenario.resolved
        ),
        Err(error) => {
            assert!(
                error.line.is_none_or(|line| line >= 1 && line <= text.lines().count().max(1)),
                "{error}"
            );
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Replaces the value of a line: everything after `=`.
fn replace_value(line: usize, piece: &str) -> String {
    let mut lines: Vec<String> = VALID.lines().map(str::to_string).collect();
    let line = line % lines.len();
    if let Some((key, _)) = lines[line].split_once('=') {
        lines[line] = format!("{key}= {piece}");
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cut_and_pasted(cuts in prop::collection::vec((0usize..2000, 0usize..12, 0usize..PIECES.len()), 1..4)) {
        let mut text: Vec<char> = VALID.chars().collect();
        for (at, length, piece) in cuts {
            let at = at % text.len().max(1);
            let end = (at + length).min(text.len());
            text.splice(at.min(end)..end, PIECES[piece].chars());
        }
        check(&text.into_iter().collect::<String>());
    }

    #[test]
    fn values_replaced(line in 0usize..60, piece in 0usize..PIECES.len()) {
        check(&replace_value(line, PIECES[piece]));
    }

    #[test]
    fn lines_shuffled(from in 0usize..60, to in 0usize..60, copy in any::<bool>()) {
        let mut lines: Vec<&str> = VALID.lines().collect();
        let (from, to) = (from % lines.len(), to % lines.len());
        let line = if copy { lines[from] } else { lines.remove(from) };
        lines.insert(to.min(lines.len()), line);
        check(&lines.join("\n"));
    }
}
