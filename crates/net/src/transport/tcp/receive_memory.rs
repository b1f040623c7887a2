//! Receive buffer: limits what the sender may send, and grows with the data that the application
//! reads per round trip (dynamic right-sizing).

use crate::spec::{Reader, ReceiveBuffer, TcpConfig};
use afflux_units::{Bytes, Rate};

const MICROSECOND: u64 = 1_000_000;
/// Unit of Linux's timestamps, in ps.
const MILLISECOND: u64 = 1_000_000_000;

/// Number of frames whose data fit into one buffer (Linux MAX_SKB_FRAGS).
const JOINED: u64 = 17;

/// Returns the timestamp of a frame sent now, in ms. Every host's clock starts with the simulation
/// at 1, because 0 means none.
pub fn stamp(now: u64) -> u32 {
    (now / MILLISECOND) as u32 + 1
}

/// The receiver's estimate of the round trip, in eighths of a microsecond (Linux `rcv_rtt_est`); 0
/// before the first measurement.
#[derive(Debug, Clone, Copy, Default)]
struct RoundTrip {
    eighths: u64,
    /// Timestamp echo that arrived last.
    echo: u32,
}

impl RoundTrip {
    fn microseconds(self) -> u64 {
        self.eighths / 8
    }

    /// Takes a new echo on a full segment as a sample in whole milliseconds (Linux
    /// tcp_rcv_rtt_measure_ts). A sample of 0 ms is too short to be used.
    fn on_echo(&mut self, now: u64, echo: u32, full: bool) {
        if echo == 0 || echo == std::mem::replace(&mut self.echo, echo) || !full {
            return;
        }
        let sample = 1_000 * (stamp(now) - echo) as u64;
        // Linux tcp_rcv_rtt_update since 6.12.35: a shorter round trip replaces the estimate, a
        // longer one counts an eighth.
        if sample > 0 && !self.at_most(sample) {
            self.eighths = self.eighths - self.eighths / 8 + sample;
        }
    }

    /// Takes a sample in microseconds as an upper bound, and returns whether it set or lowered the
    /// estimate. The time for a window of data is no more than such a bound (`win_dep`).
    fn at_most(&mut self, sample: u64) -> bool {
        let shorter = self.eighths == 0 || 8 * sample < self.eighths;
        if shorter {
            self.eighths = 8 * sample;
        }
        shorter
    }
}

/// Receive buffer of an application that may not read for a while.
#[derive(Debug, Clone)]
pub struct ReceiveMemory {
    config: ReceiveBuffer,
    /// Current size of the buffer in bytes, bookkeeping included.
    size: u64,
    /// Number of segments that the application has read.
    read: u32,
    /// First segment beyond the window. It never moves back.
    allowed: u32,
    /// Size of the window in segments when it was last announced.
    announced: u32,
    mss: u64,
    reader: Option<Reader>,
    /// Time in ps at which the application, while asleep or busy with data that it has read,
    /// becomes ready to read; while awake, time at which it falls asleep. 0 if nothing is pending.
    pub(super) turns_at: u64,
    asleep: bool,
    /// Growth: payload bytes read in an earlier round trip, and first segment and start time in ps
    /// of the current round trip.
    space: u64,
    from: u32,
    since: u64,
    round_trip: RoundTrip,
    /// Timed window: segment at which it ends, and its start time in ps (0: none).
    until: u32,
    counted_from: u64,
}

impl ReceiveMemory {
    pub fn new(config: ReceiveBuffer, now: u64, first_edge: u32, of: &TcpConfig) -> Self {
        let mut receive_memory = ReceiveMemory {
            config,
            size: config.initial.0,
            read: 0,
            allowed: first_edge,
            announced: first_edge,
            mss: of.mss as u64,
            reader: of.reader,
            turns_at: 0,
            asleep: false,
            space: 0,
            from: 0,
            since: now,
            round_trip: RoundTrip::default(),
            until: 0,
            counted_from: 0,
        };
        // Linux tcp_init_buffer_space, in whole segments as windows are.
        receive_memory.space = receive_memory.mss * receive_memory.allowed.min(10) as u64;
        receive_memory
    }

    /// Starts the first reading phase of an application that takes turns, when the connection
    /// opens.
    pub fn open(&mut self, now: u64) {
        if let Some(Reader::Turns { read, .. }) = self.reader {
            self.turns_at = now + read.0;
        }
    }

