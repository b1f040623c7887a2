//! Queue pairs that are notified of marks: the congestion control itself, told what the queues of its path would tell it.

use crate::congestion::rate::{Control, Path};
use crate::spec::{Cnp, RdmaConfig};
use afflux_units::Span;

const PS: f64 = 1e-12;

/// The congestion control of a flow.
pub struct Paced {
    control: Control,
    /// Bits per second of the NIC.
    line: u64,
    /// Marks that have come since the last notification, on average, and when the next notification may come.
    marks: f64,
    next: f64,
    /// What the control's clock shows, and what it has left out.
    seen: u64,
    left_out: u64,
}

/// How soon the control reacts to a mark.
fn reaction(rdma: &RdmaConfig) -> Option<Span> {
    rdma.control.parameters().and_then(|parameters| parameters.reaction(rdma.cnp))
}

impl Paced {
    /// If it is notified; `line` in bytes per second.
    pub fn of(rdma: &RdmaConfig, line: f64) -> Option<Self> {
        let path = Path { line: (line * 8.0) as u64, switches: 0, round_trip: 0 };
        let control = || Control::new(&path, &rdma.control);
        rdma.control.is_notified().then(|| Paced { control: control(), line: path.line, marks: 0.0, next: 0.0, seen: 0, left_out: 0 })
    }

    /// Bytes per second on the link.
    pub fn rate(&mut self, now: f64, rdma: &RdmaConfig) -> f64 {
        let clock = self.clock(now, rdma);
        self.control.rate(clock, self.line, rdma) as f64 / 8.0
    }

    /// The control's clock, which leaves out most of a long step: its timers would run a billion times in the hours that a huge flow takes, and
    /// after so many rounds they change little.
    fn clock(&mut self, now: f64, rdma: &RdmaConfig) -> u64 {
        let longest = reaction(rdma).map_or(u64::MAX / 2, |reaction| 512 * reaction.0);
        let now = (now / PS) as u64;
        self.left_out += (now - self.left_out).saturating_sub(self.seen + longest);
        self.seen = now - self.left_out;
        self.seen
    }

    /// Seconds in which it does not change much.
    pub fn patience(rdma: &RdmaConfig) -> f64 {
        reaction(rdma).map_or(f64::INFINITY, |reaction| reaction.as_seconds() / 16.0)
    }

    /// So much payload has been sent until `now`, and each frame was marked with `chance`.
    pub fn advance(&mut self, now: f64, sent: f64, chance: f64, rdma: &RdmaConfig) {
        self.control.on_sent(sent as u64, rdma);
        self.marks += chance * sent / f64::from(rdma.payload);
        if self.marks >= 0.5 && now >= self.next {
            let clock = self.clock(now, rdma);
            self.control.on_cnp(clock, rdma);
            self.marks = 0.0;
            if let Cnp::Packet { interval } = rdma.cnp {
                self.next = now + interval.as_seconds();
            }
        }
    }
}
