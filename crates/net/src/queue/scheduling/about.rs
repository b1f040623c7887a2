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

    /// Returns for each priority the bit set of the queues whose frames precede a new frame of that
    /// priority: see [`Classes::precedes`].
    pub fn preceding(&self) -> [u8; 8] {
        let of_priority = self.of_priority();
        std::array::from_fn(|priority| match self {
            Scheduling::One => u8::MAX,
            Scheduling::Priorities { .. } => u8::MAX << of_priority[priority],
            Scheduling::Classes(classes) => {
                let queues = 0..classes.service.len() as u8;
                let before = queues.filter(|queue| classes.precedes(*queue, priority));
                before.fold(0, |all, queue| all | 1 << queue)
            }
        })
    }
}

impl Classes {
    /// True if the frames of `queue` precede a new frame of `priority`. These are the frames of its
    /// own queue, of strict queues that are served before it, and, if its queue has a share, of
    /// other queues with shares that have higher priorities only. Numbers of queues need not follow
    /// priorities.
    fn precedes(&self, queue: u8, priority: usize) -> bool {
        let own = self.of_priority[priority];
        let is_strict = |queue: u8| self.service[usize::from(queue)] == Service::Strict;
        match (is_strict(queue), is_strict(own)) {
            _ if queue == own => true,
            (true, true) => queue > own,
            (true, false) => true,
            (false, true) => false,
            (false, false) => self.of_priority.iter().position(|of| *of == queue) > Some(priority),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same rules of service precede the same priorities, in whatever order the queues are
    /// numbered.
    #[test]
    fn what_precedes_a_priority_does_not_depend_on_numbers() {
        let preceding = |of_priority, service: &[Service]| {
            let service = service.to_vec();
            Scheduling::Classes(Classes { of_priority, service, quantum: 1_500 }).preceding()
        };
        let (shared, strict) = (Service::Weight(1), Service::Strict);
        let bits = preceding([0, 0, 0, 0, 0, 1, 0, 0], &[shared, strict]);
        assert_eq!((bits[0], bits[5]), (0b11, 0b10));
        let bits = preceding([1, 1, 1, 1, 1, 0, 1, 1], &[strict, shared]);
        assert_eq!((bits[0], bits[5]), (0b11, 0b01));
        // The strict queue with the highest number is first, whatever its priorities.
        let bits = preceding([1, 0, 0, 0, 0, 0, 0, 0], &[strict, strict]);
        assert_eq!((bits[0], bits[1]), (0b10, 0b11));
        // The queue of priorities 4 to 7 precedes the other queue with a share.
        let bits = preceding([1, 1, 1, 1, 0, 0, 0, 0], &[shared, shared]);
        assert_eq!((bits[0], bits[4]), (0b11, 0b01));
        let bits = preceding([0, 0, 0, 0, 1, 1, 1, 1], &[shared, shared]);
        assert_eq!((bits[0], bits[4]), (0b11, 0b10));
        // Priorities without a queue of their own are in queue 0.
        let bits = preceding([0, 1, 0, 0, 0, 0, 0, 0], &[shared, shared]);
        assert_eq!((bits[0], bits[1]), (0b11, 0b10));
        let bits = preceding([1, 0, 0, 0, 0, 0, 0, 0], &[shared, shared]);
        assert_eq!((bits[0], bits[1]), (0b11, 0b01));
        let bits = Scheduling::Priorities { queues: 3 }.preceding();
        assert_eq!(bits.map(|bits| bits & 0b111), [7, 6, 4, 4, 4, 4, 4, 4]);
    }
}
