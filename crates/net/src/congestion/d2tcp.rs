//! D2TCP: DCTCP with a reduction that depends on how near a flow's deadline is.

use super::dctcp::{DctcpConfig, power_of_two};
use super::{
    About, Ack, Controller, Dctcp, Decrease, Echo, Flavour, IncreaseRule, Opening, Parameters,
    Sender, Window,
};
use crate::Model;
use afflux_config::{keys, words};

words! {
    /// Reaction of a flow without a deadline.
    pub enum WithoutDeadline {
        /// Same as DCTCP: d = 1.
        Dctcp,
        /// The window is halved, as in the authors' ns-2.
        Halve,
    }
}

keys! {
    /// Parameters of D2TCP (Vamanan et al., SIGCOMM 2012): a mark cuts the window by alpha^d / 2,
    /// where d is the time that a flow needs divided by the time that it has left.
    pub struct Keys as "D2tcp" => D2tcpConfig(_sender: &Sender) {
        /// Weight g of the newest marked share in alpha; a power of two.
        gain: f64 = 0.0625, check power_of_two;
        /// Alpha at the start, 0 to 1.
        initial_alpha: f64 = 1.0, in 0.0 to 1.0;
        /// Least d. It applies to flows with more time than they need, and to flows whose deadline
        /// has passed.
        least: f64 = 0.5 from "the paper's", in 0.01 to 1.0;
        /// Largest d.
        most: f64 = 2.0 from "the paper's", in 1.0 to 100.0;
        /// Reaction of a flow without a deadline to a mark.
        without_deadline: WithoutDeadline = "dctcp" from "the paper's";
    }
}

impl D2tcpConfig {
    /// Returns DCTCP with a floating-point alpha, as in the authors' ns-2.
    fn dctcp(&self) -> DctcpConfig {
        let D2tcpConfig { gain, initial_alpha, .. } = *self;
        DctcpConfig { gain, initial_alpha, flavour: Flavour::Ns3 }
    }
}

impl D2tcpConfig {
    pub fn start<C: From<Box<D2tcp>>>(&self, _: Opening) -> C {
        Box::new(D2tcp::new(self)).into()
    }
}

impl Parameters for D2tcpConfig {
    fn about(&self) -> About {
        ABOUT
    }
    fn window_response(&self, payload: f64) -> (Decrease, IncreaseRule) {
        self.dctcp().window_response(payload)
    }
}

#[derive(Debug, Clone)]
pub struct D2tcp {
    dctcp: Dctcp,
    least: f64,
    most: f64,
    without_deadline: WithoutDeadline,
    /// Current flow: number after its last segment, and its deadline in ps.
    to: u32,
    deadline: Option<u64>,
    /// Acknowledged so far (`snd_una`), and the smoothed round trip in ps.
    una: u32,
    round_trip: u64,
}

impl D2tcp {
    pub fn new(config: &D2tcpConfig) -> Self {
        let D2tcpConfig { least, most, without_deadline, .. } = *config;
        D2tcp {
            dctcp: Dctcp::new(&config.dctcp()),
            least,
            most,
            without_deadline,
            to: 0,
            deadline: None,
            una: 0,
            round_trip: 0,
        }
    }

    /// Returns d = Tc / D; `None` without a deadline. Tc is the time that the flow needs at three
    /// quarters of its window (the average of a sawtooth between half of it and all of it), D the
    /// time left.
    fn urgency(&self, window: &Window, now: u64) -> Option<f64> {
        let deadline = self.deadline?;
        let needed = self.to.saturating_sub(self.una) as f64 / (0.75 * window.cwnd as f64)
            * self.round_trip as f64;
        // The authors' ns-2: after the deadline, the time left counts as very long.
        let left = if deadline > now { (deadline - now) as f64 } else { f64::INFINITY };
        Some((needed / left).clamp(self.least, self.most))
    }
}

impl Controller for D2tcp {
    fn on_flow(&mut self, to: u32, deadline: Option<u64>) {
        (self.to, self.deadline) = (to, deadline);
    }

