//! A receive buffer: how much the sender may send, and how it grows with what the application reads per round trip (dynamic right-sizing).

use crate::spec::{Reader, ReceiveBuffer, TcpConfig};
use afflux_units::{Bytes, Rate};

const MICROSECOND: u64 = 1_000_000;
/// Linux's timestamps count these.
const MILLISECOND: u64 = 1_000_000_000;

/// Frames whose data fit into one buffer (Linux MAX_SKB_FRAGS).
const JOINED: u64 = 17;

/// The timestamp of what is sent now. Every host's clock starts with the simulation; 0 is none.
pub fn stamp(now: u64) -> u32 {
    (now / MILLISECOND) as u32 + 1
}

/// The round trip as a receiver knows it, in eighths of a microsecond (Linux `rcv_rtt_est`); 0 before the first measurement.
#[derive(Debug, Clone, Copy, Default)]
struct RoundTrip {
    eighths: u64,
    /// The echo that came last.
    echo: u32,
}

impl RoundTrip {
    fn microseconds(self) -> u64 {
        self.eighths / 8
    }

    /// Linux tcp_rcv_rtt_measure_ts: a new echo on a full segment is a sample, of whole milliseconds; none is too short to tell.
    fn on_echo(&mut self, now: u64, echo: u32, full: bool) {
        if echo == 0 || echo == std::mem::replace(&mut self.echo, echo) || !full {
            return;
        }
        let sample = 1_000 * (stamp(now) - echo) as u64;
        // Linux tcp_rcv_rtt_update since 6.12.35: a shorter round trip counts at once, a longer one an eighth.
        if sample > 0 && !self.at_most(sample) {
            self.eighths = self.eighths - self.eighths / 8 + sample;
        }
    }

    /// A sample in microseconds, if it is not longer than what is known. A window's worth says no more (`win_dep`).
    fn at_most(&mut self, sample: u64) -> bool {
        let shorter = self.eighths == 0 || 8 * sample < self.eighths;
        if shorter {
            self.eighths = 8 * sample;
        }
        shorter
    }
}

/// A receive buffer, and an application that may not read for a while. In bytes of payload.
#[derive(Debug, Clone)]
pub struct Room {
    config: ReceiveBuffer,
    /// The buffer now.
    pub(super) size: u64,
    /// Segments that the application has read.
    pub(super) read: u32,
    /// The first segment that the window does not allow; it never shrinks.
    pub(super) allowed: u32,
    /// Segments that the window held when it was last announced.
    announced: u32,
    pub(super) mss: u64,
    pub(super) reader: Option<Reader>,
    /// While asleep (or at work on what it has read): until when; while awake: when it falls asleep. 0 if nothing of that is to come.
    pub(super) turns_at: u64,
    pub(super) asleep: bool,
    /// Growth: bytes read per round trip last time, where and when this round trip began.
    space: u64,
    from: u32,
    since: u64,
    round_trip: RoundTrip,
    /// The end of the window that is being counted, and since when.
    until: u32,
    counted_from: u64,
}

