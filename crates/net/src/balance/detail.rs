//! DeTail's adaptive load balancing (Zats et al., SIGCOMM 2012): each frame to one of the ports that will soon be free for it.

use super::{Choice, Site};
use crate::Model;
use crate::frame::Frame;
use crate::spec;

pub struct Detail {
    thresholds: [u64; 2],
    /// Classes of the next hops at hand.
    classes: Vec<(u8, u16)>,
}

impl Detail {
    pub fn new(config: &spec::Detail) -> Self {
        Detail { thresholds: config.thresholds, classes: Vec::new() }
    }

    pub fn choose(&mut self, site: &mut impl Site, frame: &Frame, hops: &[u16]) -> Choice {
        if let [only] = hops {
            return Choice::Port(*only);
        }
        let Detail { thresholds, classes } = self;
        classes.clear();
        for &port in hops {
            let ahead = site.queued_ahead(port, frame.priority());
            classes.push((thresholds.iter().filter(|threshold| ahead >= **threshold).count() as u8, port));
        }
        let best = classes.iter().map(|(class, _)| *class).min().expect("a next hop");
        classes.retain(|(class, _)| *class == best);
        Choice::Port(classes[site.below(classes.len() as u64) as usize].1)
    }
}

pub const MODEL: Model = Model {
    kind: "balance",
    name: "detail",
    source: "Zats et al., SIGCOMM 2012 (recalled)",
    faithful: "every switch, every frame, acknowledgements too: next hops are favoured, less favoured or to be avoided by how many bytes of the frame's priority and above \
               wait there (16 kB, 64 kB); one of the best class that has any is drawn",
    simplified: "occupancies are those of the moment, not bitmaps that are brought up to date now and then; the rest of DeTail is put together of other keys: lossless \
                 classes (`pfc`), a transport that does not take reordering for loss",
};
