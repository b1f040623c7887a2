//! `[switch.ecn]` and `[host.nic_ecn]`: ECN marking in the queues of switches and NICs.

use super::QueueSize;
use afflux_config::{Chance, Duration, Off, Or, table, words};
use afflux_net::spec::{Compare, MarkAt, Spacing};

table! {
    /// ECN marking: no frame is marked below `kmin` and every frame above `kmax`. Between the two,
    /// the probability of a mark rises to `pmax`. Write either `k` (a step, as for DCTCP) or `kmin`
    /// and `kmax`.
    pub struct Ecn {
        /// Threshold of a step: `kmin = kmax = k`, `pmax = 1`. The DCTCP paper has 65 packets at 10
        /// Gbps. Default: required, or `kmin` and `kmax`.
        k: QueueSize,
        /// Queue length below which no frame is marked. ConWeave: `"100kB"` at 100 Gbps; SONiC: `"1MiB"`. Default: `k`.
        kmin: QueueSize,
        /// Queue length above which every frame is marked, in the unit of `kmin`. ConWeave: `"400kB"`; SONiC: `"2MiB"`. Default: `k`.
        kmax: QueueSize,
        /// Marking probability at `kmax`. Default 1; ConWeave and HPCC 0.2, SONiC 0.05.
        pmax: Chance,
        /// Time of the marking decision. Default `"enqueue"`, as in switches for lossy traffic; the
        /// ns-3 RDMA simulators have `"dequeue"`.
        at: MarkAt,
        /// Weight of the newest sample in the moving average of the queue length, or `"off"` for
        /// the current length. Default `"off"`; RED's classical value is 0.002.
        average_weight: Or<Off, f64>,
        /// With `average_weight`: on an idle link the average decays as if one frame arrived at an
        /// empty queue in each such interval. Default: the time of 1500 B at the port's rate. Two
        /// simulators have values that do not depend on the link: ns-3 `"2.667ms"` (500 B at 1.5
        /// Mbps), `tc` `"1.2ms"` (`avpkt 1500` at its default of 10 Mbps). `"off"`: only arrivals
        /// change the average. Linux behaves like this if RED is below a token bucket (tbf). The
        /// bucket peeks before it dequeues (`red_peek`), so RED never finds its queue empty.
        idle_frame: Or<Off, Duration>,
        /// Whether a frame is marked at a length of exactly `kmin`. Default `"above"` (not marked:
        /// DCTCP's "greater than K"); ns-3 has `"at_or_above"`.
        compare: Compare,
        /// Treatment of frames that are not ECN-capable. Default `"drop"` (RFC 3168 §7; SONiC's
        /// `wred_green_enable`).
        incapable: Incapable,
        /// Whether RED is gentle: from `kmax` to twice `kmax` the probability rises from `pmax` to
        /// 1, instead of being 1 at once. Default false; ns-3's default is true.
        gentle: bool,
        /// Rule by which marks between the thresholds are drawn. Default `"independent"`, as in
        /// switches; for ns-3 and Linux `"ns3"` and `"linux"`.
        spacing: Spacing,
        /// Whether ECN-capable frames are dropped, too, at queue lengths at which every frame is
        /// marked (above `kmax`, with `gentle` twice `kmax`). Default false; ns-3's `UseHardDrop`
        /// is true by default, Linux's `harddrop` false.
        hard_drop: bool,
    }
}

words! {
    /// Treatment of frames that are not ECN-capable. Such frames:
    pub enum Incapable {
        /// are dropped instead of being marked (RED; WRED of real switches).
        Drop,
        /// pass.
        Pass,
    }
}
