//! Queue disciplines that control delay: pure state machines, which are told of arrivals and departures and answer with verdicts. The
//! port acts: it holds the frames (but for disciplines that have queues of their own), counts, and drops. Beside them pFabric's queue, which drops
//! and serves by urgency, and NDP's, which trims.

mod codel;
pub(super) mod fq_codel;
pub(super) mod pfabric;
mod phantom;
mod pi2;
mod pie;
mod policy;
mod trim;

pub use pfabric::Order;
pub use policy::{About, Hint, Policy, Site, take_class};
pub use trim::Keys as TrimKeys;

use crate::Model;
use crate::spec::Limit;
use afflux_config::merged;
use afflux_config::tree::{Key, Wrong};
use afflux_engine::random::Stream;

/// The disciplines that `[switch.aqm]` names, one line for each: its file and name in scenarios, its name and its parameters here.
macro_rules! disciplines {
    ($with:ident) => {
        $with! {
            /// RFC 8289.
            codel Codel(CodelConfig);
            /// RFC 8290: flows by hash, deficit round robin, CoDel on each; needs `scheduling = "fifo"`.
            fq_codel FqCodel(FqCodelConfig);
            /// RFC 8033.
            pie Pie(PieConfig);
            /// A linear controller and a square (De Schepper et al., CoNEXT 2016; RFC 9332, appendix A).
            pi2 Pi2(Pi2Config);
            /// HULL: a counter of what leaves, drained more slowly than the link sends, marks.
            phantom Phantom(PhantomConfig);
        }
    };
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident($config:ident);)+) => {
        merged! {
            /// A queue discipline that drops, or marks, by delay; or a phantom queue, which marks.
            pub enum AqmKeys as "Aqm", AqmKind, INSTEAD; {
                $($(#[doc = $doc])* $module $name($module::Keys),)+
            }
        }

        impl AqmKeys {
            /// Checks the keys that are written, and writes the defaults of the others down. The table stands at `key`.
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
            /// The most urgent flow first; the least urgent frame is dropped where this limit is reached. The buffer has none then.
            Pfabric(Option<Limit>),
            /// Cuts data to headers where they find their queue full. The buffer has no limit then.
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

        /// The discipline of one queue.
        pub fn policy(config: &Config, site: Site, stream: &mut Stream) -> Box<dyn Policy> {
            match config {
                $(Config::$name(config) => Box::new(<$module::$name as Policy>::new(config, site, stream)),)+
                Config::Pfabric(limit) => Box::new(<pfabric::Pfabric as Policy>::new(limit, site, stream)),
                Config::Trim(config) => Box::new(<trim::Trim as Policy>::new(config, site, stream)),
            }
        }

        /// Their parameters.
        pub mod configs {
            pub use super::trim::TrimConfig;
            $(pub use super::$module::$config;)+
        }

        pub const MODELS: &[Model] = &[$($module::MODEL,)+ trim::MODEL];
    };
}
disciplines!(registry);

/// What to write instead of a key that a discipline does not have.
const INSTEAD: &[(&str, &str)] = &[("limit", "the limit of its queue is the switch's buffer, as in sharing = \"static\" and buffer = \"1000packets\"")];
