//! Specifies priority flow control (IEEE 802.1Qbb).

use afflux_config::words;
use afflux_units::{Span, Time};

#[derive(Debug, Clone, PartialEq)]
pub struct Pfc {
    /// Lossless priorities; bit p stands for priority p.
    pub priorities: u8,
    pub headroom: Headroom,
    /// Duration of a PAUSE frame. A longer duration is sent as 65535 quanta.
    pub pause: PauseTime,
    pub refresh: Refresh,
    /// Time from the arrival of a PAUSE frame to its effect; `None`: from the table of IEEE 802.3
    /// annex 31B.
    pub response: Option<Span>,
    pub watchdog: Option<Watchdog>,
    /// Time after which a cycle of paused links is reported as a deadlock.
    pub deadlock_after: Option<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseTime {
    /// Number of quanta of 512 bit times each.
    Quanta(u16),
    Time(Span),
}

words! {
    /// Condition for repeating a PAUSE frame.
    pub enum Refresh {
        /// Repeats when half of the pause time has passed, while the priority group is paused.
        #[serde(rename = "half")]
        AtHalf,
        /// Repeats with every frame that arrives while the group is above its threshold (ConWeave's
        /// ns-3).
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

/// Memory of a port and priority for frames that arrive after XOFF was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Headroom {
    Bytes(u64),
    /// Computed from the port's rate, its cable and the largest frame.
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
    /// Upper bound of the arriving bytes, for any mix of frame sizes.
    WorstCase,
}

/// Source of the length of a cable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cable {
    Metres(f64),
    /// Computed from the delay of the link, at 1.98e8 m/s.
    FromDelay,
}

/// Watchdog of SONiC (`pfcwd`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdog {
    pub detection: Span,
    pub restoration: Span,
    pub poll: Span,
    pub action: StormAction,
    /// Priorities that the watchdog checks; bit p stands for priority p.
    pub priorities: u8,
}

/// A PAUSE storm: a host sends PAUSE frames to its switch again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storm {
    pub priority: u8,
    pub from: Time,
    pub until: Option<Time>,
    pub period: Span,
    pub pause: PauseTime,
}

/// Requirements of a transport for switches that send or receive PAUSE frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    /// Key of the scenario that sets the requirement.
    pub key: &'static str,
    /// `true`: switches must pause the priorities of the transport's flows. `false`: switches must
    /// not pause them.
    pub needed: bool,
    /// True if switches must obey PAUSE frames.
    pub obeyed: bool,
    /// Advice for the error message if switches do not meet the requirement.
    pub instead: &'static str,
}
