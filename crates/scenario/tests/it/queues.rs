//! Tests queues by class, DSCP and hosts of several kinds: meaning of the keys, refused keys, and
//! that the resolved scenario has the same plan.

use crate::common::{VALID, error, parse};
use afflux_net::spec::{
    Buffer, CongestionControl, EcnMode, Limit, Scheduling, Service, TransportConfig,
};
use afflux_scenario::Scenario;

/// Returns the valid scenario with these blocks in `[switch]`.
fn with(blocks: &str) -> Result<Scenario, String> {
    parse(&VALID.replace("[host]\n", &format!("{blocks}\n[host]\n")))
        .map_err(|error| error.to_string())
}

/// Reads a scenario, and checks that its resolved text gives the same plan.
fn same(text: &str) -> Scenario {
    let first = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let again =
        parse(&first.resolved).unwrap_or_else(|error| panic!("{error}\n{}", first.resolved));
    assert_eq!(
        (&again.resolved, format!("{:?}", again.plan)),
        (&first.resolved, format!("{:?}", first.plan))
    );
    first
}

/// SONiC's generic configuration: queues, weights, and marking of queues 3 and 4 only.
const SONIC: &str = r#"
[[switch.queue]]
priorities = [0, 1, 2]
weight = 14
ecn = "off"
alpha = 8
reserved = "1792B"
[[switch.queue]]
name = "lossless"
priorities = [3, 4]
weight = 15
ecn = { kmin = "1MiB", kmax = "2MiB", pmax = 0.05 }
buffer = "4MB"
[[switch.queue]]
priorities = [7]
strict = true
"#;

#[test]
fn queues_of_a_switch() {
    let scenario =
        same(&VALID.replace("[host]\n", &format!("{SONIC}[[switch.override]]\nmatch = \"spine*\"\nsharing = \"static\"\nbuffer = \"200packets\"\n[host]\n")));
    let [leaf, spine] = &scenario.plan.switches[..] else { panic!("two kinds") };
    let Scheduling::Classes(classes) = &leaf.scheduling else { panic!("{:?}", leaf.scheduling) };
    assert_eq!(classes.service, [Service::Weight(14), Service::Weight(15), Service::Strict]);
    assert_eq!(classes.of_priority, [0, 0, 0, 1, 1, 0, 0, 2]);
    // A full frame has 1460 B of payload and 58 B of headers.
    assert_eq!(classes.quantum, 1518);
    let [first, lossless, strict] = &leaf.own[..] else { panic!("three queues") };
    assert_eq!(
        first.buffer,
        Buffer::Shared { total: 9_000_000, alpha: 8.0, reserved_per_queue: 1792 }
    );
    assert_eq!(
        (&first.marking, first.limit, lossless.limit),
        (&None, None, Some(Limit::Bytes(4_000_000)))
    );
    assert_eq!(lossless.marking.as_ref().unwrap().kmin, Limit::Bytes(1 << 20));
    assert_eq!((&strict.buffer, &strict.marking), (&leaf.buffer, &leaf.marking));
    // With another kind of sharing, the queues' own alphas and limits have no meaning, but their
    // marking has.
    assert_eq!(spine.scheduling, leaf.scheduling);
    assert_eq!(spine.own[0].buffer, spine.buffer);
    assert_eq!((spine.own[1].limit, &spine.own[1].marking), (None, &lossless.marking));
}

