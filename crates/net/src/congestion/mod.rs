//! How a sender's window reacts. One file per algorithm; each supplies the same few hooks.

pub mod bbr;
pub mod bbr3;
mod bbr_ns3;
#[cfg(test)]
mod bottleneck;
mod coupled;
pub mod cubic;
pub mod d2tcp;
pub mod dctcp;
mod external;
mod habits;
pub mod htcp;
mod hystart;
pub mod ledbatpp;
pub mod newreno;
pub mod rate;

pub use bbr::Bbr;
pub use bbr_ns3::Ns3Bbr;
pub use bbr3::Bbr3;
pub use coupled::{Coupled, Path};
pub use cubic::Cubic;
pub use d2tcp::D2tcp;
pub use dctcp::Dctcp;
pub use external::{Algorithm, External, Factory, Foreign};
pub use htcp::Htcp;
pub use hystart::PlusPlus;
pub use newreno::{NewReno, Rfc5681};

pub use habits::{Cut, Early, Growth};

use crate::Model;
use crate::spec::{Coupling, EcnMode, TcpConfig};
use crate::transport::tcp::{Lost, Sample, Sampler};
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
    /// Whose arithmetic.
    pub enum Flavour {
        /// Linux 6.12.
        Linux,
        /// ns-3 3.48.
        Ns3,
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

/// The parameters of a congestion control.
pub trait Parameters {
    fn about(&self) -> About;
    /// For a connection that opens.
    fn start(&self, opening: Opening) -> Control;
    /// How the window answers to congestion, and how it grows from then on, with so much payload in a segment.
    fn habits(&self, payload: f64) -> (Cut, Growth) {
        (Cut { part: 0.5, ..Cut::default() }, Growth::PerRoundTrip(payload))
    }
    /// If slow start ends by itself.
    fn early(&self) -> Option<Early> {
        None
    }
}

/// The congestion controls of TCP, one line for each: its file and name in scenarios, its name and its parameters here, and the machines that
/// these choose from.
#[macro_export]
macro_rules! congestion_controls {
    ($with:ident $([$($more:tt)*])?) => {
        $with! { $([$($more)*])?
            /// RFC 5681 and RFC 6582.
            newreno Newreno(NewrenoConfig): NewReno(NewReno), Rfc5681(Rfc5681);
            /// RFC 8257.
            dctcp Dctcp(DctcpConfig): Dctcp(Dctcp);
            /// DCTCP that yields less the nearer a flow's deadline is (Vamanan et al.).
            d2tcp D2tcp(D2tcpConfig): D2tcp(Box<D2tcp>);
            /// RFC 9438.
            cubic Cubic(CubicConfig): Cubic(Box<Cubic>);
            /// H-TCP (Leith and Shorten).
            htcp Htcp(HtcpConfig): Htcp(Box<Htcp>);
            /// BBR version 1, as in Linux: rate and round trip are measured, losses and marks change little.
            bbr Bbr(BbrConfig): Bbr(Box<Bbr>), Ns3Bbr(Box<Ns3Bbr>);
            /// BBR version 3, as in google/bbr: with bounds learnt from losses and, with `ecn = "dctcp"`, from marks.
            bbr3 Bbr3(Bbr3Config): Bbr3(Box<Bbr3>);
            /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): for background traffic, keeps the queue at a target and yields to others.
            ledbatpp Ledbatpp(LedbatppConfig): Ledbatpp(Box<ledbatpp::Ledbatpp>);
        }
    };
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident($config:ident): $($machine:ident($held:ty)),+;)+) => {
        words! {
            /// Congestion control.
            pub enum Congestion {
                $($(#[doc = $doc])* $name,)+
            }
        }

        impl Congestion {
            pub const ALL: &[Congestion] = &[$(Congestion::$name),+];

            /// As scenarios say.
            pub fn name(self) -> &'static str {
                match self {
                    $(Congestion::$name => stringify!($module),)+
                }
            }
            pub fn about(self) -> About {
                match self {
                    $(Congestion::$name => $module::ABOUT,)+
                }
            }
        }

        /// A congestion control and its parameters.
        #[derive(Debug, Clone, PartialEq)]
        pub enum CongestionControl {
            $($name($module::$config),)+
            /// RFC 9406 in the first slow start of another one.
            PlusPlus(Box<CongestionControl>),
            /// With the windows of a connection's other subflows.
            Coupled(Coupling),
            /// One that whoever runs the plan has brought; no scenario says so.
            External(Foreign),
        }

        impl CongestionControl {
            /// Those of the control itself, whatever is around it.
            pub fn parameters(&self) -> &dyn Parameters {
                match self {
                    $(CongestionControl::$name(parameters) => parameters,)+
                    CongestionControl::PlusPlus(inner) => inner.parameters(),
                    CongestionControl::Coupled(parameters) => parameters,
                    CongestionControl::External(parameters) => parameters,
                }
            }
        }

        /// Any congestion control, dispatched statically.
        #[derive(Debug, Clone)]
        pub enum Control {
            $($($machine($held),)+)+
            /// Any of them after HyStart++.
            PlusPlus(Box<PlusPlus>),
            Coupled(Box<Coupled>),
            External(Box<External>),
        }

        /// Their parameters.
        pub mod configs {
            $(pub use super::$module::$config;)+
        }

        pub const MODELS: &[Model] = &[$($module::MODEL,)+ hystart::MODEL, bbr_ns3::MODEL, coupled::MODEL, external::MODEL];
    };
}
congestion_controls!(registry);

