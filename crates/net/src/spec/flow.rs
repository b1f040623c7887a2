//! Specifies the traffic: flows and their start times.

use afflux_units::{Span, Time};

/// Index into `Plan::flows`.
pub type FlowId = u32;
/// A set of flows with the same destination. When the last of them ends, other flows start (closed
/// loop).
pub type GroupId = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    At(Time),
    /// Starts `delay` after the last byte of the last flow of `group` has arrived at its
    /// destination. `delay` is the time that a request takes from that destination to the source of
    /// this flow. It is never shorter than the shortest link delay.
    After {
        group: GroupId,
        delay: Span,
    },
}

#[derive(Debug, Clone)]
pub struct Flow {
    /// Identifier in results: from the flow list, or a running number.
    pub id: i64,
    pub src: u32,
    /// May be `src`: such a flow finishes at its start and never sees the network.
    pub dst: u32,
    /// Payload bytes; for a datagram source the total it sends. Never zero.
    pub bytes: u64,
    pub start: Start,
    /// Time at which the sender stops, no matter how much it has sent. [`Flow::ENDLESS`]: the
    /// sender stops when all data are sent.
    pub stop: Time,
    /// Deadline, relative to the start of the flow.
    pub deadline: Option<Span>,
    /// Index into the scenario's class names.
    pub class: u16,
    /// Index into the scenario's job names; `u32::MAX` for none.
    pub job: u32,
    /// Index into `Plan::transports`.
    pub transport: u16,
    /// The group this flow belongs to, if its end starts others.
    pub group: Option<GroupId>,
    /// Flows with the same number are sent one after the other over one TCP connection, in the
    /// order of their `FlowId`s, which is also the order of their starts. They have the same hosts,
    /// transport and priority. `None`: the flow has its own connection.
    pub connection: Option<u32>,
    /// Priority for switches and NICs with strict priority, 0 (lowest) to 7 (highest).
    pub priority: u8,
}

impl Flow {
    pub const NO_JOB: u32 = u32::MAX;
    pub const ENDLESS: Time = Time(u64::MAX);
    /// Transports of flows that hosts outside the network have made (real kernels). Results know
    /// of these flows what their packets show: neither ideal time, nor split, nor time-outs.
    pub const OUTSIDE: u16 = u16::MAX;
    /// Packets of a protocol that shows no end of a transfer (UDP, ICMP): the flow has no
    /// completion.
    pub const OUTSIDE_OPEN: u16 = u16::MAX - 1;

    /// Returns whether a host outside the network has made this flow.
    pub fn is_outside(&self) -> bool {
        self.transport >= Self::OUTSIDE_OPEN
    }

    /// Returns whether a completion of this flow can be known.
    pub fn can_complete(&self) -> bool {
        self.transport != Self::OUTSIDE_OPEN
    }
}

/// The later part of a random process, known by its rate and its mean flow size. An estimate does
/// not draw the flows of this part.
#[derive(Debug, Clone)]
pub struct Undrawn {
    /// Expected number of flows, and expected bytes of payload.
    pub flows: f64,
    pub bytes: f64,
    /// Start of the process. The plan contains the flows that begin before `drawn`. Undrawn flows
    /// begin from `drawn` until `end`.
    pub start: Time,
    pub drawn: Time,
    pub end: Time,
    /// Sample of the drawn flows, picked at even distances.
    pub sample: Vec<Flow>,
}
