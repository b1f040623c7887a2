//! `kind = "rdma"` of `[host.transport]`, and what its modes ask of switches.

use super::hosts::Frames;
use super::{fill, meaningless};
use crate::document::{
    Cnp, Dcqcn, DcqcnParameters, Duration, Entropy, Host, HpccControl, OfFlow, Or, Rdma, RdmaCongestion, RdmaMode, RdmaWindow, Size, Speed, Swift, Timely,
    Transport,
};
use crate::topology::Facts;
use crate::tree::{Key, Wrong};
use afflux_net::spec::{
    self, Aqm, Balance, Compat, DcqcnConfig, DcqcnCut, HpccConfig, Irn, Plan, RateControl, RdmaConfig, RdmaRecovery, RouteHash, SwiftConfig, TimelyConfig,
};
use afflux_units::{Bytes, Rate, Span};

/// Of the first host's first link.
pub fn nic_rate(facts: &Facts) -> Rate {
    facts.ports.of(0).first().map_or(Rate::from_gbps(100), |port| facts.topology.links[port.link as usize].rate)
}

pub fn config(rdma: &mut Rdma, frames: &Frames, nic: Rate, compat: Option<Compat>, key: &Key) -> Result<RdmaConfig, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let ns3 = compat == Some(Compat::ConweaveNs3);
    let payload = frames.payload(&mut rdma.payload, at("payload"))?;
    let mode = fill(&mut rdma.mode, RdmaMode::Lossless);
    let recovery = match mode {
        RdmaMode::Irn | RdmaMode::IrnPfc => {
            for (name, given) in [("rto", rdma.rto.is_some()), ("window", rdma.window.is_some()), ("window_size", rdma.window_size.is_some())] {
                if given {
                    return Err(meaningless(at(name), "IRN"));
                }
            }
            let rto_low = time(&mut rdma.rto_low, Span::from_us(100), at("rto_low"))?;
            let rto_high = time(&mut rdma.rto_high, Span::from_us(320), at("rto_high"))?;
            if rto_high < rto_low {
                return Err(Wrong::at(at("rto_high"), format!("\"{rto_high}\" is less than rto_low = \"{rto_low}\"")));
            }
            let bdp = size(rdma.bdp, payload, at("bdp"))?;
            let few = fill(&mut rdma.rto_low_frames, 3);
            RdmaRecovery::Irn(Irn { bdp, few, rto_low, rto_high, timeouts: mode == RdmaMode::Irn, ns3 })
        }
        RdmaMode::Lossless | RdmaMode::GbnNoPfc | RdmaMode::SemiLossless => {
            let others = [
                ("rto_low", rdma.rto_low.is_some()),
                ("rto_high", rdma.rto_high.is_some()),
                ("rto_low_frames", rdma.rto_low_frames.is_some()),
                ("bdp", rdma.bdp.is_some()),
            ];
            if let Some((name, _)) = others.into_iter().find(|(_, given)| *given) {
                return Err(Wrong::at(at(name), "is for IRN: leave it out, or write mode = \"irn\""));
            }
            RdmaRecovery::GoBackN { rto: time(&mut rdma.rto, Span::from_ms(4), at("rto"))? }
        }
    };
    let (control, cnp) = control(rdma, nic, key)?;
    let window = match mode {
        RdmaMode::Irn | RdmaMode::IrnPfc => spec::RdmaWindow::None,
        _ => {
            let bytes = size(rdma.window_size, payload, at("window_size"))?;
            match fill(&mut rdma.window, RdmaWindow::None) {
                RdmaWindow::None if bytes.is_some() => return Err(Wrong::at(at("window_size"), "needs window = \"fixed\" or \"scaled\"")),
                RdmaWindow::None => spec::RdmaWindow::None,
                _ if matches!(control, RateControl::Swift(_) | RateControl::Hpcc(_)) => {
                    return Err(Wrong::at(at("window"), "Swift and HPCC have windows of their own: leave it out"));
                }
                RdmaWindow::Fixed => spec::RdmaWindow::Fixed(bytes),
                RdmaWindow::Scaled => spec::RdmaWindow::Scaled(bytes),
            }
        }
    };
    let cnp = match fill(&mut rdma.cnp, cnp) {
        Cnp::Ack if rdma.cnp_interval.is_some() => return Err(meaningless(at("cnp_interval"), "cnp = \"ack\"")),
        Cnp::Ack => spec::Cnp::Ack,
        Cnp::Packet => spec::Cnp::Packet { interval: time(&mut rdma.cnp_interval, Span::from_us(50), at("cnp_interval"))? },
    };
    let entropy = match rdma.entropy.get_or_insert(Entropy::OfFlow(OfFlow {})) {
        Entropy::OfFlow(_) => spec::Entropy::Flow,
        Entropy::Reps(_) if cnp != spec::Cnp::Ack => {
            return Err(Wrong::at(at("entropy"), "\"reps\" learns of marks by acknowledgements: write cnp = \"ack\""));
        }
        Entropy::Reps(keys) => spec::Entropy::Reps(spec::Reps {
            cache: match fill(&mut keys.cache, 8) {
                0 => return Err(Wrong::at(at("entropy").name("cache"), "found 0: write a number from 1 to 255")),
                cache => cache,
            },
            freeze: fill(&mut keys.freeze, Or::NONE).0.map(|freeze| freeze.0),
            explore: fill(&mut keys.explore, 16),
        }),
    };
    Ok(RdmaConfig {
        payload,
        recovery,
        control,
        window,
        cnp,
        entropy,
        cnp_out_of_order: fill(&mut rdma.cnp_out_of_order, ns3),
        nack_interval: fill(&mut rdma.nack_interval, Duration(Span::from_us(4))).0,
        ack_priority: match rdma.ack_priority {
            Some(priority @ 8..) => return Err(Wrong::at(at("ack_priority"), format!("found {priority}: write a priority from 0 (lowest) to 7"))),
            priority => priority,
        },
    })
}

