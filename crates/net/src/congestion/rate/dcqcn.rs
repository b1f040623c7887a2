//! DCQCN: congestion notifications cut the rate; time and bytes sent raise it.
//!
//! There are no timer events. The state catches up with the timers when the rate is read, a frame
//! departs or a notification arrives. The result does not depend on when the rate is read.

use super::controller::bits_per_second;
use super::{About, Cnp, Path, RateController, RateParameters};
use crate::Model;
use afflux_config::keys::timer_period;
use afflux_config::{Duration, Size, Speed, keys, words};
use afflux_units::{Bytes, Rate, Span};

words! {
    /// Sources of DCQCN's parameters.
    pub enum DcqcnParameters {
        /// Zhu et al., SIGCOMM 2015, for 40 Gbps.
        Paper,
        /// Zhu's simulator (bobzhuyb/ns3-rdma).
        Zhu,
        /// HPCC's simulator, `dcqcn`: the settings of production adapters.
        Hpcc,
        /// HPCC's simulator, `dcqcn_paper`.
        HpccPaper,
        /// ConWeave's simulator.
        Conweave,
        /// NVIDIA's firmware defaults.
        Nvidia,
    }
}

keys! {
    /// Parameters of DCQCN.
    pub struct Keys as "Dcqcn" => DcqcnConfig(nic: Rate) {
        /// Source of the defaults of the keys below. The simulators' rates of increase are for 25
        /// Gbps and scale with the rate of the first host's link.
        parameters: DcqcnParameters = "paper";
        /// Weight of a notification in alpha.
        g: f64 = (set(parameters, nic).g)
            "0.00390625 (1/256); 0.0048828125 with `\"nvidia\"`", in 1e-6 to 1.0;
        /// Alpha at the start.
        initial_alpha: f64 = (set(parameters, nic).initial_alpha)
            "1; 0.5 with `\"zhu\"`, 0.9990234375 with `\"nvidia\"`", in 0.0 to 1.0;
        /// Period of alpha's updates.
        alpha_period: Duration = (Duration(Span::from_us(set(parameters, nic).alpha)))
            "`\"55us\"`; `\"50us\"` with `\"hpcc_paper\"`, `\"1us\"` with `\"hpcc\"`, `\"conweave\"` and `\"nvidia\"`", check timer_period;
        /// Period, from the first notification on, at whose ends pending notifications cut the
        /// rate, a nanosecond after alpha's update (NVIDIA's adapters). `"0ns"`: each notification
        /// cuts the rate at once (the paper), and alpha falls after each `alpha_period` without
        /// one.
        decrease_period: Duration as Option<Span> = (Duration(Span::from_us(set(parameters, nic).decrease)))
            "`\"0ns\"`; `\"50us\"` with `\"hpcc_paper\"`, `\"4us\"` with `\"hpcc\"`, `\"conweave\"` and `\"nvidia\"`", check |time, at| match time {
            Duration(Span::ZERO) => Ok(None),
            time => timer_period(time, at).map(Some),
        };
        /// Period of the timer that raises the rate.
        increase_period: Duration = (Duration(Span::from_us(set(parameters, nic).increase)))
            "`\"55us\"`; `\"60us\"` with `\"zhu\"`, `\"300us\"` with `\"hpcc\"`, `\"conweave\"` and `\"nvidia\"`", check timer_period;
        /// Bytes sent after which the rate is raised too. `"0B"`: raised by time only.
        byte_counter: Size as Option<u64> = (Size(Bytes(set(parameters, nic).bytes)))
            "`\"10MB\"`; `\"300MB\"` with `\"zhu\"`, `\"32767B\"` with `\"nvidia\"`, `\"0B\"` with the others", check |Size(Bytes(bytes)), _| Ok((bytes > 0).then_some(bytes));
        /// Number of raises after a cut that only return towards the target.
        fast_recovery: u32 = (set(parameters, nic).fast)
            "5; 4 with `\"zhu\"`, 1 with parameters other than `\"paper\"` and `\"zhu\"`";
        /// Additive increase of the target.
        additive: Speed as u64 = (mbps(set(parameters, nic).additive))
            "`\"40Mbps\"`; `\"5Mbps\"` with `\"nvidia\"`, per 25 Gbps of the first host's link `\"5Mbps\"` with `\"hpcc\"` and `\"hpcc_paper\"`, `\"10Mbps\"` with `\"conweave\"`", check bits_per_second;
        /// Hyper increase of the target.
        hyper: Speed as u64 = (mbps(set(parameters, nic).hyper))
            "`\"200Mbps\"`; `\"50Mbps\"` with `\"nvidia\"`, per 25 Gbps of the first host's link `\"50Mbps\"` with `\"hpcc\"` and `\"hpcc_paper\"`, `\"25Mbps\"` with `\"conweave\"`", check bits_per_second;
        /// Least rate.
        min_rate: Speed as u64 = (mbps(set(parameters, nic).least))
            "`\"100Mbps\"`; `\"1Gbps\"` with `\"hpcc\"` and `\"hpcc_paper\"`, `\"1Mbps\"` with `\"nvidia\"`", check bits_per_second;
        /// Whether every cut sets the target to the rate before it. Otherwise only the first cut
        /// after a raise does.
        clamp_target: bool = (set(parameters, nic).clamp)
            "`true`; `false` with parameters other than `\"paper\"` and `\"zhu\"`";
        /// Fraction of the rate that remains after the first notification.
        first_rate: f64 = (set(parameters, nic).first)
            "1; 0.85 with `\"nvidia\"`", in 0.001 to 1.0;
    }
}

