//! Scheduling headers that frames carry to the links and back, and the port state that a link sees.

/// Kind of a frame of a rated transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum What {
    /// First frame of a flow.
    Syn,
    #[default]
    Data,
    /// Header without data.
    Probe,
    /// End of a flow, because it is complete or given up.
    End,
}

/// Scheduling header.
#[derive(Debug, Clone, Copy, Default)]
pub struct Header {
    pub what: What,
    /// True for the receiver's answer to a frame of this kind.
    pub answer: bool,
    /// Send time in ps of the frame, or of the answered frame.
    pub sent: u64,
    pub scheme: Scheme,
}

impl Header {
    /// True if the frame with this header carries a segment.
    pub fn carries_data(&self) -> bool {
        self.what == What::Data && !self.answer
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub enum Scheme {
    #[default]
    None,
    Pdq(PdqHeader),
    D3(D3Header),
}

/// Value of `PdqHeader::pausing` if no node pauses the flow.
pub const NOBODY: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
pub struct PdqHeader {
    /// Requested or granted rate in bits per second.
    pub rate: u64,
    /// Node that pauses the flow.
    pub pausing: u32,
    /// Absolute time in ps; `u64::MAX` for none.
    pub deadline: u64,
    /// Time in ps that the rest of the flow takes at its highest rate.
    pub remaining: u64,
    pub round_trip: u64,
    /// In answers: time between probes, in round trips.
    pub interval: f64,
}

/// Largest number of links on a path.
pub const HOPS: usize = 8;

/// D3's header. Rates are whole kilobits per second, so that a router can subtract exactly what it
/// added to its sums.
#[derive(Debug, Clone, Copy, Default)]
pub struct D3Header {
    /// True if the frame requests a rate. Other frames pass without effect, except the end of a
    /// flow.
    pub request: bool,
    /// Desired rate now, and in the previous request.
    pub desired: u32,
    pub desired_before: u32,
    /// Rate that each link granted to the previous request, rate that it grants to this one, and
    /// number of links so far.
    pub granted_before: [u32; HOPS],
    pub granted: [u32; HOPS],
    pub hops: u8,
}

/// State of its own port that a link sees.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub now: u64,
    /// Bytes that wait, without the frame in transmission.
    pub waiting: u64,
    /// Bytes whose transmission has started so far.
    pub sent: u64,
}
