//! BBR version 1, as in Linux 6.12 tcp_bbr.c, in its arithmetic but with times in ps.
//!
//! The window follows a model of the path, so only a time-out may set it otherwise (to one
//! segment). BBR needs pacing. Linux paces by the payload (the length of the segment before headers
//! are added: tcp_update_skb_after_send), does not pace the first ten segments of a connection, and
//! catches up by up to half of a gap when it was late.

use super::super::{
    About, Ack, Controller, Decrease, Flavour, IncreaseRule, Opening, Parameters, Sample, Sampler,
    Sender, SlowStart, State, Window,
};
use super::arithmetic::{MILLISECOND, UNIT, near, offload, paced, rate, volume};
use super::common::{
    Core, Cycle, DRAIN_GAIN, Extra, MIN_WINDOW, Mode, WINDOW_GAIN, at_most, extra_window, quantum,
    recovering,
};
use super::filters::Maximum;
use super::ns3::Ns3Bbr;
use super::policer::{Policer, Totals};
use crate::Model;
use afflux_config::keys::up_to_a_day;
use afflux_config::{Auto, Duration, Or, keys};

keys! {
    /// Parameters of BBR version 1.
    pub struct Keys as "Bbr" => BbrConfig(sender: &Sender) {
        /// Implementation whose rules are used.
        flavour: Flavour = (sender.flavour) "the stack's, `\"linux\"` or `\"ns3\"`";
        /// Time without a smaller round trip after which the sender drains the pipe to measure the
        /// round trip.
        probe_rtt_interval: Duration = "10s" from "Linux", check up_to_a_day;
        /// Least duration of that measurement.
        probe_rtt_time: Duration = "200ms", check |time, at| at_most(time, probe_rtt_interval, at);
        /// Segments that sender and receiver pass on at once. The window exceeds the path's own
        /// need by three times as many. `"auto"`: as many as Linux's segmentation offload takes, a
        /// millisecond's worth.
        send_quantum: Or<Auto, u32> = (if flavour == Flavour::Ns3 { Or::some(1) } else { Or::NONE })
            "`\"auto\"`; 1 and nothing else with flavour `\"ns3\"`", check |given, at| quantum(given, flavour, at);
    }
}

impl Parameters for BbrConfig {
    fn about(&self) -> About {
        ABOUT
    }
    fn window_response(&self, _: f64) -> (Decrease, IncreaseRule) {
        (Decrease::default(), IncreaseRule::AtOnce)
    }
}

impl BbrConfig {
    pub fn start<C: From<Box<Bbr>> + From<Box<Ns3Bbr>>>(&self, opening: Opening) -> C {
        match self.flavour {
            Flavour::Linux => Box::new(Bbr::new(self, opening)).into(),
            Flavour::Ns3 => {
                let (interval, time) = (self.probe_rtt_interval, self.probe_rtt_time);
                Box::new(Ns3Bbr::new(interval, time, opening)).into()
            }
        }
    }
}

/// 2 / ln 2: the least gain that doubles the rate in each round trip.
const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
/// The first phase is any but that of 3/4.
const FIRST_PHASES: u64 = 7;
const BANDWIDTH_ROUNDS: u32 = 10;
/// Initial window in segments (Linux TCP_INIT_CWND).
const INITIAL_WINDOW: u32 = 10;

#[derive(Debug, Clone)]
pub struct Bbr {
    core: Core,
    send_quantum: Option<u32>,
    rounds: u32,
    bandwidth: Maximum<false>,
    cycle: Cycle,
    conserving: bool,
    extra: Extra,
    /// True if there was a time-out since the last acknowledgement.
    timed_out: bool,
    delivered_time: u64,
    policer: Policer,
}

