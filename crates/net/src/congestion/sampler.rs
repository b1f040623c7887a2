//! Delivery rate samples of a sender, as in Linux tcp_rate.c
//! (draft-cheng-iccrg-delivery-rate-estimation).
//!
//! The sender calls, for each acknowledgement and in this order: [`Sampler::begin`];
//! [`Sampler::on_delivered`] for every segment newly known to have arrived; [`Sampler::on_lost`]
//! for every segment newly taken for lost; [`Sampler::end`]. It calls [`Sampler::on_send`] at every
//! transmission, before it counts the segment. Losses found by a timer are reported outside of
//! `begin` and `end`.
//!
//! [`Sampler::as_ns3`] samples as ns-3's TcpRateLinux (3.48), which keeps a sample until a segment
//! arrives that was sent after more segments had been delivered. If several segments are sent
//! between two acknowledgements, all but the first therefore count as delivered in the time of the
//! first. The rate is then too high by one segment or more per window.

/// State of the sender when a segment was last sent.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    delivered_time: u64,
    first_sent: u64,
    delivered: u32,
    marked: u32,
    lost: u32,
    /// Segments in flight, including this one. The top bit: the application limited the sender.
    in_flight: u32,
}

const APP_LIMITED: u32 = 1 << 31;

/// State of the sender at the end of an acknowledgement: losses are marked and the state has
/// changed, but nothing has been sent yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct SampleContext {
    pub now: u64,
    /// Segments in the network (RFC 6675's pipe).
    pub in_flight: u32,
    /// Least round trip in ps of this connection; 0 before the first.
    pub min_rtt: u64,
    /// True if the ECN echo bit is set.
    pub ece: bool,
    /// Time in ps at which pacing lets the next segment leave; 0 or a past time means now.
    pub next_send: u64,
    /// True if the congestion window limited the sender in the last round (Linux
    /// `is_cwnd_limited`).
    pub window_limited: bool,
}

/// Rate sample of one acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    /// Segments delivered during `interval` (ps). If `interval` is 0, there is no valid sample, but
    /// the other fields are valid.
    pub delivered: u32,
    pub interval: u64,
    /// Segments in `delivered` that were acknowledged with the echo bit.
    pub marked: u32,
    /// Segments lost since the sampled one was sent.
    pub lost: u32,
    /// Total of segments delivered when the sampled one was sent.
    pub prior_delivered: u32,
    /// Segments in flight when the sampled one was sent, including it.
    pub tx_in_flight: u32,
    /// True if the application limited the sender when the sampled segment was sent.
    pub app_limited: bool,
    /// Segments newly delivered, and newly taken for lost, by this acknowledgement.
    pub acked_sacked: u32,
    pub losses: u32,
    /// Segments in flight before and after this acknowledgement.
    pub prior_in_flight: u32,
    pub in_flight: u32,
    pub next_send: u64,
    pub window_limited: bool,
}

/// A segment taken for lost, with the values that [`Sample`] would have for it.
#[derive(Debug, Clone, Copy)]
pub struct Lost {
    pub tx_in_flight: u32,
    /// Segments lost since it was sent, including it.
    pub lost: u32,
    pub app_limited: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Sampler {
    /// Ring of segments, addressed by sequence number.
    ring: Vec<Sent>,
    /// Totals: segments delivered, delivered with the echo bit, and taken for lost.
    delivered: u32,
    marked: u32,
    lost: u32,
    /// Time in ps at which `delivered` last grew, and departure time of the newest delivered
    /// segment.
    delivered_time: u64,
    first_sent: u64,
    /// The sender is application-limited until more segments than this have been delivered; 0: it
    /// is not.
    app_limited: u32,
    // State of the current acknowledgement.
    delivered_before: u32,
    lost_before: u32,
    prior_in_flight: u32,
    newest: Option<(u64, u32)>,
    sampled: Sent,
    held: Option<Held>,
}

/// State of the sample that ns-3 keeps.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    prior_delivered: u32,
    app_limited: bool,
    prior_time: u64,
    /// True until the interval turns out to be shorter than the least round trip.
    valid: bool,
    sending: u64,
    arriving: u64,
    /// True if this acknowledgement has started the sample.
    fresh: bool,
    /// Rate: segments and ps. While the application limits the sender, only a higher rate replaces
    /// it.
    rate: (u32, u64),
}