    fn on_progress(&mut self, una: u32, round_trip: u64) {
        (self.una, self.round_trip) = (una, round_trip);
    }

    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.dctcp.on_ack(window, ack);
    }

    /// Returns cwnd * (1 - alpha^d / 2), at least two segments.
    fn on_ecn(&mut self, window: &Window, now: u64) -> u32 {
        let penalty = match (self.urgency(window, now), self.without_deadline) {
            (Some(d), _) => libm::pow(self.dctcp.alpha(), d),
            (None, WithoutDeadline::Dctcp) => self.dctcp.alpha(),
            (None, WithoutDeadline::Halve) => 1.0,
        };
        let cut = (window.cwnd as f64 * penalty / 2.0) as u32;
        (window.cwnd - cut).max(2)
    }

    fn on_loss(&mut self, window: &Window, now: u64) -> u32 {
        self.dctcp.on_loss(window, now)
    }

    fn on_loss_after_echo(&mut self, window: &Window) -> Option<u32> {
        self.dctcp.on_loss_after_echo(window)
    }

    #[cfg(test)]
    fn details(&self) -> String {
        self.dctcp.details()
    }
}

pub const ABOUT: About =
    About { echo: Echo::Exact, missing_deadline: Some("D2TCP is DCTCP here"), ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "d2tcp",
    source: "Vamanan et al., SIGCOMM 2012; the authors' ns-2 as in pFabric.patch (DDTcpAgent)",
    faithful: "DCTCP with a cut by alpha^d / 2; d, from 0.5 to 2, is the time needed at three quarters of the window divided by the time left; d is 1 \
               without a deadline and 0.5 after the deadline, as in ns-2; ns-2's halving of flows without a deadline by `without_deadline`",
    simplified: "no early termination (an option of the authors' ns-2); the smoothed round trip is used to compute the time needed",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32) -> Window {
        Window { cwnd, credit: 0, ssthresh: 2, limit: u32::MAX }
    }

    fn d2tcp(alpha: u32, without_deadline: WithoutDeadline) -> D2tcp {
        D2tcp::new(&D2tcpConfig {
            gain: 0.0625,
            initial_alpha: f64::from(alpha) / 1024.0,
            least: 0.5,
            most: 2.0,
            without_deadline,
        })
    }

    /// p = alpha^d with d = Tc/D, in closed form: 300 segments at 100 per window, of which three
    /// quarters count, take 4 round trips.
    #[test]
    fn cut_by_the_time_left() {
        let mut control = d2tcp(256, WithoutDeadline::Dctcp);
        control.on_progress(0, 1_000);
        let mut cut = |deadline: u64| {
            control.on_flow(300, Some(deadline));
            100 - control.on_ecn(&window(100), 1_000_000)
        };
        // Exactly the time needed is left: same as DCTCP with alpha 1/4.
        assert_eq!(cut(1_004_000), 12);
        // Half of the time needed is left: d = 2, alpha^d = 1/16.
        assert_eq!(cut(1_002_000), 3);
        // d is limited to 2.
        assert_eq!(cut(1_000_001), 3);
        // Twice and four times the time needed is left, and d is at least 0.5: alpha^0.5 = 1/2.
        assert_eq!((cut(1_008_000), cut(1_016_000)), (25, 25));
        // Two thirds of the time needed is left: (1/4)^1.5 = 1/8.
        assert_eq!(cut(1_000_000 + 4_000 * 2 / 3), 6);
        // The deadline has passed.
        assert_eq!((cut(1_000_000), cut(10)), (25, 25));
    }

    #[test]
    fn without_a_deadline() {
        let mut dctcp = Dctcp::new(&DctcpConfig {
            gain: 0.0625,
            initial_alpha: 300.0 / 1024.0,
            flavour: Flavour::Linux,
        });
        for cwnd in 2..2_000 {
            assert_eq!(
                d2tcp(300, WithoutDeadline::Dctcp).on_ecn(&window(cwnd), 5),
                dctcp.on_ecn(&window(cwnd), 5)
            );
        }
        assert_eq!(d2tcp(300, WithoutDeadline::Halve).on_ecn(&window(100), 5), 50);
    }
}
