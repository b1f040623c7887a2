//! Congestion control of RDMA queue pairs: sets their rate and window. One file per algorithm.

mod controller;
pub mod dcqcn;
pub mod hpcc;
pub mod swift;
pub mod timely;

pub use controller::{About, Ack, Cnp, Path, RateController, RateParameters, RateResponse};

use crate::Model;
use crate::telemetry::Telemetry;
use afflux_config::words;
use dcqcn::Dcqcn;
use hpcc::Hpcc;
use swift::Swift;
use timely::Timely;

/// The congestion controls of queue pairs. Each line gives a file (which is the name in scenarios),
/// a type, the type of its parameters, and the controller.
#[macro_export]
macro_rules! rate_controls {
    ($with:ident $([$($more:tt)*])?) => {
        $with! { $([$($more)*])?
            /// DCQCN: the rate follows notifications of marks.
            dcqcn Dcqcn(DcqcnConfig): Dcqcn;
            /// TIMELY: the rate follows the gradient of the round trip.
            timely Timely(TimelyConfig): Timely;
            /// Swift: the window follows the delay.
            swift Swift(SwiftConfig): Swift;
            /// HPCC: the window follows readings that switches write on frames. Data and
            /// acknowledgements are 42 B longer.
            hpcc Hpcc(HpccConfig): Box<Hpcc>;
        }
    };
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident($config:ident): $machine:ty;)+) => {
        words! {
            /// Congestion control that sets the rate.
            pub enum RdmaCongestion {
                /// No congestion control: frames leave at the NIC's rate.
                None,
                $($(#[doc = $doc])* $name,)+
            }
        }

        impl RdmaCongestion {
            pub const ALL: &[RdmaCongestion] = &[RdmaCongestion::None, $(RdmaCongestion::$name),+];

            /// Returns the name of the congestion control in scenarios.
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

        /// Congestion control of a queue pair, with its parameters. All queue pairs start at the
        /// NIC's rate.
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
            /// Returns which congestion control it is.
            pub fn kind(&self) -> RdmaCongestion {
                match self {
                    RateControl::None => RdmaCongestion::None,
                    $(RateControl::$name(_) => RdmaCongestion::$name,)+
                }
            }
            /// True if it slows down when receivers notify it of marks.
            pub fn is_notified(&self) -> bool {
                self.kind().about().is_some_and(|about| about.notified)
            }
            /// True if switches write readings of their ports on its frames.
            pub fn has_telemetry(&self) -> bool {
                self.kind().about().is_some_and(|about| about.telemetry)
            }
        }

        #[derive(Debug, Clone)]
        pub enum Control {
            None,
            $($name($machine),)+
        }

        /// Parameters of the congestion controls.
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
/// Evaluates an expression for the controller inside a [`Control`], whatever its type, with its
/// parameters if requested.
macro_rules! each {
    ($control:expr, $machine:ident => $call:expr, $without:expr) => { rate_controls!(machines [$control, $machine => $call, $without]) };
    ($control:expr, $parameters:expr, $machine:ident, $own:ident => $call:expr, $without:expr) => {
        rate_controls!(machines [$control, $parameters, $machine, $own => $call, $without])
    };
}

/// Dispatches to the controller inside. See [`RateController`] for the methods.
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
    pub fn rate(&mut self, now: u64, line: u64, config: &RateControl) -> u64 {
        each!(self, config, c, own => c.rate(now, line, own), line)
    }

    #[inline(always)]
    pub fn spacing(&self) -> Option<u64> {
        each!(self, c => c.spacing(), None)
    }

    #[inline(always)]
    pub fn window(&self, payload: u16) -> Option<u64> {
        each!(self, c => c.window(payload), None)
    }

    pub fn uses_round_trips(&self) -> bool {
        each!(self, c => c.uses_round_trips(), false)
    }

    #[inline(always)]
    pub fn on_sent(&mut self, now: u64, bytes: u64, config: &RateControl) {
        each!(self, config, c, own => c.on_sent(now, bytes, own), ());
    }

    #[inline(always)]
    pub fn on_cnp(&mut self, now: u64, config: &RateControl) {
        each!(self, config, c, own => c.on_cnp(now, own), ());
    }

    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack, payload: u16, config: &RateControl) {
        each!(self, config, c, own => c.on_ack(ack, payload, own), ());
    }

    pub fn on_telemetry(
        &mut self,
        positions: (u64, u64),
        telemetry: &Telemetry,
        rates: &[u64],
        config: &RateControl,
    ) {
        each!(self, config, c, own => c.on_telemetry(positions, telemetry, rates, own), ());
    }

    pub fn on_loss(&mut self, now: u64, config: &RateControl) {
        each!(self, config, c, own => c.on_loss(now, own), ());
    }

    pub fn on_timeout(&mut self, now: u64, config: &RateControl) {
        each!(self, config, c, own => c.on_timeout(now, own), ());
    }
}