fn mbps(mbps: f64) -> Speed {
    Speed(Rate((mbps * 1e6) as u64))
}

/// Parameters of a set. Times are in us, rates in Mbit/s.
struct Set {
    g: f64,
    initial_alpha: f64,
    alpha: u64,
    /// 0: each notification cuts at once.
    decrease: u64,
    increase: u64,
    /// 0: no raises by bytes.
    bytes: u64,
    fast: u32,
    additive: f64,
    hyper: f64,
    least: f64,
    clamp: bool,
    first: f64,
    /// True if receivers send notification frames instead of a bit in acknowledgements.
    by_frames: bool,
}

fn set(parameters: DcqcnParameters, nic: Rate) -> Set {
    let per_25g = nic.as_gbps() / 25.0;
    // HPCC's set (§3.2); the others are variations of it.
    let hpcc = Set {
        g: 1.0 / 256.0,
        initial_alpha: 1.0,
        alpha: 1,
        decrease: 4,
        increase: 300,
        bytes: 0,
        fast: 1,
        additive: 5.0 * per_25g,
        hyper: 50.0 * per_25g,
        least: 1_000.0,
        clamp: false,
        first: 1.0,
        by_frames: false,
    };
    match parameters {
        DcqcnParameters::Hpcc => hpcc,
        DcqcnParameters::HpccPaper => Set { alpha: 50, decrease: 50, increase: 55, ..hpcc },
        DcqcnParameters::Conweave => {
            Set { additive: 10.0 * per_25g, hyper: 25.0 * per_25g, least: 100.0, ..hpcc }
        }
        // The paper gives no hyper increase and no floor. These are from its authors' simulator.
        DcqcnParameters::Paper | DcqcnParameters::Zhu => {
            let zhu = parameters == DcqcnParameters::Zhu;
            let (increase, bytes) = if zhu { (60, 300_000_000) } else { (55, 10_000_000) };
            // Zhu's simulator starts with an alpha of a half, and counts a raise before it asks how
            // many there were.
            let (initial_alpha, fast) = if zhu { (0.5, 4) } else { (1.0, 5) };
            Set {
                initial_alpha,
                alpha: 55,
                decrease: 0,
                increase,
                bytes,
                fast,
                additive: 40.0,
                hyper: 200.0,
                least: 100.0,
                clamp: true,
                by_frames: true,
                ..hpcc
            }
        }
        DcqcnParameters::Nvidia => Set {
            g: 5.0 / 1_024.0,
            initial_alpha: 1_023.0 / 1_024.0,
            bytes: 32_767,
            additive: 5.0,
            hyper: 50.0,
            least: 1.0,
            first: 0.85,
            by_frames: true,
            ..hpcc
        },
    }
}

