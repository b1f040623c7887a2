//! Linux's small queues: only so much of a connection waits in its own host's transmit queue (tcp_small_queue_check). What leaves the transmitter
//! makes room for more.

use std::collections::VecDeque;

/// What one buffer of segmentation offload holds at most; it is given back when the last of its frames has left.
const BUFFER: u32 = 65_536;

/// What of a connection has not left its host, oldest first.
#[derive(Debug, Default)]
pub struct SmallQueue {
    buffers: VecDeque<Handed>,
    pub(super) bytes: u64,
}

/// Frames handed to the transmitter together.
#[derive(Debug)]
struct Handed {
    at: u64,
    /// When the last of them will have left.
    until: u64,
    bytes: u32,
}

impl SmallQueue {
    /// A frame is handed over that will have left at `until`.
    pub fn hand_over(&mut self, now: u64, until: u64, size: u16) {
        self.bytes += size as u64;
        // Estimates may say otherwise, but frames of a connection leave in their order.
        let until = self.buffers.back().map_or(until, |last| until.max(last.until));
        match self.buffers.back_mut() {
            Some(last) if last.at == now && last.bytes + size as u32 <= BUFFER => {
                last.until = until;
                last.bytes += size as u32;
            }
            _ => self.buffers.push_back(Handed { at: now, until, bytes: size as u32 }),
        }
    }

    #[inline]
    pub(super) fn release(&mut self, now: u64) {
        while let Some(first) = self.buffers.front()
            && first.until <= now
        {
            self.bytes -= first.bytes as u64;
            self.buffers.pop_front();
        }
    }

    /// When no more than `limit` bytes will be left.
    pub(super) fn falls_to(&self, limit: u64) -> u64 {
        let mut left = self.bytes;
        for buffer in &self.buffers {
            left -= buffer.bytes as u64;
            if left <= limit {
                return buffer.until;
            }
        }
        unreachable!("nothing is left in the end")
    }
}

/// How long the latest segments waited in their own host, in nanoseconds, by sequence number.
#[derive(Debug, Default)]
pub struct AtHost {
    ring: Vec<(u32, u32)>,
}

/// Segments that are remembered: more than a window of those whose wait in the host matters.
const REMEMBERED: usize = 1 << 10;

impl AtHost {
    /// A segment will wait for `time`. Until one has to wait, nothing is kept.
    pub fn note(&mut self, seq: u32, time: u64) {
        let nanoseconds = u32::try_from(time / 1_000).unwrap_or(u32::MAX);
        if self.ring.is_empty() {
            if nanoseconds == 0 {
                return;
            }
            self.ring = vec![(u32::MAX, 0); 16];
        }
        let place = seq as usize & (self.ring.len() - 1);
        let (other, _) = self.ring[place];
        if other != u32::MAX && other < seq && self.ring.len() < REMEMBERED {
            let mut larger = vec![(u32::MAX, 0); 4 * self.ring.len()];
            let mask = larger.len() - 1;
            self.ring.iter().filter(|(seq, _)| *seq != u32::MAX).for_each(|one| larger[one.0 as usize & mask] = *one);
            self.ring = larger;
        }
        let place = seq as usize & (self.ring.len() - 1);
        self.ring[place] = (seq, nanoseconds);
    }

    /// 0 where nothing is known.
    #[inline(always)]
    pub fn of(&self, seq: u32) -> u64 {
        if self.ring.is_empty() {
            return 0;
        }
        let (known, nanoseconds) = self.ring[seq as usize & (self.ring.len() - 1)];
        if known == seq { u64::from(nanoseconds) * 1_000 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A later frame does not leave before an earlier one, whatever an estimate says.
    #[test]
    fn frames_leave_in_order() {
        let mut queue = SmallQueue::default();
        queue.hand_over(0, 100, 1_000);
        queue.hand_over(5, 50, 1_000);
        queue.release(60);
        assert_eq!((queue.bytes, queue.falls_to(1_000), queue.falls_to(0)), (2_000, 100, 100));
    }

    /// Frames that are handed over together leave together, up to 64 KiB of them.
    #[test]
    fn buffers_are_given_back_whole() {
        let mut queue = SmallQueue::default();
        (1..=4).for_each(|frame| queue.hand_over(0, 10 * frame, 9_000));
        queue.hand_over(5, 50, 9_000);
        queue.release(39);
        assert_eq!((queue.bytes, queue.falls_to(9_000), queue.falls_to(8_999)), (45_000, 40, 50));
        queue.release(40);
        assert_eq!(queue.bytes, 9_000);
        (1..=8).for_each(|frame| queue.hand_over(40, 50 + 10 * frame, 9_000));
        queue.release(120);
        assert_eq!((queue.bytes, queue.falls_to(0)), (9_000, 130));
    }
}
