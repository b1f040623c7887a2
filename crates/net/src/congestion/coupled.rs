//! Coupled congestion control of the subflows of a connection (MPTCP). In all rules, slow start,
//! halving and time-outs are per subflow, and a subflow without siblings is NewReno.

use super::{About, Ack, Controller, Opening, Parameters, State, Window};
use crate::Model;

/// State of a subflow that its siblings use.
#[derive(Debug, Clone, Copy, Default)]
pub struct Path {
    /// Window in segments; the threshold during recovery.
    pub cwnd: u32,
    /// Smoothed round trip in ps; 0 before the first sample.
    pub rtt: u64,
    /// Segments acknowledged since the last loss or between the last two, whichever is more.
    pub run: u64,
}

impl Path {
    /// Returns the rate in segments per ps.
    fn rate(&self) -> f64 {
        self.cwnd as f64 / self.rtt as f64
    }
}

#[derive(Debug, Clone)]
pub struct Coupled {
    rule: Coupling,
    /// All subflows with a round trip, and the index of this one.
    paths: Vec<Path>,
    me: usize,
    /// Fraction of a segment by which the window exceeds whole segments.
    part: f64,
    /// Segments acknowledged since the last loss, and between the last two.
    since: u64,
    between: u64,
    /// In ps: the least round trip, the newest one, and the sum of those of this round.
    base: u64,
    newest: u64,
    sum: u64,
    samples: u64,
    /// Segment whose acknowledgement ends the round.
    round_end: u32,
    /// Weighted Vegas: target number of segments in queues; the least queueing time since the queues
    /// were last drained, in ps (0: none); and whether the next acknowledgement begins a round.
    alpha: u64,
    least_wait: u64,
    begins: bool,
}

/// Weighted Vegas, as in the Linux implementation of MPTCP. Segments in queues: target of all
/// subflows together, least target of one subflow, and number that ends slow start.
const TOTAL_ALPHA: f64 = 10.0;
const LEAST_ALPHA: u64 = 2;
const GAMMA: u64 = 1;
/// Round trips with fewer samples grow as NewReno's.
const FEWEST_SAMPLES: u64 = 3;

impl Coupled {
    pub fn new(rule: Coupling) -> Self {
        Coupled {
            rule,
            paths: Vec::new(),
            me: 0,
            part: 0.0,
            since: 0,
            between: 0,
            base: u64::MAX,
            newest: 0,
            sum: 0,
            samples: 0,
            round_end: 0,
            alpha: LEAST_ALPHA,
            least_wait: 0,
            begins: false,
        }
    }

    /// Sets the state of all subflows before an acknowledgement on number `me`.
    pub fn look(&mut self, paths: &[Path], me: usize) {
        self.paths.clear();
        for (number, path) in paths.iter().enumerate() {
            if number == me {
                self.me = self.paths.len();
                self.paths.push(*path);
            } else if path.rtt > 0 && path.cwnd > 0 {
                self.paths.push(*path);
            }
        }
    }

    pub fn run(&self) -> u64 {
        self.since.max(self.between)
    }

    /// Returns the number of segments of a window that wait in queues (Vegas's difference).
    pub fn queue(&self, cwnd: u32) -> f64 {
        if self.newest == 0 {
            0.0
        } else {
            cwnd as f64 * (self.newest - self.base) as f64 / self.newest as f64
        }
    }

    /// Returns the growth of the window in segments per segment acknowledged in congestion
    /// avoidance.
    fn gain(&self, cwnd: u32) -> f64 {
        let total_rate: f64 = self.paths.iter().filter(|path| path.rtt > 0).map(Path::rate).sum();
        let (me, own) = (&self.paths[self.me], 1.0 / cwnd as f64);
        if me.rtt == 0 {
            return own;
        }
        // w_r / RTT_r² over (Σ w_p / RTT_p)².
        let share = |path: &Path| path.rate() / path.rtt as f64 / (total_rate * total_rate);
        match self.rule {
            Coupling::Lia | Coupling::QueueAware { .. } => {
                // RFC 6356: α / w_total is the largest share.
                self.measured().map(share).fold(0.0, f64::max).min(own)
            }
            Coupling::Olia => share(me) + self.tilt() * own,
            Coupling::Balia => {
                let a = self.speed_ratio();
                share(me) * (1.0 + a) / 2.0 * (4.0 + a) / 5.0
            }
            Coupling::Wvegas => unreachable!("weighted Vegas grows once per round trip"),
        }
    }

    fn measured(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().filter(|path| path.rtt > 0)
    }

    /// BALIA: returns the rate of the fastest path divided by that of this one.
    fn speed_ratio(&self) -> f64 {
        let fastest = self.measured().map(Path::rate).fold(0.0, f64::max);
        fastest / self.paths[self.me].rate()
    }

