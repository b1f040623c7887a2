//! Times of a flow in whole nanoseconds, rounded so that all sums stay exact.
//!
//! The simulator uses picoseconds. The results contain
//!
//! - `start_ns`: the start, rounded;
//! - `fct_ns`: the completion time `finish - start`, rounded;
//! - `finish_ns = start_ns + fct_ns` (so at most a nanosecond from the exact finish, and exactly it, rounded, for the usual
//!   starts at whole nanoseconds);
//! - `ideal_ns`: the ideal completion time, rounded: it does not depend on when a flow starts;
//! - the split: its parts are laid end to end, beginning with propagation and serialization, and each boundary is
//!   rounded. So the parts add up to `fct_ns`, and the first two to `ideal_ns`.

use afflux_net::checks;
use afflux_net::record::{FlowRecord, Split, Status};
use afflux_net::spec::{Flow, Start};
use afflux_units::Span;

/// Times of a flow in ns, as written to results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowTimes {
    /// Start of the flow. For a flow that had not started at the end of the run: its planned start;
    /// `None` if that depended on other flows, or its sender stopped before.
    pub start_ns: Option<i64>,
    pub finish_ns: Option<i64>,
    pub fct_ns: Option<i64>,
    /// `None` for flows of hosts outside the network, and for flows that had not started at the end
    /// of the run.
    pub ideal_ns: Option<i64>,
    /// `fct_ns / ideal_ns`. Always finite.
    pub slowdown: Option<f64>,
}

impl FlowTimes {
    pub fn of(flow: &Flow, record: &FlowRecord) -> Self {
        let planned = match flow.start {
            Start::At(time) => Some(time).filter(|time| *time < flow.stop),
            Start::After { .. } => None,
        };
        let start_ns = record.start.or(planned).map(|time| int(time.round_ns()));
        let fct_ns = completion(record).map(|span| int(span.round_ns()));
        let known = !flow.is_outside() && record.start.is_some();
        let ideal_ns = known.then(|| int(record.ideal.round_ns()));
        let finish_ns = start_ns.zip(fct_ns).map(|(start, fct)| start + fct);
        Self {
            start_ns,
            finish_ns,
            fct_ns,
            ideal_ns,
            slowdown: fct_ns.zip(ideal_ns).and_then(|(fct, ideal)| slowdown(fct, ideal)),
        }
    }
}

/// Returns the completion time of a finished flow.
pub fn completion(record: &FlowRecord) -> Option<Span> {
    match record.status {
        Status::Finished => {
            record.start.zip(record.finish).map(|(start, finish)| finish.since(start))
        }
        Status::Running | Status::Terminated => None,
    }
}

/// Returns the slowdown. It is 1 for a flow that takes no time (both ends on one host).
fn slowdown(fct_ns: i64, ideal_ns: i64) -> Option<f64> {
    match (fct_ns, ideal_ns) {
        (0, 0) => Some(1.0),
        (_, 0) => None,
        _ => Some(fct_ns as f64 / ideal_ns as f64),
    }
}

/// Split of a finished flow's completion time in ns. The sum of the parts is `fct_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitNs {
    pub propagation: i64,
    pub serialization: i64,
    pub recovery: i64,
    pub reordering: i64,
    pub paused: i64,
    pub queueing: i64,
    pub pacing: i64,
    pub window: i64,
    pub application: i64,
    /// Part of the queueing time that was spent in the sender's own host.
    pub host: i64,
}

impl SplitNs {
    /// Returns `None` for an unfinished flow, and for a flow whose parts do not add up to its
    /// completion time (a failed check).
    pub fn of(record: &FlowRecord) -> Option<Self> {
        completion(record).filter(|_| checks::split(record).is_none())?;
        let Split { recovery, reordering, paused, queueing, pacing, window, application, host } =
            record.split;
        let serialization = record.ideal.0 - record.propagation.0;
        let mut boundaries = Boundaries::default();
        let [
            propagation,
            serialization,
            recovery,
            reordering,
            paused,
            queueing,
            pacing,
            window,
            application,
        ] = [
            record.propagation.0,
            serialization,
            recovery,
            reordering,
            paused,
            queueing,
            pacing,
            window,
            application,
        ]
        .map(|ps| boundaries.next(ps));
        Some(Self {
            propagation,
            serialization,
            recovery,
            reordering,
            paused,
            queueing,
            pacing,
            window,
            application,
            host: int(Span(host).round_ns()).min(queueing),
        })
    }
}

/// Cumulative sum of lengths, in ps and rounded to ns.
#[derive(Default)]
struct Boundaries {
    ps: u64,
    ns: u64,
}

impl Boundaries {
    /// Returns the next length in ns, between two rounded boundaries.
    fn next(&mut self, ps: u64) -> i64 {
        self.ps += ps;
        let before = std::mem::replace(&mut self.ns, Span(self.ps).round_ns());
        int(self.ns - before)
    }
}

