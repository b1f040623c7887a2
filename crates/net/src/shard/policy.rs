//! What a queue may hold and what it marks, where the queues of a switch are not alike.

use crate::queue::buffer::{Buffer, StaticLimit};
use crate::queue::marking::Red;
use crate::queue::{QueueView, Verdict};
use crate::spec::{Compare, QueueConfig};

pub struct Policy {
    buffer: Buffer,
    limit: Option<StaticLimit>,
    pub marking: Option<Red>,
}

impl Policy {
    pub fn new(config: &QueueConfig) -> Self {
        Policy {
            // Only virtual output queues ask for rates and queues; they have no policies of their own.
            buffer: Buffer::new(&config.buffer, &[], 1),
            limit: config.limit.map(|limit| StaticLimit { limit, drop_when: Compare::Above }),
            marking: config.marking.as_ref().map(Red::new),
        }
    }

    pub fn admit(&self, view: QueueView, size: u64, used: u64, exact: bool) -> Option<Verdict> {
        match self.limit.as_ref().map(|limit| limit.admit(view, size)) {
            None | Some(Verdict::Admit) => self.buffer.admit(view, size, used, exact),
            refusal => refusal,
        }
    }
}
