//! A partition: nodes with everything that belongs to them, owned by one worker. The same code runs under both engines; they
//! differ only in the [`Outlet`] that carries what happens later.

mod application;
mod arena;
mod balance;
mod build;
pub mod capture;
mod count;
mod discipline;
mod eager;
mod exact;
pub mod finish;
pub mod forward;
mod held;
mod hop;
pub mod host;
mod lane;
mod look;
mod managed;
mod node;
mod offers;
mod open;
mod outside;
mod pacer;
mod pass;
mod pause;
mod policy;
mod processor;
mod qdisc;
mod records;
mod reorder;
mod ring;
mod sample;
mod slab;
mod switch;
mod urgent;
mod voq;
mod watch;
mod watchdog;
mod way;

use crate::app::Runtime;
use crate::fault::Fault;
use crate::frame::{Change, Event, Extra, Frame};
use crate::pacer::Pacer;
use crate::port::{Port, Waiting};
use crate::processor::Processor;
use crate::record::Counters;
use crate::spec::FlowId;
use crate::transport::Halves;
use crate::world::World;
use lane::{Lane, Store};
pub use node::Node;
pub use records::{Departure, Harvest, Outside, ReceivedRecord, SentRecord};
use ring::Ring;
use slab::growing;
pub use slab::{NOT_YET, OVER, Slab, set_slot};

use afflux_engine::prefetch;
use rustc_hash::FxHashMap;

/// Where a shard puts what happens later.
pub trait Outlet {
    /// Ports are driven by an event at the end of each transmission.
    const CLASSICAL: bool;
    /// `frame` is dealt with, with `change` made, at `at` by the node of `change.port` in `shard`.
    fn frame(&mut self, at: u64, shard: u16, frame: &Frame, change: Change, extras: &mut Slab<Extra>);
    /// An event of a node of this shard.
    fn event(&mut self, at: u64, event: Frame);
    /// A flow elsewhere starts.
    fn start(&mut self, at: u64, shard: u16, event: Frame);
    /// A PAUSE frame takes effect at `at`.
    fn pause(&mut self, at: u64, shard: u16, frame: Frame);
    /// The only NIC of the node at hand is to look for its next frame at `at`; a call before this one is forgotten. `false` beyond the window under way: then
    /// an event has to be filed.
    fn nic_looks(&mut self, _at: u64) -> bool {
        false
    }
    /// Window engine: the node at hand has made an event for itself in the window under way.
    fn is_awaited(&self) -> bool {
        false
    }
    /// Classical engine: the transmission under way at `port` ends, or a pause there expires.
    fn sent(&mut self, _at: u64, _port: u32) {}
}

/// An event that `node` makes for itself, in a shard with that many ports.
#[inline(always)]
pub fn own_event(ports: usize, node: u32, flow: u32, event: Event) -> Frame {
    Frame { port: ports as u32 + node, flow, seq: event as u32, flags: Frame::EVENT, ..Frame::default() }
}
/// Aligned so that two workers' counters never share a cache line (or a pair of lines that the processor fetches together).
#[repr(align(128))]
pub struct Shard<'a> {
    pub world: &'a World<'a>,
    pub index: u16,
    pub nodes: Vec<Node>,
    pub ports: Vec<Port>,
    rings: Vec<Ring>,
    /// By port, as far as any is opened: see `shard::hop`.
    lanes: Vec<Lane>,
    store: Store,
    /// No frame has more bytes.
    largest: u64,
    pub faults: FxHashMap<u32, Fault>,
    pub transports: Halves,
    /// By node; none where no host has one.
    pub pacers: Vec<Option<Box<Pacer>>>,
    /// By node; none where no node has one.
    processors: Vec<Option<Box<Processor>>>,
    pub extras: Slab<Extra>,
    /// By flow: slot of the sending and the receiving half. They grow with the flows of applications.
    pub sending: Vec<u32>,
    pub receiving: Vec<u32>,
    /// By flow, for what the ToRs at its two ends know of it.
    flow_slots: [Vec<u32>; 2],
    /// Per local node: flows that start at a given time, next last.
    starts: Vec<Vec<FlowId>>,
    /// Per local node: flows that stop at a given time, next last; none where no flow does.
    stops: Vec<Vec<FlowId>>,
    /// Flows still to arrive per closed-loop group whose destination is here, and the flows it starts.
    groups: FxHashMap<u32, Group>,
    /// At their home.
    applications: Option<Runtime>,
    /// With small queues: when what hosts have given to a port will have left.
    cleared: Vec<u64>,
    /// How long the latest frame that a host sent with small queues will wait there.
    pub at_host: u64,
    pub counters: Counters,
    /// Flows of this shard's hosts that have not ended at their source (those of applications are counted where they are decided on), plus
    /// frames sent from here less frames absorbed here, plus what applications wait for: timers, and messages sent less messages that came.
    pub live: i64,
    pub flows_done: u64,
    /// The last moment at which something that matters happened here.
    pub last: u64,
    /// Path numbers are collected.
    pub record_paths: bool,
    path_counts: FxHashMap<(FlowId, u8, u32), (u64, u64)>,
    pub harvest: Harvest,
    /// By node, flows that have started there, if their senders are recorded; some may be over.
    pub open: Vec<Vec<FlowId>>,
    /// Bytes of memory that what has been recorded takes, by [`crate::memory::Kept`].
    pub kept: u64,
    /// Where packets of real hosts come from and go to, if there are any.
    pub outside: Option<Box<Outside>>,
}

