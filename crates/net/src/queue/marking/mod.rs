//! Marking rules of queues (RED, WRED and step ECN): which frames are marked or, if they are not
//! ECN-capable, dropped early.

pub mod keys;
pub mod spacing;

pub use spacing::rule::Memory;

use crate::Model;
use crate::queue::{FastPathLimits, QueueView, Reason, Verdict};
use crate::spec::{self, Compare, Idle, Limit, MarkAt};
use afflux_engine::random::Stream;
use spacing::rule::Rule;

/// RED on the instantaneous or averaged queue length. A step is its special case.
#[derive(Debug, Clone)]
pub struct Red {
    kmin: u64,
    kmax: u64,
    /// Queue length below which no frame is marked, for instantaneous lengths. 0 if there is none.
    mark_threshold: u64,
    /// True if lengths are counted in frames instead of bytes.
    pub in_packets: bool,
    pmax: f64,
    or_equal: bool,
    pub at: MarkAt,
    pub weight: Option<f64>,
    idle: Idle,
    drop_incapable: bool,
    gentle: bool,
    spacing: &'static dyn Rule,
    /// True if ECN-capable frames are dropped too where every frame is marked.
    pub hard_drop: bool,
}

impl Red {
    pub fn new(config: &spec::Marking) -> Self {
        let value = |limit: Limit| match limit {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(packets) => packets as u64,
        };
        let (or_equal, spacing) = (config.compare == Compare::AtOrAbove, config.spacing.rule());
        Red {
            // Rules that remember the spacing of marks depend on short queues too.
            mark_threshold: if spacing.is_independent() {
                value(config.kmin) + !or_equal as u64
            } else {
                0
            },
            kmin: value(config.kmin),
            kmax: value(config.kmax),
            in_packets: matches!(config.kmin, Limit::Packets(_)),
            pmax: config.pmax.get(),
            or_equal,
            at: config.at,
            weight: config.average_weight,
            idle: config.idle_frame.unwrap_or(Idle::PortFrame),
            drop_incapable: config.drops_incapable(),
            gentle: config.gentle,
            spacing,
            hard_drop: config.hard_drop,
        }
    }

    /// Fast-path limits: below them no frame is marked and the marking state does not change.
    pub fn fast_path(&self) -> FastPathLimits {
        match self.in_packets {
            _ if self.weight.is_some() || self.mark_threshold == 0 => {
                FastPathLimits { frames: 0, ..FastPathLimits::ALWAYS }
            }
            true => FastPathLimits {
                frames: self.mark_threshold.min(u32::MAX as u64) as u32,
                ..FastPathLimits::ALWAYS
            },
            // The limit includes the frame, which has at least one byte.
            false => FastPathLimits { queue: self.mark_threshold, ..FastPathLimits::ALWAYS },
        }
    }

    /// Returns the queue length below which no frame is marked; 0 if the instantaneous length does
    /// not decide.
    pub fn mark_threshold(&self) -> u64 {
        if self.weight.is_some() { 0 } else { self.mark_threshold }
    }

    /// Returns the bytes left behind from which a frame that starts its transmission can be marked.
    pub fn marks_from(&self) -> u32 {
        match self.at {
            MarkAt::Enqueue => u32::MAX,
            MarkAt::Dequeue if self.in_packets => 0,
            MarkAt::Dequeue => self.mark_threshold().min(u32::MAX as u64) as u32,
        }
    }

    /// Returns a queue's length in the unit of the thresholds.
    #[inline(always)]
    pub fn length(&self, queue: QueueView) -> u64 {
        if self.in_packets { queue.frames as u64 } else { queue.bytes }
    }

    /// True for an instantaneous length at which no frame is ever marked.
    #[inline(always)]
    pub fn below_threshold(&self, length: u64) -> bool {
        self.weight.is_none() && length < self.mark_threshold
    }

