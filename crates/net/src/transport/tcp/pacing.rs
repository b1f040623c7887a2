//! Determines when segments that the window allows may leave: spaced at the pacing rate, or
//! together as with segmentation offload. It also limits the bytes that wait at the host's own
//! transmitter, and lets the application write into the send buffer.

use super::send_memory::Offload;
use super::sender::{MILLISECOND, Sender};
use crate::congestion::{Controller, State};
use crate::spec::{Burst, Manner, Pacing, TcpConfig};

/// Number of segments at the start of a connection that are not paced (Linux
/// tcp_update_skb_after_send).
const UNPACED: u64 = 10;

const MICROSECOND: u64 = 1_000_000;
/// Largest payload in bytes that Linux hands down at once: 64 KiB less room for headers.
const GSO_MAX: u64 = 65_536 - 257;
/// Pacing parameters with which Linux sizes offload buffers and small queues, even if it does not
/// pace.
const LINUX_PACING: Pacing = Pacing { most: None, slow_start_percent: 200, avoidance_percent: 120 };
/// Linux's `tcp_limit_output_bytes`, in bytes: 16 buffers of segmentation offload (until 6.17).
const MOST_IN_LINE: u64 = 16 * 65_536;
/// Smallest limit of a small queue, in segments: two buffers of two segments.
const LEAST_IN_LINE: u64 = 4;

/// Returns the time in ps that a segment takes at a rate in bits per second.
fn spacing(rate: u64, config: &TcpConfig) -> u64 {
    (config.mss as u128 * 8_000_000_000_000 / rate.max(1) as u128) as u64
}

/// Returns the segments that an application can write into one offload buffer.
pub(super) fn whole_buffer(config: &TcpConfig) -> u32 {
    (GSO_MAX / config.mss as u64).max(1) as u32
}

impl Sender {
    /// True if the sender could send a segment if the pace allowed it.
    pub(super) fn has_work(&self, config: &TcpConfig) -> bool {
        self.probe
            || (self.at_once && self.unrepeated > 0)
            || (self.pipe() < self.window.cwnd
                && (self.unrepeated > 0
                    || self.rescues(config)
                    || (self.next < self.segments && self.next < self.window_end(config))))
    }

    /// Accounts for a segment that leaves now. The next one may follow after one segment time at
    /// the pacing rate, or at once within a burst.
    #[inline(always)]
    pub(super) fn pace(&mut self, now: u64, config: &TcpConfig) {
        if config.pacing.is_none() && self.sampler.is_none() {
            return;
        }
        if config.manner == Manner::Ns3 {
            return self.pace_as_ns3(now, config);
        }
        if self.sent < UNPACED {
            return;
        }
        let Some(rate) = self.pacing_rate(config) else { return };
        let spacing = spacing(rate, config);
        if self.pace_at <= now {
            // A sender that is behind its pace makes up for half a segment at most (Linux
            // tcp_update_skb_after_send).
            let credit = if self.pace_at == 0 { 0 } else { (now - self.pace_at).min(spacing / 2) };
            self.pace_at = now - credit;
            // Segments that are handed to the network together are not spaced.
            self.burst = self.control.burst().max(self.in_burst + 1);
        }
        self.pace_at += spacing;
        self.burst = self.burst.saturating_sub(1);
    }

    /// Paces as ns-3 does. After the initial window, the next segment may leave one segment time
    /// after this one. Segments sent while the pacing timer runs do not postpone it.
    fn pace_as_ns3(&mut self, now: u64, config: &TcpConfig) {
        if self.next + 1 >= config.initial_window
            && self.pace_at <= now
            && let Some(rate) = self.pacing_rate(config)
        {
            self.pace_at = now + spacing(rate, config);
        }
    }