    /// OLIA's ε: moves window from the paths with the largest windows to the best ones with smaller
    /// windows.
    fn tilt(&self) -> f64 {
        let quality = |path: &Path| path.run as f64 / path.rtt as f64 / path.rtt as f64;
        let best = self.measured().map(quality).fold(0.0, f64::max);
        let largest = self.measured().map(|path| path.cwnd).max().unwrap_or(0);
        let is_collected = |path: &Path| quality(path) == best && path.cwnd < largest;
        let (count, collected) = (
            self.measured().count() as f64,
            self.measured().filter(|path| is_collected(path)).count(),
        );
        let me = &self.paths[self.me];
        if collected == 0 {
            0.0
        } else if is_collected(me) {
            1.0 / (count * collected as f64)
        } else if me.cwnd == largest {
            -1.0 / (count * self.measured().filter(|path| path.cwnd == largest).count() as f64)
        } else {
            0.0
        }
    }

    /// Grows the window with each acknowledgement, by the gain of the rule where several paths are
    /// known.
    fn grow_by_gain(&mut self, window: &mut Window, ack: &Ack) {
        self.ends_round(window, ack);
        if !ack.may_grow || ack.acked == 0 {
            return;
        }
        if self.measured().count() < 2 {
            return window.reno_increase(ack.acked);
        }
        let left = window.slow_start_increase(ack.acked);
        if left > 0 {
            self.part += left as f64 * self.gain(window.cwnd);
            while self.part >= 1.0 {
                self.part -= 1.0;
                window.cwnd = (window.cwnd + 1).min(window.limit);
            }
            while self.part <= -1.0 {
                self.part += 1.0;
                window.cwnd = (window.cwnd - 1).max(1);
            }
        }
    }

    /// Weighted Vegas changes the window at the end of a round trip, and with each acknowledgement
    /// only in slow start. It is Reno in a recovery.
    fn grow_by_weighted_vegas(&mut self, window: &mut Window, ack: &Ack) {
        if ack.state != State::Open {
            if ack.may_grow {
                window.reno_increase(ack.acked);
            }
        } else if !self.ends_round(window, ack)
            && ack.may_grow
            && ack.acked > 0
            && window.slow_start()
        {
            window.slow_start_increase(ack.acked);
        }
    }

    /// True if an acknowledgement ends a round trip, whose rule is then applied to the window.
    fn ends_round(&mut self, window: &mut Window, ack: &Ack) -> bool {
        if std::mem::take(&mut self.begins) {
            self.round_end = ack.next;
        }
        let ends = ack.una > self.round_end;
        if ends {
            self.round_end = ack.next;
            self.end_round(window, ack);
            (self.sum, self.samples) = (0, 0);
        }
        ends
    }

    /// Handles the end of a round trip.
    fn end_round(&mut self, window: &mut Window, ack: &Ack) {
        match self.rule {
            Coupling::Wvegas => self.weigh(window, ack),
            Coupling::QueueAware { segments } if ack.state == State::Open && self.samples > 0 => {
                let (own, allowed) = (self.queue(window.cwnd), segments as f64);
                if own > allowed && self.measured().count() > 1 {
                    // The window shrinks by the segments in queues beyond the allowance. Under LIA
                    // the siblings can grow by as much.
                    window.cwnd = window.cwnd.saturating_sub((own - allowed) as u32).max(2);
                    window.ssthresh = window.ssthresh.min(window.cwnd);
                }
            }
            _ => {}
        }
    }

    /// Applies weighted Vegas at the end of a round trip.
    fn weigh(&mut self, window: &mut Window, ack: &Ack) {
        if self.samples < FEWEST_SAMPLES {
            if ack.may_grow {
                window.reno_increase(ack.acked);
            }
            return;
        }
        let rtt = self.sum / self.samples;
        let wait = rtt - self.base;
        let queued = window.cwnd as u64 * wait / rtt;
        if window.slow_start() {
            if queued > GAMMA {
                let target = window.cwnd as u64 * self.base / rtt;
                window.cwnd = window.cwnd.min(target as u32 + 1);
                window.ssthresh = window.ssthresh.min(window.cwnd - 1);
            } else if ack.may_grow {
                window.slow_start_increase(ack.acked);
            }
        } else {
            if queued >= self.alpha {
                let total: f64 = self.measured().map(Path::rate).sum();
                let own = window.cwnd as f64 / rtt as f64;
                let weight = if total > 0.0 { (own / total).min(1.0) } else { 1.0 };
                self.alpha = ((weight * TOTAL_ALPHA) as u64).max(LEAST_ALPHA);
            }
            if queued > self.alpha {
                window.cwnd -= 1;
                window.ssthresh = window.ssthresh.min(window.cwnd - 1);
            } else if queued < self.alpha && ack.may_grow {
                window.cwnd += 1;
            }
            self.drain(window, wait, rtt);
        }
        window.cwnd = window.cwnd.clamp(2, window.limit.max(2));
        window.ssthresh = window.kept();
    }