impl RateParameters for DcqcnConfig {
    fn notifies_by_frames(&self) -> bool {
        set(self.parameters, Rate(0)).by_frames
    }
    fn reaction(&self, cnp: Cnp) -> Option<Span> {
        let cut = match (self.decrease_period, cnp) {
            (Some(period), _) => period,
            (None, Cnp::Packet { interval, .. }) => interval,
            (None, Cnp::Ack) => self.alpha_period,
        };
        Some(cut.min(self.increase_period))
    }
}

const NANOSECOND: u64 = 1_000;

#[derive(Debug, Clone)]
pub struct Dcqcn {
    /// Rate in bit/s. `target` and `line`, the NIC's rate, are in bit/s too.
    rate: u64,
    target: u64,
    line: u64,
    alpha: f64,
    /// True if a notification has arrived since alpha's last update, and since the last check for a
    /// cut.
    noted_for_alpha: bool,
    noted_for_cut: bool,
    /// Times in ps at which the timers next expire; `u64::MAX` before the first notification, or
    /// cut.
    alpha_at: u64,
    cut_at: u64,
    increase_at: u64,
    /// Number of raises by the timer and by bytes since the last cut.
    timer_stage: u32,
    byte_stage: u32,
    /// Bytes until the next raise by bytes.
    bytes_left: u64,
}

impl Dcqcn {
    pub fn new(line: u64, config: &DcqcnConfig) -> Self {
        Dcqcn {
            rate: line,
            target: line,
            line,
            alpha: config.initial_alpha,
            noted_for_alpha: false,
            noted_for_cut: false,
            alpha_at: u64::MAX,
            cut_at: u64::MAX,
            increase_at: u64::MAX,
            timer_stage: 0,
            byte_stage: 0,
            bytes_left: config.byte_counter.unwrap_or(u64::MAX),
        }
    }

    /// Runs the timers up to `now`. At equal times alpha is first, then the cut, then the raise.
    #[inline]
    fn catch_up(&mut self, now: u64, config: &DcqcnConfig) {
        if self.alpha_at.min(self.cut_at).min(self.increase_at) <= now {
            self.run_timers(now, config);
        }
    }

    /// Runs the timers in the order that a cut needs: alpha before it, raises before and after it.
    /// After the cut the timers are independent of each other.
    #[inline(never)]
    fn run_timers(&mut self, now: u64, config: &DcqcnConfig) {
        if self.cut_at <= now {
            let Some(period) = config.decrease_period else {
                unreachable!("only polled cuts have a timer")
            };
            if std::mem::take(&mut self.noted_for_cut) {
                self.run_alpha(self.cut_at, config);
                self.run_raises(self.cut_at - 1, config);
                self.cut(self.cut_at, config);
            }
            self.cut_at += ((now - self.cut_at) / period.0 + 1) * period.0;
        }
        self.run_alpha(now, config);
        self.run_raises(now, config);
    }

    fn run_alpha(&mut self, until: u64, config: &DcqcnConfig) {
        if self.alpha_at > until {
            return;
        }
        let times = (until - self.alpha_at) / config.alpha_period.0 + 1;
        let gain = if std::mem::take(&mut self.noted_for_alpha) { config.g } else { 0.0 };
        self.alpha = (1.0 - config.g) * self.alpha + gain;
        // Alpha is rounded at each update, as if the updates had been on time.
        (1..times).for_each(|_| self.alpha *= 1.0 - config.g);
        self.alpha_at += times * config.alpha_period.0;
    }

    fn run_raises(&mut self, until: u64, config: &DcqcnConfig) {
        while self.increase_at <= until {
            self.increase_at += config.increase_period.0;
            self.raise(config);
            self.timer_stage += 1;
        }
    }