    /// Returns the pacing rate in bits of payload per second.
    pub(super) fn pacing_rate(&self, config: &TcpConfig) -> Option<u64> {
        let most = config.pacing.and_then(|pacing| pacing.most).map(|most| most.0);
        let rate = match self.sampler {
            Some(_) => self.control.pacing_rate(),
            None => {
                let pacing = config.pacing.as_ref()?;
                self.control.pacing_rate().or_else(|| self.rate_of_window(pacing, config))
            }
        };
        rate.map(|rate| most.map_or(rate, |most| rate.min(most))).or(most)
    }

    /// Returns one window per round trip times the pacing percentage, in bits per second (Linux
    /// tcp_update_pacing_rate).
    pub(super) fn rate_of_window(&self, pacing: &Pacing, config: &TcpConfig) -> Option<u64> {
        let smoothed = self.rtt.smoothed();
        if smoothed == 0 {
            return None;
        }
        let percent = if self.window.cwnd < self.window.ssthresh / 2 {
            pacing.slow_start_percent
        } else {
            pacing.avoidance_percent
        };
        // `scaled` converts bits of the window into bits per second, because the round trip is in
        // picoseconds and `percent` in hundredths.
        let bits = u64::from(self.window.cwnd.max(self.next - self.una)) * config.mss as u64 * 8;
        let scaled = percent as u64 * 10_000_000_000;
        // Most products fit into 64 bits, where the division is several times as fast.
        Some(bits.checked_mul(scaled).map_or_else(
            || (u128::from(bits) * u128::from(scaled) / u128::from(smoothed)) as u64,
            |product| product / smoothed,
        ))
    }

    /// True if the sender waits until a whole burst fits into the window. It does not wait in loss
    /// recovery.
    #[inline]
    pub(super) fn defers(&mut self, now: u64, pipe: u32, end: u32, config: &TcpConfig) -> bool {
        if matches!(self.state, State::Recovery | State::Loss) {
            self.in_burst = 0;
            return false;
        }
        if self.in_burst > 0 {
            self.in_burst -= 1;
            return false;
        }
        let (free, window) = (self.window.cwnd.saturating_sub(pipe).max(1), end - self.next);
        let sendable = free.min(window);
        let most = match config.burst {
            Burst::Segments(burst) => {
                let wanted =
                    burst.min((self.window.cwnd / 3).max(1)).min(self.segments - self.next);
                if pipe > 0 && sendable < wanted {
                    // The window counts as the limit here, as if it were full.
                    self.validate(now, self.window.cwnd - pipe <= window, config);
                    return true;
                }
                wanted
            }
            Burst::Linux => {
                let most = self.offload(config);
                if most > 1 && sendable < most && self.waits(now, sendable, config) {
                    self.validate(now, free < window, config);
                    return true;
                }
                most
            }
        };
        self.in_burst = most.min(sendable) - 1;
        false
    }

    /// Returns the segments of an offload buffer (Linux tcp_tso_autosize): one millisecond at the
    /// pacing rate, more on short paths, and at least two segments.
    pub(super) fn offload(&self, config: &TcpConfig) -> u32 {
        self.offload_at(self.rate_of_window(&LINUX_PACING, config), config)
    }

    /// Returns the segments of an offload buffer for a window rate in bits per second, as Linux
    /// computes it.
    fn offload_at(&self, rate: Option<u64>, config: &TcpConfig) -> u32 {
        let mss = config.mss as u64;
        let rate = rate.map_or(u64::MAX, |bits| bits / 8);
        let min_rtt = self.rack.as_ref().map_or(0, |rack| rack.min_rtt / MICROSECOND);
        let near = if min_rtt > 0 {
            GSO_MAX.checked_shr((min_rtt >> 9).min(64) as u32).unwrap_or(0)
        } else {
            0
        };
        ((rate >> 10).saturating_add(near).min(GSO_MAX) / mss).max(2) as u32
    }

