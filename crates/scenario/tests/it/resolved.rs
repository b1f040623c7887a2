//! Tests that the resolved scenario is the same scenario.

use crate::common::{VALID, folder, parse, parse_with};
use afflux_net::spec;
use afflux_scenario::{Overrides, Scenario};
use afflux_units::Span;

fn same(first: &Scenario) -> Scenario {
    let again =
        parse(&first.resolved).unwrap_or_else(|error| panic!("{error}\n{}", first.resolved));
    assert_eq!(again.resolved, first.resolved);
    assert_eq!(format!("{:?}", again.plan), format!("{:?}", first.plan));
    assert_eq!(
        (&again.hash, &again.name, &again.classes),
        (&first.hash, &first.name, &first.classes)
    );
    again
}

#[test]
fn running_it_again_is_the_same() {
    same(&parse(VALID).unwrap());
}

/// Tests that a list of one host is not resolved as a number of hosts.
#[test]
fn a_single_sender_stays_a_host() {
    let one = same(&parse(&VALID.replace("senders = 3", "senders = [3]")).unwrap());
    let incast: Vec<_> =
        one.plan.flows.iter().filter(|flow| flow.dst == 0 && flow.src == 3).collect();
    assert!(!incast.is_empty());
    same(&parse(&VALID.replace("senders = 3", "senders = \"1-2\"")).unwrap());
}

#[test]
fn prices_are_added_up_and_change_nothing_else() {
    let prices = "\n[cost]\ncurrency = \"EUR\"\nswitch = 9000\nport = 100\n\n[[cost.override]]\nmatch = \"spine*\"\nswitch = 20000.5\n";
    let plain = parse(VALID).unwrap();
    let priced = same(&parse(&format!("{VALID}{prices}")).unwrap());
    let cost = priced.cost.unwrap();
    // Two leaves have 4 + 2 ports each, two spines 2 ports each.
    assert_eq!((cost.currency.as_str(), cost.switches, cost.ports), ("EUR", 4, 16));
    assert_eq!(cost.total, 2.0 * 9_000.0 + 2.0 * 20_000.5 + 16.0 * 100.0);
    assert_eq!((plain.cost, plain.hash), (None, priced.hash));
}

#[test]
fn every_congestion_control_survives() {
    for keys in [
        "congestion = \"cubic\"",
        "congestion = \"cubic\"\ncubic = { flavour = \"ns3\", hystart = \"plusplus\", c = 0.5, beta = 0.8, fast_convergence = false, tcp_friendly = false }",
        "congestion = \"bbr\"\nbbr = { flavour = \"ns3\" }",
        "congestion = \"bbr\"\nstack = \"ns3\"",
        "congestion = \"htcp\"\nhystart_plusplus = true\necn = \"classic\"",
        "congestion = \"htcp\"\nhtcp = { rtt_scaling = false, bandwidth_switch = false, tick = \"1ms\" }",
        "congestion = \"dctcp\"\nhystart_plusplus = true",
        "congestion = \"ledbatpp\"",
        "congestion = \"ledbatpp\"\necn = \"classic\"\nledbatpp = { target = \"5ms\", slowest = 8, constant = 2, base_history = 3, base_interval = \"10ms\" }",
    ] {
        same(&parse(&VALID.replace("congestion = \"dctcp\"", keys)).unwrap());
    }
}

#[test]
fn every_memory_survives() {
    for keys in [
        "sharing = \"sonic\"",
        "sharing = \"sonic\"\npfc = {}\nalpha = 8",
        "sharing = \"sonic\"\nreserved = \"2kB\"\nmmu = { cell = \"256B\", bypass = [7], lossless_alpha = 0.5, lossless_reserved = \"1kB\", lossy_ingress_alpha = 2.0, \
         lossy_pool = \"4MB\", headroom_pool = \"100kB\", xon = \"1kB\", xon_offset = \"2kB\" }\npfc = { priorities = [1], headroom = \"mellanox\", cable = \"40m\", \
         quanta = 1000, refresh = \"arrival\", response = \"2us\", watchdog = { action = \"forward\" }, deadlock_after = \"off\" }",
        "sharing = \"sonic\"\npfc = { priorities = [3] }\nmmu = { group = [{ priorities = [3], alpha = 0.25 }, { priorities = [0, 1], limit = \"90kB\", reserved = \"2kB\" \
         }] }\nqueue = [{ weight = 1, alpha = 2, reserved = \"3kB\", buffer = \"1MB\" }, { weight = 2 }]",
        "sharing = \"conweave\"\npfc = {}",
        "sharing = \"conweave\"\nalpha = 2.0\nmmu = { ingress_alpha = 0.125, mtu = \"1500B\" }",
        "sharing = \"hpcc\"\npfc = { headroom = \"30kB\", pause_time = \"10us\" }",
        "sharing = \"hpcc\"\nmmu = { shift = 2, nic_rate = \"25Gbps\" }\n[[switch.override]]\nmatch = \"spine*\"\nsharing = \"dynamic\"",
        "honours_pause = true",
    ] {
        same(
            &parse(&VALID.replace("alpha = 1.0", keys))
                .unwrap_or_else(|error| panic!("{error}\n{keys}")),
        );
    }
    let storm = "storm = { priority = 3, period = \"1us\", until = \"1ms\" }\nhonours_pause = false\n[[host.override]]\nmatch = \"host3\"\nhonours_pause = true";
    same(&parse(&VALID.replace("wire = \"ethernet\"", storm)).unwrap());
}

