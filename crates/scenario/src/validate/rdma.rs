//! `kind = "rdma"` of `[host.transport]`, and what its modes ask of switches.

use super::{fill, meaningless};
use crate::document::{Cnp, Duration, Entropy, Host, OfFlow, Or, Rdma, RdmaMode, RdmaWindow, Size, Transport};
use crate::spelling;
use crate::tree::{Key, Wrong};
use afflux_net::congestion::rate::{RateParameters, RdmaCongestion};
use afflux_net::spec::{self, Aqm, Balance, Compat, Irn, Plan, RateControl, RdmaConfig, RdmaRecovery, RouteHash};
use afflux_net::transports::Around;
use afflux_units::{Rate, Span};

pub fn config(around: &Around, rdma: &mut Rdma, key: &Key) -> Result<RdmaConfig, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let ns3 = around.compat == Some(Compat::ConweaveNs3);
    let payload = around.payload(fill(&mut rdma.payload, around.full()), at("payload"))?;
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
    let (control, cnp) = control(rdma, around.nic, key)?;
    let window = match mode {
        RdmaMode::Irn | RdmaMode::IrnPfc => spec::RdmaWindow::None,
        _ => {
            let bytes = size(rdma.window_size, payload, at("window_size"))?;
            match fill(&mut rdma.window, RdmaWindow::None) {
                RdmaWindow::None if bytes.is_some() => return Err(Wrong::at(at("window_size"), "needs window = \"fixed\" or \"scaled\"")),
                RdmaWindow::None => spec::RdmaWindow::None,
                _ if own_window(control.kind()).is_some() => {
                    let names: Vec<&str> = RdmaCongestion::ALL.iter().copied().filter_map(own_window).collect();
                    return Err(Wrong::at(at("window"), format!("{} have windows of their own: leave it out", names.join(" and "))));
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

/// The name of a control that has a window of its own.
fn own_window(control: RdmaCongestion) -> Option<&'static str> {
    control.about().and_then(|about| about.window)
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

/// The control, and how its source has receivers tell of marks.
fn control(rdma: &mut Rdma, nic: Rate, key: &Key) -> Result<(RateControl, Cnp), Wrong> {
    let kind = fill(&mut rdma.congestion, RdmaCongestion::Dcqcn);
    if let Some(other) = rdma.controls().into_iter().find(|other| *other != kind) {
        return Err(meaningless(key.clone().name(other.name()), &format!("congestion = \"{}\"", kind.name())));
    }
    let control = rdma.control(kind, nic, key)?;
    let by_frames = control.parameters().is_some_and(RateParameters::notifies_by_frames);
    Ok((control, if by_frames { Cnp::Packet } else { Cnp::Ack }))
}

/// Switches do what the modes of the transports in use expect of them.
pub fn fits(plan: &Plan, host: &Host) -> Result<(), Wrong> {
    let rates: std::collections::BTreeSet<u64> = plan.topology.links.iter().map(|link| link.rate.0).collect();
    if plan.has_telemetry() && rates.len() > 16 {
        let control = RdmaCongestion::ALL.iter().find(|control| control.about().is_some_and(|about| about.telemetry));
        let name = control.map_or("", |control| control.name());
        let found = format!("\"{name}\": its telemetry tells at most 16 rates of links apart, this fabric has {}", rates.len());
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
        if !switch.balance.about().hashes {
            let others = spelling::list(Balance::ALL.iter().filter(|about| about.hashes).map(|about| about.model.name));
            return Err(Wrong::at(at(), format!("\"reps\" is for switches that choose by hash: write switch.balance = {others}")));
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
