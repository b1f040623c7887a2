//! Generator of TCP and MPTCP.

use crate::choices::{ALWAYS, Choices, Draw, Draw::*, Keys, OFF, Row, drawn, int};
use crate::generate::facts::Family;
use crate::schema::words;

const MPTCP: &[Row] = &[
    (40, "manager", Word("PathManager")),
    (80, "subflows", Int(1, 6)),
    (70, "scheduler", Word("PathScheduler")),
    (40, "opportunistic", Chance(50)),
];

/// Retransmission time-outs. The default minimum of 200 ms would give long silences without events.
const TIMEOUTS: &[Row] = &[
    (85, "min_rto", Texts(&["200us", "1ms", "1ms", "5ms", "900ns"])),
    (30, "initial_rto", Texts(&["300us", "1ms", "10ms"])),
    (15, "max_rto", Texts(&["1s", "10s"])),
];

const RECOVERY: &[Row] = &[
    (10, "min_rto_on_variance", Chance(50)),
    (10, "granularity", Time(1, 1_000_000)),
    (8, "mss", Size(100, 480)),
    (25, "recovery", Word("Recovery")),
];

const SWITCHED: Draw = Chance(60);

/// Acknowledgements, and features that are on or off.
const FEATURES: &[Row] = &[
    (15, "dupack_threshold", Or(30, OFF, &Int(1, 20))),
    (
        25,
        "delayed_ack",
        Or(
            30,
            OFF,
            &Table(&[
                (60, "segments", Int(1, 10)),
                (ALWAYS, "timeout", Time(1_000, 1_000_000)),
                (40, "quick", Int(0, 16)),
            ]),
        ),
    ),
    (12, "sack_compression", SWITCHED),
    (12, "prr", SWITCHED),
    (12, "undo", SWITCHED),
    (12, "idle_restart", SWITCHED),
    (12, "pacing", SWITCHED),
    (12, "small_queues", SWITCHED),
    (12, "handshake", SWITCHED),
];

const CLOCK: &[Row] = &[
    (12, "burst", Or(40, &Text("auto"), &Int(1, 64))),
    (12, "tick", Texts(&["10us", "1ms", "4ms"])),
    (12, "rtt_estimator", Word("Estimator")),
    (10, "ack_priority", Int(0, 7)),
];

const READER: Draw =
    Table(&[(ALWAYS, "read", Time(10_000, 1_000_000)), (ALWAYS, "sleep", Time(10_000, 1_000_000))]);

/// Sets the keys of TCP. `several`: MPTCP, with several subflows.
pub fn tcp(c: &mut Choices, keys: &mut Keys, family: Family, several: bool) {
    keys.draw(c, &[(50, "kind", Text("tcp"))]);
    let mut stacks = words("Stack");
    stacks.retain(|stack| !several || stack != "ns3");
    let stack = c.of(&stacks);
    keys.put("stack", stack.as_str());
    let coupled = several && mptcp(c, keys);
    let congestion = if family == Family::Hull {
        "dctcp".to_string()
    } else if coupled {
        "newreno".to_string()
    } else {
        c.of(&words("Congestion"))
    };
    if !coupled {
        keys.put("congestion", congestion.as_str());
        control(c, keys, &congestion, stack == "ns3");
        if matches!(congestion.as_str(), "newreno" | "dctcp" | "d2tcp" | "htcp") {
            keys.draw(c, &[(10, "hystart_plusplus", Flag(true))]);
        }
    }
    if matches!(congestion.as_str(), "newreno" | "cubic" | "htcp" | "ledbatpp") {
        keys.draw(c, &[(40, "ecn", Texts(&["off", "classic"]))]);
    }
    let window = c.weighted(&[(6, 0), (1, 1), (1, 2), (1, 40), (1, 1_000)]);
    if window > 0 {
        keys.put("initial_window", int(window));
    }
    let least = window.max(10);
    keys.draw(c, &[(15, "max_window", Int(least, least + 40))]);
    keys.draw(c, TIMEOUTS);
    if c.1 && family == Family::Tcp && c.chance(25) {
        keys.put("retries", int(c.range(1, 5)));
        if stack != "basic" {
            keys.draw(c, &[(50, "syn_retries", Int(0, 3))]);
        }
    }
    keys.draw(c, RECOVERY);
    if keys.text("recovery") != Some("newreno") {
        keys.draw(c, &[(15, "tail_probe", Chance(60))]);
    }
    keys.draw(c, FEATURES);
    if !several {
        keys.draw(c, &[(8, "ssthresh_cache", Flag(true))]);
    }
    keys.draw(c, CLOCK);
    receiver(c, keys, several);
}

