//! State of each outstanding segment at the sender.

/// Segment between `una` and `next`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Segment {
    /// Time in ps of the last transmission, with flags in the top bits (times are below 2^60).
    sent: u64,
    /// Clock of the flow's time attribution at that transmission, in ps (see
    /// `Attribution::on_sent`).
    pub paced: u64,
}

impl Segment {
    pub const SACKED: u64 = 1 << 63;
    /// Considered lost.
    pub const LOST: u64 = 1 << 62;
    /// A retransmission is in flight.
    pub const RESENT: u64 = 1 << 61;
    /// Sent more than once, so that the acknowledgement gives no round-trip sample (Karn).
    pub const AMBIGUOUS: u64 = 1 << 60;
    const FLAGS: u64 = 0xf << 60;

    pub fn new(sent: u64, paced: u64) -> Self {
        Segment { sent, paced }
    }
    #[inline(always)]
    pub fn has(&self, flags: u64) -> bool {
        self.sent & flags != 0
    }
    #[inline(always)]
    pub fn set(&mut self, flags: u64) {
        self.sent |= flags;
    }
    #[inline(always)]
    pub fn unset(&mut self, flags: u64) {
        self.sent &= !flags;
    }
    #[inline(always)]
    pub fn sent(&self) -> u64 {
        self.sent & !Self::FLAGS
    }
    pub fn resend(&mut self, now: u64, paced: u64) {
        self.sent = (self.sent & Self::FLAGS) | Self::RESENT | Self::AMBIGUOUS | now;
        self.paced = paced;
    }
}

/// Ring buffer of segments, addressed by sequence number.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    ring: Vec<Segment>,
}

impl Scoreboard {
    /// Makes room for the segments `una..=next`.
    #[inline(always)]
    pub fn reserve(&mut self, una: u32, next: u32) {
        if (next - una) as usize >= self.ring.len() {
            self.grow(una, next);
        }
    }
    #[cold]
    fn grow(&mut self, una: u32, next: u32) {
        let mut larger =
            vec![
                Segment::default();
                ((next - una + 1) as usize).next_power_of_two().max(16).max(2 * self.ring.len())
            ];
        let mask = larger.len() - 1;
        if !self.ring.is_empty() {
            for seq in una..next {
                larger[seq as usize & mask] = self[seq];
            }
        }
        self.ring = larger;
    }
}

impl std::ops::Index<u32> for Scoreboard {
    type Output = Segment;
    #[inline(always)]
    fn index(&self, seq: u32) -> &Segment {
        &self.ring[seq as usize & (self.ring.len() - 1)]
    }
}
impl std::ops::IndexMut<u32> for Scoreboard {
    #[inline(always)]
    fn index_mut(&mut self, seq: u32) -> &mut Segment {
        let mask = self.ring.len() - 1;
        &mut self.ring[seq as usize & mask]
    }
}
