//! Blocks of segments that arrived beyond a gap, as stored by a receiver and by its sender.

/// Ranges `from..to` of segments: disjoint, in ascending order, and not adjacent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blocks(Vec<(u32, u32)>);

impl Blocks {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, seq: u32) -> bool {
        let after = self.0.partition_point(|block| block.0 <= seq);
        after > 0 && seq < self.0[after - 1].1
    }

    /// Returns the number of segments in all blocks.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }

    pub fn insert(&mut self, seq: u32) {
        let after = self.0.partition_point(|block| block.0 <= seq);
        if after > 0 && seq < self.0[after - 1].1 {
            return;
        }
        let joins_before = after > 0 && self.0[after - 1].1 == seq;
        let joins_next = self.0.get(after).is_some_and(|next| next.0 == seq + 1);
        match (joins_before, joins_next) {
            (true, true) => {
                self.0[after - 1].1 = self.0[after].1;
                self.0.remove(after);
            }
            (true, false) => self.0[after - 1].1 = seq + 1,
            (false, true) => self.0[after].0 = seq,
            (false, false) => self.0.insert(after, (seq, seq + 1)),
        }
    }

    /// Returns the end of the block that contains `seq`, or `seq` if no block does.
    pub fn end_from(&self, seq: u32) -> u32 {
        let after = self.0.partition_point(|block| block.0 <= seq);
        if after > 0 { self.0[after - 1].1.max(seq) } else { seq }
    }

    /// Returns the gaps between `seq` and the end of the last block. `seq` must lie below all
    /// blocks.
    pub fn gaps_from(&self, seq: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let ends = std::iter::once(seq).chain(self.0.iter().map(|block| block.1));
        ends.zip(self.0.iter().map(|block| block.0))
    }

    /// Returns the first block.
    pub fn first(&self) -> Option<(u32, u32)> {
        self.0.first().copied()
    }

    /// Removes all segments below `seq`.
    pub fn discard_below(&mut self, seq: u32) {
        let gone = self.0.partition_point(|block| block.1 <= seq);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn as_a_set(steps in prop::collection::vec((0..40u32, any::<bool>()), 1..80)) {
            let (mut blocks, mut set) = (Blocks::default(), BTreeSet::new());
            for (seq, insert) in steps {
                if insert {
                    blocks.insert(seq);
                    set.insert(seq);
                } else {
                    blocks.discard_below(seq / 4);
                    set.retain(|held| *held >= seq / 4);
                }
                prop_assert!(blocks.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
                prop_assert_eq!(blocks.count() as usize, set.len());
                for at in 0..41 {
                    prop_assert_eq!(blocks.contains(at), set.contains(&at));
                    let end = (at..).find(|seq| !set.contains(seq)).unwrap();
                    prop_assert_eq!(blocks.end_from(at), end);
                }
            }
        }
    }
}