impl Room {
    pub fn new(config: ReceiveBuffer, now: u64, first_edge: u32, of: &TcpConfig) -> Self {
        let mut room = Room {
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
        // Linux tcp_init_buffer_space: in whole segments, as windows are.
        room.space = room.mss * room.allowed.min(10) as u64;
        room
    }

    /// The connection is open: an application that takes turns begins to read.
    pub fn open(&mut self, now: u64) {
        if let Some(Reader::Turns { read, .. }) = self.reader {
            self.turns_at = now + read.0;
        }
    }

    /// Room for payload.
    pub fn payload(&self, bytes: u64) -> u64 {
        bytes * self.config.share as u64 / 256
    }

    /// Segments for which there is room when everything below `next` has arrived, of which some has not been read (Linux __tcp_select_window).
    pub fn free(&self, next: u32) -> u32 {
        let full = self.payload(self.size);
        // What waits to be read is joined: one buffer's bookkeeping for many frames (Linux tcp_try_coalesce).
        let unread = (next - self.read) as u64;
        let frame = self.mss * 256 / self.config.share.max(1) as u64;
        let taken = unread * self.mss + unread.div_ceil(JOINED) * frame.saturating_sub(self.mss);
        let free = self.payload(self.size.saturating_sub(taken));
        if free < full / 16 || free < self.mss { 0 } else { (free / self.mss) as u32 }
    }

    /// The edge to announce.
    pub fn announce(&mut self, next: u32) -> u32 {
        self.allowed = self.allowed.max(next.saturating_add(self.free(next)));
        self.announced = self.allowed - next;
        self.allowed
    }

    /// The application does not keep up: it has something to read, and the window would be smaller than the one last announced. Then the
    /// number of segments is no reason to acknowledge (Linux __tcp_ack_snd_check).
    pub fn fills(&self, next: u32) -> bool {
        self.read < next && self.free(next) < self.announced
    }

    /// The application reads up to a chunk of what is here up to `next`, and works on it.
    pub fn work(&mut self, now: u64, next: u32, chunk: Bytes, rate: Rate) {
        let segments = (next - self.read).min((chunk.0 / self.mss).max(1) as u32);
        if segments > 0 {
            self.read += segments;
            (self.asleep, self.turns_at) = (true, now + rate.serialize(segments as u64 * self.mss).0);
        }
    }

    /// When everything up to `next` has been dealt with if nothing follows.
    pub fn read_by(&self, now: u64, next: u32) -> u64 {
        match self.reader {
            Some(Reader::Worker { rate, .. }) => self.turns_at.max(now) + rate.serialize((next - self.read) as u64 * self.mss).0,
            _ => now,
        }
    }

    /// A segment has come that echoes `stamp`.
    pub fn on_echo(&mut self, now: u64, stamp: u32, full: bool) {
        if self.tunes() {
            self.round_trip.on_echo(now, stamp, full);
        }
    }

    /// Everything below `next` is here: the application takes it, if it is awake.
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

    /// It may yet grow.
    pub fn tunes(&self) -> bool {
        self.size < self.config.most.0
    }

    /// Linux tcp_rcv_rtt_measure: a window's worth takes a round trip at least.
    fn measure(&mut self, now: u64, next: u32) {
        if self.counted_from > 0 {
            if next < self.until {
                return;
            }
            self.round_trip.at_most(((now - self.counted_from) / MICROSECOND).max(1));
        }
        (self.until, self.counted_from) = (next.saturating_add(self.announced), now.max(1));
    }

    /// Linux tcp_rcv_space_adjust: once per round trip, room for twice what the application has read, and more while that grows.
    pub fn grow(&mut self, now: u64) {
        let round_trip = self.round_trip.microseconds();
        if !self.tunes() || round_trip == 0 || (now - self.since) / MICROSECOND < round_trip {
            return;
        }
        let copied = (self.read - self.from) as u64 * self.mss;
        if copied > self.space {
            let mut window = 2 * copied + 16 * self.mss;
            window += 2 * (window as u128 * (copied - self.space) as u128 / self.space.max(1) as u128) as u64;
            let wanted = (window as u128 * 256 / self.config.share as u128).min(self.config.most.0 as u128) as u64;
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

    /// A buffer of 128 KiB that grows up to 6 MiB, half of it for payload; the application reads at once.
    fn room() -> Room {
        let config = ReceiveBuffer { initial: Bytes(1 << 17), most: Bytes(6 << 20), share: 128 };
        Room::new(config, 0, 44, &TcpConfig { mss: 1460, ..crate::testing::tcp() })
    }

    /// Shorter round trips count at once, longer ones an eighth; an echo counts once, and one within the same millisecond not at all.
    #[test]
    fn echoes_are_smoothed() {
        let mut round_trip = RoundTrip::default();
        let mut at = |now: u64, echo: u32, full: bool| {
            round_trip.on_echo(now, echo, full);
            round_trip.microseconds()
        };
        assert_eq!(at(10 * MS, 0, true), 0);
        assert_eq!(at(10 * MS, stamp(5 * MS), false), 0);
        // That echo has been seen, if not used.
        assert_eq!(at(11 * MS, stamp(5 * MS), true), 0);
        assert_eq!(at(11 * MS, stamp(6 * MS), true), 5_000);
        assert_eq!(at(24 * MS, stamp(11 * MS), true), 6_000);
        assert_eq!(at(24 * MS, stamp(24 * MS), true), 6_000);
        assert_eq!(at(25 * MS, stamp(23 * MS), true), 2_000);
    }

    #[test]
    fn a_window_bounds_the_round_trip_from_above() {
        let mut room = room();
        room.on_echo(10 * MS, stamp(2 * MS), true);
        assert_eq!(room.round_trip.microseconds(), 8_000);
        // Counting begins with the first arrival, and 44 segments are announced.
        room.on_arrival(10 * MS, 1);
        room.on_arrival(12 * MS, 44);
        assert_eq!(room.round_trip.microseconds(), 8_000);
        room.on_arrival(13 * MS, 45);
        assert_eq!(room.round_trip.microseconds(), 3_000);
        // The next one takes longer, which says nothing.
        room.on_arrival(20 * MS, 89);
        assert_eq!(room.round_trip.microseconds(), 3_000);
    }

    /// Under a constant rate the buffer settles at twice what is read per measured round trip, and 16 segments; growth counts on top.
    #[test]
    fn twice_what_is_read_per_round_trip() {
        let mut room = room();
        room.space = 199 * room.mss;
        // Ten segments per millisecond, with a round trip of 20 ms: 200 segments are read in one.
        for segment in 1..4_000u32 {
            let now = segment as u64 * MS / 10;
            room.on_echo(now, stamp(now.saturating_sub(20 * MS)), true);
            room.announced = 2_000;
            room.on_arrival(now, segment);
        }
        let round_trip = room.round_trip.microseconds();
        assert!((19_000..=21_000).contains(&round_trip), "{round_trip} us");
        // Half of the buffer is for payload.
        let window = |segments: u64| 2 * 1460 * (2 * segments + 16) * (199 + 2 * (segments - 199)) / 199;
        let read = room.space / room.mss;
        assert!((199..=211).contains(&read), "{read} segments per round trip");
        assert!(room.size >= window(200) && room.size <= window(211), "{} B", room.size);
    }
}
