//! Which queue of a port sends next.

pub mod about;
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

/// What `scheduling` names, one line for each: its file and name in scenarios, and the same in camel case.
macro_rules! schedulings {
    ($with:ident) => {
        $with! {
            /// First in, first out.
            fifo Fifo;
            /// Highest priority first, first in, first out within.
            strict_priority StrictPriority;
            /// Strict queues first, then the others by weight (deficit weighted round robin).
            dwrr Dwrr;
            /// Strict queues first, then the others by percentage (enhanced transmission selection, IEEE 802.1Qaz).
            ets Ets;
            /// pFabric: the flow with the fewest bytes left first, in order; where the queue reaches its limit (a switch's `sharing = "static"` and
            /// `buffer`, a host's `queue`), the frame with the most left is dropped.
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
    /// As a key that says so.
    pub fn word(self) -> String {
        format!("scheduling = \"{}\"", self.about().model.name)
    }

    /// The name of the kind that serves queues so.
    pub fn named(served: Served) -> &'static str {
        Kind::ALL.iter().map(|kind| kind.about()).find(|about| about.served == served).map_or("", |about| about.model.name)
    }

    pub fn is_urgent(self) -> bool {
        self.about().served == Served::Urgency
    }

    /// What serves and drops by urgency.
    pub fn discipline(self, limit: Option<Limit>) -> Option<Config> {
        (self == Kind::Pfabric).then_some(Config::Pfabric(limit))
    }
}

/// Queues that take turns, whoever is highest.
#[derive(Debug, Clone)]
pub enum Turns {
    /// Several ingress cores share the port.
    Cores(Cores),
    /// Queues by weight or bandwidth.
    Weighted(Weighted),
}

impl Turns {
    /// None where the highest queue goes first.
    pub fn of(scheduling: &Scheduling) -> Option<Turns> {
        Weighted::of(scheduling).map(Turns::Weighted)
    }

    /// Has even a frame that finds the port idle to have its turn?
    pub fn decide_at_start(&self) -> bool {
        match self {
            Turns::Weighted(_) => true,
            Turns::Cores(cores) => cores.credits().is_some() || cores.has_classes(),
        }
    }

    /// Credits that can run out.
    pub fn credits(&self) -> Option<&Credits> {
        match self {
            Turns::Weighted(_) => None,
            Turns::Cores(cores) => cores.credits(),
        }
    }

    /// The same, to change something about them.
    pub fn credits_mut(&mut self) -> Option<&mut Credits> {
        match self {
            Turns::Weighted(_) => None,
            Turns::Cores(cores) => cores.credits_mut(),
        }
    }

    /// A frame that finds the port idle leaves at once.
    #[cold]
    pub fn send_at_once(&mut self, queue: usize, size: u16) {
        match self {
            Turns::Cores(cores) => cores.send_at_once(queue, size),
            Turns::Weighted(_) => unreachable!("it has to have its turn"),
        }
    }

    /// A frame of `queue` has come, is in transmission from `at`, or has been dropped: for credits that can run out.
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

    /// What was to be sent from the head of `queue` has been dropped instead; `queues` still count it.
    #[cold]
    pub fn give_back(&mut self, queues: &[Queue], queue: usize, bytes: u64) {
        match self {
            Turns::Cores(cores) => cores.give_back(queues, queue, bytes),
            Turns::Weighted(weighted) => weighted.give_back(queue, bytes, queues[queue].count == 1),
        }
    }
}