    /// True if a burst waits because the window has too little room for all of it (Linux
    /// tcp_tso_should_defer).
    pub(super) fn waits(&self, now: u64, sendable: u32, config: &TcpConfig) -> bool {
        if self.next == self.una || self.sampler.is_some() || config.pacing.is_some() {
            return false;
        }
        // Only within a millisecond after the last transmission (as Linux, whatever the tick).
        if now - self.last_sent > MILLISECOND {
            return false;
        }
        // The rest of a buffer that the application has filled leaves as soon as it fits, and a
        // single segment leaves at once. The application might still fill up its last buffer,
        // unless that carries the FIN.
        let filled = whole_buffer(config);
        let left = (filled - self.next.saturating_sub(self.written) % filled)
            .min(self.segments - self.next);
        if left == 1
            || (left <= sendable
                && (left < self.segments - self.next || self.segments == self.ends))
        {
            return false;
        }
        // Room for a third of the window is enough.
        let allowed = self.window.cwnd.min(self.window_end(config).saturating_sub(self.una));
        if 3 * sendable as u64 >= allowed as u64 {
            return false;
        }
        let smoothed = self.rtt.smoothed();
        self.board[self.una].sent() + smoothed <= now + (smoothed / 2).min(MILLISECOND)
    }

    /// Returns the time in ps at which there will be room, if too many bytes of the connection wait
    /// to leave the host.
    #[inline(always)]
    pub(super) fn waits_for_host_queue(&mut self, now: u64, config: &TcpConfig) -> Option<u64> {
        if !config.small_queues {
            return None;
        }
        self.small_queue.release(now);
        if self.small_queue.bytes <= LEAST_IN_LINE * config.mss as u64 {
            None
        } else {
            self.line_is_long(config)
        }
    }

    #[inline(never)]
    fn line_is_long(&mut self, config: &TcpConfig) -> Option<u64> {
        // A probe always leaves, and one buffer may always be in flight.
        let of_window = self.rate_of_window(&LINUX_PACING, config);
        let buffer = self.offload_at(of_window, config);
        if self.probe || self.next - self.una <= buffer {
            return None;
        }
        let paces = config.pacing.is_some() || self.sampler.is_some();
        let reckoned = if self.sampler.is_some() { self.control.pacing_rate() } else { of_window };
        let rate = reckoned.map_or(u64::MAX, |bits| bits / 8);
        let mut limit = (rate >> 10).max(2 * buffer as u64 * config.mss as u64);
        if !paces {
            limit = limit.min(MOST_IN_LINE);
        }
        // The limit doubles while retransmissions are due.
        if self.unrepeated > 0 && !self.new_only {
            limit = limit.saturating_mul(2);
        }
        (self.small_queue.bytes > limit).then(|| self.small_queue.falls_to(limit))
    }

    /// Lets the application write into the send buffer, if acknowledgements or a larger window may
    /// have made enough room, and less than a window is written and not sent. An application without
    /// a limit has written everything.
    #[inline(always)]
    pub(super) fn fill_send_buffer(&mut self, config: &TcpConfig) {
        let to = self.send_memory.to;
        let needs = || {
            self.una >= self.send_memory.wakes_at
                || self.next.saturating_add(self.window.cwnd) >= to
        };
        if to < self.segments && needs() {
            self.write_on(config);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_on(&mut self, config: &TcpConfig) {
        let Some(buffer) = &config.send else { return };
        if config.manner == Manner::Ns3 {
            // ns-3's sockets tell the application of all free memory, and count payload only.
            let segments = buffer.size(config.mss, self.window.cwnd) / u64::from(config.mss);
            let segments = u32::try_from(segments).unwrap_or(u32::MAX).max(1);
            self.send_memory.to = self.send_memory.to.max(self.una.saturating_add(segments));
            self.send_memory.wakes_at = self.una + 1;
            return;
        }
        let whole = whole_buffer(config);
        let (sent, written) = match config.burst {
            Burst::Linux => (self.offload(config), whole),
            Burst::Segments(1) => (1, 1),
            Burst::Segments(most) => (most, whole.max(most)),
        };
        let mss = u64::from(config.mss);
        let offload = Offload { mss, sent: sent.into(), written: written.into() };
        let size = buffer.size(config.mss, self.window.cwnd);
        self.send_memory.fill(self.una, self.next, size, offload);
    }
}
