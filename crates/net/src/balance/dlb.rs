//! Dynamic load balancing of switch ASICs (Broadcom DLB; SAI's adaptive routing and switching): local port quality.

use super::dre::Estimators;
use super::flowlets::{Flowlets, REMEMBERED};
use super::{Choice, Site};
use crate::Model;
use crate::frame::Frame;
use crate::spec;

pub struct Dlb {
    config: spec::Dlb,
    estimators: Estimators,
    flowlets: Option<Flowlets>,
    bands: Vec<(u32, u16)>,
}

impl Dlb {
    pub fn new(config: &spec::Dlb, ports: &[Option<u64>]) -> Self {
        Dlb {
            config: config.clone(),
            estimators: Estimators::new(&config.past, false, ports),
            flowlets: config.idle.map(|idle| Flowlets::new(idle.0, REMEMBERED, false)),
            bands: Vec::new(),
        }
    }

    pub fn choose(&mut self, site: &mut impl Site, frame: &Frame, hops: &[u16]) -> Choice {
        self.estimators.run(site);
        if !matches!(frame.kind(), Frame::DATA | Frame::DATAGRAM) {
            return Choice::Ecmp;
        }
        if let [only] = hops {
            return Choice::Port(*only);
        }
        let Dlb { config, estimators, flowlets, bands } = self;
        let way = match flowlets {
            None => best(site, config, estimators, bands, hops, None),
            Some(flowlets) => flowlets.way(
                site,
                frame,
                |_, port| hops.contains(&(port as u16)),
                |site, before| best(site, config, estimators, bands, hops, before.map(|port| port as u16)).into(),
            ) as u16,
        };
        Choice::Port(way)
    }

    pub fn woken(&mut self, site: &mut impl Site) {
        self.estimators.on_tick(site);
    }
}

/// One of the next hops in the best band, drawn at random; a flowlet stays where it is if that is in it.
fn best(site: &mut impl Site, config: &spec::Dlb, estimators: &mut Estimators, bands: &mut Vec<(u32, u16)>, hops: &[u16], before: Option<u16>) -> u16 {
    bands.clear();
    for &port in hops {
        let past = estimators.load(site, port).min(1.0);
        let future = (site.queued(port) as f64 / config.future_range as f64).min(1.0);
        let (a, b) = (config.past_weight as f64, config.future_weight as f64);
        let quality = (a * past + b * future) / (a + b);
        bands.push(((quality * config.bands as f64) as u32, port));
    }
    let least = bands.iter().map(|(band, _)| *band).min().expect("a next hop");
    bands.retain(|(band, _)| *band == least);
    match before {
        Some(before) if bands.iter().any(|(_, port)| *port == before) => before,
        _ => bands[site.below(bands.len() as u64) as usize].1,
    }
}

pub const MODEL: Model = Model {
    kind: "balance",
    name: "dlb",
    source: "SONiC, doc/ARS/Local_ARS_HLD.md (adaptive routing and switching); Broadcom's dynamic load balancing as described in public",
    faithful: "every switch by itself: a port's quality is the weighted mean of its past load (moving average of bytes sent per `sampling_interval`) and of its queue, in \
               bands; a new flowlet (or each frame) takes one of the ports in the best band",
    simplified: "ASICs do not publish their arithmetic: the average's weight of an interval is a half, the mix is linear, a flowlet stays in its band; no primary and \
                 alternative paths; no limit to the number of flows",
};
