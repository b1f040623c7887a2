//! Dynamic load balancing of switch ASICs (Broadcom DLB; SAI's adaptive routing and switching): local port quality; global load balancing: that of
//! next hops too.

use super::dre::Estimators;
use super::flowlets::{Flowlets, REMEMBERED};
use super::glb::Remote;
use super::{Choice, Role, Site, Tag};
use crate::Model;
use crate::frame::Frame;
use crate::spec;

pub struct Dlb {
    config: spec::Dlb,
    estimators: Estimators,
    flowlets: Option<Flowlets>,
    /// Global load balancing.
    remote: Option<Remote>,
    bands: Vec<(u32, u16)>,
}

impl Dlb {
    pub fn new(config: &spec::Dlb, ports: &[Option<u64>]) -> Self {
        Dlb {
            config: config.clone(),
            estimators: Estimators::new(&config.past, false, ports),
            flowlets: config.idle.map(|idle| Flowlets::new(idle.0, REMEMBERED, false)),
            remote: config.remote.then(Remote::default),
            bands: Vec::new(),
        }
    }

    pub fn choose(&mut self, site: &mut impl Site, frame: &Frame, role: Role, hops: &[u16]) -> Choice {
        if self.estimators.run(site) && self.remote.is_some() {
            // What a tick tells is part of the run, so the run goes on until there is none to come.
            site.stays(true);
        }
        if !matches!(frame.kind(), Frame::DATA | Frame::DATAGRAM) {
            return Choice::Ecmp;
        }
        if let (Some(remote), Role::Transit) = (&mut self.remote, role) {
            remote.note(site, frame, hops);
        }
        if let [only] = hops {
            return Choice::Port(*only);
        }
        let Dlb { config, estimators, flowlets, remote, bands } = self;
        let rack = site.rack_of(frame.dst);
        let behind = |site: &_, port| remote.as_ref().filter(|_| role == Role::Source).map_or(0, |remote| remote.band(Site::peer(site, port), rack));
        let way = match flowlets {
            None => best(site, config, estimators, bands, hops, behind, None),
            Some(flowlets) => flowlets.way(
                site,
                frame,
                |_, port| hops.contains(&(port as u16)),
                |site, before| best(site, config, estimators, bands, hops, behind, before.map(|port| port as u16)).into(),
            ) as u16,
        };
        Choice::Port(way)
    }

    pub fn woken(&mut self, site: &mut impl Site) {
        let ticking = self.estimators.on_tick(site);
        let Dlb { config, estimators, remote, .. } = self;
        if let Some(remote) = remote {
            remote.tell(site, |site, port| band(site, config, estimators, port));
            if !ticking {
                site.stays(false);
            }
        }
    }

    /// A next hop says how good its links are.
    pub fn told(&mut self, tag: Tag) {
        if let (Some(remote), Tag::Quality(quality)) = (&mut self.remote, tag) {
            remote.told(quality);
        }
    }
}

/// Of the quality of a port; 0 is the best.
fn band(site: &mut impl Site, config: &spec::Dlb, estimators: &mut Estimators, port: u16) -> u32 {
    let past = estimators.load(site, port).min(1.0);
    let future = (site.queued(port) as f64 / config.future_range as f64).min(1.0);
    let (a, b) = (config.past_weight as f64, config.future_weight as f64);
    ((a * past + b * future) / (a + b) * config.bands as f64) as u32
}

/// One of the next hops in the best band, drawn at random; a flowlet stays where it is if that is in it. `behind`: the band of what follows a port.
fn best<S: Site>(
    site: &mut S,
    config: &spec::Dlb,
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

pub const MODELS: &[Model] = &[
    Model {
        kind: "balance",
        name: "dlb",
        source: "SONiC, doc/ARS/Local_ARS_HLD.md (adaptive routing and switching); Broadcom's dynamic load balancing as described in public",
        faithful: "every switch by itself: a port's quality is the weighted mean of its past load (moving average of bytes sent per `sampling_interval`) and of its queue, in \
               bands; a new flowlet (or each frame) takes one of the ports in the best band",
        simplified: "ASICs do not publish their arithmetic: the average's weight of an interval is a half, the mix is linear, a flowlet stays in its band; no primary and \
                 alternative paths; no limit to the number of flows",
    },
    Model {
        kind: "balance",
        name: "glb",
        source: "global load balancing as vendors describe it in public; no arithmetic is published",
        faithful: "as `dlb`, and the switches next to a ToR tell it, by control frames of 64 B at the highest priority that take their time, in which band their best link \
                   towards each rack is; a ToR takes a next hop for as bad as the worse of the two",
        simplified: "told when the band has changed, at most once per `sampling_interval`; only ToRs are told, of one hop; a report that is dropped is not repeated before \
                     the next change",
    },
];