impl Bbr {
    pub fn new(config: &BbrConfig, opening: Opening) -> Self {
        let (interval, time) = (config.probe_rtt_interval, config.probe_rtt_time);
        let mut core = Core::new(interval, time, HIGH_GAIN, opening);
        // Before the first measurement the round trip counts as a millisecond.
        core.pacing_rate = core.first_pacing_rate(core.initial_window, MILLISECOND, HIGH_GAIN);
        Bbr {
            core,
            send_quantum: config.send_quantum,
            rounds: 0,
            bandwidth: Maximum::default(),
            cycle: Cycle::default(),
            conserving: false,
            extra: Extra::default(),
            timed_out: false,
            delivered_time: 0,
            policer: Policer::default(),
        }
    }

    fn start_pacing(&mut self, window: &Window, rtt: u64) {
        self.core.seen_rtt = true;
        self.core.pacing_rate = self.core.first_pacing_rate(window.cwnd, rtt, HIGH_GAIN);
    }

    fn rate(&self) -> u64 {
        if self.policer.in_use { self.policer.rate } else { self.bandwidth.get() }
    }
    fn paced(&self, gain: u32) -> u64 {
        paced(self.rate(), gain, self.core.mss)
    }

    /// Returns the number of segments passed to the network at once.
    fn quantum(&self) -> u32 {
        self.send_quantum.unwrap_or_else(|| {
            offload(self.core.pacing_rate, 0, self.core.mss).max(self.least_quantum()).min(127)
        })
    }
    fn least_quantum(&self) -> u32 {
        if self.core.pacing_rate < 1_200_000 >> 3 { 1 } else { 2 }
    }

    fn target(&self, rate: u64, gain: u32) -> u32 {
        self.core.target(rate, gain, INITIAL_WINDOW)
    }

    /// Adds the segments that both ends hold, rounded to an even number, and two more while
    /// probing, so that probing has an effect on short pipes.
    fn with_budget(&self, window: u32) -> u32 {
        let window = window.saturating_add(3 * self.quantum()).saturating_add(1) & !1;
        let probing = self.core.mode == Mode::ProbeBandwidth && self.cycle.phase == 0;
        window.saturating_add(if probing { 2 } else { 0 })
    }

    fn in_flight_at(&self, gain: u32) -> u32 {
        self.with_budget(self.target(self.bandwidth.get(), gain))
    }
    fn in_network(&self, in_flight: u32, sample: &Sample, now: u64) -> u32 {
        self.core.in_network(in_flight, self.rate(), sample, now, || self.quantum())
    }

