//! Queue pairs under DCQCN: the congestion control itself, told what the queues of its path would tell it.

use crate::congestion::dcqcn::Dcqcn;
use crate::spec::{Cnp, DcqcnConfig, DcqcnCut, RateControl, RdmaConfig};

const PS: f64 = 1e-12;

/// The congestion control of a flow.
pub struct Paced {
    control: Dcqcn,
    /// Marks that have come since the last notification, on average, and when the next notification may come.
    marks: f64,
    next: f64,
    /// What the control's clock shows, and what it has left out.
    seen: u64,
    left_out: u64,
}

fn config(rdma: &RdmaConfig) -> Option<&DcqcnConfig> {
    match &rdma.control {
        RateControl::Dcqcn(config) => Some(config),
        _ => None,
    }
}

impl Paced {
    /// If that is DCQCN; `line` in bytes per second.
    pub fn of(rdma: &RdmaConfig, line: f64) -> Option<Self> {
        Some(Paced { control: Dcqcn::new((line * 8.0) as u64, config(rdma)?), marks: 0.0, next: 0.0, seen: 0, left_out: 0 })
    }

    /// Bytes per second on the link.
    pub fn rate(&mut self, now: f64, rdma: &RdmaConfig) -> f64 {
        let Some(config) = config(rdma) else { return f64::INFINITY };
        let clock = self.clock(now, config);
        self.control.rate(clock, config) as f64 / 8.0
    }

    /// The control's clock, which leaves out most of a long step: its timers would run a billion times in the hours that a huge flow takes, and
    /// after so many rounds they change little.
    fn clock(&mut self, now: f64, config: &DcqcnConfig) -> u64 {
        let longest = 64 * config.alpha_period.0.max(config.increase_period.0);
        let now = (now / PS) as u64;
        self.left_out += (now - self.left_out).saturating_sub(self.seen + longest);
        self.seen = now - self.left_out;
        self.seen
    }

    /// Seconds in which it does not change much.
    pub fn patience(rdma: &RdmaConfig) -> f64 {
        let Some(config) = config(rdma) else { return f64::INFINITY };
        let cut = match (config.cut, rdma.cnp) {
            (DcqcnCut::Polled { period }, _) => period,
            (DcqcnCut::AtOnce, Cnp::Packet { interval }) => interval,
            (DcqcnCut::AtOnce, Cnp::Ack) => config.alpha_period,
        };
        cut.min(config.increase_period).as_seconds() / 16.0
    }

    /// So much payload has been sent until `now`, and each frame was marked with `chance`.
    pub fn advance(&mut self, now: f64, sent: f64, chance: f64, rdma: &RdmaConfig) {
        let Some(config) = config(rdma) else { return };
        self.control.on_sent(sent as u64, config);
        self.marks += chance * sent / f64::from(rdma.payload);
        if self.marks >= 0.5 && now >= self.next {
            let clock = self.clock(now, config);
            self.control.on_cnp(clock, config);
            self.marks = 0.0;
            if let Cnp::Packet { interval } = rdma.cnp {
                self.next = now + interval.as_seconds();
            }
        }
    }
}
