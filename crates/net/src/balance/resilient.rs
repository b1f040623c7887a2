//! Resilient hashing: when a next hop fails, only its flows move.

use super::{Choice, Site, ecmp};
use crate::Model;
use crate::frame::Frame;

/// Tries the flow's hash, then others made from it, until a next hop is found that is up. A flow moves only when its own next hop fails, and comes
/// back with it.
pub fn choose(site: &mut impl Site, frame: &Frame, hops: &[u16]) -> Choice {
    if let [only] = hops {
        return Choice::Port(*only);
    }
    let hash = site.hash(frame);
    let members = site.members(frame.dst);
    // Where routes lead elsewhere altogether there is nothing to be resilient about.
    if !hops.iter().any(|hop| members.contains(hop)) {
        return Choice::Ecmp;
    }
    let first = ((hash as u64 * members.len() as u64) >> 32) as usize;
    let others = (1..).map(|turn: u32| ecmp(hash, turn.wrapping_mul(0x9e37_79b9), members.len()));
    let place = std::iter::once(first).chain(others).find(|&place| hops.contains(&members[place])).expect("a member that is up");
    Choice::Port(members[place])
}

pub const MODEL: Model = Model {
    kind: "balance",
    name: "resilient",
    source: "resilient (consistent) hashing of switch ASICs",
    faithful: "as `ecmp`; when a next hop is known to be down only its flows move, spread evenly over the others, and they return with it; acknowledgements too",
    simplified: "as with an unlimited number of buckets; the group is that of the start of the run",
};