    fn cut(&mut self, now: u64, config: &DcqcnConfig) {
        if config.clamp_target || self.timer_stage > 0 || self.byte_stage > 0 {
            self.target = self.rate;
        }
        self.rate = ((self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64)
            .max(config.min_rate.min(self.line));
        (self.timer_stage, self.byte_stage) = (0, 0);
        self.increase_at = now + config.increase_period.0;
        self.bytes_left = config.byte_counter.unwrap_or(u64::MAX);
    }

    /// Raises the rate. The caller counts the stage afterwards.
    fn raise(&mut self, config: &DcqcnConfig) {
        let (least, most) = match config.byte_counter {
            Some(_) => {
                (self.timer_stage.min(self.byte_stage), self.timer_stage.max(self.byte_stage))
            }
            None => (self.timer_stage, self.timer_stage),
        };
        if most >= config.fast_recovery {
            let step = if least > config.fast_recovery { config.hyper } else { config.additive };
            self.target = (self.target + step).min(self.line);
        }
        self.rate = self.rate / 2 + self.target / 2;
    }
}

impl RateController for Dcqcn {
    type Config = DcqcnConfig;
    fn start(path: &Path, config: &DcqcnConfig) -> Self {
        Dcqcn::new(path.line, config)
    }

    /// Returns the rate in bit/s at `now`.
    #[inline]
    fn rate(&mut self, now: u64, _: u64, config: &DcqcnConfig) -> u64 {
        self.catch_up(now, config);
        self.rate
    }

    #[inline]
    fn on_sent(&mut self, now: u64, bytes: u64, config: &DcqcnConfig) {
        let Some(every) = config.byte_counter else { return };
        self.catch_up(now, config);
        // Before the first cut there is nothing to raise.
        if self.increase_at == u64::MAX {
            return;
        }
        if self.bytes_left > bytes {
            self.bytes_left -= bytes;
            return;
        }
        self.bytes_left = every;
        self.raise(config);
        self.byte_stage += 1;
    }

