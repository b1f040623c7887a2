//! Endpoints of flows: a shard opens, times and ends the halves of all transports alike.

use super::door::Transport;
use super::receiving::ReceivingHalf;
use super::sending::{SendingHalf, Timed, Timer};
use crate::frame::{Event, Frame};
use crate::shard::host::arm;
use crate::shard::{NOT_YET, OVER, Outlet, SentRecord, Shard, own_event};
use crate::spec::{Flow, FlowId, Settings};

impl<'a> Shard<'a> {
    /// Returns the settings of a transport of this kind.
    #[inline(always)]
    pub fn settings<C: Settings>(&self, transport: u16) -> &'a C {
        C::of(&self.world.plan.transports[transport as usize])
    }

    /// Returns the number of segments of a flow.
    pub fn segments(&self, id: FlowId) -> u32 {
        self.world.shape(self.world.flow(id)).count as u32
    }

    /// Returns the time in ps that the network card of a host takes for a full frame of `flow`.
    pub fn full_frame_time(&self, node: u32, flow: &Flow) -> u64 {
        self.ports[self.nodes[node as usize].first_port as usize]
            .serialize(self.world.shape(flow).full)
    }

    /// Adds the sending half of a flow. Returns its slot.
    pub fn open_sender<T: Transport>(&mut self, id: FlowId, sender: T::Sender) -> u32 {
        let slot = T::senders(&mut self.transports).insert(sender);
        self.opened(id, slot | T::MARK);
        slot
    }

    /// Schedules the timer of a sending half for `wake`; 0: it has none.
    #[inline(always)]
    pub fn arm_sender<T: Transport>(&mut self, out: &mut impl Outlet, slot: u32, wake: u64) {
        let ports = self.ports.len();
        arm_half(out, ports, &mut T::senders(&mut self.transports)[slot], wake, Event::Sender);
    }

    /// Ends a flow at its source, whose last acknowledgement arrived at `finish`.
    pub fn end_sender<T: Transport>(&mut self, slot: u32, finish: Option<u64>) {
        let sender = &mut T::senders(&mut self.transports)[slot];
        let flow = sender.timer().flow;
        let record = sender.record(flow, finish).expect("the flow of the half");
        T::senders(&mut self.transports).remove(slot);
        self.sending_over(record);
    }

    /// Ends a flow at its source before all data are acknowledged.
    pub fn abandon_sender<T: Transport>(&mut self, now: u64, slot: u32) {
        let sender = &mut T::senders(&mut self.transports)[slot];
        let flow = sender.timer().flow;
        let record = sender.record(flow, None).expect("the flow of the half");
        T::senders(&mut self.transports).remove(slot);
        self.sending_over(SentRecord { given_up: Some(now), ..record });
    }

    /// Returns the slot of the receiving half of a flow, which `make` creates at the first frame;
    /// `None` if the flow has ended here.
    #[inline(always)]
    pub fn receiver<T: Transport>(
        &mut self,
        id: FlowId,
        make: impl FnOnce(&Self) -> T::Receiver,
    ) -> Option<u32> {
        match self.receiving_slot(id) {
            OVER => None,
            NOT_YET => {
                let receiver = make(self);
                let slot = T::receivers(&mut self.transports).insert(receiver);
                self.note_receiver(id, slot | T::MARK);
                Some(slot)
            }
            slot => Some(slot & !T::MARK),
        }
    }

    /// Ends a flow at its destination: all of its data has arrived.
    pub fn end_receiver<T: Transport>(&mut self, out: &mut impl Outlet, now: u64, slot: u32) {
        let receivers = T::receivers(&mut self.transports);
        let record = receivers[slot].record(self.world, Some(now));
        receivers.remove(slot);
        self.receiving_over(out, now, record);
    }

    /// Sends a frame from the destination of a flow to its source. `frame` has the kind, the size
    /// without padding, and what its transport writes on it.
    pub fn reply(&mut self, out: &mut impl Outlet, now: u64, id: FlowId, frame: Frame) {
        let world = self.world;
        let flow = world.flow(id);
        let frame = Frame {
            flow: id,
            dst: flow.src,
            hash: world.flow_hash(flow, true),
            size: frame.size.max(world.plan.wire.min_frame),
            flags: frame.flags | flow.priority as u16,
            ..frame
        };
        self.send(out, now, world.place[flow.dst as usize].local, frame);
    }
}

/// Schedules the timer of a half for `wake`; 0: it has none.
#[inline(always)]
pub fn arm_half(
    out: &mut impl Outlet,
    ports: usize,
    half: &mut impl Timed,
    wake: u64,
    event: Event,
) {
    let Timer { node, flow, armed } = half.timer();
    arm(out, wake, armed, || own_event(ports, node, flow, event));
}
