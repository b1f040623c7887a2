//! Load balancing at switches: consults the balancer about frames, and gives it access to its
//! switch.

use super::{Node, Outlet, Shard};
use crate::balance::{
    BalanceCounters, Balancer, Choice, End, FourTuple, Holding, Role, Site, Tag, avalanche,
};
use crate::frame::{Event, Frame};
use crate::queue::Reason;
use crate::routing::NextHops;
use crate::spec::{FlowId, NodeId};
use crate::world::World;

/// Distance between the source ports of the subflows of a connection.
const PORT_STEP: u16 = 1_024;

impl<'a> Shard<'a> {
    /// Forwards a frame that arrives at a switch with a balancer.
    #[inline(never)]
    pub(super) fn arrive_balanced<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        frame: &Frame,
    ) {
        let mut frame = *frame;
        let hops = self.world.routes(now).next_hops(self.nodes[node as usize].id, frame.dst);
        if let Some(port) = self.chosen_port(out, now, node, &mut frame, hops) {
            self.forward(out, now, node, port, &mut frame);
        }
    }

    /// Chooses the port among `hops` by which a frame leaves a switch with a balancer. Returns
    /// `None` if the frame was dropped, is held by the balancer, or was addressed to this switch.
    #[inline(always)]
    pub(super) fn chosen_port<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        frame: &mut Frame,
        hops: NextHops<'a>,
    ) -> Option<u16> {
        let sprayed = self.sprayed(now, node, frame, hops);
        if sprayed.is_some() { sprayed } else { self.balanced_port(out, now, node, frame, hops) }
    }

    /// Fast path for a balancer that reads nothing but the next hops (spraying). Returns `None` if
    /// [`Self::balanced_port`] has to decide.
    #[inline(always)]
    fn sprayed(&mut self, now: u64, node: u32, frame: &Frame, hops: NextHops) -> Option<u16> {
        let Node { first_port, balanced, stream, .. } = &mut self.nodes[node as usize];
        let balanced = balanced.as_deref_mut()?;
        if !balanced.sprays || frame.is_bound() {
            return None;
        }
        match hops {
            NextHops::None => None,
            NextHops::One(port) => Some(port),
            NextHops::Many(hops) => balanced.oblivious_choice(
                self.world.routes(now).rack_of(frame.dst),
                frame.port - *first_port,
                hops,
                stream,
            ),
        }
    }

    /// Slow path: consults the balancer if it selects the path of this frame.
    #[inline(never)]
    fn balanced_port<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        frame: &mut Frame,
        set: NextHops<'a>,
    ) -> Option<u16> {
        let Node { first_port, balanced, .. } = &self.nodes[node as usize];
        let balanced = balanced.as_deref().expect("a switch that does not simply hash");
        let selects = balanced.selects_path(frame);
        // True at the ToR of the destination's rack, even if the host itself cannot be reached.
        let at_destination = balanced.rack == Some(self.world.routes(now).rack_of(frame.dst));
        if frame.kind() == Frame::TO_SWITCH && at_destination {
            self.consume(out, now, node, *frame);
            return None;
        }
        if let NextHops::None = set {
            self.drop_frame(*frame, Reason::Down);
            return None;
        }
        let hops = set.as_slice();
        let role = match (balanced.from_host[(frame.port - *first_port) as usize], at_destination) {
            (true, true) => None,
            (true, false) => Some(Role::Source),
            (false, true) => Some(Role::Destination),
            (false, false) => Some(Role::Transit),
        };
        let choice = match role.filter(|_| selects) {
            None => Choice::Ecmp,
            Some(role) => {
                let input = frame.port;
                self.ask(out, now, node, input, |balancer, here| {
                    balancer.choose(here, frame, role, hops)
                })
            }
        };
        match choice {
            Choice::Port(port) => Some(port),
            // A pinned path ends at the destination's ToR.
            Choice::Follow if role == Some(Role::Destination) => Some(hops[0]),
            Choice::Follow if frame.has(Frame::PINNED) && set.leads(frame.pinned_port()) => {
                let port = frame.pinned_port();
                frame.hash = frame.hash_beyond();
                Some(port)
            }
            Choice::Follow | Choice::Ecmp => Some(self.hashed(node, frame, hops)),
            Choice::Held => None,
        }
    }

    /// Sends a frame out of a switch by the chosen port.
    #[inline(always)]
    pub fn forward<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u16,
        frame: &mut Frame,
    ) {
        let (id, first_port) = (self.nodes[node as usize].id, self.nodes[node as usize].first_port);
        self.note_path(id, port, frame);
        self.offer(out, now, node, first_port + port as u32, frame);
    }

    /// Sends a frame by the chosen port out of a switch whose balancer has held it. The frame is
    /// already charged to the memory.
    fn forward_held<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u16,
        mut frame: Frame,
    ) {
        let (id, first_port) = (self.nodes[node as usize].id, self.nodes[node as usize].first_port);
        self.note_path(id, port, &mut frame);
        self.join_held(out, now, node, first_port + port as u32, frame);
    }

    #[inline(always)]
    fn note_path(&mut self, id: NodeId, port: u16, frame: &mut Frame) {
        if self.record_paths && self.carries_data(frame) {
            if self.is_from_outside(frame) {
                return self.note_path_outside(id, port, frame);
            }
            let number = if frame.has(Frame::EXTRA) {
                &mut self.extras[frame.aux].trigger
            } else {
                &mut frame.aux
            };
            *number = crate::balance::path_step(*number, id, port);
        }
    }

    /// Calls the balancer with the switch as its site. `input`: ingress port to which the frames
    /// that the balancer sends are charged.
    #[inline(always)]
    fn ask<O: Outlet, R>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        input: u32,
        what: impl FnOnce(&mut Balancer, &mut Here<'_, 'a, O>) -> R,
    ) -> R {
        let mut balancer =
            self.nodes[node as usize].balanced().balancer.take().expect("not being asked");
        let result = what(&mut balancer, &mut Here { shard: self, out, now, node, input });
        self.nodes[node as usize].balanced().balancer = Some(balancer);
        result
    }

    /// Returns the next hop by hash. A pinned frame loses its pin.
    fn hashed(&self, node: u32, frame: &mut Frame, hops: &[u16]) -> u16 {
        if frame.has(Frame::PINNED) {
            // The pinned path no longer exists: from here on the frame follows the hash of its
            // flow.
            frame.hash = self.connection_hash(frame);
            frame.flags &= !Frame::PINNED;
        }
        self.by_hash(node, frame, hops)
    }

    /// Returns the next hop of a frame that does not concern the switch's balancer, and the frame's
    /// hash beyond this switch. Returns `None` if the balancer may have to be consulted.
    #[inline(always)]
    pub(super) fn hashed_port(
        &self,
        node: u32,
        frame: &Frame,
        hops: NextHops,
    ) -> Option<(u16, u32)> {
        let balanced = self.nodes[node as usize].balanced.as_deref()?;
        if frame.is_bound() {
            let port = frame.pinned_port();
            let follows = balanced.leaves_transit
                && frame.has(Frame::PINNED)
                && frame.is_data()
                && hops.leads(port);
            return follows.then(|| (port, frame.hash_beyond()));
        }
        match hops {
            NextHops::None => None,
            _ if balanced.selects_path(frame) => None,
            NextHops::One(port) => Some((port, frame.hash)),
            NextHops::Many(hops) => Some((self.by_hash(node, frame, hops), frame.hash)),
        }
    }

    /// Returns the next hop by hash.
    fn by_hash(&self, node: u32, frame: &Frame, hops: &[u16]) -> u16 {
        if let [only] = hops {
            return *only;
        }
        let hash = self.hash_at(node, frame);
        // With four-tuple hashes use the lowest bits, as ConWeave's ns-3 simulator does; otherwise
        // the highest bits.
        let place = if hashes_tuples(&self.nodes[node as usize]) {
            hash as usize % hops.len()
        } else {
            ((hash as u64 * hops.len() as u64) >> 32) as usize
        };
        hops[place]
    }

    /// Returns the hash of a frame at a switch.
    fn hash_at(&self, node: u32, frame: &Frame) -> u32 {
        let state = &self.nodes[node as usize];
        if hashes_tuples(state) {
            four_tuple(self.world, frame, self.subflow(frame)).hash(state.hash_seed)
        } else {
            avalanche(frame.hash, state.hash_seed)
        }
    }

    /// Consumes a frame that another switch has addressed to this one.
    #[cold]
    #[inline(never)]
    fn consume<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, mut frame: Frame) {
        self.counters.delivered_packets += 1;
        self.counters.delivered_bytes += frame.size as u64;
        self.live -= 1;
        let tag = take_tag(self, &mut frame);
        if frame.has(Frame::EXTRA) {
            self.extras.remove(frame.aux);
        }
        self.ask(out, now, node, frame.port, |balancer, here| {
            balancer.on_control_frame(here, &frame, tag)
        });
    }

    /// Wakes the balancer at the time that it has requested.
    #[cold]
    #[inline(never)]
    pub(super) fn on_balance<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, event: Frame) {
        let input = self.nodes[node as usize].first_port;
        self.ask(out, now, node, input, |balancer, here| balancer.on_wake(here, event.flow));
    }
}

