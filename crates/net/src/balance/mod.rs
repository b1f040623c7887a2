//! Choice among equal-cost next hops.

pub mod conweave;

use crate::Model;

/// One of `count` choices for a flow's hash at a switch with this seed.
#[inline(always)]
pub fn ecmp(hash: u32, seed: u32, count: usize) -> usize {
    // Murmur3's finaliser: full avalanche, so that choices at successive switches are independent.
    let mut x = hash ^ seed;
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^= x >> 16;
    ((x as u64 * count as u64) >> 32) as usize
}

/// A path's number: a hash of the switches' decisions in order, the same whenever the path is the same.
#[inline]
pub fn path_step(number: u32, node: u32, port: u16) -> u32 {
    let mut x = number.rotate_left(7) ^ node.wrapping_mul(0x9e37_79b1) ^ (port as u32 + 1).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x ^ (x >> 15)
}

pub const MODELS: &[Model] = &[
    Model {
        kind: "balance",
        name: "ecmp",
        source: "RFC 2992; hash of source, destination and flow with a seed per switch",
        faithful: "one path per flow and direction; uniform over the equal-cost next hops; `ecmp_same_seed` gives every switch the same seed: polarisation",
        simplified: "the hash is not any vendor's; the flow's identifier stands for its ports",
    },
    Model {
        kind: "balance",
        name: "spray",
        source: "random packet spraying",
        faithful: "every frame, acknowledgements too, draws a next hop uniformly from its switch's own stream",
        simplified: "-",
    },
];
