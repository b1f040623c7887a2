//! CONGA (Alizadeh et al., SIGCOMM 2014): sends each flowlet on the least congested path, according
//! to the congestion that the destination's leaf has measured and reported.

use super::dre::{Estimators, interval};
use super::flowlets::{Flowlets, path_is_open};
use super::tag::Congestion;
use super::{About, Choice, Holding, PathContext, Policy, Role, Site, Tag};
use crate::Model;
use crate::frame::Frame;
use afflux_config::tree::Wrong;
use afflux_config::{Duration, keys};

keys! {
    /// Flowlets on the least congested path.
    pub struct Keys as "Conga" => CongaConfig(context: &PathContext<'_>) {
        /// Gap between two frames of a flow after which a new flowlet begins.
        gap: Duration = "500us" from "the paper, recalled; ConWeave's evaluation has 100 us";
        /// Interval at which the rate estimators lose the fraction `alpha`: Tdre.
        tdre: Duration = "32us" from "recalled: with `alpha` it gives the paper's time constant Tdre / alpha of 160 us; ConWeave's evaluation has 50 us", check interval;
        /// Fraction that the rate estimators lose at each interval `tdre`, between 0 and 1.
        alpha: f64 = 0.2 from "ConWeave's evaluation", check |alpha, at| match alpha {
            alpha if alpha > 0.0 && alpha < 1.0 => Ok(alpha),
            alpha => Err(Wrong::at(at, format!("found {alpha}: write a number above 0 and below 1"))),
        };
        /// Bits of a congestion metric: Q.
        bits: u8 = 3 from "the paper", in 1 to 8;
        /// Time without a new report after which a metric starts to age.
        aging: Duration = "10ms" from "the paper, recalled; ConWeave's evaluation has 500 us", check interval;
    }
    plus {
        /// Whether CONGA works as in ConWeave's ns-3 simulator.
        ns3: bool = context.ns3;
    }
}

pub struct Conga {
    /// Bits of a metric.
    bits: u32,
    aging: u64,
    ns3: bool,
    estimators: Estimators,
    flowlets: Flowlets,
    /// State by rack, up to the highest rack that frames have come from.
    leaves: Vec<Leaf>,
    /// Scratch list: cost and number of the candidate paths.
    costs: Vec<(u32, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Metric {
    value: u32,
    at: u64,
}

/// State of the paths from and to another leaf.
#[derive(Default)]
struct Leaf {
    /// Congestion of the paths to that leaf, as it reports them; ascending by path.
    to: Vec<(u32, Metric)>,
    /// Congestion of the paths from that leaf, to be reported to it; ascending by path.
    from: Vec<Report>,
    /// Index in `from` of the path whose report is next.
    next: usize,
    /// Number of entries of `from` that have changed since their last report.
    changed: usize,
}

impl Leaf {
    fn hear(&mut self, path: u32, metric: Metric) {
        match self.to.binary_search_by_key(&path, |(path, _)| *path) {
            Ok(place) => self.to[place].1 = metric,
            Err(place) => self.to.insert(place, (path, metric)),
        }
    }

    fn reported_metric(&self, path: u32) -> Option<Metric> {
        self.to.binary_search_by_key(&path, |(path, _)| *path).ok().map(|place| self.to[place].1)
    }

    fn see(&mut self, path: u32, metric: Metric) {
        match self.from.binary_search_by_key(&path, |report| report.path) {
            Ok(place) => {
                let report = &mut self.from[place];
                if !report.changed && report.metric.value != metric.value {
                    report.changed = true;
                    self.changed += 1;
                }
                report.metric = metric;
            }
            Err(place) => {
                self.changed += 1;
                self.from.insert(place, Report { path, metric, changed: true });
            }
        }
    }
}

struct Report {
    path: u32,
    metric: Metric,
    /// True if the metric has changed since the last report.
    changed: bool,
}

impl Policy for Conga {
    type Config = CongaConfig;
    fn new(config: &CongaConfig, ports: &[Option<u64>]) -> Self {
        let aging = config.aging.0;
        Conga {
            bits: config.bits as u32,
            aging,
            ns3: config.ns3,
            estimators: Estimators::new((config.tdre, config.alpha), config.ns3, ports),
            // The simulator forgets flowlets when it ages its tables. It does not prefer the
            // previous path, so forgetting has no effect on its choices.
            flowlets: Flowlets::new(config.gap.0, aging, config.ns3),
            leaves: Vec::new(),
            costs: Vec::new(),
        }
    }

    fn selects_path(&self, _: &Frame) -> bool {
        true
    }

    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        role: Role,
        _: &[u16],
    ) -> Choice {
        self.estimators.run(site);
        if !frame.is_data() {
            // All frames from leaf to leaf carry reports; in the simulator only data frames do.
            if matches!(frame.kind(), Frame::ACK | Frame::RDMA_ACK) && !self.ns3 {
                self.handle_hashed(site, frame, role);
            }
            return Choice::Ecmp;
        }
        match role {
            Role::Source => self.leave(site, frame),
            Role::Transit => self.pass(site, frame),
            Role::Destination => self.take_in(site, frame),
        }
        Choice::Follow
    }

    fn on_wake(&mut self, site: &mut impl Holding, _: u32) {
        self.estimators.on_tick(site);
    }

    fn needs_ports(config: &CongaConfig) -> bool {
        config.ns3
    }
}

impl Conga {
    fn leave(&mut self, site: &mut impl Site, frame: &mut Frame) {
        let rack = site.rack_of(frame.dst);
        let report = self.report(site, rack);
        let Conga { flowlets, estimators, leaves, costs, .. } = self;
        let (bits, aging, ns3) = (self.bits, self.aging, self.ns3);
        let path = flowlets.path(
            site,
            frame,
            |site, path| path_is_open(site, rack, path),
            |site, before| {
                costs.clear();
                let (from, count) = sampled(site, rack, ns3);
                let leaf = leaves.get(rack as usize);
                for place in from..from + count {
                    let path = site.paths(rack)[place];
                    let own = metric(estimators.load(site, first_port(path)), bits, ns3);
                    let remote = leaf
                        .and_then(|leaf| leaf.reported_metric(path))
                        .map_or(0, |metric| aged(metric, site.now(), aging, ns3));
                    costs.push((own.max(remote), path));
                }
                best(site, costs, before.filter(|_| !ns3))
            },
        );
        frame.pin(path);
        estimators.routed(site, first_port(path), frame.size);
        let seen = metric(estimators.load(site, first_port(path)), bits, ns3);
        *site.tag(frame) = Tag::Conga(Congestion { seen: Some((path, seen)), report });
    }

