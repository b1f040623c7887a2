//! CONGA (Alizadeh et al., SIGCOMM 2014): flowlets to the least congested path, by what the destination's leaf has seen and reports.

use super::dre::{Estimators, interval};
use super::flowlets::{Flowlets, path_is_open};
use super::tag::Congestion;
use super::{About, Around, Choice, Holding, Policy, Role, Site, Tag};
use crate::Model;
use crate::frame::Frame;
use afflux_config::tree::Wrong;
use afflux_config::{Duration, keys};

keys! {
    /// Flowlets on the least congested path.
    pub struct Keys as "Conga" => CongaConfig(around: &Around<'_>) {
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
        /// As ConWeave's ns-3 simulator.
        ns3: bool = around.ns3;
    }
}

pub struct Conga {
    /// Bits of a metric.
    bits: u32,
    aging: u64,
    ns3: bool,
    estimators: Estimators,
    flowlets: Flowlets,
    /// By rack, as far as any has been heard of.
    leaves: Vec<Leaf>,
    /// Costs of the paths at hand.
    costs: Vec<(u32, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Metric {
    value: u32,
    at: u64,
}

/// What is known of the paths from and to another leaf.
#[derive(Default)]
struct Leaf {
    /// Congestion of paths to there, as it reports them; ascending.
    to: Vec<(u32, Metric)>,
    /// Congestion of paths from there, to be reported; ascending.
    from: Vec<Report>,
    /// Whose turn it is.
    next: usize,
    /// How many have changed since they were reported last.
    changed: usize,
}

impl Leaf {
    fn hear(&mut self, path: u32, metric: Metric) {
        match self.to.binary_search_by_key(&path, |(path, _)| *path) {
            Ok(place) => self.to[place].1 = metric,
            Err(place) => self.to.insert(place, (path, metric)),
        }
    }

    fn heard(&self, path: u32) -> Option<Metric> {
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
    /// Since it was reported last.
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
            // The simulator forgets them when it ages; since it does not prefer the path before, nothing follows from that.
            flowlets: Flowlets::new(config.gap.0, aging, config.ns3),
            leaves: Vec::new(),
            costs: Vec::new(),
        }
    }

    fn selects_path(&self, _: &Frame) -> bool {
        true
    }

    fn choose(&mut self, site: &mut impl Holding, frame: &mut Frame, role: Role, _: &[u16]) -> Choice {
        self.estimators.run(site);
        if !frame.is_data() {
            // All that goes from leaf to leaf reports; in the simulator data alone.
            if matches!(frame.kind(), Frame::ACK | Frame::RDMA_ACK) && !self.ns3 {
                self.report_beside(site, frame, role);
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
        let path = flowlets.way(
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
                    let remote = leaf.and_then(|leaf| leaf.heard(path)).map_or(0, |metric| aged(metric, site.now(), aging, ns3));
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

    /// A frame that goes by hash.
    fn report_beside(&mut self, site: &mut impl Site, frame: &mut Frame, role: Role) {
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
        // A frame from a switch that does not know of CONGA, or whose path is no more.
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

    /// What a frame to `rack` tells it: in turn, those first that have changed since they were told last; in the simulator any, drawn at random.
    fn report(&mut self, site: &mut impl Site, rack: u32) -> Option<(u32, u32)> {
        let leaf = self.leaves.get_mut(rack as usize)?;
        let (now, aging, ns3) = (site.now(), self.aging, self.ns3);
        let is_fresh = |report: &Report| if ns3 { !swept(report.metric, now, aging) } else { now - report.metric.at <= aging };
        if ns3 {
            let fresh = leaf.from.iter().filter(|report| is_fresh(report)).count() as u64;
            if fresh == 0 {
                return None;
            }
            let draw = site.below(fresh) as usize;
            return leaf.from.iter().filter(|report| is_fresh(report)).nth(draw).map(|report| (report.path, report.metric.value));
        }
        let count = leaf.from.len();
        let in_turn = || (leaf.next..count).chain(0..leaf.next).filter(|&place| is_fresh(&leaf.from[place]));
        let changed = if leaf.changed > 0 { in_turn().find(|&place| leaf.from[place].changed) } else { None };
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

/// A load in steps of 2^-bits; the simulator does not stop at the highest.
fn metric(load: f64, bits: u32, ns3: bool) -> u32 {
    let levels = 1u32 << bits;
    let value = (load * levels as f64) as u32;
    if ns3 { value } else { value.min(levels - 1) }
}

/// The simulator sweeps at multiples of the age.
fn swept(metric: Metric, now: u64, aging: u64) -> bool {
    let sweep = now / aging * aging;
    sweep > metric.at + aging
}

/// What a report is worth that has not come again: after each age half of what it was.
fn aged(metric: Metric, now: u64, aging: u64, ns3: bool) -> u32 {
    if ns3 {
        if swept(metric, now, aging) { 0 } else { metric.value }
    } else {
        metric.value.checked_shr(((now - metric.at) / aging).min(32) as u32).unwrap_or(0)
    }
}

/// Places in the list of paths that are looked at: all; in the simulator four that follow each other.
fn sampled(site: &mut impl Site, rack: u32, ns3: bool) -> (usize, usize) {
    const SAMPLES: usize = 4;
    let count = site.paths(rack).len();
    if ns3 && count >= SAMPLES { (site.below((count - SAMPLES + 1) as u64) as usize, SAMPLES) } else { (0, count) }
}

/// The path before if none is better, or one of the best, drawn at random.
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
