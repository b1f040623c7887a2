//! Load balancing: selects one of the equal-cost next hops of a frame.
//!
//! Frames that are only hashed (ECMP) are forwarded without this module. Any other switch has a
//! [`Balancer`] that chooses for every data frame between different racks. Acknowledgements and
//! control frames are hashed, unless the balancer also selects their paths. A balancer sees its
//! switch as a [`Site`]. The ToR of a frame's source may *pin* the frame to a path
//! ([`Frame::pin`](crate::frame::Frame::pin)). The switches behind it follow that path.

mod conga;
mod conweave;
mod counters;
mod detail;
mod dlb;
mod dre;
mod drill;
mod ecmp;
mod flowlets;
mod glb;
mod letflow;
mod oblivious;
mod policy;
mod presto;
mod resilient;
mod round_robin;
mod shares;
mod site;
mod spray;
mod tag;
#[cfg(test)]
#[allow(dead_code, reason = "compiled so that copies of it compile")]
mod template;
mod wcmp;

pub use conweave::{ReorderMemory, ReorderQueues};
pub use counters::{BalanceCounters, ConweaveCounters, LateCounters};
pub use ecmp::{FourTuple, RouteHash, avalanche, ecmp};
pub use policy::{About, Choice, PathContext, Policy, Role};
pub use site::{End, Holding, Site};
pub use tag::Tag;

use crate::Model;
use crate::frame::Frame;
use afflux_config::tagged;
use afflux_config::tree::{Key, Wrong};
use oblivious::Oblivious;

/// The balancers. Each line gives a file (which is the name in scenarios), a type and the type of
/// its parameters. The first is the default.
macro_rules! balancers {
    ($with:ident $([$($more:tt)*])?) => {
        $with! { $([$($more)*])?
            /// One path per flow by hash (RFC 2992).
            ecmp Ecmp(EcmpConfig);
            /// Like `ecmp`, but if a next hop fails, only its own flows move (resilient hashing).
            resilient Resilient(ResilientConfig);
            /// By hash with unequal shares, also for acknowledgements (Zhou et al., EuroSys 2014).
            wcmp Wcmp(WcmpConfig);
            /// Every frame takes a random next hop, also acknowledgements.
            spray Spray(SprayConfig);
            /// Every frame takes the next hop whose turn it is, also acknowledgements.
            round_robin RoundRobin(RoundRobinConfig);
            /// Every data frame takes the least loaded of a few next hops (Ghorbani et al., SIGCOMM
            /// 2017).
            drill Drill(DrillConfig);
            /// Flowlets on random paths, chosen by the source's ToR (Vanini et al., NSDI 2017).
            letflow Letflow(LetflowConfig);
            /// Flowlets on the least congested path, chosen by the source's ToR (Alizadeh et al.,
            /// SIGCOMM 2014).
            conga Conga(CongaConfig);
            /// Flowlets or frames take the port of best quality (dynamic load balancing, adaptive
            /// routing and switching of switch ASICs).
            dlb Dlb(DlbConfig);
            /// Like `dlb`; in addition, next hops report the state of their links to ToRs (global
            /// load balancing). All switches need it.
            glb Glb(GlbConfig);
            /// Every frame takes a port with few waiting bytes ahead of it, also acknowledgements
            /// (Zats et al., SIGCOMM 2012).
            detail Detail(DetailConfig);
            /// Pieces of flows over all paths in turn, from the source's ToR (He et al., SIGCOMM
            /// 2015).
            presto Presto(PrestoConfig);
            /// Rerouting at the source's ToR, reordering at the destination's ToR (Song et al.,
            /// SIGCOMM 2023).
            conweave Conweave(ConweaveConfig);
        }
    };
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident($config:ident);)+) => {
        tagged! {
            /// Choice among equal-cost next hops: a name, or a table with `kind` and parameters.
            /// Acknowledgements and control frames are hashed unless a kind says otherwise. Traffic
            /// within a rack is not affected.
            #[schemars(rename = "Balance")]
            pub enum BalanceKeys, default "kind" {
                $($(#[doc = $doc])* $module $name($module::Keys),)+
            }
        }

        impl BalanceKeys {
            /// Checks the given keys and fills in the defaults of the others. `key` is the position
            /// of the table.
            pub fn resolve(&mut self, key: &Key, context: &PathContext<'_>) -> Result<Balance, Wrong> {
                match self {
                    $(BalanceKeys::$name(keys) => keys.resolve(key, context).map(Balance::$name),)+
                }
            }
        }

        /// A balancer and its parameters.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Balance {
            $($(#[doc = $doc])* $name($module::$config),)+
        }

        impl Balance {
            pub const ALL: &[About] = &[$($module::ABOUT),+];

            /// Returns the name of the balancer in scenarios.
            pub fn name(&self) -> &'static str {
                self.about().model.name
            }
            pub fn about(&self) -> &'static About {
                match self {
                    $(Balance::$name(_) => &$module::ABOUT,)+
                }
            }
            /// See [`Policy::holds_charged`].
            pub fn holds_charged(&self) -> bool {
                match self {
                    $(Balance::$name(config) => <$module::$name as Policy>::holds_charged(config),)+
                }
            }
            /// See [`Policy::header`].
            pub fn header(&self) -> u16 {
                match self {
                    $(Balance::$name(config) => <$module::$name as Policy>::header(config),)+
                }
            }
            /// See [`Policy::unused`].
            pub fn unused(&self) -> Option<(&'static str, &'static str)> {
                match self {
                    $(Balance::$name(config) => <$module::$name as Policy>::unused(config),)+
                }
            }
            /// See [`Policy::needs_ports`].
            pub fn needs_ports(&self) -> bool {
                match self {
                    $(Balance::$name(config) => <$module::$name as Policy>::needs_ports(config),)+
                }
            }
        }

        /// State of the balancer of one switch. Calls are dispatched statically.
        pub enum Balancer {
            $($name($module::$name),)+
        }

        /// Parameters of the balancers.
        pub mod configs {
            $(pub use super::$module::$config;)+
        }

        pub const MODELS: &[Model] = &[$($module::MODEL,)+ ecmp::MURMUR3];
    };
}
balancers!(registry);