    /// Lets the application fall asleep or wake up, if it is time. Returns whether the receiver
    /// announces a window that has opened: one that at least doubles, or any if an acknowledgement
    /// is `due` (Linux tcp_cleanup_rbuf). `next` is the first segment that has not arrived, and
    /// `segments` the number of all.
    pub fn turn(&mut self, now: u64, next: u32, segments: u32, due: bool) -> bool {
        let Some(reader) = self.reader.filter(|_| self.turns_at != 0 && self.turns_at <= now)
        else {
            return false;
        };
        match reader {
            Reader::Turns { read, sleep } => {
                self.asleep = !self.asleep;
                self.turns_at = now + if self.asleep { sleep.0 } else { read.0 };
                if self.asleep {
                    return false;
                }
                self.read = next;
                // A finished or idle connection needs no further turns.
                if next == segments {
                    self.turns_at = 0;
                }
                self.at_most_half(next) || due
            }
            Reader::Worker { chunk, rate } => {
                (self.asleep, self.turns_at) = (false, 0);
                self.work(now, next, chunk, rate);
                self.grow(now);
                let room = 2 * (self.allowed - next).max(1);
                let doubles = self.at_most_half(next) && self.free(next) >= room;
                self.asleep && (doubles || due)
            }
        }
    }

    /// True if the window is at most half of the buffer's payload.
    fn at_most_half(&self, next: u32) -> bool {
        2 * u64::from(self.allowed - next) * self.mss <= self.payload(self.size)
    }

    /// Returns the payload bytes that fit into `bytes` of buffer.
    pub fn payload(&self, bytes: u64) -> u64 {
        bytes * self.config.share as u64 / 256
    }

    /// Returns the segments for which there is room when everything below `next` has arrived and
    /// part of it has not been read (Linux __tcp_select_window).
    pub fn free(&self, next: u32) -> u32 {
        let full = self.payload(self.size);
        // Unread segments are merged, so that many frames share the bookkeeping of one buffer
        // (Linux tcp_try_coalesce).
        let unread = (next - self.read) as u64;
        let frame = self.mss * 256 / self.config.share.max(1) as u64;
        let taken = unread * self.mss + unread.div_ceil(JOINED) * frame.saturating_sub(self.mss);
        let free = self.payload(self.size.saturating_sub(taken));
        if free < full / 16 || free < self.mss { 0 } else { (free / self.mss) as u32 }
    }

    /// Returns the window edge to announce: the first segment beyond the window.
    pub fn announce(&mut self, next: u32) -> u32 {
        self.allowed = self.allowed.max(next.saturating_add(self.free(next)));
        self.announced = self.allowed - next;
        self.allowed
    }

    /// True if the application does not keep up: it has data to read, and the window would be
    /// smaller than the last announced one. The number of segments is then no reason to acknowledge
    /// (Linux __tcp_ack_snd_check).
    pub fn fills(&self, next: u32) -> bool {
        self.read < next && self.free(next) < self.announced
    }

    /// Lets the application read up to `chunk` of the data below `next`, and process them at
    /// `rate`.
    pub fn work(&mut self, now: u64, next: u32, chunk: Bytes, rate: Rate) {
        let segments = (next - self.read).min((chunk.0 / self.mss).max(1) as u32);
        if segments > 0 {
            self.read += segments;
            (self.asleep, self.turns_at) =
                (true, now + rate.serialize(segments as u64 * self.mss).0);
        }
    }

    /// Returns the time in ps at which the application will have processed everything below `next`,
    /// if no more data arrive.
    pub fn read_by(&self, now: u64, next: u32) -> u64 {
        match self.reader {
            Some(Reader::Worker { rate, .. }) => {
                self.turns_at.max(now) + rate.serialize((next - self.read) as u64 * self.mss).0
            }
            _ => now,
        }
    }

    /// Processes the timestamp echo of a segment that arrives.
    pub fn on_echo(&mut self, now: u64, stamp: u32, full: bool) {
        if self.tunes() {
            self.round_trip.on_echo(now, stamp, full);
        }
    }

    /// Processes the arrival of everything below `next`. The application reads it if it is awake.
    pub fn on_arrival(&mut self, now: u64, next: u32) {
        if self.tunes() {
            self.measure(now, next);
        }
        if !self.asleep {
            match self.reader {
                Some(Reader::Worker { chunk, rate }) => self.work(now, next, chunk, rate),
                _ => self.read = next,
            }
            self.grow(now);
        }
    }

    /// True if the buffer can still grow.
    pub fn tunes(&self) -> bool {
        self.size < self.config.most.0
    }

    /// Measures the time for one window of data, which is an upper bound of the round trip (Linux
    /// tcp_rcv_rtt_measure).
    fn measure(&mut self, now: u64, next: u32) {
        if self.counted_from > 0 {
            if next < self.until {
                return;
            }
            self.round_trip.at_most(((now - self.counted_from) / MICROSECOND).max(1));
        }
        (self.until, self.counted_from) = (next.saturating_add(self.announced), now.max(1));
    }