#[test]
fn kinds_of_scheduling() {
    let scheduling = |blocks: &str| {
        same(&VALID.replace("[host]\n", &format!("{blocks}\n[host]\n")))
            .plan
            .switches
            .last()
            .unwrap()
            .scheduling
            .clone()
    };
    let services = |blocks: &str| match scheduling(blocks) {
        Scheduling::Classes(classes) => (classes.service, classes.of_priority, classes.quantum),
        other => panic!("{other:?}"),
    };
    let queue = |keys: &str| format!("[[switch.queue]]\n{keys}\n");
    // The numbers are out of order. Each queue has the priority of its number, and the last queue
    // has the rest.
    let ets = queue("index = 1\nbandwidth = \"70%\"")
        + &queue("index = 0\nbandwidth = \"30%\"")
        + &queue("strict = true");
    assert_eq!(
        services(&ets),
        (
            vec![Service::Bandwidth(30), Service::Bandwidth(70), Service::Strict],
            [0, 1, 2, 2, 2, 2, 2, 2],
            1518
        )
    );
    let strict = queue("strict = true").repeat(2);
    assert_eq!(services(&strict).0, [Service::Strict; 2]);
    // Overrides give other switches other queues, or none.
    let dwrr = queue("weight = 1") + &queue("weight = 3");
    let after = |keys: &str| format!("{dwrr}[[switch.override]]\nmatch = \"spine*\"\n{keys}\n");
    assert_eq!(scheduling(&after("scheduling = \"fifo\"")), Scheduling::One);
    assert_eq!(
        scheduling(&after("scheduling = \"strict_priority\"\npriorities = 3")),
        Scheduling::Priorities { queues: 3 }
    );
    let other = after(
        "[[switch.override.queue]]\nbandwidth = \"100%\"\n[[switch.override.queue]]\nstrict = true",
    );
    assert_eq!(services(&other).0, [Service::Bandwidth(100), Service::Strict]);
    assert_eq!(services(&after("quantum = \"3kB\"")).2, 3_000);
    // If no queue has settings of its own, `own` is empty.
    assert!(with(&dwrr).unwrap().plan.switches[0].own.is_empty());
}

#[test]
fn queues_of_a_nic() {
    let queues =
        "[[host.nic_queue]]\nweight = 1\n[[host.nic_queue]]\nweight = 4\npriorities = [6]\n";
    let queues = queues.replacen("weight = 1", "weight = 1\npriorities = [0]", 1);
    let scenario =
        same(&VALID.replace("[host.transport]\n", &format!("{queues}[[host.override]]\nmatch = \"host1\"\nscheduling = \"fifo\"\n[host.transport]\n")));
    let Scheduling::Classes(classes) = &scenario.plan.hosts[0].scheduling else {
        panic!("{:?}", scenario.plan.hosts[0])
    };
    assert_eq!(
        (&classes.service[..], classes.of_priority),
        (&[Service::Weight(1), Service::Weight(4)][..], [0, 0, 0, 0, 0, 0, 1, 0])
    );
    assert_eq!(scenario.plan.hosts[1].scheduling, Scheduling::One);
}

#[test]
fn dscp_gives_the_priority() {
    let of = |dscp: u8, map: &str| {
        let text = VALID
            .replace("[host]\n", &format!("[host]\n{map}\n"))
            .replace("senders = 3", &format!("senders = 3\ndscp = {dscp}"));
        same(&text)
            .plan
            .flows
            .iter()
            .find(|f| f.class == 0 && f.bytes == 64_000 && f.dst == 0)
            .unwrap()
            .priority
    };
    for (dscp, priority) in
        [(3, 3), (4, 4), (5, 2), (8, 0), (46, 5), (48, 6), (0, 1), (26, 1), (63, 1)]
    {
        assert_eq!(of(dscp, ""), priority, "DSCP {dscp}");
    }
    assert_eq!(
        (of(26, "dscp_to_priority = { 26 = 3 }"), of(46, "dscp_to_priority = { 26 = 3 }")),
        (3, 5)
    );
}

/// Hosts 4 to 7 send with another transport than the others.
fn mixed(keys: &str) -> Scenario {
    same(&VALID.replace("[host.transport]\n", &format!("[[host.override]]\nmatch = [\"host4\", \"host5\", \"host6\", \"host7\"]\n{keys}\n[host.transport]\n")))
}

#[test]
fn hosts_send_by_their_own_transport() {
    let scenario = mixed("transport = \"bulk\"");
    let plan = &scenario.plan;
    let (mut own, mut agreed, mut refused) = (0, 0, 0);
    for flow in &plan.flows {
        let TransportConfig::Tcp(tcp) = &plan.transports[flow.transport as usize] else {
            panic!("TCP")
        };
        // The second block names its transport.
        if flow.bytes == 64_000 && flow.dst == 0 {
            assert_eq!(flow.transport, 1);
            continue;
        }
        let dctcp = matches!(tcp.congestion, CongestionControl::Dctcp(_));
        assert_eq!(dctcp, flow.src < 4, "{flow:?}");
        match (flow.src < 4, flow.dst < 4) {
            (false, _) => own += 1,
            (true, true) => {
                assert_eq!((flow.transport, tcp.ecn), (0, EcnMode::Dctcp));
                agreed += 1;
            }
            // A listener without DCTCP refuses ECN, as in Linux.
            (true, false) => {
                assert_eq!(tcp.ecn, EcnMode::Off);
                refused += 1;
            }
        }
    }
    assert!(own > 0 && agreed > 0 && refused > 0, "{own} {agreed} {refused}");
}

