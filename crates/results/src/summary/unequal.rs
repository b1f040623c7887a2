//! Detection of starved flows: equal flows with very different goodputs, which the fabric does not
//! explain.

use afflux_net::record::{FlowRecord, Output};
use afflux_net::spec::{FlowId, NodeId, Topology};
use afflux_scenario::Scenario;
use afflux_units::{Span, Time};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Ratio of the largest to the least goodput from which a note is written.
const TENFOLD: f64 = 10.0;

/// Properties that equal flows share. Equal ideal times of equal sizes imply paths with the same
/// number of links, rates and delays.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    class: u16,
    bytes: u64,
    stop: Time,
    ideal: Span,
    /// Rack numbers of source and destination, from [`racks`].
    racks: [usize; 2],
    /// Numbers of the faults at the links of source and destination, from [`faults`].
    faults: [usize; 2],
    /// Number of flows of the run that leave the source, and number that enter the destination. The
    /// flow shares these links with them.
    company: [u64; 2],
}

#[derive(Clone, Copy)]
struct Flow {
    id: i64,
    start: u64,
    /// Active time in ps.
    time: u64,
    goodput: f64,
}

impl Flow {
    fn of(id: i64, record: &FlowRecord, end: Time) -> Option<Self> {
        let (start, last) = record.active(end)?;
        Some(Flow { id, start: start.0, time: last.since(start).0, goodput: record.goodput(end)? })
    }
}

/// Flows of one kind that were all active at once: each started within the time of the shortest of
/// them.
struct Together {
    start: u64,
    shortest: u64,
    least: Flow,
    most: Flow,
}

impl Together {
    fn of(flow: Flow) -> Self {
        Together { start: flow.start, shortest: flow.time, least: flow, most: flow }
    }

    /// Adds a flow that starts later. False if it does not overlap with the others.
    fn take(&mut self, flow: Flow) -> bool {
        let shortest = self.shortest.min(flow.time);
        if flow.start - self.start >= shortest {
            return false;
        }
        self.shortest = shortest;
        if flow.goodput < self.least.goodput {
            self.least = flow;
        }
        if flow.goodput > self.most.goodput {
            self.most = flow;
        }
        true
    }

    /// Returns the ratio of the best to the worst goodput. Infinite if the worst flow got nothing.
    fn ratio(&self) -> f64 {
        self.most.goodput / self.least.goodput
    }
}

