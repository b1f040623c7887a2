//! What sets a queue pair's rate, and its window. One file per algorithm.

pub mod dcqcn;
pub mod hpcc;
pub mod swift;
pub mod timely;

use super::Growth;
use crate::Model;
use crate::spec::{Cnp, RdmaConfig};
use crate::telemetry::Telemetry;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Speed, keys, words};
use afflux_units::Span;
use dcqcn::Dcqcn;
use hpcc::Hpcc;
use swift::Swift;
use timely::Timely;

/// An acknowledgement as a control sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    pub now: u64,
    /// Of the frame that it answers.
    pub round_trip: Option<u64>,
    /// Bytes of payload.
    pub acked: u64,
}

/// A flow's path.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Bits per second of the NIC.
    pub line: u64,
    pub switches: u32,
    /// Picoseconds, idle.
    pub round_trip: u64,
}

/// What a control does about what its queue pair sees. Without a method of its own it sends at the NIC's rate and does nothing. Its parameters
/// are handed in each time, so that queue pairs share them.
pub trait RateController: Sized {
    type Config;
    fn start(path: &Path, config: &Self::Config) -> Self;
    /// Bits per second.
    fn rate(&mut self, _now: u64, line: u64, _config: &Self::Config) -> u64 {
        line
    }
    /// Time to the next frame, where it does not follow from the rate.
    fn spacing(&self) -> Option<u64> {
        None
    }
    /// Bytes that may be unacknowledged, where that is the control's to say; `payload` is that of a full frame.
    fn window(&self, _payload: u16) -> Option<u64> {
        None
    }
    fn wants_round_trips(&self) -> bool {
        false
    }
    fn on_sent(&mut self, _bytes: u64, _config: &Self::Config) {}
    /// A congestion notification has come.
    fn on_cnp(&mut self, _now: u64, _config: &Self::Config) {}
    fn on_ack(&mut self, _ack: &Ack, _round_trip: u64, _payload: u16, _config: &Self::Config) {}
    /// An acknowledgement with readings; positions in bytes: all before the first is acknowledged, all before the second has been sent.
    fn on_telemetry(&mut self, _positions: (u64, u64), _telemetry: &Telemetry, _rates: &[u64], _config: &Self::Config) {}
    /// Something is to be sent again because of a NACK.
    fn on_loss(&mut self, _now: u64, _config: &Self::Config) {}
    fn on_timeout(&mut self, _now: u64, _config: &Self::Config) {}
}

/// What does not depend on parameters.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    /// It slows down when receivers notify it of marks.
    pub notified: bool,
    /// Switches write readings of their ports on its frames.
    pub telemetry: bool,
    /// Its name, if it has a window of its own.
    pub window: Option<&'static str>,
}

impl About {
    pub const fn of(model: Model) -> Self {
        About { model, notified: false, telemetry: false, window: None }
    }
}

/// What an estimate without frames has to know of it.
#[derive(Debug, Clone, Copy)]
pub struct Habits {
    /// How it grows that has been cut.
    pub growth: Growth,
    /// Part of a link that flows use which it limits, as measured (validation/estimates.py).
    pub efficiency: f64,
    /// How much of it they use is not known beforehand.
    pub erratic: bool,
}

/// The parameters of a control.
pub trait RateParameters {
    /// Receivers tell of marks by frames of their own, where its source has it so.
    fn notifies_by_frames(&self) -> bool {
        false
    }
    /// With so much payload in a frame.
    fn habits(&self, _payload: f64) -> Habits {
        Habits { growth: Growth::AtOnce, efficiency: 1.0, erratic: false }
    }
    /// A time in which notifications change the rate.
    fn reaction(&self, _cnp: Cnp) -> Option<Span> {
        None
    }
}