impl Held {
    fn take(&mut self, sent: &Sent, sent_at: u64) -> bool {
        if self.prior_delivered > 0 && sent.delivered <= self.prior_delivered {
            return false;
        }
        self.prior_delivered = sent.delivered;
        self.app_limited = sent.in_flight & APP_LIMITED != 0;
        self.prior_time = sent.delivered_time;
        self.valid = true;
        self.sending = sent_at - sent.first_sent;
        self.fresh = true;
        true
    }

    fn end(&mut self, delivered: u32, context: &SampleContext, sample: &mut Sample) {
        if std::mem::take(&mut self.fresh) {
            self.arriving = context.now - self.prior_time;
        }
        sample.prior_delivered = self.prior_delivered;
        sample.app_limited = self.app_limited;
        if !self.valid {
            return;
        }
        sample.delivered = delivered - self.prior_delivered;
        let interval = self.sending.max(self.arriving);
        if interval < context.min_rtt {
            self.valid = false;
            return;
        }
        let (count, time) = self.rate;
        if !self.app_limited
            || sample.delivered as u128 * time as u128 >= count as u128 * interval as u128
        {
            self.rate = (sample.delivered, interval);
        }
        (sample.delivered, sample.interval) = self.rate;
    }
}

impl Sampler {
    pub fn as_ns3() -> Self {
        Sampler { held: Some(Held::default()), ..Sampler::default() }
    }

    /// Returns the total of segments delivered. `lost` returns the total taken for lost.
    pub fn delivered(&self) -> u32 {
        self.delivered
    }
    pub fn lost(&self) -> u32 {
        self.lost
    }
    /// Returns the time in ps of the last delivery.
    pub fn delivered_time(&self) -> u64 {
        self.delivered_time
    }

    /// Reports a transmission of segment `seq` while `una..next` are outstanding. `seq == next` for
    /// the first transmission. `in_flight`: segments in the network without this one.
    #[inline]
    pub fn on_send(&mut self, seq: u32, now: u64, una: u32, next: u32, in_flight: u32) {
        if (next - una) as usize >= self.ring.len() {
            self.grow(una, next);
        }
        // ns-3 uses its estimate of the segments in the network.
        if if self.held.is_some() { in_flight == 0 } else { una == next } {
            // The pipe is empty: delivery is measured from now on.
            self.first_sent = now;
            self.delivered_time = now;
        }
        let limited = if self.app_limited > 0 { APP_LIMITED } else { 0 };
        let mask = self.ring.len() - 1;
        self.ring[seq as usize & mask] = Sent {
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            delivered: self.delivered,
            marked: self.marked,
            lost: self.lost,
            in_flight: (in_flight + 1) | limited,
        };
    }

    #[cold]
    fn grow(&mut self, una: u32, next: u32) {
        let mut larger =
            vec![
                Sent::default();
                ((next - una + 1) as usize).next_power_of_two().max(16).max(2 * self.ring.len())
            ];
        let mask = larger.len() - 1;
        if !self.ring.is_empty() {
            for seq in una..next {
                larger[seq as usize & mask] = *self.sent(seq);
            }
        }
        self.ring = larger;
    }

    fn sent(&self, seq: u32) -> &Sent {
        &self.ring[seq as usize & (self.ring.len() - 1)]
    }

    /// Starts an acknowledgement. `in_flight`: segments in the network.
    pub fn begin(&mut self, in_flight: u32) {
        self.delivered_before = self.delivered;
        self.lost_before = self.lost;
        self.prior_in_flight = in_flight;
        self.newest = None;
    }