/// Returns a note for each class with such flows, about the most different ones. Flows that started
/// in the warm-up are excluded.
pub fn notes(scenario: &Scenario, output: &Output) -> Vec<String> {
    let plan = &scenario.plan;
    let (racks, faults) = (racks(&plan.topology), faults(&plan.topology, output.end));
    // With at least as many links as nodes, the topology is no tree, and there may be several
    // shortest paths between racks. Within a rack there is one path, unless hosts have several
    // links.
    let Topology { nodes, links, hosts, .. } = &plan.topology;
    let cycles = links.len() >= nodes.len();
    let multihomed = plan.topology.is_multihomed();
    let faulty = links.iter().any(|link| link.is_faulty(output.end.0));
    // Links among which equal flows may choose differently.
    let choice_is_faulty = links
        .iter()
        .any(|link| (multihomed || link.a.min(link.b) >= *hosts) && link.is_faulty(output.end.0));
    let mut company = vec![[0u64; 2]; racks.len()];
    let networked = || {
        output
            .all_flows(plan)
            .enumerate()
            .filter(|(_, (flow, record))| flow.src != flow.dst && record.start.is_some())
    };
    for (_, (flow, _)) in networked() {
        company[flow.src as usize][0] += 1;
        company[flow.dst as usize][1] += 1;
    }
    let kind = |place: FlowId| {
        let (flow, record) = (output.flow(plan, place), &output.flows[place as usize]);
        Kind {
            class: flow.class,
            bytes: flow.bytes,
            stop: flow.stop,
            ideal: record.ideal,
            racks: [flow.src, flow.dst].map(|host| racks[host as usize]),
            faults: [flow.src, flow.dst].map(|host| faults[host as usize]),
            company: [company[flow.src as usize][0], company[flow.dst as usize][1]],
        }
    };
    // Group by hash to save memory: a run may have millions of flows, and hardly any two of them
    // are equal.
    let hash = |kind: &Kind| BuildHasherDefault::<DefaultHasher>::default().hash_one(kind);
    let counted = networked().filter(|(_, (flow, record))| {
        !flow.is_outside() && record.start.is_some_and(|start| start.0 >= scenario.warmup.0)
    });
    let mut places: Vec<(u64, FlowId)> =
        counted.map(|(place, _)| (hash(&kind(place as FlowId)), place as FlowId)).collect();
    places.sort_unstable();
    let mut worst: BTreeMap<u16, (Together, bool)> = BTreeMap::new();
    for equal in
        places.chunk_by(|a, b| a.0 == b.0 && kind(a.1) == kind(b.1)).filter(|equal| equal.len() > 1)
    {
        let Kind { class, racks: [from, to], .. } = kind(equal[0].1);
        let several = cycles && (from != to || multihomed);
        let of = |&(_, place): &(u64, FlowId)| {
            Flow::of(output.flow(plan, place).id, &output.flows[place as usize], output.end)
        };
        let mut flows: Vec<Flow> = equal.iter().filter_map(of).collect();
        flows.sort_by_key(|flow| flow.start);
        for together in bursts(flows).into_iter().filter(|together| together.ratio() >= TENFOLD) {
            if worst.get(&class).is_none_or(|(known, _)| together.ratio() > known.ratio()) {
                worst.insert(class, (together, several));
            }
        }
    }
    worst
        .iter()
        .map(|(&class, (together, several))| {
            let cause = match (several, choice_is_faulty) {
                (false, _) => "no difference in their paths explains it",
                (true, false) => "at most the choice among equal paths (ECMP) differs",
                (true, true) => {
                    "at most the choice among equal paths (ECMP) differs, and some links lose frames or were down"
                }
            };
            note(&scenario.classes[usize::from(class)], together, cause, faulty)
        })
        .collect()
}

/// Splits flows of one kind, ordered by start, into groups of simultaneous flows.
fn bursts(flows: Vec<Flow>) -> Vec<Together> {
    let mut found: Vec<Together> = Vec::new();
    for flow in flows {
        if !found.last_mut().is_some_and(|last| last.take(flow)) {
            found.push(Together::of(flow));
        }
    }
    found
}

/// Returns the note. `faulty`: some link loses frames or was down.
fn note(class: &str, Together { least, most, .. }: &Together, cause: &str, faulty: bool) -> String {
    let [low, high] =
        [least, most].map(|flow| format!("{} (flow {})", rate(flow.goodput), flow.id));
    let together =
        if least.start == most.start { "started together" } else { "were active at the same time" };
    let faults = if faulty { ", the faults of their hosts' links" } else { "" };
    format!(
        "warning: class {class}: equal flows that {together} got between {low} and {high}; {cause}: their size, racks, link rates and delays{faults}, and the \
         number of flows at their hosts are the same"
    )
}

/// Returns a number per host. Hosts share a number if they are connected to the same switches.
fn racks(topology: &Topology) -> Vec<usize> {
    let mut switches: Vec<Vec<NodeId>> = vec![Vec::new(); topology.hosts as usize];
    for link in &topology.links {
        for (host, other) in [(link.a, link.b), (link.b, link.a)] {
            if host < topology.hosts {
                switches[host as usize].push(other);
            }
        }
    }
    numbered(switches)
}

/// Returns a number per host. Hosts share a number if their links lose frames with the same
/// probabilities and were down at the same times. Outages that begin after the `end` of the run do
/// not count.
fn faults(topology: &Topology, end: Time) -> Vec<usize> {
    let mut faults = vec![Vec::new(); topology.hosts as usize];
    for link in &topology.links {
        for (host, is_b) in [(link.a, false), (link.b, true)] {
            if host < topology.hosts {
                let loss = [is_b, !is_b].map(|reverse| link.loss_of(reverse).get().to_bits());
                let down = link.down.iter().filter(|down| down.from < end);
                let down: Vec<_> =
                    down.map(|down| (down.from, down.to, down.detect, down.converge)).collect();
                faults[host as usize].push((loss, down));
            }
        }
    }
    numbered(faults)
}

