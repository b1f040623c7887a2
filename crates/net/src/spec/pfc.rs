//! Priority flow control (IEEE 802.1Qbb).

use afflux_config::words;
use afflux_units::{Span, Time};

#[derive(Debug, Clone, PartialEq)]
pub struct Pfc {
    /// Lossless priorities, bit p for priority p.
    pub priorities: u8,
    pub headroom: Headroom,
    /// How long a PAUSE frame holds; a longer one is sent as 65535 quanta.
    pub pause: PauseTime,
    pub refresh: Refresh,
    /// From the arrival of a PAUSE frame to its effect, if not by the table of IEEE 802.3 annex 31B.
    pub response: Option<Span>,
    pub watchdog: Option<Watchdog>,
    /// A cycle of paused links that has lasted for so long is reported as a deadlock.
    pub deadlock_after: Option<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseTime {
    /// Of 512 bit times each.
    Quanta(u16),
    Time(Span),
}

words! {
    /// When a PAUSE frame is repeated.
    pub enum Refresh {
        /// When half of its time has passed, while the priority group is paused.
        #[serde(rename = "half")]
        AtHalf,
        /// With every frame that arrives while the group is above its threshold (ConWeave's ns-3).
        #[serde(rename = "arrival")]
        OnArrival,
    }
    /// Action of a watchdog in a storm.
    pub enum StormAction {
        /// The queue is emptied, and frames that arrive for it are dropped.
        Drop,
        /// PAUSE frames for the queue are ignored.
        Forward,
        /// The storm is only reported.
        Alert,
    }
}

/// Memory of a port and priority for what arrives after XOFF.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Headroom {
    Bytes(u64),
    /// By formula, from the port's rate, its cable and the largest frame.
    Formula {
        formula: Formula,
        cable: Cable,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// SONiC's `buffer_headroom_mellanox.lua`.
    Sonic,
    /// The Linux driver of Mellanox's adapters.
    Mellanox,
    Conweave,
    Hpcc,
    /// TU Berlin's ns-3.
    Tub,
    /// All that can arrive, whatever the frames.
    WorstCase,
}

/// Where the length of a cable comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cable {
    Metres(f64),
    /// From the link's delay, at 1.98e8 m/s.
    FromDelay,
}

/// SONiC's pfcwd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdog {
    pub detection: Span,
    pub restoration: Span,
    pub poll: Span,
    pub action: StormAction,
    /// Priorities that it watches, bit p for priority p.
    pub priorities: u8,
}

/// A host that tells its switch to stop sending, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storm {
    pub priority: u8,
    pub from: Time,
    pub until: Option<Time>,
    pub period: Span,
    pub pause: PauseTime,
}

/// What a transport expects of switches that pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    /// The key that says so.
    pub key: &'static str,
    /// They pause the priorities of its flows; otherwise they must not.
    pub needed: bool,
    /// They stop when they are told to.
    pub obeyed: bool,
    /// What to write where switches do otherwise.
    pub instead: &'static str,
}
