//! What is to be sent.

use afflux_units::{Span, Time};

/// Index into `Plan::flows`.
pub type FlowId = u32;
/// A set of flows with the same destination whose common end starts others (closed loop).
pub type GroupId = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    At(Time),
    /// `delay` after the last byte of the last flow of `group` has arrived at its destination: the time a request
    /// takes from there to this flow's source. Never shorter than the shortest link delay.
    After {
        group: GroupId,
        delay: Span,
    },
}

#[derive(Debug, Clone)]
pub struct Flow {
    /// The identifier in results: the flow list's, or a running number.
    pub id: i64,
    pub src: u32,
    /// May be `src`: such a flow finishes at its start and never sees the network.
    pub dst: u32,
    /// Payload bytes; for a datagram source the total it sends. Never zero.
    pub bytes: u64,
    pub start: Start,
    /// When its sender ends, whatever it has sent by then; [`Flow::ENDLESS`]: when all is there.
    pub stop: Time,
    /// Relative to the flow's start.
    pub deadline: Option<Span>,
    /// Index into the scenario's class names.
    pub class: u16,
    /// Index into the scenario's job names; `u32::MAX` for none.
    pub job: u32,
    /// Index into `Plan::transports`.
    pub transport: u16,
    /// The group this flow belongs to, if its end starts others.
    pub group: Option<GroupId>,
    /// Flows with the same number are sent one after the other over one TCP connection: same hosts, transport and priority, in the order of
    /// their `FlowId`s, in which they also start. `None`: a connection of its own.
    pub connection: Option<u32>,
    /// 0 lowest … 7 highest; for switches and NICs with strict priority.
    pub priority: u8,
}

impl Flow {
    pub const NO_JOB: u32 = u32::MAX;
    pub const ENDLESS: Time = Time(u64::MAX);
}

/// The later part of a random process, which is known by its rate and its mean size: its flows are not drawn for an estimate.
#[derive(Debug, Clone)]
pub struct Undrawn {
    /// Expected number of flows, and of bytes of payload.
    pub flows: f64,
    pub bytes: f64,
    /// Start of the process. The flows of the plan are those before `drawn`, the undrawn ones begin from then until `end`.
    pub start: Time,
    pub drawn: Time,
    pub end: Time,
    /// Evenly picked flows of the drawn part.
    pub sample: Vec<Flow>,
}