    /// Handles a congestion notification.
    fn on_cnp(&mut self, now: u64, config: &DcqcnConfig) {
        self.catch_up(now, config);
        match config.decrease_period {
            None => {
                if self.alpha_at == u64::MAX {
                    self.rate = (self.rate as f64 * config.first_rate) as u64;
                }
                self.cut(now, config);
                self.alpha = (1.0 - config.g) * self.alpha + config.g;
                self.alpha_at = now + config.alpha_period.0;
            }
            Some(period) => {
                (self.noted_for_alpha, self.noted_for_cut) = (true, true);
                if self.alpha_at == u64::MAX {
                    self.noted_for_alpha = false;
                    self.alpha_at = now + config.alpha_period.0;
                    self.cut_at = now + period.0 + NANOSECOND;
                    self.rate = (self.rate as f64 * config.first_rate) as u64;
                    self.target = self.rate;
                }
            }
        }
    }
}

pub const ABOUT: About = About { notified: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "dcqcn",
    source: "Zhu et al., SIGCOMM 2015; HPCC's and ConWeave's ns-3 (NVIDIA's adapters)",
    faithful: "alpha, cut, fast recovery, additive and hyper increase by timer and byte counter; parameter sets paper, zhu, hpcc, hpcc_paper, conweave and \
               nvidia; cuts at once (paper, zhu) or polled (the others), where the timers run from the first notification on",
    simplified: "a change of rate does not move the time at which the next frame of the queue pair may leave; alpha is a float, not firmware's fixed point; with paper \
                 and zhu a raise in hyper increase is one step (in Zhu's simulator as many as there were such raises, and at half the periods); with zhu \
                 a notification cuts the rate before it raises alpha, and the target stays below the rate of the link",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::dcqcn as polled;
    use afflux_units::Span;

    fn paper() -> DcqcnConfig {
        DcqcnConfig {
            decrease_period: None,
            alpha_period: Span::from_us(55),
            increase_period: Span::from_us(55),
            byte_counter: Some(10_000_000),
            fast_recovery: 5,
            clamp_target: true,
            ..polled()
        }
    }

    const LINE: u64 = 100_000_000_000;
    const US: u64 = 1_000_000;

    #[test]
    fn polled_cut_and_return() {
        let (config, mut c) = (polled(), Dcqcn::new(LINE, &polled()));
        c.on_cnp(0, &config);
        assert_eq!(c.rate(4 * US, 0, &config), LINE);
        // Four updates of alpha without a notification precede the cut.
        let alpha = [255.0f64 / 256.0; 4].iter().product::<f64>();
        let cut = (1e11 * (1.0 - alpha / 2.0)) as u64;
        assert!(c.rate(4 * US + NANOSECOND, 0, &config).abs_diff(cut) <= 1);
        // Fast recovery after 300 us, then additive and hyper increase. The target is the line's
        // rate.
        let after = |k: u64| 4 * US + NANOSECOND + k * 300 * US;
        let first = c.rate(after(1), 0, &config);
        assert_eq!(first, cut / 2 + LINE / 2);
        assert_eq!(c.rate(after(2) - 1, 0, &config), first);
        assert_eq!(c.rate(after(2), 0, &config), first / 2 + LINE / 2);
    }

    /// The first notification cuts the rate by a quarter, where the paper has a half.
    #[test]
    fn the_first_cut_of_zhu() {
        let zhu = set(DcqcnParameters::Zhu, Rate::from_gbps(40));
        let config = DcqcnConfig { initial_alpha: zhu.initial_alpha, ..paper() };
        let mut c = Dcqcn::new(LINE, &config);
        c.on_cnp(0, &config);
        assert_eq!(c.rate(0, 0, &config), LINE / 4 * 3);
    }

    #[test]
    fn when_it_is_asked_makes_no_difference() {
        let by_bytes = DcqcnConfig { byte_counter: Some(32_767), ..polled() };
        for config in [polled(), paper(), by_bytes] {
            let (mut often, mut seldom) = (Dcqcn::new(LINE, &config), Dcqcn::new(LINE, &config));
            for step in 0..40_000u64 {
                let now = step * 100_000;
                often.rate(now, 0, &config);
                if step % 97 < 3 || step % 1_013 < 40 {
                    often.on_cnp(now, &config);
                    seldom.on_cnp(now, &config);
                }
                if step % 131 == 0 {
                    often.on_sent(now, 1_048, &config);
                    seldom.on_sent(now, 1_048, &config);
                }
                if step % 7_001 == 0 {
                    assert_eq!(often.rate(now, 0, &config), seldom.rate(now, 0, &config));
                }
            }
        }
    }

    #[test]
    fn the_papers_cut_is_at_once_and_bytes_raise_too() {
        let (config, mut c) = (paper(), Dcqcn::new(LINE, &paper()));
        c.on_cnp(0, &config);
        assert_eq!(c.rate(0, 0, &config), LINE / 2);
        // After 10 MB the rate returns half of the way.
        c.on_sent(1, 9_999_999, &config);
        assert_eq!(c.rate(1, 0, &config), LINE / 2);
        c.on_sent(1, 1, &config);
        assert_eq!(c.rate(1, 0, &config), LINE * 3 / 4);
        // Alpha after the cut was 1 again ((1 - g) + g), so the next cut also halves the rate. The
        // target is the rate before the cut.
        c.on_cnp(US, &config);
        assert_eq!((c.rate(US, 0, &config), c.target), (LINE * 3 / 8, LINE * 3 / 4));
    }

    /// Notifications in every period: alpha stays 1, and each check halves the rate, down to the
    /// floor.
    #[test]
    fn steady_congestion_ends_at_the_floor() {
        let (config, mut c) = (polled(), Dcqcn::new(LINE, &polled()));
        for step in 0..200 {
            c.on_cnp(step * US / 2, &config);
        }
        assert_eq!(c.rate(100 * US, 0, &config), config.min_rate);
        assert_eq!(c.target, LINE, "consecutive cuts keep the target");
    }
}
