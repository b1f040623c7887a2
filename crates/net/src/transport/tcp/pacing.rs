//! When segments may leave that the window allows: one by one at a rate, or together as with segmentation offload; and which have to wait in line at
//! the host's own transmitter.

use super::sender::{MILLISECOND, Sender};
use crate::congestion::{Controller, State};
use crate::spec::{Burst, Manner, Pacing, TcpConfig};

/// The first segments of a connection are not paced (Linux tcp_update_skb_after_send).
const UNPACED: u64 = 10;

const MICROSECOND: u64 = 1_000_000;
/// Bytes of payload that Linux hands down at once at most: 64 KiB less room for headers.
const GSO_MAX: u64 = 65_536 - 257;
/// Linux reckons with this rate whether it paces or not.
const LINUX_PACING: Pacing = Pacing { most: None, slow_start_percent: 200, avoidance_percent: 120 };
/// Linux's `tcp_limit_output_bytes`: 16 buffers of segmentation offload (until 6.17).
const MOST_IN_LINE: u64 = 16 * 65_536;
/// The least that may wait: two buffers of two segments.
const LEAST_IN_LINE: u64 = 4;

/// Time of a segment at a rate of bits per second.
fn spacing(rate: u64, config: &TcpConfig) -> u64 {
    (config.mss as u128 * 8_000_000_000_000 / rate.max(1) as u128) as u64
}

impl Sender {
    /// Would the window let something go if the pace did?
    pub(super) fn has_work(&self, config: &TcpConfig) -> bool {
        self.probe
            || (self.at_once && self.unrepeated > 0)
            || (self.pipe() < self.window.cwnd
                && (self.unrepeated > 0 || self.rescues(config) || (self.next < self.segments && self.next < self.window_end(config))))
    }

    /// A segment goes: the next may follow after its time at the pacing rate, or with it as far as a burst reaches.
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
            // A pace that could not be kept is made up for by half a segment at most (Linux tcp_update_skb_after_send).
            let credit = if self.pace_at == 0 { 0 } else { (now - self.pace_at).min(spacing / 2) };
            self.pace_at = now - credit;
            // What is handed to the network together is not spread.
            self.burst = self.control.burst().max(self.in_burst + 1);
        }
        self.pace_at += spacing;
        self.burst = self.burst.saturating_sub(1);
    }

    /// From the end of the initial window on the next may follow after its time from now; what goes while one waits does not put it off.
    fn pace_as_ns3(&mut self, now: u64, config: &TcpConfig) {
        if self.next + 1 >= config.initial_window
            && self.pace_at <= now
            && let Some(rate) = self.pacing_rate(config)
        {
            self.pace_at = now + spacing(rate, config);
        }
    }

    /// Bits of payload per second.
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

    /// The window per round trip and some more (Linux tcp_update_pacing_rate).
    pub(super) fn rate_of_window(&self, pacing: &Pacing, config: &TcpConfig) -> Option<u64> {
        let smoothed = self.rtt.smoothed();
        if smoothed == 0 {
            return None;
        }
        let percent = if self.window.cwnd < self.window.ssthresh / 2 { pacing.slow_start_percent } else { pacing.avoidance_percent };
        // Bits of the window; `scaled` turns them into bits per second, as the round trip is in picoseconds and `percent` in hundredths.
        let bits = u64::from(self.window.cwnd.max(self.next - self.una)) * config.mss as u64 * 8;
        let scaled = percent as u64 * 10_000_000_000;
        // Most windows fit 64 bits, whose division is several times as fast.
        Some(bits.checked_mul(scaled).map_or_else(|| (u128::from(bits) * u128::from(scaled) / u128::from(smoothed)) as u64, |product| product / smoothed))
    }

    /// A burst is not begun before it fits. Losses are no time to wait.
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
        let room = free.min(window);
        let most = match config.burst {
            Burst::Segments(burst) => {
                let wanted = burst.min((self.window.cwnd / 3).max(1)).min(self.segments - self.next);
                if pipe > 0 && room < wanted {
                    // The window is what limits as much as if it were full.
                    self.validate(self.window.cwnd - pipe <= window);
                    return true;
                }
                wanted
            }
            Burst::Linux => {
                let most = self.offload(config);
                if most > 1 && room < most && self.waits(now, room, config) {
                    self.validate(free < window);
                    return true;
                }
                most
            }
        };
        self.in_burst = most.min(room) - 1;
        false
    }

    /// Linux tcp_tso_autosize: a millisecond at the pacing rate, and more on short paths; two segments at least.
    pub(super) fn offload(&self, config: &TcpConfig) -> u32 {
        self.offload_at(self.rate_of_window(&LINUX_PACING, config), config)
    }

    /// `rate`: bits per second of the window, as Linux reckons.
    fn offload_at(&self, rate: Option<u64>, config: &TcpConfig) -> u32 {
        let mss = config.mss as u64;
        let rate = rate.map_or(u64::MAX, |bits| bits / 8);
        let min_rtt = self.rack.as_ref().map_or(0, |rack| rack.min_rtt / MICROSECOND);
        let near = if min_rtt > 0 { GSO_MAX.checked_shr((min_rtt >> 9).min(64) as u32).unwrap_or(0) } else { 0 };
        ((rate >> 10).saturating_add(near).min(GSO_MAX) / mss).max(2) as u32
    }

    /// Linux tcp_tso_should_defer for a full burst that has not enough room.
    pub(super) fn waits(&self, now: u64, room: u32, config: &TcpConfig) -> bool {
        if self.next == self.una || self.sampler.is_some() || config.pacing.is_some() {
            return false;
        }
        // Only behind a recent write (Linux: within a millisecond, whatever the tick).
        if now - self.last_sent > MILLISECOND {
            return false;
        }
        // What is left of a buffer the application filled goes as soon as it fits, and a single segment at once. The last buffer might yet be
        // filled up, unless it carries the FIN.
        let filled = (GSO_MAX / config.mss as u64).max(1) as u32;
        let left = (filled - self.next.saturating_sub(self.written) % filled).min(self.segments - self.next);
        if left == 1 || (left <= room && (left < self.segments - self.next || self.segments == self.ends)) {
            return false;
        }
        // A third of the window is enough.
        let allowed = self.window.cwnd.min(self.window_end(config).saturating_sub(self.una));
        if 3 * room as u64 >= allowed as u64 {
            return false;
        }
        let smoothed = self.rtt.smoothed();
        self.board[self.una].sent() + smoothed <= now + (smoothed / 2).min(MILLISECOND)
    }

    /// Too much waits to leave the host: when there will be room.
    #[inline(always)]
    pub(super) fn stands_in_line(&mut self, now: u64, config: &TcpConfig) -> Option<u64> {
        if !config.small_queues {
            return None;
        }
        self.small_queue.release(now);
        if self.small_queue.bytes <= LEAST_IN_LINE * config.mss as u64 { None } else { self.line_is_long(config) }
    }

    #[inline(never)]
    fn line_is_long(&mut self, config: &TcpConfig) -> Option<u64> {
        // A probe goes; and one buffer may always be under way.
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
        // Repetitions may double it.
        if self.unrepeated > 0 && !self.new_only {
            limit = limit.saturating_mul(2);
        }
        (self.small_queue.bytes > limit).then(|| self.small_queue.falls_to(limit))
    }
}
