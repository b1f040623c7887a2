//! Loss detection: determines which segments have arrived and which are lost. The inputs are the
//! scoreboard, duplicates without SACK (RFC 6582), SACKed segments above a hole (RFC 6675), and
//! send times (RACK, RFC 8985).

use super::acknowledgement::News;
use super::scoreboard::Segment;
use super::sender::Sender;
use crate::congestion::{Controller, State};
use crate::spec::{Recovery, TcpConfig};

impl Sender {
    #[inline(always)]
    pub(super) fn take_cumulative(&mut self, now: u64, cumulative: u32, news: &mut News) {
        if self.sacked == 0 && self.lost == 0 && self.resent == 0 && self.sampler.is_none() {
            // Fast path: no segment is SACKed, lost or retransmitted, so the first and the last
            // acknowledged segment give all results.
            let (first, last) = (self.una, cumulative - 1);
            news.delivered = cumulative - first;
            news.oldest = Some(self.board[first].sent());
            let segment = self.board[last];
            news.newest = Some(segment.sent());
            news.lowest_original = first;
            if let Some(rack) = &mut self.rack {
                rack.advance(now, &segment, cumulative);
                rack.measure(now - segment.sent());
            }
        } else {
            self.take_marked(now, cumulative, news);
        }
        self.una = cumulative;
        self.resend_from = self.resend_from.max(cumulative);
        self.lost_below = self.lost_below.max(cumulative);
    }

    fn take_marked(&mut self, now: u64, cumulative: u32, news: &mut News) {
        let mut ambiguous = false;
        for seq in self.una..cumulative {
            let segment = self.board[seq];
            if segment.has(Segment::SACKED) {
                self.sacked -= 1;
                continue;
            }
            news.delivered += 1;
            self.strike(&segment);
            if let Some(sampler) = &mut self.sampler {
                sampler.on_delivered(seq, segment.sent());
            }
            if segment.has(Segment::AMBIGUOUS) {
                ambiguous = true;
            } else {
                news.oldest = news.oldest.or(Some(segment.sent()));
                news.newest = Some(segment.sent());
                news.lowest_original = news.lowest_original.min(seq);
            }
            if let Some(rack) = &mut self.rack {
                rack.advance(now, &segment, seq + 1);
            }
        }
        // Segments behind a retransmitted one waited for it at the receiver. As in Linux, such an
        // acknowledgement gives no sample.
        if ambiguous {
            news.oldest = None;
            news.newest = None;
        } else if let (Some(rack), Some(sent)) = (&mut self.rack, news.newest) {
            rack.measure(now - sent);
        }
    }

    /// Removes a segment that has arrived from the counts of lost and retransmitted segments.
    #[inline(always)]
    fn strike(&mut self, segment: &Segment) {
        let (lost, resent) = (segment.has(Segment::LOST), segment.has(Segment::RESENT));
        self.lost -= lost as u32;
        self.resent -= resent as u32;
        self.unrepeated -= (lost && !resent) as u32;
    }

    /// Marks the segments that a SACK block covers.
    pub(super) fn take_block(&mut self, now: u64, from: u32, to: u32, news: &mut News) {
        let (from, to) = (from.max(self.una), to.min(self.next));
        if from >= to {
            return;
        }
        // Blocks grow: skip the part that an earlier block covered.
        let known = self
            .known_blocks
            .iter()
            .copied()
            .filter(|&(a, b)| a >= from && b <= to && b > a)
            .max_by_key(|&(a, b)| b - a);
        let (skip_from, skip_to) = known.unwrap_or((to, to));
        let mut seq = from;
        while seq < to {
            if seq == skip_from {
                seq = skip_to;
                continue;
            }
            let segment = self.board[seq];
            if !segment.has(Segment::SACKED) {
                self.strike(&segment);
                if let Some(sampler) = &mut self.sampler {
                    sampler.on_delivered(seq, segment.sent());
                }
                if let Some(rack) = &mut self.rack {
                    rack.advance(now, &segment, seq + 1);
                }
                news.last_sent = news.last_sent.max(segment.sent());
                if !segment.has(Segment::AMBIGUOUS) {
                    let sent = segment.sent();
                    news.oldest = Some(news.oldest.map_or(sent, |s| s.min(sent)));
                    news.newest = Some(news.newest.map_or(sent, |s| s.max(sent)));
                    news.lowest_original = news.lowest_original.min(seq);
                }
                let segment = &mut self.board[seq];
                segment.unset(Segment::LOST | Segment::RESENT);
                segment.set(Segment::SACKED);
                self.sacked += 1;
                news.sacked += 1;
                news.delivered += 1;
            }
            seq += 1;
        }
        self.highest_sacked = self.highest_sacked.max(to - 1);
        // Replace the block from which this one grew, or the oldest known block.
        let slot = self
            .known_blocks
            .iter()
            .position(|&(a, b)| (a >= from && b <= to) || b <= self.una)
            .unwrap_or(3);
        self.known_blocks[slot] = (from, to);
        self.known_blocks[..=slot].rotate_right(1);
    }

