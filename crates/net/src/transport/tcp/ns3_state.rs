//! Additional state of a sender that follows ns-3.

/// Additional state of a sender that follows ns-3.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ns3 {
    /// Duplicates since the last acknowledgement that advanced without new SACK blocks.
    pub(super) duplicates: u32,
    /// True if there have been duplicates, but no recovery yet.
    pub(super) disorder: bool,
    /// True if the last recovery or time-out is not over. It ends at segment `high`.
    pub(super) recovering: bool,
    /// True if an acknowledgement within this recovery has restarted the timer.
    pub(super) restarted: bool,
    /// Smallest smoothed round trip, and latest measured round trip, in ps.
    pub(super) least: u64,
    pub(super) rtt: u64,
    /// True if, without SACK, some segments are assumed to have arrived. `highest_sacked` is the
    /// last of them.
    pub(super) guessed: bool,
    /// Value of `una` at the last ECN echo, and segment that carried the answer to it (CWR).
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
