//! A shard is a partition of the network: nodes and all their state, owned by one worker. Both
//! engines run the same code. They differ only in the [`Outlet`] that schedules later events.

mod application;
mod arena;
mod balance;
mod bounds;
mod build;
mod build_node;
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
mod judge;
mod lane;
mod look;
mod managed;
mod node;
mod offers;
mod outside;
mod pacer;
mod pass;
mod pause;
mod policy;
mod processor;
mod qdisc;
mod rank_queue;
mod ranked;
mod records;
mod reorder;
mod sample;
mod send;
mod slab;
mod special;
mod switch;
mod trimmed;
mod voq;
mod watch;
mod watchdog;

use crate::app::Runtime;
use crate::fault::Fault;
use crate::frame::{Change, Event, Extra, Frame};
use crate::pacer::Pacer;
use crate::port::Port;
use crate::processor::Processor;
use crate::queue::waiting::Waiting;
use crate::record::Counters;
use crate::spec::FlowId;
use crate::transport::Halves;
use crate::world::World;
use lane::{Lane, Store};
pub use node::Node;
pub use records::{
    CardPause, Contents, Departure, Entering, Harvest, Outside, Paths, ReceivedRecord, SentRecord,
};
use slab::growing;
pub use slab::{NOT_YET, OVER, Slab, set_slot};

use afflux_engine::prefetch;
use rustc_hash::FxHashMap;

/// Schedules everything that happens later. Each engine implements it.
pub trait Outlet {
    /// True for the classical engine, in which an event at the end of each transmission drives the
    /// ports.
    const CLASSICAL: bool;
    /// Schedules a frame: the node of `change.port` in `shard` processes `frame`, with `change`
    /// applied, at `at`.
    fn frame(
        &mut self,
        at: u64,
        shard: u16,
        frame: &Frame,
        change: Change,
        extras: &mut Slab<Extra>,
    );
    /// Schedules an event of a node of this shard.
    fn event(&mut self, at: u64, event: Frame);
    /// Schedules an event of a node of any shard: a flow start, or a message that a flow of an
    /// application has arrived.
    fn start(&mut self, at: u64, shard: u16, event: Frame);
    /// Schedules a PAUSE frame, which takes effect at `at`.
    fn pause(&mut self, at: u64, shard: u16, frame: Frame);
    /// Makes the only NIC of the current node look for its next frame at `at`, which replaces the
    /// time of an earlier call. Returns `false` if `at` is beyond the current window. The caller
    /// then has to schedule an event.
    fn nic_looks(&mut self, _at: u64) -> bool {
        false
    }
    /// Window engine: true if the current node has scheduled an event for itself inside the current
    /// window.
    fn has_pending_event(&self) -> bool {
        false
    }
    /// Classical engine: schedules the end of the current transmission at `port`, or the time at
    /// which a blocked port may send again.
    fn sent(&mut self, _at: u64, _port: u32) {}
}

/// Returns an event that `node` schedules for itself, in a shard with `ports` ports.
#[inline(always)]
pub fn own_event(ports: usize, node: u32, flow: u32, event: Event) -> Frame {
    Frame {
        port: ports as u32 + node,
        flow,
        seq: event as u32,
        flags: Frame::EVENT,
        ..Frame::default()
    }
}
/// State of one shard. The alignment ensures that two workers' counters never share a cache line
/// (or a pair of lines that the processor fetches together).
#[repr(align(128))]
pub struct Shard<'a> {
    pub world: &'a World<'a>,
    pub index: u16,
    pub nodes: Vec<Node>,
    pub ports: Vec<Port>,
    /// Lane of each port, up to the last port that is not plain: see `shard::hop`.
    lanes: Vec<Lane>,
    store: Store,
    /// Upper bound of the size of frames in bytes.
    largest: u64,
    pub faults: FxHashMap<u32, Fault>,
    pub transports: Halves,
    /// Pacer of each node; an empty list if no host has one.
    pub pacers: Vec<Option<Box<Pacer>>>,
    /// Processor model of each node; an empty list if no node has one.
    processors: Vec<Option<Box<Processor>>>,
    pub extras: Slab<Extra>,
    /// Slot of each flow's sending half, and of its receiving half. Both lists grow with the flows
    /// that applications start.
    pub sending: Vec<u32>,
    pub receiving: Vec<u32>,
    /// By end of the flow (source, destination) and by flow: slot of the state that the ToR at this
    /// end keeps for the flow.
    flow_slots: [Vec<u32>; 2],
    /// Per local node: flows with a fixed start time, the next one last.
    starts: Vec<Vec<FlowId>>,
    /// Per local node: flows with a fixed stop time, the next one last; an empty list if no flow
    /// has one.
    stops: Vec<Vec<FlowId>>,
    /// Closed-loop groups whose destination is in this shard.
    groups: FxHashMap<u32, Group>,
    /// Runtime of the applications, in the shard of their home node.
    applications: Option<Runtime>,
    /// With small queues: estimated time in ps at which each port has sent all frames that its host
    /// has given to it. Empty without small queues.
    cleared: Vec<u64>,
    /// With small queues: estimated time in ps that the latest frame waits in its host before its
    /// transmission starts.
    pub at_host: u64,
    pub counters: Counters,
    /// Lost frames of datagram flows.
    pub lost: FxHashMap<FlowId, u64>,
    /// Number of activities that keep the run going; the run ends when the sum over all shards is
    /// 0. Counted are flows of this shard's hosts that have not ended at their source (flows of
    /// applications count at the applications' home), frames sent from here minus frames absorbed
    /// here, timers of applications, and messages sent minus messages received. Paused priority
    /// groups, PAUSE frames on their way, pause storms and waiting balancers count too.
    pub live: i64,
    pub flows_done: u64,
    /// Time in ps of the last activity in this shard. Sampling and wake-ups do not count.
    pub last: u64,
    /// True if the paths of data frames are recorded.
    pub record_paths: bool,
    path_counts: FxHashMap<(FlowId, u8, u32), (u64, u64)>,
    pub harvest: Harvest,
    /// Per node: flows that have started there, including some that have ended. Empty unless
    /// senders are recorded.
    pub open: Vec<Vec<FlowId>>,
    /// Upper bound in bytes of the memory that the records so far take, by [`crate::memory::Kept`].
    pub kept: u64,
    /// Packets of real hosts that have arrived or been dropped, if the run exchanges packets with
    /// real hosts.
    pub outside: Option<Box<Outside>>,
}

