//! Interface between congestion controls and their senders, and the properties of congestion
//! controls that other modules need.

use super::sampler::{Lost, Sample, Sampler};
use super::window_response::{Decrease, IncreaseRule, SlowStartExit};
use crate::Model;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, words};
use afflux_engine::random::Stream;
use afflux_units::Span;

/// State of a sender (Linux calls the states Open, CWR, Recovery and Loss).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    #[default]
    Open,
    /// The window was reduced after an ECN echo. Lasts until the data outstanding at that time are
    /// acknowledged.
    Reduced,
    /// Fast recovery. Lasts until the data outstanding at its start are acknowledged.
    Recovery,
    /// Recovery after a time-out. Lasts until the data outstanding at that time are acknowledged.
    Loss,
}

impl State {
    /// Returns the word for this state in results.
    pub fn word(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Reduced => "reduced",
            State::Recovery => "recovery",
            State::Loss => "loss",
        }
    }
}

/// An acknowledgement as input of a congestion control. Data are in segments, times in ps.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ack {
    pub now: u64,
    /// Round trip of the newest delivered segment that was sent only once; 0 if there is none.
    pub rtt: u64,
    /// Smoothed round trip, from senders that report it; otherwise 0.
    pub smoothed: u64,
    pub state: State,
    /// Segments newly acknowledged by the cumulative acknowledgement.
    pub acked: u32,
    /// Segments newly known to have arrived, by cumulative or selective acknowledgement.
    pub delivered: u32,
    /// True if the ECN echo bit is set.
    pub ece: bool,
    /// `snd_una` after this acknowledgement, and `snd_nxt`.
    pub una: u32,
    pub next: u32,
    /// True if the window may grow: the sender is not reducing it, and was limited by it.
    pub may_grow: bool,
    /// True if the window may grow even if it did not limit the sender. Only some senders report
    /// this.
    pub open: bool,
}

/// Congestion window in whole segments.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub cwnd: u32,
    /// Segments acknowledged towards the next increase in congestion avoidance.
    pub credit: u32,
    pub ssthresh: u32,
    pub limit: u32,
}

impl Window {
    /// Returns the window of a new connection, which has no slow start threshold yet.
    pub fn new(initial: u32, limit: u32) -> Window {
        Window { cwnd: initial.min(limit), credit: 0, ssthresh: u32::MAX, limit }
    }

    pub fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Returns the threshold that an unused or idle window leaves: at least three quarters of the
    /// window (Linux tcp_current_ssthresh).
    pub fn kept(&self) -> u32 {
        self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
    }

    /// Returns half of the window, at least two segments (RFC 5681 §3.1, equation 4, with the
    /// window instead of the flight size as in Linux).
    pub fn half(&self) -> u32 {
        (self.cwnd / 2).max(2)
    }

    /// Grows the window by RFC 5681 with Linux's byte counting. Slow start adds every acknowledged
    /// segment up to `ssthresh`. The rest counts towards congestion avoidance, one segment per
    /// window.
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

    /// Grows the window in slow start by the acknowledged segments up to `ssthresh`. Returns the
    /// remaining segments (Linux tcp_slow_start).
    pub fn slow_start_increase(&mut self, acked: u32) -> u32 {
        let step = acked.min(self.ssthresh.saturating_sub(self.cwnd));
        self.cwnd = (self.cwnd + step).min(self.limit);
        acked - step
    }

    /// Grows the window by one segment for every `count` acknowledged (Linux tcp_cong_avoid_ai).
    pub fn increase_per(&mut self, count: u32, acked: u32) {
        // Credit that was saved for a larger count adds one segment at most.
        if self.credit >= count {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked;
        self.cwnd = (self.cwnd + self.credit / count).min(self.limit);
        self.credit %= count;
    }
}

/// A congestion control of one connection. The default methods do what standard TCP does, or
/// nothing.
pub trait Controller {
    /// Handles every acknowledgement, and grows the window where that is allowed.
    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}
    /// Returns the slow start threshold after a loss.
    fn on_loss(&mut self, window: &Window, now: u64) -> u32;
    /// Returns the slow start threshold after an ECN echo.
    fn on_ecn(&mut self, window: &Window, now: u64) -> u32 {
        self.on_loss(window, now)
    }
    /// Returns the slow start threshold after a loss in a window that an ECN echo has reduced
    /// already; `None`: the loss is no reason for another reduction.
    fn on_loss_after_echo(&mut self, _window: &Window) -> Option<u32> {
        None
    }
    /// Returns the slow start threshold after a time-out.
    fn on_timeout(&mut self, window: &Window, now: u64) -> u32 {
        self.on_loss(window, now)
    }
    /// Announces the current flow of the connection: it ends before segment `to` and has this
    /// deadline.
    fn on_flow(&mut self, _to: u32, _deadline: Option<u64>) {}
    /// Reports `snd_una` and the smoothed round trip in ps before a reduction for an ECN echo.
    fn on_progress(&mut self, _una: u32, _round_trip: u64) {}
    /// Reports the segments in flight before a reduction. Only some senders do.
    fn on_flight(&mut self, _flight: u32) {}
    /// Reports that the window has been set to the threshold. Only some senders do.
    fn on_window_set(&mut self) {}
    /// Reports that the sender has entered `state`.
    fn on_state(&mut self, _state: State, _window: &mut Window, _now: u64) {}
    /// Reports that the sender resumes, `idle` ps after its last transmission and with nothing
    /// outstanding.
    fn on_restart(&mut self, _now: u64, _idle: u64) {}

