//! Generators of queues: ECN marking, AQM, scheduling and packet processors.

use crate::choices::{ALWAYS, Choices, Draw, Draw::*, Keys, OFF, Row, int, ints};
use crate::generate::facts::Family;
use toml::Value;

const MARKING: &[Row] = &[
    (15, "gentle", Flag(true)),
    (15, "hard_drop", Flag(true)),
    (40, "incapable", Texts(&["drop", "pass"])),
    (25, "spacing", Texts(&["independent", "uniform", "ns3", "ns2", "linux"])),
];

/// Moving average of the queue length.
const AVERAGE: &[Row] = &[
    (ALWAYS, "average_weight", Reals(&[0.002, 0.05, 0.5, 1.0])),
    (40, "idle_frame", Or(30, OFF, &Time(100, 100_000))),
];

pub const PROCESSOR: Draw = Table(&[
    (ALWAYS, "packet_time", Time(50, 20_000)),
    (40, "interrupt_time", Time(10, 5_000)),
    (60, "queue", Scale(1, 300)),
    (
        20,
        "stall",
        Table(&[
            (ALWAYS, "work", Time(10_000, 2_000_000)),
            (ALWAYS, "pause", Time(1_000, 200_000)),
        ]),
    ),
]);

/// Returns a table of ECN marking. `deep`: queues are virtual output queues.
pub fn marking(c: &mut Choices, deep: bool) -> Keys {
    let mut ecn = Keys::default();
    let packets = c.chance(30);
    let length =
        |c: &mut Choices, most: u64| c.range(1, if packets { (most / 1_500).max(1) } else { most });
    let unit = if packets { "packets" } else { "B" };
    if c.chance(40) {
        ecn.put("k", format!("{}{unit}", length(c, 60_000)));
    } else {
        let low = length(c, 30_000);
        let high = low + 1 + length(c, 60_000);
        ecn.put("kmin", format!("{low}{unit}"));
        ecn.put("kmax", format!("{high}{unit}"));
        ecn.draw(c, &[(70, "pmax", Reals(&[0.01, 0.1, 0.5, 1.0]))]);
    }
    if !deep {
        ecn.draw(c, &[(30, "at", Texts(&["enqueue", "dequeue"]))]);
    }
    ecn.draw(c, &[(20, "compare", Texts(&["above", "at_or_above"]))]);
    if c.chance(25) {
        ecn.draw(c, AVERAGE);
    }
    ecn.draw(c, MARKING);
    ecn
}

/// Sets an AQM discipline, and returns its kind.
pub fn discipline(
    c: &mut Choices,
    keys: &mut Keys,
    family: Family,
    entropies: bool,
) -> &'static str {
    let mut aqm = Keys::default();
    let kind = if family == Family::Hull {
        "phantom"
    } else {
        let fair = if entropies { 0 } else { 3 };
        c.weighted(&[(3, "codel"), (fair, "fq_codel"), (3, "pie"), (1, "phantom")])
    };
    let kind = match kind {
        "pie" if c.1 && c.chance(50) => "pi2",
        "codel" if c.1 && c.chance(30) => "ecn_sharp",
        kind => kind,
    };
    aqm.put("kind", kind);
    if kind.ends_with("codel") {
        let target = c.scale(500, 200_000);
        aqm.put("target", format!("{target}ns"));
        aqm.put("interval", format!("{}ns", target * c.range(1, 30)));
    }
    aqm.draw(c, parameters(kind));
    match kind {
        "pie" if c.chance(50) => {
            aqm.draw(c, &[(ALWAYS, "ecn", Flag(true)), (40, "ecn_threshold", Real(0.0, 1.0))]);
        }
        "pi2" if c.chance(60) => {
            aqm.draw(c, &[(ALWAYS, "ecn", Flag(true)), (50, "scalable", Flag(true))]);
        }
        _ => {}
    }
    keys.put("aqm", aqm);
    kind
}