    /// Decides about a frame that arrives at this queue length. Draws a random number only between
    /// the thresholds.
    ///
    /// `length` is the length that the curve applies to: the average, if there is one. `present` is
    /// the instantaneous length.
    pub fn verdict(
        &self,
        length: f64,
        present: u64,
        capable: bool,
        memory: &mut Memory,
        stream: &mut Stream,
    ) -> Verdict {
        let above = |k: u64| if self.or_equal { length >= k as f64 } else { length > k as f64 };
        if !above(self.kmin) || self.spacing.prevents(present) {
            memory.count = -1;
            return Verdict::Admit;
        }
        let certain = above(if self.gentle { 2 * self.kmax } else { self.kmax });
        let marks = if certain {
            self.spacing.marks_above(memory, stream)
        } else {
            let p = if above(self.kmax) {
                self.pmax + (1.0 - self.pmax) * (length - self.kmax as f64) / self.kmax as f64
            } else {
                self.pmax * (length - self.kmin as f64) / (self.kmax - self.kmin) as f64
            };
            self.spacing.marks(p, memory, stream)
        };
        if !marks {
            return Verdict::Admit;
        }
        match capable {
            true if certain && self.hard_drop => Verdict::Drop(Reason::Red),
            true => Verdict::Mark,
            false if self.drop_incapable => Verdict::Drop(Reason::Red),
            false => Verdict::Admit,
        }
    }

    /// Updates and returns the average after an arrival that finds `length`. The link has been idle
    /// for `idle` (ps) and takes `frame_time` (ps) for 1500 B.
    pub fn average_after(
        &self,
        weight: f64,
        length: u64,
        idle: u64,
        frame_time: u64,
        memory: &mut Memory,
    ) -> f64 {
        let frame_time = match self.idle {
            Idle::PortFrame => Some(frame_time),
            Idle::Frame(time) => Some(time.0),
            Idle::Unseen => None,
        };
        let idle_arrivals = frame_time.map(|frame_time| idle as f64 / frame_time as f64);
        memory.average = self.average(weight, memory.average, length as f64, idle_arrivals);
        memory.average
    }

    /// Returns the average after an arrival that finds `length`. An idle period, unless it is
    /// ignored, counts as `idle_arrivals` arrivals at an empty queue (Floyd and Jacobson 1993). The
    /// arrival itself is a sample if the queue is empty but its link is busy.
    fn average(&self, weight: f64, average: f64, length: f64, idle_arrivals: Option<f64>) -> f64 {
        match idle_arrivals.map(|arrivals| arrivals + self.spacing.idle_arrivals()) {
            Some(arrivals) if length == 0.0 && arrivals > 0.0 => {
                libm::pow(1.0 - weight, arrivals) * average
            }
            _ => average + weight * (length - average),
        }
    }
}