    /// Adds or reads the report of a frame that is hashed.
    fn handle_hashed(&mut self, site: &mut impl Site, frame: &mut Frame, role: Role) {
        match role {
            Role::Source => {
                let rack = site.rack_of(frame.dst);
                if let Some(report) = self.report(site, rack) {
                    *site.tag(frame) = Tag::Conga(Congestion { seen: None, report: Some(report) });
                }
            }
            Role::Transit => {}
            Role::Destination => self.take_in(site, frame),
        }
    }

    fn pass(&mut self, site: &mut impl Site, frame: &mut Frame) {
        // The frame comes from a switch without CONGA, or its path no longer exists.
        if !frame.has(Frame::PINNED) || !frame.has(Frame::EXTRA) {
            return;
        }
        let port = frame.pinned_port();
        self.estimators.routed(site, port, frame.size);
        let own = metric(self.estimators.load(site, port), self.bits, self.ns3);
        if let Tag::Conga(Congestion { seen: Some((_, seen)), .. }) = site.tag(frame) {
            *seen = own.max(*seen);
        }
    }

    fn take_in(&mut self, site: &mut impl Site, frame: &mut Frame) {
        let Tag::Conga(Congestion { seen, report }) = site.take_tag(frame) else { return };
        let rack = site.rack_of(site.source_of(frame));
        let at = site.now();
        if self.leaves.len() <= rack as usize {
            self.leaves.resize_with(rack as usize + 1, Leaf::default);
        }
        let leaf = &mut self.leaves[rack as usize];
        if let Some((path, value)) = report {
            leaf.hear(path, Metric { value, at });
        }
        if let Some((path, value)) = seen {
            leaf.see(path, Metric { value, at });
        }
    }

