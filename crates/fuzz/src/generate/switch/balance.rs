//! Generator of `[switch.balance]`.

use crate::choices::{Choices, Draw::*, Keys, OFF, Row};
use crate::generate::facts::{Family, SwitchFacts};
use crate::generate::topology::Fabric;

/// Sets the load balancer and the hash. `reorders`: switches can hold frames back for ConWeave.
pub fn balance(
    c: &mut Choices,
    keys: &mut Keys,
    facts: &mut SwitchFacts,
    fabric: &Fabric,
    family: Family,
    entropies: bool,
    reorders: bool,
) {
    let fair = keys.0.get("aqm").is_some_and(|aqm| aqm["kind"].as_str() == Some("fq_codel"));
    let kind = c.weighted(&kinds(fabric.pins && !fair, family, entropies, reorders));
    let mut balance = Keys::default();
    balance.put("kind", kind);
    balance.draw(c, parameters(kind));
    match kind {
        "wcmp" => balance.may(c, 50, "weights", |c| {
            let mut weights = Keys::default();
            for name in fabric.switches {
                weights.draw(c, &[(60, name, Scale(1, 20))]);
            }
            weights
        }),
        "detail" => balance.may(c, 60, "thresholds", |c| {
            let low = c.scale(500, 20_000);
            vec![format!("{low}B"), format!("{}B", low + c.scale(1, 60_000))]
        }),
        "conweave" => {
            facts.conweave = true;
            let inactive = c.scale(1_000, 500_000);
            balance.may(c, 60, "inactive", |_| format!("{inactive}ns"));
            balance.draw(c, CONWEAVE_DESTINATION);
        }
        _ => {}
    }
    if balance.0.len() > 1 || c.chance(10) {
        keys.put("balance", balance);
    } else {
        keys.put("balance", kind);
    }
    let hashes = ["own_seed", "same_seed", "symmetric", "murmur3"];
    if family == Family::Pdq {
        keys.put("hash", "symmetric");
    } else {
        keys.may(c, 40, "hash", |c| c.of(&hashes[..if entropies { 3 } else { 4 }]));
    }
}

/// Returns the balancers to draw from, with their weights. `pins`: frames can be pinned to paths.
fn kinds(pins: bool, family: Family, entropies: bool, reorders: bool) -> Vec<(u64, &'static str)> {
    let mut kinds = vec![(4, "ecmp")];
    if matches!(family, Family::Pdq | Family::D3) {
        return kinds;
    }
    kinds.extend([(1, "resilient"), (2, "wcmp")]);
    if entropies {
        return kinds;
    }
    kinds.extend([(2, "spray"), (2, "round_robin"), (2, "drill"), (2, "dlb")]);
    kinds.extend([(1, "glb"), (1, "detail")]);
    if pins {
        kinds.extend([(2, "letflow"), (2, "conga"), (1, "presto")]);
        kinds.extend(reorders.then_some((3, "conweave")));
    }
    kinds
}

fn parameters(kind: &str) -> &'static [Row] {
    match kind {
        "wcmp" => &[(50, "entries", Scale(2, 256))],
        "drill" => &[(50, "samples", Int(1, 4)), (50, "memory", Int(0, 3))],
        "letflow" => &[(80, "gap", Time(100, 500_000))],
        "conga" => &[
            (80, "gap", Time(100, 500_000)),
            (50, "tdre", Time(1_000, 100_000)),
            (50, "alpha", Real(0.05, 0.95)),
            (50, "bits", Int(1, 8)),
            (50, "aging", Time(10_000, 10_000_000)),
        ],
        "dlb" | "glb" => &[
            (60, "idle", Or(25, OFF, &Time(100, 500_000))),
            (40, "bands", Scale(1, 256)),
            (40, "sampling_interval", Time(1_000, 100_000)),
            (40, "future_load_range", Size(1_000, 300_000)),
            (30, "past_load_weight", Int(0, 255)),
            (30, "future_load_weight", Int(1, 255)),
        ],
        "presto" => &[(80, "flowcell", Size(1_000, 100_000))],
        "conweave" => {
            &[(50, "reply_extra", Time(10, 50_000)), (50, "path_busy", Time(100, 100_000))]
        }
        _ => &[],
    }
}

/// Parameters of ConWeave at the destination.
const CONWEAVE_DESTINATION: &[Row] = &[
    (50, "flush_extra", Time(10, 100_000)),
    (50, "default_wait", Time(1_000, 500_000)),
    (40, "reorder_queues", Int(0, 30)),
    (40, "reorder_memory", Texts(&["shared", "apart", "unbounded"])),
];