#[test]
fn priority_of_acknowledgements() {
    let scenario =
        same(&VALID.replace("congestion = \"dctcp\"", "congestion = \"dctcp\"\nack_priority = 6"));
    let of = |index: usize| match &scenario.plan.transports[index] {
        TransportConfig::Tcp(tcp) => tcp.ack_priority,
        other => panic!("{other:?}"),
    };
    assert_eq!((of(0), of(1)), (Some(6), None));
}

#[test]
fn what_is_refused() {
    let queue = |keys: &str| format!("[[switch.queue]]\n{keys}\n");
    let refused = |blocks: String, message: &str| {
        let found = with(&blocks).err().unwrap_or_else(|| panic!("no error with {blocks}"));
        assert_eq!(found, format!("fabric.toml:{message}"));
    };
    let one = queue("weight = 1");
    refused(one.clone(), "20: key switch.queue: found 1: write 2 to 8 queues");
    refused(one.repeat(9), "20: key switch.queue: found 9: write 2 to 8 queues");
    refused(
        one.clone() + &queue("weight = 0"),
        "23: key switch.queue[1].weight: found 0: write a whole number from 1 to 10000",
    );
    refused(
        one.clone() + &queue("bandwidth = \"40%\""),
        "21: key switch.queue[0].weight: has no effect with scheduling = \"ets\": remove it",
    );
    refused(
        one.clone() + &queue("name = \"low\""),
        "22: key switch.queue[1]: this queue has no service rule: write weight = 14 (its share of the bandwidth that strict queues leave) or strict = true",
    );
    refused(
        one.clone() + &queue("weight = 2\nstrict = true"),
        "24: key switch.queue[1].strict: a strict queue has no share: write strict = true or a share, not both",
    );
    refused(
        queue("bandwidth = \"40%\"") + &queue("bandwidth = \"50%\""),
        "20: key switch.queue: the bandwidths add up to 90%: write shares of the bandwidth that strict queues leave, 100% in total",
    );
    refused(
        queue("bandwidth = \"33.5%\""),
        "21: key switch.queue[0].bandwidth: \"33.5%\": write a whole percentage from \"1%\" to \"100%\"",
    );
    refused(
        one.clone() + &queue("weight = 1\nindex = 2"),
        "24: key switch.queue[1].index: found 2: with 2 queues write 0 to 1",
    );
    refused(
        one.clone() + &queue("weight = 1\nindex = 0"),
        "24: key switch.queue[1].index: block 0 has the index 0 too (blocks count from 0, and a block without index has its position): write another number",
    );
    refused(
        queue("weight = 1\nname = \"a\"").repeat(2),
        "25: key switch.queue[1].name: block 0 has the name \"a\" too (blocks count from 0): write another name",
    );
    refused(
        queue("weight = 1\npriorities = [0, 8]") + &one,
        "22: key switch.queue[0].priorities[1]: found 8: write priorities from 0 to 7",
    );
    refused(
        queue("weight = 1\npriorities = [0, 3]") + &queue("weight = 1\npriorities = [3]"),
        "25: key switch.queue[1].priorities[0]: queue 0 has priority 3 already: remove it from one of the two",
    );
    refused(
        one.clone() + &queue("weight = 1\nbuffer = \"0B\""),
        "24: key switch.queue[1].buffer: a queue of size 0 drops every frame: write a size above 0",
    );
    refused(
        one.clone() + &queue("weight = 1\nalpha = 0"),
        "24: key switch.queue[1].alpha: found 0: write a number above 0, up to 1024 (switches have powers of two from 1/128 to 8)",
    );
    refused(
        one.clone() + &queue("weight = 1\nreserved = \"10MB\""),
        "24: key switch.queue[1].reserved: \"10MB\" is more than the whole buffer of 9MB",
    );
    refused(
        one.clone() + &queue("weight = 1\necn = { kmin = \"1kB\" }"),
        "24: key switch.queue[1].ecn: write k (a step, as for DCTCP), or kmin and kmax",
    );
    refused(
        one.clone() + &queue("weight = 1\npriority = 3"),
        "24: key switch.queue[1].priority: unknown key (did you mean \"priorities\"?); the keys here are index, name, priorities, strict, weight, bandwidth, ecn, alpha, reserved, buffer",
    );
}

