//! What frames carry to the links and back, and what a link sees.

/// What a frame of a rated transport is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum What {
    /// The first of a flow.
    Syn,
    #[default]
    Data,
    /// A header and nothing else.
    Probe,
    /// The flow ends, or is given up.
    End,
}

/// The scheduling header.
#[derive(Debug, Clone, Copy, Default)]
pub struct Header {
    pub what: What,
    /// From the receiver: it answers a frame of that kind.
    pub answer: bool,
    /// When the frame, or the one answered, was sent.
    pub sent: u64,
    pub scheme: Scheme,
}

#[derive(Debug, Clone, Copy, Default)]
pub enum Scheme {
    #[default]
    None,
    Pdq(PdqHeader),
    D3(D3Header),
}

/// In place of a node: nobody pauses the flow.
pub const NOBODY: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
pub struct PdqHeader {
    /// Bits per second.
    pub rate: u64,
    /// The node that pauses the flow.
    pub pausing: u32,
    /// Moment; `u64::MAX` for none.
    pub deadline: u64,
    /// How long the rest of the flow takes at its fastest.
    pub remaining: u64,
    pub round_trip: u64,
    /// Answers: round trips between probes.
    pub interval: f64,
}

/// Links on a path, at most.
pub const HOPS: usize = 8;

/// In kilobits per second: sums come out as they went in.
#[derive(Debug, Clone, Copy, Default)]
pub struct D3Header {
    /// It asks for a rate; other frames pass.
    pub request: bool,
    /// Desired now, and in the request before.
    pub desired: u32,
    pub desired_before: u32,
    /// What each link granted to the request before, and grants to this one; and how many links that are.
    pub granted_before: [u32; HOPS],
    pub granted: [u32; HOPS],
    pub hops: u8,
}

/// What a link sees of its own port.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub now: u64,
    /// Bytes that wait, without the frame in transmission.
    pub waiting: u64,
    /// Bytes whose transmission has begun so far.
    pub sent: u64,
}
