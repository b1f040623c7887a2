//! Generator of RDMA.

use crate::choices::{ALWAYS, Choices, Draw::*, Keys, Row};
use crate::generate::facts::RdmaPlan;
use crate::schema::words;

const REPS: &[Row] = &[
    (ALWAYS, "cnp", Text("ack")),
    (
        ALWAYS,
        "entropy",
        Table(&[
            (ALWAYS, "kind", Text("reps")),
            (50, "cache", Int(1, 16)),
            (50, "explore", Int(0, 32)),
            (30, "freeze", Time(10_000, 1_000_000)),
        ]),
    ),
];

const FEEDBACK: &[Row] = &[
    (15, "cnp_out_of_order", Flag(true)),
    (20, "nack_interval", Time(100, 20_000)),
    (20, "ack_priority", Int(0, 7)),
];

pub fn rdma(c: &mut Choices, keys: &mut Keys, plan: RdmaPlan) {
    keys.put("kind", "rdma");
    keys.put("mode", plan.mode);
    let congestion = c.of(&words("RdmaCongestion"));
    let congestion = congestion.as_str();
    keys.put("congestion", congestion);
    let mut own = Keys::default();
    own.draw(c, parameters(congestion));
    if !own.0.is_empty() {
        keys.put(congestion, own);
    }
    if plan.mode.starts_with("irn") {
        let low = c.scale(20_000, 500_000);
        let with_low = c.chance(50);
        let high = format!("{}ns", (low * c.range(1, 4)).max(100_000));
        keys.draw(c, &[(30, "rto_low_frames", Int(0, 5)), (40, "bdp", Size(9_000, 100_000))]);
        if plan.mode == "irn_pfc" {
            // `irn_pfc` has a single time-out.
            keys.0.remove("rto_low_frames");
            keys.put("rto", high);
        } else {
            keys.put("rto_high", high);
            if with_low {
                keys.put("rto_low", format!("{low}ns"));
            }
        }
    } else {
        keys.draw(c, &[(80, "rto", Time(100_000, 4_000_000))]);
        if !matches!(congestion, "swift" | "hpcc") && c.chance(40) {
            let window = c.of(&["none", "fixed", "scaled"]);
            keys.put("window", window);
            if window != "none" {
                keys.draw(c, &[(60, "window_size", Size(9_000, 100_000))]);
            }
        }
    }
    if plan.entropies {
        keys.draw(c, REPS);
    } else {
        keys.draw(c, &[(40, "cnp", Texts(&["ack", "packet"]))]);
        if keys.text("cnp") == Some("packet") {
            keys.draw(c, &[(60, "cnp_interval", Time(1_000, 60_000))]);
        }
        keys.draw(c, &[(10, "entropy", Text("flow"))]);
    }
    keys.draw(c, FEEDBACK);
}

fn parameters(congestion: &str) -> &'static [Row] {
    match congestion {
        "dcqcn" => &[
            (80, "parameters", Word("DcqcnParameters")),
            (20, "alpha_period", Time(500, 60_000)),
            (20, "increase_period", Time(2_000, 400_000)),
            (20, "decrease_period", Time(1_000, 50_000)),
            (20, "byte_counter", Size(5_000, 1_000_000)),
            (20, "fast_recovery", Int(1, 6)),
            (20, "clamp_target", Chance(50)),
            (20, "min_rate", Text("100Mbps")),
            (10, "g", Reals(&[0.00390625, 0.5])),
            (10, "first_rate", Real(0.1, 1.0)),
            (10, "initial_alpha", Real(0.0, 1.0)),
            (10, "additive", Text("40Mbps")),
            (10, "hyper", Text("200Mbps")),
        ],
        "timely" => &[
            (40, "t_low", Time(2_000, 50_000)),
            (40, "t_high", Time(60_000, 600_000)),
            (20, "segment", Size(1_000, 64_000)),
            (20, "beta", Real(0.1, 1.0)),
            (20, "weight", Real(0.1, 1.0)),
            (20, "hyper_after", Int(1, 6)),
            (20, "min_rtt", Time(2_000, 40_000)),
            (10, "additive", Text("20Mbps")),
            (10, "min_rate", Text("50Mbps")),
        ],
        "swift" => &[
            (40, "base", Time(3_000, 60_000)),
            (20, "hop", Time(100, 10_000)),
            (20, "fs_range", Time(1_000, 100_000)),
            (20, "fs_max", Reals(&[50.0, 100.0])),
            (20, "fs_min", Reals(&[0.1, 1.0])),
            (20, "ai", Real(0.1, 4.0)),
            (20, "beta", Real(0.1, 1.0)),
            (20, "max_mdf", Real(0.1, 0.9)),
            (20, "initial_window", Reals(&[1.0, 40.0])),
            (20, "min_window", Reals(&[0.01, 0.5])),
            (20, "max_window", Reals(&[50.0, 1_000.0])),
            (20, "timeouts", Int(1, 8)),
        ],
        "hpcc" => &[
            (30, "eta", Real(0.5, 1.0)),
            (30, "max_stage", Int(0, 6)),
            (30, "additive", Size(20, 2_000)),
            (20, "base_rtt", Time(2_000, 60_000)),
        ],
        _ => &[],
    }
}
