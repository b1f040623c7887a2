//! Resilient hashing: if a next hop fails, only its flows move.

use super::{About, Choice, Holding, PathContext, Policy, Role, ecmp};
use crate::Model;
use crate::frame::Frame;
use afflux_config::keys;

keys! {
    /// No parameters.
    pub struct Keys as "Resilient" => ResilientConfig(_context: &PathContext<'_>) {}
}

pub struct Resilient;

impl Policy for Resilient {
    type Config = ResilientConfig;
    fn new(_: &ResilientConfig, _: &[Option<u64>]) -> Self {
        Resilient
    }
    fn selects_path(&self, _: &Frame) -> bool {
        true
    }
    /// Tries the flow's hash, then hashes derived from it, until one selects a next hop that is up.
    /// A flow moves only when its own next hop fails, and returns to it later.
    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        _: Role,
        hops: &[u16],
    ) -> Choice {
        if let [only] = hops {
            return Choice::Port(*only);
        }
        let hash = site.hash(frame);
        let members = site.members(frame.dst);
        // If the routes use entirely different next hops, frames are hashed as by ECMP.
        if !hops.iter().any(|hop| members.contains(hop)) {
            return Choice::Ecmp;
        }
        let first = ((hash as u64 * members.len() as u64) >> 32) as usize;
        let others =
            (1..).map(|turn: u32| ecmp(hash, turn.wrapping_mul(0x9e37_79b9), members.len()));
        let place = std::iter::once(first)
            .chain(others)
            .find(|&place| hops.contains(&members[place]))
            .expect("a member that is up");
        Choice::Port(members[place])
    }
}

pub const ABOUT: About = About { hashes: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "resilient",
    source: "resilient (consistent) hashing of switch ASICs",
    faithful: "as `ecmp`; when a next hop is known to be down, only its flows move, evenly to the other next hops; they return when it is up again; the \
               same holds for acknowledgements",
    simplified: "behaves like a table with an unlimited number of buckets; the group of next hops is the one at the start of the run",
};
