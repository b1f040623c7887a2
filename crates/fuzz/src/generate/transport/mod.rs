//! Generator of `[host.transport]` and `[host.transports.NAME]`.

mod rdma;
mod tcp;

use super::facts::{Family, Pauses, RdmaPlan, TransportFacts};
use super::topology::Fabric;
use crate::choices::{ALWAYS, Choices, Draw::*, Keys, OFF, Row, int};
use crate::schema::words;
use rdma::rdma;
use tcp::tcp;

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

/// Keys of PDQ and D3.
const HEADER: Row = (30, "header", Size(1, 64));
const MIN_RTO: Row = (60, "min_rto", Time(200_000, 5_000_000));
const INTERVAL: Row = (30, "interval", Time(2_000, 500_000));

const PFABRIC: &[Row] = &[
    (40, "probe_after", Or(30, OFF, &Int(1, 8))),
    (20, "rank", Word("Rank")),
    (40, "connections", Word("Connections")),
];

/// Returns the keys that do not depend on anything else.
fn parameters(family: Family) -> &'static [Row] {
    match family {
        Family::Pdq => &[
            (ALWAYS, "kind", Text("pdq")),
            HEADER,
            MIN_RTO,
            INTERVAL,
            (30, "early_start", Real(0.0, 10.0)),
            (30, "suppressed_probing", Real(0.0, 3.0)),
            (30, "dampening", Time(1, 50_000)),
            (30, "max_flows", Scale(2, 1_000)),
            (30, "early_termination", Chance(50)),
        ],
        Family::D3 => &[
            (ALWAYS, "kind", Text("d3")),
            HEADER,
            MIN_RTO,
            INTERVAL,
            (30, "base_rate", Unit(10, 100_000, "kbps")),
            (30, "alpha", Real(0.0, 2.0)),
            (30, "beta", Real(0.0, 4.0)),
            (30, "quench", Chance(50)),
        ],
        Family::Nack => &[
            (ALWAYS, "kind", Text("nack")),
            (40, "report", Time(10_000, 2_000_000)),
            (40, "timeout", Time(100_000, 5_000_000)),
        ],
        Family::Ndp => &[
            (ALWAYS, "kind", Text("ndp")),
            (60, "initial_window", Scale(1, 100)),
            (40, "pull_rate", Real(0.1, 1.0)),
            (30, "spread", Flag(false)),
            (60, "rto", Time(200_000, 5_000_000)),
        ],
        Family::Datagram => &[(ALWAYS, "kind", Text("datagram")), (50, "ecn_capable", Flag(true))],
        _ => &[],
    }
}

pub fn transport(
    c: &mut Choices,
    fabric: &Fabric,
    family: Family,
    plan: RdmaPlan,
) -> (Keys, TransportFacts) {
    let mut keys = Keys::default();
    let mut facts = TransportFacts::default();
    let is_tcp = matches!(family, Family::Tcp | Family::Hull | Family::Hadoop);
    match family {
        Family::Rdma => {
            rdma(c, &mut keys, plan);
            facts.paused = Some(matches!(plan.mode, "lossless" | "irn_pfc"));
        }
        Family::Pfabric => pfabric(c, &mut keys),
        Family::Nack if c.chance(10) => keys.put("rate", "unlimited"),
        Family::Nack => keys.put("rate", format!("{}Mbps", fabric.part(c, 11))),
        Family::Datagram => keys.may(c, 70, "rate", |c| format!("{}Mbps", fabric.part(c, 10))),
        Family::Pdq | Family::D3 | Family::Ndp => {}
        _ => {
            tcp(c, &mut keys, family, !is_tcp);
            facts.persistent = is_tcp;
            return (keys, facts);
        }
    }
    keys.draw(c, parameters(family));
    if family == Family::D3 {
        if c.1 {
            keys.draw(c, &[(40, "forget", Time(20_000, 5_000_000))]);
        }
        // Scenarios of old seeds keep `run.until`.
        facts.endless = !c.1;
    }
    let payload = if family == Family::Pfabric { "mss" } else { "payload" };
    keys.draw(c, &[(10, payload, Size(200, 480))]);
    (keys, facts)
}

fn pfabric(c: &mut Choices, keys: &mut Keys) {
    keys.put("kind", "pfabric");
    if c.chance(35) {
        keys.put("rto", "estimated");
        let mut congestions = words("PfabricCongestion");
        congestions.retain(|word| c.1 || word != "none");
        keys.may(c, 60, "congestion", |c| c.of(&congestions));
        if keys.text("congestion") == Some("dctcp") {
            keys.draw(c, &[(40, "dctcp", Table(&[(ALWAYS, "initial_alpha", Reals(&[0.0, 1.0]))]))]);
        }
    } else {
        keys.draw(c, &[(30, "rto", Text("fixed"))]);
    }
    // A fixed time-out below the round-trip time would cause endless retransmissions.
    keys.put("min_rto", c.of(&["300us", "1ms", "3ms"]));
    let most = c.range(2, 40);
    keys.may(c, 60, "max_window", |_| int(most));
    keys.draw(c, &[(50, "initial_window", Int(1, most.min(23)))]);
    keys.draw(c, PFABRIC);
}
