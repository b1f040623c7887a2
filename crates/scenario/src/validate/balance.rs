//! `[switch] balance` and `hash`.

use super::{conweave, fill};
use crate::document::{self, Balance, Duration, Or, Size};
use crate::topology::Names;
use crate::tree::{Key, Wrong};
use afflux_net::paths::Paths;
use afflux_net::routing::{Ports, Routes};
use afflux_net::spec::{self, Aqm, NodeKind, RateEstimator, SwitchConfig, Topology};
use afflux_units::{Bytes, Span};

pub fn balance(balance: &mut Balance, topology: &Topology, key: &Key) -> Result<spec::Balance, Wrong> {
    let at = |name: &str| key.clone().name(name);
    Ok(match balance {
        Balance::Ecmp(_) => spec::Balance::Ecmp,
        Balance::Resilient(_) => spec::Balance::Resilient,
        Balance::Spray(_) => spec::Balance::Spray(spec::Spray::Random),
        Balance::RoundRobin(_) => spec::Balance::Spray(spec::Spray::RoundRobin),
        Balance::Wcmp(keys) => spec::Balance::Wcmp(wcmp(keys, topology, key)?),
        Balance::Drill(keys) => spec::Balance::Drill(spec::Drill {
            samples: number(&mut keys.samples, 2, (1, 64), at("samples"))?,
            memory: number(&mut keys.memory, 1, (0, 64), at("memory"))?,
            ns3: false,
        }),
        Balance::LetFlow(keys) => spec::Balance::LetFlow(spec::LetFlow { gap: fill(&mut keys.gap, Duration(Span::from_us(500))).0, ns3: false }),
        Balance::Conga(keys) => spec::Balance::Conga(spec::Conga {
            gap: fill(&mut keys.gap, Duration(Span::from_us(500))).0,
            estimator: RateEstimator {
                every: interval(&mut keys.tdre, Span::from_us(32), at("tdre"))?,
                alpha: match fill(&mut keys.alpha, 0.2) {
                    alpha if alpha > 0.0 && alpha < 1.0 => alpha,
                    alpha => return Err(Wrong::at(at("alpha"), format!("found {alpha}: write a number above 0 and below 1"))),
                },
            },
            bits: number(&mut keys.bits, 3, (1, 8), at("bits"))?,
            aging: interval(&mut keys.aging, Span::from_ms(10), at("aging"))?,
            ns3: false,
        }),
        Balance::Dlb(keys) => spec::Balance::Dlb(dlb(keys, false, key)?),
        Balance::Glb(keys) => spec::Balance::Dlb(dlb(keys, true, key)?),
        Balance::Detail(keys) => spec::Balance::Detail(detail(keys, key)?),
        Balance::Conweave(keys) => spec::Balance::Conweave(conweave::conweave(keys, key)?),
        Balance::Presto(keys) => match fill(&mut keys.flowcell, Size(Bytes(65_536))).0.0 {
            0 => return Err(Wrong::at(at("flowcell"), "\"0B\": write a size above 0, as in \"64KiB\"")),
            cell => spec::Balance::Presto(spec::Presto { cell }),
        },
    })
}

fn wcmp(keys: &mut document::Wcmp, topology: &Topology, key: &Key) -> Result<spec::Wcmp, Wrong> {
    let at = key.clone().name("weights");
    let entries = match fill(&mut keys.entries, Or::NONE).0 {
        Some(entries) if !(2..=65_536).contains(&entries) => {
            return Err(Wrong::at(key.clone().name("entries"), format!("found {entries}: write a number from 2 to 65536, or \"off\"")));
        }
        entries => entries,
    };
    let Some(given) = &keys.weights else { return Ok(spec::Wcmp { weights: None, entries }) };
    let names = Names::of(topology);
    let mut weights = vec![1; topology.nodes.len()];
    for (pattern, &weight) in given {
        let at = at.clone().name(pattern);
        if !(1..=1_000_000).contains(&weight) {
            return Err(Wrong::at(at, format!("found {weight}: write a weight from 1 to 1000000")));
        }
        for node in names.matching(pattern, Some(NodeKind::Switch)).map_err(|message| Wrong::at(at, message))? {
            weights[node as usize] = weight;
        }
    }
    Ok(spec::Wcmp { weights: Some(weights), entries })
}

fn detail(keys: &mut document::Detail, key: &Key) -> Result<spec::Detail, Wrong> {
    let thresholds = fill(&mut keys.thresholds, [Size(Bytes(16_000)), Size(Bytes(64_000))]).map(|Size(bytes)| bytes);
    match thresholds {
        [less, avoid] if less.0 == 0 || avoid < less => Err(Wrong::at(
            key.clone().name("thresholds"),
            format!("\"{less}\", \"{avoid}\": write two sizes above 0, the smaller first, as in [\"16kB\", \"64kB\"]"),
        )),
        _ => Ok(spec::Detail { thresholds: thresholds.map(|bytes| bytes.0) }),
    }
}