    pub(super) fn saw_reordering(&mut self, distance: u32) {
        if let Some(rack) = &mut self.rack {
            rack.reordered = true;
            rack.reordering = rack.reordering.max(distance.min(300));
        }
    }

    /// Reports newly lost segments to a congestion control that takes samples.
    #[cold]
    fn tell_lost(&mut self, now: u64, lost: &[u32]) {
        if let Some(sampler) = &mut self.sampler {
            for &seq in lost {
                let lost = sampler.on_lost(seq);
                self.control.on_segment_lost(&self.window, now, &lost, sampler);
            }
        }
    }

    /// Marks losses by RFC 6675: a segment is lost when `dupack_threshold` segments above it have
    /// been SACKed.
    pub(super) fn mark_lost(&mut self, now: u64, config: &TcpConfig) {
        let Some(threshold) = config.dupack_threshold else { return };
        if self.sacked < threshold || self.highest_sacked < self.una {
            return;
        }
        let (mut seen, mut seq) = (0, self.highest_sacked + 1);
        while seen < threshold && seq > self.una {
            seq -= 1;
            seen += self.board[seq].has(Segment::SACKED) as u32;
        }
        if seen < threshold {
            return;
        }
        for lost in self.lost_below..seq {
            let segment = &mut self.board[lost];
            if !segment.has(Segment::SACKED | Segment::LOST | Segment::AMBIGUOUS) {
                segment.set(Segment::LOST);
                self.lost += 1;
                self.unrepeated += 1;
                self.newly_lost = true;
                if self.sampler.is_some() {
                    self.tell_lost(now, &[lost]);
                }
            }
        }
        self.lost_below = self.lost_below.max(seq);
    }

    /// Marks losses by RFC 8985 §6.2 step 5: a segment is lost if it was sent before the most
    /// recently sent segment that has arrived, and has not arrived within the reordering window.
    /// Originals are in the order of sending and retransmissions have a queue of their own, so no
    /// segment is examined twice.
    pub(super) fn mark_late(&mut self, now: u64, config: &TcpConfig) {
        let window = self.reordering_window(config);
        let Some(rack) = &mut self.rack else { return };
        rack.waiting = false;
        if rack.sent == 0 && rack.end == 0 {
            return;
        }
        let (newest, patience) = ((rack.sent, rack.end), rack.rtt + window);
        let mut told: Vec<u32> = Vec::new();
        let telling = self.sampler.is_some();
        let mut wait = false;
        let mut seq = self.lost_below.max(self.una);
        while seq < self.next {
            let segment = &mut self.board[seq];
            if !segment.has(Segment::SACKED | Segment::LOST | Segment::AMBIGUOUS) {
                if (segment.sent(), seq + 1) >= newest {
                    break;
                }
                if segment.sent() + patience > now {
                    wait = true;
                    break;
                }
                segment.set(Segment::LOST);
                self.lost += 1;
                self.unrepeated += 1;
                self.newly_lost = true;
                if telling {
                    told.push(seq);
                }
            }
            seq += 1;
        }
        self.lost_below = seq;
        while let Some(&(seq, sent)) = rack.repeated.front() {
            let stale = seq < self.una || seq >= self.next || {
                let segment = &self.board[seq];
                segment.sent() != sent
                    || segment.has(Segment::SACKED)
                    || !segment.has(Segment::RESENT)
            };
            if !stale {
                if (sent, seq + 1) >= newest {
                    break;
                }
                if sent + patience > now {
                    wait = true;
                    break;
                }
                // The retransmission is lost, too.
                let segment = &mut self.board[seq];
                segment.unset(Segment::RESENT);
                self.resent -= 1;
                if !segment.has(Segment::LOST) {
                    segment.set(Segment::LOST);
                    self.lost += 1;
                }
                self.unrepeated += 1;
                self.newly_lost = true;
                if telling {
                    told.push(seq);
                }
                self.resend_from = self.resend_from.min(seq);
            }
            rack.repeated.pop_front();
        }
        rack.waiting = wait;
        if wait {
            // The last of the late segments is due after this time.
            let (sent, rtt) = (rack.sent, rack.rtt);
            self.wait_for_reordering(now, (sent + rtt + window).saturating_sub(now), config);
        }
        if telling {
            self.tell_lost(now, &told);
        }
    }

