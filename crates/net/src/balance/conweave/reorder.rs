//! Reorder queues of a switch: one per flow that waits for a TAIL.

use crate::frame::Frame;
use std::collections::VecDeque;

/// A waiting frame.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    pub frame: Frame,
    pub epoch: u32,
}

#[derive(Default)]
struct Queue {
    /// Egress port, from 0.
    port: u16,
    frames: VecDeque<Held>,
    bytes: u64,
}

pub struct ReorderQueues {
    queues: Vec<Queue>,
    free: Vec<u32>,
    /// By port: number of queues in use, and the bytes they hold.
    in_use: Vec<(u16, u64)>,
    limit: Option<u16>,
    /// Frames and bytes in all queues.
    pub frames: u64,
    pub bytes: u64,
}

impl ReorderQueues {
    /// Creates the queues of a switch with `ports` ports, with at most `limit` queues per port.
    pub fn new(ports: usize, limit: Option<u16>) -> Self {
        ReorderQueues {
            queues: Vec::new(),
            free: Vec::new(),
            in_use: vec![(0, 0); ports],
            limit,
            frames: 0,
            bytes: 0,
        }
    }

    /// Opens a free queue of `port`; `None` if there is none.
    pub fn open(&mut self, port: u16) -> Option<u32> {
        let (queues, _) = &mut self.in_use[port as usize];
        if self.limit.is_some_and(|limit| *queues >= limit) {
            return None;
        }
        *queues += 1;
        let number = self.free.pop().unwrap_or_else(|| {
            self.queues.push(Queue::default());
            self.queues.len() as u32 - 1
        });
        debug_assert!(self.queues[number as usize].frames.is_empty());
        self.queues[number as usize].port = port;
        Some(number)
    }

    pub fn hold(&mut self, queue: u32, held: Held) {
        let queue = &mut self.queues[queue as usize];
        let size = held.frame.size as u64;
        self.in_use[queue.port as usize].1 += size;
        self.frames += 1;
        self.bytes += size;
        queue.bytes += size;
        queue.frames.push_back(held);
    }

    /// Removes and returns the oldest frame, if there is one.
    pub fn take(&mut self, queue: u32) -> Option<Held> {
        let queue = &mut self.queues[queue as usize];
        let held = queue.frames.pop_front()?;
        let size = held.frame.size as u64;
        self.in_use[queue.port as usize].1 -= size;
        self.frames -= 1;
        self.bytes -= size;
        queue.bytes -= size;
        Some(held)
    }

    /// Frees an empty queue.
    pub fn close(&mut self, queue: u32) {
        assert!(self.queues[queue as usize].frames.is_empty(), "released before");
        self.in_use[self.queues[queue as usize].port as usize].0 -= 1;
        self.free.push(queue);
    }

    /// Returns the number of queues in use at `port`, and the bytes they hold.
    pub fn at_port(&self, port: u16) -> (u16, u64) {
        self.in_use[port as usize]
    }

    /// Returns the port of a queue.
    pub fn port(&self, queue: u32) -> u16 {
        self.queues[queue as usize].port
    }

    /// Returns the number of frames in a queue, and their bytes.
    pub fn length(&self, queue: u32) -> (u32, u64) {
        let queue = &self.queues[queue as usize];
        (queue.frames.len() as u32, queue.bytes)
    }

    /// Returns all waiting frames.
    pub fn held(&self) -> impl Iterator<Item = &Frame> {
        self.queues.iter().flat_map(|queue| queue.frames.iter().map(|held| &held.frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(seq: u32, size: u16) -> Held {
        Held { frame: Frame { seq, size, ..Frame::default() }, epoch: 1 }
    }

    #[test]
    fn first_in_first_out_and_counted() {
        let mut queues = ReorderQueues::new(3, Some(2));
        let (a, b) = (queues.open(1).unwrap(), queues.open(1).unwrap());
        assert_eq!(queues.open(1), None, "two per port");
        let c = queues.open(2).unwrap();
        for seq in 0..5 {
            queues.hold(a, held(seq, 100));
            queues.hold(b, held(10 + seq, 10));
        }
        queues.hold(c, held(20, 1));
        assert_eq!(
            (queues.at_port(0), queues.at_port(1), queues.at_port(2)),
            ((0, 0), (2, 550), (1, 1))
        );
        assert_eq!(
            (queues.frames, queues.bytes, queues.held().count(), queues.length(b)),
            (11, 551, 11, (5, 50))
        );
        let order: Vec<u32> =
            std::iter::from_fn(|| queues.take(a)).map(|held| held.frame.seq).collect();
        assert_eq!(order, [0, 1, 2, 3, 4]);
        queues.close(a);
        assert_eq!((queues.at_port(1), queues.bytes), ((1, 50), 51));
        assert_eq!(queues.open(1), Some(a), "free again");
    }

    #[test]
    fn without_a_bound() {
        let mut queues = ReorderQueues::new(1, None);
        assert!((0..1_000).all(|n| queues.open(0) == Some(n)));
        assert_eq!(queues.at_port(0).0, 1_000);
    }
}
