//! Sending halves of flows: the state that those of all transports have in common.

use crate::frame::Frame;
use crate::idle::Idle;
use crate::probe::explain::{Attribution, Label};
use crate::record::RoundTripRecord;
use crate::shard::SentRecord;
use crate::spec::FlowId;
use crate::world::World;

/// Parameters of a flow that starts.
pub struct Opening {
    pub id: FlowId,
    /// Source host, as local index in its shard.
    pub node: u32,
    pub hash: u32,
    pub idle: Idle,
    pub deadline: Option<u64>,
}

/// Timer of a half: its host, the flow in whose name it fires, and the time in ps of the pending
/// event, 0 for none. An event at another time is stale.
pub struct Timer<'a> {
    pub node: u32,
    pub flow: FlowId,
    pub armed: &'a mut u64,
}

/// A half of a flow that has a timer.
pub trait Timed {
    fn timer(&mut self) -> Timer<'_>;
}

/// A sending half of any transport.
pub trait SendingHalf: Timed {
    /// Returns the record of `flow`, whose last acknowledgement arrived at `finish`. `None` if the
    /// half no longer knows this flow, because it was acknowledged long ago.
    fn record(&mut self, flow: FlowId, finish: Option<u64>) -> Option<SentRecord>;
    /// Returns the round-trip times that were measured, if they are recorded, with the record of
    /// `flow`.
    fn round_trips(&self, _flow: FlowId) -> Vec<RoundTripRecord> {
        Vec::new()
    }
}

/// State of a sending half that serves one flow and sends its segments with one hash.
#[derive(Default)]
pub struct Sending {
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub dst: u32,
    pub hash: u32,
    pub priority: u8,
    pub segments: u32,
    pub start: u64,
    pub idle: Idle,
    /// Time in ps of the pending timer event, 0 for none.
    pub armed: u64,
    pub sent: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub why: Option<Box<Attribution>>,
}

impl Sending {
    pub fn new(world: &World, &Opening { id, node, hash, idle, .. }: &Opening, now: u64) -> Self {
        let flow = world.flow(id);
        Sending {
            flow: id,
            transport: flow.transport,
            node,
            dst: flow.dst,
            hash,
            priority: flow.priority,
            segments: world.shape(flow).count as u32,
            start: now,
            idle,
            why: world.plan.record.explain.then(|| Box::new(Attribution::new(now))),
            ..Sending::default()
        }
    }

    /// Counts a segment that is sent at `now`. `again`: it was sent before. `ended` gives the label
    /// of a wait before it, and the time in ps by which the round trip exceeded the idle one.
    /// Returns the clock of the flow's time attribution in ps, or `now` without one.
    #[inline]
    pub fn on_sent(&mut self, now: u64, seq: u32, again: bool, ended: (Label, u64)) -> u64 {
        self.sent += 1;
        self.retransmitted += again as u64;
        let Some(why) = &mut self.why else { return now };
        let Idle { slowest_last, slowest_full, .. } = self.idle;
        let time = if seq + 1 == self.segments { slowest_last } else { slowest_full };
        why.on_sent(now, ended.0, ended.1, time, again)
    }

    /// Builds a frame of `size` bytes. `again`: a frame with this number was sent before.
    #[inline(always)]
    pub fn frame(&self, kind: u16, seq: u32, again: bool, size: u16) -> Frame {
        let flags = self.priority as u16 | if again { Frame::RETRANSMISSION } else { 0 };
        Frame {
            flow: self.flow,
            seq,
            dst: self.dst,
            hash: self.hash,
            size,
            flags: kind | flags,
            ..Frame::default()
        }
    }

    /// Builds the frame of segment `seq`. `payload`: bytes of a full segment.
    #[inline(always)]
    pub fn data(&self, world: &World, kind: u16, seq: u32, again: bool, payload: u16) -> Frame {
        let wire = &world.plan.wire;
        let size = world.payload(self.flow, seq, payload) + wire.data_header;
        self.frame(kind, seq, again, size.max(wire.min_frame))
    }
}

impl AsMut<Sending> for Sending {
    fn as_mut(&mut self) -> &mut Sending {
        self
    }
}

impl<S: AsMut<Sending>> Timed for S {
    fn timer(&mut self) -> Timer<'_> {
        let Sending { node, flow, armed, .. } = self.as_mut();
        Timer { node: *node, flow: *flow, armed }
    }
}

impl<S: AsMut<Sending>> SendingHalf for S {
    fn record(&mut self, flow: FlowId, finish: Option<u64>) -> Option<SentRecord> {
        let Sending { start, idle, sent, retransmitted, timeouts, why, .. } = self.as_mut();
        Some(SentRecord {
            finish,
            packets: *sent,
            retransmitted: *retransmitted,
            timeouts: *timeouts,
            why: why.as_deref().cloned(),
            ..SentRecord::new(flow, *start, *idle)
        })
    }
}