macro_rules! machines {
    ([$control:expr, $machine:ident => $call:expr] $($(#[$doc:meta])* $module:ident $name:ident($config:ident): $($variant:ident($held:ty)),+;)+) => {
        match $control {
            $($(Control::$variant($machine) => $call,)+)+
            Control::PlusPlus($machine) => $call,
            Control::Coupled($machine) => $call,
            Control::External($machine) => $call,
        }
    };
}
/// The same for whatever machine it is.
macro_rules! each {
    ($control:expr, $machine:ident => $call:expr) => { congestion_controls!(machines [$control, $machine => $call]) };
}

impl Control {
    /// With the payload of a full segment, the initial window in segments and the flow's own random stream.
    pub fn new(config: &CongestionControl, mss: u32, initial_window: u32, random: Stream) -> Self {
        let control = config.parameters().start(Opening { mss, initial_window, random });
        if let CongestionControl::PlusPlus(_) = config { Control::PlusPlus(Box::new(PlusPlus::new(control))) } else { control }
    }
    /// For a connection that has agreed on `ecn`.
    pub fn agreed(tcp: &TcpConfig, ecn: EcnMode, random: &Stream) -> Self {
        let exact = !matches!(tcp.congestion, CongestionControl::PlusPlus(_)) && tcp.congestion.parameters().about().echo == Echo::Exact;
        if exact && ecn == EcnMode::Off { Control::NewReno(NewReno) } else { Control::new(&tcp.congestion, tcp.mss as u32, tcp.initial_window, random.clone()) }
    }
}

/// As [`Controller`] says.
impl Control {
    #[inline(always)]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        each!(self, c => c.on_ack(window, ack));
    }
    pub fn on_loss(&mut self, window: &Window, now: u64) -> u32 {
        each!(self, c => c.on_loss(window, now))
    }
    pub fn on_ecn(&mut self, window: &Window, now: u64) -> u32 {
        each!(self, c => c.on_ecn(window, now))
    }
    pub fn on_timeout(&mut self, window: &Window, now: u64) -> u32 {
        each!(self, c => c.on_timeout(window, now))
    }
    pub fn on_flow(&mut self, to: u32, deadline: Option<u64>) {
        each!(self, c => c.on_flow(to, deadline));
    }
    pub fn on_progress(&mut self, una: u32, round_trip: u64) {
        each!(self, c => c.on_progress(una, round_trip));
    }
    pub fn on_flight(&mut self, flight: u32) {
        each!(self, c => c.on_flight(flight));
    }
    pub fn on_settled(&mut self) {
        each!(self, c => c.on_settled());
    }
    #[inline(always)]
    pub fn on_state(&mut self, state: State, window: &mut Window, now: u64) {
        each!(self, c => c.on_state(state, window, now));
    }
    pub fn on_restart(&mut self, now: u64, idle: u64) {
        each!(self, c => c.on_restart(now, idle));
    }
    pub fn wants_samples(&self) -> bool {
        self.owns_window()
    }
    pub fn owns_window(&self) -> bool {
        each!(self, c => c.owns_window())
    }
    pub fn on_established(&mut self, window: &Window, now: u64, rtt: u64) {
        each!(self, c => c.on_established(window, now, rtt));
    }
    pub fn on_sample(&mut self, window: &mut Window, ack: &Ack, sample: &Sample, sampler: &mut Sampler) {
        each!(self, c => c.on_sample(window, ack, sample, sampler));
    }
    pub fn on_segment_lost(&mut self, window: &Window, now: u64, lost: &Lost, sampler: &Sampler) {
        each!(self, c => c.on_segment_lost(window, now, lost, sampler));
    }
    pub fn on_undo(&mut self, window: &Window, sampler: &Sampler) -> Option<u32> {
        each!(self, c => c.on_undo(window, sampler))
    }
    pub fn burst(&self) -> u32 {
        each!(self, c => c.burst())
    }
    pub fn pacing_rate(&self) -> Option<u64> {
        each!(self, c => c.pacing_rate())
    }
    #[cfg(test)]
    pub fn details(&self) -> String {
        each!(self, c => c.details())
    }
}

/// With HZ = 250.
const LINUX_TICK: Span = Span::from_ms(4);

/// Linux's HZ is 100, 250 or 1000; any whole number of ticks per second will do.
fn divides_a_second(Duration(tick): Duration, at: Key) -> Result<Span, Wrong> {
    if tick < Span::from_us(100) || tick > Span::from_ms(10) || !Span::from_s(1).0.is_multiple_of(tick.0) {
        return Err(Wrong::at(at, format!("\"{tick}\": write a time from 100us to 10ms of which a second is a multiple, as in \"4ms\"")));
    }
    Ok(tick)
}