    /// Empties the queues when the wait has doubled, so that the least round trip can be measured.
    /// The threshold stays, and slow start brings the window back.
    fn drain(&mut self, window: &mut Window, wait: u64, rtt: u64) {
        if self.least_wait == 0 || self.least_wait > wait {
            self.least_wait = wait;
        }
        // Without noise an empty queue waits for exactly 0; real clocks have a resolution.
        if wait > 0 && wait >= 2 * self.least_wait {
            window.cwnd = (window.cwnd as u64 * self.base / (2 * rtt)) as u32;
            self.least_wait = 0;
        }
    }
}

impl Controller for Coupled {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.since += ack.acked as u64;
        if ack.rtt > 0 {
            (self.base, self.newest) = (self.base.min(ack.rtt), ack.rtt);
            (self.sum, self.samples) = (self.sum + ack.rtt, self.samples + 1);
        }
        if self.rule == Coupling::Wvegas {
            self.grow_by_weighted_vegas(window, ack);
        } else {
            self.grow_by_gain(window, ack);
        }
    }

    fn on_state(&mut self, state: State, _: &mut Window, _: u64) {
        if state == State::Open {
            (self.alpha, self.least_wait, self.begins) = (LEAST_ALPHA, 0, true);
            (self.sum, self.samples) = (0, 0);
        }
    }

    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        self.between = std::mem::take(&mut self.since);
        match self.rule {
            Coupling::Balia if self.measured().count() > 1 && self.paths[self.me].rtt > 0 => {
                let cut = window.cwnd as f64 / 2.0 * self.speed_ratio().min(1.5);
                window.cwnd.saturating_sub(cut as u32).max(2)
            }
            _ => window.half(),
        }
    }
}

/// Coupling of the windows of a connection's subflows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Coupling {
    /// LIA (RFC 6356).
    Lia,
    /// OLIA (Khalili et al. 2012).
    Olia,
    /// BALIA (Peng, Walid, Hwang and Low 2016).
    Balia,
    /// Weighted Vegas (Cao, Xu and Fu 2012).
    Wvegas,
    /// Grows as LIA does. A subflow with more than `segments` of its own segments in queues yields
    /// to its siblings.
    QueueAware { segments: u32 },
}

impl Coupling {
    pub fn start<C: From<Box<Coupled>>>(&self, _: Opening) -> C {
        Box::new(Coupled::new(*self)).into()
    }
}

