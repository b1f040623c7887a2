//! How much a queue holds, and when it marks.

use afflux_config::words;
use afflux_units::{Probability, Span};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Bytes(u64),
    Packets(u32),
}

words! {
    /// At a length of exactly the limit:
    #[derive(Default)]
    pub enum Compare {
        /// nothing happens yet.
        #[default]
        Above,
        /// it happens.
        AtOrAbove,
    }
    /// Which length a marking decision sees.
    pub enum MarkAt {
        /// On arrival: the queue before the arriving frame joins it.
        Enqueue,
        /// At the start of transmission: what is left behind the departing frame.
        Dequeue,
    }
    /// How marks between `kmin` and `kmax` are drawn.
    #[derive(Default)]
    pub enum Spacing {
        /// Independently for each frame, with the probability p of the curve.
        #[default]
        Independent,
        /// With p / (1 − count · p), `count` being the frames since the last mark, so that spacings are uniform, up to 1/p (Floyd and
        /// Jacobson 1993).
        Uniform,
        /// As in ns-3 by default (`Wait`): none before 1/p, then with p / (2 − count · p), which is uniform from 1/p to 2/p; none while no more
        /// than one frame is queued, nor for the first frame after that; a frame that ends an idle spell counts in the average too.
        Ns3,
        /// As in ns-2 by default (`wait_`, `use_mark_p_`): like `"ns3"`, but none only while nothing is queued, and above `kmax` too the first
        /// frame after a queue below `kmin` is spared.
        Ns2,
        /// As in Linux: one number R, uniform in 0 to 1, is drawn per mark, and the first frame with count · p ≥ R is marked.
        Linux,
    }
}

/// What the average of a queue learns of the time in which nothing was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// One arrival that found nothing for every 1500 B that the port could have sent.
    PortFrame,
    /// One in every such time.
    Frame(Span),
    /// Nothing: it moves with arrivals only.
    Unseen,
}

/// ECN or RED on each queue: never below `kmin`, with probability rising to `pmax` at `kmax`, always above.
/// A step has `kmin == kmax` and `pmax` one. Frames that are not ECN-capable are dropped by the same curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Marking {
    pub kmin: Limit,
    pub kmax: Limit,
    pub pmax: Probability,
    pub at: MarkAt,
    /// Is a queue of exactly `kmin` marked (`AtOrAbove`) or not (`Above`)?
    pub compare: Compare,
    /// Weight of the newest sample in the average; `None` is the instantaneous length.
    pub average_weight: Option<f64>,
    pub idle: Idle,
    /// Drop ECN-incapable frames by the same curve (RED, real switches' WRED); `false` lets them pass.
    pub drop_incapable: bool,
    /// From `kmax` to twice `kmax` the probability rises from `pmax` to one, instead of being one at once.
    pub gentle: bool,
    pub spacing: Spacing,
    /// Where everything is marked, drop ECN-capable frames too.
    pub hard_drop: bool,
}
