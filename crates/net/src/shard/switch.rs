//! State of switches that have a memory management unit, a balancer, or a hash of four-tuples.

use super::lane::Sent;
use crate::balance::{Balancer, ReorderQueues};
use crate::frame::Frame;
use crate::queue::buffer::mmu::{CLASSES, Charge, Mmu};
use crate::routing::PortInfo;
use crate::spec::{NodeId, NodeKind, RouteHash};
use crate::world::World;
use afflux_engine::random::Stream;

/// Ports per group in the search for the port that acts next. With groups of 4, the search among 24
/// ports takes about ten comparisons.
const GROUP: usize = 4;

/// Memory of a switch, and the times at which its ports act next.
pub struct Managed {
    pub mmu: Mmu,
    /// Window engine, while a group is paused: time in ps at which each port ends a transmission,
    /// or starts one without a new arrival; `u64::MAX` for never.
    due: Vec<[u64; GROUP]>,
    /// Earliest time of each group of ports.
    soonest: Vec<u64>,
    /// Lower bound of all times in `due`.
    pub(super) next_due: u64,
}

impl Managed {
    pub fn new(mmu: Mmu, ports: u32) -> Self {
        let groups = (ports as usize).div_ceil(GROUP);
        Managed {
            mmu,
            due: vec![[u64::MAX; GROUP]; groups],
            soonest: vec![u64::MAX; groups],
            next_due: u64::MAX,
        }
    }

    /// Returns the charge for a frame in a queue of `port`, at a switch whose first port is `first`.
    /// A port may have more virtual output queues than the unit counts, but the unit's rules for
    /// them do not read queue lengths.
    #[inline(always)]
    pub(super) fn charge_of(&self, first: u32, port: u32, sent: Sent) -> Charge {
        let class = sent.class();
        Charge::new(
            self.mmu.size_of(sent.size as u64, class),
            sent.input - first,
            port - first,
            class,
            sent.queue % CLASSES as u8,
        )
    }

    /// Notes when a port acts next.
    #[inline(always)]
    pub(super) fn set_due(&mut self, port: u32, at: u64) {
        let group = &mut self.due[port as usize / GROUP];
        group[port as usize % GROUP] = at;
        self.soonest[port as usize / GROUP] = group.iter().copied().fold(u64::MAX, u64::min);
        self.next_due = self.next_due.min(at);
    }

    /// Returns the port that acts next (the lowest one, if several act at one instant), its time,
    /// and the time of the action after that.
    pub(super) fn first_due(&self) -> (u32, u64, u64) {
        let least = |first: (usize, u64, u64), (place, at): (usize, u64)| {
            if at < first.1 { (place, at, first.1) } else { (first.0, first.1, first.2.min(at)) }
        };
        let (group, _, beyond) =
            self.soonest.iter().copied().enumerate().fold((0, u64::MAX, u64::MAX), least);
        let (place, at, next) =
            self.due[group].iter().copied().enumerate().fold((0, u64::MAX, u64::MAX), least);
        ((group * GROUP + place) as u32, at, next.min(beyond))
    }
}

/// State of a switch that does not simply choose paths by the hash of frames.
pub struct Balanced {
    /// The balancer; `None` while it is being consulted.
    pub(super) balancer: Option<Box<Balancer>>,
    /// Rack whose ToR this switch is.
    pub(super) rack: Option<u32>,
    /// For each port, whether a host is at its other end.
    pub(super) from_host: Box<[bool]>,
    /// True if choices by hash use the hash of the four-tuple.
    pub(super) hashes_tuples: bool,
    /// True if the balancer leaves frames between ToRs to the paths that they are pinned to.
    pub(super) leaves_transit: bool,
    /// True if the balancer is oblivious: it reads nothing but the next hops.
    pub(super) sprays: bool,
    /// Bit set of the kinds of frames whose paths the balancer selects.
    selects: u16,
}

impl Balanced {
    pub(super) fn of(world: &World, id: NodeId) -> Option<Box<Balanced>> {
        let spec = &world.plan.topology.nodes[id as usize];
        if spec.kind == NodeKind::Host {
            return None;
        }
        let switch = &world.plan.switches[spec.config as usize];
        if switch.hashes_plainly() {
            return None;
        }
        let is_host =
            |node: NodeId| world.plan.topology.nodes[node as usize].kind == NodeKind::Host;
        let from_host: Box<[bool]> =
            world.ports.of(id).iter().map(|info| is_host(info.peer)).collect();
        // The load of a link to a host matters if the host has several links. Then there may be a
        // choice among these links, and the host may forward frames (BCube).
        let matters = |host: NodeId| world.ports.of(host).len() > 1;
        let rate = |info: &PortInfo| {
            (!is_host(info.peer) || matters(info.peer)).then(|| world.rate(info).0)
        };
        let rates: Vec<Option<u64>> = world.ports.of(id).iter().map(rate).collect();
        let mut balancer = Balancer::of(&switch.balance, &rates);
        // A host with other links may be a rack of its own, so not every host here belongs to this
        // switch's rack.
        let mut racks = world
            .ports
            .of(id)
            .iter()
            .map(|info| info.peer)
            .filter(|&peer| is_host(peer))
            .map(|host| world.routes(0).rack_of(host));
        let rack = racks.find(|&rack| world.routes(0).anchor(rack) == id);
        let hashes_tuples = switch.hash == RouteHash::Murmur3;
        let leaves_transit = rack.is_none() && balancer.leaves_transit();
        let selects = (0..u16::BITS as u16)
            .map(|kind| (balancer.selects_path(&Frame::of_kind(kind)) as u16) << kind)
            .sum();
        let sprays = balancer.oblivious().is_some();
        Some(Box::new(Balanced {
            balancer: Some(Box::new(balancer)),
            rack,
            from_host,
            hashes_tuples,
            leaves_transit,
            sprays,
            selects,
        }))
    }

    /// Returns the next hop to rack `to`, at a switch with an oblivious balancer, for a frame that
    /// arrived by port `input`. Returns `None` within the rack, where the hash decides.
    #[inline(always)]
    pub(super) fn oblivious_choice(
        &mut self,
        to: u32,
        input: u32,
        hops: &[u16],
        stream: &mut Stream,
    ) -> Option<u16> {
        let within = self.rack == Some(to) && self.from_host[input as usize];
        let chooser = self.balancer.as_deref_mut()?.oblivious()?;
        (!within).then(|| chooser.one_of(to, hops, |n| stream.below(n)))
    }

    /// True if the switch is the ToR of a rack.
    pub(super) fn is_tor(&self) -> bool {
        self.rack.is_some()
    }

    /// True if the balancer selects the path of this frame, provided that the frame goes from rack
    /// to rack.
    #[inline(always)]
    pub(super) fn selects_path(&self, frame: &Frame) -> bool {
        self.selects >> frame.kind_number() & 1 != 0
    }

    pub(super) fn balancer_of(&self) -> &Balancer {
        self.balancer.as_deref().expect("not being asked")
    }

    /// Returns the number of held frames, and their bytes.
    pub(super) fn held(&self) -> (u64, u64) {
        self.balancer_of().held()
    }

    /// Returns the held frames that take memory of the switch.
    pub(super) fn charged(&self) -> impl Iterator<Item = &Frame> {
        self.balancer_of().charged()
    }

    pub(super) fn reorder_queues(&self) -> Option<&ReorderQueues> {
        self.balancer_of().reorder_queues()
    }
}