pub struct Group {
    left: u32,
    starts: Vec<FlowId>,
}

impl<'a> Shard<'a> {
    /// What the lists that hold frames under way take for a moment when they grow next.
    pub fn growing(&self) -> u64 {
        let queues = self.ports.iter().filter_map(|port| port.automaton.as_ref()).flat_map(|automaton| &automaton.queues);
        let frames = queues.map(|queue| growing(queue.frames.len(), queue.frames.capacity(), size_of::<Waiting>())).max().unwrap_or(0);
        let rings = self.rings.iter().map(Ring::growing).max().unwrap_or(0);
        self.extras.growing() + frames.max(rings).max(self.store.arena.growing())
    }

    /// A frame or an event is due.
    #[inline(always)]
    pub fn handle<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, frame: &Frame) {
        if frame.is_traffic() {
            self.arrive(out, now, node, frame);
        } else {
            self.on_event(out, now, node, *frame);
        }
    }

    #[inline(never)]
    fn on_event<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, event: Frame) {
        if event.kind() == Frame::PAUSE {
            return self.on_pause(out, now, node, event);
        }
        if !O::CLASSICAL && self.nodes[node as usize].managed.as_ref().is_some_and(|managed| managed.mmu.paused > 0) {
            self.drain(out, now, node);
        }
        match Event::of(&event) {
            Event::Wake => self.nodes[node as usize].wake_at = 0,
            Event::Start => {
                if event.aux == Event::STOPS {
                    return self.on_stop(out, now, node, event.flow);
                }
                self.last = self.last.max(now);
                self.start_flow(out, now, node, event.flow);
                if event.aux == Event::BY_TIME {
                    self.arm_next_start(out, node);
                }
            }
            Event::Sender => self.sender_due(out, now, event.flow),
            Event::Receiver => self.receiver_due(out, now, event.flow),
            Event::Refresh => self.on_refresh(out, now, node, event.flow),
            Event::Storm => self.on_storm(out, now, node),
            Event::Watchdog => self.on_watchdog(out, now, node),
            Event::Deadlock => self.look_for_deadlock(out, now, node),
            Event::Sample => self.sample(out, now, node),
            Event::Uplinks => self.sample_uplinks(out, now, node),
            Event::Application => self.on_application(out, now, event),
            Event::Balance => self.on_balance(out, now, node, event),
            Event::Nic => self.on_nic(out, now, node, event.flow),
            Event::Release => {
                self.on_pacer(out, now, node);
                self.on_processor(out, now, node);
            }
            Event::Reordering => self.sample_reordering(out, now, node),
            Event::Senders => self.sample_senders(out, now, node),
        }
    }

    /// Classical engine: the transmission under way at `port` ends, or a pause there expires.
    pub fn transmission_ended<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let late = self.nodes[node as usize].arrivals_first as u64;
        if self.ports[port as usize].automaton.as_ref().is_some_and(|a| a.may_hold()) {
            return self.paused_port_due(out, now, node, port);
        }
        if self.ports[port as usize].open {
            return self.step_exact(out, now, node, port);
        }
        self.complete(out, now - late, node, port);
        self.start_next(out, now - late, node, port);
    }

    pub fn event(&self, node: u32, flow: u32, event: Event) -> Frame {
        own_event(self.ports.len(), node, flow, event)
    }

    /// Starts loading what [`Self::handle`] will need for a frame that a node deals with soon.
    #[inline(always)]
    pub fn prefetch(&self, node: u32, frame: &Frame) {
        let state = &self.nodes[node as usize];
        if !state.host {
            let bits = self.world.route_bits;
            if bits != 0 {
                return prefetch::<2, _>(&self.ports, state.first_port as usize + frame.routed_port(bits) as usize);
            }
            // A guess, where the switch sprays or routes have changed.
            if let Some(port) = self.world.routes(0).next_hop(state.id, frame.dst, frame.hash, state.hash_seed) {
                prefetch::<2, _>(&self.ports, state.first_port as usize + port as usize);
            }
            return;
        }
        if state.aside && state.id != frame.dst {
            return;
        }
        self.prefetch_half(frame);
    }

    /// The same for what the frame carries besides.
    #[inline(always)]
    pub fn prefetch_extra(&self, frame: &Frame) {
        prefetch::<{ size_of::<Extra>().div_ceil(64) }, _>(self.extras.slots(), frame.aux as usize);
    }

    /// Where the receiving half of a flow is; one that an application has started may not have been heard of.
    #[inline(always)]
    pub fn receiving_slot(&self, flow: FlowId) -> u32 {
        self.receiving.get(flow as usize).copied().unwrap_or(NOT_YET)
    }

    /// The node that an entry of the log belongs to.
    #[inline(always)]
    pub fn node_of(&self, frame: &Frame) -> u32 {
        let ports = self.ports.len() as u32;
        if frame.port < ports { self.ports[frame.port as usize].node } else { frame.port - ports }
    }
}
