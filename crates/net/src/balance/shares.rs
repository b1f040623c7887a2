//! Unequal shares of next hops in the range of hashes.

/// Ports with their shares of the hashes.
pub struct Shares {
    /// Each port with the sum of all shares up to and including its own.
    ports: Vec<(u16, u64)>,
}

impl Shares {
    pub fn new(weights: impl IntoIterator<Item = (u16, u64)>) -> Self {
        let mut sum = 0;
        let ports = weights.into_iter().map(|(port, weight)| {
            sum += weight;
            (port, sum)
        });
        Shares { ports: ports.collect() }
    }

    /// Rounds the shares to a table of `entries` entries. Each port gets at least one. The rest
    /// goes by the largest remainders, to the first of equal ones.
    pub fn in_table(weights: &[(u16, u64)], entries: u64) -> Self {
        let sum: u128 = weights.iter().map(|(_, weight)| *weight as u128).sum();
        let mut table: Vec<(u16, u64)> = Vec::with_capacity(weights.len());
        let mut rest: Vec<(u128, usize)> = Vec::with_capacity(weights.len());
        for (place, &(port, weight)) in weights.iter().enumerate() {
            let exact = weight as u128 * entries as u128;
            table.push((port, ((exact / sum) as u64).max(1)));
            // A port that was raised to one entry has no claim to another.
            rest.push((if exact < sum { 0 } else { exact % sum }, place));
        }
        rest.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let given: u64 = table.iter().map(|(_, entries)| *entries).sum();
        for (_, place) in rest.into_iter().take(entries.saturating_sub(given) as usize) {
            table[place].1 += 1;
        }
        Shares::new(table)
    }

    /// Returns the port of a hash.
    pub fn of(&self, hash: u32) -> u16 {
        let sum = self.ports.last().expect("a next hop").1;
        let at = ((hash as u128 * sum as u128) >> 32) as u64;
        self.ports[self.ports.partition_point(|(_, upto)| *upto <= at)].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(shares: &Shares) -> Vec<u64> {
        let mut before = 0;
        shares.ports.iter().map(|(_, upto)| upto - std::mem::replace(&mut before, *upto)).collect()
    }

    #[test]
    fn tables() {
        assert_eq!(widths(&Shares::in_table(&[(0, 100), (1, 40)], 7)), [5, 2]);
        assert_eq!(widths(&Shares::in_table(&[(0, 100), (1, 40)], 4)), [3, 1]);
        assert_eq!(widths(&Shares::in_table(&[(0, 1), (1, 1), (2, 1)], 8)), [3, 3, 2]);
        // Each port has at least one entry.
        assert_eq!(widths(&Shares::in_table(&[(0, 1_000), (1, 1)], 4)), [3, 1]);
        assert_eq!(widths(&Shares::in_table(&[(0, 5), (1, 1), (2, 1)], 2)), [1, 1, 1]);
    }

    #[test]
    fn hashes_find_their_port() {
        let shares = Shares::new([(3, 3), (5, 1)]);
        let quarter = 1 << 30;
        assert_eq!(
            [0, 3 * quarter - 1, 3 * quarter, u32::MAX].map(|hash| shares.of(hash)),
            [3, 3, 5, 5]
        );
    }
}
