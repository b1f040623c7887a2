//! Scheduling of a port: selects the queue that sends next.

pub mod about;
pub mod blocks;
mod cores;
mod credits;
mod dwrr;
mod ets;
mod fifo;
mod limits;
mod strict_priority;

pub use cores::Cores;
pub use credits::Credits;
pub use dwrr::Weighted;
pub use limits::Limits;

use super::aqm::{Config, pfabric};
use super::class::Queue;
use crate::Model;
use crate::spec::Limit;
use about::{About, Scheduling, Served};
use afflux_config::words;

/// The schedulers that `scheduling` names. Each line gives a file (which is the name in scenarios)
/// and the same name in camel case.
macro_rules! schedulings {
    ($with:ident) => {
        $with! {
            /// One queue, first in, first out.
            fifo Fifo;
            /// Highest priority first; first in, first out within a priority.
            strict_priority StrictPriority;
            /// Strict queues first, then the others by weight (deficit weighted round robin).
            dwrr Dwrr;
            /// Strict queues first, then the others by percentage (enhanced transmission selection,
            /// IEEE 802.1Qaz).
            ets Ets;
            /// pFabric: the flow with the fewest remaining bytes first, its frames in order. If the
            /// queue reaches its limit (a switch's `sharing = "static"` and `buffer`, a host's
            /// `queue`), the frame with the most remaining bytes is dropped.
            pfabric Pfabric;
        }
    };
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident;)+) => {
        words! {
            /// How a port chooses the next frame.
            #[schemars(rename = "Scheduling")]
            pub enum Kind {
                $($(#[doc = $doc])* $name,)+
            }
        }

        impl Kind {
            pub const ALL: &[Kind] = &[$(Kind::$name),+];

            pub fn about(self) -> &'static About {
                match self {
                    $(Kind::$name => &$module::ABOUT,)+
                }
            }
        }

        pub const MODELS: &[Model] = &[$($module::ABOUT.model),+];
    };
}
schedulings!(registry);

impl Kind {
    /// Returns the scenario key with this value.
    pub fn word(self) -> String {
        format!("scheduling = \"{}\"", self.about().model.name)
    }

    /// Returns the name of the scheduler that serves queues in this way.
    pub fn named(served: Served) -> &'static str {
        Kind::ALL
            .iter()
            .map(|kind| kind.about())
            .find(|about| about.served == served)
            .map_or("", |about| about.model.name)
    }

    pub fn is_pfabric(self) -> bool {
        self.about().served == Served::Urgency
    }

    /// Returns the queue discipline that implements this scheduler; `None` except for pFabric.
    pub fn discipline(self, limit: Option<Limit>) -> Option<Config> {
        (self == Kind::Pfabric).then_some(Config::Pfabric(limit))
    }
}

/// Schedulers in which queues take turns instead of the highest queue always sending first.
#[derive(Debug, Clone)]
pub enum Turns {
    /// Several ingress cores share the port.
    Cores(Cores),
    /// Queues share the port by weight or bandwidth.
    Weighted(Weighted),
}

impl Turns {
    /// Creates the scheduler; `None` if the highest queue always sends first.
    pub fn of(scheduling: &Scheduling) -> Option<Turns> {
        Weighted::of(scheduling).map(Turns::Weighted)
    }

    /// Returns the credits of the port, if they are limited.
    pub fn credits(&self) -> Option<&Credits> {
        match self {
            Turns::Weighted(_) => None,
            Turns::Cores(cores) => cores.credits(),
        }
    }

    /// Returns the credits of the port for changes, if they are limited.
    pub fn credits_mut(&mut self) -> Option<&mut Credits> {
        match self {
            Turns::Weighted(_) => None,
            Turns::Cores(cores) => cores.credits_mut(),
        }
    }

    /// Updates limited credits: a frame has joined `queue` (`joined`), is in transmission from `at`
    /// on (`sent`), or has been dropped (`dropped`).
    pub fn joined(&mut self, queue: usize, size: u16) {
        self.credits_mut().into_iter().for_each(|credits| credits.join(queue, size));
    }

    pub fn sent(&mut self, at: u64, queue: usize, size: u16) {
        self.credits_mut().into_iter().for_each(|credits| credits.sent(at, queue, size));
    }

    #[cold]
    pub fn dropped(&mut self, queue: usize, bytes: u64) {
        self.credits_mut().into_iter().for_each(|credits| credits.dropped(queue, bytes));
    }

    /// Returns the charge for the head of `queue`, which was dropped instead of sent. `queues`
    /// still count the frame.
    #[cold]
    pub fn give_back(&mut self, queues: &[Queue], queue: usize, bytes: u64) {
        match self {
            Turns::Cores(cores) => cores.give_back(queues, queue, bytes),
            Turns::Weighted(weighted) => weighted.give_back(queue, bytes, queues[queue].count == 1),
        }
    }
}