/// The congestion controls of queue pairs, one line for each: its file and name in scenarios, its name and its parameters here, its machine.
#[macro_export]
macro_rules! rate_controls {
    ($with:ident $([$($more:tt)*])?) => {
        $with! { $([$($more)*])?
            /// DCQCN: notifications of marks.
            dcqcn Dcqcn(DcqcnConfig): Dcqcn;
            /// TIMELY: the gradient of the round trip.
            timely Timely(TimelyConfig): Timely;
            /// Swift: a window by delay.
            swift Swift(SwiftConfig): Swift;
            /// HPCC: a window by what switches write on frames: 42 B more on data and acknowledgements.
            hpcc Hpcc(HpccConfig): Box<Hpcc>;
        }
    };
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident($config:ident): $machine:ty;)+) => {
        words! {
            /// What sets the rate.
            pub enum RdmaCongestion {
                /// Nothing: the NIC's rate.
                None,
                $($(#[doc = $doc])* $name,)+
            }
        }

        impl RdmaCongestion {
            pub const ALL: &[RdmaCongestion] = &[RdmaCongestion::None, $(RdmaCongestion::$name),+];

            /// As scenarios say.
            pub fn name(self) -> &'static str {
                match self {
                    RdmaCongestion::None => "none",
                    $(RdmaCongestion::$name => stringify!($module),)+
                }
            }
            pub fn about(self) -> Option<About> {
                match self {
                    RdmaCongestion::None => None,
                    $(RdmaCongestion::$name => Some($module::ABOUT),)+
                }
            }
        }

        /// How congestion sets a queue pair's rate. All start at the NIC's.
        #[derive(Debug, Clone, PartialEq)]
        pub enum RateControl {
            None,
            $($name($module::$config),)+
        }

        impl RateControl {
            pub fn parameters(&self) -> Option<&dyn RateParameters> {
                match self {
                    RateControl::None => None,
                    $(RateControl::$name(parameters) => Some(parameters),)+
                }
            }
            /// Which one it is.
            pub fn kind(&self) -> RdmaCongestion {
                match self {
                    RateControl::None => RdmaCongestion::None,
                    $(RateControl::$name(_) => RdmaCongestion::$name,)+
                }
            }
            /// Does it slow down when receivers notify it of marks?
            pub fn is_notified(&self) -> bool {
                self.kind().about().is_some_and(|about| about.notified)
            }
            /// Do switches write readings of their ports on its frames?
            pub fn has_telemetry(&self) -> bool {
                self.kind().about().is_some_and(|about| about.telemetry)
            }
        }

        #[derive(Debug, Clone)]
        pub enum Control {
            None,
            $($name($machine),)+
        }

        /// Their parameters.
        pub mod configs {
            $(pub use super::$module::$config;)+
        }

        pub const MODELS: &[Model] = &[$($module::MODEL),+];
    };
}
rate_controls!(registry);

macro_rules! machines {
    ([$control:expr, $machine:ident => $call:expr, $without:expr] $($(#[$doc:meta])* $module:ident $name:ident($config:ident): $held:ty;)+) => {
        match $control {
            $(Control::$name($machine) => $call,)+
            Control::None => $without,
        }
    };
    ([$control:expr, $parameters:expr, $machine:ident, $own:ident => $call:expr, $without:expr]
        $($(#[$doc:meta])* $module:ident $name:ident($config:ident): $held:ty;)+) => {
        match ($control, $parameters) {
            $((Control::$name($machine), RateControl::$name($own)) => $call,)+
            _ => $without,
        }
    };
}
/// The same for whatever machine it is, with its parameters if they are asked for.
macro_rules! each {
    ($control:expr, $machine:ident => $call:expr, $without:expr) => { rate_controls!(machines [$control, $machine => $call, $without]) };
    ($control:expr, $parameters:expr, $machine:ident, $own:ident => $call:expr, $without:expr) => {
        rate_controls!(machines [$control, $parameters, $machine, $own => $call, $without])
    };
}

/// As [`RateController`] says.
impl Control {
    pub fn new(path: &Path, config: &RateControl) -> Self {
        macro_rules! start {
            ($($(#[$doc:meta])* $module:ident $name:ident($config:ident): $held:ty;)+) => {
                match config {
                    RateControl::None => Control::None,
                    $(RateControl::$name(config) => Control::$name($name::start(path, config).into()),)+
                }
            };
        }
        rate_controls!(start)
    }

    #[inline(always)]
    pub fn rate(&mut self, now: u64, line: u64, config: &RdmaConfig) -> u64 {
        each!(self, &config.control, c, own => c.rate(now, line, own), line)
    }

    #[inline(always)]
    pub fn spacing(&self) -> Option<u64> {
        each!(self, c => c.spacing(), None)
    }

    #[inline(always)]
    pub fn window(&self, config: &RdmaConfig) -> Option<u64> {
        each!(self, c => c.window(config.payload), None)
    }

    pub fn wants_round_trips(&self) -> bool {
        each!(self, c => c.wants_round_trips(), false)
    }

    #[inline(always)]
    pub fn on_sent(&mut self, bytes: u64, config: &RdmaConfig) {
        each!(self, &config.control, c, own => c.on_sent(bytes, own), ());
    }

    #[inline(always)]
    pub fn on_cnp(&mut self, now: u64, config: &RdmaConfig) {
        each!(self, &config.control, c, own => c.on_cnp(now, own), ());
    }

    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack, config: &RdmaConfig) {
        let Some(round_trip) = ack.round_trip else { return };
        each!(self, &config.control, c, own => c.on_ack(ack, round_trip, config.payload, own), ());
    }

    pub fn on_telemetry(&mut self, positions: (u64, u64), telemetry: &Telemetry, rates: &[u64], config: &RdmaConfig) {
        each!(self, &config.control, c, own => c.on_telemetry(positions, telemetry, rates, own), ());
    }

    pub fn on_loss(&mut self, now: u64, config: &RdmaConfig) {
        each!(self, &config.control, c, own => c.on_loss(now, own), ());
    }

    pub fn on_timeout(&mut self, now: u64, config: &RdmaConfig) {
        each!(self, &config.control, c, own => c.on_timeout(now, own), ());
    }
}

/// A rate above 0.
fn bits_per_second(rate: Speed, at: Key) -> Result<u64, Wrong> {
    keys::above_zero(rate, at).map(|rate| rate.0)
}