/// Files that the traffic and the fabric name.
const FILES: [(&str, &str); 6] = [
    ("flows.csv", "start_ns,src,dst,bytes,class\n0,0,1,1000,a\n5,2,1,1000,b\n"),
    ("sizes.csv", "size_bytes,cdf\n1000,0\n2000,1\n"),
    ("trace.txt", "4 1\n1 0 1 0 1 3:1.0\n"),
    ("hpcc.txt", "1\n0 1 3 1000 2.000001000\n"),
    ("perm.cm", "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 1000\n"),
    (
        "fabric.txt",
        "6 2 5\n4 5\n0 4 10Gbps 1us 0\n1 4 10Gbps 1us 0\n2 5 10Gbps 1us 0\n3 5 10Gbps 1us 0\n4 5 10Gbps 1us 0\n",
    ),
];

/// Traffic of every kind. `FOLDER` has the files.
const TRAFFIC: &str = r#"
[[traffic]]
kind = "flows"
file = "FOLDER/flows.csv"
start = "1ms"
[[traffic]]
kind = "flows"
file = "FOLDER/trace.txt"
format = "coflow"
[[traffic]]
kind = "flows"
file = "FOLDER/hpcc.txt"
format = "hpcc"
[[traffic]]
kind = "flows"
file = "FOLDER/perm.cm"
[[traffic]]
kind = "random"
sizes = "FOLDER/sizes.csv"
load = 0.1
load_basis = "max_link"
flows = 20
rack_local = 0.5
arrivals = "lognormal"
deadline = { mean = "20ms", least = "3ms" }
[[traffic]]
kind = "random"
sizes = { mean = "10kB" }
flows_per_second = 1e5
duration = "100us"
hotspot = { hosts = [1], share = 0.5 }
[[traffic]]
kind = "incast"
to = "random"
senders = 2
random_senders = true
total = "100kB"
rounds = 3
closed_loop = true
[[traffic]]
kind = "permutation"
sizes = "1MB"
hosts = ["0-1", 2, "host3"]
[[traffic]]
kind = "pairs"
pairs = [[0, 1], [1, 2]]
sizes = { min = "1kB", max = "2kB" }
rounds = 2
period = "1ms"
[[traffic]]
kind = "all_to_all"
sizes = "10kB"
parallel = 2
[[traffic]]
kind = "datagram"
pairs = [[0, 3]]
rate = "1Gbps"
duration = "1ms"
priority = 3
"#;

/// All other tables.
const SETTINGS: &str = r#"
[switch]
buffer = "100packets"
drop_when = "at_or_above"
queue_length = "before_transmission"
scheduling = "strict_priority"
balance = "spray"
forwarding = "cut_through"
ecn = { k = "15packets", at = "dequeue", average_weight = 0.002, incapable = "pass" }
[[switch.override]]
match = "switch1"
sharing = "dynamic"
buffer = "1MB"
ecn = "off"
[host]
delay = "2.5us"
queue = "100packets"
wire = { base = "pfabric", ack = "64B" }
[host.transport]
dupack_threshold = "off"
max_window = 12
delayed_ack = { segments = 2 }
receive_window = "64kB"
[[host.override]]
match = "host1"
delay = "1us"
[run]
until = "1s"
[record]
imbalance = "100us"
paths = true
capture = ["host0>switch0", "switch0>switch1"]
"#;

