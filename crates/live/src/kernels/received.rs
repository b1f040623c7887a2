//! Packets of a flow as they arrive.

use super::segment::{Seen, Tuple};
use afflux_net::record::RoundTrips;
use std::collections::BTreeMap;

/// A flow: its tuple, and the sequence number with which TCP opened it. A tuple that is used again
/// has another one.
pub type FlowKey = (Tuple, u32);

/// Packets at the receiver's NIC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Received {
    pub packets: u64,
    pub bytes: u64,
    pub last: Option<u64>,
    /// Data packets that arrived marked, and that arrived after later payload.
    pub marked: u64,
    pub reordered: u64,
    /// Times from the hand-over at the sender until arrival.
    pub delays: RoundTrips,
    /// Position up to which all payload has arrived, and the time of the last advance.
    pub next: u64,
    pub advanced: Option<u64>,
    highest: u64,
    /// Payload behind a hole: start and end.
    beyond: BTreeMap<u64, u64>,
}

/// Returns the position that is nearest to `near` and has these low 32 bits.
pub fn position(near: u64, low: u32) -> u64 {
    let step = low.wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(step.into())
}

impl Received {
    /// State of a direction that has been opened.
    pub fn opened() -> Received {
        Received { next: 1, highest: 1, ..Received::default() }
    }

    /// Adds a packet. Returns the position of its payload.
    pub fn add(&mut self, at: u64, sent: u64, marked: bool, seen: &Seen, opening: u32) -> u64 {
        self.packets += 1;
        self.bytes += seen.payload;
        self.last = Some(at);
        self.delays.note(at - sent);
        let Some(tcp) = seen.tcp else {
            self.marked += u64::from(marked);
            self.next += seen.payload;
            self.advanced = Some(at);
            return 0;
        };
        self.next = self.next.max(1);
        self.highest = self.highest.max(1);
        let start = position(self.next, tcp.sequence.wrapping_sub(opening)) + u64::from(tcp.syn);
        if seen.payload > 0 {
            self.marked += u64::from(marked);
            self.data(at, start, start + seen.payload);
        }
        start
    }

    pub fn data(&mut self, at: u64, start: u64, end: u64) {
        self.reordered += u64::from(start < self.highest);
        self.highest = self.highest.max(end);
        if end <= self.next {
            return;
        }
        let known = self.beyond.entry(start).or_default();
        *known = end.max(*known);
        while let Some(first) = self.beyond.first_entry().filter(|first| *first.key() <= self.next)
        {
            let end = first.remove();
            if end > self.next {
                self.next = end;
                self.advanced = Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_pass_four_gigabytes() {
        assert_eq!(position(1, 5), 5);
        assert_eq!(position(1 << 32, u32::MAX), (1 << 32) - 1);
        assert_eq!(position((1 << 33) - 1, 3), (1 << 33) + 3);
        assert_eq!(position(1, u32::MAX), 0);
    }
}