    fn update_bandwidth(&mut self, sample: &Sample, totals: &Totals) {
        self.core.update_round(sample, totals.delivered);
        if sample.interval == 0 {
            return;
        }
        if self.core.round_start {
            self.rounds += 1;
            self.conserving = false;
        }
        self.sample_policer(sample.losses > 0, sample.app_limited, totals);
        let bandwidth = rate(sample.delivered, sample.interval);
        if !sample.app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, bandwidth);
        }
    }

    fn sample_policer(&mut self, lossy: bool, app_limited: bool, totals: &Totals) {
        let Core { mode, round_start, mss, .. } = self.core;
        if self.policer.in_use {
            if mode == Mode::ProbeBandwidth && round_start && self.policer.expires(totals) {
                self.start_probing();
            }
        } else if self.policer.detect(lossy, app_limited, round_start, totals, mss) {
            self.core.pacing_gain = UNIT;
        }
    }

    fn start_probing(&mut self) {
        self.core.mode = Mode::ProbeBandwidth;
        self.cycle.start(&mut self.core.random, FIRST_PHASES, self.delivered_time);
    }

    fn phase_is_over(&self, sample: &Sample, now: u64) -> bool {
        let length = self.delivered_time.saturating_sub(self.cycle.since);
        let full_length = length > self.core.min_rtt.value;
        let gain = self.core.pacing_gain;
        if gain == UNIT {
            return full_length;
        }
        let in_flight = self.in_network(sample.prior_in_flight, sample, now);
        if gain > UNIT {
            // Until the intended queue exists, or does not fit into the buffer.
            return full_length && (sample.losses > 0 || in_flight >= self.in_flight_at(gain));
        }
        full_length || in_flight <= self.in_flight_at(UNIT)
    }

    fn check_full(&mut self, sample: &Sample) {
        let full = &mut self.core.full;
        if !full.reached && self.core.round_start && !sample.app_limited {
            let bandwidth = self.bandwidth.get();
            full.update(bandwidth, full.grows(bandwidth), true);
        }
    }

    fn check_drain(&mut self, window: &mut Window, sample: &Sample, now: u64) {
        if self.core.mode == Mode::Startup && self.core.full.reached {
            self.core.mode = Mode::Drain;
            window.ssthresh = self.in_flight_at(UNIT);
        }
        if self.core.mode == Mode::Drain
            && self.in_network(sample.in_flight, sample, now) <= self.in_flight_at(UNIT)
        {
            self.start_probing();
        }
    }

    fn update_min_rtt(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        sample: &Sample,
        sampler: &mut Sampler,
    ) {
        let core = &mut self.core;
        // As in Linux since 5.10, a round trip that equals the minimum does not renew it.
        let expired = core.min_rtt.update(ack, core.probe_rtt_interval, false);
        if core.enter_probe_rtt(expired) {
            core.save_window(window.cwnd, true);
        }
        if core.mode == Mode::ProbeRtt
            && core.in_probe_rtt(ack, sample.in_flight, MIN_WINDOW, sampler)
        {
            core.min_rtt.since = ack.now;
            window.cwnd = window.cwnd.max(core.prior_window);
            if core.full.reached {
                self.start_probing();
            } else {
                core.mode = Mode::Startup;
            }
        }
        self.core.idle_restart &= sample.delivered == 0;
    }

    fn set_window(&mut self, window: &mut Window, ack: &Ack, sample: &Sample, delivered: u32) {
        let acked = sample.acked_sacked;
        if acked > 0 {
            let mut cwnd = window.cwnd.saturating_sub(sample.losses).max(1);
            if ack.state == State::Recovery && self.core.previous != State::Recovery {
                // The first round of recovery sends as many segments as are delivered.
                self.conserving = true;
                self.core.next_round = delivered;
                cwnd = sample.in_flight + acked;
            } else if recovering(self.core.previous) && !recovering(ack.state) {
                cwnd = cwnd.max(self.core.prior_window);
                self.conserving = false;
            }
            self.core.previous = ack.state;
            window.cwnd = if self.conserving {
                cwnd.max(sample.in_flight + acked)
            } else {
                let rate = self.rate();
                let full = self.core.full.reached;
                let extra = if full { extra_window(&self.extra, rate) } else { 0 };
                let target = self.target(rate, self.core.window_gain).saturating_add(extra);
                let small = delivered < INITIAL_WINDOW;
                self.core.grown(cwnd, acked, self.with_budget(target), small)
            };
        }
        window.cwnd = window.cwnd.min(window.limit);
        if self.core.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_WINDOW);
        }
    }
}

impl Controller for Bbr {
    /// Starts the model at the time at which the connection opens. The handshake took `rtt` ps (0:
    /// unknown).
    fn on_established(&mut self, window: &Window, now: u64, rtt: u64) {
        self.core.min_rtt.since = now;
        self.delivered_time = now;
        self.extra.restart(now);
        self.policer.start(now);
        if rtt > 0 {
            self.core.min_rtt.value = rtt;
            self.start_pacing(window, rtt);
        }
    }

    fn owns_window(&self) -> bool {
        true
    }

    /// Returns the pacing rate in bit/s of payload.
    fn pacing_rate(&self) -> Option<u64> {
        Some(self.core.pacing_rate.saturating_mul(8).max(1))
    }

    /// Returns the segments that leave back to back, as one buffer for segmentation offload.
    fn burst(&self) -> u32 {
        self.send_quantum.unwrap_or_else(|| {
            let more = near(self.core.min_rtt.value);
            offload(self.core.pacing_rate, more, self.core.mss).max(self.least_quantum())
        })
    }

