//! What the sender knows of each outstanding segment.

/// A segment between `una` and `next`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Segment {
    /// When it was last sent, with the flags in the top bits (times are below 2^60).
    sent: u64,
    /// The flow's own clock at that moment: see [`super::sender`].
    pub paced: u64,
}

impl Segment {
    pub const SACKED: u64 = 1 << 63;
    /// Taken for lost.
    pub const LOST: u64 = 1 << 62;
    /// A retransmission is under way.
    pub const RESENT: u64 = 1 << 61;
    /// Was sent more than once (Karn).
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

/// A ring of segments addressed by sequence number.
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
        let mut larger = vec![Segment::default(); ((next - una + 1) as usize).next_power_of_two().max(16).max(2 * self.ring.len())];
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
