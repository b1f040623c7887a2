//! What a sender in ns-3's manner remembers besides.

/// What it remembers besides.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ns3 {
    /// Duplicates since the last acknowledgement that advanced without SACK news.
    pub(super) duplicates: u32,
    /// There have been some; no recovery yet.
    pub(super) disorder: bool,
    /// The last recovery or time-out is not over: `high` stands for it.
    pub(super) recovering: bool,
    /// An acknowledgement within this recovery has restarted the timer.
    pub(super) restarted: bool,
    /// The least smoothed round trip, and the last that was measured.
    pub(super) least: u64,
    pub(super) rtt: u64,
    /// Without SACK: some segment is guessed to have arrived, `highest_sacked` the last of them.
    pub(super) guessed: bool,
    /// How far the last echo reached, and the segment that answered the last one.
    pub(super) echoed: u32,
    pub(super) answered: u32,
}

impl Ns3 {
    pub(super) fn note_least(&mut self, smoothed: u64) {
        if smoothed > 0 && (self.least == 0 || smoothed < self.least) {
            self.least = smoothed;
        }
    }
}
