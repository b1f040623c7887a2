//! DCTCP (RFC 8257), in the integer arithmetic of Linux tcp_dctcp.c.

use super::{
    About, Ack, Controller, Decrease, Echo, IncreaseRule, NewReno, Opening, Parameters, Sender,
    Window,
};
use crate::Model;
use afflux_config::keys;
use afflux_config::tree::{Key, Wrong};

keys! {
    /// Parameters of DCTCP (RFC 8257).
    pub struct Keys as "Dctcp" => DctcpConfig(_sender: &Sender) {
        /// Weight g of the newest marked share in alpha; a power of two.
        gain: f64 = 0.0625 from "1/16 in paper, RFC and Linux", check power_of_two;
        /// Alpha at the start, 0 to 1.
        initial_alpha: f64 = 1.0 from "RFC 8257 and Linux; the authors' ns-2 has 0", in 0.0 to 1.0;
    }
}

pub(super) fn power_of_two(gain: f64, at: Key) -> Result<f64, Wrong> {
    let right = (0..=10u32).any(|shift| gain == 1.0 / f64::from(1u32 << shift));
    if right {
        Ok(gain)
    } else {
        Err(Wrong::at(
            at,
            format!(
                "found {gain}: write a power of two from 1 down to 1/1024, as in 0.0625 (1/16)"
            ),
        ))
    }
}

impl DctcpConfig {
    /// Returns the initial alpha in units of 1/1024.
    pub fn first_alpha(&self) -> u32 {
        (self.initial_alpha * f64::from(ONE) + 0.5) as u32
    }

    /// Returns the decrease if the whole window is marked, and how it fades.
    pub(super) fn cut(&self) -> Decrease {
        Decrease { part: f64::from(self.first_alpha()) / 2048.0, fades: self.gain }
    }
}

impl DctcpConfig {
    pub fn start<C: From<Dctcp>>(&self, _: Opening) -> C {
        Dctcp::new(self).into()
    }
}

impl Parameters for DctcpConfig {
    fn about(&self) -> About {
        ABOUT
    }
    fn window_response(&self, payload: f64) -> (Decrease, IncreaseRule) {
        (self.cut(), IncreaseRule::PerRoundTrip(payload))
    }
}

/// Scale of alpha, which is kept in units of 1/1024.
const ONE: u32 = 1024;

#[derive(Debug, Clone, Copy)]
pub struct Dctcp {
    gain_shift: u32,
    alpha: u32,
    /// The observation window ends when this segment is acknowledged.
    end: u32,
    delivered: u32,
    marked: u32,
}

impl Dctcp {
    pub fn new(config: &DctcpConfig) -> Self {
        Dctcp {
            gain_shift: ((1.0 / config.gain) as u32).trailing_zeros(),
            alpha: config.first_alpha(),
            end: 0,
            delivered: 0,
            marked: 0,
        }
    }

    /// Returns alpha, from 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha as f64 / ONE as f64
    }
}

impl Controller for Dctcp {
    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.delivered += ack.delivered;
        if ack.ece {
            self.marked += ack.delivered;
        }
        // RFC 8257 §3.3: once per window of data.
        if ack.una >= self.end {
            if self.delivered > 0 {
                // alpha = (1 - g) * alpha + g * F. Small alphas decay to zero instead of sticking
                // at 2^shift - 1.
                let decay = self.alpha >> self.gain_shift;
                self.alpha -= if decay == 0 { self.alpha.min(1) } else { decay };
                let gain = ((self.marked as u64 * (ONE >> self.gain_shift) as u64)
                    / self.delivered as u64) as u32;
                self.alpha = (self.alpha + gain).min(ONE);
            }
            self.end = ack.next;
            self.delivered = 0;
            self.marked = 0;
        }
        NewReno.on_ack(window, ack);
    }

    /// Returns cwnd * (1 - alpha / 2), at least two segments.
    fn on_ecn(&mut self, window: &Window, _: u64) -> u32 {
        let cut = ((window.cwnd as u64 * self.alpha as u64) >> 11) as u32;
        (window.cwnd - cut).max(2)
    }

    /// Reacts to losses as standard TCP does (RFC 8257 §3.5).
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        window.half()
    }

    #[cfg(test)]
    fn details(&self) -> String {
        format!(" alpha {}", self.alpha)
    }
}

