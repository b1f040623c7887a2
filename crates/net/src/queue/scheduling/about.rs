//! Queues of a port, how they are served, and what others have to know of each kind of scheduling.

use crate::Model;

/// What others have to know of a kind.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    pub served: Served,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// There is one queue.
    One,
    /// There is one, which a discipline serves, and drops from where it reaches its limit. Nothing else drops or marks, and it cannot be paused.
    Urgency,
    /// Several, the one of the highest priority first.
    Priorities,
    /// Several, the strict ones first, the others by shares.
    Shares(Share),
}

/// A key of a queue's block that says what it has of what the strict ones leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub key: &'static str,
    pub example: &'static str,
    /// All of them are percent of the whole.
    pub percent: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheduling {
    One,
    /// Highest `priority` first, FIFO within; `queues` from 2 to 8; priority p goes to queue `min(p, queues - 1)`.
    Priorities {
        queues: u8,
    },
    Classes(Classes),
}

/// Queues that are served by their own rules: the strict ones first, the highest before the others; then the rest in turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    /// The queue of each priority.
    pub of_priority: [u8; 8],
    /// 2 to 8 queues.
    pub service: Vec<Service>,
    /// Bytes per turn: for a weight of one, or for the queue with the least bandwidth.
    pub quantum: u32,
}

/// Weights and bandwidths do not occur together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    Strict,
    /// Deficit weighted round robin.
    Weight(u32),
    /// Percent of what the strict ones leave (IEEE 802.1Qaz).
    Bandwidth(u8),
}

impl Scheduling {
    /// How many queues a port has.
    pub fn queues(&self) -> u8 {
        match self {
            Scheduling::One => 1,
            Scheduling::Priorities { queues } => *queues,
            Scheduling::Classes(classes) => classes.service.len() as u8,
        }
    }

    /// The queue of each priority.
    pub fn of_priority(&self) -> [u8; 8] {
        match self {
            Scheduling::Classes(classes) => classes.of_priority,
            _ => std::array::from_fn(|priority| (priority as u8).min(self.queues() - 1)),
        }
    }
}
