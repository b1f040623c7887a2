//! Choice among equal-cost next hops.
//!
//! Plain hashing is done where frames arrive. Any other switch has a [`Balancer`] that is asked for every data frame between different racks;
//! acknowledgements and control frames go by hash, unless the balancer says otherwise. A balancer sees its switch as a [`Site`]. The ToR of a
//! frame's source may *pin* it to a path ([`Frame::pin`](crate::frame::Frame::pin)); the switches behind just follow.

mod conga;
mod conweave;
mod counters;
mod detail;
mod dlb;
mod dre;
mod drill;
mod ecmp;
mod flowlets;
mod glb;
mod letflow;
mod presto;
mod resilient;
mod shares;
mod site;
mod spray;
mod tag;
mod wcmp;

pub use conweave::ReorderQueues;
pub use counters::{BalanceCounters, ConweaveCounters, LateCounters};
pub use ecmp::{FourTuple, avalanche, ecmp};
pub use site::{End, Holding, Site};
pub use tag::Tag;

use crate::Model;
use crate::frame::Frame;
use crate::spec::{Balance, RouteHash, SwitchConfig};

/// Where on its way a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// At the ToR of its source, and bound for another rack.
    Source,
    /// Between ToRs.
    Transit,
    /// At the ToR of its destination, and come from another.
    Destination,
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// One of the next hops.
    Port(u16),
    /// By hash.
    Ecmp,
    /// As it is pinned; by hash if it is not, or if that is no longer a next hop.
    Follow,
    /// The balancer keeps it, until it calls [`Site::release`].
    Held,
}

/// The state of a switch's choices.
pub enum Balancer {
    /// By hash, but not by the plain one.
    Hash,
    Resilient,
    Wcmp(wcmp::Wcmp),
    Spray(spray::Spray),
    Drill(drill::Drill),
    LetFlow(letflow::LetFlow),
    Conga(conga::Conga),
    Dlb(dlb::Dlb),
    Detail(detail::Detail),
    Presto(presto::Presto),
    Conweave(Box<conweave::Conweave>),
}

impl Balancer {
    /// Of a switch whose choices are not plain hashing. `ports`: bits per second of each port whose load matters.
    pub fn of(switch: &SwitchConfig, ports: &[Option<u64>]) -> Option<Balancer> {
        Some(match &switch.balance {
            Balance::Ecmp if switch.hash == RouteHash::Murmur3 => Balancer::Hash,
            Balance::Ecmp => return None,
            Balance::Resilient => Balancer::Resilient,
            Balance::Wcmp(config) => Balancer::Wcmp(wcmp::Wcmp::new(config)),
            Balance::Spray(spray) => Balancer::Spray(spray::Spray::new(*spray)),
            Balance::Drill(config) => Balancer::Drill(drill::Drill::new(config)),
            Balance::LetFlow(config) => Balancer::LetFlow(letflow::LetFlow::new(config)),
            Balance::Conga(config) => Balancer::Conga(conga::Conga::new(config, ports)),
            Balance::Dlb(config) => Balancer::Dlb(dlb::Dlb::new(config, ports)),
            Balance::Detail(config) => Balancer::Detail(detail::Detail::new(config)),
            Balance::Presto(config) => Balancer::Presto(presto::Presto::new(config)),
            Balance::Conweave(config) => Balancer::Conweave(Box::new(conweave::Conweave::new(config, ports.len()))),
        })
    }

    /// Has it a say about this frame, which goes from rack to rack? Otherwise it goes by hash.
    pub fn minds(&self, frame: &Frame) -> bool {
        match self {
            Balancer::Hash => false,
            Balancer::Resilient | Balancer::Wcmp(_) | Balancer::Spray(_) | Balancer::Conga(_) | Balancer::Dlb(_) | Balancer::Detail(_) => true,
            Balancer::Drill(_) | Balancer::LetFlow(_) | Balancer::Presto(_) | Balancer::Conweave(_) => matches!(frame.kind(), Frame::DATA | Frame::DATAGRAM),
        }
    }

    /// A frame with these next hops, in port order, is to go on.
    pub fn choose(&mut self, site: &mut impl Holding, frame: &mut Frame, role: Role, hops: &[u16]) -> Choice {
        match self {
            Balancer::Hash => Choice::Ecmp,
            Balancer::Resilient => resilient::choose(site, frame, hops),
            Balancer::Wcmp(wcmp) => wcmp.choose(site, frame, hops),
            Balancer::Spray(spray) => Choice::Port(spray.choose(site.rack_of(frame.dst), hops, |n| site.below(n))),
            Balancer::Drill(drill) => drill.choose(site, frame, hops),
            Balancer::LetFlow(letflow) => letflow.choose(site, frame, role),
            Balancer::Conga(conga) => conga.choose(site, frame, role),
            Balancer::Dlb(dlb) => dlb.choose(site, frame, role, hops),
            Balancer::Detail(detail) => detail.choose(site, frame, hops),
            Balancer::Presto(presto) => presto.choose(site, frame, role),
            Balancer::Conweave(conweave) => conweave.choose(site, frame, role, hops),
        }
    }

    /// A frame for this switch has come: see [`Site::send`].
    pub fn told(&mut self, site: &mut impl Holding, frame: &Frame, tag: Tag) {
        match self {
            Balancer::Conweave(conweave) => conweave.told(site, frame, tag),
            Balancer::Dlb(dlb) => dlb.told(tag),
            _ => unreachable!("frame {frame:?} to a switch that none sends to"),
        }
    }

    /// See [`Site::wake`].
    pub fn woken(&mut self, site: &mut impl Holding, key: u32) {
        match self {
            Balancer::Conga(conga) => conga.woken(site),
            Balancer::Dlb(dlb) => dlb.woken(site),
            Balancer::Conweave(conweave) => conweave.woken(site, key),
            _ => unreachable!("woken with {key}, though nothing asks to be woken"),
        }
    }

    /// Frames and bytes held.
    pub fn held(&self) -> (u64, u64) {
        self.reorder_queues().map_or((0, 0), |queues| (queues.frames, queues.bytes))
    }

    /// Frames held that take the switch's memory.
    pub fn charged(&self) -> impl Iterator<Item = &Frame> {
        let queues = match self {
            Balancer::Conweave(conweave) if conweave.is_charged() => Some(&conweave.queues),
            _ => None,
        };
        queues.into_iter().flat_map(|queues| queues.held())
    }

    pub fn reorder_queues(&self) -> Option<&ReorderQueues> {
        match self {
            Balancer::Conweave(conweave) => Some(&conweave.queues),
            _ => None,
        }
    }
}

/// A path's number: a hash of the switches' decisions in order, the same whenever the path is the same.
#[inline]
pub fn path_step(number: u32, node: u32, port: u16) -> u32 {
    let mut x = number.rotate_left(7) ^ node.wrapping_mul(0x9e37_79b1) ^ (port as u32 + 1).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x ^ (x >> 15)
}

pub fn models() -> Vec<Model> {
    let one_each = [resilient::MODEL, wcmp::MODEL, drill::MODEL, letflow::MODEL, conga::MODEL, detail::MODEL, presto::MODEL, conweave::MODEL];
    [ecmp::MODELS, spray::MODELS, dlb::MODELS, &one_each].concat()
}
