//! Finds the nearest of several spellings, for messages.

/// Returns the word of `allowed` that differs least from `word`, if it differs little: in letter
/// case, in `-` for `_`, or in up to a third of its letters.
pub fn nearest<'a>(word: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| -> Vec<char> {
        text.chars()
            .take(64)
            .map(|c| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() })
            .collect()
    };
    let word = plain(word);
    let (best, distance) = allowed
        .iter()
        .map(|spelling| (*spelling, edits(&word, &plain(spelling))))
        .min_by_key(|(_, distance)| *distance)?;
    (distance <= (best.chars().count() / 3).max(1)).then_some(best)
}

/// Returns the edit distance: letters to insert, leave out, replace or swap with their neighbour
/// (optimal string alignment).
fn edits(a: &[char], b: &[char]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best =
                (rows[i][j] + usize::from(x != y)).min(row[j] + 1).min(rows[i][j + 1] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        let allowed = ["start_ns", "src", "dst", "bytes", "deadline_ns"];
        assert_eq!(nearest("Start-ns", &allowed), Some("start_ns"));
        assert_eq!(nearest("dealine_ns", &allowed), Some("deadline_ns"));
        assert_eq!(nearest("dts", &allowed), Some("dst"));
        assert_eq!(nearest("colour", &allowed), None);
    }
}