/// A positive time of at most a second.
fn time(slot: &mut Option<Duration>, default: Span, key: Key) -> Result<Span, Wrong> {
    match fill(slot, Duration(default)).0 {
        span if span == Span::ZERO || span > Span::from_s(1) => Err(Wrong::at(key, format!("\"{span}\": write a time above 0, at most \"1s\""))),
        span => Ok(span),
    }
}

fn size(given: Option<Size>, payload: u16, key: Key) -> Result<Option<u64>, Wrong> {
    match given.map(|Size(bytes)| bytes) {
        Some(bytes) if bytes.0 < u64::from(payload) || bytes.0 > 1 << 40 => {
            Err(Wrong::at(key, format!("\"{bytes}\": write at least a full frame's payload, {payload} B, at most 1 TiB")))
        }
        bytes => Ok(bytes.map(|bytes| bytes.0)),
    }
}

fn number(slot: &mut Option<f64>, default: f64, (least, most): (f64, f64), key: Key) -> Result<f64, Wrong> {
    let value = fill(slot, default);
    if !(least..=most).contains(&value) {
        return Err(Wrong::at(key, format!("found {value}: write a number from {least} to {most}")));
    }
    Ok(value)
}

fn rate(slot: &mut Option<Speed>, default: Rate, key: Key) -> Result<u64, Wrong> {
    match fill(slot, Speed(default)).0 {
        Rate(0) => Err(Wrong::at(key, "\"0bps\": write a rate above 0")),
        rate => Ok(rate.0),
    }
}