    /// Returns the reordering window in ps (RFC 8985 §6.2 step 4; Linux tcp_rack_reo_wnd).
    fn reordering_window(&self, config: &TcpConfig) -> u64 {
        let Some(rack) = &self.rack else { return 0 };
        if !rack.reordered {
            if matches!(self.state, State::Recovery | State::Loss) {
                return 0;
            }
            if config.dupack_threshold.is_some_and(|t| self.sacked >= t.max(rack.reordering)) {
                return 0;
            }
        }
        (rack.min_rtt / 4).min(self.rtt.smoothed())
    }

    /// Counts duplicate acknowledgements without SACK. Each stands for one segment that has left
    /// the network (emulated as in Linux).
    pub(super) fn count_duplicates(
        &mut self,
        now: u64,
        acked: u32,
        outstanding: u32,
        config: &TcpConfig,
    ) {
        if acked > 0 {
            // The acknowledgement covers the hole and the segments that had arrived behind it.
            self.sacked = self
                .sacked
                .saturating_sub(acked - 1)
                .min((self.next - self.una).saturating_sub(self.lost));
            self.duplicates = 0;
            if self.una >= self.high || self.state == State::Open {
                self.sacked = 0;
            } else if self.state == State::Recovery {
                // Partial acknowledgement: retransmit the next hole at once (RFC 6582 §3.2 step 5).
                self.mark_first_lost(now);
                self.at_once = true;
            }
        } else if outstanding > 0 {
            self.duplicates += 1;
            if self.sacked + self.lost + 1 < outstanding {
                self.sacked += 1;
            }
            if config.dupack_threshold.is_some_and(|t| self.duplicates >= t)
                && matches!(self.state, State::Open | State::Reduced)
            {
                self.mark_first_lost(now);
            }
        }
    }

    fn mark_first_lost(&mut self, now: u64) {
        let segment = &mut self.board[self.una];
        if !segment.has(Segment::LOST) {
            segment.set(Segment::LOST);
            self.lost += 1;
            self.unrepeated += 1;
            self.sacked = self.sacked.min(self.next - self.una - self.lost);
            if self.sampler.is_some() {
                self.tell_lost(now, &[self.una]);
            }
        }
        self.resend_from = self.una;
    }

    /// Marks all segments that have not arrived as lost, after a time-out. With RACK, segments sent
    /// within the last round trip are excepted (Linux tcp_timeout_mark_lost).
    pub(super) fn mark_all_lost(&mut self, now: u64, config: &TcpConfig) {
        let recent = match (&self.rack, config.recovery) {
            (Some(rack), Recovery::Rack) => now.saturating_sub(rack.rtt),
            _ => u64::MAX,
        };
        (self.lost, self.resent, self.unrepeated) = (0, 0, 0);
        let mut all = true;
        let mut told: Vec<u32> = Vec::new();
        for seq in self.una..self.next {
            let segment = &mut self.board[seq];
            if segment.has(Segment::SACKED) {
                continue;
            }
            if segment.sent() > recent && seq != self.una {
                // This segment can still be in flight.
                all = false;
                let (lost, resent) = (segment.has(Segment::LOST), segment.has(Segment::RESENT));
                self.lost += lost as u32;
                self.resent += resent as u32;
                self.unrepeated += (lost && !resent) as u32;
                continue;
            }
            if self.sampler.is_some()
                && (!segment.has(Segment::LOST) || segment.has(Segment::RESENT))
            {
                told.push(seq);
            }
            segment.unset(Segment::RESENT);
            segment.set(Segment::LOST);
            self.lost += 1;
            self.unrepeated += 1;
        }
        self.tell_lost(now, &told);
        self.resend_from = self.una;
        self.lost_below = if all { self.next } else { self.una };
    }
}
