//! Requirements of transports on hosts, queues and paths. Validation refuses scenarios that cannot
//! meet them, and warns of settings that have no effect.

use crate::queue::aqm::QueueTag;
use crate::spec::Pauses;

/// Requirements of a configured transport. The default is a transport that requires nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Requirements {
    pub ecn: Ecn,
    /// Setting that uses deadlines, and the behaviour if no flow has one.
    pub deadlines: Option<Setting>,
    pub paths: Paths,
    pub hash: Hash,
    /// Hint that data frames carry for queues, and the warning if no queue uses it.
    pub queue_tag: Option<(QueueTag, &'static str)>,
    /// `None`: the transport works with and without PFC.
    pub pauses: Option<Pauses>,
    pub timing: HostTiming,
    /// Priority of acknowledgements; `None`: that of the data.
    pub ack_priority: Option<u8>,
}

/// A setting of the scenario, and a word or sentence about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static str,
    pub text: &'static str,
}

/// Use of explicit congestion notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ecn {
    pub capable: Capable,
    /// True if the sender reacts to marks. Datagrams count too: whoever makes them ECN-capable
    /// wants to see the marks.
    pub reacts: bool,
    /// True if connections agree on ECN when they begin, so that hosts can refuse it.
    pub negotiated: bool,
    /// Settings with which the sender reacts to marks; `None`: there are none.
    pub cure: Option<&'static str>,
    /// Setting that does not work without marks, and the name of the mechanism.
    pub marks: Option<Setting>,
    /// True if the pacer of the host delays the data frames.
    pub paced: bool,
}

/// Data frames that are ECN-capable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Capable {
    #[default]
    None,
    /// All, if both hosts use ECN.
    IfAgreed,
    All,
}

/// Requirements on the paths of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paths {
    /// All frames of a flow take one path.
    pub one: bool,
    /// Replies return on the path of the data.
    pub symmetric: bool,
    /// Largest number of links on a path that the headers of frames have room for.
    pub links: Option<u32>,
    /// Key by which a flow has several connections (MPTCP's subflows).
    pub subflows: Option<&'static str>,
    /// Setting that is useless if there is only one path, its effect in that case, and a cure.
    pub several: Option<(Setting, &'static str)>,
}

/// Meaning of the hash on the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hash {
    /// The hash chooses the path, and the transport reads it.
    #[default]
    Read,
    /// The hash only chooses the path.
    Path,
    /// The sender chooses a hash for each frame, so that switches that choose paths by hash spread
    /// the frames of a flow over all paths. The setting that asks for it, and its value.
    PerFrame(Setting),
    /// The sender chooses a hash for each frame, and works also if switches ignore it. The setting
    /// that asks for it, and the one that does not.
    PerFrameIfFollowed(Setting),
}

/// Timing model of a host's network stack that a transport is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostTiming {
    /// Idealized model without host delays.
    #[default]
    Exact,
    /// Kernel stack with interrupts and softirqs.
    Kernel,
    /// Network card that sends without the kernel (RDMA).
    Nic,
    /// Takes the timing of the other transports in the scenario.
    Any,
}

impl Requirements {
    /// True if the sender chooses the path of each frame by its hash.
    pub fn chooses_paths(&self) -> bool {
        matches!(self.hash, Hash::PerFrame(_) | Hash::PerFrameIfFollowed(_))
    }

    /// True if data frames are ECN-capable. `agreed`: both hosts use ECN.
    pub fn is_capable(&self, agreed: bool) -> bool {
        match self.ecn.capable {
            Capable::None => false,
            Capable::IfAgreed => agreed,
            Capable::All => true,
        }
    }

    /// True if data frames are ECN-capable and the sender reacts to marks.
    pub fn reacts_to_marks(&self, agreed: bool) -> bool {
        self.ecn.reacts && self.is_capable(agreed)
    }
}