/// The control, and how its source has receivers tell of marks.
fn control(rdma: &mut Rdma, nic: Rate, key: &Key) -> Result<(RateControl, Cnp), Wrong> {
    let at = |name: &str| key.clone().name(name);
    let kind = fill(&mut rdma.congestion, RdmaCongestion::Dcqcn);
    let word = match kind {
        RdmaCongestion::None => "none",
        RdmaCongestion::Dcqcn => "dcqcn",
        RdmaCongestion::Timely => "timely",
        RdmaCongestion::Swift => "swift",
        RdmaCongestion::Hpcc => "hpcc",
    };
    for (name, given) in [("dcqcn", rdma.dcqcn.is_some()), ("timely", rdma.timely.is_some()), ("swift", rdma.swift.is_some()), ("hpcc", rdma.hpcc.is_some())] {
        if given && name != word {
            return Err(meaningless(at(name), &format!("congestion = \"{word}\"")));
        }
    }
    Ok(match kind {
        RdmaCongestion::None => (RateControl::None, Cnp::Ack),
        RdmaCongestion::Dcqcn => {
            let (config, cnp) = dcqcn(rdma.dcqcn.get_or_insert_default(), nic, &at("dcqcn"))?;
            (RateControl::Dcqcn(config), cnp)
        }
        RdmaCongestion::Timely => (RateControl::Timely(timely(rdma.timely.get_or_insert_default(), nic, &at("timely"))?), Cnp::Ack),
        RdmaCongestion::Hpcc => (RateControl::Hpcc(hpcc(rdma.hpcc.get_or_insert_default(), &at("hpcc"))?), Cnp::Ack),
        RdmaCongestion::Swift => (RateControl::Swift(swift(rdma.swift.get_or_insert_default(), &at("swift"))?), Cnp::Ack),
    })
}

/// A set's parameters. Times in microseconds, rates in Mbit/s.
struct Set {
    g: f64,
    initial_alpha: f64,
    alpha: u64,
    /// 0: cuts are at once.
    decrease: u64,
    increase: u64,
    /// 0: none.
    bytes: u64,
    fast: u32,
    additive: f64,
    hyper: f64,
    least: f64,
    clamp: bool,
    first: f64,
    cnp: Cnp,
}

fn set(parameters: DcqcnParameters, nic: Rate) -> Set {
    let per_25g = nic.as_gbps() / 25.0;
    // HPCC's, §3.2; the others differ from it.
    let hpcc = Set {
        g: 1.0 / 256.0,
        initial_alpha: 1.0,
        alpha: 1,
        decrease: 4,
        increase: 300,
        bytes: 0,
        fast: 1,
        additive: 5.0 * per_25g,
        hyper: 50.0 * per_25g,
        least: 1_000.0,
        clamp: false,
        first: 1.0,
        cnp: Cnp::Ack,
    };
    match parameters {
        DcqcnParameters::Hpcc => hpcc,
        DcqcnParameters::HpccPaper => Set { alpha: 50, decrease: 50, increase: 55, ..hpcc },
        DcqcnParameters::Conweave => Set { additive: 10.0 * per_25g, hyper: 25.0 * per_25g, least: 100.0, ..hpcc },
        // The paper gives no hyper increase and no floor: those of its authors' simulator.
        DcqcnParameters::Paper | DcqcnParameters::Zhu => {
            let zhu = parameters == DcqcnParameters::Zhu;
            let (increase, bytes) = if zhu { (60, 300_000_000) } else { (55, 10_000_000) };
            Set { alpha: 55, decrease: 0, increase, bytes, fast: 5, additive: 40.0, hyper: 200.0, least: 100.0, clamp: true, cnp: Cnp::Packet, ..hpcc }
        }
        DcqcnParameters::Nvidia => Set {
            g: 5.0 / 1_024.0,
            initial_alpha: 1_023.0 / 1_024.0,
            bytes: 32_767,
            additive: 5.0,
            hyper: 50.0,
            least: 1.0,
            first: 0.85,
            cnp: Cnp::Packet,
            ..hpcc
        },
    }
}