pub const ABOUT: About = About { echo: Echo::Exact, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "dctcp",
    source: "RFC 8257; Linux tcp_dctcp.c (g = 1/16, initial alpha 1, alpha in 1/1024); Alizadeh et al., SIGCOMM 2010",
    faithful: "alpha once per window from segments delivered with the echo; one cut by alpha/2 per window; halving on loss; every frame ECN-capable; \
               receiver's CE state machine",
    simplified: "the update of alpha includes the acknowledgement that ends a window; in Linux it does not; an alpha below 16/1024 falls by 1/1024 per \
                 unmarked window; in Linux it becomes 0 at once",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32) -> Window {
        Window { cwnd, credit: 0, ssthresh: 2, limit: u32::MAX }
    }

    /// spec/transports.md §9 item 3: from 0, after n windows in which every segment is marked,
    /// alpha = 1 - (15/16)^n.
    #[test]
    fn alpha_follows_the_marked_fraction() {
        let mut dctcp = Dctcp::new(&DctcpConfig { gain: 0.0625, initial_alpha: 0.0 });
        let mut w = window(10);
        let mut expected = 1.0;
        for n in 1..=40u32 {
            dctcp.on_ack(
                &mut w,
                &Ack {
                    acked: 10,
                    delivered: 10,
                    ece: true,
                    una: n * 10,
                    next: n * 10 + 10,
                    ..Ack::default()
                },
            );
            expected *= 15.0 / 16.0;
            let alpha = dctcp.alpha as f64 / 1024.0;
            // Integer steps of 1/1024 that round the decay down: up to 15/1024 above.
            assert!((alpha - (1.0 - expected)).abs() < 0.016, "{n}: {alpha} {}", 1.0 - expected);
        }
    }

    /// With a constant marked fraction F, alpha = F * (1 - (15/16)^n). It approaches F with a time
    /// constant of 16 windows.
    #[test]
    fn alpha_approaches_a_constant_fraction() {
        for quarters in 1..=3 {
            let mut dctcp = Dctcp::new(&DctcpConfig { gain: 0.0625, initial_alpha: 0.0 });
            let (mut w, mut left) = (window(100), 1.0);
            for n in 0..80u32 {
                // 25 segments at a time; the last `quarters` quarters of each window are marked.
                for quarter in 0..4 {
                    let una = n * 100 + quarter * 25 + 25;
                    dctcp.on_ack(
                        &mut w,
                        &Ack {
                            acked: 25,
                            delivered: 25,
                            ece: quarter >= 4 - quarters,
                            una,
                            next: una + 100,
                            ..Ack::default()
                        },
                    );
                }
                let (alpha, expected) =
                    (dctcp.alpha as f64 / 1024.0, quarters as f64 / 4.0 * (1.0 - left));
                // Tolerance for the rounding of alpha to 1/1024.
                assert!(
                    (alpha - expected).abs() < 0.016,
                    "{quarters}/4 after {n} windows: {alpha}, expected {expected}"
                );
                left *= 15.0 / 16.0;
            }
        }
    }

    #[test]
    fn unmarked_windows_bring_alpha_to_zero() {
        let mut dctcp = Dctcp::new(&DctcpConfig { gain: 0.0625, initial_alpha: 1.0 });
        let mut w = window(10);
        for n in 1..=200u32 {
            dctcp.on_ack(
                &mut w,
                &Ack {
                    acked: 10,
                    delivered: 10,
                    ece: false,
                    una: n * 10,
                    next: n * 10 + 10,
                    ..Ack::default()
                },
            );
        }
        assert_eq!(dctcp.alpha, 0);
        assert_eq!(dctcp.on_ecn(&window(100), 5), 100);
        assert_eq!(dctcp.on_loss(&window(100), 5), 50);
    }
}