    /// Grows the buffer once per round trip (Linux tcp_rcv_space_adjust): room for twice the data
    /// that the application has read, and more while that increases.
    pub fn grow(&mut self, now: u64) {
        let round_trip = self.round_trip.microseconds();
        if !self.tunes() || round_trip == 0 || (now - self.since) / MICROSECOND < round_trip {
            return;
        }
        let copied = (self.read - self.from) as u64 * self.mss;
        if copied > self.space {
            let mut window = 2 * copied + 16 * self.mss;
            window += 2
                * (window as u128 * (copied - self.space) as u128 / self.space.max(1) as u128)
                    as u64;
            let wanted = (window as u128 * 256 / self.config.share as u128)
                .min(self.config.most.0 as u128) as u64;
            self.size = self.size.max(wanted);
            self.space = copied;
        }
        self.since = now;
        self.from = self.read;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = MILLISECOND;

    /// Returns a buffer of 128 KiB that can grow to 6 MiB, half of it for payload. The application
    /// reads at once.
    fn receive_memory() -> ReceiveMemory {
        let config = ReceiveBuffer { initial: Bytes(1 << 17), most: Bytes(6 << 20), share: 128 };
        ReceiveMemory::new(config, 0, 44, &TcpConfig { mss: 1460, ..crate::testing::tcp() })
    }

    /// A shorter round trip counts at once, a longer one an eighth. An echo counts once, and an
    /// echo within the same millisecond not at all.
    #[test]
    fn echoes_are_smoothed() {
        let mut round_trip = RoundTrip::default();
        let mut at = |now: u64, echo: u32, full: bool| {
            round_trip.on_echo(now, echo, full);
            round_trip.microseconds()
        };
        assert_eq!(at(10 * MS, 0, true), 0);
        assert_eq!(at(10 * MS, stamp(5 * MS), false), 0);
        // This echo has been seen before, although it was not used.
        assert_eq!(at(11 * MS, stamp(5 * MS), true), 0);
        assert_eq!(at(11 * MS, stamp(6 * MS), true), 5_000);
        assert_eq!(at(24 * MS, stamp(11 * MS), true), 6_000);
        assert_eq!(at(24 * MS, stamp(24 * MS), true), 6_000);
        assert_eq!(at(25 * MS, stamp(23 * MS), true), 2_000);
    }

    #[test]
    fn a_window_bounds_the_round_trip_from_above() {
        let mut receive_memory = receive_memory();
        receive_memory.on_echo(10 * MS, stamp(2 * MS), true);
        assert_eq!(receive_memory.round_trip.microseconds(), 8_000);
        // Counting begins with the first arrival, and 44 segments are announced.
        receive_memory.on_arrival(10 * MS, 1);
        receive_memory.on_arrival(12 * MS, 44);
        assert_eq!(receive_memory.round_trip.microseconds(), 8_000);
        receive_memory.on_arrival(13 * MS, 45);
        assert_eq!(receive_memory.round_trip.microseconds(), 3_000);
        // The next window takes longer, so it does not change the estimate.
        receive_memory.on_arrival(20 * MS, 89);
        assert_eq!(receive_memory.round_trip.microseconds(), 3_000);
    }

    /// At a constant rate the buffer settles at twice the data read per measured round trip plus 16
    /// segments, and more while that amount grows.
    #[test]
    fn twice_what_is_read_per_round_trip() {
        let mut receive_memory = receive_memory();
        receive_memory.space = 199 * receive_memory.mss;
        // Ten segments per millisecond, with a round trip of 20 ms: 200 segments are read in one.
        for segment in 1..4_000u32 {
            let now = segment as u64 * MS / 10;
            receive_memory.on_echo(now, stamp(now.saturating_sub(20 * MS)), true);
            receive_memory.announced = 2_000;
            receive_memory.on_arrival(now, segment);
        }
        let round_trip = receive_memory.round_trip.microseconds();
        assert!((19_000..=21_000).contains(&round_trip), "{round_trip} us");
        // Half of the buffer is for payload.
        let window =
            |segments: u64| 2 * 1460 * (2 * segments + 16) * (199 + 2 * (segments - 199)) / 199;
        let read = receive_memory.space / receive_memory.mss;
        assert!((199..=211).contains(&read), "{read} segments per round trip");
        assert!(
            receive_memory.size >= window(200) && receive_memory.size <= window(211),
            "{} B",
            receive_memory.size
        );
    }
}