impl Default for BalanceKeys {
    fn default() -> Self {
        BalanceKeys::Ecmp(ecmp::Keys::default())
    }
}
impl Default for Balance {
    fn default() -> Self {
        Balance::Ecmp(ecmp::EcmpConfig {})
    }
}

macro_rules! machines {
    ([$balancer:expr, $machine:ident => $call:expr] $($(#[$doc:meta])* $module:ident $name:ident($config:ident);)+) => {
        match $balancer {
            $(Balancer::$name($machine) => $call,)+
        }
    };
}
/// Evaluates an expression for the policy inside a [`Balancer`], whatever its type.
macro_rules! each {
    ($balancer:expr, $machine:ident => $call:expr) => { balancers!(machines [$balancer, $machine => $call]) };
}

/// Dispatches to the policy inside. See [`Policy`] for the methods.
impl Balancer {
    pub fn of(balance: &Balance, ports: &[Option<u64>]) -> Balancer {
        macro_rules! start {
            ($($(#[$doc:meta])* $module:ident $name:ident($config:ident);)+) => {
                match balance {
                    $(Balance::$name(config) => Balancer::$name(<$module::$name as Policy>::new(config, ports)),)+
                }
            };
        }
        balancers!(start)
    }
    #[inline(always)]
    pub fn selects_path(&self, frame: &Frame) -> bool {
        each!(self, b => b.selects_path(frame))
    }
    #[inline(always)]
    pub fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        role: Role,
        hops: &[u16],
    ) -> Choice {
        each!(self, b => b.choose(site, frame, role, hops))
    }
    pub fn on_control_frame(&mut self, site: &mut impl Holding, frame: &Frame, tag: Tag) {
        each!(self, b => b.on_control_frame(site, frame, tag));
    }
    pub fn on_wake(&mut self, site: &mut impl Holding, key: u32) {
        each!(self, b => b.on_wake(site, key));
    }
    #[inline(always)]
    pub fn oblivious(&mut self) -> Option<&mut Oblivious> {
        each!(self, b => b.oblivious())
    }
    pub fn leaves_transit(&self) -> bool {
        each!(self, b => b.leaves_transit())
    }
    pub fn reorder_queues(&self) -> Option<&ReorderQueues> {
        each!(self, b => b.reorder_queues())
    }
    /// Returns the number of held frames and their bytes.
    pub fn held(&self) -> (u64, u64) {
        self.reorder_queues().map_or((0, 0), |queues| (queues.frames, queues.bytes))
    }
    /// Returns the held frames that occupy the switch's memory.
    pub fn charged(&self) -> impl Iterator<Item = &Frame> {
        let charged = each!(self, b => b.is_charged());
        self.reorder_queues().filter(|_| charged).into_iter().flat_map(|queues| queues.held())
    }
}

/// Extends a path's number by the decision of one switch. The number is a hash of the switches'
/// decisions in order, so equal paths have equal numbers.
#[inline]
pub fn path_step(number: u32, node: u32, port: u16) -> u32 {
    let mut x = number.rotate_left(7)
        ^ node.wrapping_mul(0x9e37_79b1)
        ^ (port as u32 + 1).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x ^ (x >> 15)
}