/// Returns the parameters of an AQM discipline.
fn parameters(kind: &str) -> &'static [Row] {
    match kind {
        "codel" => &[(50, "ecn", Chance(50))],
        "fq_codel" => &[
            (50, "ecn", Chance(50)),
            (50, "quantum", Size(64, 10_000)),
            (50, "flows", Ints(&[1, 2, 16, 1_024])),
            (60, "limit", Scale(2, 300)),
            (30, "drop_batch", Scale(1, 64)),
        ],
        "pie" => &[
            (ALWAYS, "target", Time(500, 200_000)),
            (ALWAYS, "t_update", Time(500, 200_000)),
            (50, "alpha", Real(0.1, 500.0)),
            (50, "beta", Real(1.0, 5_000.0)),
            (70, "burst_allowance", Time(1, 500_000)),
            (30, "derandomize", Flag(true)),
        ],
        "ecn_sharp" => &[
            (ALWAYS, "instant", Time(500, 200_000)),
            (ALWAYS, "target", Time(500, 100_000)),
            (ALWAYS, "interval", Time(500, 300_000)),
        ],
        "pi2" => &[
            (ALWAYS, "target", Time(500, 200_000)),
            (ALWAYS, "t_update", Time(500, 200_000)),
            (60, "alpha", Real(0.1, 500.0)),
            (60, "beta", Real(1.0, 5_000.0)),
        ],
        _ => &[(60, "drain", Real(0.5, 1.0)), (60, "threshold", Size(100, 20_000))],
    }
}

/// Limits that a switch's queues may have.
pub struct Limits {
    /// Shares of a dynamic memory.
    pub shares: bool,
    /// A buffer of their own.
    pub buffers: bool,
    /// ECN marking of their own.
    pub marks: bool,
}

/// Sets strict priorities or class queues, or neither.
pub fn schedule(c: &mut Choices, keys: &mut Keys, strict: bool, classes: bool, limits: &Limits) {
    match c.weighted(&[(9, "fifo"), (5, "strict"), (6, "blocks")]) {
        "strict" if strict => {
            keys.put("scheduling", "strict_priority");
            let queues = c.range(2, 8);
            keys.may(c, 60, "priorities", |_| int(queues));
        }
        "blocks" if classes => {
            let blocks = queues(c, |c, queue| {
                if limits.shares {
                    let alphas = Reals(&[0.125, 1.0, 8.0]);
                    queue.draw(c, &[(40, "alpha", alphas), (20, "reserved", Size(1, 8_000))]);
                }
                if limits.buffers || c.chance(15) {
                    queue.draw(c, &[(40, "buffer", Size(9_200, 100_000))]);
                }
                if limits.marks && c.chance(30) {
                    if c.chance(20) {
                        queue.put("ecn", "off");
                    } else {
                        queue.put("ecn", marking(c, false));
                    }
                }
            });
            rounds(c, keys, 40, &blocks);
            keys.put("queue", blocks);
        }
        _ => {}
    }
}

/// Sets the quantum of queues that share bandwidth in rounds, with a probability of `percent` %.
pub fn rounds(c: &mut Choices, keys: &mut Keys, percent: u64, blocks: &[Value]) {
    let shares = |block: &Value| block.get("weight").or(block.get("bandwidth")).is_some();
    if blocks.iter().any(shares) {
        keys.draw(c, &[(percent, "quantum", Size(64, 20_000))]);
    }
}

/// Returns a table for each class queue. `more` adds further keys to each.
pub fn queues(c: &mut Choices, mut more: impl FnMut(&mut Choices, &mut Keys)) -> Vec<Value> {
    let count = c.range(2, 8);
    let service = c.of(&["strict", "weight", "bandwidth"]);
    // At least one queue shares bandwidth.
    let shares = c.range(1, count);
    let mut left = 100;
    let explicit = c.chance(40);
    let mut owners: Vec<u64> = (0..8).map(|_| c.range(0, count - 1)).collect();
    owners[0] = 0;
    (0..count)
        .map(|number| {
            let mut queue = Keys::default();
            queue.may(c, 20, "name", |_| format!("class{number}"));
            queue.may(c, 20, "index", |_| int(number));
            if explicit {
                let own: Vec<u64> =
                    (0..8).filter(|priority| owners[*priority as usize] == number).collect();
                queue.put("priorities", ints(&own));
            }
            match service {
                "weight" if number < shares => queue.put("weight", int(c.scale(1, 40))),
                "bandwidth" if number < shares => {
                    let part = if number + 1 == shares {
                        left
                    } else {
                        c.range(1, left - (shares - number - 1))
                    };
                    left -= part;
                    queue.put("bandwidth", format!("{part}%"));
                }
                _ => queue.put("strict", true),
            }
            more(c, &mut queue);
            queue.into()
        })
        .collect()
}
