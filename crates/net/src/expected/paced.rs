//! Queue pairs that are notified of marks: the congestion control itself, told what the queues of its path would tell it.

use crate::congestion::rate::{Control, Path};
use crate::spec::{Cnp, RdmaConfig};

const PS: f64 = 1e-12;

/// The congestion control of a flow.
pub struct Paced {
    control: Control,
    /// Bits per second of the NIC.
    line: u64,
    /// Marks that have come since the last notification, on average, and when the next notification may come.
    marks: f64,
    next: f64,
}

impl Paced {
    /// If it is notified; `line` in bytes per second.
    pub fn of(rdma: &RdmaConfig, line: f64) -> Option<Self> {
        let path = Path { line: (line * 8.0) as u64, switches: 0, round_trip: 0 };
        rdma.control.is_notified().then(|| Paced { control: Control::new(&path, &rdma.control), line: path.line, marks: 0.0, next: 0.0 })
    }

    /// Bytes per second on the link.
    pub fn rate(&mut self, now: f64, rdma: &RdmaConfig) -> f64 {
        self.control.rate((now / PS) as u64, self.line, rdma) as f64 / 8.0
    }

    /// Seconds in which it does not change much.
    pub fn patience(rdma: &RdmaConfig) -> f64 {
        let reaction = rdma.control.parameters().and_then(|parameters| parameters.reaction(rdma.cnp));
        reaction.map_or(f64::INFINITY, |reaction| reaction.as_seconds() / 16.0)
    }

    /// So much payload has been sent until `now`, and each frame was marked with `chance`.
    pub fn advance(&mut self, now: f64, sent: f64, chance: f64, rdma: &RdmaConfig) {
        self.control.on_sent(sent as u64, rdma);
        self.marks += chance * sent / f64::from(rdma.payload);
        if self.marks >= 0.5 && now >= self.next {
            self.control.on_cnp((now / PS) as u64, rdma);
            self.marks = 0.0;
            if let Cnp::Packet { interval } = rdma.cnp {
                self.next = now + interval.as_seconds();
            }
        }
    }
}