#[test]
fn what_is_refused_elsewhere() {
    for (from, to, message) in [
        (
            "alpha = 1.0",
            "scheduling = \"dwrr\"",
            "13: key switch.scheduling: needs queues: write a [[switch.queue]] block with weight or strict = true for each",
        ),
        (
            "alpha = 1.0",
            "scheduling = \"ets\"",
            "13: key switch.scheduling: needs queues: write a [[switch.queue]] block with bandwidth or strict = true for each",
        ),
        (
            "alpha = 1.0",
            "quantum = \"3kB\"",
            "13: key switch.quantum: has no effect with scheduling = \"fifo\": remove it",
        ),
        (
            "alpha = 1.0",
            "scheduling = \"fifo\"\nqueue = [{ strict = true }, { strict = true }]",
            "14: key switch.queue: has no effect with scheduling = \"fifo\": remove it",
        ),
        (
            "alpha = 1.0",
            "priorities = 2\nqueue = [{ strict = true }, { strict = true }]",
            "13: key switch.priorities: has no effect with [[switch.queue]], whose blocks give the number of queues: remove it",
        ),
        (
            "alpha = 1.0",
            "scheduling = \"dwrr\"\nqueue = [{ strict = true }, { strict = true }]",
            "13: key switch.scheduling: all queues are strict: write \"strict_priority\"",
        ),
        (
            "alpha = 1.0",
            "quantum = \"1B\"\nqueue = [{ weight = 1 }, { weight = 1 }]",
            "13: key switch.quantum: \"1B\": write a size from 64B to 1MB",
        ),
        (
            "senders = 3",
            "senders = 3\ndscp = 64",
            "41: key traffic[1].dscp: found 64: write a DSCP from 0 to 63",
        ),
        (
            "senders = 3",
            "senders = 3\npriority = 1\ndscp = 3",
            "41: key traffic[1].priority: has no effect with dscp, from which [host] dscp_to_priority derives the priority: remove it",
        ),
        (
            "wire = \"ethernet\"",
            "dscp_to_priority = { 64 = 1 }",
            "21: key host.dscp_to_priority.64: \"64\" is not a DSCP: write a number from 0 to 63, as in 26 = 3",
        ),
        (
            "wire = \"ethernet\"",
            "dscp_to_priority = { 26 = 8 }",
            "21: key host.dscp_to_priority.26: found 8: write a priority from 0 (lowest) to 7",
        ),
        (
            "wire = \"ethernet\"",
            "nic_queue = [{ weight = 1 }]",
            "21: key host.nic_queue: found 1: write 2 to 8 queues",
        ),
        (
            "wire = \"ethernet\"",
            "[[host.override]]\nmatch = \"host1\"\ntransport = \"bluk\"",
            "23: key host.override[0].transport: there is no transport \"bluk\" (did you mean \"bulk\"?): write \"default\" or \"bulk\"",
        ),
        (
            "congestion = \"dctcp\"",
            "ack_priority = 8",
            "25: key host.transport.ack_priority: found 8: write a priority from 0 (lowest) to 7",
        ),
    ] {
        assert_eq!(error(from, to), format!("fabric.toml:{message}"));
    }
    let both = VALID.replace(
        "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2\n",
        "aqm = { kind = \"codel\" }\nqueue = [{ weight = 1 }, { weight = 1, ecn = { k = \"1MB\" } }]\n",
    );
    let message = parse(&both).expect_err("no error").to_string();
    assert!(message.ends_with("key switch.queue[1].ecn: ecn and aqm both decide on marks and drops: write aqm = \"off\", or remove ecn"), "{message}");
    let fair = VALID.replace(
        "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2\n",
        "aqm = { kind = \"fq_codel\" }\nqueue = [{ weight = 1 }, { weight = 1 }]\n",
    );
    let message = parse(&fair).expect_err("no error").to_string();
    assert!(message.contains("\"fq_codel\" has its own scheduling"), "{message}");
}