impl Parameters for Coupling {
    fn about(&self) -> About {
        About::of(MODEL)
    }
}

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "coupled",
    source: "LIA: RFC 6356; OLIA: Khalili et al. 2012; BALIA: Peng et al. 2016, draft-walid-mptcp-congestion-control; weighted Vegas: Cao, Xu and Fu \
             2012, constants of the Linux implementation of MPTCP",
    faithful: "increase and decrease in congestion avoidance per segment acknowledged, slow start and halving per subflow, NewReno where there is one \
               subflow; queue_aware is afflux's own: LIA, and once per round trip a subflow with siblings reduces its window by the segments above \
               `queue_segments` that it has in queues",
    simplified: "real numbers instead of Linux's scaled integers; the smoothed round trips of the siblings are used; in weighted Vegas a window that is not \
                 the sender's limit does not grow, and queues are drained only if frames wait, which noise-free round trips may not",
};

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    fn window(cwnd: u32) -> Window {
        Window { cwnd, credit: 0, ssthresh: 2, limit: u32::MAX }
    }
    fn ack(acked: u32) -> Ack {
        Ack { acked, may_grow: true, ..Ack::default() }
    }
    fn path(cwnd: u32, ms: u64) -> Path {
        Path { cwnd, rtt: ms * MS, ..Path::default() }
    }
    /// Returns the gain of the first of these subflows.
    fn gain(rule: Coupling, paths: &[Path]) -> f64 {
        let mut coupled = Coupled::new(rule);
        coupled.look(paths, 0);
        coupled.gain(paths[0].cwnd)
    }

    /// RFC 6356: two subflows with equal round trips together grow by a segment per total window.
    /// None grows faster than TCP.
    #[test]
    fn lia_is_one_tcp_over_equal_round_trips() {
        let paths = [path(10, 50), path(10, 50)];
        // α = 20 · (10 / RTT²) / (20 / RTT)² = 1/2; the gain is α / 20.
        assert!((gain(Coupling::Lia, &paths) - 0.5 / 20.0).abs() < 1e-12);
        let unequal = [path(30, 50), path(10, 50)];
        assert!((gain(Coupling::Lia, &unequal) - 30.0 / 1600.0).abs() < 1e-12);
        // A short round trip with a long one: the gain is limited by its own 1/w.
        let apart = [path(4, 200), path(100, 10)];
        assert!(gain(Coupling::Lia, &apart) <= 0.25);
    }

    #[test]
    fn one_path_is_newreno() {
        for rule in
            [Coupling::Lia, Coupling::Olia, Coupling::Balia, Coupling::QueueAware { segments: 4 }]
        {
            let (mut coupled, mut w) = (Coupled::new(rule), window(10));
            coupled.look(&[path(10, 50)], 0);
            for _ in 0..10 {
                coupled.on_ack(&mut w, &ack(1));
            }
            assert_eq!(w.cwnd, 11, "{rule:?}");
            assert_eq!(coupled.on_loss(&w, 0), 5, "{rule:?}");
        }
    }

    /// a_r = 1 for the fastest path: Δw = w/RTT² / (Σ w/RTT)². A path at half the rate has a_r = 2,
    /// which makes it grow 1.8 times as fast as this.
    #[test]
    fn balia_helps_the_slower_path() {
        let paths = [path(10, 50), path(20, 50)];
        assert!((gain(Coupling::Balia, &paths) - 10.0 / 900.0 * 1.5 * 6.0 / 5.0).abs() < 1e-12);
        let mut coupled = Coupled::new(Coupling::Balia);
        coupled.look(&paths, 0);
        // The loss takes min(2, 1.5) · 10 / 2 segments.
        assert_eq!(coupled.on_loss(&window(10), 0), 3);
        coupled.look(&paths, 1);
        assert_eq!(coupled.on_loss(&window(20), 0), 10);
    }

    /// The best path has the smaller window: it gains what the path with the largest window loses.
    #[test]
    fn olia_moves_windows_to_the_best_path() {
        let paths = [Path { run: 1000, ..path(10, 50) }, Path { run: 10, ..path(20, 50) }];
        let coupled_gain = 10.0 / 900.0;
        assert!((gain(Coupling::Olia, &paths) - (coupled_gain + 0.5 / 10.0)).abs() < 1e-12);
        let mut coupled = Coupled::new(Coupling::Olia);
        coupled.look(&paths, 1);
        assert!((coupled.gain(20) - (20.0 / 900.0 - 0.5 / 20.0)).abs() < 1e-12);
        // With equal windows nothing is moved.
        let even = [Path { run: 1000, ..path(10, 50) }, Path { run: 10, ..path(10, 50) }];
        assert!((gain(Coupling::Olia, &even) - 10.0 / 400.0).abs() < 1e-12);
    }

    /// A subflow with twenty segments in queues gives up all but the four it is allowed, if it has
    /// a sibling.
    #[test]
    fn a_long_queue_is_left() {
        let (mut coupled, mut w) = (Coupled::new(Coupling::QueueAware { segments: 4 }), window(40));
        coupled.look(&[path(40, 100), path(10, 50)], 0);
        let round = |coupled: &mut Coupled, w: &mut Window, rtt: u64, una: u32| {
            coupled.on_ack(w, &Ack { rtt: rtt * MS, una, next: una + 40, ..Ack::default() });
        };
        round(&mut coupled, &mut w, 50, 1);
        assert_eq!(w.cwnd, 40);
        round(&mut coupled, &mut w, 100, 42);
        assert_eq!(w.cwnd, 24);
        let mut w = window(40);
        coupled.look(&[path(40, 100)], 0);
        round(&mut coupled, &mut w, 100, 83);
        assert_eq!(w.cwnd, 40);
    }

    /// Weighted Vegas fills a lone path: it returns from every drain of the queues by slow start.
    #[test]
    fn weighted_vegas_fills_its_path() {
        let (mut coupled, mut w) = (Coupled::new(Coupling::Wvegas), window(40));
        let (mut una, mut carried) = (0, 0);
        for round in 0..400 {
            // A pipe of 50 segments and 10 ms.
            let rtt = (w.cwnd.max(50) as u64) * MS / 5;
            coupled.look(&[Path { cwnd: w.cwnd, rtt, ..Path::default() }], 0);
            let whole = w.cwnd;
            for part in 0..4 {
                let acked = (part + 1) * whole / 4 - part * whole / 4;
                una += acked;
                let next = una + w.cwnd;
                let ack = Ack { rtt, una, next, acked, may_grow: true, ..Ack::default() };
                coupled.on_ack(&mut w, &ack);
            }
            assert!((2..=64).contains(&w.cwnd), "{}", w.cwnd);
            carried += if round < 200 { 0 } else { w.cwnd.min(50) };
        }
        // A drain halves the window, slow start brings back three quarters, and each further round adds
        // a segment.
        assert!(carried > 200 * 42, "{carried}");
    }
}