    /// Reports that segment `seq`, last sent at `sent_at` (ps), is newly known to have arrived.
    /// Called once for each segment.
    #[inline]
    pub fn on_delivered(&mut self, seq: u32, sent_at: u64) {
        self.delivered += 1;
        if let Some(held) = &mut self.held {
            let mask = self.ring.len() - 1;
            if held.take(&self.ring[seq as usize & mask], sent_at) {
                self.first_sent = sent_at;
            }
            return;
        }
        // The newest of the delivered segments is the sampled one.
        if self.newest.is_none_or(|newest| (sent_at, seq) > newest) {
            self.newest = Some((sent_at, seq));
            self.sampled = *self.sent(seq);
        }
    }

    /// Reports that segment `seq` is newly taken for lost.
    pub fn on_lost(&mut self, seq: u32) -> Lost {
        self.lost += 1;
        let sent = self.sent(seq);
        Lost {
            tx_in_flight: sent.in_flight & !APP_LIMITED,
            lost: self.lost - sent.lost,
            app_limited: sent.in_flight & APP_LIMITED != 0,
        }
    }

    /// Marks the sender as application-limited: it has nothing more to send although its window is
    /// not full. Rates measured until the `in_flight` segments have been delivered are the
    /// application's, not the network's.
    pub fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Ends an acknowledgement and returns its sample.
    pub fn end(&mut self, context: &SampleContext) -> Sample {
        let acked_sacked = self.delivered - self.delivered_before;
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if acked_sacked > 0 {
            self.delivered_time = context.now;
            if context.ece {
                self.marked += acked_sacked;
            }
        }
        let mut sample = Sample {
            acked_sacked,
            losses: self.lost - self.lost_before,
            prior_in_flight: self.prior_in_flight,
            in_flight: context.in_flight,
            next_send: context.next_send,
            window_limited: context.window_limited,
            ..Sample::default()
        };
        if let Some(held) = &mut self.held {
            held.end(self.delivered, context, &mut sample);
        } else if let Some((sent_at, _)) = self.newest {
            let sent = &self.sampled;
            sample.delivered = self.delivered - sent.delivered;
            sample.marked = self.marked - sent.marked;
            sample.lost = self.lost - sent.lost;
            sample.prior_delivered = sent.delivered;
            sample.tx_in_flight = sent.in_flight & !APP_LIMITED;
            sample.app_limited = sent.in_flight & APP_LIMITED != 0;
            // Segments do not arrive faster than they were sent, so bunched acknowledgements do not
            // raise the rate.
            let interval = (sent_at - sent.first_sent).max(context.now - sent.delivered_time);
            // An interval shorter than a round trip comes from a spuriously retransmitted segment.
            if interval >= context.min_rtt {
                sample.interval = interval;
            }
            self.first_sent = sent_at;
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(sampler: &mut Sampler, now: u64) -> Sample {
        sampler.end(&SampleContext { now, ..SampleContext::default() })
    }

    /// Ten segments at 0, then one for each that arrives. They arrive 10 apart, 100 after they were
    /// sent. The rate is one in 10 from the third flight on.
    #[test]
    fn the_rate_is_that_of_the_bottleneck() {
        let mut sampler = Sampler::default();
        let mut sent = [0u64; 64];
        for seq in 0..10 {
            sampler.on_send(seq, 0, 0, seq, seq);
        }
        for seq in 0..40 {
            let now = 100 + 10 * seq as u64;
            sampler.begin(10);
            sampler.on_delivered(seq, sent[seq as usize]);
            let sample = end(&mut sampler, now);
            assert_eq!(sample.acked_sacked, 1);
            if seq < 10 {
                // The first flight: the interval starts at 0.
                assert_eq!(
                    (sample.delivered, sample.interval, sample.prior_delivered),
                    (seq + 1, now, 0)
                );
            } else if seq < 20 {
                // The interval since the acknowledgement that released the segment is 100, but the
                // first flight was sent at once.
                assert_eq!(
                    (sample.delivered, sample.interval, sample.prior_delivered),
                    (10, 100 + 10 * (seq as u64 - 10), seq - 9)
                );
            } else {
                assert_eq!(
                    (sample.delivered, sample.interval, sample.prior_delivered),
                    (10, 100, seq - 9)
                );
            }
            let next = seq + 10;
            sent[next as usize] = now;
            sampler.on_send(next, now, seq + 1, next, 9);
        }
        assert_eq!(sampler.delivered(), 40);
    }

    /// Acknowledgements that were held back and arrive at once: the send rate bounds the sample.
    #[test]
    fn compressed_acknowledgements_do_not_raise_the_rate() {
        let mut sampler = Sampler::default();
        for seq in 0..20 {
            sampler.on_send(seq, 10 * seq as u64, 0, seq, seq);
        }
        sampler.begin(20);
        sampler.on_delivered(0, 0);
        end(&mut sampler, 200);
        let mut best = 0.0f64;
        for seq in 1..20 {
            sampler.begin(20 - seq);
            sampler.on_delivered(seq, 10 * seq as u64);
            let sample = end(&mut sampler, 201);
            best = best.max(sample.delivered as f64 / sample.interval as f64);
        }
        assert!(best <= 20.0 / 190.0 + 1e-9, "{best}");
    }

    #[test]
    fn the_segment_sent_last_counts_and_short_intervals_do_not() {
        let mut sampler = Sampler::default();
        for seq in 0..4 {
            sampler.on_send(seq, seq as u64, 0, seq, seq);
        }
        sampler.begin(4);
        sampler.on_delivered(1, 1);
        end(&mut sampler, 101);
        // Segment 0 is retransmitted, but its first copy arrives immediately afterwards.
        assert_eq!(sampler.on_lost(0).lost, 1);
        sampler.on_send(0, 102, 0, 4, 2);
        sampler.begin(3);
        sampler.on_delivered(0, 102);
        sampler.on_delivered(2, 2);
        let sample =
            sampler.end(&SampleContext { now: 103, min_rtt: 102, ..SampleContext::default() });
        assert_eq!(
            (sample.interval, sample.prior_delivered, sample.acked_sacked, sample.losses),
            (0, 1, 2, 0)
        );
    }

    #[test]
    fn application_limits_last_until_they_are_delivered() {
        let mut sampler = Sampler::default();
        sampler.on_send(0, 0, 0, 0, 0);
        sampler.mark_app_limited(1);
        sampler.on_send(1, 50, 0, 1, 1);
        for (seq, sent, limited) in [(0, 0, false), (1, 50, true)] {
            sampler.begin(2 - seq);
            sampler.on_delivered(seq, sent);
            assert_eq!(end(&mut sampler, 100 + sent).app_limited, limited);
        }
        sampler.on_send(2, 200, 2, 2, 0);
        sampler.begin(1);
        sampler.on_delivered(2, 200);
        assert!(!end(&mut sampler, 300).app_limited);
    }

    #[test]
    fn the_ring_grows_with_what_is_outstanding() {
        let mut sampler = Sampler::default();
        for seq in 0..1000 {
            sampler.on_send(seq, 1 + seq as u64, 0, seq, seq);
        }
        for seq in 0..1000 {
            assert_eq!(sampler.sent(seq).in_flight, seq + 1);
        }
    }

    /// Segments 1 and 2 leave together when segment 0 arrives. ns-3's rule does not notice that 2
    /// was not sent earlier than 1.
    #[test]
    fn as_ns3_a_segment_too_many() {
        for (mut sampler, extra) in [(Sampler::default(), 0), (Sampler::as_ns3(), 1)] {
            sampler.on_send(0, 0, 0, 0, 0);
            sampler.begin(1);
            sampler.on_delivered(0, 0);
            assert_eq!(end(&mut sampler, 100).delivered, 1);
            sampler.on_send(1, 100, 1, 1, 1);
            sampler.on_send(2, 100, 1, 2, 2);
            sampler.begin(2);
            sampler.on_delivered(1, 100);
            let first = end(&mut sampler, 200);
            assert_eq!((first.delivered, first.interval), (1, 100));
            sampler.begin(1);
            sampler.on_delivered(2, 100);
            let second = end(&mut sampler, 210);
            assert_eq!((second.delivered, second.interval), (2, 110 - 10 * extra));
        }
    }
}