fn dlb(keys: &mut document::Dlb, remote: bool, key: &Key) -> Result<spec::Dlb, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let past_weight = number(&mut keys.past_load_weight, 16, (0, 255), at("past_load_weight"))?;
    let future_weight = number(&mut keys.future_load_weight, 16, (0, 255), at("future_load_weight"))?;
    if past_weight + future_weight == 0 {
        return Err(Wrong::at(at("past_load_weight"), "found 0, and future_load_weight = 0 too: one of them is above 0"));
    }
    let future_range = fill(&mut keys.future_load_range, Size(Bytes(256_000))).0.0;
    if future_range == 0 {
        return Err(Wrong::at(at("future_load_range"), "\"0B\": write a size above 0, as in \"256kB\""));
    }
    Ok(spec::Dlb {
        idle: fill(&mut keys.idle, Or::some(Duration(Span::from_us(256)))).0.map(|idle| idle.0),
        past: RateEstimator { every: interval(&mut keys.sampling_interval, Span::from_us(16), at("sampling_interval"))?, alpha: 0.5 },
        past_weight,
        future_weight,
        future_range,
        bands: number(&mut keys.bands, 8, (1, 256), at("bands"))?,
        remote,
    })
}

fn number<T: Copy + PartialOrd + std::fmt::Display>(slot: &mut Option<T>, default: T, (least, most): (T, T), key: Key) -> Result<T, Wrong> {
    match fill(slot, default) {
        value if value >= least && value <= most => Ok(value),
        value => Err(Wrong::at(key, format!("found {value}: write a number from {least} to {most}"))),
    }
}

/// Of a clock that ticks: a nanosecond at least, so that a run ends.
fn interval(slot: &mut Option<Duration>, default: Span, key: Key) -> Result<Span, Wrong> {
    match fill(slot, Duration(default)).0 {
        value if value >= Span::from_ns(1) && value <= Span::from_s(1) => Ok(value),
        value => Err(Wrong::at(key, format!("\"{value}\": write a time from \"1ns\" to \"1s\""))),
    }
}

/// What goes with which balancer, and which fabrics frames can be pinned in.
pub fn fits(topology: &Topology, configs: &[SwitchConfig]) -> Result<(), Wrong> {
    let key = || Key::from("switch").name("balance");
    let of_switches = || topology.nodes.iter().filter(|node| node.kind == NodeKind::Switch).map(|node| &configs[node.config as usize]);
    let telling = of_switches().find(|config| matches!(&config.balance, spec::Balance::Dlb(dlb) if dlb.remote));
    if telling.is_some_and(|telling| of_switches().any(|config| config.balance != telling.balance)) {
        return Err(Wrong::at(key(), "\"glb\": next hops tell ToRs of their links, and these have to understand: write the same for all switches"));
    }
    let Some(pins) = of_switches().find(|config| config.balance.pins()) else { return Ok(()) };
    // Who pins and who follows have to understand each other.
    if of_switches().any(|config| config.balance != pins.balance) {
        return Err(Wrong::at(key(), "the source's ToR chooses all of a path here, and the switches behind have to follow: write the same for all switches"));
    }
    conweave::fits(of_switches())?;
    if of_switches().any(|config| matches!(config.aqm, Some(Aqm::FqCodel(_)))) {
        return Err(Wrong::at(
            key(),
            "frames are pinned to paths here and carry no hash that fq_codel could tell flows by: write another aqm, or another balance",
        ));
    }
    let named = |node: u32| &topology.nodes[node as usize].name;
    Paths::new(topology, &Ports::new(topology), &Routes::build(topology)).map(drop).map_err(|why| {
        use afflux_net::paths::NoPaths;
        let why = match why {
            NoPaths::Ports(node) => format!("{} has more than 256 ports, for which a path has no room", named(node)),
            NoPaths::Hops(from, to) => {
                format!("from {} to {} there are more than 4 switches before the last, for which a path has no room", named(from), named(to))
            }
            NoPaths::Host(host) => format!("{} does not hang on a switch with its only link", named(host)),
        };
        Wrong::at(
            key(),
            format!("frames cannot be pinned to paths in this fabric: {why}; write \"ecmp\", \"wcmp\", \"spray\", \"drill\", \"dlb\", \"glb\" or \"detail\""),
        )
    })
}
