//! Generator of `[host.transport]` and `[host.transports.NAME]`.

use super::facts::{Family, Pauses, RdmaPlan, TransportFacts};
use super::topology::Fabric;
use crate::choices::{Choices, Keys, int};
use crate::schema::words;
use toml::Value;

pub fn rdma_plan(c: &mut Choices) -> RdmaPlan {
    let mode = c.weighted(&[
        (4, "lossless"),
        (3, "irn"),
        (2, "irn_pfc"),
        (2, "gbn_no_pfc"),
        (1, "semi_lossless"),
    ]);
    let pauses = match mode {
        "lossless" | "irn_pfc" => Pauses::Needed,
        "semi_lossless" => Pauses::Obeyed,
        _ => Pauses::Any,
    };
    RdmaPlan { mode, pauses, entropies: c.chance(20) }
}

pub fn transport(
    c: &mut Choices,
    fabric: &Fabric,
    family: Family,
    rdma: RdmaPlan,
) -> (Keys, TransportFacts) {
    let mut keys = Keys::default();
    let mut facts = TransportFacts::default();
    match family {
        Family::Tcp | Family::Hull | Family::Hadoop => {
            tcp(c, &mut keys, family, false);
            facts.persistent = true;
        }
        Family::Mptcp => {
            tcp(c, &mut keys, family, true);
        }
        Family::Rdma => {
            self::rdma(c, &mut keys, rdma);
            facts.paused = Some(matches!(rdma.mode, "lossless" | "irn_pfc"));
        }
        Family::Pfabric => pfabric(c, &mut keys),
        Family::Pdq => {
            keys.put("kind", "pdq");
            rated(c, &mut keys);
            keys.may(c, 30, "early_start", |c| c.real(0.0, 10.0));
            keys.may(c, 30, "suppressed_probing", |c| c.real(0.0, 3.0));
            keys.may(c, 30, "dampening", |c| c.time(1, 50_000));
            keys.may(c, 30, "max_flows", |c| int(c.scale(2, 1_000)));
            keys.may(c, 30, "early_termination", |c| c.chance(50));
        }
        Family::D3 => {
            keys.put("kind", "d3");
            rated(c, &mut keys);
            keys.may(c, 30, "base_rate", |c| format!("{}kbps", c.scale(10, 100_000)));
            keys.may(c, 30, "alpha", |c| c.real(0.0, 2.0));
            keys.may(c, 30, "beta", |c| c.real(0.0, 4.0));
            keys.may(c, 30, "quench", |c| c.chance(50));
            if c.1 {
                keys.may(c, 40, "forget", |c| c.time(20_000, 5_000_000));
            }
            // Scenarios of old seeds keep `run.until`.
            facts.endless = !c.1;
        }
        Family::Nack => {
            keys.put("kind", "nack");
            keys.put(
                "rate",
                if c.chance(10) {
                    "unlimited".into()
                } else {
                    format!("{}Mbps", (fabric.mbps * c.range(1, 11) / 10).max(1))
                },
            );
            keys.may(c, 40, "report", |c| c.time(10_000, 2_000_000));
            keys.may(c, 40, "timeout", |c| c.time(100_000, 5_000_000));
        }
        Family::Ndp => {
            keys.put("kind", "ndp");
            keys.may(c, 60, "initial_window", |c| int(c.scale(1, 100)));
            keys.may(c, 40, "pull_rate", |c| c.real(0.1, 1.0));
            keys.may(c, 30, "spread", |_| false);
            keys.may(c, 60, "rto", |c| c.time(200_000, 5_000_000));
        }
        Family::Datagram => {
            keys.put("kind", "datagram");
            keys.may(c, 70, "rate", |c| {
                format!("{}Mbps", (fabric.mbps * c.range(1, 10) / 10).max(1))
            });
            keys.may(c, 50, "ecn_capable", |_| true);
        }
    }
    if !matches!(family, Family::Tcp | Family::Hull | Family::Mptcp | Family::Hadoop) {
        let name = if family == Family::Pfabric { "mss" } else { "payload" };
        keys.may(c, 10, name, |c| c.size(200, 480));
    }
    (keys, facts)
}