fn hashes_tuples(state: &Node) -> bool {
    state.balanced.as_ref().is_some_and(|balanced| balanced.hashes_tuples)
}

/// Returns the addresses and ports of a frame. Further subflows of MPTCP (`subflow` from 2 on) have
/// other ports at the source.
fn four_tuple(world: &World, frame: &Frame, subflow: u8) -> FourTuple {
    let flow = world.flow(frame.flow);
    let (source, destination) = world.flow_ports(frame.flow);
    let source = source.wrapping_add(PORT_STEP * u16::from(subflow.saturating_sub(1)));
    if flow.dst == frame.dst {
        FourTuple::new((flow.src, flow.dst), (source, destination))
    } else {
        FourTuple::new((flow.dst, flow.src), (destination, source))
    }
}

fn take_tag(shard: &mut Shard, frame: &mut Frame) -> Tag {
    if !frame.has(Frame::EXTRA) {
        return Tag::None;
    }
    let extra = &mut shard.extras[frame.aux];
    let tag = std::mem::take(&mut extra.tag);
    if extra.is_bare() {
        let trigger = extra.trigger;
        shard.extras.free_slot(frame.aux);
        frame.aux = trigger;
        frame.flags &= !Frame::EXTRA;
    }
    tag
}

/// Access of a balancer to its switch while the balancer is consulted.
struct Here<'s, 'a, O> {
    shard: &'s mut Shard<'a>,
    out: &'s mut O,
    now: u64,
    node: u32,
    input: u32,
}

