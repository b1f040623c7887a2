//! DCQCN: a rate that congestion notifications cut and that time, and bytes sent, raise.
//!
//! The timers are caught up with when the rate is asked for or a notification comes; what they do does not depend on when that is.

use crate::Model;
use crate::spec::{DcqcnConfig, DcqcnCut};

const NANOSECOND: u64 = 1_000;

#[derive(Debug, Clone)]
pub struct Dcqcn {
    /// Bits per second, as the target and the NIC's own.
    rate: u64,
    target: u64,
    line: u64,
    alpha: f64,
    /// A notification has come since alpha's last update, and since the rate was looked at last.
    noted_for_alpha: bool,
    noted_for_cut: bool,
    /// When each of the timers goes off next; `u64::MAX` before the first notification, or cut.
    alpha_at: u64,
    cut_at: u64,
    increase_at: u64,
    /// Raises by the timer and by bytes since the last cut.
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

    /// Bits per second at `now`.
    #[inline]
    pub fn rate(&mut self, now: u64, config: &DcqcnConfig) -> u64 {
        self.catch_up(now, config);
        self.rate
    }

    /// What the timers do up to `now`; at one moment alpha first, then the cut, then the raise.
    #[inline]
    fn catch_up(&mut self, now: u64, config: &DcqcnConfig) {
        loop {
            let at = self.alpha_at.min(self.cut_at).min(self.increase_at);
            if at > now {
                return;
            }
            if self.alpha_at == at {
                self.alpha_at = at + config.alpha_period.0;
                let gain = if self.noted_for_alpha { config.g } else { 0.0 };
                self.alpha = (1.0 - config.g) * self.alpha + gain;
                self.noted_for_alpha = false;
            } else if self.cut_at == at {
                let DcqcnCut::Polled { period } = config.cut else { unreachable!("only polled cuts have a timer") };
                self.cut_at = at + period.0;
                if std::mem::take(&mut self.noted_for_cut) {
                    self.cut(at, config);
                }
            } else {
                self.increase_at = at + config.increase_period.0;
                self.raise(config);
                self.timer_stage += 1;
            }
        }
    }

    fn cut(&mut self, now: u64, config: &DcqcnConfig) {
        if config.clamp_target || self.timer_stage > 0 || self.byte_stage > 0 {
            self.target = self.rate;
        }
        self.rate = ((self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64).max(config.min_rate.min(self.line));
        (self.timer_stage, self.byte_stage) = (0, 0);
        self.increase_at = now + config.increase_period.0;
        self.bytes_left = config.byte_counter.unwrap_or(u64::MAX);
    }

    /// Before the stage is counted.
    fn raise(&mut self, config: &DcqcnConfig) {
        let (least, most) = match config.byte_counter {
            Some(_) => (self.timer_stage.min(self.byte_stage), self.timer_stage.max(self.byte_stage)),
            None => (self.timer_stage, self.timer_stage),
        };
        if most >= config.fast_recovery {
            let step = if least > config.fast_recovery { config.hyper } else { config.additive };
            self.target = (self.target + step).min(self.line);
        }
        self.rate = self.rate / 2 + self.target / 2;
    }

    /// A frame of `bytes` leaves.
    #[inline]
    pub fn on_sent(&mut self, bytes: u64, config: &DcqcnConfig) {
        let Some(every) = config.byte_counter else { return };
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

    /// A congestion notification has come.
    pub fn on_cnp(&mut self, now: u64, config: &DcqcnConfig) {
        self.catch_up(now, config);
        match config.cut {
            DcqcnCut::AtOnce => {
                if self.alpha_at == u64::MAX {
                    self.rate = (self.rate as f64 * config.first_rate) as u64;
                }
                self.cut(now, config);
                self.alpha = (1.0 - config.g) * self.alpha + config.g;
                self.alpha_at = now + config.alpha_period.0;
            }
            DcqcnCut::Polled { period } => {
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

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "dcqcn",
    source: "Zhu et al., SIGCOMM 2015; HPCC's and ConWeave's ns-3 (NVIDIA's adapters)",
    faithful: "alpha, cut, fast recovery, additive and hyper increase by timer and byte counter; parameter sets paper, zhu, hpcc, hpcc_paper, conweave and \
               nvidia; cuts at once (paper, zhu) or polled (the others), where the timers run from the first notification on",
    simplified: "a change of rate does not move the time at which the next frame of the queue pair may leave; alpha is a float, not firmware's fixed point",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::dcqcn as polled;
    use afflux_units::Span;

    fn paper() -> DcqcnConfig {
        DcqcnConfig {
            cut: DcqcnCut::AtOnce,
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
        assert_eq!(c.rate(4 * US, &config), LINE);
        // Four updates of alpha without a notification, then the cut.
        let alpha = [255.0f64 / 256.0; 4].iter().product::<f64>();
        let cut = (1e11 * (1.0 - alpha / 2.0)) as u64;
        assert!(c.rate(4 * US + NANOSECOND, &config).abs_diff(cut) <= 1);
        // Fast recovery after 300 us, then additive and hyper increase; the target is the line's rate.
        let after = |k: u64| 4 * US + NANOSECOND + k * 300 * US;
        let first = c.rate(after(1), &config);
        assert_eq!(first, cut / 2 + LINE / 2);
        assert_eq!(c.rate(after(2) - 1, &config), first);
        assert_eq!(c.rate(after(2), &config), first / 2 + LINE / 2);
    }

    #[test]
    fn when_it_is_asked_makes_no_difference() {
        for config in [polled(), paper()] {
            let (mut often, mut seldom) = (Dcqcn::new(LINE, &config), Dcqcn::new(LINE, &config));
            for step in 0..40_000u64 {
                let now = step * 100_000;
                often.rate(now, &config);
                if step % 97 < 3 || step % 1_013 < 40 {
                    often.on_cnp(now, &config);
                    seldom.on_cnp(now, &config);
                }
                if step % 7_001 == 0 {
                    assert_eq!(often.rate(now, &config), seldom.rate(now, &config));
                }
            }
        }
    }

    #[test]
    fn the_papers_cut_is_at_once_and_bytes_raise_too() {
        let (config, mut c) = (paper(), Dcqcn::new(LINE, &paper()));
        c.on_cnp(0, &config);
        assert_eq!(c.rate(0, &config), LINE / 2);
        // 10 MB later: half way back.
        c.on_sent(9_999_999, &config);
        assert_eq!(c.rate(1, &config), LINE / 2);
        c.on_sent(1, &config);
        assert_eq!(c.rate(1, &config), LINE * 3 / 4);
        // Alpha after the cut was 1 again ((1 - g) + g): the next cut halves as well, and the target is what was cut.
        c.on_cnp(US, &config);
        assert_eq!((c.rate(US, &config), c.target), (LINE * 3 / 8, LINE * 3 / 4));
    }

    /// Notifications in every period: alpha stays 1 and each look halves the rate, down to the floor.
    #[test]
    fn steady_congestion_ends_at_the_floor() {
        let (config, mut c) = (polled(), Dcqcn::new(LINE, &polled()));
        for step in 0..200 {
            c.on_cnp(step * US / 2, &config);
        }
        assert_eq!(c.rate(100 * US, &config), config.min_rate);
        assert_eq!(c.target, LINE, "consecutive cuts keep the target");
    }
}
