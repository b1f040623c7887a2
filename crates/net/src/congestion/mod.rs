//! Congestion control of senders: how the window or the rate reacts. Each algorithm has its own
//! file or folder and implements the same few hooks.

pub mod bbr;
mod controller;
mod coupled;
pub mod cubic;
pub mod d2tcp;
pub mod dctcp;
mod external;
pub mod htcp;
mod hystart;
pub mod ledbatpp;
pub mod newreno;
pub mod rate;
mod sampler;
#[cfg(test)]
#[allow(dead_code, reason = "compiled so that copies of it compile")]
mod template;
mod window_response;

pub use bbr::Bbr;
pub use bbr::ns3::Ns3Bbr;
pub use bbr::v3::{self as bbr3, Bbr3};
pub use controller::{
    About, Ack, Controller, Echo, EcnMode, Flavour, Opening, Parameters, Sender, SlowStart, State,
    Window,
};
pub use coupled::{Coupled, Coupling, Path};
pub use cubic::Cubic;
pub use d2tcp::D2tcp;
pub use dctcp::Dctcp;
pub use external::{Algorithm, External, Factory, Foreign};
pub use htcp::Htcp;
pub use hystart::PlusPlus;
pub use newreno::{NewReno, Rfc5681};
pub use sampler::{Lost, Sample, SampleContext, Sampler};
pub use window_response::{Decrease, IncreaseRule, SlowStartExit};

use crate::Model;
use afflux_config::words;
use afflux_engine::random::Stream;

/// The congestion controls of TCP. Each line gives a file (which is the name in scenarios), a type,
/// the type of its parameters, and the controllers that the parameters choose from.
#[macro_export]
macro_rules! congestion_controls {
    ($with:ident $([$($more:tt)*])?) => {
        $with! { $([$($more)*])?
            /// NewReno (RFC 5681 and RFC 6582).
            newreno Newreno(NewrenoConfig): NewReno(NewReno), Rfc5681(Rfc5681);
            /// DCTCP (RFC 8257).
            dctcp Dctcp(DctcpConfig): Dctcp(Dctcp);
            /// DCTCP with a smaller reduction the nearer a flow's deadline is (D2TCP, Vamanan et
            /// al.).
            d2tcp D2tcp(D2tcpConfig): D2tcp(Box<D2tcp>);
            /// CUBIC (RFC 9438).
            cubic Cubic(CubicConfig): Cubic(Box<Cubic>);
            /// H-TCP (Leith and Shorten).
            htcp Htcp(HtcpConfig): Htcp(Box<Htcp>);
            /// BBR version 1, as in Linux: measures rate and round trip; losses and marks change
            /// little.
            bbr Bbr(BbrConfig): Bbr(Box<Bbr>), Ns3Bbr(Box<Ns3Bbr>);
            /// BBR version 3, as in google/bbr: with bounds learnt from losses and, with `ecn =
            /// "dctcp"`, from marks.
            bbr3 Bbr3(Bbr3Config): Bbr3(Box<Bbr3>);
            /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): for background traffic; keeps the
            /// queue at a target and yields to other traffic.
            ledbatpp Ledbatpp(LedbatppConfig): Ledbatpp(Box<ledbatpp::Ledbatpp>);
        }
    };
}

