//! Queue disciplines that control delay. Each is a pure state machine: it receives arrivals and
//! departures and returns verdicts. The port acts on them: it holds the frames (except for
//! disciplines with queues of their own), counts and drops. The module also has pFabric's queue,
//! which drops and serves frames by urgency, and NDP's queue, which trims frames.

mod codel;
mod ecn_sharp;
pub(super) mod fq_codel;
pub(super) mod pfabric;
mod phantom;
mod pi2;
mod pie;
mod policy;
#[cfg(test)]
#[allow(dead_code, reason = "compiled so that copies of it compile")]
mod template;
pub mod trim;

pub use policy::{About, Policy, QueueTag, Site, take_class};
pub use trim::Keys as TrimKeys;

use crate::Model;
use crate::spec::Limit;
use afflux_config::merged;
use afflux_config::tree::{Key, Wrong};
use afflux_engine::random::Stream;

/// The disciplines that `[switch.aqm]` names. Each line gives a file (which is the name in
/// scenarios), a type and the type of its parameters.
macro_rules! disciplines {
    ($with:ident) => {
        $with! {
            /// CoDel (RFC 8289): drops or marks at the head once the delay has exceeded a target
            /// for an interval.
            codel Codel(CodelConfig);
            /// FQ-CoDel (RFC 8290): flows by hash, deficit round robin among them, CoDel on each.
            /// Needs `scheduling = "fifo"`.
            fq_codel FqCodel(FqCodelConfig);
            /// PIE (RFC 8033): drops or marks arrivals with a probability that keeps the delay at a
            /// target.
            pie Pie(PieConfig);
            /// PI²: a linear controller whose output is squared for classic traffic (De Schepper et
            /// al., CoNEXT 2016; RFC 9332, appendix A).
            pi2 Pi2(Pi2Config);
            /// ECN#: marks frames that have waited for long, and a few frames of a queue that never
            /// becomes short (Zhang et al., CoNEXT 2019).
            ecn_sharp EcnSharp(EcnSharpConfig);
            /// HULL's phantom queue: a counter of departed bytes, drained more slowly than the link
            /// sends, decides which frames are marked.
            phantom Phantom(PhantomConfig);
        }
    };
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident($config:ident);)+) => {
        merged! {
            /// A queue discipline that drops or marks frames by their delay, or a phantom queue,
            /// which only marks.
            pub enum AqmKeys as "Aqm", AqmKind, INSTEAD; {
                $($(#[doc = $doc])* $module $name($module::Keys),)+
            }
        }

        impl AqmKeys {
            /// Checks the given keys and fills in the defaults of the others. `key` is the position
            /// of the table.
            pub fn resolve(&mut self, key: &Key) -> Result<Config, Wrong> {
                match self {
                    $(AqmKeys::$name(keys) => keys.resolve(key).map(Config::$name),)+
                }
            }
        }

        /// A discipline and its parameters.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Config {
            $($(#[doc = $doc])* $name($module::$config),)+
            /// pFabric: serves the most urgent flow first and drops the least urgent frame when the
            /// queue reaches this limit. The buffer has no limit in this case.
            Pfabric(Option<Limit>),
            /// Trimming: cuts data frames to headers when their queue is full. The buffer has no
            /// limit in this case.
            Trim(trim::TrimConfig),
        }

        impl Config {
            pub fn about(&self) -> About {
                match self {
                    $(Config::$name(config) => $module::$name::about(config),)+
                    Config::Pfabric(limit) => pfabric::Pfabric::about(limit),
                    Config::Trim(config) => trim::Trim::about(config),
                }
            }
        }

        /// Creates the discipline of one queue.
        pub fn policy(config: &Config, site: Site, stream: &mut Stream) -> Box<dyn Policy> {
            match config {
                $(Config::$name(config) => Box::new(<$module::$name as Policy>::new(config, site, stream)),)+
                Config::Pfabric(limit) => Box::new(<pfabric::Pfabric as Policy>::new(limit, site, stream)),
                Config::Trim(config) => Box::new(<trim::Trim as Policy>::new(config, site, stream)),
            }
        }

        /// Parameters of the disciplines.
        pub mod configs {
            pub use super::trim::TrimConfig;
            $(pub use super::$module::$config;)+
        }

        pub const MODELS: &[Model] = &[$($module::MODEL,)+ trim::MODEL];
    };
}
disciplines!(registry);

/// Keys that disciplines do not have, each with the hint that an error message gives.
const INSTEAD: &[(&str, &str)] = &[(
    "limit",
    "the limit of its queue is the switch's buffer, as in sharing = \"static\" and buffer = \"1000packets\"",
)];