fn tcp(c: &mut Choices, keys: &mut Keys, family: Family, several: bool) {
    keys.may(c, 50, "kind", |_| "tcp");
    let stacks = words("Stack");
    let stack = if several {
        c.of(&stacks.iter().filter(|stack| *stack != "ns3").collect::<Vec<_>>()).clone()
    } else {
        c.of(&stacks)
    };
    keys.put("stack", stack.as_str());
    let ns3 = stack == "ns3";
    let mut coupled = false;
    if several {
        let mut mptcp = Keys::default();
        let coupling = c.of(&words("Coupling"));
        coupled = coupling != "off";
        mptcp.put("coupling", coupling.as_str());
        mptcp.may(c, 40, "manager", |c| c.of(&words("PathManager")));
        mptcp.may(c, 80, "subflows", |c| int(c.range(1, 6)));
        mptcp.may(c, 70, "scheduler", |c| c.of(&words("PathScheduler")));
        mptcp.may(c, 40, "opportunistic", |c| c.chance(50));
        if coupling == "queue_aware" {
            mptcp.may(c, 50, "queue_segments", |c| int(c.range(1, 12)));
        }
        keys.put("mptcp", mptcp);
    }
    let congestion = if family == Family::Hull {
        "dctcp".to_string()
    } else if coupled {
        "newreno".to_string()
    } else {
        c.of(&words("Congestion"))
    };
    if !coupled {
        keys.put("congestion", congestion.as_str());
        control(c, keys, &congestion, ns3);
        if matches!(congestion.as_str(), "newreno" | "dctcp" | "d2tcp" | "htcp") {
            keys.may(c, 10, "hystart_plusplus", |_| true);
        }
    }
    if matches!(congestion.as_str(), "newreno" | "cubic" | "htcp" | "ledbatpp") {
        keys.may(c, 40, "ecn", |c| c.of(&["off", "classic"]));
    }
    let window = c.weighted(&[(6, 0), (1, 1), (1, 2), (1, 40), (1, 1_000)]);
    if window > 0 {
        keys.put("initial_window", int(window));
    }
    keys.may(c, 15, "max_window", |c| int(window.max(10) + c.range(0, 40)));
    // The default of 200 ms would give long silences without events.
    keys.may(c, 85, "min_rto", |c| c.of(&["200us", "1ms", "1ms", "5ms", "900ns"]));
    keys.may(c, 30, "initial_rto", |c| c.of(&["300us", "1ms", "10ms"]));
    keys.may(c, 15, "max_rto", |c| c.of(&["1s", "10s"]));
    if c.1 && family == Family::Tcp && !keys.0.contains_key("reader") && c.chance(25) {
        keys.put("retries", int(c.range(1, 5)));
        if keys.0.get("handshake").and_then(Value::as_bool).unwrap_or(stack != "basic") {
            keys.may(c, 50, "syn_retries", |c| int(c.range(0, 3)));
        }
    }
    keys.may(c, 10, "min_rto_on_variance", |c| c.chance(50));
    keys.may(c, 10, "granularity", |c| c.time(1, 1_000_000));
    keys.may(c, 8, "mss", |c| c.size(100, 480));
    keys.may(c, 25, "recovery", |c| c.of(&words("Recovery")));
    let sack = keys.0.get("recovery").is_none_or(|recovery| recovery.as_str() != Some("newreno"));
    if sack {
        keys.may(c, 15, "tail_probe", |c| c.chance(60));
    }
    keys.may(c, 15, "dupack_threshold", |c| {
        if c.chance(30) { Value::from("off") } else { int(c.range(1, 20)) }
    });
    if c.chance(25) {
        if c.chance(30) {
            keys.put("delayed_ack", "off");
        } else {
            let mut delayed = Keys::default();
            delayed.may(c, 60, "segments", |c| int(c.range(1, 10)));
            delayed.put("timeout", c.time(1_000, 1_000_000));
            delayed.may(c, 40, "quick", |c| int(c.range(0, 16)));
            keys.put("delayed_ack", delayed);
        }
    }
    for name in
        ["sack_compression", "prr", "undo", "idle_restart", "pacing", "small_queues", "handshake"]
    {
        keys.may(c, 12, name, |c| c.chance(60));
    }
    if !several {
        keys.may(c, 8, "ssthresh_cache", |_| true);
    }
    keys.may(
        c,
        12,
        "burst",
        |c| if c.chance(40) { Value::from("auto") } else { int(c.range(1, 64)) },
    );
    keys.may(c, 12, "tick", |c| c.of(&["10us", "1ms", "4ms"]));
    keys.may(c, 12, "rtt_estimator", |c| c.of(&words("Estimator")));
    keys.may(c, 10, "ack_priority", |c| int(c.range(0, 7)));
    if c.chance(25) {
        keys.put("receive_window", c.size(3_000, 300_000));
    } else if c.chance(20) {
        let first = c.scale(8_000, 200_000);
        keys.put("receive_buffer", format!("{first}B"));
        keys.may(c, 50, "receive_buffer_max", |c| format!("{}B", first * c.range(1, 8)));
        keys.may(c, 30, "receive_buffer_share", |c| c.of(&[0.25, 0.5, 1.0]));
        if !several {
            keys.may(c, 30, "reader", |c| {
                let mut reader = Keys::default();
                reader.put("read", c.time(10_000, 1_000_000));
                reader.put("sleep", c.time(10_000, 1_000_000));
                reader
            });
        }
    }
}

