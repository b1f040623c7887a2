//! DeTail's adaptive load balancing (Zats et al., SIGCOMM 2012): sends each frame to one of the
//! ports with the fewest bytes ahead of it.

use super::{About, Choice, Holding, PathContext, Policy, Role};
use crate::Model;
use crate::frame::Frame;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Size, keys};
use afflux_units::Bytes;

keys! {
    /// DeTail's adaptive load balancing.
    pub struct Keys as "Detail" => DetailConfig(_context: &PathContext<'_>) {
        /// Two thresholds for the waiting bytes of the frame's priority and above: those of its
        /// queue, of strict queues that are served before it, and of queues with higher priorities
        /// only. A port at or above the first is less favoured, a port at or above the second is
        /// avoided.
        thresholds: [Size; 2] as [u64; 2] = ([Size(Bytes(16_000)), Size(Bytes(64_000))]) "`[\"16kB\", \"64kB\"]`" from "the paper, recalled", check ascending;
    }
}

fn ascending([Size(less), Size(avoid)]: [Size; 2], at: Key) -> Result<[u64; 2], Wrong> {
    if less.0 == 0 || avoid < less {
        return Err(Wrong::at(
            at,
            format!(
                "\"{less}\", \"{avoid}\": write two sizes above 0, the smaller first, as in [\"16kB\", \"64kB\"]"
            ),
        ));
    }
    Ok([less.0, avoid.0])
}

pub struct Detail {
    thresholds: [u64; 2],
    /// Scratch list: class (0 is the best) and port of the next hops.
    classes: Vec<(u8, u16)>,
}

impl Policy for Detail {
    type Config = DetailConfig;
    fn new(config: &DetailConfig, _: &[Option<u64>]) -> Self {
        Detail { thresholds: config.thresholds, classes: Vec::new() }
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
        if let [only] = hops {
            return Choice::Port(*only);
        }
        let Detail { thresholds, classes } = self;
        classes.clear();
        for &port in hops {
            let ahead = site.bytes_before(port, frame.priority());
            classes.push((
                thresholds.iter().filter(|threshold| ahead >= **threshold).count() as u8,
                port,
            ));
        }
        let best = classes.iter().map(|(class, _)| *class).min().expect("a next hop");
        classes.retain(|(class, _)| *class == best);
        Choice::Port(classes[site.below(classes.len() as u64) as usize].1)
    }
}

pub const ABOUT: About = About { overtakes: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "detail",
    source: "Zats et al., SIGCOMM 2012 (recalled)",
    faithful: "every switch decides for every frame, also for acknowledgements; the bytes of the frame's priority and above that wait for a next hop (its \
               queue, strict queues that are served before it, queues with higher priorities only) put it into one of three classes (below 16 kB, below \
               64 kB, above); one next hop of the best non-empty class is drawn",
    simplified: "occupancies are current values instead of bitmaps that are updated at intervals; other keys provide the rest of DeTail: lossless classes \
                 (`pfc`), and a transport that does not treat reordering as loss",
};