    /// Handles every acknowledgement after losses were marked and the sender's state changed.
    fn on_sample(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        sample: &Sample,
        sampler: &mut Sampler,
    ) {
        if std::mem::take(&mut self.timed_out) {
            // A time-out counts as the end of a round with a loss, with the totals at that time.
            let delivered = sampler.delivered() - sample.acked_sacked;
            let lost = sampler.lost() - sample.losses;
            self.core.round_start = true;
            let totals = Totals { delivered, lost, time: self.delivered_time };
            self.sample_policer(true, false, &totals);
        }
        let totals = totals(sampler);
        self.delivered_time = totals.time;
        self.update_bandwidth(sample, &totals);
        if sample.acked_sacked > 0 && sample.interval > 0 {
            let rate = self.rate();
            let round = (self.core.round_start, Extra::ROUNDS);
            let expected = |time| volume(rate, time);
            self.extra.update(sample.acked_sacked, round, totals.time, window.cwnd, expected);
        }
        if self.core.mode == Mode::ProbeBandwidth && self.phase_is_over(sample, ack.now) {
            self.cycle.next(self.delivered_time);
        }
        self.check_full(sample);
        self.check_drain(window, sample, ack.now);
        self.update_min_rtt(window, ack, sample, sampler);
        (self.core.pacing_gain, self.core.window_gain) = match self.core.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policer.in_use => (UNIT, WINDOW_GAIN),
            Mode::ProbeBandwidth => (self.cycle.gain(), WINDOW_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
        if !self.core.seen_rtt && ack.rtt > 0 {
            self.start_pacing(window, ack.rtt);
        }
        self.core.set_pacing_rate(self.paced(self.core.pacing_gain));
        self.set_window(window, ack, sample, totals.delivered);
    }

    /// Saves the window at a loss, a time-out or an ECN echo. The threshold stays, because BBR does
    /// not use it.
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        self.core.save_window(window.cwnd, recovering(self.core.previous));
        window.ssthresh
    }

    fn on_state(&mut self, state: State, _: &mut Window, _: u64) {
        if state == State::Loss {
            self.core.previous = State::Loss;
            self.core.full.bandwidth = 0;
            self.timed_out = true;
        }
    }

    /// Handles a spurious loss: returns the window to continue with.
    fn on_undo(&mut self, window: &Window, sampler: &Sampler) -> Option<u32> {
        self.core.full.bandwidth = 0;
        self.core.full.rounds = 0;
        self.policer.reset(&totals(sampler));
        Some(window.cwnd)
    }

    fn on_restart(&mut self, now: u64, _: u64) {
        self.extra.restart(now);
        self.core.restart(self.paced(UNIT));
    }

    #[cfg(test)]
    fn details(&self) -> String {
        self.core.details(self.cycle.phase)
    }
}

fn totals(sampler: &Sampler) -> Totals {
    Totals { delivered: sampler.delivered(), lost: sampler.lost(), time: sampler.delivered_time() }
}

pub const ABOUT: About = About {
    slow_start: SlowStart::None,
    sets_rate: true,
    ignores_marks: Some(
        "BBR version 1 does not react to marks, which only hide the queue from it: remove ecn, or write congestion = \"bbr3\"",
    ),
    ..About::of(MODEL)
};

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "bbr",
    source: "Linux 6.12 tcp_bbr.c, tcp_rate.c and lib/win_minmax.c; Cardwell et al., ACM Queue 14(5), 2016",
    faithful: "every state with Linux's gains, filters and window rules: start-up, drain, eight-phase cycle from a random phase, PROBE_RTT, aggregation \
               of acknowledgements, long-term rate under policers, conservation in the first round of recovery; no reaction to ECN",
    simplified: "times in picoseconds instead of Linux's microseconds and jiffies; segments are sent one by one, the window's budget for segmentation offload is Linux's (send_quantum sets it)",
};

#[cfg(test)]
mod tests;