/// Sets the parameters of a congestion control.
fn control(c: &mut Choices, keys: &mut Keys, kind: &str, ns3: bool) {
    let mut own = Keys::default();
    match kind {
        "newreno" => own.may(c, 50, "flavour", |c| c.of(&words("RenoFlavour"))),
        "dctcp" | "d2tcp" => {
            own.may(c, 50, "gain", |c| c.of(&[1.0, 0.25, 0.0625, 0.001953125]));
            own.may(c, 50, "initial_alpha", |c| c.of(&[0.0, 0.5, 1.0]));
            if kind == "d2tcp" {
                own.may(c, 30, "least", |c| c.real(0.05, 1.0));
                own.may(c, 30, "most", |c| c.real(1.0, 4.0));
                own.may(c, 30, "without_deadline", |c| c.of(&words("WithoutDeadline")));
            }
        }
        "cubic" => {
            let flavour = if c.chance(30) { Some(c.of(&words("Flavour"))) } else { None };
            if let Some(flavour) = &flavour {
                own.put("flavour", flavour.as_str());
            }
            own.may(c, 40, "hystart", |c| c.of(&words("HyStart")));
            own.may(c, 20, "c", |c| c.of(&[0.1, 0.4, 4.0]));
            own.may(c, 20, "beta", |c| c.of(&[0.5, 0.7, 0.9]));
            own.may(c, 20, "fast_convergence", |_| false);
            own.may(c, 20, "tcp_friendly", |_| false);
            if flavour.map_or(!ns3, |flavour| flavour != "ns3") {
                own.may(c, 30, "tick", |c| c.of(&["100us", "1ms", "4ms"]));
            }
        }
        "htcp" => {
            own.may(c, 30, "rtt_scaling", |_| false);
            own.may(c, 30, "bandwidth_switch", |_| false);
            own.may(c, 30, "tick", |c| c.of(&["100us", "4ms"]));
        }
        "ledbatpp" => {
            // Queues of a fabric and runs are short, so the default parameters would have no
            // effect.
            own.may(c, 80, "target", |c| c.time(1_000, 500_000));
            own.may(c, 30, "slowest", |c| int(c.range(1, 20)));
            own.may(c, 30, "constant", |c| c.real(0.1, 10.0));
            own.may(c, 30, "base_history", |c| int(c.range(1, 10)));
            own.may(c, 60, "base_interval", |c| c.time(10_000, 5_000_000));
            own.may(c, 30, "slowdown_interval", |c| int(c.range(1, 12)));
        }
        "bbr" | "bbr3" => {
            own.may(c, 60, "probe_rtt_time", |c| c.time(5_000, 200_000));
            own.may(c, 60, "probe_rtt_interval", |c| c.time(200_000, 20_000_000));
            if own.0.contains_key("probe_rtt_interval") && !own.0.contains_key("probe_rtt_time") {
                own.put("probe_rtt_time", "20us");
            }
            if kind == "bbr3" {
                own.may(c, 30, "send_quantum", |c| int(c.range(1, 64)));
            } else if !ns3 {
                own.may(c, 20, "flavour", |c| c.of(&words("Flavour")));
            }
        }
        _ => {}
    }
    if !own.0.is_empty() {
        keys.put(kind, own);
    }
}