fn dcqcn(table: &mut Dcqcn, nic: Rate, key: &Key) -> Result<(DcqcnConfig, Cnp), Wrong> {
    let at = |name: &str| key.clone().name(name);
    let set = set(fill(&mut table.parameters, DcqcnParameters::Paper), nic);
    let mbps = |mbps: f64| Rate((mbps * 1e6) as u64);
    let g = number(&mut table.g, set.g, (1e-6, 1.0), at("g"))?;
    let initial_alpha = number(&mut table.initial_alpha, set.initial_alpha, (0.0, 1.0), at("initial_alpha"))?;
    let cut = match fill(&mut table.decrease_period, Duration(Span::from_us(set.decrease))).0 {
        Span::ZERO => DcqcnCut::AtOnce,
        period => DcqcnCut::Polled { period },
    };
    let bytes = fill(&mut table.byte_counter, Size(Bytes(set.bytes))).0.0;
    let fast_recovery = fill(&mut table.fast_recovery, set.fast);
    let config = DcqcnConfig {
        g,
        cut,
        alpha_period: time(&mut table.alpha_period, Span::from_us(set.alpha), at("alpha_period"))?,
        increase_period: time(&mut table.increase_period, Span::from_us(set.increase), at("increase_period"))?,
        byte_counter: (bytes > 0).then_some(bytes),
        fast_recovery,
        additive: rate(&mut table.additive, mbps(set.additive), at("additive"))?,
        hyper: rate(&mut table.hyper, mbps(set.hyper), at("hyper"))?,
        min_rate: rate(&mut table.min_rate, mbps(set.least), at("min_rate"))?,
        clamp_target: fill(&mut table.clamp_target, set.clamp),
        first_rate: number(&mut table.first_rate, set.first, (0.001, 1.0), at("first_rate"))?,
        initial_alpha,
    };
    Ok((config, set.cnp))
}

fn timely(table: &mut Timely, nic: Rate, key: &Key) -> Result<TimelyConfig, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let t_low = time(&mut table.t_low, Span::from_us(50), at("t_low"))?;
    let t_high = time(&mut table.t_high, Span::from_us(500), at("t_high"))?;
    if t_high <= t_low {
        return Err(Wrong::at(at("t_high"), format!("\"{t_high}\" is not above t_low = \"{t_low}\"")));
    }
    Ok(TimelyConfig {
        t_low,
        t_high,
        min_rtt: time(&mut table.min_rtt, Span::from_us(20), at("min_rtt"))?,
        weight: number(&mut table.weight, 0.875, (0.001, 1.0), at("weight"))?,
        beta: number(&mut table.beta, 0.8, (0.0, 1.0), at("beta"))?,
        additive: rate(&mut table.additive, Rate((nic.0 / 1_000).max(1)), at("additive"))?,
        hyper_after: fill(&mut table.hyper_after, 5).max(1),
        segment: fill(&mut table.segment, Size(Bytes(16_000))).0.0,
        min_rate: rate(&mut table.min_rate, Rate::from_mbps(100), at("min_rate"))?,
    })
}

fn swift(table: &mut Swift, key: &Key) -> Result<SwiftConfig, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let base = time(&mut table.base, Span::from_us(20), at("base"))?;
    let fs_min = number(&mut table.fs_min, 0.1, (0.001, 1_000.0), at("fs_min"))?;
    let fs_max = number(&mut table.fs_max, 100.0, (0.01, 1e6), at("fs_max"))?;
    if fs_max <= fs_min {
        return Err(Wrong::at(at("fs_max"), format!("{fs_max} is not above fs_min = {fs_min}")));
    }
    let min_window = number(&mut table.min_window, 0.01, (0.001, 1_000.0), at("min_window"))?;
    let max_window = number(&mut table.max_window, 10_000.0, (1.0, 1e6), at("max_window"))?;
    Ok(SwiftConfig {
        base,
        hop: fill(&mut table.hop, Duration(Span(base.0 * 100 / 655))).0,
        fs_range: fill(&mut table.fs_range, Duration(Span(5 * base.0))).0,
        fs_min,
        fs_max,
        ai: number(&mut table.ai, 1.0, (0.0, 1_000.0), at("ai"))?,
        beta: number(&mut table.beta, 0.8, (0.0, 1.0), at("beta"))?,
        max_mdf: number(&mut table.max_mdf, 0.5, (0.0, 1.0), at("max_mdf"))?,
        initial_window: number(&mut table.initial_window, 12.0, (min_window, max_window), at("initial_window"))?,
        min_window,
        max_window,
        timeouts: fill(&mut table.timeouts, 5).max(1),
    })
}

