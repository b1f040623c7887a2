//! How a sender's window reacts. One file per algorithm; each supplies the same few hooks.

mod dctcp;
mod newreno;

pub use dctcp::Dctcp;
pub use newreno::NewReno;

use crate::spec::{CongestionControl, EcnMode};

/// Where a sender stands (Linux calls them Open, CWR, Recovery and Loss).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    #[default]
    Open,
    /// Reduced after an ECN echo, until what was outstanding then is acknowledged.
    Reduced,
    /// Fast recovery, likewise.
    Recovery,
    /// After a time-out, likewise.
    Loss,
}

/// What an acknowledgement says, in segments and picoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ack {
    pub now: u64,
    /// Round trip of the newest of the segments delivered that were sent once; 0 without such.
    pub rtt: u64,
    pub state: State,
    /// Newly acknowledged cumulatively.
    pub acked: u32,
    /// Newly known to have arrived: cumulatively or selectively.
    pub delivered: u32,
    /// The echo bit.
    pub ece: bool,
    /// `snd_una` after, and `snd_nxt`.
    pub una: u32,
    pub next: u32,
    /// The window may grow: not reducing, and the window was what limited the sender.
    pub may_grow: bool,
}

/// The congestion window in whole segments.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub cwnd: u32,
    /// Segments acknowledged towards the next increase in congestion avoidance.
    pub credit: u32,
    pub ssthresh: u32,
    pub limit: u32,
}

impl Window {
    pub fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Half of it, at least two segments (RFC 5681 §3.1, equation 4, with the window for the flight as Linux has it).
    pub fn half(&self) -> u32 {
        (self.cwnd / 2).max(2)
    }

    /// RFC 5681 with byte counting as Linux does it: slow start adds every segment acknowledged up to `ssthresh`; what remains
    /// counts towards congestion avoidance, one segment per window.
    pub fn reno_increase(&mut self, acked: u32) {
        let mut acked = acked;
        if self.slow_start() {
            let step = acked.min(self.ssthresh - self.cwnd);
            self.cwnd += step;
            acked -= step;
        }
        if acked > 0 {
            self.credit += acked;
            while self.credit >= self.cwnd {
                self.credit -= self.cwnd;
                self.cwnd += 1;
            }
        }
        self.cwnd = self.cwnd.min(self.limit);
    }
}

/// Any congestion control, dispatched statically.
#[derive(Debug, Clone)]
pub enum Control {
    NewReno(NewReno),
    Dctcp(Dctcp),
}

impl Control {
    pub fn new(config: &CongestionControl) -> Self {
        match config {
            CongestionControl::NewReno => Control::NewReno(NewReno),
            CongestionControl::Dctcp(config) => Control::Dctcp(Dctcp::new(config)),
        }
    }
    /// For a connection that has agreed on `ecn`: without the echo that it needs DCTCP is Reno, as in Linux.
    pub fn agreed(config: &CongestionControl, ecn: EcnMode) -> Self {
        match config {
            CongestionControl::Dctcp(_) if ecn == EcnMode::Off => Control::NewReno(NewReno),
            config => Control::new(config),
        }
    }
    /// Takes every acknowledgement; grows the window where that is allowed.
    #[inline(always)]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        match self {
            Control::NewReno(c) => c.on_ack(window, ack),
            Control::Dctcp(c) => c.on_ack(window, ack),
        }
    }
    /// The slow start threshold after an ECN echo.
    pub fn on_ecn(&mut self, window: &Window, _now: u64) -> u32 {
        match self {
            Control::NewReno(c) => c.on_loss(window),
            Control::Dctcp(c) => c.on_ecn(window),
        }
    }
    /// The slow start threshold after a loss or a time-out.
    pub fn on_loss(&mut self, window: &Window, _now: u64) -> u32 {
        match self {
            Control::NewReno(c) => c.on_loss(window),
            Control::Dctcp(c) => c.on_loss(window),
        }
    }
    /// The sender has entered `state`.
    #[inline(always)]
    pub fn on_state(&mut self, _state: State, _window: &mut Window, _now: u64) {
        match self {
            Control::NewReno(_) | Control::Dctcp(_) => {}
        }
    }
    /// The sender starts again after nothing was outstanding for `idle` picoseconds.
    pub fn on_restart(&mut self, _now: u64, _idle: u64) {
        match self {
            Control::NewReno(_) | Control::Dctcp(_) => {}
        }
    }
}

pub const MODELS: &[crate::Model] = &[newreno::MODEL, dctcp::MODEL];
