//! Linux's small queues (tcp_small_queue_check): limits the bytes of a connection that wait in its
//! own host's transmit queue. Frames that leave the transmitter make room for more.

use std::collections::VecDeque;

/// Largest size of an offload buffer in bytes. The buffer is released when its last frame has left.
const BUFFER: u32 = 65_536;

/// Frames of a connection that have not left its host, oldest first.
#[derive(Debug, Default)]
pub struct SmallQueue {
    buffers: VecDeque<Handed>,
    pub(super) bytes: u64,
}

/// Frames that were handed to the transmitter together.
#[derive(Debug)]
struct Handed {
    at: u64,
    /// Time in ps at which the last of these frames will have left.
    until: u64,
    bytes: u32,
}

impl SmallQueue {
    /// Adds a frame that will have left at `until` (ps).
    pub fn hand_over(&mut self, now: u64, until: u64, size: u16) {
        self.bytes += size as u64;
        // `until` is an estimate, but frames of a connection leave in order.
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

    /// Returns the time in ps from which on at most `limit` bytes are left.
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

/// Waits of the latest segments in their own host, in nanoseconds, by sequence number.
#[derive(Debug, Default)]
pub struct AtHost {
    ring: Vec<(u32, u32)>,
}

/// Largest number of remembered segments: more than a window of flows whose wait in the host
/// matters.
const REMEMBERED: usize = 1 << 10;

impl AtHost {
    /// Records that a segment will wait for `time` ps. The ring is only allocated when a segment
    /// has to wait.
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
            self.ring
                .iter()
                .filter(|(seq, _)| *seq != u32::MAX)
                .for_each(|one| larger[one.0 as usize & mask] = *one);
            self.ring = larger;
        }
        let place = seq as usize & (self.ring.len() - 1);
        self.ring[place] = (seq, nanoseconds);
    }

    /// Returns the wait of a segment in ps, 0 if unknown.
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

    /// A later frame does not leave before an earlier one, even if the estimates say so.
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