fn hpcc(table: &mut HpccControl, key: &Key) -> Result<HpccConfig, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let base_rtt = match table.base_rtt {
        Some(_) => Some(time(&mut table.base_rtt, Span::ZERO, at("base_rtt"))?),
        None => None,
    };
    Ok(HpccConfig {
        eta: number(&mut table.eta, 0.95, (0.01, 1.0), at("eta"))?,
        max_stage: fill(&mut table.max_stage, 5),
        additive: fill(&mut table.additive, Size(Bytes(80))).0.0 as f64,
        base_rtt,
    })
}

/// Switches do what the modes of the transports in use expect of them.
pub fn fits(plan: &Plan, host: &Host) -> Result<(), Wrong> {
    let rates: std::collections::BTreeSet<u64> = plan.topology.links.iter().map(|link| link.rate.0).collect();
    if plan.has_telemetry() && rates.len() > 16 {
        let found = format!("\"hpcc\": its telemetry tells at most 16 rates of links apart, this fabric has {}", rates.len());
        return Err(Wrong::at(Key::from("host.transport").name("congestion"), found));
    }
    let named = std::iter::once((Key::from("host.transport"), host.transport.as_ref()))
        .chain(host.transports.iter().map(|(name, transport)| (Key::from("host.transports").name(name), Some(transport))));
    for (index, (key, transport)) in named.enumerate() {
        let Some(Transport::Rdma(rdma)) = transport else { continue };
        let of_it = || plan.flows.iter().filter(|flow| usize::from(flow.transport) == index && flow.src != flow.dst);
        if of_it().next().is_none() {
            continue;
        }
        if matches!(rdma.entropy, Some(Entropy::Reps(_))) {
            recycles(plan, &key)?;
        }
        let pausing = plan.switches.iter().filter(|switch| switch.pfc.is_some()).count();
        let key = key.name("mode");
        match rdma.mode.expect("filled in") {
            RdmaMode::Lossless | RdmaMode::IrnPfc if pausing < plan.switches.len() => {
                return Err(Wrong::at(key, "needs switches that pause: write [switch.pfc], or mode = \"irn\" or \"gbn_no_pfc\""));
            }
            RdmaMode::Lossless | RdmaMode::IrnPfc => {
                let paused = plan.switches.iter().filter_map(|switch| switch.pfc.as_ref()).fold(0xff, |all, pfc| all & pfc.priorities);
                if let Some(flow) = of_it().find(|flow| paused >> flow.priority & 1 == 0) {
                    let found =
                        format!("flow {} has priority {}, which is not among switch.pfc.priorities: give its traffic one that is", flow.id, flow.priority);
                    return Err(Wrong::at(key, found));
                }
            }
            mode => {
                let paused = plan.switches.iter().filter_map(|switch| switch.pfc.as_ref()).fold(0, |any, pfc| any | pfc.priorities);
                if let Some(flow) = of_it().find(|flow| paused >> flow.priority & 1 != 0) {
                    let found = format!("switches pause the priority {} of flow {}: write mode = \"lossless\" or \"irn_pfc\"", flow.priority, flow.id);
                    return Err(Wrong::at(key, found));
                }
                if mode == RdmaMode::SemiLossless && !plan.switches.iter().all(|switch| switch.honours_pause) {
                    return Err(Wrong::at(key, "needs switches that obey pauses: write switch.honours_pause = true"));
                }
            }
        }
    }
    Ok(())
}

/// Entropies mean something where switches hash frames, and nothing takes them for flows.
fn recycles(plan: &Plan, key: &Key) -> Result<(), Wrong> {
    let at = || key.clone().name("entropy");
    for switch in &plan.switches {
        let hashes = matches!(switch.balance, Balance::Ecmp | Balance::Resilient | Balance::Wcmp(_));
        if !hashes {
            return Err(Wrong::at(at(), "\"reps\" is for switches that choose by hash: write switch.balance = \"ecmp\", \"resilient\" or \"wcmp\""));
        }
        if switch.hash == RouteHash::Murmur3 {
            return Err(Wrong::at(at(), "\"reps\": switch.hash = \"murmur3\" is of addresses and ports alone; write another"));
        }
        if matches!(switch.aqm, Some(Aqm::FqCodel(_))) {
            return Err(Wrong::at(at(), "\"reps\": fq_codel would take every frame for a flow of its own; write another aqm"));
        }
    }
    Ok(())
}
