//! Fluid model of queue pairs that are notified of marks. It runs the congestion control itself,
//! with the marks that the queues on its path would make.

use crate::congestion::rate::{Control, Path};
use crate::expected::Pace;
use crate::spec::{Cnp, RdmaConfig};
use afflux_units::Span;

const PS: f64 = 1e-12;

/// Fluid model of a flow's congestion control.
pub struct Paced<'p> {
    rdma: &'p RdmaConfig,
    control: Control,
    /// Rate of the NIC in bits per second.
    line: u64,
    /// Average number of marks since the last notification, and earliest time in s of the next
    /// notification.
    marks: f64,
    next: f64,
    /// Current reading of the control's clock, and time that it has skipped, in ps.
    seen: u64,
    left_out: u64,
}

impl<'p> Paced<'p> {
    /// Returns the model if the control is notified of marks. `line`: rate of the NIC in bytes per
    /// second.
    pub fn of(rdma: &'p RdmaConfig, line: f64) -> Option<Self> {
        let path = Path { line: (line * 8.0) as u64, switches: 0, round_trip: 0 };
        let control = || Control::new(&path, &rdma.control);
        rdma.control.is_notified().then(|| Paced {
            rdma,
            control: control(),
            line: path.line,
            marks: 0.0,
            next: 0.0,
            seen: 0,
            left_out: 0,
        })
    }

    /// Returns the time within which the control reacts to a mark.
    fn reaction(&self) -> Option<Span> {
        self.rdma.control.parameters().and_then(|parameters| parameters.reaction(self.rdma.cnp))
    }

    /// Returns the control's clock in ps, which skips most of a long step. Otherwise the control's
    /// timers would run a billion times in the hours that a huge flow takes, and after so many
    /// rounds they change little.
    fn clock(&mut self, now: f64) -> u64 {
        let longest = self.reaction().map_or(u64::MAX / 2, |reaction| 512 * reaction.0);
        let now = (now / PS) as u64;
        self.left_out += (now - self.left_out).saturating_sub(self.seen + longest);
        self.seen = now - self.left_out;
        self.seen
    }
}

impl Pace for Paced<'_> {
    fn rate(&mut self, now: f64) -> f64 {
        let clock = self.clock(now);
        self.control.rate(clock, self.line, &self.rdma.control) as f64 / 8.0
    }

    fn patience(&self) -> f64 {
        self.reaction().map_or(f64::INFINITY, |reaction| reaction.as_seconds() / 16.0)
    }

    fn advance(&mut self, now: f64, sent: f64, chance: f64) {
        let clock = self.clock(now);
        self.control.on_sent(clock, sent as u64, &self.rdma.control);
        self.marks += chance * sent / f64::from(self.rdma.payload);
        if self.marks >= 0.5 && now >= self.next {
            self.control.on_cnp(clock, &self.rdma.control);
            self.marks = 0.0;
            if let Cnp::Packet { interval, .. } = self.rdma.cnp {
                self.next = now + interval.as_seconds();
            }
        }
    }
}