macro_rules! machine {
    ($($machine:ident($held:ty),)+) => {
        $(impl From<$held> for Control {
            fn from(machine: $held) -> Control {
                Control::$machine(machine)
            }
        })+
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

            /// Returns the name of the congestion control in scenarios.
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
            /// HyStart++ (RFC 9406) in the first slow start of another congestion control.
            PlusPlus(Box<CongestionControl>),
            /// A window that is coupled with those of the connection's other subflows.
            Coupled(Coupling),
            /// An algorithm supplied by the caller of the simulator. Scenarios cannot name it.
            External(Foreign),
        }

        impl CongestionControl {
            /// Returns the parameters of the innermost congestion control, below HyStart++.
            pub fn parameters(&self) -> &dyn Parameters {
                match self {
                    $(CongestionControl::$name(parameters) => parameters,)+
                    CongestionControl::PlusPlus(inner) => inner.parameters(),
                    CongestionControl::Coupled(parameters) => parameters,
                    CongestionControl::External(parameters) => parameters,
                }
            }
            /// Creates the controller of a new connection.
            fn start(&self, opening: Opening) -> Control {
                match self {
                    $(CongestionControl::$name(parameters) => parameters.start(opening),)+
                    CongestionControl::PlusPlus(inner) => Box::new(PlusPlus::new(inner.start(opening))).into(),
                    CongestionControl::Coupled(parameters) => parameters.start(opening),
                    CongestionControl::External(parameters) => parameters.start(opening),
                }
            }
        }

        /// Any congestion control, dispatched statically.
        #[derive(Debug, Clone)]
        pub enum Control {
            $($($machine($held),)+)+
            /// A congestion control with HyStart++ in front.
            PlusPlus(Box<PlusPlus<Control>>),
            Coupled(Box<Coupled>),
            External(Box<External>),
        }
        machine! { $($($machine($held),)+)+ PlusPlus(Box<PlusPlus<Control>>), Coupled(Box<Coupled>), External(Box<External>), }

        /// Parameters of the congestion controls.
        pub mod configs {
            $(pub use super::$module::$config;)+
        }

        pub const MODELS: &[Model] = &[$($module::MODEL,)+ hystart::MODEL, bbr::ns3::MODEL, coupled::MODEL, external::MODEL];
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
/// Evaluates an expression for the controller inside a [`Control`], whatever its type.
macro_rules! each {
    ($control:expr, $machine:ident => $call:expr) => { congestion_controls!(machines [$control, $machine => $call]) };
}

impl Control {
    /// Creates the controller of a connection. `mss`: payload of a full segment in bytes.
    /// `initial_window`: in segments. `random`: the flow's own random stream.
    pub fn new(config: &CongestionControl, mss: u32, initial_window: u32, random: Stream) -> Self {
        config.start(Opening { mss, initial_window, random })
    }
    pub fn uses_samples(&self) -> bool {
        self.owns_window()
    }
}

/// Dispatches to the controller inside. See [`Controller`] for the methods.
impl Controller for Control {
    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        each!(self, c => c.on_ack(window, ack));
    }
    fn on_loss(&mut self, window: &Window, now: u64) -> u32 {
        each!(self, c => c.on_loss(window, now))
    }
    fn on_ecn(&mut self, window: &Window, now: u64) -> u32 {
        each!(self, c => c.on_ecn(window, now))
    }
    fn on_loss_after_echo(&mut self, window: &Window) -> Option<u32> {
        each!(self, c => c.on_loss_after_echo(window))
    }
    fn on_timeout(&mut self, window: &Window, now: u64) -> u32 {
        each!(self, c => c.on_timeout(window, now))
    }
    fn on_flow(&mut self, to: u32, deadline: Option<u64>) {
        each!(self, c => c.on_flow(to, deadline));
    }
    fn on_progress(&mut self, una: u32, round_trip: u64) {
        each!(self, c => c.on_progress(una, round_trip));
    }
    fn on_flight(&mut self, flight: u32) {
        each!(self, c => c.on_flight(flight));
    }
    fn on_window_set(&mut self) {
        each!(self, c => c.on_window_set());
    }
    #[inline(always)]
    fn on_state(&mut self, state: State, window: &mut Window, now: u64) {
        each!(self, c => c.on_state(state, window, now));
    }
    fn on_restart(&mut self, now: u64, idle: u64) {
        each!(self, c => c.on_restart(now, idle));
    }
    fn owns_window(&self) -> bool {
        each!(self, c => c.owns_window())
    }
    fn on_established(&mut self, window: &Window, now: u64, rtt: u64) {
        each!(self, c => c.on_established(window, now, rtt));
    }
    fn on_sample(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        sample: &Sample,
        sampler: &mut Sampler,
    ) {
        each!(self, c => c.on_sample(window, ack, sample, sampler));
    }
    fn on_segment_lost(&mut self, window: &Window, now: u64, lost: &Lost, sampler: &Sampler) {
        each!(self, c => c.on_segment_lost(window, now, lost, sampler));
    }
    fn on_undo(&mut self, window: &Window, sampler: &Sampler) -> Option<u32> {
        each!(self, c => c.on_undo(window, sampler))
    }
    fn burst(&self) -> u32 {
        each!(self, c => c.burst())
    }
    fn pacing_rate(&self) -> Option<u64> {
        each!(self, c => c.pacing_rate())
    }
    #[cfg(test)]
    fn details(&self) -> String {
        each!(self, c => c.details())
    }
}