    // Hooks for congestion controls with a model of the path.

    /// True if the congestion control sets the window in every state. The sender then neither
    /// reduces it to the threshold nor keeps it from growing. Needs a [`Sampler`].
    fn owns_window(&self) -> bool {
        false
    }
    /// Reports that the connection is open. Its handshake took `rtt` ps (0: unknown).
    fn on_established(&mut self, _window: &Window, _now: u64, _rtt: u64) {}
    /// Handles every acknowledgement after losses were marked and the state changed. `ack.state` is
    /// the new state.
    fn on_sample(
        &mut self,
        _window: &mut Window,
        _ack: &Ack,
        _sample: &Sample,
        _sampler: &mut Sampler,
    ) {
    }
    /// Reports a segment after [`Sampler::on_lost`] has counted it as lost.
    fn on_segment_lost(&mut self, _window: &Window, _now: u64, _lost: &Lost, _sampler: &Sampler) {}
    /// Reports that a loss or a time-out was spurious. Returns the window to continue with, if the
    /// algorithm decides on it.
    fn on_undo(&mut self, _window: &Window, _sampler: &Sampler) -> Option<u32> {
        None
    }
    /// Returns the number of segments that may leave back to back before pacing delays the next
    /// one, as with Linux's segmentation offload.
    fn burst(&self) -> u32 {
        1
    }
    /// Returns the pacing rate in bit/s of payload.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
    /// Returns the state as text, for traces.
    #[cfg(test)]
    fn details(&self) -> String {
        String::new()
    }
}

words! {
    /// Implementation whose arithmetic is used.
    pub enum Flavour {
        /// Linux 6.12.
        Linux,
        /// ns-3 3.48.
        Ns3,
    }
    /// Explicit congestion notification.
    #[derive(Default)]
    #[schemars(rename = "Echo")]
    pub enum EcnMode {
        /// Frames are not ECN-capable.
        #[default]
        Off,
        /// RFC 3168: data are ECN-capable, acknowledgements and retransmissions are not. One
        /// reduction per round trip.
        Classic,
        /// Every frame is ECN-capable and the receiver echoes each mark exactly (RFC 8257 §3.2).
        Dctcp,
    }
}

/// The transport that uses a congestion control, as far as its keys depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Sender {
    /// Implementation of the TCP stack.
    pub flavour: Flavour,
    /// Payload of a full segment in bytes.
    pub mss: u16,
    /// True if the transport paces whatever the congestion control does.
    pub paced: bool,
    pub ecn: EcnMode,
}

/// Properties of a new connection.
pub struct Opening {
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Random stream of the flow.
    pub random: Stream,
}

/// How receivers report marks to a congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// As in RFC 3168, if at all.
    Classic,
    /// As in RFC 3168, or each mark exactly (`ecn = "dctcp"`).
    Either,
    /// Each mark exactly. Without that it behaves as NewReno, as Linux's DCTCP does.
    Exact,
}

/// Whether HyStart++ can be combined with a congestion control (`hystart_plusplus`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowStart {
    Standard,
    /// The congestion control has no slow start.
    None,
    /// The congestion control has its own rule or key. Text: what to write instead.
    Own(&'static str),
}

/// Properties of a congestion control that do not depend on its parameters.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    pub echo: Echo,
    pub slow_start: SlowStart,
    /// Default of `initial_window`, in segments.
    pub initial_window: u32,
    /// If marks have no effect: text for a warning, with the cure.
    pub ignores_marks: Option<&'static str>,
    /// If it uses deadlines: text on how it treats flows without one.
    pub missing_deadline: Option<&'static str>,
    /// True if it always paces and sets its window after a loss itself, so that the settings
    /// `pacing` and `prr` have no effect.
    pub sets_rate: bool,
}

impl About {
    /// Creates the properties of a congestion control with standard behaviour.
    pub const fn of(model: Model) -> Self {
        About {
            model,
            echo: Echo::Classic,
            slow_start: SlowStart::Standard,
            initial_window: 10,
            ignores_marks: None,
            missing_deadline: None,
            sets_rate: false,
        }
    }
}

/// Parameters of a congestion control. Each type also has a function `start`, which creates the
/// controller of a new connection as any type that can hold it.
pub trait Parameters {
    fn about(&self) -> About;
    /// Returns the decrease of the window on congestion, and its growth afterwards. `payload`:
    /// payload of a segment in bytes.
    fn window_response(&self, payload: f64) -> (Decrease, IncreaseRule) {
        (Decrease { part: 0.5, ..Decrease::default() }, IncreaseRule::PerRoundTrip(payload))
    }
    /// Returns how slow start ends before any loss, if it can.
    fn early(&self) -> Option<SlowStartExit> {
        None
    }
}

/// Tick of the Linux kernel's clock with HZ = 250.
pub const LINUX_TICK: Span = Span::from_ms(4);

/// Checks a clock tick. Linux's HZ is 100, 250 or 1000. Any whole number of ticks per second is
/// allowed.
pub fn divides_a_second(Duration(tick): Duration, at: Key) -> Result<Span, Wrong> {
    if tick < Span::from_us(100)
        || tick > Span::from_ms(10)
        || !Span::from_s(1).0.is_multiple_of(tick.0)
    {
        return Err(Wrong::at(
            at,
            format!(
                "\"{tick}\": write a time from 100us to 10ms of which a second is a multiple, as in \"4ms\""
            ),
        ));
    }
    Ok(tick)
}
