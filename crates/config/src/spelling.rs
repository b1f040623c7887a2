//! Suggestions for misspelled words.

/// Returns the candidate nearest to `found`, if it is near enough to be a likely correction.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = fold(found);
    let best =
        candidates.into_iter().map(|c| (distance(&wanted, &fold(c)), c)).min_by_key(|(d, _)| *d)?;
    let allowed = 1 + best.1.chars().count() / 4;
    let near = best.0 <= allowed && best.0 < best.1.chars().count();
    near.then_some(best.1)
}

/// Returns ` (did you mean "x"?)`, or nothing.
pub fn suggestion<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(found, candidates)
        .map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"))
}

/// Returns the error text for an unknown key, with the known keys.
pub fn unknown_key(found: &str, known: &[&str]) -> String {
    let keys = if known.is_empty() {
        String::from("there are none here")
    } else {
        format!("the keys here are {}", known.join(", "))
    };
    format!("unknown key{}; {keys}", suggestion(found, known.iter().copied()))
}

/// Formats a list as `"a", "b" or "c"`.
pub fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = items.into_iter().map(|i| format!("\"{i}\"")).collect();
    match quoted.as_slice() {
        [] => String::from("nothing"),
        [one] => one.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

/// Normalises a word, so that case and the choice among `-`, `_` and blanks do not matter.
fn fold(text: &str) -> Vec<char> {
    text.chars()
        .take(64)
        .map(|c| if matches!(c, '-' | ' ') { '_' } else { c.to_ascii_lowercase() })
        .collect()
}

/// Returns the edit distance: insertions, deletions, replacements, and swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut cost = (last[j - 1] + usize::from(a[i - 1] != b[j - 1]))
                .min(last[j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cost = cost.min(before[j - 2] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let keys = ["buffer", "sharing", "alpha", "queue_length"];
        assert_eq!(nearest("bufer", keys), Some("buffer"));
        assert_eq!(nearest("Queue-Length", keys), Some("queue_length"));
        assert_eq!(nearest("aplha", keys), Some("alpha"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(list(["a", "b", "c"]), "\"a\", \"b\" or \"c\"");
    }
}
