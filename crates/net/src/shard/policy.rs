//! What a queue may hold and what it marks, where the queues of a switch are not alike.

use super::Node;
use crate::queue::Verdict;
use crate::queue::buffer::{Buffer, QueueView, StaticLimit};
use crate::queue::marking::Red;
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

    fn admit(&self, view: QueueView, size: u64, used: u64, exact: bool) -> Option<Verdict> {
        match self.limit.as_ref().map(|limit| limit.admit(view, size)) {
            None | Some(Verdict::Admit) => self.buffer.admit(view, size, used, exact),
            refusal => refusal,
        }
    }
}

impl Node {
    /// May a frame of `size` bytes join `queue`? With `exact` the node's memory in use is no upper bound but the truth.
    #[inline(always)]
    pub fn admit(&self, queue: usize, view: QueueView, size: u64, exact: bool) -> Option<Verdict> {
        match &self.own {
            None => self.buffer.admit(view, size, self.used, exact),
            Some(own) => self.admit_by(own, queue, view, size, exact),
        }
    }

    #[cold]
    #[inline(never)]
    fn admit_by(&self, own: &[Policy], queue: usize, view: QueueView, size: u64, exact: bool) -> Option<Verdict> {
        own[queue].admit(view, size, self.used, exact)
    }

    #[inline(always)]
    pub fn marking(&self, queue: usize) -> Option<&Red> {
        match &self.own {
            None => self.marking.as_ref(),
            Some(own) => marking_by(own, queue),
        }
    }
}

#[cold]
#[inline(never)]
fn marking_by(own: &[Policy], queue: usize) -> Option<&Red> {
    own[queue].marking.as_ref()
}