fn rdma(c: &mut Choices, keys: &mut Keys, plan: RdmaPlan) {
    keys.put("kind", "rdma");
    keys.put("mode", plan.mode);
    let congestion = c.of(&words("RdmaCongestion"));
    keys.put("congestion", congestion.as_str());
    let mut own = Keys::default();
    match congestion.as_str() {
        "dcqcn" => {
            own.may(c, 80, "parameters", |c| c.of(&words("DcqcnParameters")));
            own.may(c, 20, "alpha_period", |c| c.time(500, 60_000));
            own.may(c, 20, "increase_period", |c| c.time(2_000, 400_000));
            own.may(c, 20, "decrease_period", |c| c.time(1_000, 50_000));
            own.may(c, 20, "byte_counter", |c| c.size(5_000, 1_000_000));
            own.may(c, 20, "fast_recovery", |c| int(c.range(1, 6)));
            own.may(c, 20, "clamp_target", |c| c.chance(50));
            own.may(c, 20, "min_rate", |_| "100Mbps");
            own.may(c, 10, "g", |c| c.of(&[0.00390625, 0.5]));
            own.may(c, 10, "first_rate", |c| c.real(0.1, 1.0));
            own.may(c, 10, "initial_alpha", |c| c.real(0.0, 1.0));
            own.may(c, 10, "additive", |_| "40Mbps");
            own.may(c, 10, "hyper", |_| "200Mbps");
        }
        "timely" => {
            own.may(c, 40, "t_low", |c| c.time(2_000, 50_000));
            own.may(c, 40, "t_high", |c| c.time(60_000, 600_000));
            own.may(c, 20, "segment", |c| c.size(1_000, 64_000));
            own.may(c, 20, "beta", |c| c.real(0.1, 1.0));
            own.may(c, 20, "weight", |c| c.real(0.1, 1.0));
            own.may(c, 20, "hyper_after", |c| int(c.range(1, 6)));
            own.may(c, 20, "min_rtt", |c| c.time(2_000, 40_000));
            own.may(c, 10, "additive", |_| "20Mbps");
            own.may(c, 10, "min_rate", |_| "50Mbps");
        }
        "swift" => {
            own.may(c, 40, "base", |c| c.time(3_000, 60_000));
            own.may(c, 20, "hop", |c| c.time(100, 10_000));
            own.may(c, 20, "fs_range", |c| c.time(1_000, 100_000));
            own.may(c, 20, "fs_max", |c| c.of(&[50.0, 100.0]));
            own.may(c, 20, "fs_min", |c| c.of(&[0.1, 1.0]));
            own.may(c, 20, "ai", |c| c.real(0.1, 4.0));
            own.may(c, 20, "beta", |c| c.real(0.1, 1.0));
            own.may(c, 20, "max_mdf", |c| c.real(0.1, 0.9));
            own.may(c, 20, "initial_window", |c| c.of(&[1.0, 40.0]));
            own.may(c, 20, "min_window", |c| c.of(&[0.01, 0.5]));
            own.may(c, 20, "max_window", |c| c.of(&[50.0, 1_000.0]));
            own.may(c, 20, "timeouts", |c| int(c.range(1, 8)));
        }
        "hpcc" => {
            own.may(c, 30, "eta", |c| c.real(0.5, 1.0));
            own.may(c, 30, "max_stage", |c| int(c.range(0, 6)));
            own.may(c, 30, "additive", |c| c.size(20, 2_000));
            own.may(c, 20, "base_rtt", |c| c.time(2_000, 60_000));
        }
        _ => {}
    }
    if !own.0.is_empty() {
        keys.put(&congestion, own);
    }
    if plan.mode.starts_with("irn") {
        let low = c.scale(20_000, 500_000);
        keys.may(c, 50, "rto_low", |_| format!("{low}ns"));
        keys.put("rto_high", format!("{}ns", (low * c.range(1, 4)).max(100_000)));
        keys.may(c, 30, "rto_low_frames", |c| int(c.range(0, 5)));
        keys.may(c, 40, "bdp", |c| c.size(9_000, 100_000));
        if plan.mode == "irn_pfc" {
            // `irn_pfc` has a single time-out.
            ["rto_low", "rto_low_frames"].iter().for_each(|name| drop(keys.0.remove(*name)));
            let rto = keys.0.remove("rto_high").expect("just put");
            keys.0.insert("rto".into(), rto);
        }
    } else {
        keys.may(c, 80, "rto", |c| c.time(100_000, 4_000_000));
        if !matches!(congestion.as_str(), "swift" | "hpcc") && c.chance(40) {
            keys.put("window", c.of(&["none", "fixed", "scaled"]));
            if keys.0["window"].as_str() != Some("none") {
                keys.may(c, 60, "window_size", |c| c.size(9_000, 100_000));
            }
        }
    }
    if plan.entropies {
        keys.put("cnp", "ack");
        let mut reps = Keys::default();
        reps.put("kind", "reps");
        reps.may(c, 50, "cache", |c| int(c.range(1, 16)));
        reps.may(c, 50, "explore", |c| int(c.range(0, 32)));
        reps.may(c, 30, "freeze", |c| c.time(10_000, 1_000_000));
        keys.put("entropy", reps);
    } else {
        keys.may(c, 40, "cnp", |c| c.of(&["ack", "packet"]));
        if keys.0.get("cnp").is_some_and(|cnp| cnp.as_str() == Some("packet")) {
            keys.may(c, 60, "cnp_interval", |c| c.time(1_000, 60_000));
        }
        keys.may(c, 10, "entropy", |_| "flow");
    }
    keys.may(c, 15, "cnp_out_of_order", |_| true);
    keys.may(c, 20, "nack_interval", |c| c.time(100, 20_000));
    keys.may(c, 20, "ack_priority", |c| int(c.range(0, 7)));
}

