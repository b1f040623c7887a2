//! Limit and marking of one queue, for switches whose queues differ.

use crate::queue::buffer::{Buffer, StaticLimit};
use crate::queue::marking::Red;
use crate::queue::{QueueView, Verdict};
use crate::spec::{self, Compare, QueueConfig};

pub struct Policy {
    buffer: Buffer,
    limit: Option<StaticLimit>,
    pub marking: Option<Red>,
}

impl Policy {
    pub fn new(config: &QueueConfig) -> Self {
        Policy {
            // Virtual output queues have their own rules for memory.
            buffer: if matches!(config.buffer, spec::Buffer::Voq(_)) {
                Buffer::Unlimited
            } else {
                Buffer::new(&config.buffer, &[], 1)
            },
            limit: config.limit.map(|limit| StaticLimit { limit, drop_when: Compare::Above }),
            marking: config.marking.as_ref().map(Red::new),
        }
    }

    /// True if the queue would exceed its own limit with a frame of `size` bytes.
    pub fn exceeds_limit(&self, view: QueueView, size: u64) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.admit(view, size) != Verdict::Admit)
    }

    pub fn admit(&self, view: QueueView, size: u64, used: u64, exact: bool) -> Option<Verdict> {
        match self.limit.as_ref().map(|limit| limit.admit(view, size)) {
            None | Some(Verdict::Admit) => self.buffer.admit(view, size, used, exact),
            refusal => refusal,
        }
    }
}
