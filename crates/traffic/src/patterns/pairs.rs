//! Fixed pairs of sources and destinations: permutations, strides, all pairs.

use super::sorted;
use crate::{Draws, TrafficError, purpose};

/// Draws a permutation without fixed points: every host sends to one other and receives from one.
/// All such permutations are equally likely.
pub fn permutation(hosts: &[u32], draws: &Draws) -> Result<Vec<(u32, u32)>, TrafficError> {
    let hosts = sorted("hosts", hosts, 2)?;
    let mut stream = draws.stream(purpose::PERMUTATION, 0);
    let mut to = hosts.clone();
    // Shuffles until no host is its own destination. This takes e tries on average.
    loop {
        for last in (1..to.len()).rev() {
            to.swap(last, stream.below(last as u64 + 1) as usize);
        }
        if hosts.iter().zip(&to).all(|(src, dst)| src != dst) {
            return Ok(hosts.into_iter().zip(to).collect());
        }
    }
}

/// Returns pairs in which the host at position i (in order of numbers) sends to the host at i +
/// `stride`, modulo the number of hosts.
pub fn stride(hosts: &[u32], stride: u32) -> Result<Vec<(u32, u32)>, TrafficError> {
    let hosts = sorted("hosts", hosts, 2)?;
    let count = hosts.len();
    if (stride as usize).is_multiple_of(count) {
        return Err(TrafficError::parameter(
            "stride",
            stride,
            format!("a number that is no multiple of the {count} hosts"),
        ));
    }
    Ok((0..count).map(|i| (hosts[i], hosts[(i + stride as usize) % count])).collect())
}

/// Returns every ordered pair, in the steps of a pairwise exchange. In step s each host sends to
/// the host s places after it, so that no host receives twice in a step.
pub fn all(hosts: &[u32]) -> Result<Vec<(u32, u32)>, TrafficError> {
    let hosts = sorted("hosts", hosts, 2)?;
    let count = hosts.len();
    Ok((1..count)
        .flat_map(|step| (0..count).map(move |i| (i, (i + step) % count)))
        .map(|(i, j)| (hosts[i], hosts[j]))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn permutations_have_no_fixed_points(count in 2..60u32, seed: u64) {
            let hosts: Vec<u32> = (0..count).map(|i| 3 * i).collect();
            let pairs = permutation(&hosts, &Draws::new(seed, "p")).unwrap();
            prop_assert!(pairs.iter().all(|(src, dst)| src != dst));
            prop_assert_eq!(pairs.iter().map(|pair| pair.0).collect::<Vec<_>>(), hosts.clone());
            let mut to: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
            to.sort_unstable();
            prop_assert_eq!(to, hosts);
        }
    }

    #[test]
    fn the_nine_derangements_of_four_are_equally_likely() {
        let mut seen = std::collections::BTreeMap::new();
        for seed in 0..9_000 {
            *seen.entry(permutation(&[0, 1, 2, 3], &Draws::new(seed, "")).unwrap()).or_insert(0) +=
                1;
        }
        assert_eq!(seen.len(), 9);
        assert!(seen.values().all(|count| (850..1_150).contains(count)), "{seen:?}");
    }

    #[test]
    fn strides_and_all_pairs() {
        assert_eq!(stride(&[4, 5, 6], 4).unwrap(), [(4, 5), (5, 6), (6, 4)]);
        assert!(stride(&[4, 5, 6], 3).is_err());
        assert_eq!(all(&[1, 2, 3]).unwrap(), [(1, 2), (2, 3), (3, 1), (1, 3), (2, 1), (3, 2)]);
        assert!(all(&[1, 1, 2]).unwrap_err().to_string().contains("host 1 twice"));
    }
}
