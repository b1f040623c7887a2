//! A sender as one of several of a connection (MPTCP): data are handed to it one segment at a time.

use super::clock::expiry;
use super::sender::Sender;
use crate::congestion::{Control, Path, State};
use crate::probe::explain::{Attribution, Label};
use crate::spec::TcpConfig;

impl Sender {
    /// There is no telling which of its segments is the last.
    pub fn goes_on(&mut self) {
        self.current.to = u32::MAX;
    }

    /// When a time-out that begins now expires.
    pub fn time_out_from(&self, now: u64, config: &TcpConfig) -> u64 {
        expiry(now, self.rtt.timeout(config), config)
    }

    /// One more segment to send; returns its number.
    pub fn hand_over(&mut self, now: u64, config: &TcpConfig) -> u32 {
        self.restart(now, config);
        self.written = self.segments;
        self.segments += 1;
        self.segments - 1
    }

    /// The window has room for another segment, none waits for its turn already, and nothing is being found out after a time-out. (Without SACK the
    /// state of loss lasts until something new is acknowledged, which has to be sent first.)
    pub fn has_room(&self) -> bool {
        let finding_out = self.state == State::Loss && self.una < self.next;
        self.connected && !finding_out && self.next == self.segments && self.pipe() < self.window.cwnd
    }

    /// The segments that are not acknowledged: from the first to the one behind the last that was handed over.
    pub fn outstanding(&self) -> (u32, u32) {
        (self.una, self.segments)
    }

    /// What its siblings are told.
    pub fn path(&self) -> Path {
        let cwnd = if matches!(self.state, State::Recovery | State::Reduced) { self.window.ssthresh.min(self.window.cwnd) } else { self.window.cwnd };
        let run = match &self.control {
            Control::Coupled(coupled) => coupled.run(),
            _ => 0,
        };
        Path { cwnd: if self.connected { cwnd } else { 0 }, rtt: self.rtt.smoothed(), run }
    }

    /// Its siblings and itself, number `me`, before it takes an acknowledgement.
    pub fn look(&mut self, paths: &[Path], me: usize) {
        if let Control::Coupled(coupled) = &mut self.control {
            coupled.look(paths, me);
        }
    }

    /// It holds up the others: half of its window, and of its threshold unless it is in slow start (the scheduler of the Linux implementation).
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

    /// A wait without a frame of data at its end, in handshakes for example: `label` ended it at `until`, by a round trip that was `excess` longer than
    /// idle.
    pub fn waited(&mut self, until: u64, label: Label, excess: u64) {
        if let Some(why) = &mut self.why {
            why.waited(until, label, excess);
        }
    }

    /// Where the connection's time went if it ended with segment `seq`, which must be outstanding.
    pub fn account_until(&self, seq: u32) -> Option<Attribution> {
        let mut why = self.why.clone().filter(|_| (self.una..self.next).contains(&seq))?;
        why.end_at(self.board[seq].sent());
        Some(why)
    }

    /// Where the time went of the connection, which an acknowledgement on this subflow has ended.
    pub fn account(&self) -> Option<Attribution> {
        self.why.clone().map(|mut why| {
            why.end_at(self.decided);
            why
        })
    }
}
