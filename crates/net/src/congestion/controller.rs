//! What a congestion control is: what its sender tells it, what it answers, and what other rooms have to know of it.

use super::habits::{Cut, Early, Growth};
use super::sampler::{Lost, Sample, Sampler};
use crate::Model;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, words};
use afflux_engine::random::Stream;
use afflux_units::Span;

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
    /// The smoothed round trip, where the sender tells it; else 0.
    pub smoothed: u64,
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
    /// The same whatever limited the sender, where it tells.
    pub open: bool,
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

    /// Slow start by segments acknowledged up to `ssthresh`; returns those that remain (Linux tcp_slow_start).
    pub fn slow_start_increase(&mut self, acked: u32) -> u32 {
        let step = acked.min(self.ssthresh.saturating_sub(self.cwnd));
        self.cwnd = (self.cwnd + step).min(self.limit);
        acked - step
    }

    /// One segment for every `count` acknowledged (Linux tcp_cong_avoid_ai).
    pub fn increase_per(&mut self, count: u32, acked: u32) {
        // What was saved up for a larger count brings one at most.
        if self.credit >= count {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked;
        self.cwnd = (self.cwnd + self.credit / count).min(self.limit);
        self.credit %= count;
    }
}

/// What a congestion control does about what its sender sees. Without a method of its own it does what standard TCP does, or nothing.
pub trait Controller {
    /// Takes every acknowledgement; grows the window where that is allowed.
    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}
    /// The slow start threshold after a loss.
    fn on_loss(&mut self, window: &Window, now: u64) -> u32;
    /// The slow start threshold after an ECN echo.
    fn on_ecn(&mut self, window: &Window, now: u64) -> u32 {
        self.on_loss(window, now)
    }
    /// The slow start threshold after a time-out.
    fn on_timeout(&mut self, window: &Window, now: u64) -> u32 {
        self.on_loss(window, now)
    }
    /// The connection is at a flow that ends before segment `to` and has this deadline.
    fn on_flow(&mut self, _to: u32, _deadline: Option<u64>) {}
    /// What has been acknowledged, and the smoothed round trip, before a reduction for an ECN echo.
    fn on_progress(&mut self, _una: u32, _round_trip: u64) {}
    /// What is in flight, before a reduction, from senders that tell it.
    fn on_flight(&mut self, _flight: u32) {}
    /// The window has been set to the threshold, by senders that tell it.
    fn on_settled(&mut self) {}
    /// The sender has entered `state`.
    fn on_state(&mut self, _state: State, _window: &mut Window, _now: u64) {}
    /// The sender starts again, `idle` picoseconds after it sent last, with nothing outstanding.
    fn on_restart(&mut self, _now: u64, _idle: u64) {}

    // A model of the path.

    /// Sets the window itself in every state: nobody reduces it to the threshold or keeps it from growing. Needs a [`Sampler`].
    fn owns_window(&self) -> bool {
        false
    }
    /// The connection is open; its handshake took `rtt` (0: not known).
    fn on_established(&mut self, _window: &Window, _now: u64, _rtt: u64) {}
    /// Takes every acknowledgement, after losses were marked and the state changed: `ack.state` is the new one.
    fn on_sample(&mut self, _window: &mut Window, _ack: &Ack, _sample: &Sample, _sampler: &mut Sampler) {}
    /// [`Sampler::on_lost`] has been told of a segment.
    fn on_segment_lost(&mut self, _window: &Window, _now: u64, _lost: &Lost, _sampler: &Sampler) {}
    /// A loss or a time-out turns out to have been none: the window to go on with, if the algorithm has a say.
    fn on_undo(&mut self, _window: &Window, _sampler: &Sampler) -> Option<u32> {
        None
    }
    /// Segments that may leave back to back before pacing makes the next one wait, as Linux's buffers for segmentation offload do.
    fn burst(&self) -> u32 {
        1
    }
    /// Bits of payload per second at which segments are to leave.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
    /// For traces.
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
    #[schemars(rename = "Echo")]
    pub enum EcnMode {
        /// Frames are not ECN-capable.
        Off,
        /// RFC 3168: data is ECN-capable, acknowledgements and retransmissions are not; one reduction per round trip.
        Classic,
        /// Every frame is ECN-capable and the receiver echoes each mark exactly (RFC 8257 §3.2).
        Dctcp,
    }
}

/// The transport whose congestion control is set up.
#[derive(Debug, Clone, Copy)]
pub struct Sender {
    /// Whose stack.
    pub flavour: Flavour,
    /// Payload of a full segment, bytes.
    pub mss: u16,
    /// It paces whatever the congestion control does.
    pub paced: bool,
    pub ecn: EcnMode,
}

/// A connection that opens.
pub struct Opening {
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Segments.
    pub initial_window: u32,
    /// The flow's own.
    pub random: Stream,
}

/// How receivers tell a congestion control of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// As RFC 3168 says, if at all.
    Classic,
    /// That, or each mark exactly (`ecn = "dctcp"`).
    Either,
    /// Each mark exactly: without that it is NewReno, as Linux's DCTCP is.
    Exact,
}

/// Does HyStart++ go with it (`hystart_plusplus`)?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowStart {
    Standard,
    /// It has no slow start.
    None,
    /// It has a key of its own for that: what to write.
    Own(&'static str),
}

/// What does not depend on parameters.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    pub echo: Echo,
    pub slow_start: SlowStart,
    /// The default of `initial_window`, in segments.
    pub initial_window: u32,
    /// Marks change nothing: what to do about it.
    pub ignores_marks: Option<&'static str>,
    /// What it is to flows without a deadline, if it goes by deadlines.
    pub undated: Option<&'static str>,
}

impl About {
    /// A standard one.
    pub const fn of(model: Model) -> Self {
        About { model, echo: Echo::Classic, slow_start: SlowStart::Standard, initial_window: 10, ignores_marks: None, undated: None }
    }
}

/// The parameters of a congestion control. Beside this they have `start`, which makes any type that holds the control for a connection that opens.
pub trait Parameters {
    fn about(&self) -> About;
    /// How the window answers to congestion, and how it grows from then on, with so much payload in a segment.
    fn habits(&self, payload: f64) -> (Cut, Growth) {
        (Cut { part: 0.5, ..Cut::default() }, Growth::PerRoundTrip(payload))
    }
    /// If slow start ends by itself.
    fn early(&self) -> Option<Early> {
        None
    }
}

/// With HZ = 250.
pub const LINUX_TICK: Span = Span::from_ms(4);

/// Linux's HZ is 100, 250 or 1000; any whole number of ticks per second will do.
pub fn divides_a_second(Duration(tick): Duration, at: Key) -> Result<Span, Wrong> {
    if tick < Span::from_us(100) || tick > Span::from_ms(10) || !Span::from_s(1).0.is_multiple_of(tick.0) {
        return Err(Wrong::at(at, format!("\"{tick}\": write a time from 100us to 10ms of which a second is a multiple, as in \"4ms\"")));
    }
    Ok(tick)
}