impl<O: Outlet> Here<'_, '_, O> {
    fn state(&self) -> &Node {
        &self.shard.nodes[self.node as usize]
    }

    /// Advances a port to the current time. Returns its index in the shard.
    fn advanced_port(&mut self, port: u16) -> u32 {
        let port = self.state().first_port + port as u32;
        self.shard.release_departed(self.out, self.now, self.node, port);
        port
    }

    /// Forwards by hash a frame that this switch has created or that its balancer has held.
    fn leave(&mut self, mut frame: Frame) {
        let (now, id) = (self.now, self.state().id);
        let hops = self.shard.world.routes(now).next_hops(id, frame.dst);
        match hops.as_slice() {
            [] => self.shard.drop_frame(frame, Reason::Down),
            hops => {
                let port = self.shard.hashed(self.node, &mut frame, hops);
                self.shard.forward(self.out, now, self.node, port, &mut frame);
            }
        }
    }
}

impl<O: Outlet> Site for Here<'_, '_, O> {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.now
    }
    fn rack(&self) -> Option<u32> {
        self.state().balanced.as_ref().expect("asked").rack
    }
    fn rack_of(&self, host: u32) -> u32 {
        self.shard.world.routes(self.now).rack_of(host)
    }
    fn node(&self) -> NodeId {
        self.state().id
    }
    fn tor_of(&self, host: u32) -> NodeId {
        let routes = self.shard.world.routes(self.now);
        routes.anchor(routes.rack_of(host))
    }
    fn came_from(&self, frame: &Frame) -> NodeId {
        self.peer((frame.port - self.state().first_port) as u16)
    }
    fn source_of(&self, frame: &Frame) -> u32 {
        let flow = self.shard.world.flow(frame.flow);
        if flow.dst == frame.dst { flow.src } else { flow.dst }
    }
    fn connection(&self, frame: &Frame) -> u64 {
        frame.flow as u64 | (self.shard.subflow(frame) as u64) << 32
    }
    fn ns3_key(&self, flow: FlowId) -> u64 {
        let world = self.shard.world;
        let (source_port, destination_port) = world.flow_ports(flow);
        let flow = world.flow(flow);
        let FourTuple { destination, .. } =
            FourTuple::new((flow.src, flow.dst), (source_port, destination_port));
        (destination as u64) << 32
            | (source_port as u64) << 16
            | flow.priority as u64
            | destination_port as u64
    }
    fn paths(&self, rack: u32) -> &[u32] {
        match self.rack() {
            Some(own) => self.shard.world.paths(self.now).between(own, rack),
            None => &[],
        }
    }
    fn epoch(&self) -> usize {
        self.shard.world.epoch(self.now)
    }
    fn members(&self, host: u32) -> &[u16] {
        self.shard.world.routes(0).members(self.state().id, host)
    }
    fn capacity(&self, port: u16, host: u32) -> u64 {
        self.shard.world.capacity(self.now, self.state().id, port, host)
    }
    fn peer(&self, port: u16) -> NodeId {
        self.shard.world.ports.of(self.state().id)[port as usize].peer
    }
    fn hash(&self, frame: &Frame) -> u32 {
        self.shard.hash_at(self.node, frame)
    }
    fn queued(&mut self, port: u16) -> u64 {
        let port = self.advanced_port(port);
        let p = &self.shard.ports[port as usize];
        // ns-3 processes an arrival before the start of a transmission at the same instant, so a
        // frame whose transmission starts now still counts.
        let state = self.state();
        if p.plain {
            return p.queued;
        }
        let lane = &self.shard.lanes[port as usize];
        let just = self.shard.world.tick() > 1
            && lane.sent.size > 0
            && p.free_at - p.transmission(lane.sent.size) == self.now;
        lane.holds(p, state.until_start, self.now) + if just { lane.sent.size as u64 } else { 0 }
    }
    fn bytes_before(&mut self, port: u16, priority: u8) -> u64 {
        let port = self.advanced_port(port);
        let p = &self.shard.ports[port as usize];
        let Some(a) = &p.features else { return p.queued };
        let (lane, until_start) = (&self.shard.lanes[port as usize], self.state().until_start);
        let precedes = |(queue, _): &(usize, _)| a.precedes(*queue, priority);
        if let Some(d) = &a.discipline {
            let bytes = d.queues.iter().map(|queue| queue.bytes).enumerate();
            return bytes.filter(precedes).map(|(_, bytes)| bytes).sum();
        }
        let sending = |queue| match until_start {
            true => 0,
            false => lane.in_transmission(p, Some(queue), self.now),
        };
        let bytes = lane.queues.iter().map(|queue| queue.waits.all_bytes()).enumerate();
        bytes.filter(precedes).map(|(queue, bytes)| bytes + sending(queue)).sum()
    }
    fn sent(&mut self, port: u16) -> u64 {
        let port = self.advanced_port(port);
        self.shard.ports[port as usize].begun()
    }
    fn below(&mut self, n: u64) -> u64 {
        self.shard.nodes[self.node as usize].stream.below(n)
    }
    fn tag(&mut self, frame: &mut Frame) -> &mut Tag {
        if !frame.has(Frame::EXTRA) {
            frame.aux = self.shard.extras.insert_for(frame);
            frame.flags |= Frame::EXTRA;
        }
        &mut self.shard.extras[frame.aux].tag
    }
    fn take_tag(&mut self, frame: &mut Frame) -> Tag {
        take_tag(self.shard, frame)
    }
    fn send(&mut self, to: u32, flow: FlowId, seq: u32, size: u16, priority: u8, tag: Tag) {
        let world = self.shard.world;
        let hash = world.flow_hash(world.flow(flow), true);
        // Pad the frame to the minimum size like any other, because the lookahead relies on it.
        let size = size.max(world.plan.wire.min_frame);
        // Make the frame ECN-capable, so that queues mark it instead of dropping it.
        let flags = Frame::TO_SWITCH | Frame::ECT | priority as u16;
        let mut frame =
            Frame { port: self.input, flow, seq, dst: to, hash, size, flags, ..Frame::default() };
        if tag != Tag::None {
            *self.tag(&mut frame) = tag;
        }
        self.shard.sets_out(size);
        self.counters().switch_frames += 1;
        self.leave(frame);
    }
    fn release(&mut self, frame: Frame) {
        self.shard.last = self.shard.last.max(self.now);
        self.leave(frame);
    }
    fn wake(&mut self, at: u64, key: u32) {
        debug_assert!(at >= self.now);
        let event = self.shard.event(self.node, key, Event::Balance);
        self.out.event(at, event);
    }
    fn keep_running(&mut self, keep: bool) {
        self.shard.live += if keep { 1 } else { -1 };
    }
    fn counters(&mut self) -> &mut BalanceCounters {
        &mut self.shard.counters.balance
    }
}

