//! The door between transports and the hosts of a shard. A transport is a folder: its sender and receiver, which know neither hosts nor engines, and
//! `host.rs`, which implements [`Transport`].

pub use super::frames::Frames;

use crate::expected::{Habits, Pace};
use crate::frame::Frame;
use crate::idle::{Idle, Route};
use crate::queue::aqm::Hint;
use crate::record::SenderRecord;
use crate::shard::capture::Content;
use crate::shard::{Outlet, ReceivedRecord, SentRecord, Shard};
use crate::spec::{Flow, FlowId, Pauses, Receive, TcpConfig};
use crate::world::World;

/// What hosts ask of a transport. `slot` is what it has set for the flow with [`Shard::opened`] or [`Shard::heard_of`].
pub trait Transport {
    /// A receiver's timer is that of its host: it serves all flows that end there, in the name of one.
    const SHARES_RECEIVER_TIMER: bool = false;

    /// A flow starts at its source.
    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening);
    /// A frame of one of its kinds has reached its destination.
    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame);
    /// The timer of a flow's sending half ([`crate::frame::Event::Sender`]).
    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, flow: FlowId, slot: u32);
    /// The timer of its receiving half ([`crate::frame::Event::Receiver`]).
    fn receiver_due<O: Outlet>(_: &mut Shard, _: &mut O, _: u64, _slot: u32) {
        unreachable!("a timer that was never set");
    }
    /// The sender of a flow ends before all of it is acknowledged: nothing more is sent, but for what sets its network free.
    fn give_up<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, flow: FlowId, slot: u32);
    /// The record of a flow that has not ended at its source when the run ends.
    fn unfinished(shard: &mut Shard, flow: FlowId, slot: u32) -> Option<SentRecord>;
    /// What the sender of a flow that is not over knows, in a record each for its subflows, if anything is outstanding or left to send.
    fn senders(_: &mut Shard, _now: u64, _: FlowId, _slot: u32, _: &mut Vec<SenderRecord>) {}
    /// What a capture says of one of its frames.
    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content;
    /// The record of a flow that has not ended at its destination.
    fn incomplete(shard: &Shard, slot: u32) -> ReceivedRecord;
}

/// What the settings of a transport tell other rooms.
pub trait Parameters {
    fn frames(&self) -> Frames;
    /// What its flows are like to an estimate without frames.
    fn habits(&self, world: &World) -> Habits;
    /// The ways that a flow takes.
    fn routes(&self, world: &World, flow: &Flow) -> Vec<Route> {
        vec![Route::of(world, flow)]
    }
    /// What sets the rate of a flow whose NIC sends so many bytes per second, if it answers to marks.
    fn pace(&self, _line: f64) -> Option<Box<dyn Pace + '_>> {
        None
    }
    /// The hash on its frames serves to choose their path, and nothing else.
    fn hashes_for_paths(&self) -> bool {
        false
    }
    /// Its senders spread the frames of a flow over all paths.
    fn spreads(&self) -> bool {
        false
    }
    /// Are its data ECN-capable, where the hosts agree to that or not?
    fn is_capable(&self, _agreed: bool) -> bool {
        false
    }
    /// Its data are ECN-capable, and it does something about marks. Who makes datagrams capable wants to see the marks.
    fn heeds_marks(&self, agreed: bool) -> bool {
        self.is_capable(agreed)
    }
    /// The key of what does not work without marks, and its name.
    fn wants_marks(&self) -> Option<(&'static str, String)> {
        None
    }
    /// The key of what goes by deadlines, and what it does without any.
    fn wants_deadlines(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// What its flows need of the paths of a fabric.
    fn paths(&self) -> Paths {
        Paths::default()
    }
    /// The key of what is of no use where there is one path, what happens to it, and a cure.
    fn wants_paths(&self) -> Option<(&'static str, &'static str, &'static str)> {
        None
    }
    /// What its data tell queues, and what is wrong where none goes by it.
    fn hint(&self) -> Option<(Hint, &'static str)> {
        None
    }
    /// What it expects of switches that pause; `None`: it is the same to it.
    fn pauses(&self) -> Option<Pauses> {
        None
    }
    /// The key and the name of what chooses hashes for frames one by one, so that switches which hash them choose the path.
    fn wants_hashes(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// The host's pacer delays its data.
    fn is_paced(&self) -> bool {
        false
    }
    /// Whose timing its frames meet at hosts.
    fn timing(&self) -> HostTiming {
        HostTiming::Exact
    }
    /// Its flows know how long their frames waited in their own host.
    fn tells_host_waits(&self) -> bool {
        false
    }
    /// Its frames carry more than fits in one.
    fn carries_more(&self) -> bool {
        false
    }
    /// Of one whose captures have TCP's headers: its settings, and the receive window of a connection.
    fn segments(&self) -> Option<(&TcpConfig, Receive)> {
        None
    }
    /// Of data and acknowledgement, how many have options that captures keep.
    fn with_options(&self) -> u64 {
        0
    }
    /// It never sends faster than a rate of its own.
    fn is_limited(&self) -> bool {
        false
    }
    /// What is lost is sent again.
    fn repairs(&self) -> bool {
        true
    }
}

/// Whose timing frames meet at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostTiming {
    /// A model without any.
    Exact,
    /// A kernel's: interrupts and softirqs.
    Kernel,
    /// A network card's that sends by itself.
    Nic,
    /// As that of others in the same scenario.
    Any,
}

/// What flows may need of the paths of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paths {
    /// A flow keeps to one.
    pub one: bool,
    /// Answers come back by it.
    pub symmetric: bool,
    /// Links that frames have room for.
    pub links: Option<u32>,
}

/// A flow that starts.
pub struct Opening {
    pub id: FlowId,
    /// Of its source, in its shard.
    pub node: u32,
    pub hash: u32,
    pub idle: Idle,
    pub deadline: Option<u64>,
}