/// A closed-loop group: the flows in `starts` start when `left` more flows have arrived.
pub struct Group {
    left: u32,
    starts: Vec<FlowId>,
}

impl<'a> Shard<'a> {
    /// Returns the additional memory in bytes that the lists of frames will take temporarily when
    /// they grow next.
    pub fn growing(&self) -> u64 {
        let queues = self
            .ports
            .iter()
            .filter_map(|port| port.features.as_ref())
            .filter_map(|features| features.discipline.as_ref())
            .flat_map(|discipline| &discipline.queues);
        let frames = queues
            .map(|queue| growing(queue.frames.len(), queue.frames.capacity(), size_of::<Waiting>()))
            .max()
            .unwrap_or(0);
        self.extras.growing() + frames.max(self.store.arena.growing())
    }

    /// Processes a frame or an event that is due at `now`.
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
        if !O::CLASSICAL
            && self.nodes[node as usize]
                .managed
                .as_ref()
                .is_some_and(|managed| managed.mmu.paused > 0)
        {
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
                if self.outside.is_some() {
                    self.on_guest(out, now, node);
                }
            }
            Event::Reordering => self.sample_reordering(out, now, node),
            Event::Senders => self.sample_senders(out, now, node),
        }
    }

    /// Classical engine: processes the end of the current transmission at `port`, or the time at
    /// which a blocked port may send again.
    pub fn transmission_ended<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let late = self.nodes[node as usize].arrivals_first as u64;
        if self.ports[port as usize].features.as_ref().is_some_and(|a| a.may_hold()) {
            return self.paused_port_due(out, now, node, port);
        }
        self.step_exact(out, now - late, node, port);
    }

    pub fn event(&self, node: u32, flow: u32, event: Event) -> Frame {
        own_event(self.ports.len(), node, flow, event)
    }

    /// Prefetches the state that [`Self::handle`] will need for a frame that the node processes
    /// soon.
    #[inline(always)]
    pub fn prefetch(&self, node: u32, frame: &Frame) {
        let state = &self.nodes[node as usize];
        if !state.host {
            let bits = self.world.route_bits;
            if bits != 0 {
                return prefetch::<2, _>(
                    &self.ports,
                    state.first_port as usize + frame.routed_port(bits) as usize,
                );
            }
            // This is only a guess if the switch sprays or the routes have changed.
            if let Some(port) =
                self.world.routes(0).next_hop(state.id, frame.dst, frame.hash, state.hash_seed)
            {
                prefetch::<2, _>(&self.ports, state.first_port as usize + port as usize);
            }
            return;
        }
        if state.needs_slow_path && state.id != frame.dst {
            return;
        }
        self.prefetch_half(frame);
    }

    /// Prefetches the metadata of the frame.
    #[inline(always)]
    pub fn prefetch_extra(&self, frame: &Frame) {
        prefetch::<{ size_of::<Extra>().div_ceil(64) }, _>(self.extras.slots(), frame.aux as usize);
    }

    /// Returns the slot of a flow's receiving half; `NOT_YET` also for a flow that an application
    /// has started and that this shard does not know yet.
    #[inline(always)]
    pub fn receiving_slot(&self, flow: FlowId) -> u32 {
        self.receiving.get(flow as usize).copied().unwrap_or(NOT_YET)
    }

    /// Returns the node that an entry of the window log belongs to.
    #[inline(always)]
    pub fn node_of(&self, frame: &Frame) -> u32 {
        let ports = self.ports.len() as u32;
        if frame.port < ports { self.ports[frame.port as usize].node } else { frame.port - ports }
    }
}