    /// Returns the report for a frame to `rack`: of the paths in turn, but first those that have
    /// changed since their last report. In the simulator, a path drawn at random.
    fn report(&mut self, site: &mut impl Site, rack: u32) -> Option<(u32, u32)> {
        let leaf = self.leaves.get_mut(rack as usize)?;
        let (now, aging, ns3) = (site.now(), self.aging, self.ns3);
        let is_fresh = |report: &Report| {
            if ns3 { !swept(report.metric, now, aging) } else { now - report.metric.at <= aging }
        };
        if ns3 {
            let fresh = leaf.from.iter().filter(|report| is_fresh(report)).count() as u64;
            if fresh == 0 {
                return None;
            }
            let draw = site.below(fresh) as usize;
            return leaf
                .from
                .iter()
                .filter(|report| is_fresh(report))
                .nth(draw)
                .map(|report| (report.path, report.metric.value));
        }
        let count = leaf.from.len();
        let in_turn =
            || (leaf.next..count).chain(0..leaf.next).filter(|&place| is_fresh(&leaf.from[place]));
        let changed =
            if leaf.changed > 0 { in_turn().find(|&place| leaf.from[place].changed) } else { None };
        let place = changed.or_else(|| in_turn().next())?;
        leaf.next = if place + 1 == count { 0 } else { place + 1 };
        let report = &mut leaf.from[place];
        leaf.changed -= std::mem::take(&mut report.changed) as usize;
        Some((report.path, report.metric.value))
    }
}

fn first_port(path: u32) -> u16 {
    (path & 0xff) as u16
}

/// Quantises a load in steps of 2^-bits. The simulator does not clamp it to the highest step.
fn metric(load: f64, bits: u32, ns3: bool) -> u32 {
    let levels = 1u32 << bits;
    let value = (load * levels as f64) as u32;
    if ns3 { value } else { value.min(levels - 1) }
}

/// True if the simulator has removed the metric. It sweeps at multiples of the age.
fn swept(metric: Metric, now: u64, aging: u64) -> bool {
    let sweep = now / aging * aging;
    sweep > metric.at + aging
}

/// Returns the metric of a report that was not renewed: it halves with each age.
fn aged(metric: Metric, now: u64, aging: u64, ns3: bool) -> u32 {
    if ns3 {
        if swept(metric, now, aging) { 0 } else { metric.value }
    } else {
        metric.value.checked_shr(((now - metric.at) / aging).min(32) as u32).unwrap_or(0)
    }
}

/// Returns the range (first index and count) of the paths to consider: all; in the simulator four
/// consecutive ones.
fn sampled(site: &mut impl Site, rack: u32, ns3: bool) -> (usize, usize) {
    const SAMPLES: usize = 4;
    let count = site.paths(rack).len();
    if ns3 && count >= SAMPLES {
        (site.below((count - SAMPLES + 1) as u64) as usize, SAMPLES)
    } else {
        (0, count)
    }
}

/// Returns the previous path if none is better, otherwise one of the best, drawn at random.
fn best(site: &mut impl Site, costs: &[(u32, u32)], before: Option<u32>) -> u32 {
    let least = costs.iter().map(|(cost, _)| *cost).min().expect("a path");
    let ties = || costs.iter().filter(|(cost, _)| *cost == least).map(|(_, path)| *path);
    if let Some(before) = before
        && ties().any(|path| path == before)
    {
        return before;
    }
    let draw = site.below(ties().count() as u64) as usize;
    ties().nth(draw).expect("one of them")
}

pub const ABOUT: About = About::pinning(MODEL);

pub const MODEL: Model = Model {
    kind: "balance",
    name: "conga",
    source: "Alizadeh et al., SIGCOMM 2014; ConWeave's ns-3 simulator, commit 236a801",
    faithful: "flowlets at the source's leaf; a discounting rate estimator at every port to a switch, quantised and clamped; frames carry the metric of \
               their most congested hop, and one report of the reverse direction (changed reports first, then in turn); a new flowlet takes the path with \
               the least value of max(local metric, reported metric), and keeps its last path if that is among the least; a report that is not renewed \
               for `aging` loses half of its value per age. With `compat = \"conweave-ns3\"`: bytes count when they are routed, only data count, metrics \
               are not clamped, the report to send is drawn at random, four consecutive paths are candidates, the last path is not preferred, periodic \
               sweeps age the reports",
    simplified: "metrics are per path instead of per uplink, so CONGA works on three tiers and with parallel links; each flowlet has an entry of its own, \
                 without collisions; the overlay header adds no bytes on the wire",
};
