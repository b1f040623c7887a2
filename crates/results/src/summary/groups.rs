//! Completion times and slowdowns of all flows, by size and by class.

use crate::statistics::Distribution;
use crate::times::FlowTimes;
use afflux_net::record::Output;
use afflux_scenario::Scenario;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Groups<S> {
    pub all: S,
    /// `le_100KB`, `100KB_10MB`, `gt_10MB`: payload bytes above the first bound, up to and
    /// including the second.
    pub by_size: Named<S>,
    pub by_class: Named<S>,
}

/// A JSON object with a fixed order of keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Named<S>(pub Vec<(String, S)>);

impl<S: Serialize> Serialize for Named<S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

/// Completion times of the finished flows in ns. Null if there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FctStatistics {
    #[serde(flatten)]
    pub sample: Sample,
    pub mean_ns: Option<f64>,
    pub p50_ns: Option<f64>,
    pub p95_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub p999_ns: Option<f64>,
}

/// Slowdowns of the finished flows. Null if there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlowdownStatistics {
    #[serde(flatten)]
    pub sample: Sample,
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    /// Mean ideal completion time in ns of these flows and of the unfinished ones. Slowdowns are
    /// comparable only if this value is the same.
    pub ideal_mean_ns: Option<f64>,
}

/// Numbers of flows. Those that started in the warm-up are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Sample {
    /// Number of finished flows, from which the statistics are computed.
    pub count: u64,
    /// Number of started flows without completion time. The statistics lack these slow flows.
    pub unfinished: u64,
    /// Number of flows that had not started when the run ended. No statistic has them.
    pub not_started: u64,
    /// True if `unfinished > 0`. The true mean and percentiles are then higher by an unknown
    /// amount.
    pub censored: bool,
}

pub fn of(
    scenario: &Scenario,
    output: &Output,
) -> (Groups<FctStatistics>, Groups<SlowdownStatistics>) {
    let mut all = Flows::default();
    let mut by_size: Vec<Flows> =
        size_names(&scenario.size_bounds).iter().map(|_| Flows::default()).collect();
    let mut by_class: Vec<Flows> = scenario.classes.iter().map(|_| Flows::default()).collect();
    for (flow, record) in output.all_flows(&scenario.plan) {
        if !flow.can_complete() {
            continue;
        }
        let size = scenario.size_bounds.partition_point(|&bound| bound < flow.bytes);
        let groups = [&mut all, &mut by_size[size], &mut by_class[flow.class as usize]];
        match record.start {
            None => groups.into_iter().for_each(|group| group.not_started += 1),
            Some(start) if start.0 >= scenario.warmup.0 => {
                let times = FlowTimes::of(flow, record);
                groups.into_iter().for_each(|group| group.add(times));
            }
            Some(_) => {}
        }
    }
    let mut fct = (Vec::new(), Vec::new());
    let mut slowdown = (Vec::new(), Vec::new());
    for (name, flows) in size_names(&scenario.size_bounds).into_iter().zip(by_size) {
        fct.0.push((name.clone(), FctStatistics::of(&flows)));
        slowdown.0.push((name, SlowdownStatistics::of(flows)));
    }
    for ((name, flows), _) in scenario
        .classes
        .iter()
        .zip(by_class)
        .zip(used_classes(scenario, output))
        .filter(|(_, used)| *used)
    {
        fct.1.push((name.clone(), FctStatistics::of(&flows)));
        slowdown.1.push((name.clone(), SlowdownStatistics::of(flows)));
    }
    (
        Groups { all: FctStatistics::of(&all), by_size: Named(fct.0), by_class: Named(fct.1) },
        Groups {
            all: SlowdownStatistics::of(all),
            by_size: Named(slowdown.0),
            by_class: Named(slowdown.1),
        },
    )
}

/// Returns for each class whether it has flows.
pub(super) fn used_classes(scenario: &Scenario, output: &Output) -> Vec<bool> {
    let mut used = vec![false; scenario.classes.len()];
    output.all_flows(&scenario.plan).for_each(|(flow, _)| used[usize::from(flow.class)] = true);
    used
}

/// The flows of one group.
#[derive(Default)]
struct Flows {
    fct_ns: Vec<f64>,
    slowdown: Vec<f64>,
    unfinished: u64,
    not_started: u64,
    /// Number of flows with an ideal completion time, those of them that did not finish, and the
    /// sum of these times.
    with_ideal: u64,
    without_slowdown: u64,
    ideal_ns: f64,
}

impl Flows {
    fn add(&mut self, times: FlowTimes) {
        self.unfinished += u64::from(times.fct_ns.is_none());
        self.fct_ns.extend(times.fct_ns.map(|fct| fct as f64));
        self.slowdown.extend(times.slowdown);
        if let Some(ideal_ns) = times.ideal_ns {
            self.with_ideal += 1;
            self.without_slowdown += u64::from(times.fct_ns.is_none());
            self.ideal_ns += ideal_ns as f64;
        }
    }

    fn sample(&self) -> Sample {
        Sample {
            count: self.fct_ns.len() as u64,
            unfinished: self.unfinished,
            not_started: self.not_started,
            censored: self.unfinished > 0,
        }
    }
}

impl FctStatistics {
    fn of(flows: &Flows) -> Self {
        let d = Distribution::of(flows.fct_ns.clone());
        let quantile = |q| d.as_ref().map(|d| d.quantile(q));
        Self {
            sample: flows.sample(),
            mean_ns: d.as_ref().map(Distribution::mean),
            p50_ns: quantile(0.5),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
        }
    }
}

impl SlowdownStatistics {
    fn of(flows: Flows) -> Self {
        let sample = Sample {
            count: flows.with_ideal - flows.without_slowdown,
            unfinished: flows.without_slowdown,
            not_started: flows.not_started,
            censored: flows.without_slowdown > 0,
        };
        let ideal_mean_ns =
            (flows.with_ideal > 0).then(|| flows.ideal_ns / flows.with_ideal as f64);
        let d = Distribution::of(flows.slowdown);
        let quantile = |q| d.as_ref().map(|d| d.quantile(q));
        Self {
            sample,
            mean: d.as_ref().map(Distribution::mean),
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            ideal_mean_ns,
        }
    }
}

/// Returns the names of the size classes: one more than there are bounds.
fn size_names(bounds: &[u64]) -> Vec<String> {
    let (Some(&first), Some(&last)) = (bounds.first(), bounds.last()) else {
        return vec!["all".into()];
    };
    let mut names = vec![format!("le_{}", size(first))];
    names.extend(bounds.windows(2).map(|pair| format!("{}_{}", size(pair[0]), size(pair[1]))));
    names.push(format!("gt_{}", size(last)));
    names
}

/// Formats a size in the largest decimal unit that gives a whole number.
fn size(bytes: u64) -> String {
    let units =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
    match units.into_iter().find(|&(unit, _)| bytes > 0 && bytes.is_multiple_of(unit)) {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sizes() {
        assert_eq!(size_names(&[100_000, 10_000_000]), ["le_100KB", "100KB_10MB", "gt_10MB"]);
        assert_eq!(size_names(&[1_500]), ["le_1500B", "gt_1500B"]);
        assert_eq!(size_names(&[104_000, 2_000_000_000]), ["le_104KB", "104KB_2GB", "gt_2GB"]);
        assert_eq!(size_names(&[]), ["all"]);
    }
}
