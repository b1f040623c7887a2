//! ECMP: one path per flow, by hash. Also the hash functions for other balancers.

use super::{About, Choice, Holding, PathContext, Policy, Role};
use crate::Model;
use crate::frame::Frame;
use afflux_config::{keys, words};

keys! {
    /// No parameters.
    pub struct Keys as "Ecmp" => EcmpConfig(_context: &PathContext<'_>) {}
}

words! {
    /// The hash by which paths are chosen.
    pub enum RouteHash {
        /// Every switch hashes with its own seed.
        OwnSeed,
        /// All switches use the same seed (polarisation).
        SameSeed,
        /// Both directions of a flow have the same hash, and all switches of a tier hash alike.
        /// Both directions take the same path if ports are in the same order.
        Symmetric,
        /// MurmurHash3 of addresses and ports, seeded with the switch's number, modulo the next
        /// hops (ConWeave's ns-3).
        Murmur3,
    }
}

/// Leaves every frame to its switch's hash.
pub struct Ecmp;

impl Policy for Ecmp {
    type Config = EcmpConfig;
    fn new(_: &EcmpConfig, _: &[Option<u64>]) -> Self {
        Ecmp
    }
    fn selects_path(&self, _: &Frame) -> bool {
        false
    }
    fn choose(&mut self, _: &mut impl Holding, _: &mut Frame, _: Role, _: &[u16]) -> Choice {
        Choice::Ecmp
    }
}

/// Returns one of `count` choices for a flow's hash at a switch with this seed.
#[inline(always)]
pub fn ecmp(hash: u32, seed: u32, count: usize) -> usize {
    ((avalanche(hash, seed) as u64 * count as u64) >> 32) as usize
}

/// Applies Murmur3's finaliser. Full avalanche makes the choices at successive switches
/// independent.
#[inline(always)]
pub fn avalanche(hash: u32, seed: u32) -> u32 {
    let mut x = hash ^ seed;
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// Addresses and ports of the frames of a flow in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FourTuple {
    pub source: u32,
    pub destination: u32,
    pub source_port: u16,
    pub destination_port: u16,
}

impl FourTuple {
    /// Creates the tuple of frames from host `from` to host `to`. ConWeave's ns-3 simulator gives
    /// host h the address 11.(h/256).(h%256).1.
    pub fn new((from, to): (u32, u32), (source_port, destination_port): (u16, u16)) -> Self {
        let address = |host: u32| 0x0b00_0001 + (host / 256) * 0x1_0000 + (host % 256) * 0x100;
        FourTuple { source: address(from), destination: address(to), source_port, destination_port }
    }

    /// Computes the hash of ConWeave's ns-3 simulator, which takes both ports as one word.
    pub fn hash(&self, seed: u32) -> u32 {
        murmur3(
            [
                self.source,
                self.destination,
                self.source_port as u32 | (self.destination_port as u32) << 16,
            ],
            seed,
        )
    }
}

/// MurmurHash3 x86 32 of twelve bytes, given as little-endian words.
fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut h = seed;
    for word in words {
        h ^= word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    h ^= 12;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

pub const ABOUT: About = About { hashes: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "ecmp",
    source: "RFC 2992; hash of source, destination and flow with a seed per switch",
    faithful: "one path per flow and direction; uniform over the equal-cost next hops; `hash = \"same_seed\"` gives every switch the same seed \
               (polarisation), `\"symmetric\"` every tier, and both directions of a flow the same hash",
    simplified: "the hash function is not a vendor's; the flow's identifier takes the place of the ports",
};

pub const MURMUR3: Model = Model {
    kind: "balance",
    name: "ecmp with hash = \"murmur3\"",
    source: "ConWeave's ns-3 simulator, commit 236a801: switch-node.cc",
    faithful: "MurmurHash3 over addresses and ports, seeded with the switch's number, modulo the number of next hops; ports as that simulator counts them",
    simplified: "flows that applications start get their ports from their flow number",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur3_of_a_published_vector() {
        let words = *b"hello, world";
        let word =
            |i: usize| u32::from_le_bytes([words[i], words[i + 1], words[i + 2], words[i + 3]]);
        assert_eq!(murmur3([word(0), word(4), word(8)], 0), 0x149b_bb7f);
    }

    #[test]
    fn addresses_as_in_the_simulator() {
        let tuple = FourTuple::new((1, 300), (10_000, 100));
        assert_eq!((tuple.source, tuple.destination), (0x0b00_0101, 0x0b01_2c01));
        assert_eq!(tuple.hash(128), murmur3([0x0b00_0101, 0x0b01_2c01, 10_000 | 100 << 16], 128));
    }
}
