//! Configuration of a port's queues and schedulers, and properties of schedulers that other modules
//! need.

use crate::Model;

/// Properties of a scheduler that other modules need.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    pub served: Served,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// The port has one queue.
    One,
    /// The port has one queue, which a discipline serves, and drops from when it reaches its limit.
    /// Nothing else drops or marks frames. The queue cannot be paused.
    Urgency,
    /// The port has several queues, the one of the highest priority first.
    Priorities,
    /// The port has several queues: strict queues first, the others by shares.
    Shares(Share),
}

/// Key of a queue's block that gives the queue's share of the bandwidth that strict queues leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub key: &'static str,
    pub example: &'static str,
    /// True if all shares are percent of the whole.
    pub percent: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheduling {
    One,
    /// The highest `priority` first, FIFO within a priority. `queues` is 2 to 8; priority p uses
    /// queue `min(p, queues - 1)`.
    Priorities {
        queues: u8,
    },
    Classes(Classes),
}

/// Queues with service rules of their own. The strict ones come first, the highest before the
/// others; then the rest in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    /// Queue of each priority.
    pub of_priority: [u8; 8],
    /// Service rule of each queue, 2 to 8 queues.
    pub service: Vec<Service>,
    /// Bytes per turn, for a weight of one or for the queue with the least bandwidth.
    pub quantum: u32,
}

/// Service rule of a queue. Weights and bandwidths do not occur together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    Strict,
    /// Deficit weighted round robin, with this weight.
    Weight(u32),
    /// Percent of the bandwidth that the strict queues leave (IEEE 802.1Qaz).
    Bandwidth(u8),
}

impl Scheduling {
    /// Returns the number of queues of a port.
    pub fn queues(&self) -> u8 {
        match self {
            Scheduling::One => 1,
            Scheduling::Priorities { queues } => *queues,
            Scheduling::Classes(classes) => classes.service.len() as u8,
        }
    }

    /// Returns the queue of each priority.
    pub fn of_priority(&self) -> [u8; 8] {
        match self {
            Scheduling::Classes(classes) => classes.of_priority,
            _ => std::array::from_fn(|priority| (priority as u8).min(self.queues() - 1)),
        }
    }
}
