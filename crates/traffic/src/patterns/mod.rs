//! Traffic patterns: which hosts send to which, and when.

pub mod all_to_all;
pub mod bulk;
pub mod constant;
pub mod destinations;
pub mod incast;
pub mod pairs;
pub mod partition_aggregate;
pub mod random;
pub mod shares;
pub mod spatial;

use crate::TrafficError;

/// Returns the hosts sorted. Refuses hosts that occur twice, and fewer than `least` hosts.
pub(crate) fn sorted(
    key: &'static str,
    hosts: &[u32],
    least: usize,
) -> Result<Vec<u32>, TrafficError> {
    let mut sorted = hosts.to_vec();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(TrafficError::parameter(
            key,
            format!("host {} twice", twice[0]),
            "each host once",
        ));
    }
    if sorted.len() < least {
        return Err(TrafficError::parameter(
            key,
            format!("{} hosts", sorted.len()),
            format!("at least {least}"),
        ));
    }
    Ok(sorted)
}
