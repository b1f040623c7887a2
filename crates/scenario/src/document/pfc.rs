//! `[switch.mmu]`, `[switch.pfc]` and `[host.storm]`: ingress accounting, priority flow control,
//! and hosts that send PAUSE frames without cause.

use afflux_config::{Duration, Off, Or, Size, Speed, Word, form, table};
use afflux_net::spec::{Formula, Refresh, StormAction};
use afflux_units::Bytes;
use schemars::{Schema, json_schema};
use serde::de;
use serde::{Serialize, Serializer};

table! {
    /// Accounting and limits of the memory management unit, with `sharing = "sonic"`, `"conweave"`
    /// or `"hpcc"`. Ingress is counted per port and priority (a priority group), egress per port
    /// and queue. `alpha` and `reserved` of `[switch]` apply to egress queues.
    #[derive(Default)]
    pub struct Mmu {
        /// Size of a memory cell. A frame takes whole cells, with 64 B of metadata in the first.
        /// `"off"` counts bytes, as the ns-3 simulators do. Default `"off"`; Trident 3 has
        /// `"256B"`, Trident 2 and Tomahawk `"208B"`.
        cell: Or<Off, Size>,
        /// Priorities that are neither counted nor limited. Default `[]`; ConWeave's ns-3 has `[0]`, for RDMA's acknowledgements.
        bypass: Vec<u8>,
        /// With `"sonic"`: a lossless priority group may hold `lossless_alpha` times the free ingress pool before it uses its headroom
        /// and is paused. Default 1 (SONiC's `dynamic_th` 0 on Trident 3).
        lossless_alpha: f64,
        /// With `"sonic"`: memory reserved for each lossless priority group. Default `"4608B"` (SONiC on Trident 3).
        lossless_reserved: Size,
        /// With `"sonic"`: a lossy priority group may hold this multiple of the free ingress pool,
        /// or `"off"` for no limit at ingress. Default `"off"`, as in SONiC on Trident 3.
        lossy_ingress_alpha: Or<Off, f64>,
        /// With `"sonic"`: memory for lossy queues. Default: 80 % of the memory without the headroom (TU Berlin's ns-3); SONiC has `"24192256B"` on Trident 3.
        lossy_pool: Size,
        /// With `"sonic"`: memory for the headroom of all priority groups together. Default: the sum of their headrooms; SONiC has `"2058240B"`
        /// on Trident 3, enough for 13 groups at once.
        headroom_pool: Size,
        /// With `"sonic"`: a paused group that holds less than this is resumed. Default `"4608B"` (SONiC on Trident 3).
        xon: Size,
        /// With `"sonic"` and `"hpcc"`: a paused group that has fallen this far below its threshold
        /// is resumed. Default `"4608B"` (SONiC on Trident 3), with `"hpcc"` `"3KiB"`.
        xon_offset: Size,
        /// With `"conweave"`: a priority group may hold this multiple of the free ingress pool before it is paused. Default 0.0625.
        ingress_alpha: f64,
        /// With `"conweave"`: guaranteed memory of each port and of each priority group. Default `"1048B"`.
        mtu: Size,
        /// With `"hpcc"`: at ports of `nic_rate` a priority group may hold 2^−`shift` of the free
        /// memory, and twice that for every doubling of the rate. Default 3.
        shift: u8,
        /// With `"hpcc"`: rate of the ports to which `shift` applies as it is. Default: the lowest
        /// rate of a host's link.
        nic_rate: Speed,
        /// With `"sonic"`: priority groups that differ from the others. In an override all of them are replaced. Default: none: all groups are alike.
        group: Vec<MmuGroup>,
    }

    /// Priority groups of every port that differ from the others: a profile of SONiC's BUFFER_PG.
    pub struct MmuGroup {
        /// Priorities (0 to 7) of the groups, each of which is the group of one priority at one port.
        pub priorities: Vec<u8>,
        /// A group may hold `alpha` times the free ingress pool (SONiC's `dynamic_th` n is 2^n). Default: `lossless_alpha`, or `lossy_ingress_alpha` for lossy
        /// priorities.
        alpha: f64,
        /// Fixed threshold instead of `alpha` (SONiC's `static_th`). Default: none: `alpha` decides.
        limit: Size,
        /// Memory reserved for each group. Default: `lossless_reserved`, or `"0B"` for lossy priorities.
        reserved: Size,
    }

    /// Priority flow control (IEEE 802.1Qbb): lossless priorities, which are paused before their memory runs out. With `sharing = "sonic"`,
    /// `"conweave"`, `"hpcc"` or `"voq"`.
    #[derive(Default)]
    pub struct Pfc {
        /// Lossless priorities. Default `[3, 4]` (SONiC's `pfc_enable`).
        priorities: Vec<u8>,
        /// Memory of each port and lossless priority for frames that still arrive after XOFF: a size, or a formula's name. Default: `"sonic"`,
        /// `"conweave"` or `"hpcc"`, as `sharing` (`"sonic"` with `"voq"`); SONiC has `"160000B"` on Trident 3 at every rate.
        headroom: Headroom,
        /// With a formula: length of the cables. Default: from each link's delay, at 1.98e8 m/s; SONiC has `"5m"` to servers, `"40m"` and `"300m"`
        /// between switches.
        cable: Length,
        /// Duration of a PAUSE frame, in quanta of 512 bit times, 1 to 65535. Default 65535: 335.5 us at 100 Gbps.
        quanta: u16,
        /// Duration of a PAUSE frame, as a time instead of `quanta`, rounded up to whole quanta. Default with `sharing = "conweave"`: `"5us"`.
        pause_time: Duration,
        /// Time at which a PAUSE frame is repeated. Default `"half"`, with `sharing = "conweave"`
        /// `"arrival"`.
        refresh: Refresh,
        /// Time from the arrival of a PAUSE frame at the peer to its effect there, or `"standard"`: the time that IEEE 802.3 annex 31B allows at the link's
        /// rate (67 quanta at 10 Gbps to 905 at 400 Gbps). Default `"standard"`.
        response: Or<Standard, Duration>,
        /// Watchdog that treats a queue that stays paused for too long as the victim of a storm, or
        /// `"off"`. Default `"off"`.
        watchdog: Or<Off, Watchdog>,
        /// Time after which a cycle of links that have paused each other is reported as a deadlock, or `"off"`. Default `"1ms"`.
        deadlock_after: Or<Off, Duration>,
    }

    /// SONiC's PFC watchdog.
    #[derive(Default)]
    pub struct Watchdog {
        /// A queue is in a storm if it held frames and was paused for the whole of this time. Default `"200ms"`.
        detection: Duration,
        /// The storm ends when no PAUSE frame for the queue has arrived for this time. Default: twice `detection`, as with `pfcwd start`.
        restoration: Duration,
        /// Time between two checks of the queues. Default `"200ms"`.
        poll: Duration,
        /// Action of the watchdog in a storm. Default `"drop"`.
        action: StormAction,
        /// Lossless priorities that the watchdog watches. Default: all of them.
        priorities: Vec<u8>,
    }

    /// A host that repeatedly sends PAUSE frames for a priority, independently of its traffic.
    pub struct Storm {
        /// Priority that is paused.
        pub priority: u8,
        /// Time between PAUSE frames.
        pub period: Duration,
        /// Simulated time at which the storm begins. Default `"0ns"`.
        from: Duration,
        /// Simulated time at which the storm ends. Default: never; the scenario then needs
        /// `run.until`.
        until: Duration,
        /// Duration of each PAUSE frame. Default: 65535 quanta of 512 bit times.
        pause_time: Duration,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standard;
impl Word for Standard {
    const WORD: &'static str = "standard";
}

/// Headroom of a priority group: a size, or the name of a formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Headroom {
    Size(Bytes),
    Formula(Formula),
}

/// Names of the headroom formulas, the formulas, and their descriptions.
const FORMULAS: [(&str, Formula, &str); 6] = [
    (
        "sonic",
        Formula::Sonic,
        "SONiC's formula: what is on its way when the PAUSE frame takes effect, in the worst case of cells that are almost empty",
    ),
    (
        "mellanox",
        Formula::Mellanox,
        "The Linux driver of Mellanox's adapters: (301 + 2.16 · metres) · Gbps + 2.72 · MTU",
    ),
    ("conweave", Formula::Conweave, "ConWeave's ns-3: 2 · rate · delay + 2 · MTU"),
    ("hpcc", Formula::Hpcc, "HPCC's ns-3: 3 · rate · delay"),
    ("tub", Formula::Tub, "TU Berlin's ns-3: 2 · rate · delay + 2 · MTU + 3860"),
    (
        "worst_case",
        Formula::WorstCase,
        "All that can arrive before the peer stops, whatever the lengths of frames and their alignment, in bytes or cells: never too small",
    ),
];

form! {
    Headroom<'de>, deserialize_str, "a size in quotes with its unit, as in \"160kB\", or a formula: \"sonic\", \"mellanox\", \"conweave\", \"hpcc\", \"tub\" or \"worst_case\"" {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Headroom, E> {
            if let Some((_, formula, _)) = FORMULAS.iter().find(|(name, ..)| *name == text.trim()) {
                return Ok(Headroom::Formula(*formula));
            }
            let words = |error: afflux_units::ParseError| {
                E::custom(format!("{}, or a formula: \"sonic\", \"mellanox\", \"conweave\", \"hpcc\", \"tub\" or \"worst_case\"", error.to_string().replace('`', "\"")))
            };
            text.parse().map(Headroom::Size).map_err(words)
        }
    }
    |generator| {
        let formulas: Vec<Schema> = FORMULAS.iter().map(|(name, _, about)| json_schema!({ "const": name, "description": about })).collect();
        json_schema!({ "description": "A size, or the name of a formula.", "anyOf": [generator.subschema_for::<Size>(), { "oneOf": formulas }] })
    }
}
impl Serialize for Headroom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Headroom::Size(size) => serializer.collect_str(size),
            Headroom::Formula(formula) => serializer.serialize_str(
                FORMULAS.iter().find(|(_, f, _)| f == formula).expect("all are named").0,
            ),
        }
    }
}

/// Length in metres, written as `"40m"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length(pub f64);

form! {
    Length<'de>, deserialize_str, "a length in quotes, in metres, as in \"40m\"" {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Length, E> {
            let number = text.trim().strip_suffix('m').map(str::trim).filter(|number| number.chars().all(|c| c.is_ascii_digit() || c == '.'));
            match number.and_then(|number| number.parse().ok()).filter(|metres| *metres <= 100_000.0) {
                Some(metres) => Ok(Length(metres)),
                None => Err(E::custom(format!("\"{text}\" is not a length: write metres, up to 100000, as in \"40m\""))),
            }
        }
    }
    |_| {
        json_schema!({ "type": "string", "pattern": r"^\s*[0-9.]+\s*m\s*$", "description": "A length in metres, as in \"40m\"." })
    }
}
impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}m", self.0))
    }
}