#[test]
fn every_kind_of_thing_survives() {
    let folder = folder("resolved");
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let traffic = TRAFFIC.replace("FOLDER", folder.to_str().unwrap());
    let fabrics = [
        format!("kind = \"hpcc\"\nfile = \"{}/fabric.txt\"\n", folder.display()),
        "kind = \"custom\"\nhosts = 4\nswitches = 2\nlink = [{ a = \"host0\", b = \"switch0\" }, { a = \"host1\", b = \"switch0\" }, \
         { a = \"host2\", b = \"switch1\" }, { a = \"host3\", b = \"switch1\" }, { a = \"switch0\", b = \"switch1\", count = 2, rate = \"10Gbps\" }]\n"
            .to_string(),
    ];
    for fabric in fabrics {
        let fault = "[[topology.override]]\nlink = \"host1-switch0\"\nrate = \"40Gbps\"\n[[topology.override]]\nlink = \"host*-switch?\"\nrate = \"40Gbps\"\n[[topology.fault]]\n\
                     link = \"switch0-switch1#0\"\nloss = \"1%\"\ndown = [{ from = \"1ms\", to = \"2ms\", detect = \"10us\" }]\n";
        let text =
            format!("format = 1\nname = \"all\"\n[topology]\n{fabric}{fault}{traffic}{SETTINGS}");
        let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.plan.switches.len(), 2);
        assert_eq!(scenario.plan.hosts.len(), 2);
        assert_eq!(scenario.classes, ["default", "a", "b"]);
        assert_eq!(
            scenario.plan.record.captures.len(),
            if fabric.contains("hpcc") { 2 } else { 3 }
        );
        assert!(scenario.jobs.len() >= 5, "{:?}", scenario.jobs);
        same(&scenario);
    }
}

/// Tests keys without effect that have their defaults in a resolved scenario.
#[test]
fn defaults_of_flows_that_do_not_start_survive() {
    let text = "format = 1\n[topology]\nkind = \"star\"\nhosts = 4\n[[traffic]]\nkind = \"ring_all_reduce\"\nbytes = \"1kB\"\n[[traffic]]\n\
                kind = \"partition_aggregate\"\nqueries_per_second = 0\nmessages_per_second = 0\nbackground_per_second = 0\nduration = \"1ms\"\n";
    let scenario = parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert!(scenario.resolved.contains("compute = \"0ps\""), "{}", scenario.resolved);
    same(&scenario);
}

