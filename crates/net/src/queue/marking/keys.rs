//! Keys of ECN marking and RED by queue length: `[switch.ecn]` and `[host.nic_ecn]`.

use super::spacing::Spacing;
use crate::queue::limit::{Compare, Limit, QueueSize};
use afflux_config::keys::meaningless;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Chance, Duration, Off, Or, keys, words};
use afflux_units::{Probability, Span};

keys! {
    /// Threshold of a step.
    pub struct StepKeys as "EcnStep" => Step {
        /// Threshold of a step: `kmin = kmax = k`, `pmax = 1`. The DCTCP paper has 65 packets at 10
        /// Gbps. Default: required, or `kmin` and `kmax`.
        k: QueueSize = none;
    }
}

keys! {
    /// ECN marking: no frame is marked below `kmin` and every frame above `kmax`. Between the two,
    /// the probability of a mark rises to `pmax`. Write either `k` (a step, as for DCTCP) or `kmin`
    /// and `kmax`.
    pub struct EcnKeys as "Ecn" => Marking of written {
        @step: StepKeys;
        /// Queue length below which no frame is marked. ConWeave: `"100kB"` at 100 Gbps; SONiC:
        /// `"1MiB"`. Default: `k`.
        kmin: QueueSize = (written.step.k.expect("k or kmin is written")), check up_to_1_tib;
        /// Queue length above which every frame is marked, in the unit of `kmin`. ConWeave:
        /// `"400kB"`; SONiC: `"2MiB"`. Default: `k`.
        kmax: QueueSize = (written.step.k.expect("k or kmax is written")), check up_to_1_tib;
        /// Marking probability at `kmax`. ConWeave and HPCC have 0.2, SONiC 0.05.
        pmax: Chance = 1;
        /// Time of the marking decision. The ns-3 RDMA simulators have `"dequeue"`.
        at: MarkAt = "enqueue" from "switches for lossy traffic";
        /// Weight of the newest sample in the moving average of the queue length, or `"off"` for
        /// the current length. RED's classical value is 0.002.
        average_weight: Or<Off, f64> as Option<f64> = "off", check |given, key| match given.0 {
            Some(weight) if !(weight > 0.0 && weight <= 1.0) => Err(Wrong::at(key, format!("found {weight}: write a number above 0, up to 1, or \"off\""))),
            given => Ok(given),
        };
        /// With `average_weight`: on an idle link the average decays as if one frame arrived at an
        /// empty queue in each such interval. Default: the time of 1500 B at the port's rate. Two
        /// simulators have values that do not depend on the link: ns-3 `"2.667ms"` (500 B at 1.5
        /// Mbps), `tc` `"1.2ms"` (`avpkt 1500` at its default of 10 Mbps). `"off"`: only arrivals
        /// change the average. Linux behaves like this if RED is below a token bucket (tbf). The
        /// bucket peeks before it dequeues (`red_peek`), so RED never finds its queue empty.
        idle_frame: Or<Off, Duration> as Option<Idle> = none, check |given, key| match given.0 {
            _ if average_weight.is_none() => Err(meaningless(key, "average_weight = \"off\"")),
            Some(Duration(Span(0))) => Err(Wrong::at(key, "\"0ps\": write a time above 0, or \"off\"")),
            Some(Duration(time)) => Ok(Idle::Frame(time)),
            None => Ok(Idle::Unseen),
        };
        /// Whether a frame is marked at a length of exactly `kmin`. ns-3 has `"at_or_above"`.
        compare: Compare = "above" from "not marked: DCTCP's \"greater than K\"";
        /// Treatment of frames that are not ECN-capable.
        incapable: Incapable = "drop" from "RFC 3168 §7; SONiC's `wred_green_enable`";
        /// Whether RED is gentle: from `kmax` to twice `kmax` the probability rises from `pmax` to
        /// 1, instead of being 1 at once. ns-3 is gentle by default.
        gentle: bool = false;
        /// Rule by which marks between the thresholds are drawn. For ns-3 and Linux `"ns3"` and
        /// `"linux"`.
        spacing: Spacing = "independent" from "switches";
        /// Whether ECN-capable frames are dropped, too, at queue lengths at which every frame is
        /// marked (above `kmax`, with `gentle` twice `kmax`). ns-3's `UseHardDrop` is true unless
        /// set, Linux's `harddrop` false.
        hard_drop: bool = false;
    }
    check |marking, at| match (marking.kmin, marking.kmax) {
        (Limit::Bytes(_), Limit::Packets(_)) | (Limit::Packets(_), Limit::Bytes(_)) => {
            let what = format!("\"{}\" and kmin = \"{}\": write both in bytes or both in packets", QueueSize(marking.kmax), QueueSize(marking.kmin));
            Err(Wrong::at(at("kmax"), what))
        }
        (kmin, kmax) if kmin > kmax => Err(Wrong::at(at("kmin"), format!("\"{}\" is above kmax = \"{}\"", QueueSize(kmin), QueueSize(kmax)))),
        (kmin, kmax) if kmin == kmax && marking.pmax != Probability::ONE => {
            Err(Wrong::at(at("pmax"), "with kmin = kmax the marking is a step, so pmax must be 1: remove it"))
        }
        _ => Ok(()),
    };
}

impl EcnKeys {
    /// Resolves the keys. `kmin` and `kmax` replace `k`.
    pub fn marking(&mut self, key: &Key) -> Result<Marking, Wrong> {
        let independent = self.spacing.is_none_or(|spacing| spacing.rule().is_independent());
        let curve = [
            ("kmin", self.kmin.is_some()),
            ("kmax", self.kmax.is_some()),
            ("pmax", self.pmax.is_some()),
            // Between k and twice k every frame is marked anyway. Rules that remember the spacing
            // of marks and `hard_drop` distinguish this range from the lengths above it.
            ("gentle", self.gentle == Some(true) && independent && self.hard_drop != Some(true)),
        ];
        if self.step.k.is_none() && (self.kmin.is_none() || self.kmax.is_none()) {
            return Err(Wrong::at(key.clone(), "write k (a step, as for DCTCP), or kmin and kmax"));
        }
        if let Some((name, _)) = curve.iter().find(|(_, written)| *written)
            && self.step.k.is_some()
        {
            return Err(meaningless(key.clone().name(name), "k (a step)"));
        }
        if let Some(k) = self.step.k {
            up_to_1_tib(k, key.clone().name("k"))?;
        }
        let marking = self.resolve(key)?;
        self.step.k = None;
        Ok(marking)
    }
}

/// Checks a queue length: at most 1 TiB.
fn up_to_1_tib(QueueSize(length): QueueSize, key: Key) -> Result<Limit, Wrong> {
    match length {
        Limit::Bytes(bytes) if bytes > 1 << 40 => {
            Err(Wrong::at(key, format!("\"{}\": write at most \"1TiB\"", QueueSize(length))))
        }
        length => Ok(length),
    }
}

impl Marking {
    /// True if frames that are not ECN-capable are dropped by the curve.
    pub fn drops_incapable(&self) -> bool {
        self.incapable == Incapable::Drop
    }
}

words! {
    /// Queue length on which a marking decision is based.
    pub enum MarkAt {
        /// On arrival: the length before the arriving frame joins the queue.
        Enqueue,
        /// At the start of transmission: the length that the departing frame leaves behind.
        Dequeue,
    }
    /// Treatment of frames that are not ECN-capable. Such frames:
    pub enum Incapable {
        /// are dropped instead of being marked (RED; WRED of real switches).
        Drop,
        /// pass.
        Pass,
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
