//! DCTCP (RFC 8257), in the integer arithmetic of Linux tcp_dctcp.c or in ns-3's floating point.

use super::{
    About, Ack, Controller, Decrease, Echo, Flavour, IncreaseRule, NewReno, Opening, Parameters,
    Sender, Window,
};
use crate::Model;
use afflux_config::keys;
use afflux_config::tree::{Key, Wrong};

keys! {
    /// Parameters of DCTCP (RFC 8257).
    pub struct Keys as "Dctcp" => DctcpConfig(sender: &Sender) {
        /// Weight g of the newest marked share in alpha; a power of two.
        gain: f64 = 0.0625 from "1/16 in paper, RFC and Linux", check power_of_two;
        /// Alpha at the start, 0 to 1.
        initial_alpha: f64 = 1.0 from "RFC 8257 and Linux; the authors' ns-2 has 0", in 0.0 to 1.0;
    }
    plus {
        /// Implementation whose arithmetic is used.
        flavour: Flavour = sender.flavour;
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

/// Scale of Linux's alpha, which is kept in units of 1/1024.
const ONE: u32 = 1024;

/// Moving average of the marked share.
#[derive(Debug, Clone, Copy)]
enum Alpha {
    /// Integer in units of 1/1024, and gain as a shift.
    Linux { value: u32, shift: u32 },
    /// Floating point, with what the window in bytes has beyond whole segments, in segments.
    Ns3 { value: f64, gain: f64, rest: f64 },
}

impl Alpha {
    fn new(config: &DctcpConfig) -> Self {
        match config.flavour {
            Flavour::Linux => Alpha::Linux {
                value: config.first_alpha(),
                shift: ((1.0 / config.gain) as u32).trailing_zeros(),
            },
            Flavour::Ns3 => {
                Alpha::Ns3 { value: config.initial_alpha, gain: config.gain, rest: 0.0 }
            }
        }
    }

    /// Adds the share of a window: alpha = (1 - g) * alpha + g * marked / delivered.
    fn update(&mut self, marked: u32, delivered: u32) {
        match self {
            Alpha::Linux { value, shift } => {
                // An alpha that is too small for its decay becomes 0 at once (`min_not_zero`).
                let decay = *value >> *shift;
                *value -= if decay == 0 { *value } else { decay };
                let gain =
                    (u64::from(marked) * u64::from(ONE >> *shift) / u64::from(delivered)) as u32;
                *value = (*value + gain).min(ONE);
            }
            Alpha::Ns3 { value, gain, .. } => {
                *value += *gain * (f64::from(marked) / f64::from(delivered) - *value);
            }
        }
    }

    /// Returns alpha, from 0 to 1.
    fn get(self) -> f64 {
        match self {
            Alpha::Linux { value, .. } => f64::from(value) / f64::from(ONE),
            Alpha::Ns3 { value, .. } => value,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Dctcp {
    alpha: Alpha,
    /// The observation window ends when this segment is acknowledged.
    end: u32,
    delivered: u32,
    marked: u32,
}

impl Dctcp {
    pub fn new(config: &DctcpConfig) -> Self {
        Dctcp { alpha: Alpha::new(config), end: 0, delivered: 0, marked: 0 }
    }

    /// Returns alpha, from 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha.get()
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
                self.alpha.update(self.marked, self.delivered);
            }
            self.end = ack.next;
            self.delivered = 0;
            self.marked = 0;
        }
        NewReno.on_ack(window, ack);
    }

    /// Returns cwnd * (1 - alpha / 2), at least two segments.
    fn on_ecn(&mut self, window: &Window, _: u64) -> u32 {
        let reduced = match &mut self.alpha {
            Alpha::Linux { value, .. } => {
                window.cwnd - ((u64::from(window.cwnd) * u64::from(*value)) >> 11) as u32
            }
            Alpha::Ns3 { value, rest, .. } => {
                let exact = (f64::from(window.cwnd) + *rest) * (1.0 - *value / 2.0);
                *rest = exact.fract();
                exact as u32
            }
        };
        reduced.max(2)
    }

    /// Reacts to losses as standard TCP does (RFC 8257 §3.5).
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        window.half()
    }

    /// A loss halves the window whatever the marks have done (RFC 8257 §3.5; Linux dctcp_state).
    fn on_loss_after_echo(&mut self, window: &Window) -> Option<u32> {
        Some(window.half())
    }

    #[cfg(test)]
    fn details(&self) -> String {
        format!(" alpha {}", self.alpha() * f64::from(ONE))
    }
}

pub const ABOUT: About = About { echo: Echo::Exact, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "dctcp",
    source: "RFC 8257; Linux tcp_dctcp.c (g = 1/16, initial alpha 1, alpha in 1/1024); ns-3 tcp-dctcp.cc; Alizadeh et al., SIGCOMM 2010",
    faithful: "alpha once per window from segments delivered with the echo; one cut by alpha/2 per window; halving on loss, also after such a cut; every frame ECN-capable; \
               receiver's CE state machine; Linux's alpha becomes 0 where it is too small to decay, ns-3's (`stack = \"ns3\"`) is a floating point number",
    simplified: "the update of alpha includes the acknowledgement that ends a window; in Linux 6.12 it does not; a loss halves the window with `stack = \"ns3\"` too, where ns-3 reduces it by alpha",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32) -> Window {
        Window { cwnd, credit: 0, ssthresh: 2, limit: u32::MAX }
    }

    fn config(initial_alpha: f64, flavour: Flavour) -> DctcpConfig {
        DctcpConfig { gain: 0.0625, initial_alpha, flavour }
    }

    /// Acknowledges window `n` of ten segments.
    fn acknowledge(dctcp: &mut Dctcp, n: u32, ece: bool) {
        let (una, next) = (n * 10, n * 10 + 10);
        let ack = Ack { acked: 10, delivered: 10, ece, una, next, ..Ack::default() };
        dctcp.on_ack(&mut window(10), &ack);
    }

    /// spec/transports.md §9 item 3: from 0, after n windows in which every segment is marked,
    /// alpha = 1 - (15/16)^n.
    #[test]
    fn alpha_follows_the_marked_fraction() {
        let mut dctcp = Dctcp::new(&config(0.0, Flavour::Linux));
        let mut expected = 1.0;
        for n in 1..=40u32 {
            acknowledge(&mut dctcp, n, true);
            expected *= 15.0 / 16.0;
            let alpha = dctcp.alpha();
            // Integer steps of 1/1024 that round the decay down: up to 15/1024 above.
            assert!((alpha - (1.0 - expected)).abs() < 0.016, "{n}: {alpha} {}", 1.0 - expected);
        }
    }

    /// With a constant marked fraction F, alpha = F * (1 - (15/16)^n). It approaches F with a time
    /// constant of 16 windows.
    #[test]
    fn alpha_approaches_a_constant_fraction() {
        for quarters in 1..=3 {
            let mut dctcp = Dctcp::new(&config(0.0, Flavour::Linux));
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
                let (alpha, expected) = (dctcp.alpha(), quarters as f64 / 4.0 * (1.0 - left));
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
        let mut dctcp = Dctcp::new(&config(1.0, Flavour::Linux));
        for n in 1..=200u32 {
            acknowledge(&mut dctcp, n, false);
        }
        assert_eq!(dctcp.alpha(), 0.0);
        assert_eq!(dctcp.on_ecn(&window(100), 5), 100);
        assert_eq!(dctcp.on_loss(&window(100), 5), 50);
    }
    /// Linux: `alpha -= min_not_zero(alpha, alpha >> 4)`. 16/1024 is the least alpha with a decay.
    #[test]
    fn small_alphas_of_linux_become_zero_at_once() {
        for (before, after) in [(17, 16), (16, 15), (15, 0), (1, 0), (0, 0)] {
            let mut dctcp = Dctcp::new(&config(f64::from(before) / 1024.0, Flavour::Linux));
            acknowledge(&mut dctcp, 1, false);
            assert_eq!(dctcp.alpha() * 1024.0, f64::from(after), "{before}");
        }
        // The gain of a marked window comes after the decay: 1024/16.
        let mut dctcp = Dctcp::new(&config(15.0 / 1024.0, Flavour::Linux));
        acknowledge(&mut dctcp, 1, true);
        assert_eq!(dctcp.alpha() * 1024.0, 64.0);
    }

    #[test]
    fn alpha_of_ns3_never_becomes_zero() {
        let mut dctcp = Dctcp::new(&config(0.0, Flavour::Ns3));
        acknowledge(&mut dctcp, 1, true);
        for n in 2..=101 {
            acknowledge(&mut dctcp, n, false);
        }
        let expected = libm::pow(0.9375, 100.0) / 16.0;
        assert!((dctcp.alpha() / expected - 1.0).abs() < 1e-9, "{}", dctcp.alpha());
    }

    /// With alpha 1/8, 100 segments become 93.75, 87.89 and 82.4. The rest of a segment counts at
    /// the next reduction.
    #[test]
    fn windows_of_ns3_keep_parts_of_segments() {
        let mut dctcp = Dctcp::new(&config(0.125, Flavour::Ns3));
        let mut cwnd = 100;
        for expected in [93, 87, 82] {
            cwnd = dctcp.on_ecn(&window(cwnd), 5);
            assert_eq!(cwnd, expected);
        }
    }
}