impl<O: Outlet> Holding for Here<'_, '_, O> {
    fn destination_of(&self, flow: FlowId) -> u32 {
        self.shard.world.flow(flow).dst
    }
    fn propagation(&self, path: u32, rack: u32) -> u64 {
        let world = self.shard.world;
        let (mut node, mut path, mut delay) = (self.state().id, path, 0);
        while node != world.routes(self.now).anchor(rack) {
            let info = &world.ports.of(node)[(path & 0xff) as usize];
            delay += world.delay(node, info);
            (node, path) = (info.peer, path >> 8);
        }
        delay
    }
    fn slots(&mut self, end: End) -> &mut Vec<u32> {
        &mut self.shard.flow_slots[end as usize]
    }
    fn grow(&mut self, frame: &mut Frame, header: u16) {
        frame.size += header;
        self.shard.counters.sent_bytes += header as u64;
    }
    fn shrink(&mut self, frame: &mut Frame, header: u16) {
        // Pad the frame like any other: data that a queue has trimmed already have the minimum size
        // with the header.
        let size = (frame.size - header).max(self.shard.world.plan.wire.min_frame);
        self.shard.counters.delivered_bytes += (frame.size - size) as u64;
        frame.size = size;
    }
    fn charge(&mut self, frame: &Frame, port: u16, length: (u32, u64)) -> bool {
        let port = self.advanced_port(port);
        self.shard.charge_held(self.out, self.now, self.node, port, *frame, length)
    }
    fn release_charged(&mut self, frame: Frame, port: u16) {
        self.shard.last = self.shard.last.max(self.now);
        self.shard.forward_held(self.out, self.now, self.node, port, frame);
    }
}