pub const MODELS: &[Model] = &[
    Model {
        kind: "marking",
        name: "ecn step",
        source: "DCTCP (SIGCOMM 2010): mark when the instantaneous queue exceeds K",
        faithful: "at enqueue or dequeue; `>` or `>=`; bytes or packets; frames that are not ECN-capable are dropped by the same rule, as WRED on \
                   switches does, unless `incapable` says otherwise",
        simplified: "per queue only (no pool or port marking)",
    },
    Model {
        kind: "marking",
        name: "red",
        source: "Floyd and Jacobson 1993; WRED of switches: linear from kmin to pmax at kmax, always above",
        faithful: "instantaneous or averaged queue length (idle time decays the average by (1-w)^m, or is ignored); at enqueue or dequeue; marks \
                   independent, uniformly spaced by p/(1-count*p), by ns-2's or ns-3's rules (wait of 1/p), or by one draw per mark as in Linux; gentle \
                   region up to 2*kmax; above, mark or drop",
        simplified: "idle time runs from the end of the queue's last transmission; Linux has a table of shifts for it; probabilities do not depend on a \
                     frame's size; no self-adapting pmax",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Incapable, Spacing};
    use afflux_units::Probability;

    fn config(kmin: u64, kmax: u64, pmax: f64) -> spec::Marking {
        spec::Marking {
            kmax: Limit::Bytes(kmax),
            pmax: Probability::new(pmax).unwrap(),
            ..crate::testing::step(Limit::Bytes(kmin))
        }
    }

    /// Returns the distances between the marks of 100,000 capable frames that see the same length.
    fn spacings(config: &spec::Marking, length: f64) -> Vec<u32> {
        let (red, mut memory, mut stream) =
            (Red::new(config), Memory::default(), Stream::new(1, 1, 1));
        let (mut list, mut since) = (Vec::new(), 0);
        for _ in 0..100_000 {
            since += 1;
            if red.verdict(length, 10_000, true, &mut memory, &mut stream) == Verdict::Mark {
                list.push(since);
                since = 0;
            }
        }
        list
    }

    /// An arrival at an empty queue whose link is busy is a sample of 0. One after an idle time of
    /// two frames counts as two such samples.
    #[test]
    fn empty_queues_lower_the_average() {
        let red = Red::new(&config(100, 200, 1.0));
        let mut memory = Memory { average: 1_000.0, ..Memory::default() };
        assert_eq!(red.average_after(0.1, 0, 0, 1_000, &mut memory), 900.0);
        assert!((red.average_after(0.1, 0, 2_000, 1_000, &mut memory) - 729.0).abs() < 1e-9);
    }

    #[test]
    fn step_at_the_threshold() {
        let (mut stream, mut memory) = (Stream::new(1, 1, 1), Memory::default());
        let above = Red::new(&config(100, 100, 1.0));
        assert_eq!(above.verdict(100.0, 10_000, true, &mut memory, &mut stream), Verdict::Admit);
        assert_eq!(above.verdict(101.0, 10_000, true, &mut memory, &mut stream), Verdict::Mark);
        assert_eq!(
            above.verdict(101.0, 10_000, false, &mut memory, &mut stream),
            Verdict::Drop(Reason::Red)
        );
        let from =
            Red::new(&spec::Marking { compare: Compare::AtOrAbove, ..config(100, 100, 1.0) });
        assert_eq!(from.verdict(100.0, 10_000, true, &mut memory, &mut stream), Verdict::Mark);
        let hard = Red::new(&spec::Marking { hard_drop: true, ..config(100, 100, 1.0) });
        assert_eq!(
            hard.verdict(101.0, 10_000, true, &mut memory, &mut stream),
            Verdict::Drop(Reason::Red)
        );
        let lenient =
            Red::new(&spec::Marking { incapable: Incapable::Pass, ..config(100, 100, 1.0) });
        assert_eq!(lenient.verdict(101.0, 10_000, false, &mut memory, &mut stream), Verdict::Admit);
    }

    /// With weight 1/4, an idle time of ten frames counts as ten arrivals at an empty queue, unless
    /// it is ignored.
    #[test]
    fn idle_time_and_the_average() {
        let after = |idle, length| {
            let red = Red::new(&spec::Marking { idle_frame: Some(idle), ..config(100, 300, 1.0) });
            let mut memory = Memory { average: 1024.0, ..Memory::default() };
            red.average_after(0.25, length, 10_000, 1_000, &mut memory)
        };
        assert!(
            (after(Idle::PortFrame, 0) - (0..10).fold(1024.0, |average, _| average * 0.75)).abs()
                < 1e-9
        );
        assert!(
            (after(Idle::Frame(afflux_units::Span(5_000)), 0) - 1024.0 * 0.75 * 0.75).abs() < 1e-9
        );
        assert_eq!(after(Idle::Unseen, 0), 768.0);
        for idle in [Idle::PortFrame, Idle::Unseen] {
            assert_eq!(after(idle, 512), 896.0);
        }
    }

    fn share(config: &spec::Marking, length: f64) -> f64 {
        spacings(config, length).len() as f64 / 1e5
    }

    #[test]
    fn slope_between_the_thresholds() {
        let red = config(100, 300, 0.2);
        assert_eq!(share(&red, 100.0), 0.0);
        assert!((share(&red, 200.0) - 0.1).abs() < 0.005);
        assert!((share(&red, 300.0) - 0.2).abs() < 0.005);
        assert_eq!(share(&red, 301.0), 1.0);
    }

    /// The probability rises from pmax at kmax to 1 at twice kmax. Only above that are capable
    /// frames dropped.
    #[test]
    fn gentle_region() {
        let gentle = spec::Marking { gentle: true, hard_drop: true, ..config(100, 300, 0.2) };
        assert!((share(&gentle, 200.0) - 0.1).abs() < 0.005);
        assert!((share(&gentle, 301.0) - 0.2).abs() < 0.01);
        assert!((share(&gentle, 450.0) - 0.6).abs() < 0.005);
        assert!((share(&gentle, 599.0) - 0.9973).abs() < 0.005);
        assert_eq!(share(&gentle, 601.0), 0.0);
        let soft = spec::Marking { hard_drop: false, ..gentle };
        assert_eq!(share(&soft, 601.0), 1.0);
    }

    /// Where every frame is marked, ns-2's rule spares the first frame after a short queue.
    #[test]
    fn where_all_is_marked_ns2_spares_the_first_frame() {
        let marks = |spacing| {
            let red = Red::new(&spec::Marking {
                spacing,
                compare: Compare::AtOrAbove,
                ..config(200, 200, 1.0)
            });
            let (mut memory, mut stream) = (Memory::default(), Stream::new(1, 1, 1));
            let verdicts = [300, 300, 300, 100, 200, 200, 1]
                .map(|length| red.verdict(length as f64, length, false, &mut memory, &mut stream));
            verdicts.map(|verdict| verdict == Verdict::Drop(Reason::Red))
        };
        assert_eq!(marks(Spacing::Ns2), [false, true, true, false, false, true, false]);
        assert_eq!(marks(Spacing::Independent), [true, true, true, false, true, true, false]);
    }

    /// ns-3's rule in bytes: one byte that waits prevents marks, two do not. A mark above `kmax`
    /// counts as a frame between marks. With p = 1/4 the seventh frame is marked for certain.
    #[test]
    fn marks_above_the_curve_do_not_end_the_wait_of_ns3() {
        let red = Red::new(&spec::Marking { spacing: Spacing::Ns3, ..config(100, 300, 0.5) });
        let (mut memory, mut stream) = (Memory::default(), Stream::new(1, 1, 1));
        let frames = [(400.0, 1), (400.0, 2), (200.0, 2)];
        let more = [(400.0, 1_500); 5].into_iter().chain([(200.0, 1_500)]);
        let marks: Vec<bool> = frames
            .into_iter()
            .chain(more)
            .map(|(average, present)| {
                red.verdict(average, present, true, &mut memory, &mut stream) == Verdict::Mark
            })
            .collect();
        assert_eq!(marks, [false, true, false, true, true, true, true, true, true]);
        assert_eq!(memory.count, 0);
    }

    /// Floyd and Jacobson: independent marks are geometrically spaced, with mean 1/p and deviation
    /// sqrt(1-p)/p. With the count, distances are uniform, with half the mean and at most 1/p.
    #[test]
    fn spacing_of_marks() {
        let moments = |list: &[u32]| {
            let mean = list.iter().map(|&x| x as f64).sum::<f64>() / list.len() as f64;
            let variance = list.iter().map(|&x| (x as f64 - mean) * (x as f64 - mean)).sum::<f64>()
                / list.len() as f64;
            (mean, variance.sqrt(), *list.iter().max().unwrap())
        };
        // p = 0.02.
        let with = |spacing| {
            moments(&spacings(&spec::Marking { spacing, ..config(100, 300, 0.04) }, 200.0)[1..])
        };
        let (mean, deviation, _) = with(Spacing::Independent);
        assert!(
            (mean / 50.0 - 1.0).abs() < 0.05 && (deviation / 49.5 - 1.0).abs() < 0.1,
            "{mean} {deviation}"
        );
        // The count is one at the first frame after a mark: uniform over 1..=49, as in the paper's
        // pseudo-code and ns-3.
        let (mean, deviation, longest) = with(Spacing::Uniform);
        assert!(
            (mean - 25.0).abs() < 0.5
                && (deviation / (48.0f64 / 12.0f64.sqrt()) - 1.0).abs() < 0.05
                && longest <= 50,
            "{mean} {deviation} {longest}"
        );
        // No mark before 1/p frames, always one by 2/p.
        for spacing in [Spacing::Ns2, Spacing::Ns3] {
            let (mean, _, longest) = with(spacing);
            assert!((mean - 75.0).abs() < 1.5 && longest <= 100, "{mean} {longest}");
        }
        // Linux's rule: uniform over 1..=50.
        let (mean, deviation, longest) = with(Spacing::Linux);
        assert!(
            (mean - 25.5).abs() < 0.5
                && (deviation / (49.0f64 / 12.0f64.sqrt()) - 1.0).abs() < 0.05
                && longest <= 50,
            "{mean} {deviation} {longest}"
        );
    }
}
