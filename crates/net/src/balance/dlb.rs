//! Dynamic load balancing of switch ASICs: selects ports by local quality (Broadcom DLB; SAI's
//! adaptive routing and switching).

use super::dre::{Estimators, interval};
use super::flowlets::{Flowlets, REMEMBERED};
use super::{About, Choice, Holding, PathContext, Policy, Role, Site};
use crate::Model;
use crate::frame::Frame;
use afflux_config::tree::Wrong;
use afflux_config::{Duration, Off, Or, Size, keys};
use afflux_units::Bytes;

keys! {
    /// Port quality: with `dlb` of the switch's own ports, with `glb` also of the ports behind next
    /// hops.
    pub struct Keys as "Dlb" => DlbConfig(_context: &PathContext<'_>) {
        /// Idle time after which a flow may change its port, or `"off"` for a choice per frame.
        idle: Or<Off, Duration> = "256us" from "SONiC's `flowlet_idle_time`";
        /// Time between two updates of the past load, which is a moving average. With `glb`, next
        /// hops report changes at these times.
        sampling_interval: Duration = "16us" from "SONiC", check interval;
        /// Weight of the past load in a port's quality.
        past_load_weight: u32 = 16 from "SONiC", in 0 to 255;
        /// Weight of the queue in a port's quality.
        future_load_weight: u32 = 16 from "SONiC", in 0 to 255;
        /// Queue length from which a port has the worst quality.
        future_load_range: Size as u64 = "256kB" from "a guess: 1000 cells of 256 B of SONiC's example", check |Size(Bytes(bytes)), at| match bytes {
            0 => Err(Wrong::at(at, "\"0B\": write a size above 0, as in \"256kB\"")),
            bytes => Ok(bytes),
        };
        /// Number of quality bands of a port.
        bands: u32 = 8 from "a guess", in 1 to 256;
    }
    check |parsed, at| match parsed.past_load_weight + parsed.future_load_weight {
        0 => Err(Wrong::at(at("past_load_weight"), "found 0, and future_load_weight = 0 too: write at least one of them above 0")),
        _ => Ok(()),
    };
}

pub struct Dlb {
    config: DlbConfig,
    pub(super) estimators: Estimators,
    flowlets: Option<Flowlets>,
    bands: Vec<(u32, u16)>,
}

impl Policy for Dlb {
    type Config = DlbConfig;
    fn new(config: &DlbConfig, ports: &[Option<u64>]) -> Self {
        Dlb {
            config: config.clone(),
            // An interval has weight 1/2 in the average.
            estimators: Estimators::new((config.sampling_interval, 0.5), false, ports),
            flowlets: config.idle.map(|idle| Flowlets::new(idle.0, REMEMBERED, false)),
            bands: Vec::new(),
        }
    }
    fn selects_path(&self, _: &Frame) -> bool {
        true
    }
    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        _: Role,
        hops: &[u16],
    ) -> Choice {
        self.estimators.run(site);
        self.best_of(site, frame, hops, |_, _| 0)
    }
    fn on_wake(&mut self, site: &mut impl Holding, _: u32) {
        self.estimators.on_tick(site);
    }
}

impl Dlb {
    /// Selects one of the next hops. `behind` returns the band of the links behind a port.
    pub(super) fn best_of<S: Site>(
        &mut self,
        site: &mut S,
        frame: &Frame,
        hops: &[u16],
        behind: impl Fn(&S, u16) -> u32,
    ) -> Choice {
        if !frame.is_data() {
            return Choice::Ecmp;
        }
        if let [only] = hops {
            return Choice::Port(*only);
        }
        let Dlb { config, estimators, flowlets, bands } = self;
        let port = match flowlets {
            None => best(site, config, estimators, bands, hops, behind, None),
            Some(flowlets) => flowlets.path(
                site,
                frame,
                |_, port| hops.contains(&(port as u16)),
                |site, before| {
                    best(
                        site,
                        config,
                        estimators,
                        bands,
                        hops,
                        behind,
                        before.map(|port| port as u16),
                    )
                    .into()
                },
            ) as u16,
        };
        Choice::Port(port)
    }

    /// Returns the quality band of a port.
    pub(super) fn band(&mut self, site: &mut impl Site, port: u16) -> u32 {
        band(site, &self.config, &mut self.estimators, port)
    }
}

/// Returns the quality band of a port; 0 is the best.
fn band(site: &mut impl Site, config: &DlbConfig, estimators: &mut Estimators, port: u16) -> u32 {
    let past = estimators.load(site, port).min(1.0);
    let future = (site.queued(port) as f64 / config.future_load_range as f64).min(1.0);
    let (a, b) = (config.past_load_weight as f64, config.future_load_weight as f64);
    (((a * past + b * future) / (a + b) * config.bands as f64) as u32).min(config.bands - 1)
}

/// Draws one of the next hops in the best band. A flowlet keeps its port if that is in the best
/// band. `behind` returns the band of the links behind a port.
fn best<S: Site>(
    site: &mut S,
    config: &DlbConfig,
    estimators: &mut Estimators,
    bands: &mut Vec<(u32, u16)>,
    hops: &[u16],
    behind: impl Fn(&S, u16) -> u32,
    before: Option<u16>,
) -> u16 {
    bands.clear();
    for &port in hops {
        let worse = band(site, config, estimators, port).max(behind(site, port));
        bands.push((worse, port));
    }
    let least = bands.iter().map(|(band, _)| *band).min().expect("a next hop");
    bands.retain(|(band, _)| *band == least);
    match before {
        Some(before) if bands.iter().any(|(_, port)| *port == before) => before,
        _ => bands[site.below(bands.len() as u64) as usize].1,
    }
}

pub const ABOUT: About = About { overtakes: true, follows_flows: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "dlb",
    source: "SONiC, doc/ARS/Local_ARS_HLD.md (adaptive routing and switching); Broadcom's dynamic load balancing as described in public",
    faithful: "each switch decides independently; a port's quality is the weighted mean of its past load (moving average of bytes sent per \
               `sampling_interval`) and its queue length, quantised into bands; a new flowlet (or each frame) takes a port of the best band",
    simplified: "vendors do not publish the arithmetic of their ASICs, so three rules are assumed: an interval has weight 1/2 in the average, the mean is \
                 linear, a flowlet stays in its band; no primary and alternative paths; the number of flows is not limited",
};