/// Sets `mptcp`. Returns true if the congestion control of the subflows is coupled.
fn mptcp(c: &mut Choices, keys: &mut Keys) -> bool {
    let coupling = c.of(&words("Coupling"));
    let mut mptcp = drawn(c, MPTCP);
    if coupling == "queue_aware" {
        mptcp.draw(c, &[(50, "queue_segments", Int(1, 12))]);
    }
    mptcp.put("coupling", coupling.as_str());
    keys.put("mptcp", mptcp);
    coupling != "off"
}

/// Sets a window or a buffer of the receiver, or neither.
fn receiver(c: &mut Choices, keys: &mut Keys, several: bool) {
    if c.chance(25) {
        keys.put("receive_window", c.size(3_000, 300_000));
    } else if c.chance(20) {
        let first = c.scale(8_000, 200_000);
        keys.put("receive_buffer", format!("{first}B"));
        keys.may(c, 50, "receive_buffer_max", |c| format!("{}B", first * c.range(1, 8)));
        keys.draw(c, &[(30, "receive_buffer_share", Reals(&[0.25, 0.5, 1.0]))]);
        if !several {
            keys.draw(c, &[(30, "reader", READER)]);
        }
    }
}

/// Sets the parameters of a congestion control.
fn control(c: &mut Choices, keys: &mut Keys, kind: &str, ns3: bool) {
    let mut own = Keys::default();
    if kind == "cubic" {
        own.draw(c, &[(30, "flavour", Word("Flavour"))]);
    }
    own.draw(c, parameters(kind));
    match kind {
        "cubic" if own.text("flavour").map_or(!ns3, |flavour| flavour != "ns3") => {
            own.draw(c, &[(30, "tick", Texts(&["100us", "1ms", "4ms"]))]);
        }
        "bbr" | "bbr3" => {
            if own.has("probe_rtt_interval") && !own.has("probe_rtt_time") {
                own.put("probe_rtt_time", "20us");
            }
            if kind == "bbr3" {
                own.draw(c, &[(30, "send_quantum", Int(1, 64))]);
            } else if !ns3 {
                own.draw(c, &[(20, "flavour", Word("Flavour"))]);
            }
        }
        _ => {}
    }
    if !own.0.is_empty() {
        keys.put(kind, own);
    }
}

fn parameters(congestion: &str) -> &'static [Row] {
    const GAIN: Row = (50, "gain", Reals(&[1.0, 0.25, 0.0625, 0.001953125]));
    const ALPHA: Row = (50, "initial_alpha", Reals(&[0.0, 0.5, 1.0]));
    match congestion {
        "newreno" => &[(50, "flavour", Word("RenoFlavour"))],
        "dctcp" => &[GAIN, ALPHA],
        "d2tcp" => &[
            GAIN,
            ALPHA,
            (30, "least", Real(0.05, 1.0)),
            (30, "most", Real(1.0, 4.0)),
            (30, "without_deadline", Word("WithoutDeadline")),
        ],
        "cubic" => &[
            (40, "hystart", Word("HyStart")),
            (20, "c", Reals(&[0.1, 0.4, 4.0])),
            (20, "beta", Reals(&[0.5, 0.7, 0.9])),
            (20, "fast_convergence", Flag(false)),
            (20, "tcp_friendly", Flag(false)),
        ],
        "htcp" => &[
            (30, "rtt_scaling", Flag(false)),
            (30, "bandwidth_switch", Flag(false)),
            (30, "tick", Texts(&["100us", "4ms"])),
        ],
        // Queues of a fabric and runs are short, so the default parameters would have no effect.
        "ledbatpp" => &[
            (80, "target", Time(1_000, 500_000)),
            (30, "slowest", Int(1, 20)),
            (30, "constant", Real(0.1, 10.0)),
            (30, "base_history", Int(1, 10)),
            (60, "base_interval", Time(10_000, 5_000_000)),
            (30, "slowdown_interval", Int(1, 12)),
        ],
        "bbr" | "bbr3" => &[
            (60, "probe_rtt_time", Time(5_000, 200_000)),
            (60, "probe_rtt_interval", Time(200_000, 20_000_000)),
        ],
        _ => &[],
    }
}
