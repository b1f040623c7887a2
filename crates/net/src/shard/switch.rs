//! What switches have that manage their memory, or do not simply hash.

use crate::balance::{Balancer, ReorderQueues};
use crate::frame::Frame;
use crate::queue::buffer::mmu::Mmu;
use crate::routing::PortInfo;
use crate::spec::{NodeId, NodeKind, RouteHash};
use crate::world::World;
use afflux_engine::random::Stream;

/// So many ports are looked at together: that of a switch with 24 which acts next is found with about ten comparisons.
const GROUP: usize = 4;

/// A switch's memory, and when its ports act next.
pub struct Managed {
    pub mmu: Mmu,
    /// Window engine, while a group is paused, by port: when it ends a transmission or starts one by itself, `u64::MAX` for never.
    due: Vec<[u64; GROUP]>,
    /// The earliest of each group.
    soonest: Vec<u64>,
    /// None of them is before this.
    pub(super) next_due: u64,
}

impl Managed {
    pub fn new(mmu: Mmu, ports: u32) -> Self {
        let groups = (ports as usize).div_ceil(GROUP);
        Managed { mmu, due: vec![[u64::MAX; GROUP]; groups], soonest: vec![u64::MAX; groups], next_due: u64::MAX }
    }

    /// Writes down when a port acts next.
    #[inline(always)]
    pub(super) fn set_due(&mut self, port: u32, at: u64) {
        let group = &mut self.due[port as usize / GROUP];
        group[port as usize % GROUP] = at;
        self.soonest[port as usize / GROUP] = group.iter().copied().fold(u64::MAX, u64::min);
        self.next_due = self.next_due.min(at);
    }

    /// The port that acts next, the lowest of several, and when; and when the next one does.
    pub(super) fn first_due(&self) -> (u32, u64, u64) {
        let least = |first: (usize, u64, u64), (place, at): (usize, u64)| if at < first.1 { (place, at, first.1) } else { (first.0, first.1, first.2.min(at)) };
        let (group, _, beyond) = self.soonest.iter().copied().enumerate().fold((0, u64::MAX, u64::MAX), least);
        let (place, at, next) = self.due[group].iter().copied().enumerate().fold((0, u64::MAX, u64::MAX), least);
        ((group * GROUP + place) as u32, at, next.min(beyond))
    }
}

/// What a switch that does not simply hash has besides.
pub struct Balanced {
    /// Taken out while it is asked.
    pub(super) balancer: Option<Box<Balancer>>,
    /// The rack of which this is the ToR.
    pub(super) rack: Option<u32>,
    /// By port: a host is at its other end.
    pub(super) from_host: Box<[bool]>,
    /// What goes by hash goes by that of the four-tuple.
    pub(super) hashes_tuples: bool,
    /// Frames between ToRs follow their paths.
    pub(super) leaves_transit: bool,
    /// The balancer is oblivious.
    pub(super) sprays: bool,
    /// By the kinds of frames, a bit for each: the balancer chooses their paths.
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
        let is_host = |node: NodeId| world.plan.topology.nodes[node as usize].kind == NodeKind::Host;
        let from_host: Box<[bool]> = world.ports.of(id).iter().map(|info| is_host(info.peer)).collect();
        // The load of a link to a host matters where that has several links: there may be a choice of them, the host may pass frames on (BCube), and it
        // is a rack of its own, of whose links neighbours are told.
        let matters = |host: NodeId| world.ports.of(host).len() > 1;
        let rate = |info: &PortInfo| (!is_host(info.peer) || matters(info.peer)).then(|| world.rate(info).0);
        let rates: Vec<Option<u64>> = world.ports.of(id).iter().map(rate).collect();
        let mut balancer = Balancer::of(&switch.balance, &rates);
        // Some of its hosts may have other links, and are racks of their own.
        let mut racks = world.ports.of(id).iter().map(|info| info.peer).filter(|&peer| is_host(peer)).map(|host| world.routes(0).rack_of(host));
        let rack = racks.find(|&rack| world.routes(0).anchor(rack) == id);
        let hashes_tuples = switch.hash == RouteHash::Murmur3;
        let leaves_transit = rack.is_none() && balancer.leaves_transit();
        let selects = (0..u16::BITS as u16).map(|kind| (balancer.selects_path(&Frame::of_kind(kind)) as u16) << kind).sum();
        let sprays = balancer.oblivious().is_some();
        Some(Box::new(Balanced { balancer: Some(Box::new(balancer)), rack, from_host, hashes_tuples, leaves_transit, sprays, selects }))
    }

    /// A switch that sprays: the next hop to the rack `to` for a frame that came in by port `input`. Within the rack it goes by hash (none).
    #[inline(always)]
    pub(super) fn oblivious_choice(&mut self, to: u32, input: u32, hops: &[u16], stream: &mut Stream) -> Option<u16> {
        let within = self.rack == Some(to) && self.from_host[input as usize];
        let chooser = self.balancer.as_deref_mut()?.oblivious()?;
        (!within).then(|| chooser.one_of(to, hops, |n| stream.below(n)))
    }

    /// Hosts hang on it.
    pub(super) fn is_tor(&self) -> bool {
        self.rack.is_some()
    }

    /// The balancer chooses the path of this frame, if it goes from rack to rack.
    #[inline(always)]
    pub(super) fn selects_path(&self, frame: &Frame) -> bool {
        self.selects >> frame.kind_number() & 1 != 0
    }

    pub(super) fn asked(&self) -> &Balancer {
        self.balancer.as_deref().expect("not being asked")
    }

    /// Frames and bytes held.
    pub(super) fn held(&self) -> (u64, u64) {
        self.asked().held()
    }

    /// Frames held that take the switch's memory.
    pub(super) fn charged(&self) -> impl Iterator<Item = &Frame> {
        self.asked().charged()
    }

    pub(super) fn reorder_queues(&self) -> Option<&ReorderQueues> {
        self.asked().reorder_queues()
    }
}
