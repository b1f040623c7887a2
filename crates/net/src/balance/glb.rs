//! Global load balancing: switches report the state of their links to the ToRs before them.
//!
//! A switch that receives data directly from ToRs remembers them and the racks of the data. At each
//! tick, if the quality band of its own best link to a rack has changed, it reports the new band to
//! those ToRs in a control frame. A ToR rates a next hop by the worse of its own port to it and the
//! reported band.

pub use super::dlb::{DlbConfig as GlbConfig, Keys};

use super::dlb::Dlb;
use super::tag::Quality;
use super::{About, Choice, Holding, Policy, Role, Site, Tag};
use crate::Model;
use crate::frame::Frame;
use crate::spec::{FlowId, NodeId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Control frames have the smallest size (bytes) and the highest priority.
const CONTROL_SIZE: u16 = 64;
const CONTROL_PRIORITY: u8 = 7;

pub struct Glb {
    local: Dlb,
    remote: Remote,
}

impl Policy for Glb {
    type Config = GlbConfig;
    fn new(config: &GlbConfig, ports: &[Option<u64>]) -> Self {
        Glb { local: Dlb::new(config, ports), remote: Remote::default() }
    }
    fn selects_path(&self, _: &Frame) -> bool {
        true
    }
    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        role: Role,
        hops: &[u16],
    ) -> Choice {
        let Glb { local, remote } = self;
        if local.estimators.run(site) {
            // A tick sends reports, so the run lasts until the last tick.
            site.keep_running(true);
        }
        if role == Role::Transit && frame.is_data() {
            remote.note(site, frame, hops);
        }
        let rack = site.rack_of(frame.dst);
        local.best_of(site, frame, hops, |site, port| {
            if role == Role::Source { remote.band(site.peer(port), rack) } else { 0 }
        })
    }
    fn on_wake(&mut self, site: &mut impl Holding, _: u32) {
        let Glb { local, remote } = self;
        // Reports are made before the tick, which halves the past load. So a link that always sends
        // is reported with its full load.
        remote.tell(site, |site, port| local.band(site, port));
        if !local.estimators.on_tick(site) {
            site.keep_running(false);
        }
    }
    /// Stores the link quality that a next hop reports.
    fn on_control_frame(&mut self, _: &mut impl Holding, _: &Frame, tag: Tag) {
        if let Tag::Quality(quality) = tag {
            self.remote.known.insert((quality.of, quality.rack), quality.band);
        }
    }
}

#[derive(Default)]
struct Remote {
    /// Reported band by neighbour and rack. Without a report: 0, the best.
    known: FxHashMap<(NodeId, u32), u32>,
    /// Recipients of reports, by ToR and rack.
    listeners: BTreeMap<(NodeId, u32), Listener>,
}

struct Listener {
    /// Source and flow of the latest frame from the ToR, which serve to address it.
    source: u32,
    flow: FlowId,
    /// Next hops towards the rack.
    hops: Vec<u16>,
    told: u32,
}

impl Remote {
    /// Notes a data frame. If it comes directly from its source's ToR, that ToR gets reports.
    fn note(&mut self, site: &impl Site, frame: &Frame, hops: &[u16]) {
        let source = site.source_of(frame);
        let tor = site.tor_of(source);
        if site.came_from(frame) != tor {
            return;
        }
        let listener = self
            .listeners
            .entry((tor, site.rack_of(frame.dst)))
            .or_insert_with(|| Listener { source, flow: 0, hops: Vec::new(), told: 0 });
        (listener.source, listener.flow) = (source, frame.flow);
        if listener.hops != hops {
            listener.hops = hops.to_vec();
        }
    }

    /// Reports changed bands to the listeners. `band` returns the band of a port.
    fn tell<S: Site>(&mut self, site: &mut S, mut band: impl FnMut(&mut S, u16) -> u32) {
        for ((_, rack), listener) in &mut self.listeners {
            let best =
                listener.hops.iter().map(|&port| band(site, port)).min().expect("a next hop");
            if best != listener.told {
                listener.told = best;
                let quality = Quality { of: site.node(), rack: *rack, band: best };
                site.send(
                    listener.source,
                    listener.flow,
                    0,
                    CONTROL_SIZE,
                    CONTROL_PRIORITY,
                    Tag::Quality(quality),
                );
            }
        }
    }

    /// Returns the reported band of the links behind a neighbour, towards a rack.
    fn band(&self, neighbour: NodeId, rack: u32) -> u32 {
        self.known.get(&(neighbour, rack)).copied().unwrap_or(0)
    }
}

pub const ABOUT: About = About {
    overtakes: true,
    follows_flows: true,
    alike: Some(
        "\"glb\": next hops report the state of their links to ToRs, so all switches need it",
    ),
    controls: true,
    ..About::of(MODEL)
};

pub const MODEL: Model = Model {
    kind: "balance",
    name: "glb",
    source: "global load balancing as vendors describe it in public; no arithmetic is published",
    faithful: "as `dlb`; in addition each switch next to a ToR reports to it the band of its best link towards each rack; reports are control frames of \
               64 B at the highest priority, and take the time of any frame; a ToR rates a next hop by the worse of its own band and the reported one",
    simplified: "a switch reports when a band has changed, at most once per `sampling_interval`; only ToRs get reports, and only about one hop; a dropped \
                 report is not sent again before the next change; a link that is down counts as one without load until the routes leave it out",
};