fn pfabric(c: &mut Choices, keys: &mut Keys) {
    keys.put("kind", "pfabric");
    let estimated = c.chance(35);
    if estimated {
        keys.put("rto", "estimated");
        let congestions: Vec<String> =
            words("PfabricCongestion").into_iter().filter(|word| c.1 || word != "none").collect();
        keys.may(c, 60, "congestion", |c| c.of(&congestions));
        if keys.0.get("congestion").is_some_and(|kind| kind.as_str() == Some("dctcp")) {
            keys.may(c, 40, "dctcp", |c| {
                let mut dctcp = Keys::default();
                dctcp.put("initial_alpha", c.of(&[0.0, 1.0]));
                dctcp
            });
        }
    } else {
        keys.may(c, 30, "rto", |_| "fixed");
    }
    // A fixed time-out below the round-trip time would cause endless retransmissions.
    keys.put("min_rto", c.of(&["300us", "1ms", "3ms"]));
    let most = c.range(2, 40);
    keys.may(c, 60, "max_window", |_| int(most));
    keys.may(c, 50, "initial_window", |c| int(c.range(1, most.min(23))));
    keys.may(c, 40, "probe_after", |c| {
        if c.chance(30) { Value::from("off") } else { int(c.range(1, 8)) }
    });
    keys.may(c, 20, "rank", |c| c.of(&words("Rank")));
    keys.may(c, 40, "connections", |c| c.of(&words("Connections")));
}

fn rated(c: &mut Choices, keys: &mut Keys) {
    keys.may(c, 30, "header", |c| c.size(1, 64));
    keys.may(c, 60, "min_rto", |c| c.time(200_000, 5_000_000));
    keys.may(c, 30, "interval", |c| c.time(2_000, 500_000));
}