/// Numbers the values, from 0. Equal values have the same number.
fn numbered<K: Ord>(values: Vec<K>) -> Vec<usize> {
    let mut known = BTreeMap::new();
    values
        .into_iter()
        .map(|value| {
            let next = known.len();
            *known.entry(value).or_insert(next)
        })
        .collect()
}

/// Formats a rate with three digits.
fn rate(bps: f64) -> String {
    let units = [(1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps")];
    let (unit, name) = units.into_iter().find(|(unit, _)| bps >= *unit).unwrap_or((1.0, "bps"));
    let value = bps / unit;
    let digits = if value >= 100.0 || value == 0.0 { 0 } else { usize::from(value < 10.0) + 1 };
    format!("{value:.digits$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finished_flow, flow, run};
    use afflux_net::spec::{Down, Link};
    use afflux_units::Probability;

    const US: u64 = 1_000_000;

    /// Returns a run with flows of 1000 B each from host 0 or 1 to host 2, given as `(source,
    /// start, end)` in us.
    fn with(flows: &[(u32, u64, u64)]) -> (Scenario, Output) {
        let (mut scenario, mut output) = run();
        scenario.plan.flows = (7..)
            .zip(flows)
            .map(|(id, &(src, start, _))| afflux_net::spec::Flow {
                id,
                ..flow(src, 2, 1_000, start * US)
            })
            .collect();
        let record = |&(_, start, end)| FlowRecord {
            ideal: Span(US),
            ..finished_flow(start * US, (end - start) * US)
        };
        output.flows = flows.iter().map(record).collect();
        (scenario, output)
    }

    #[test]
    fn a_flow_that_starves_is_named() {
        let (scenario, output) = with(&[(0, 0, 10), (1, 5, 1_000)]);
        let [note] = &notes(&scenario, &output)[..] else { panic!("one note") };
        assert!(
            note.starts_with("warning: class default: equal flows that were active at the same time got between 8.04 Mbps (flow 8) and 800 Mbps (flow 7); at most"),
            "{note}"
        );
        assert!(note.ends_with(
            "link rates and delays, and the number of flows at their hosts are the same"
        ));
        let (scenario, output) = with(&[(0, 3, 10), (1, 3, 1_000)]);
        assert!(notes(&scenario, &output)[0].contains("equal flows that started together got"));
        // A ratio of nine is not enough.
        let (scenario, output) = with(&[(0, 0, 10), (1, 5, 95)]);
        assert!(notes(&scenario, &output).is_empty());
    }

    /// A flow that gets nothing at all is the worst.
    #[test]
    fn nothing_at_all() {
        let (scenario, mut output) = with(&[(0, 0, 10), (1, 5, 1_000)]);
        (output.flows[1].bytes_received, output.flows[1].last_received) = (0, None);
        assert!(notes(&scenario, &output)[0].contains("between 0 bps (flow 8) and 800 Mbps"));
        output.flows[0].bytes_received = 0;
        assert!(notes(&scenario, &output).is_empty(), "nobody got anything");
    }

    /// Two spines offer a choice of paths between racks. Within a rack, or with one spine, there is
    /// one path.
    #[test]
    fn where_there_is_one_path() {
        let (mut scenario, output) = with(&[(0, 0, 10), (1, 5, 1_000)]);
        assert!(notes(&scenario, &output)[0].contains("choice among equal paths"));
        scenario.plan.flows.iter_mut().for_each(|flow| flow.dst = 1 - flow.src);
        assert!(
            notes(&scenario, &output)[0].contains("no difference in their paths explains it"),
            "within a rack"
        );
        let (mut scenario, output) = with(&[(0, 0, 10), (1, 5, 1_000)]);
        scenario.plan.topology.links.retain(|link| link.b != 7);
        scenario.plan.topology.nodes.truncate(7);
        assert!(
            notes(&scenario, &output)[0].contains("no difference in their paths explains it"),
            "one spine"
        );
    }

    /// A fault at the link of one of the hosts explains the difference, and prevents the note. One at
    /// the links of both hosts does not. The note mentions one between switches: only one of the
    /// flows may have met it.
    #[test]
    fn faults_of_links() {
        let with_fault = |change: &dyn Fn(&mut Vec<Link>)| {
            let (mut scenario, output) = with(&[(0, 0, 10), (1, 5, 1_000)]);
            change(&mut scenario.plan.topology.links);
            notes(&scenario, &output).pop()
        };
        let lossy = |link: &mut Link| link.loss = Probability::new(0.05).unwrap();
        let down = |link: &mut Link, from: u64| {
            let zero = Span::ZERO;
            link.down =
                vec![Down { from: Time(from * US), to: None, detect: zero, converge: zero }];
        };
        assert_eq!(with_fault(&|links| lossy(&mut links[1])), None);
        assert_eq!(with_fault(&|links| down(&mut links[0], 50)), None);
        let back = |links: &mut Vec<Link>| links[1].loss_back = Probability::new(0.05);
        assert_eq!(with_fault(&back), None, "only towards the host");
        let later = with_fault(&|links| down(&mut links[0], 2_000)).unwrap();
        assert!(later.contains("(ECMP) differs: their size, racks, link rates and delays, and"));
        let both = with_fault(&|links| links[..2].iter_mut().for_each(lossy)).unwrap();
        assert!(both.contains("(ECMP) differs: their size"), "{both}");
        assert!(
            both.contains("delays, the faults of their hosts' links, and the number"),
            "{both}"
        );
        let between = with_fault(&|links| lossy(&mut links[4])).unwrap();
        assert!(
            between.contains("(ECMP) differs, and some links lose frames or were down: their size"),
            "{between}"
        );
    }

    /// Any other reason prevents the note: a different time, size, path, class, stop or company, or
    /// the warm-up.
    #[test]
    fn flows_that_are_not_equal() {
        let unequal = |change: &dyn Fn(&mut Scenario, &mut Output)| {
            let (mut scenario, mut output) = with(&[(0, 0, 10), (1, 5, 1_000)]);
            change(&mut scenario, &mut output);
            notes(&scenario, &output).len()
        };
        assert_eq!(unequal(&|_, _| ()), 1);
        assert_eq!(
            unequal(&|_, output| output.flows[1].start = Some(Time(10 * US))),
            0,
            "when the first had ended"
        );
        assert_eq!(unequal(&|scenario, _| scenario.plan.flows[1].bytes += 1), 0);
        assert_eq!(unequal(&|scenario, _| scenario.plan.flows[1].class = 1), 0);
        assert_eq!(unequal(&|scenario, _| scenario.plan.flows[1].stop = Time(5_000 * US)), 0);
        assert_eq!(unequal(&|scenario, _| scenario.plan.flows[1].src = 3), 0, "another rack");
        assert_eq!(unequal(&|scenario, _| scenario.plan.flows[1].dst = 1), 0, "within its host");
        assert_eq!(unequal(&|_, output| output.flows[1].ideal = Span(2 * US)), 0, "a longer path");
        assert_eq!(unequal(&|scenario, _| scenario.warmup = Span(US)), 0);
        let company = |scenario: &mut Scenario, output: &mut Output| {
            scenario.plan.flows.push(flow(1, 3, 99, 0));
            output.flows.push(finished_flow(0, US));
        };
        assert_eq!(unequal(&company), 0, "its host sends another flow");
    }

    #[test]
    fn three_digits() {
        let shown = [0.0, 0.5, 12.0, 999.0, 1_000.0, 276_000.0, 9.499e8, 25e9, 1.6e12].map(rate);
        assert_eq!(
            shown,
            [
                "0 bps",
                "0.50 bps",
                "12.0 bps",
                "999 bps",
                "1.00 kbps",
                "276 kbps",
                "950 Mbps",
                "25.0 Gbps",
                "1.60 Tbps"
            ]
        );
    }
}
