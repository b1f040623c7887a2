//! Stores the flows that applications have started, in a list that only grows and never moves its
//! entries. All shards can read it while the applications' shard appends.

use crate::spec::{Flow, FlowId, Start};
use afflux_units::Time;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Properties of a flow to be started.
#[derive(Debug, Clone, Copy)]
pub struct NewFlow {
    pub src: u32,
    /// Destination host, different from `src`.
    pub dst: u32,
    /// Payload bytes, above zero.
    pub bytes: u64,
    /// Index into `Plan::transports`.
    pub transport: u16,
    pub class: u16,
    pub priority: u8,
    /// Index into the scenario's job names.
    pub job: u32,
}

/// Number of entries in the first chunk. Each further chunk has twice as many as the previous one.
const FIRST: usize = 1 << 10;
const CHUNKS: usize = 22;

#[derive(Debug)]
struct Started {
    flow: Flow,
    application: u16,
}

type Chunk = Box<[OnceLock<Started>]>;

#[derive(Debug)]
pub struct Flows {
    chunks: [OnceLock<Chunk>; CHUNKS],
    count: AtomicUsize,
    /// Number of the first flow, and its identifier in results.
    first: FlowId,
    first_id: i64,
}

/// Returns the chunk of an entry, and its place in the chunk.
fn place(index: usize) -> (usize, usize) {
    let chunk = ((index / FIRST) + 1).ilog2() as usize;
    (chunk, index - FIRST * ((1 << chunk) - 1))
}

impl Flows {
    /// Returns an empty list. Its flows are numbered after the `planned` ones.
    pub fn behind(planned: &[Flow]) -> Self {
        let first_id = planned.iter().map(|flow| flow.id + 1).max().unwrap_or(0).max(0);
        Flows {
            chunks: Default::default(),
            count: AtomicUsize::new(0),
            first: planned.len() as FlowId,
            first_id,
        }
    }

    /// Adds a flow. Only one thread may call this.
    pub fn push(&self, new: NewFlow, at: Time, application: u16) -> FlowId {
        let index = self.count.load(Ordering::Relaxed);
        let NewFlow { src, dst, bytes, transport, class, priority, job } = new;
        let id = self.first_id + index as i64;
        let flow = Flow {
            id,
            src,
            dst,
            bytes,
            start: Start::At(at),
            stop: Flow::ENDLESS,
            deadline: None,
            class,
            job,
            transport,
            group: None,
            connection: None,
            priority,
        };
        let (chunk, place) = place(index);
        let chunk = self.chunks[chunk]
            .get_or_init(|| (0..FIRST << chunk).map(|_| OnceLock::new()).collect());
        assert!(chunk[place].set(Started { flow, application }).is_ok(), "one thread appends");
        self.count.store(index + 1, Ordering::Release);
        self.first + index as FlowId
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    fn get(&self, flow: FlowId) -> &Started {
        let (chunk, place) = place((flow - self.first) as usize);
        self.chunks[chunk]
            .get()
            .and_then(|chunk| chunk[place].get())
            .expect("a flow that has been started")
    }

    #[cold]
    #[inline(never)]
    pub fn flow(&self, flow: FlowId) -> &Flow {
        &self.get(flow).flow
    }

    /// Returns the application that started the flow.
    pub fn application(&self, flow: FlowId) -> u16 {
        self.get(flow).application
    }

    /// Returns all flows in order.
    pub fn take(self) -> Vec<Flow> {
        let all = self.chunks.into_iter().filter_map(OnceLock::into_inner).flat_map(Vec::from);
        all.map_while(OnceLock::into_inner).map(|started| started.flow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_again() {
        let flows = Flows::behind(&[]);
        let new = |bytes| NewFlow {
            src: 0,
            dst: 1,
            bytes,
            transport: 0,
            class: 0,
            priority: 0,
            job: Flow::NO_JOB,
        };
        let kept = flows.flow(flows.push(new(1), Time::ZERO, 0)) as *const Flow;
        for bytes in 2..=10_000 {
            assert_eq!(flows.push(new(bytes), Time::ZERO, 3), bytes as u32 - 1);
        }
        assert_eq!(
            (
                flows.count(),
                flows.flow(7_000).bytes,
                flows.application(7_000),
                flows.flow(9_999).id
            ),
            (10_000, 7_001, 3, 9_999)
        );
        assert_eq!(flows.flow(0) as *const Flow, kept, "entries stay where they are");
        assert_eq!(
            flows.take().iter().map(|flow| flow.bytes).collect::<Vec<_>>(),
            (1..=10_000).collect::<Vec<_>>()
        );
    }
}
