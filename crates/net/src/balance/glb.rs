//! Global load balancing: what a switch knows of the links behind its next hops, because they tell it.
//!
//! A switch that gets data right from ToRs remembers for which racks. When the band of its own best link towards a rack has changed at a tick, it
//! tells those ToRs, by a control frame. A ToR takes a next hop for as bad as the worse of its own port to it and what it has been told.

use super::{Site, Tag};
use crate::frame::Frame;
use crate::spec::{FlowId, NodeId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Control frames are the smallest there are, and go before everything else.
const CONTROL_SIZE: u16 = 64;
const CONTROL_PRIORITY: u8 = 7;

/// What a next hop says: of its links to a rack, the best is in this band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quality {
    of: NodeId,
    rack: u32,
    band: u32,
}

#[derive(Default)]
pub struct Remote {
    /// What has been told, by neighbour and rack. Best where nothing was.
    known: FxHashMap<(NodeId, u32), u32>,
    /// Who wants to know, by ToR and rack.
    listeners: BTreeMap<(NodeId, u32), Listener>,
}

struct Listener {
    /// Of the frame that came last: a way to address the ToR.
    source: u32,
    flow: FlowId,
    /// Towards the rack.
    hops: Vec<u16>,
    told: u32,
}

impl Remote {
    /// A data frame has come from another switch.
    pub fn note(&mut self, site: &impl Site, frame: &Frame, hops: &[u16]) {
        let source = site.source_of(frame);
        let tor = site.tor_of(source);
        if site.came_from(frame) != tor {
            return;
        }
        let listener = self.listeners.entry((tor, site.rack_of(frame.dst))).or_insert_with(|| Listener { source, flow: 0, hops: Vec::new(), told: 0 });
        (listener.source, listener.flow) = (source, frame.flow);
        if listener.hops != hops {
            listener.hops = hops.to_vec();
        }
    }

    /// Tells what has changed; `band` is that of a port.
    pub fn tell<S: Site>(&mut self, site: &mut S, mut band: impl FnMut(&mut S, u16) -> u32) {
        for ((_, rack), listener) in &mut self.listeners {
            let best = listener.hops.iter().map(|&port| band(site, port)).min().expect("a next hop");
            if best != listener.told {
                listener.told = best;
                let quality = Quality { of: site.node(), rack: *rack, band: best };
                site.send(listener.source, listener.flow, 0, CONTROL_SIZE, CONTROL_PRIORITY, Tag::Quality(quality));
            }
        }
    }

    pub fn told(&mut self, quality: Quality) {
        self.known.insert((quality.of, quality.rack), quality.band);
    }

    /// Of the links behind a neighbour, towards a rack.
    pub fn band(&self, neighbour: NodeId, rack: u32) -> u32 {
        self.known.get(&(neighbour, rack)).copied().unwrap_or(0)
    }
}
