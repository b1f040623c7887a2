//! Specifies the limits and the marking of a queue.

use afflux_config::words;
use afflux_units::{Probability, Span};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Bytes(u64),
    Packets(u32),
}

words! {
    /// Whether a limit takes effect at a length of exactly the limit.
    #[derive(Default)]
    pub enum Compare {
        /// Takes effect only above the limit.
        #[default]
        Above,
        /// Takes effect at the limit and above.
        AtOrAbove,
    }
    /// Queue length on which a marking decision is based.
    pub enum MarkAt {
        /// On arrival: the length before the arriving frame joins the queue.
        Enqueue,
        /// At the start of transmission: the length that the departing frame leaves behind.
        Dequeue,
    }
    /// Random spacing of the marks between `kmin` and `kmax`.
    #[derive(Default)]
    pub enum Spacing {
        /// Marks each frame independently, with the probability p of the curve.
        #[default]
        Independent,
        /// Marks with probability p / (1 − count · p), where `count` is the number of frames since
        /// the last mark. Spacings are then uniform, up to 1/p (Floyd and Jacobson 1993).
        Uniform,
        /// Default of ns-3 (`Wait`): no mark before 1/p frames, then with probability p / (2 −
        /// count · p), so that spacings are uniform from 1/p to 2/p. No mark while at most one
        /// frame is queued, nor for the first frame after that. A frame that ends an idle period
        /// also counts in the average.
        Ns3,
        /// Default of ns-2 (`wait_`, `use_mark_p_`): like `"ns3"`, with two differences. Only an
        /// empty queue prevents marks. Above `kmax`, the first frame after a queue below `kmin` is
        /// not marked either.
        Ns2,
        /// Linux: draws one number R per mark, uniform in 0 to 1, and marks the first frame with
        /// count · p ≥ R.
        Linux,
    }
}

/// Treatment of idle time in the average queue length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Counts one arrival at an empty queue per 1500 bytes that the port could have sent.
    PortFrame,
    /// Counts one arrival at an empty queue per interval of this length.
    Frame(Span),
    /// Ignores idle time: the average changes only with arrivals.
    Unseen,
}

/// ECN marking or RED on each queue: never below `kmin`, with a probability that rises to `pmax` at
/// `kmax`, always above. A step function has `kmin == kmax` and `pmax` one. Frames that are not
/// ECN-capable are dropped by the same curve if `drop_incapable`.
#[derive(Debug, Clone, PartialEq)]
pub struct Marking {
    pub kmin: Limit,
    pub kmax: Limit,
    pub pmax: Probability,
    pub at: MarkAt,
    /// Whether a queue of exactly `kmin` is marked (`AtOrAbove`) or not (`Above`).
    pub compare: Compare,
    /// Weight of the newest sample in the average; `None`: the instantaneous length is used.
    pub average_weight: Option<f64>,
    pub idle: Idle,
    /// Drops frames that are not ECN-capable by the same curve (RED, WRED of real switches).
    /// `false` admits them.
    pub drop_incapable: bool,
    /// The probability rises from `pmax` to one between `kmax` and twice `kmax`, instead of jumping
    /// to one at `kmax`.
    pub gentle: bool,
    pub spacing: Spacing,
    /// Also drops ECN-capable frames where the curve marks every frame.
    pub hard_drop: bool,
}
