//! Tests warnings about valid scenarios that do not do what they seem to say. Each appears once,
//! with file, line and key. Scenarios that do what they say draw none.

use crate::common::{folder, parse, parse_with};
use afflux_scenario::Overrides;

/// A valid scenario without warnings: DCTCP over a star with marks.
const STAR: &str = r#"format = 1

[topology]
kind = "star"
hosts = 5
rate = "10Gbps"
delay = "1us"

[switch]
buffer = "1MB"
ecn = { k = "65kB" }

[host.transport]
congestion = "dctcp"

[[traffic]]
kind = "incast"
to = 0
senders = 4
bytes = "256kB"
"#;

/// A valid scenario without warnings: RDMA over a leaf-spine with PFC.
const LOSSLESS: &str = r#"format = 1

[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "25Gbps"
delay = "1us"

[switch]
sharing = "sonic"
buffer = "4MB"
ecn = { kmin = "100kB", kmax = "400kB", pmax = 0.2 }

[switch.pfc]
priorities = [3]
headroom = "40kB"

[host.transport]
kind = "rdma"

[[traffic]]
kind = "incast"
to = 0
senders = 6
bytes = "2MB"
priority = 3
"#;

fn warnings(text: &str) -> Vec<String> {
    parse(text)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// Returns `text` with pieces replaced.
fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

/// Defines a test that changes a scenario without warnings and expects exactly one warning.
macro_rules! warns {
    ($($name:ident: $base:ident, $changes:expr, $message:literal;)+) => {$(
        #[test]
        fn $name() {
            assert_eq!(warnings($base), [""; 0], "{} is right as it is", stringify!($base));
            assert_eq!(warnings(&changed($base, &$changes)), [$message]);
        }
    )+};
}

warns! {
    dctcp_without_marks: STAR, [("ecn = { k = \"65kB\" }\n", "")],
        "fabric.toml:13: key host.transport.congestion: DCTCP works like NewReno, because no switch or NIC marks: write [switch] ecn, as in ecn = { k = \"65kB\" }";
    classic_ecn_without_marks: STAR, [("ecn = { k = \"65kB\" }\n", ""), ("\"dctcp\"", "\"cubic\"\necn = \"classic\"")],
        "fabric.toml:14: key host.transport.ecn: ECN has no effect, because no switch or NIC marks: write [switch] ecn, as in ecn = { k = \"65kB\" }";
    dctcp_where_all_hosts_refuse: STAR, [("[host.transport]", "[host]\necn = false\n\n[host.transport]"), ("ecn = { k = \"65kB\" }", "ecn = { k = \"65kB\", incapable = \"drop\" }")],
        "fabric.toml:17: key host.transport.congestion: DCTCP needs hosts that agree to ECN, and all have ecn = false: it works like NewReno, without ECN; \
         remove ecn = false from [host]";
    dctcp_in_another_queue_than_the_marks: STAR, [
        ("ecn = { k = \"65kB\" }\n", "scheduling = \"dwrr\"\nqueue = [{ priorities = [0], weight = 1 }, { priorities = [3], weight = 1, ecn = { k = \"65kB\", incapable = \"drop\" } }]\n")],
        "fabric.toml:15: key host.transport.congestion: DCTCP works like NewReno, because only queues of other priorities mark, and its traffic has priority 0: \
         give that traffic another priority, or write ecn for its queue";
    dcqcn_without_marks: LOSSLESS, [("ecn = { kmin = \"100kB\", kmax = \"400kB\", pmax = 0.2 }\n", "")],
        "fabric.toml:19: key host.transport.congestion: DCQCN never slows down, because no switch or NIC marks: write [switch] ecn, as in ecn = { k = \"65kB\" }";
    bbr_with_ecn: STAR, [("\"dctcp\"", "\"bbr\"\necn = \"classic\""), ("k = \"65kB\"", "k = \"65kB\", incapable = \"drop\""), ("[[traffic]]", "[host.transports.other]\ncongestion = \"dctcp\"\n\n[[traffic]]\nkind = \"pairs\"\npairs = [[0, 1]]\nsizes = \"1MB\"\ntransport = \"other\"\n\n[[traffic]]")],
        "fabric.toml:15: key host.transport.ecn: BBR version 1 does not react to marks, which only hide the queue from it: remove ecn, or write congestion = \"bbr3\"";
    bbr_with_ecn_alone: STAR, [("\"dctcp\"", "\"bbr\"\necn = \"classic\"")],
        "fabric.toml:15: key host.transport.ecn: BBR version 1 does not react to marks, which only hide the queue from it: remove ecn, or write congestion = \"bbr3\"";
    bbr_where_switches_mark: STAR, [("\"dctcp\"", "\"bbr\"")],
        "fabric.toml:11: key switch.ecn: drops frames instead of marking them: no traffic that passes it is ECN-capable; write a congestion control that uses ECN, as in \
         congestion = \"dctcp\"; or write incapable here: \"pass\" lets these frames pass, \"drop\" says that RED is meant to drop";
    marks_for_a_transport_without_ecn: STAR, [("congestion = \"dctcp\"", "kind = \"nack\"")],
        "fabric.toml:11: key switch.ecn: drops frames instead of marking them: no traffic that passes it is ECN-capable; write incapable here: \"pass\" lets these frames \
         pass, \"drop\" says that RED is meant to drop";
    marks_where_all_hosts_refuse: STAR, [("[host.transport]", "[host]\necn = false\n\n[host.transport]"), ("\"dctcp\"", "\"cubic\"")],
        "fabric.toml:11: key switch.ecn: drops frames instead of marking them: all hosts have ecn = false; remove ecn = false from [host], and write \
         host.transport.ecn = \"classic\", or a congestion control that uses ECN, as in congestion = \"dctcp\"; or write incapable here: \"pass\" lets these frames pass, \
         \"drop\" says that RED is meant to drop";
    hosts_that_refuse_what_nobody_asks: LOSSLESS, [("[host.transport]", "[host]\necn = false\n\n[host.transport]")],
        "fabric.toml:21: key host.ecn: has no effect: only connections of TCP, MPTCP and pFabric ask hosts whether they use ECN, and there is no such traffic; remove it";
    one_host_that_refuses_what_nobody_asks: LOSSLESS, [("[host.transport]", "[[host.override]]\nmatch = \"host0\"\necn = false\n\n[host.transport]")],
        "fabric.toml:22: key host.override[0].ecn: has no effect: only connections of TCP, MPTCP and pFabric ask hosts whether they use ECN, and there is no such traffic; \
         remove it";
    a_lossy_share_for_lossless_traffic: LOSSLESS, [("buffer = \"4MB\"", "buffer = \"4MB\"\nalpha = 2.0")],
        "fabric.toml:14: key switch.alpha: has no effect: alpha limits lossy traffic at egress, and the priorities of all traffic are in pfc.priorities; write \
         mmu.lossless_alpha, or remove it";
    a_lossy_reserve_for_lossless_traffic: LOSSLESS, [("buffer = \"4MB\"", "buffer = \"4MB\"\nreserved = \"2kB\"")],
        "fabric.toml:14: key switch.reserved: has no effect: reserved limits lossy traffic at egress, and the priorities of all traffic are in pfc.priorities; write \
         mmu.lossless_reserved, or remove it";
    a_block_without_flows: STAR, [("bytes = \"256kB\"", "bytes = \"256kB\"\n\n[[traffic]]\nkind = \"random\"\nsizes = \"1TB\"\nload = 0.3\nload_basis = \"host_payload\"\nduration = \"3ms\"")],
        "fabric.toml:27: key traffic[1].duration: \"3ms\": this traffic generates no flows with this seed: with load = 0.3 and flows of 1TB on average, 5 sources start about \
         5.6e-6 flows in this time; write a longer duration, a higher load or smaller sizes, or remove the block";
    a_block_of_a_rate_without_flows: STAR, [("bytes = \"256kB\"", "bytes = \"256kB\"\n\n[[traffic]]\nkind = \"random\"\nsizes = \"1kB\"\nflows_per_second = 100\nduration = \"0s\"")],
        "fabric.toml:26: key traffic[1].duration: \"0s\": this traffic generates no flows with this seed: with flows_per_second = 100, 5 sources start about 0 flows in this time; \
         write a longer duration or a higher flows_per_second, or remove the block";
    a_block_of_0_flows: STAR, [("bytes = \"256kB\"", "bytes = \"256kB\"\n\n[[traffic]]\nkind = \"random\"\nsizes = \"1kB\"\nflows_per_second = 100\nflows = 0")],
        "fabric.toml:26: key traffic[1].flows: this traffic generates no flows: write at least 1, or remove the block";
    queries_that_nobody_asks: STAR, [("bytes = \"256kB\"", "bytes = \"256kB\"\n\n[[traffic]]\nkind = \"partition_aggregate\"\nqueries_per_second = 50\nmessages_per_second = 0\nbackground_per_second = 0\nduration = \"1ns\"")],
        "fabric.toml:27: key traffic[1].duration: \"1ns\": this traffic generates no flows with this seed: its 5 hosts start about 1.0e-6 flows in this time at these rates; write a longer \
         duration or higher queries_per_second, messages_per_second or background_per_second, or remove the block";
    a_fault_that_loses_nothing: STAR, [("delay = \"1us\"", "delay = \"1us\"\nfault = [{ link = \"host0-switch0\", loss = \"0%\" }]")],
        "fabric.toml:8: key topology.fault[0].loss: nothing is wrong with the link: write a probability above 0, or down, or remove the fault";
    ports_of_no_node: STAR, [("bytes = \"256kB\"", "bytes = \"256kB\"\n\n[record]\nports = { nodes = [] }")],
        "fabric.toml:23: key record.ports.nodes: records nothing, because it has no nodes: write nodes = \"switches\", or remove record.ports";
    marks_that_nobody_can_carry: STAR, [("congestion = \"dctcp\"", "congestion = \"cubic\"")],
        "fabric.toml:11: key switch.ecn: drops frames instead of marking them: no traffic that passes it is ECN-capable; write host.transport.ecn = \"classic\", or a congestion \
         control that uses ECN, as in congestion = \"dctcp\"; or write incapable here: \"pass\" lets these frames pass, \"drop\" says that RED is meant to drop";
    classic_ecn_whose_syns_are_dropped: STAR, [("\"dctcp\"", "\"cubic\"\necn = \"classic\"")],
        "fabric.toml:11: key switch.ecn: drops frames that are not ECN-capable where it would mark others, in queues above 65kB: SYNs, pure acknowledgements and \
         retransmissions of connections with ecn = \"classic\"; write incapable = \"pass\" here to let them pass, or incapable = \"drop\" if the switch should drop them";
    classic_ecn_without_a_handshake: STAR, [("\"dctcp\"", "\"newreno\"\nstack = \"basic\"\necn = \"classic\"")],
        "fabric.toml:11: key switch.ecn: drops frames that are not ECN-capable where it would mark others, in queues above 65kB: pure acknowledgements and \
         retransmissions of connections with ecn = \"classic\"; write incapable = \"pass\" here to let them pass, or incapable = \"drop\" if the switch should drop them";
    traffic_without_ecn_next_to_dctcp: STAR, [("[[traffic]]", "[host.transports.plain]\ncongestion = \"cubic\"\n\n[[traffic]]\nkind = \"pairs\"\npairs = [[0, 1]]\nsizes = \"1MB\"\ntransport = \"plain\"\n\n[[traffic]]")],
        "fabric.toml:11: key switch.ecn: drops frames that are not ECN-capable where it would mark others, in queues above 65kB: all frames of host.transports.plain; \
         write incapable = \"pass\" here to let them pass, or incapable = \"drop\" if the switch should drop them";
    datagrams_next_to_dctcp: STAR, [("bytes = \"256kB\"", "bytes = \"256kB\"\n\n[[traffic]]\nkind = \"datagram\"\npairs = [[1, 2]]\nrate = \"1Gbps\"\nduration = \"1ms\"")],
        "fabric.toml:11: key switch.ecn: drops frames that are not ECN-capable where it would mark others, in queues above 65kB: all frames of traffic without ECN; \
         write incapable = \"pass\" here to let them pass, or incapable = \"drop\" if the switch should drop them";
    classic_ecn_at_a_nic: STAR, [("ecn = { k = \"65kB\" }\n", ""), ("[host.transport]", "[host]\nnic_ecn = { k = \"30kB\" }\n\n[host.transport]"), ("\"dctcp\"", "\"cubic\"\necn = \"classic\"")],
        "fabric.toml:13: key host.nic_ecn: drops frames that are not ECN-capable where it would mark others, in queues above 30kB: SYNs, pure acknowledgements and \
         retransmissions of connections with ecn = \"classic\"; write incapable = \"pass\" here to let them pass, or incapable = \"drop\" if the switch should drop them";
    classic_ecn_in_one_queue: STAR, [
        ("ecn = { k = \"65kB\" }\n", "scheduling = \"dwrr\"\nqueue = [{ priorities = [3], weight = 1 }, { priorities = [0], weight = 1, ecn = { k = \"65kB\" } }]\n"),
        ("\"dctcp\"", "\"cubic\"\necn = \"classic\"")],
        "fabric.toml:12: key switch.queue[1].ecn: drops frames that are not ECN-capable where it would mark others, in queues above 65kB: SYNs, pure \
         acknowledgements and retransmissions of connections with ecn = \"classic\"; write incapable = \"pass\" here to let them pass, or incapable = \"drop\" if the \
         switch should drop them";
    marks_that_nobody_reacts_to: LOSSLESS, [("kind = \"rdma\"", "kind = \"rdma\"\ncongestion = \"timely\"")],
        "fabric.toml:14: key switch.ecn: has no effect: the congestion control of all traffic ignores marks; write a congestion control that uses ECN";
    a_phantom_queue_for_nobody: STAR, [("ecn = { k = \"65kB\" }", "aqm = { kind = \"phantom\" }"), ("\"dctcp\"", "\"cubic\"")],
        "fabric.toml:11: key switch.aqm: a phantom queue that marks nothing: no traffic that passes it is ECN-capable; write host.transport.ecn = \"classic\", or a \
         congestion control that uses ECN, as in congestion = \"dctcp\"";
    a_threshold_above_the_queue: STAR, [("buffer = \"1MB\"", "sharing = \"static\"\nbuffer = \"60kB\"")],
        "fabric.toml:12: key switch.ecn: marks nothing: marking begins at 65kB, and a queue never holds more than 60kB: lower the threshold, or give the queue more memory";
    a_threshold_above_the_dynamic_limit: STAR, [("buffer = \"1MB\"", "buffer = \"120kB\"")],
        "fabric.toml:11: key switch.ecn: marks nothing: marking begins at 65kB, and a queue never holds more than 60kB: lower the threshold, or give the queue more memory";
    a_threshold_above_sonics_limit: STAR, [("buffer = \"1MB\"", "sharing = \"sonic\"\nbuffer = \"1MB\"\nalpha = 0.125"), ("\"65kB\"", "\"200kB\"")],
        "fabric.toml:13: key switch.ecn: marks nothing: marking begins at 200kB, and a queue never holds more than 178438B: lower the threshold, or give the queue more memory";
    a_threshold_in_bytes_above_a_queue_of_packets: STAR, [("buffer = \"1MB\"", "sharing = \"static\"\nbuffer = \"40packets\"")],
        "fabric.toml:12: key switch.ecn: marks nothing: marking begins at 65kB, and a queue never holds more than 40packets: lower the threshold, or give the queue more memory";
    a_pacer_without_ecn: STAR, [("ecn = { k = \"65kB\" }\n", ""), ("congestion = \"dctcp\"", "congestion = \"cubic\""), ("[host.transport]", "[host]\npacer = {}\n\n[host.transport]")],
        "fabric.toml:13: key host.pacer: has no effect: it delays only TCP flows that got ECN marks, and no TCP traffic is ECN-capable; write congestion = \"dctcp\" in \
         [host.transport], or remove it";

    pfc_without_lossless_traffic: LOSSLESS, [("kind = \"rdma\"", "congestion = \"dctcp\""), ("\npriority = 3", "")],
        "fabric.toml:17: key switch.pfc.priorities: PFC pauses nothing: no traffic has priority 3; write priority = 3 in a [[traffic]] block, or pfc = \"off\"";
    pfc_that_nobody_obeys: LOSSLESS, [("[host.transport]", "[host]\nhonours_pause = false\n\n[host.transport]"), ("sharing = \"sonic\"", "sharing = \"sonic\"\nhonours_pause = false")],
        "fabric.toml:18: key switch.pfc.priorities: PFC pauses nothing: no neighbour of a switch with PFC obeys PAUSE frames; remove honours_pause = false";
    headroom_for_too_little: LOSSLESS, [("headroom = \"40kB\"", "headroom = \"10kB\"")],
        "fabric.toml:18: key switch.pfc.headroom: frames of lossless priorities can be lost: up to 15180 B arrive at the port spine1 to leaf1 after XOFF, and the \
         headroom is 10000 B; write headroom = \"worst_case\"";
    headroom_of_a_simulator_for_too_little: LOSSLESS, [("sharing = \"sonic\"", "sharing = \"hpcc\""), ("\nheadroom = \"40kB\"", "")],
        "fabric.toml:16: key switch.pfc.headroom: frames of lossless priorities can be lost: up to 15180 B arrive at the port spine1 to leaf1 after XOFF, and the \
         headroom is 9375 B; write headroom = \"worst_case\"";
    marks_for_a_queue_without_ecn: STAR, [("ecn = { k = \"65kB\" }", "scheduling = \"strict_priority\"\n\n[[switch.queue]]\npriorities = [0]\necn = { k = \"65kB\" }\n\n[[switch.queue]]\npriorities = [1]\necn = { kmin = \"30kB\", kmax = \"90kB\", pmax = 0.2 }\n\n[host.transports.plain]\ncongestion = \"cubic\""), ("[[traffic]]", "[[traffic]]\nkind = \"incast\"\nto = 1\nsenders = 3\nbytes = \"256kB\"\npriority = 1\ntransport = \"plain\"\n\n[[traffic]]")],
        "fabric.toml:19: key switch.queue[1].ecn: drops frames instead of marking them: no traffic of priority 1 is ECN-capable; write host.transport.ecn = \"classic\" \
         for it, or incapable here: \"pass\" lets these frames pass, \"drop\" says that RED is meant to drop";
    pfc_out_of_reach: LOSSLESS, [("buffer = \"4MB\"", "buffer = \"400MB\"")],
        "fabric.toml:17: key switch.pfc.priorities: PFC pauses nothing: a priority group is paused above 199.9 MB, and its frames can never occupy so much; \
         lower switch.buffer or mmu.lossless_alpha, or send more";
    obedience_without_pauses: STAR, [("[host.transport]", "[host]\nhonours_pause = false\n\n[host.transport]")],
        "fabric.toml:14: key host.honours_pause: has no effect: nothing sends PAUSE frames; write [switch.pfc], or remove it";
    a_storm_that_nobody_hears: STAR, [("[host.transport]", "[host]\nstorm = { priority = 3, period = \"100us\", until = \"1ms\" }\n\n[host.transport]")],
        "fabric.toml:14: key host.storm: pauses nothing: the switch next to it does not obey PAUSE frames; write honours_pause = true or [switch.pfc]";
    lossless_keys_without_pfc: STAR, [("buffer = \"1MB\"", "buffer = \"1MB\"\nsharing = \"sonic\"\nmmu = { xon = \"2kB\" }")],
        "fabric.toml:12: key switch.mmu.xon: has no effect without PFC, which makes priorities lossless: write [switch.pfc], or remove it";

    a_threshold_of_pauses_without_pfc: STAR, [("buffer = \"1MB\"", "buffer = \"1MB\"\nsharing = \"conweave\"\nmmu = { ingress_alpha = 0.125 }")],
        "fabric.toml:12: key switch.mmu.ingress_alpha: has no effect without PFC, which makes priorities lossless: write [switch.pfc], or remove it";

    a_load_above_1: STAR, [("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "kind = \"random\"\nsizes = \"100kB\"\nload = 1.2\nload_basis = \"host_wire\"\nduration = \"1ms\"")],
        "fabric.toml:19: key traffic[0].load: load = 1.2 is above 1: the traffic exceeds the capacity \"host_wire\", and queues grow as long as it lasts; write at most 1";
    loads_above_1_together: STAR, [("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "kind = \"random\"\nsizes = \"100kB\"\nload = 0.6\nload_basis = \"host_wire\"\nduration = \"1ms\"\n\n[[traffic]]\nkind = \"random\"\nsizes = \"100kB\"\nload = 0.6\nload_basis = \"host_wire\"\nduration = \"1ms\"")],
        "fabric.toml:26: key traffic[1].load: offers host0 with traffic[0] 12.00 Gbps (headers included) for a link of 10 Gbps: its queue grows as long as this lasts; lower the rate";
    a_rate_above_the_link: STAR, [("k = \"65kB\"", "k = \"65kB\", incapable = \"pass\""), ("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"\n\n[[traffic]]\nkind = \"datagram\"\npairs = [[1, 2]]\nrate = \"12Gbps\"\nduration = \"1ms\"")],
        "fabric.toml:25: key traffic[1].rate: offers host1 12.64 Gbps (headers included) for a link of 10 Gbps: its queue grows as long as this lasts; lower the rate";
    a_rate_just_above_the_link: STAR, [("k = \"65kB\"", "k = \"65kB\", incapable = \"pass\""), ("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"\n\n[[traffic]]\nkind = \"datagram\"\npairs = [[1, 2]]\nrate = \"9.5Gbps\"\nduration = \"1ms\"")],
        "fabric.toml:25: key traffic[1].rate: offers host1 10.0075 Gbps (headers included) for a link of 10 Gbps: its queue grows as long as this lasts; lower the rate";
    receivers_of_too_much: STAR, [("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "kind = \"random\"\nsizes = \"100kB\"\nload = 0.5\nload_basis = \"host_wire\"\nduration = \"1ms\"\ndestinations = \"0-1\"")],
        "fabric.toml:19: key traffic[0].load: offers the link to host0 12.50 Gbps (headers included), and it carries 10 Gbps: its queue grows as long as this lasts; \
         lower the rate, or write more receivers";
    a_hot_host: STAR, [("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "kind = \"random\"\nsizes = \"100kB\"\nload = 0.5\nload_basis = \"host_wire\"\nduration = \"1ms\"\nhotspot = { hosts = \"0\", share = 1.0 }")],
        "fabric.toml:19: key traffic[0].load: offers the link to host0 19.99 Gbps (headers included), and it carries 10 Gbps: its queue grows as long as this lasts; \
         lower the rate, or write more receivers";
    datagrams_to_one_host: STAR, [("k = \"65kB\"", "k = \"65kB\", incapable = \"pass\""), ("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"\n\n[[traffic]]\nkind = \"datagram\"\npairs = [[1, 0], [2, 0]]\nrate = \"6Gbps\"\nduration = \"1ms\"")],
        "fabric.toml:25: key traffic[1].rate: offers the link to host0 12.64 Gbps (headers included), and it carries 10 Gbps: its queue grows as long as this lasts; \
         lower the rate, or write more receivers";
    a_hot_host_that_is_no_destination: STAR, [("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "kind = \"random\"\nsizes = \"100kB\"\nload = 0.2\nload_basis = \"host_wire\"\nduration = \"1ms\"\ndestinations = \"1-4\"\nhotspot = { hosts = \"0-1\", share = 0.1 }")],
        "fabric.toml:23: key traffic[0].hotspot.hosts: host0 is not one of destinations, and receives flows all the same: write it there too, or name other hosts here";
    flows_that_do_not_start: STAR, [("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "kind = \"random\"\nsizes = \"100kB\"\nflows_per_second = 100\nflows = 1000\nduration = \"10ms\"")],
        "fabric.toml:20: key traffic[0].flows: has no effect: the traffic ends with duration = \"10ms\", because about 5 flows would start in \"10ms\"; \
         write only one of flows and duration";
    a_duration_that_is_not_reached: STAR, [("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "kind = \"random\"\nsizes = \"100kB\"\nflows_per_second = 100\nflows = 3\nduration = \"10ms\"")],
        "fabric.toml:21: key traffic[0].duration: has no effect: the traffic ends with flows = 3, because about 5 flows would start in \"10ms\"; \
         write only one of flows and duration";

    a_transport_that_nothing_uses: STAR, [("[[traffic]]", "[host.transports.bulk]\ncongestion = \"cubic\"\n\n[[traffic]]")],
        "fabric.toml:16: key host.transports.bulk: has no effect: no traffic uses this transport; remove it, or name it in a [[traffic]] block";
    a_default_transport_that_nothing_uses: STAR, [("[host.transport]", "[host.transport]\ncongestion = \"bbr\"\n\n[host.transports.marked]"), ("senders = 4", "senders = 4\ntransport = \"marked\"")],
        "fabric.toml:13: key host.transport: has no effect: no traffic uses this transport; remove it, or the transport that a block or an override of a host names";
    an_override_without_a_key: STAR, [("[host.transport]", "[[switch.override]]\nmatch = \"switch0\"\n\n[host.transport]")],
        "fabric.toml:13: key switch.override[0]: has no effect: match is its only key; write a key that differs, or remove it";
    a_key_that_an_override_replaces_everywhere: STAR, [("[host.transport]", "[[switch.override]]\nmatch = \"switch*\"\nbuffer = \"2MB\"\n\n[host.transport]")],
        "fabric.toml:10: key switch.buffer: has no effect: overrides set buffer for every switch; remove it, or the key of an override";
    an_override_that_a_later_one_replaces: STAR, [("[host.transport]", "[[host.override]]\nmatch = \"host1\"\ndelay = \"1us\"\n\n[[host.override]]\nmatch = \"host*\"\ndelay = \"2us\"\n\n[host.transport]")],
        "fabric.toml:15: key host.override[0].delay: has no effect: later overrides set delay for all nodes that this one matches; remove it, or put it last";
    a_switch_key_that_every_queue_has: STAR, [
        ("ecn = { k = \"65kB\" }\n", "ecn = { k = \"65kB\" }\nscheduling = \"dwrr\"\nqueue = [{ weight = 1, ecn = { k = \"30kB\" } }, { weight = 1, ecn = { k = \"30kB\" } }]\n")],
        "fabric.toml:11: key switch.ecn: has no effect: every [[switch.queue]] has its own ecn; remove it";

    a_switch_key_that_every_queue_has_beside_an_override: STAR, [
        ("ecn = { k = \"65kB\" }\n", "ecn = { k = \"65kB\" }\nscheduling = \"dwrr\"\nqueue = [{ weight = 1, ecn = { k = \"30kB\" } }, { weight = 1, ecn = { k = \"30kB\" } }]\noverride = [{ match = \"switch0\", buffer = \"2MB\" }]\n"), ("buffer = \"1MB\"\n", "")],
        "fabric.toml:10: key switch.ecn: has no effect: every [[switch.queue]] has its own ecn; remove it";
    a_key_of_an_override_that_every_queue_has: STAR, [
        ("ecn = { k = \"65kB\" }\n", "scheduling = \"dwrr\"\nqueue = [{ weight = 1, alpha = 1, ecn = { k = \"30kB\" } }, { weight = 1, alpha = 1, ecn = { k = \"30kB\" } }]\noverride = [{ match = \"switch0\", alpha = 0.01 }]\n")],
        "fabric.toml:13: key switch.override[0].alpha: has no effect: each queue of these switches has its own alpha; write it in queue blocks here, or remove it";

    a_balancer_without_a_choice: STAR, [("buffer = \"1MB\"", "buffer = \"1MB\"\nbalance = \"drill\"")],
        "fabric.toml:11: key switch.balance: has no effect: this fabric has one path between any two hosts; remove it, or write another [topology]";
    subflows_on_one_path: STAR, [("ecn = { k = \"65kB\" }\n", ""), ("congestion = \"dctcp\"", "mptcp = { subflows = 4 }")],
        "fabric.toml:13: key host.transport.mptcp.subflows: the subflows share one path: this fabric has only one path between any two hosts; write mptcp.subflows = 1, or another [topology]";
    a_priority_without_queues: STAR, [("senders = 4", "senders = 4\npriority = 5")],
        "fabric.toml:20: key traffic[0].priority: has no effect: no switch or NIC has more than one queue; write scheduling = \"strict_priority\" in [switch] and [host], or remove it";
    pfabric_without_its_queues: STAR, [("ecn = { k = \"65kB\" }\n", ""), ("congestion = \"dctcp\"", "kind = \"pfabric\"")],
        "fabric.toml:13: key host.transport.kind: \"pfabric\" sends with the bytes left of each flow, and no switch looks at them: write scheduling = \"pfabric\" in [switch] \
         and [host], or rank = \"none\"";
    pfabric_queues_without_its_transport: STAR, [("buffer = \"1MB\"\necn = { k = \"65kB\" }\n", "buffer = \"36kB\"\nscheduling = \"pfabric\"\n"), ("\"dctcp\"", "\"cubic\"")],
        "fabric.toml:11: key switch.scheduling: \"pfabric\" serves the flow with the fewest bytes left, and no traffic says how many it has left: write kind = \"pfabric\" in [host.transport]";
    ndp_without_trimming: STAR, [("ecn = { k = \"65kB\" }\n", ""), ("congestion = \"dctcp\"", "kind = \"ndp\"")],
        "fabric.toml:13: key host.transport.kind: waits for headers of data that found no room, and no switch sends any: full queues drop, and what they drop is missed only \
         after `rto`; write trimming = {} in [switch]";
    trimming_of_what_cannot_be_trimmed: STAR, [("buffer = \"1MB\"\necn = { k = \"65kB\" }\n", "trimming = {}\n"), ("\"dctcp\"", "\"cubic\"")],
        "fabric.toml:10: key switch.trimming: no data can be cut to headers, so full queues drop them: write kind = \"ndp\" in [host.transport], or remove it";
    d2tcp_without_deadlines: STAR, [("\"dctcp\"", "\"d2tcp\"")],
        "fabric.toml:14: key host.transport.congestion: D2TCP is DCTCP here: no flow has a deadline; write deadline = \"10ms\" in [[traffic]]";

    a_buffer_below_a_frame: STAR, [("\"1MB\"", "\"1kB\""), ("ecn = { k = \"65kB\" }\n", ""), ("\"dctcp\"", "\"cubic\"")],
        "fabric.toml:10: key switch.buffer: \"1kB\": no full frame fits in, so all of them are dropped: write at least \"1518B\"";
    a_static_queue_below_a_frame: STAR, [("buffer = \"1MB\"", "sharing = \"static\"\nbuffer = \"1kB\""), ("ecn = { k = \"65kB\" }\n", ""), ("\"dctcp\"", "\"cubic\"")],
        "fabric.toml:11: key switch.buffer: \"1kB\": no full frame fits in, so all of them are dropped: write at least \"1518B\"";
    a_share_below_a_frame: STAR, [("buffer = \"1MB\"", "buffer = \"3kB\"\nalpha = 0.1"), ("ecn = { k = \"65kB\" }\n", ""), ("\"dctcp\"", "\"cubic\"")],
        "fabric.toml:11: key switch.alpha: 0.1 of the buffer of 3kB and the reserve are 300 B, and a full frame has 1518 B, so all of them are dropped: write more alpha or buffer";
    a_trimming_queue_below_a_frame: STAR, [("buffer = \"1MB\"\necn = { k = \"65kB\" }\n", "trimming = { data = \"1kB\" }\n"), ("congestion = \"dctcp\"", "kind = \"ndp\"")],
        "fabric.toml:10: key switch.trimming: its queue of 1kB holds no full frame: write at least \"1518B\"";
    a_nic_queue_below_a_frame: STAR, [("[host.transport]", "[host]\nqueue = \"1kB\"\n\n[host.transport]")],
        "fabric.toml:14: key host.queue: \"1kB\": no full frame fits in, so all of them are dropped: write at least \"1518B\"";
    a_link_without_room_for_a_syn: STAR, [("[switch]", "[[topology.override]]\nlink = \"host1-switch0\"\nmtu = \"45B\"\n\n[switch]")],
        "fabric.toml:9: key topology.override: \"host1-switch0\" discards frames above 63 B, and a SYN has 70 B, so no TCP connection opens: write a larger mtu for the link";
    pacing_of_bbr: STAR, [("ecn = { k = \"65kB\" }\n", ""), ("\"dctcp\"", "\"bbr\"\npacing = false")],
        "fabric.toml:14: key host.transport.pacing: has no effect: this congestion control always paces; remove it";
    reduction_of_bbr: STAR, [("ecn = { k = \"65kB\" }\n", ""), ("\"dctcp\"", "\"bbr\"\nprr = false")],
        "fabric.toml:14: key host.transport.prr: has no effect: this congestion control sets its own window after a loss; remove it";
    a_timer_wheel_without_ticks: STAR, [("\"dctcp\"", "\"dctcp\"\ntimer_wheel = \"cascading\"")],
        "fabric.toml:15: key host.transport.timer_wheel: has no effect, because timers are exact without tick: write tick = \"4ms\", or remove it";
    reorder_queues_without_bound: LOSSLESS, [("sharing = \"sonic\"", "sharing = \"sonic\"\nbalance = { kind = \"conweave\", reorder_queues = 4, reorder_memory = \"unbounded\" }")],
        "fabric.toml:13: key switch.balance.reorder_queues: has no effect with reorder_memory = \"unbounded\": remove one of the two";
    a_hash_without_a_choice: STAR, [("buffer = \"1MB\"", "buffer = \"1MB\"\nhash = \"symmetric\"")],
        "fabric.toml:11: key switch.hash: has no effect: this fabric has one path between any two hosts; remove it, or write another [topology]";
    records_of_datagrams: STAR, [("ecn = { k = \"65kB\" }\n", ""), ("[[traffic]]\nkind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", "[record]\nsenders = \"10us\"\n\n[[traffic]]\nkind = \"datagram\"\npairs = [[0, 1]]\nrate = \"1Gbps\"\nduration = \"1ms\"")],
        "fabric.toml:16: key record.senders: records nothing, because the transports of all traffic have no records of senders: remove it";
    uplinks_of_a_star: STAR, [("[[traffic]]", "[record]\nimbalance = \"100us\"\n\n[[traffic]]")],
        "fabric.toml:17: key record.imbalance: records nothing, because no switch has an uplink: write record.ports for the ports of switches, or remove it";
    round_trips_of_rdma: LOSSLESS, [("[[traffic]]", "[record]\nround_trips = true\n\n[[traffic]]")],
        "fabric.toml:24: key record.round_trips: records nothing, because no traffic is TCP or MPTCP: remove it";
    hand_over_of_no_rdma: STAR, [("[host.transport]", "[host.timing]\nnic_send = \"100ns\"\n\n[host.transport]")],
        "fabric.toml:14: key host.timing.nic_send: has no effect, because no traffic is RDMA, and `send` delays all other frames: write send, or remove it";
    subflows_between_single_nics: STAR, [("congestion = \"dctcp\"", "congestion = \"dctcp\"\nmptcp = { manager = \"fullmesh\", coupling = \"off\" }")],
        "fabric.toml:15: key host.transport.mptcp.manager: opens one subflow per connection, because every host has one NIC: write \"ndiffports\" for several subflows over one NIC, or connect hosts to several switches";
    a_length_of_no_capture: STAR, [("[[traffic]]", "[record]\nsnaplen = \"200B\"\n\n[[traffic]]")],
        "fabric.toml:17: key record.snaplen: has no effect, because nothing is captured: write capture, or remove it";
    a_record_of_no_reordering: STAR, [("[[traffic]]", "[record]\nreorder = \"10us\"\n\n[[traffic]]")],
        "fabric.toml:17: key record.reorder: records nothing: no switch reorders frames; write balance = \"conweave\", or remove it";

    traffic_after_the_end: STAR, [("bytes = \"256kB\"\n", "bytes = \"256kB\"\n\n[[traffic]]\nkind = \"pairs\"\npairs = [[0, 1]]\nsizes = \"1MB\"\nstart = \"3000s\"\n\n[run]\nuntil = \"1ms\"\n")],
        "fabric.toml:26: key traffic[1].start: this traffic never starts, because the run ends at run.until = \"1ms\"; write an earlier time, or a later run.until";
    an_outage_after_the_end: STAR, [("[switch]", "[[topology.fault]]\nlink = \"host1-switch0\"\ndown = [{ from = \"2ms\", to = \"3ms\" }]\n\n[switch]"), ("bytes = \"256kB\"\n", "bytes = \"256kB\"\n\n[run]\nuntil = \"1ms\"\n")],
        "fabric.toml:9: key topology.fault: the link host1-switch0 never goes down, because the run ends at run.until = \"1ms\"; write an earlier time, or a later run.until";
    a_warm_up_that_no_flow_outlasts: STAR, [("bytes = \"256kB\"\n", "bytes = \"256kB\"\n\n[run]\nwarmup = \"1ms\"\n")],
        "fabric.toml:23: key run.warmup: all flows start before \"1ms\", so no flow counts in the statistics; write a shorter warm-up";
}

/// Tests settings that draw no warning: only a part of the traffic reacts, RED is meant to drop,
/// NICs mark.
/// Tests that profiles of devices, which have all keys, draw no warning.
#[test]
fn written_defaults_of_lossy_queues() {
    let profile = changed(
        LOSSLESS,
        &[("buffer = \"4MB\"", "buffer = \"4MB\"\nalpha = 8\nreserved = \"1792B\"")],
    );
    assert_eq!(warnings(&profile), [""; 0]);
}

#[test]
fn what_is_meant_is_not_warned_of() {
    for changes in [
        vec![("k = \"65kB\"", "k = \"65kB\", incapable = \"drop\""), ("\"dctcp\"", "\"cubic\"")],
        vec![
            ("ecn = { k = \"65kB\" }\n", "aqm = { kind = \"fq_codel\" }\n"),
            ("\"dctcp\"", "\"cubic\""),
        ],
        vec![
            ("ecn = { k = \"65kB\" }\n", ""),
            ("[host.transport]", "[host]\nnic_ecn = { k = \"30kB\" }\n\n[host.transport]"),
        ],
        vec![("senders = 4", "senders = 4\npriority = 0")],
        vec![
            ("k = \"65kB\"", "k = \"65kB\", incapable = \"pass\""),
            ("\"dctcp\"", "\"cubic\"\necn = \"classic\""),
        ],
        vec![
            ("k = \"65kB\"", "k = \"65kB\", incapable = \"drop\""),
            ("\"dctcp\"", "\"cubic\"\necn = \"classic\""),
        ],
        vec![
            ("[[traffic]]", "[run]\nengine = \"ideal\"\n\n[[traffic]]"),
            ("ecn = { k = \"65kB\" }\n", ""),
        ],
        vec![(
            "kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"",
            "kind = \"random\"\nsizes = \"100kB\"\nload = 1.0\nload_basis = \"host_wire\"\nduration = \"1ms\"",
        )],
    ] {
        let text = changed(STAR, &changes);
        assert_eq!(warnings(&text), [""; 0], "{text}");
    }
}

/// Tests that each key of lossless priorities is named.
#[test]
fn several_lossless_keys_without_pfc() {
    let mmu = "buffer = \"1MB\"\nsharing = \"sonic\"\nmmu = { lossless_alpha = 0.5, xon = \"2kB\", xon_offset = \"3kB\" }";
    let said = warnings(&changed(STAR, &[("buffer = \"1MB\"", mmu)]));
    let keys = said.iter().map(|text| text.split(": ").nth(1).unwrap());
    assert_eq!(
        keys.collect::<Vec<_>>(),
        ["lossless_alpha", "xon", "xon_offset"].map(|name| format!("key switch.mmu.{name}"))
    );
}

/// Tests a value for all queues that some switches use: those whose queues have no value of their
/// own.
#[test]
fn a_value_of_all_queues_for_some_switches() {
    let queues = |keys: &str| {
        format!("scheduling = \"dwrr\"\nqueue = [{{ weight = 1{keys} }}, {{ weight = 1{keys} }}]")
    };
    let own = ", alpha = 2";
    let text = |base: &str, of_leaf: &str| {
        format!(
            "format = 1\n[topology]\nkind = \"leaf_spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n[switch]\nalpha = 1\n{base}\n[[switch.override]]\n\
             match = \"leaf*\"\n{of_leaf}\n[[traffic]]\nkind = \"incast\"\nto = 0\nbytes = \"1kB\"\n"
        )
    };
    assert_eq!(warnings(&text(&queues(own), &queues(""))), [""; 0]);
    assert_eq!(warnings(&text(&queues(own), &(queues("") + "\nalpha = 3"))).len(), 1);
    assert_eq!(warnings(&text(&queues(own), "alpha = 3")).len(), 2);
    assert_eq!(warnings(&text(&queues(""), &(queues(own) + "\nalpha = 3"))).len(), 1);
    assert_eq!(warnings(&text("", &queues(own))), [""; 0]);
}

/// Tests a load of the hosts' links that the fabric cannot carry.
#[test]
fn an_oversubscribed_fabric() {
    let text = r#"format = 1
[topology]
kind = "leaf_spine"
leaves = 4
spines = 2
hosts_per_leaf = 8
host_rate = "25Gbps"
uplink_rate = "25Gbps"
delay = "1us"
[[traffic]]
kind = "random"
sizes = "100kB"
load = 0.5
load_basis = "host_wire"
duration = "1ms"
"#;
    let said = warnings(text);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("fabric.toml:13: key traffic[0].load: offers the uplinks of each rack 1.55 times what they carry"), "{said:?}");
    assert_eq!(warnings(&text.replace("0.5", "0.3")), [""; 0]);
}

/// Tests that the note on load says what the busiest source sends with a matrix, and that an overload
/// of its link draws a warning. Only the hosts of the first rack send.
#[test]
fn a_matrix_that_overloads_sources() {
    let matrix = folder("load_of_sources_by_matrix").join("weights.json");
    std::fs::write(&matrix, "[[0, 1], [0, 0]]").unwrap();
    let text = format!(
        "format = 1\n[topology]\nkind = \"leaf_spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100Gbps\"\n[[traffic]]\nkind = \"random\"\n\
         sizes = \"14600B\"\nload = 0.6\nload_basis = \"host_payload\"\nduration = \"100us\"\nmatrix = \"{}\"\n",
        matrix.display()
    );
    let of_load = |text: &str| {
        let mut said = warnings(text);
        said.retain(|warning| warning.contains("traffic[0].load"));
        said
    };
    assert_eq!(
        of_load(&text),
        [
            "fabric.toml:11: key traffic[0].load: offers host0 126.41 Gbps (headers included) for a link of 100 Gbps: its queue grows as long as this lasts; lower the rate"
        ]
    );
    let notes = parse(&text).unwrap_or_else(|error| panic!("{error}")).notes;
    let said = "load 0.6 of \"host_payload\" is 60.00 % of a source's link in payload on average, and 120.00 % of that of the busiest source";
    assert!(notes.iter().any(|note| note.ends_with(said)), "{notes:?}");
    assert_eq!(of_load(&text.replace("0.6", "0.4")), [""; 0]);
}

/// Tests a changed buffer that leaves the pool unchanged: from the command line, from an edited
/// import, over a preset. Also tests cases in which it has an effect.
#[test]
fn a_buffer_that_sizes_nothing() {
    let text = changed(
        LOSSLESS,
        &[
            ("kind = \"rdma\"", "congestion = \"dctcp\""),
            ("\npriority = 3", ""),
            (
                "[switch.pfc]\npriorities = [3]\nheadroom = \"40kB\"\n",
                "[switch.mmu]\nlossy_pool = \"3MB\"\n",
            ),
        ],
    );
    let said = warnings(&text);
    let expected = "fabric.toml:13: key switch.buffer: has no effect: all traffic is lossy and shares 3MB, because mmu.lossy_pool is set; set mmu.lossy_pool too, or remove it, so that it is derived from the buffer";
    assert_eq!(said, [expected]);
    // The threshold of all lossy queues together follows from the pool, so the buffer has an
    // effect.
    assert_eq!(warnings(&text.replace("lossy_pool = \"3MB\"", "cell = \"256B\"")), [""; 0]);

    let both = changed(
        LOSSLESS,
        &[
            ("[host.transport]", "[switch.mmu]\nlossy_pool = \"1MB\"\n\n[host.transport]"),
            (
                "[[traffic]]",
                "[host.transports.tcp]\ncongestion = \"dctcp\"\n\n[[traffic]]\nkind = \"pairs\"\npairs = [[0, 1]]\nsizes = \"1MB\"\ntransport = \"tcp\"\n\n[[traffic]]",
            ),
        ],
    );
    assert_eq!(warnings(&both), [""; 0], "lossless traffic uses the rest");
    let set = |pairs: &[(&str, &str)]| Overrides {
        set: pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        ..Overrides::default()
    };
    let of = |pairs: &[(&str, &str)]| {
        parse_with(&both, &set(pairs))
            .unwrap()
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let expected = "fabric.toml: --set switch.buffer=6MB: key switch.buffer: does not change the 1MB that lossy traffic shares, because mmu.lossy_pool is set; set mmu.lossy_pool too, or remove it, so that it is derived from the buffer";
    assert_eq!(of(&[("switch.buffer", "6MB")]), [expected]);
    assert_eq!(of(&[("switch.buffer", "6MB"), ("switch.mmu.lossy_pool", "2MB")]), [""; 0]);
}

/// Tests that a resolved scenario draws the warnings of the scenario, about the same keys whatever
/// their lines.
#[test]
fn resolved_scenarios_are_warned_of_alike() {
    for (base, changes) in [
        (STAR, vec![("ecn = { k = \"65kB\" }\n", "")]),
        (STAR, vec![("congestion = \"dctcp\"", "congestion = \"cubic\"")]),
        (
            STAR,
            vec![
                (
                    "[host.transport]",
                    "[host.transport]\ncongestion = \"bbr\"\n\n[host.transports.marked]",
                ),
                ("senders = 4", "senders = 4\ntransport = \"marked\""),
            ],
        ),
        (STAR, vec![("senders = 4", "senders = 4\npriority = 5")]),
        (LOSSLESS, vec![("kind = \"rdma\"", "congestion = \"dctcp\""), ("\npriority = 3", "")]),
        (STAR, vec![]),
    ] {
        let scenario = parse(&changed(base, &changes)).unwrap();
        let again = parse(&scenario.resolved).unwrap();
        let told = |scenario: &afflux_scenario::Scenario| {
            scenario
                .warnings
                .iter()
                .map(|one| (one.key.clone(), one.text.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&again), told(&scenario), "{}", scenario.resolved);
    }
}

#[test]
fn exact_hosts_behind_one_drop_tail_port() {
    let star = |host: &str, switch: &str, rate: &str| {
        let uplink = if rate.is_empty() {
            String::new()
        } else {
            format!("[[topology.override]]\nlink = \"host0-switch0\"\nrate = \"{rate}\"\n")
        };
        STAR.replace(
            "[switch]\nbuffer = \"1MB\"\necn = { k = \"65kB\" }",
            &format!("{uplink}[switch]\n{switch}"),
        )
        .replace(
            "[host.transport]\ncongestion = \"dctcp\"",
            &format!("[host]\n{host}\n[host.transport]\ncongestion = \"cubic\""),
        )
    };
    let said = warnings(&star("timing = \"exact\"", "buffer = \"1MB\"", ""));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("key host.timing")
            && said[0].contains("share the drop-tail port to host0"),
        "{said:?}"
    );
    for quiet in [
        star("delay = \"1us\"", "buffer = \"1MB\"", ""),
        star("timing = {}", "buffer = \"1MB\"", ""),
        star("timing = \"exact\"", "buffer = \"1MB\"\necn = { k = \"65kB\" }", ""),
        star("timing = \"exact\"", "buffer = \"1MB\"", "1Gbps"),
    ] {
        assert!(!warnings(&quiet).iter().any(|warning| warning.contains("host.timing")), "{quiet}");
    }
}

/// Tests the warning about long flows with classic ECN whose windows exceed kmax even at the
/// highest marking probability below it: a connection that is opened later loses its SYN.
#[test]
fn a_standing_queue_that_drops_what_is_not_capable() {
    let star = |ecn: &str, more: &str| {
        changed(
            STAR,
            &[
                ("ecn = { k = \"65kB\" }", &format!("ecn = {{ {ecn} }}")),
                ("\"dctcp\"", "\"cubic\"\necn = \"classic\""),
                ("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", more),
            ],
        )
    };
    // Sixteen flows. The last of them begin when eight are active, which is enough: 65 kB are 42
    // frames, and 42 / 5.5 = 7.7.
    let long = "kind = \"pairs\"\npairs = [[1, 0], [2, 0], [3, 0], [4, 0]]\nsizes = \"1GB\"\nrounds = 4\nperiod = \"1us\"";
    let curve = "kmin = \"30kB\", kmax = \"65kB\", pmax = 0.05, incapable = \"drop\"";
    let said = warnings(&star(curve, long));
    let expected = "fabric.toml:11: key switch.ecn: can starve connections to host0: 16 long flows with ecn = \"classic\" go there at once, and with pmax = 0.05 each keeps \
                    about 5.5 segments, so that the queue is above kmax (65kB) again and again, where frames that are not ECN-capable are dropped: a connection whose SYN is \
                    lost there does without ECN, and then its data are dropped, too; raise pmax or kmax, or write incapable = \"pass\"";
    assert_eq!(said, [expected]);
    for quiet in [
        // Scenarios without the warning: frames that are not ECN-capable pass; fewer or shorter
        // flows; flows to several hosts or all at once; more marks; a longer curve.
        star("kmin = \"30kB\", kmax = \"65kB\", pmax = 0.05, incapable = \"pass\"", long),
        star(curve, &long.replace("\nrounds = 4\nperiod = \"1us\"", "")),
        star(curve, &long.replace("1GB", "20kB").replace("1us", "1ms")),
        star(
            curve,
            &long
                .replace("[2, 0]", "[0, 2]")
                .replace("[3, 0]", "[0, 3]")
                .replace("[4, 0]", "[0, 4]")
                .replace("rounds = 4", "rounds = 7"),
        ),
        star(curve, "kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"1GB\""),
        star("kmin = \"30kB\", kmax = \"65kB\", pmax = 1.0, incapable = \"drop\"", long),
        star("kmin = \"30kB\", kmax = \"160kB\", pmax = 0.05, incapable = \"drop\"", long),
    ] {
        assert_eq!(warnings(&quiet), [""; 0], "{quiet}");
    }
    // Traffic without ECN draws the warning even if it is not opened later. Here the long flows are
    // open from the start.
    let open = |more: &str| {
        let text = star(curve, &format!("{long}{more}"))
            .replace("ecn = \"classic\"", "ecn = \"classic\"\nhandshake = false");
        text.replacen(
            "[[traffic]]",
            "[host.transports.plain]\ncongestion = \"cubic\"\n\n[[traffic]]",
            1,
        )
    };
    let plain = "\n\n[[traffic]]\nkind = \"pairs\"\npairs = [[1, 0]]\nsizes = \"1MB\"\ntransport = \"plain\"";
    let starves = |text: &str| {
        warnings(text).iter().filter(|warning| warning.contains("can starve connections")).count()
    };
    assert_eq!([open(""), open(plain)].map(|text| starves(&text)), [0, 1]);
}

/// Tests NDP, whose senders choose a path for each frame, over switches that choose one for each
/// flow.
#[test]
fn senders_that_choose_paths() {
    let with = |keys: &str| {
        let text = crate::common::VALID
            .replace("kind = \"tcp\"\ncongestion = \"dctcp\"", "kind = \"ndp\"")
            .replace("buffer = \"9MB\"\nalpha = 1.0", &format!("trimming = {{}}\n{keys}"))
            .replace("[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2\n", "");
        let found = warnings(&text);
        found.into_iter().filter(|warning| warning.contains("transport.spread")).collect::<Vec<_>>()
    };
    for (keys, cure) in [
        ("balance = \"letflow\"", "balance = \"ecmp\""),
        ("balance = \"glb\"", "balance = \"ecmp\""),
        ("hash = \"murmur3\"", "another hash"),
    ] {
        let found = with(keys);
        let expected = format!(
            "key host.transport.spread: has no effect: switches with {keys} choose paths for flows, not for frames; write {cure} in [switch], or spread = false"
        );
        assert!(found.len() == 1 && found[0].ends_with(&expected), "{found:?}");
    }
    for quiet in ["balance = \"ecmp\"", "balance = \"spray\""] {
        assert_eq!(with(quiet), [""; 0]);
    }
}

/// Tests the warning about size files of ns-2: they have a column of ranks, and their sizes count
/// packets.
#[test]
fn sizes_in_three_columns_without_a_unit() {
    let file = crate::common::folder("ns2_sizes").join("sizes.txt");
    std::fs::write(&file, "1 1 0\n6 1 0.5\n100 1 1\n").unwrap();
    let with = |sizes: &str| {
        let block = format!(
            "kind = \"random\"\nsizes = {sizes}\nload = 0.2\nload_basis = \"host_wire\"\nduration = \"1ms\""
        );
        warnings(&changed(
            STAR,
            &[("kind = \"incast\"\nto = 0\nsenders = 4\nbytes = \"256kB\"", &block)],
        ))
    };
    let path = file.to_str().unwrap();
    let expected = "fabric.toml:18: key traffic[0].sizes: has three columns, as files of ns-2, whose sizes usually count packets, and is read as bytes: write \
                    unit = \"1460B\", or unit = \"1B\" if they are bytes";
    assert_eq!(with(&format!("\"{path}\"")), [expected]);
    for unit in ["1460B", "1B"] {
        assert_eq!(with(&format!("{{ file = \"{path}\", unit = \"{unit}\" }}")), [""; 0], "{unit}");
    }
}

/// Kernels over a star with PFC and marks, like the packets of their programs that have DSCP 26.
const KERNELS: &str = r#"format = 1

[topology]
kind = "star"
hosts = 5
rate = "10Gbps"
delay = "1us"

[switch]
sharing = "sonic"
buffer = "4MB"
ecn = { kmin = "100kB", kmax = "400kB", pmax = 0.2 }

[switch.pfc]
priorities = [3]
headroom = "40kB"

[host]
dscp_to_priority = { 3 = 1, 26 = 3 }

[[host.kernel]]
match = "host*"
run = "nc -l -p 5001"

[run]
until = "2s"
"#;

warns! {
    pfc_that_no_dscp_of_kernels_has: KERNELS, [(", 26 = 3", "")],
        "fabric.toml:15: key switch.pfc.priorities: PFC pauses nothing: no traffic has priority 3; write priority = 3 in a [[traffic]] block, or \
         host.dscp_to_priority for packets of kernels, or pfc = \"off\"";
    pfc_that_no_kernel_obeys: KERNELS, [("[host]", "[host]\nhonours_pause = false"), ("sharing = \"sonic\"", "sharing = \"sonic\"\nhonours_pause = false")],
        "fabric.toml:16: key switch.pfc.priorities: PFC pauses nothing: no neighbour of a switch with PFC obeys PAUSE frames; remove honours_pause = false";
}

/// Kernels send with the priority that PFC pauses and may use ECN, although the flows beside them do
/// neither.
#[test]
fn kernels_beside_flows_need_pfc_and_marks() {
    let flows = "[host.transport]\ncongestion = \"cubic\"\n\n[[traffic]]\nkind = \"pairs\"\npairs = [[3, 4]]\nsizes = \"1MB\"\n\n[run]";
    let mixed = [("[run]", flows), ("host*", "host[0-2]")];
    assert_eq!(warnings(&changed(KERNELS, &mixed)), [""; 0]);
}
