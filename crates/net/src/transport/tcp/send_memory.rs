//! Send buffer of Linux: limits the data that the application has written and that are not
//! acknowledged. A full buffer puts the application to sleep until a third of it is free.

use crate::spec::TcpConfig;

/// Memory in bytes of a segmentation offload buffer without its payload: 640 bytes of headers and
/// 256 bytes of `struct sk_buff`. The payload lies in pages, which count by the byte.
const BOOKKEEPING: u64 = 640 + 256;

/// Sizes of the offload buffers that occupy the memory.
#[derive(Debug, Clone, Copy)]
pub struct Offload {
    /// Payload of a segment in bytes.
    pub mss: u64,
    /// Segments of an offload buffer that has been sent.
    pub sent: u64,
    /// Segments that the application writes into one offload buffer, before it is sent in pieces.
    pub written: u64,
}

/// Fill level of a send buffer. All segments of a connection without one are written at once.
#[derive(Debug, Clone, Copy)]
pub struct SendMemory {
    /// Current size in bytes, bookkeeping included. It never shrinks.
    size: u64,
    /// First segment that the application has not written.
    pub to: u32,
    /// First unacknowledged segment at which the application can be awake again.
    pub wakes_at: u32,
    asleep: bool,
}

impl SendMemory {
    pub fn new(config: &TcpConfig) -> Self {
        let (to, wakes_at) = if config.send.is_some() { (0, 0) } else { (u32::MAX, u32::MAX) };
        SendMemory { size: 0, to, wakes_at, asleep: false }
    }

    /// Lets the application write if it is awake, or if enough memory is free to wake it: at least
    /// half as much as is in use (Linux sk_stream_write_space). It fills the buffer, and the last
    /// offload buffer may exceed the size (Linux tcp_sendmsg_locked). `una` and `next`: first
    /// segments that are not acknowledged and not sent.
    pub fn fill(&mut self, una: u32, next: u32, size: u64, offload: Offload) {
        self.size = self.size.max(size);
        let of_sent = offload.mss + BOOKKEEPING.div_ceil(offload.sent);
        let waiting = u64::from(self.to - next);
        let used = u64::from(next - una) * of_sent
            + waiting * offload.mss
            + waiting.div_ceil(offload.written) * BOOKKEEPING;
        let free = self.size.saturating_sub(used);
        // Memory in use at which the application wakes.
        let wakes = self.size * 2 / 3;
        if free > 0 && (!self.asleep || used <= wakes) {
            let of_written = offload.written * offload.mss + BOOKKEEPING;
            let segments = free.div_ceil(of_written) * offload.written;
            self.to = self.to.saturating_add(u32::try_from(segments).unwrap_or(u32::MAX));
        }
        // More data from the application would find the buffer full.
        self.asleep = true;
        let wakes = u32::try_from(wakes / of_sent).unwrap_or(u32::MAX);
        self.wakes_at = self.to.saturating_sub(wakes).max(una + 1);
    }

    /// Hands over more data. `segments`: first segment behind the data so far. An application
    /// that had written all of them is awake.
    pub fn append(&mut self, segments: u32) {
        if self.wakes_at != u32::MAX && self.to >= segments {
            self.to = segments;
            self.wakes_at = 0;
            self.asleep = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffer of 4 MiB and segments of 1,448 bytes that leave in offload buffers of nine.
    const OFFLOAD: Offload = Offload { mss: 1448, sent: 9, written: 45 };
    const SIZE: u64 = 4 << 20;

    fn send_memory() -> SendMemory {
        SendMemory { size: 0, to: 0, wakes_at: 0, asleep: false }
    }

    /// The application first writes whole offload buffers: 4,194,304 / (45 * 1,448 + 896) = 63.5,
    /// so 64 of them. Sent, they take 1,448 + 100 bytes a segment, which is more than the buffer's
    /// size. The application wakes when two thirds, 2,796,202 bytes, are in use: 1,806 segments.
    /// Then a third is free, 1,398,102 bytes, and 22 offload buffers are written. A Linux 6.12
    /// kernel (with 64 bytes less of headers) resumes at 1,816 segments and fills up to 2,695.
    #[test]
    fn a_writer_wakes_at_two_thirds() {
        let mut memory = send_memory();
        memory.fill(0, 0, SIZE, OFFLOAD);
        assert_eq!((memory.to, memory.wakes_at), (64 * 45, 64 * 45 - 1806));
        // One segment less of room lets the application sleep on.
        let next = memory.to;
        memory.fill(memory.wakes_at - 1, next, SIZE, OFFLOAD);
        assert_eq!((memory.to, memory.wakes_at), (64 * 45, 64 * 45 - 1806));
        memory.fill(memory.wakes_at, next, SIZE, OFFLOAD);
        assert_eq!(memory.to, 64 * 45 + 22 * 45);
        assert_eq!(memory.wakes_at, memory.to - 1806);
    }

    /// Data that wait to be sent are in large offload buffers: ten of them take 10 * (65,160 + 896)
    /// bytes, and 1,380 sent segments 1,380 * 1,548. Together that is 2,796,800 bytes, 598 more
    /// than two thirds. One acknowledged segment makes enough room.
    #[test]
    fn unsent_data_take_less_memory() {
        let mut memory = SendMemory { asleep: true, to: 1380 + 450, ..send_memory() };
        memory.fill(0, 1380, SIZE, OFFLOAD);
        assert_eq!(memory.to, 1380 + 450);
        memory.fill(1, 1380, SIZE, OFFLOAD);
        assert_eq!(memory.to, 1380 + 450 + 22 * 45);
    }

    /// The buffer grows with the window and does not shrink. Data that come later do not wait for a
    /// third of the buffer.
    #[test]
    fn an_awake_writer_takes_what_is_free() {
        let mut memory = send_memory();
        memory.fill(0, 0, 2 << 20, OFFLOAD);
        assert_eq!(memory.to, 32 * 45);
        memory.fill(1, 32 * 45, 1 << 20, OFFLOAD);
        assert_eq!((memory.to, memory.size), (32 * 45, 2 << 20));
        memory.append(1200);
        // The application had written 1,200 segments, 150 of which are acknowledged: 471,752 bytes
        // are free, which take eight offload buffers.
        memory.fill(150, 1200, 2 << 20, OFFLOAD);
        assert_eq!(memory.to, 1200 + 8 * 45);
        // Data that the buffer had no room for leave the application asleep.
        memory.append(2000);
        assert_eq!(memory.to, 1200 + 8 * 45);
    }

    #[test]
    fn without_a_send_buffer_everything_is_written() {
        let mut memory = SendMemory::new(&crate::testing::tcp());
        memory.append(10);
        assert_eq!((memory.to, memory.wakes_at), (u32::MAX, u32::MAX));
    }
}