/// Tests queue disciplines, their defaults, and overrides that replace marking by a discipline or a
/// discipline by marking.
#[test]
fn queue_disciplines_survive() {
    let disciplines = [
        "aqm = { kind = \"codel\" }",
        "aqm = { kind = \"codel\", target = \"50us\", interval = \"1ms\", ecn = true }\ndevice_queue = 1",
        "aqm = { kind = \"fq_codel\", quantum = \"300B\", flows = 16, limit = 600, drop_batch = 8, ecn = false }",
        "aqm = { kind = \"pie\" }",
        "aqm = { kind = \"pi2\" }",
        "aqm = { kind = \"pi2\", target = \"1ms\", t_update = \"1ms\", alpha = 1, beta = 32, ecn = true, scalable = true, coupling = 4 }",
        "aqm = { kind = \"ecn_sharp\" }",
        "aqm = { kind = \"ecn_sharp\", instant = \"200us\", target = \"85us\", interval = \"300us\" }",
        "aqm = { kind = \"phantom\" }",
        "aqm = { kind = \"phantom\", drain = 0.9, threshold = \"6kB\" }",
        "aqm = { kind = \"pie\", ecn = true, ecn_threshold = \"5%\", target = \"1ms\", t_update = \"2ms\", alpha = 1, beta = 10, burst_allowance = \"0s\", derandomize = true }",
        "ecn = { kmin = \"10packets\", kmax = \"40packets\", pmax = 0.02, gentle = true, spacing = \"ns3\", hard_drop = true, average_weight = 0.002, idle_frame = \"2.667ms\" }",
    ];
    let ecn = &VALID[VALID.find("[switch.ecn]").unwrap()..VALID.find("[host]").unwrap()];
    for first in disciplines {
        for second in disciplines.iter().copied().chain([
            "aqm = \"off\"",
            "device_queue = 3",
            "scheduling = \"fifo\"",
        ]) {
            let text = VALID.replace(
                ecn,
                &format!("{first}\n[[switch.override]]\nmatch = \"spine*\"\n{second}\n"),
            );
            let scenario = same(&parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")));
            let switches = &scenario.plan.switches;
            assert!(switches.iter().all(|s| s.aqm.is_none() || s.marking.is_none()));
            assert_eq!((switches.len(), switches[0].aqm.is_some()), (2, first.starts_with("aqm")));
            if second.contains("kind") || second.contains("kmin") {
                assert_eq!(switches[1].aqm.is_some(), second.starts_with("aqm"));
            }
        }
    }
}

/// Tests PDQ, D3, and HULL's pacer: their defaults, and written values.
#[test]
fn flow_scheduling_survives() {
    for transport in [
        "kind = \"pdq\"",
        "kind = \"pdq\"\npayload = \"1000B\"\nheader = \"0B\"\nmin_rto = \"2ms\"\ninterval = \"30us\"\nearly_termination = false\nearly_start = 0.0\nsuppressed_probing = 0.0\ndampening = \"0s\"\nmax_flows = 20",
        "kind = \"nack\"",
        "kind = \"nack\"\nrate = \"1Gbps\"\npayload = \"1000B\"\nreport = \"2ms\"\ntimeout = \"5ms\"",
        "kind = \"d3\"",
        "kind = \"d3\"\nheader = \"20B\"\nquench = false\nbase_rate = \"10Mbps\"\nalpha = 0.2\nbeta = 0.5",
    ] {
        let text = VALID
            .replace("kind = \"tcp\"\ncongestion = \"dctcp\"", transport)
            .replace("alpha = 1.0", "alpha = 1.0\nhash = \"symmetric\"");
        let text = text.replace("[host]\n", "[host]\nprocessor = { packet_time = \"1us\", stall = { work = \"1s\", pause = \"1ms\" } }\n");
        for pacer in [
            "",
            "pacer = {}\n",
            "pacer = { interval = \"7.2us\", queue_gain = 3000.0, timeout = \"1ms\", max_rate = \"50Gbps\", bucket = \"9kB\" }\n",
        ] {
            let text = text.replace("[host]\n", &format!("[host]\n{pacer}"));
            let scenario = same(&parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")));
            assert_eq!(scenario.plan.hosts[0].pacer.is_some(), !pacer.is_empty());
        }
    }
    let text = VALID.replace("kind = \"tcp\"\ncongestion = \"dctcp\"", "kind = \"d3\"");
    let spec::TransportConfig::D3(d3) = parse(&text).unwrap().plan.transports.remove(0) else {
        panic!("another transport")
    };
    // Ethernet's profile allows 1500 B with 40 B of headers; the scheduling header takes 16 B more.
    assert_eq!((d3.payload, d3.header, d3.alpha, d3.beta), (1_444, 16, 0.1, 1.0));
}

/// Tests ConWeave with its defaults, and with those of the authors' simulator.
#[test]
fn balancers_survive() {
    for (balance, reorder_queues) in [
        ("{ kind = \"conweave\" }", 24),
        (
            "{ kind = \"conweave\", reply_extra = \"5us\", path_busy = \"8us\", inactive = \"1ms\", flush_extra = \"64us\", default_wait = \"600us\", age = \"3ms\", reorder_queues = 4 }",
            4,
        ),
        ("\"conweave\"", 24),
    ] {
        let text = VALID
            .replacen("alpha = 1.0", &format!("alpha = 1.0\nbalance = {balance}"), 1)
            .replacen("[record]", "[record]\nreorder = \"10us\"", 1);
        let scenario = same(&parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")));
        let spec::Balance::Conweave(conweave) = &scenario.plan.switches[0].balance else {
            panic!("{balance}")
        };
        assert!(!conweave.ns3);
        assert_eq!(
            (conweave.reorder_queues, scenario.plan.record.reordering),
            (reorder_queues, Some(Span::from_us(10)))
        );
        if reorder_queues == 24 {
            let us = Span::from_us;
            assert_eq!(
                (conweave.reply_extra, conweave.path_busy, conweave.inactive),
                (us(4), us(16), us(300))
            );
            assert_eq!(
                (conweave.flush_extra, conweave.default_wait, conweave.age),
                (us(16), us(200), us(2_000))
            );
        }
        let ns3 = parse(&text.replacen("[run]", "[run]\ncompat = \"conweave-ns3\"", 1))
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let spec::Balance::Conweave(conweave) = &ns3.plan.switches[0].balance else {
            panic!("{balance}")
        };
        assert!(conweave.ns3);
    }
}

#[test]
fn the_hash_ignores_what_does_not_change_results() {
    let first = parse(VALID).unwrap();
    let same_results = [("threads", Overrides { threads: Some(4), ..Overrides::default() })];
    for (what, overrides) in same_results {
        assert_eq!(parse_with(VALID, &overrides).unwrap().hash, first.hash, "{what}");
    }
    assert_eq!(parse(&VALID.replace("10us", "20us")).unwrap().hash, first.hash);
    assert_eq!(
        parse(&VALID.replacen("format = 1", "format = 1\nname = \"other\"", 1)).unwrap().hash,
        first.hash
    );
    assert_ne!(
        parse_with(VALID, &Overrides { seed: Some(8), ..Overrides::default() }).unwrap().hash,
        first.hash
    );
    assert_ne!(parse(&VALID.replace("9MB", "8MB")).unwrap().hash, first.hash);
    assert_eq!(first.hash.len(), 64);
}

#[test]
fn options_of_the_command_line_win() {
    let overrides = Overrides {
        set: vec![("run.seed".into(), "3".into()), ("switch.ecn".into(), "off".into())],
        seed: Some(9),
        threads: Some(2),
        ..Overrides::default()
    };
    let scenario = parse_with(VALID, &overrides).unwrap();
    assert_eq!((scenario.plan.run.seed, scenario.plan.run.threads), (9, 2));
    assert_eq!(scenario.plan.switches[0].marking, None);
}
