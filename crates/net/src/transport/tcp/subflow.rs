//! Sender as a subflow of an MPTCP connection, which hands over data one segment at a time.

use super::clock::expiry;
use super::sender::Sender;
use crate::congestion::{Control, Path, State};
use crate::probe::explain::{Attribution, Label};
use crate::spec::TcpConfig;

impl Sender {
    /// Leaves the end of the flow open, because the last segment of a subflow is not known in
    /// advance.
    pub fn goes_on(&mut self) {
        self.current.to = u32::MAX;
    }

    /// Returns the time in ps at which a time-out that starts now expires.
    pub fn time_out_from(&self, now: u64, config: &TcpConfig) -> u64 {
        expiry(now, self.rtt.timeout(config), config)
    }

    /// Adds one segment to send, and returns its number.
    pub fn hand_over(&mut self, now: u64, config: &TcpConfig) -> u32 {
        self.restart(now, config);
        self.written = self.segments;
        self.segments += 1;
        self.segments - 1
    }

    /// True if the window has room for another segment, no segment is waiting to be sent, and no
    /// time-out is being resolved. (Without SACK the loss state lasts until new data are
    /// acknowledged, and these have to be sent first.)
    pub fn has_window(&self) -> bool {
        let finding_out = self.state == State::Loss && self.una < self.next;
        self.connected
            && !finding_out
            && self.next == self.segments
            && self.pipe() < self.window.cwnd
    }

    /// Returns the range of segments that are not acknowledged, up to the last one handed over.
    pub fn outstanding(&self) -> (u32, u32) {
        (self.una, self.segments)
    }

    /// Returns the state that the coupled congestion control of the other subflows needs.
    pub fn path(&self) -> Path {
        let cwnd = if matches!(self.state, State::Recovery | State::Reduced) {
            self.window.ssthresh.min(self.window.cwnd)
        } else {
            self.window.cwnd
        };
        let run = match &self.control {
            Control::Coupled(coupled) => coupled.run(),
            _ => 0,
        };
        Path { cwnd: if self.connected { cwnd } else { 0 }, rtt: self.rtt.smoothed(), run }
    }

    /// Passes the state of all subflows to the coupled congestion control, before this subflow
    /// (number `me`) processes an acknowledgement.
    pub fn look(&mut self, paths: &[Path], me: usize) {
        if let Control::Coupled(coupled) = &mut self.control {
            coupled.look(paths, me);
        }
    }

    /// Halves the window of a subflow that holds up the others, and its threshold unless it is in
    /// slow start (scheduler of the Linux implementation). Returns false, without effect, unless
    /// the subflow is in the open state.
    pub fn penalise(&mut self) -> bool {
        let open = self.state == State::Open;
        if open {
            if !self.window.slow_start() {
                self.window.ssthresh = (self.window.ssthresh / 2).max(2);
            }
            self.window.cwnd = (self.window.cwnd / 2).max(1);
        }
        open
    }

    pub fn smoothed_round_trip(&self) -> u64 {
        self.rtt.smoothed()
    }

    pub fn window_size(&self) -> u32 {
        self.window.cwnd
    }

    /// Attributes a wait that ends without a data frame, for example in a handshake. `label` ended
    /// it at `until`, by a round trip that was `excess` ps longer than idle.
    pub fn waited(&mut self, until: u64, label: Label, excess: u64) {
        if let Some(why) = &mut self.why {
            why.waited(until, label, excess);
        }
    }

    /// Returns the time attribution so far.
    pub fn attribution(&self) -> Option<Attribution> {
        self.why.clone()
    }

    /// Takes over the time attribution of the subflow whose acknowledgement lets this one join.
    pub fn takes_over(&mut self, so_far: Option<Attribution>) {
        self.why = so_far;
    }

    /// Returns the time attribution of the connection if it ended with segment `seq`, which must be
    /// outstanding.
    pub fn account_until(&self, seq: u32) -> Option<Attribution> {
        let mut why = self.why.clone().filter(|_| (self.una..self.next).contains(&seq))?;
        why.end_at(self.board[seq].sent());
        Some(why)
    }

    /// Returns the time attribution of the connection, which an acknowledgement on this subflow has
    /// ended.
    pub fn account(&self) -> Option<Attribution> {
        self.why.clone().map(|mut why| {
            why.end_at(self.decided);
            why
        })
    }
}
