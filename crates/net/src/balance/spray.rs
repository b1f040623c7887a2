//! Packet spraying.

use super::{Choice, Site};
use crate::Model;

/// Every frame by itself.
pub struct Spray;

impl Spray {
    pub fn choose(&self, site: &mut impl Site, hops: &[u16]) -> Choice {
        match hops {
            [only] => Choice::Port(*only),
            _ => Choice::Port(hops[site.below(hops.len() as u64) as usize]),
        }
    }
}

pub const MODEL: Model = Model {
    kind: "balance",
    name: "spray",
    source: "random packet spraying",
    faithful: "every frame, acknowledgements too, draws a next hop uniformly from its switch's own stream",
    simplified: "-",
};