/// Converts to the type of columns. Counts and times are far below its maximum.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finished_flow, flow};
    use afflux_units::Time;

    #[test]
    fn split_closes_whatever_the_picoseconds() {
        let mut state = 7u64;
        let mut awkward = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) % 2_503
        };
        for start in [0, 1, 499, 500, 501, 999_999_500] {
            for _ in 0..500 {
                let [
                    propagation,
                    serialization,
                    recovery,
                    reordering,
                    paused,
                    queueing,
                    pacing,
                    window,
                    application,
                ] = std::array::from_fn(|_| awkward());
                let split = Split {
                    recovery,
                    reordering,
                    paused,
                    queueing,
                    pacing,
                    window,
                    application,
                    host: queueing / 2,
                };
                let ideal = propagation + serialization;
                let fct = ideal
                    + recovery
                    + reordering
                    + paused
                    + queueing
                    + pacing
                    + window
                    + application;
                let record = FlowRecord {
                    propagation: Span(propagation),
                    ideal: Span(ideal),
                    split,
                    ..finished_flow(start, fct)
                };
                let flow = flow(0, 1, 1_000, start);
                let times = FlowTimes::of(&flow, &record);
                let ns = SplitNs::of(&record).unwrap();
                let ideal_ns = ns.propagation + ns.serialization;
                let waits = ns.recovery
                    + ns.reordering
                    + ns.paused
                    + ns.queueing
                    + ns.pacing
                    + ns.window
                    + ns.application;
                assert_eq!(Some(ideal_ns), times.ideal_ns);
                assert_eq!(Some(ideal_ns + waits), times.fct_ns);
                assert_eq!(
                    times.finish_ns.unwrap() - times.start_ns.unwrap(),
                    times.fct_ns.unwrap()
                );
                assert!(
                    times.finish_ns.unwrap().abs_diff(int(record.finish.unwrap().round_ns())) <= 1
                );
                for (part_ns, part_ps) in
                    [(ns.queueing, queueing), (ns.window, window), (ns.recovery, recovery)]
                {
                    assert!((part_ns * 1_000).abs_diff(int(part_ps)) <= 1_000);
                }
            }
        }
    }

    /// Boundaries at 1400, 2800, 4200 and 5600 ps become 1, 3, 4 and 6 ns: the parts are 1, 2, 1
    /// and 2 ns. Rounded separately, each part would be 1 ns, and the sum would be two short.
    #[test]
    fn a_worked_example() {
        let split = Split { recovery: 1_400, queueing: 1_400, ..Split::default() };
        let record = FlowRecord {
            propagation: Span(1_400),
            ideal: Span(2_800),
            split,
            ..finished_flow(0, 5_600)
        };
        let ns = SplitNs::of(&record).unwrap();
        assert_eq!(
            (ns.propagation, ns.serialization, ns.recovery, ns.queueing, ns.window),
            (1, 2, 1, 2, 0)
        );
        let times = FlowTimes::of(&flow(0, 1, 1, 0), &record);
        assert_eq!((times.ideal_ns, times.fct_ns, times.slowdown), (Some(3), Some(6), Some(2.0)));
    }

    #[test]
    fn a_flow_alone_has_slowdown_one_whenever_it_starts() {
        for start in [0, 333, 500, 777] {
            let record = FlowRecord { ideal: Span(12_345_678), ..finished_flow(start, 12_345_678) };
            assert_eq!(FlowTimes::of(&flow(0, 1, 1, start), &record).slowdown, Some(1.0));
        }
    }

    #[test]
    fn what_is_unknown_is_none() {
        let record = FlowRecord {
            start: None,
            finish: None,
            status: Status::Running,
            ..finished_flow(0, 1)
        };
        let mut flow = flow(0, 1, 1, 2_000);
        assert_eq!(FlowTimes::of(&flow, &record).start_ns, Some(2), "planned");
        flow.start = Start::After { group: 0, delay: Span(1) };
        let times = FlowTimes::of(&flow, &record);
        assert_eq!(
            (times.start_ns, times.finish_ns, times.fct_ns, times.slowdown),
            (None, None, None, None)
        );
        assert_eq!(times.ideal_ns, None, "computed at the start of a flow");
        assert_eq!(SplitNs::of(&record), None);
        let running = FlowRecord { start: Some(Time(5)), ideal: Span(1_400), ..record };
        assert_eq!(FlowTimes::of(&flow, &running).ideal_ns, Some(1));
        let instant = FlowRecord { ideal: Span(0), ..finished_flow(Time(5).0, 0) };
        assert_eq!(FlowTimes::of(&flow, &instant).slowdown, Some(1.0));
        let undefined = FlowRecord { ideal: Span(0), ..finished_flow(5, 5_000) };
        assert_eq!(FlowTimes::of(&flow, &undefined).slowdown, None);
    }

    #[test]
    fn a_split_that_does_not_close_is_not_shown() {
        let record = FlowRecord {
            ideal: Span(10),
            propagation: Span(4),
            split: Split { queueing: 4, ..Split::default() },
            ..finished_flow(0, 14)
        };
        assert!(SplitNs::of(&record).is_some());
        for wrong in [
            Split { queueing: 5, ..Split::default() },
            Split { queueing: 4, window: u64::MAX, ..Split::default() },
        ] {
            assert_eq!(SplitNs::of(&FlowRecord { split: wrong, ..record.clone() }), None);
        }
        assert_eq!(SplitNs::of(&FlowRecord { propagation: Span(11), ..record }), None);
    }
}
