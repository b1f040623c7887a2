//! Tests the error messages of wrong scenarios: file, line, key, what was found, what is allowed
//! and the nearest spelling.

use crate::common::{NoParquet, VALID, error, folder, parse, parse_with};
use afflux_scenario::Overrides;

/// Defines a test that replaces text in the valid scenario and expects the whole message. A message
/// that ends with an ellipsis is expected as the beginning, because a list of models follows.
macro_rules! says {
    ($($name:ident: $from:literal => $to:literal, $message:literal;)+) => {$(
        #[test]
        fn $name() {
            let (told, message): (String, &str) = (error($from, $to), $message);
            match message.strip_suffix('…') {
                Some(beginning) => assert_eq!(told.get(..beginning.len()), Some(beginning), "{told}"),
                None => assert_eq!(told, message),
            }
        }
    )+};
}

says! {
    unknown_key: "alpha = 1.0" => "aplha = 1.0",
        "fabric.toml:13: key switch.aplha: unknown key (did you mean \"alpha\"?); the keys here are override, preset, buffer, sharing, alpha, reserved, mmu, pfc, \
         honours_pause, voq, queue_length, device_queue, drop_when, ecn, aqm, trimming, scheduling, priorities, quantum, forwarding, cut_through_header, latency, processor, balance, hash, queue";
    unknown_top_level_key: "[run]" => "[runs]",
        "fabric.toml:44: key runs: unknown key (did you mean \"run\"?); the keys here are format, name, description, topology, switch, host, traffic, run, record, cost, sonic";
    unknown_key_in_a_traffic_block: "senders = 3" => "sender = 3",
        "fabric.toml:40: key traffic[1].sender: unknown key (did you mean \"senders\"?); the keys here are name, class, priority, dscp, start, stop, deadline, seed, persistent, transport, \
         to, senders, random_senders, hosts, bytes, total, rounds, period, closed_loop, request_delay, jitter";
    wrong_unit: "\"9MB\"" => "\"9Mb\"",
        "fabric.toml:12: key switch.buffer: \"9Mb\" has the wrong unit for a size: write a number with B, kB, MB, GB, TB (powers of ten) or KiB, MiB, GiB, TiB \
         (powers of two), as in \"9MB\", or packets, as in \"100packets\"";
    no_unit: "\"9MB\"" => "9000000",
        "fabric.toml:12: key switch.buffer: found 9000000: write a size in quotes with its unit, as in \"9MB\", or packets, as in \"100packets\"";
    negative_size: "\"64kB\"" => "\"-64kB\"",
        "fabric.toml:41: key traffic[1].bytes: \"-64kB\" is negative: write a size of 0 or more";
    a_negative_deadline: "senders = 3" => "senders = 3\ndeadline = \"-1ms\"",
        "fabric.toml:41: key traffic[1].deadline: \"-1ms\" is negative: write a time of 0 or more, or \"off\"";
    a_deadline_of_ages: "senders = 3" => "senders = 3\ndeadline = \"99999999h\"",
        "fabric.toml:41: key traffic[1].deadline: \"99999999h\" is too large for a time: write less, or \"off\"";
    a_seed_with_a_point: "seed = 7" => "seed = 1.0",
        "fabric.toml:45: key run.seed: found 1.0: write a whole number from 0 to 9223372036854775807";
    a_seed_of_more_than_63_bits: "seed = 7" => "seed = 18446744073709551615",
        "fabric.toml:45: key run.seed: found 18446744073709551615: write a number from 0 to 9223372036854775807";
    negative_threads: "seed = 7" => "seed = 7\nthreads = -1",
        "fabric.toml:46: key run.threads: found -1: write a number from 1 to 1024";
    negative_rounds: "senders = 3" => "senders = 3\nrounds = -1",
        "fabric.toml:41: key traffic[1].rounds: found -1: write at least 1, up to 4294967295";
    zero_rounds: "senders = 3" => "senders = 3\nrounds = 0",
        "fabric.toml:41: key traffic[1].rounds: found 0: write at least 1";
    a_negative_window: "congestion = \"dctcp\"" => "congestion = \"dctcp\"\ninitial_window = -1",
        "fabric.toml:26: key host.transport.initial_window: found -1: write at least 1 segment, up to 4294967295";
    a_negative_number_of_packets: "congestion = \"dctcp\"" => "congestion = \"dctcp\"\nretries = -1",
        "fabric.toml:26: key host.transport.retries: found -1: write a whole number up to 4294967295, not negative, or \"unlimited\"";
    gentle_beside_a_step: "kmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "k = \"100kB\"\ngentle = true",
        "fabric.toml:17: key switch.ecn.gentle: has no effect with k (a step): remove it";
    senders_that_end_at_once: "senders = 3" => "senders = 3\nstop = \"0s\"",
        "fabric.toml:41: key traffic[1].stop: \"0s\": write a time above 0, up to 160h";
    a_receiver_without_a_name: "to = 0" => "to = \"\"",
        "fabric.toml:39: key traffic[1].to: there is no node \"\": the nodes are …";
    a_delay_of_ages: "delay = \"1us\"" => "delay = \"1000h\"",
        "fabric.toml:9: key topology.delay: \"1000h\": a link's delay is at most one hour";
    a_rate_that_is_rounded_to_0: "host_rate = \"100Gbps\"" => "host_rate = \"0.000001bps\"",
        "fabric.toml:8: key topology.host_rate: \"0.000001bps\": a link has a rate above 0";
    sizes_with_an_unknown_unit: "\"websearch\"" => "\"10PB\"",
        "fabric.toml:32: key traffic[0].sizes: \"10PB\" has the wrong unit for a size: write a number with B, kB, MB, GB, TB (powers of ten) or KiB, MiB, GiB, TiB (powers of two), as in \"9MB\"";
    sizes_with_a_fraction_and_an_unknown_unit: "\"websearch\"" => "\"1.5 Mb\"",
        "fabric.toml:32: key traffic[0].sizes: \"1.5 Mb\" has the wrong unit for a size: write …";
    sizes_without_a_unit: "\"websearch\"" => "\"1000\"",
        "fabric.toml:32: key traffic[0].sizes: \"1000\" has the wrong unit for a size: write …";
    wrong_type: "hosts_per_leaf = 4" => "hosts_per_leaf = \"four\"",
        "fabric.toml:7: key topology.hosts_per_leaf: found \"four\": write a number from 1 to 4000000";
    three_hosts_in_a_pair: "kind = \"incast\"" => "kind = \"datagram\"\nrate = \"1Gbps\"\npairs = [[1, 0], [2, 0, 3]]",
        "fabric.toml:40: key traffic[1].pairs[1]: found 3 elements: write an array of 2 elements";
    zero_rate: "host_rate = \"100Gbps\"" => "host_rate = \"0Gbps\"",
        "fabric.toml:8: key topology.host_rate: \"0Gbps\": a link has a rate above 0";
    a_rate_at_which_frames_take_no_time: "host_rate = \"100Gbps\"" => "host_rate = \"1000000Gbps\"",
        "fabric.toml:8: key topology.host_rate: \"1000000Gbps\": a link has at most 100Tbps";
    a_watchdog_of_a_lossy_priority: "[switch]\n" => "[switch]\nsharing = \"sonic\"\npfc = { priorities = [3], watchdog = { priorities = [4] } }\n",
        "fabric.toml:13: key switch.pfc.watchdog.priorities: write one or more of the lossless priorities, pfc.priorities";
    zero_delay: "delay = \"1us\"" => "delay = \"0us\"",
        "fabric.toml:9: key topology.delay: \"0us\": a link has a delay above 0, as in \"1us\" (or \"5ns\" for a metre of cable)";
    unknown_topology: "\"leaf_spine\"" => "\"leafspine\"",
        "fabric.toml:4: key topology.kind: \"leafspine\" is not known (did you mean \"leaf_spine\"?): write \"star\", \"dumbbell\", …";
    topology_without_kind: "kind = \"leaf_spine\"\n" => "",
        "fabric.toml:3: key topology: the key \"kind\" is missing: write kind = \"star\", \"dumbbell\", …";
    missing_key: "spines = 2\n" => "",
        "fabric.toml:3: key topology: the key \"spines\" is missing";
    host_out_of_range: "to = 0" => "to = 8",
        "fabric.toml:39: key traffic[1].to: host 8 is out of range: the fabric has the hosts 0 to 7";
    named_host_out_of_range: "to = 0" => "to = \"host8\"",
        "fabric.toml:39: key traffic[1].to: there is no node \"host8\": hosts are host0 to host7; or write \"all\", a range of numbers as in \"0-15\", \
         or a pattern as in \"host1[2-8]\"";
    a_pattern_of_no_host: "to = 0" => "to = \"host[8-12]\"",
        "fabric.toml:39: key traffic[1].to: no host matches \"host[8-12]\": the hosts are host0 to host7; or write \"all\", a range of numbers as in \"0-15\", \
         or a pattern as in \"host1[2-8]\"";
    a_pattern_without_end: "to = 0" => "to = [1, \"host[2-\"]",
        "fabric.toml:39: key traffic[1].to[1]: \"host[2-\": the bracket does not end: write ]; or write \"all\", a range of numbers as in \"0-15\", or a pattern as in \"host1[2-8]\"";
    several_hosts_for_one: "bytes = \"64kB\"\ntransport = \"bulk\"" => "bytes = \"64kB\"\ntransport = \"bulk\"\n\n[[traffic]]\nkind = \"hadoop\"\nsize = \"1GB\"\n[traffic.cluster]\nmaster = \"host[1-2]\"",
        "fabric.toml:48: key traffic[2].cluster.master: names 2 hosts: write one host";
    a_switch_as_host: "to = 0" => "to = \"leaf0\"",
        "fabric.toml:39: key traffic[1].to: \"leaf0\" is a switch: write hosts";
    too_many_senders: "senders = 3" => "senders = 8",
        "fabric.toml:40: key traffic[1].senders: found 8: allowed is 1 to 7 (the receiver does not send to itself)";
    load_without_basis: "load_basis = \"host_payload\"\n" => "",
        "fabric.toml:33: key traffic[0].load: load = 0.5 needs load_basis, the capacity that load is a fraction of: write \"host_payload\", \"host_wire\", \
         \"fabric_oversub\", \"bisection\" or \"max_link\"";
    unknown_basis: "\"host_payload\"" => "\"host-payload\"",
        "fabric.toml:34: key traffic[0].load_basis: \"host-payload\" is not known (did you mean \"host_payload\"?): write \"host_payload\", \"host_wire\", \
         \"fabric_oversub\", \"bisection\" or \"max_link\"";
    negative_load: "load = 0.5" => "load = -0.5",
        "fabric.toml:33: key traffic[0].load: found -0.5: write a number above 0, as in 0.5 for one half";
    no_end: "duration = \"1ms\"\n" => "",
        "fabric.toml:30: key traffic[0]: the end is missing: write duration (time during which flows start) or flows (their number)";
    unknown_transport: "transport = \"bulk\"" => "transport = \"bluk\"",
        "fabric.toml:42: key traffic[1].transport: there is no transport \"bluk\" (did you mean \"bulk\"?): write \"default\" or \"bulk\"";
    unknown_wire_profile: "\"ethernet\"" => "\"ethrnet\"",
        "fabric.toml:21: key host.wire: \"ethrnet\" is not a known profile (did you mean \"ethernet\"?): write \"ethernet\", \"ethernet_timestamps\", \"linux\", \"ns3p2p\", \"ns3rdma\", \"rocev2\", \"pfabric\" or \
         \"htsim\", or a table with your own sizes";
    unknown_congestion_control: "\"newreno\"" => "\"reno\"",
        "fabric.toml:28: key host.transports.bulk.congestion: \"reno\" is not known: write \"newreno\", \"dctcp\", …";
    bbr_without_quantum: "\"newreno\"" => "\"bbr\"\nbbr = { send_quantum = 0 }",
        "fabric.toml:29: key host.transports.bulk.bbr.send_quantum: write 1 to 127 segments, or \"auto\"";
    quantum_of_ns3: "\"newreno\"" => "\"bbr\"\nbbr = { flavour = \"ns3\", send_quantum = 2 }",
        "fabric.toml:29: key host.transports.bulk.bbr.send_quantum: flavour = \"ns3\" supports 1 only: write 1 or remove it";
    flavour_of_bbr3: "\"newreno\"" => "\"bbr3\"\nbbr3 = { flavour = \"ns3\" }",
        "fabric.toml:29: key host.transports.bulk.bbr3.flavour: has no effect with congestion = \"bbr3\": remove it";
    long_probe_rtt: "\"newreno\"" => "\"bbr\"\nbbr = { probe_rtt_time = \"11s\" }",
        "fabric.toml:29: key host.transports.bulk.bbr.probe_rtt_time: \"11s\" is longer than probe_rtt_interval = \"10s\"";
    marks_for_bbr: "\"newreno\"" => "\"bbr\"\necn = \"dctcp\"",
        "fabric.toml:29: key host.transports.bulk.ecn: \"dctcp\" is for congestion = \"dctcp\" or \"bbr3\": write \"off\" or \"classic\"";
    negative_price: "[run]" => "[cost]\nport = -5\n\n[run]",
        "fabric.toml:45: key cost.port: found -5: write a price of 0 or more";
    prices_of_no_switch: "[run]" => "[[cost.override]]\nmatch = \"laef*\"\nport = 5\n\n[run]",
        "fabric.toml:45: key cost.override[0].match: no node matches \"laef*\": the nodes are host0 to host7, leaf0 to leaf1, spine0 to spine1";
    no_currency: "[run]" => "[cost]\ncurrency = \"\"\n\n[run]",
        "fabric.toml:45: key cost.currency: \"\": write the currency as it is to be printed, for example \"USD\"";
    format_missing: "format = 1\n" => "",
        "fabric.toml: the key \"format\" is missing: write format = 1 at the top of the file";
    format_wrong: "format = 1" => "format = 2",
        "fabric.toml:1: key format: found 2: this version of afflux reads format = 1";
    not_toml: "spines = 2" => "spines = = 2",
        "fabric.toml:6: not TOML: extra `=`, expected nothing";
    traffic_as_one_table: "\n[[traffic]]\nkind = \"incast\"" => "\n[traffic]\nkind = \"incast\"",
        "fabric.toml:37: not TOML: the key \"traffic\" is there twice";
    two_blocks_of_one_name: "senders = 3" => "name = \"traffic0\"\nsenders = 3",
        "fabric.toml:40: key traffic[1].name: \"traffic0\" is the name of traffic[0] too, and blocks of one name would draw the same random numbers: write another name";
    alpha_of_a_static_buffer: "buffer = \"9MB\"" => "buffer = \"9MB\"\nsharing = \"static\"",
        "fabric.toml:14: key switch.alpha: has no effect with sharing = \"static\": remove it";
    packets_in_a_shared_buffer: "buffer = \"9MB\"" => "buffer = \"90packets\"\nsharing = \"dynamic\"",
        "fabric.toml:12: key switch.buffer: only sharing = \"static\" counts packets: write a size as in \"32MB\"";
    kmin_above_kmax: "kmin = \"100kB\"" => "kmin = \"500kB\"",
        "fabric.toml:16: key switch.ecn.kmin: \"500kB\" is above kmax = \"400kB\"";
    a_step_and_a_ramp: "kmin = \"100kB\"" => "k = \"100kB\"",
        "fabric.toml:17: key switch.ecn.kmax: has no effect with k (a step): remove it";
    a_probability_above_one: "pmax = 0.2" => "pmax = 20",
        "fabric.toml:18: key switch.ecn.pmax: found 20: write a number from 0 to 1, or a percentage as in \"1%\"";
    marking_and_a_discipline: "alpha = 1.0" => "alpha = 1.0\naqm = { kind = \"codel\" }",
        "fabric.toml:14: key switch.aqm: ecn and aqm both decide on marks and drops: write \"off\" for one of them (aqm disciplines that mark have ecn = true in aqm)";
    an_unknown_key_of_conweave: "alpha = 1.0" => "alpha = 1.0\nbalance = { kind = \"conweave\", path_bussy = \"8us\" }",
        "fabric.toml:14: key switch.balance.path_bussy: unknown key (did you mean \"path_busy\"?); the keys here are reply_extra, path_busy, inactive, flush_extra, default_wait, age, reorder_queues, reorder_memory";
    conweave_forgets_too_soon: "alpha = 1.0" => "alpha = 1.0\nbalance = { kind = \"conweave\", age = \"200us\" }",
        "fabric.toml:14: key switch.balance.age: \"200us\" is below inactive = \"300us\", so the ToR would forget active flows: write a longer time";
    too_long_a_wait: "alpha = 1.0" => "alpha = 1.0\nbalance = { kind = \"conweave\", default_wait = \"2s\" }",
        "fabric.toml:14: key switch.balance.default_wait: \"2s\": write a time up to 1s";
    conweave_cuts_through: "alpha = 1.0" => "alpha = 1.0\nforwarding = \"cut_through\"\nbalance = { kind = \"conweave\" }",
        "fabric.toml:14: key switch.forwarding: \"cut_through\" with balance = \"conweave\": reorder queues store whole frames; write \"store_and_forward\"";
    no_time_between_reorder_samples: "[record]" => "[record]\nreorder = \"0s\"",
        "fabric.toml:48: key record.reorder: \"0s\": write a time above 0, or \"off\"";
    an_unknown_discipline: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"fqcodel\"",
        "fabric.toml:16: key switch.aqm.kind: \"fqcodel\" is not known (did you mean \"fq_codel\"?): write \"codel\", \"fq_codel\", …";
    a_discipline_without_kind: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\ntarget = \"5ms\"",
        "fabric.toml:15: key switch.aqm: the key \"kind\" is missing";
    a_quantum_of_codel: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"codel\"\nquantum = \"1514B\"",
        "fabric.toml:17: key switch.aqm.quantum: has no effect with kind = \"codel\": remove it";
    a_limit_of_pie: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"pie\"\nlimit = 1000",
        "fabric.toml:17: key switch.aqm.limit: has no effect with kind = \"pie\": the limit of its queue is the switch's buffer, as in sharing = \"static\" and \
         buffer = \"1000packets\"";
    marks_of_pie_without_ecn: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"pie\"\necn_threshold = 0.2",
        "fabric.toml:17: key switch.aqm.ecn_threshold: has no effect with ecn = false: remove it";
    scalable_flows_of_pi2_without_ecn: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"pi2\"\nscalable = true",
        "fabric.toml:17: key switch.aqm.scalable: has no effect with ecn = false: remove it";
    a_coupling_of_classic_flows: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"pi2\"\ncoupling = 4",
        "fabric.toml:17: key switch.aqm.coupling: has no effect with scalable = false: remove it";
    a_target_above_the_interval: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"codel\"\ninterval = \"1ms\"",
        "fabric.toml:15: key switch.aqm.target: \"5ms\" is above interval = \"1ms\": the target is 5 to 10 % of the interval (RFC 8289)";
    a_fair_discipline_among_priorities: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "scheduling = \"strict_priority\"\naqm = { kind = \"fq_codel\" }",
        "fabric.toml:16: key switch.aqm.kind: \"fq_codel\" has its own scheduling: write scheduling = \"fifo\", or another kind";
    a_device_queue_that_counts: "alpha = 1.0" => "device_queue = 1\nqueue_length = \"through_transmission\"",
        "fabric.toml:14: key switch.queue_length: \"through_transmission\" with device_queue = 1: frames in the device queue no longer count in the queue length; write \"before_transmission\"";
    an_unknown_distribution: "\"websearch\"" => "\"websaerch\"",
        "fabric.toml:32: key traffic[0].sizes: found \"websaerch\": allowed is alistorage, solar, websearch, datamining, fbhdp-20, pfabric-websearch, \
         pfabric-datamining, imc10 or the path of a distribution file (did you mean \"websearch\"?)";
    a_capture_of_no_link: "host0>leaf0" => "host0>leaf1",
        "fabric.toml:49: key record.capture: no link joins the ends of \"host0>leaf1\"";
    a_series_of_no_node: "[\"leaf*\"]" => "[\"laef0\"]",
        "fabric.toml:48: key record.ports.nodes: there is no node \"laef0\" (did you mean \"leaf0\"?): the nodes are host0 to host7, leaf0 to leaf1, spine0 to spine1; \
         or write \"switches\", \"hosts\" or \"all\"";
    flow_control_without_ingress: "alpha = 1.0" => "pfc = {}",
        "fabric.toml:13: key switch.pfc: PFC needs per-port ingress accounting: write sharing = \"sonic\", \"conweave\", \"hpcc\" or \"voq\"";
    a_memory_without_management: "alpha = 1.0" => "mmu = { cell = \"256B\" }",
        "fabric.toml:13: key switch.mmu: has no effect with sharing = \"dynamic\": remove it";
    a_group_without_priorities: "alpha = 1.0" => "sharing = \"sonic\"\nmmu = { group = [{ priorities = [], alpha = 1 }] }",
        "fabric.toml:14: key switch.mmu.group[0].priorities: found none: write the priorities of these groups, as in [3, 4]";
    a_group_twice: "alpha = 1.0" => "sharing = \"sonic\"\nmmu = { group = [{ priorities = [1], alpha = 1 }, { priorities = [0, 1], alpha = 2 }] }",
        "fabric.toml:14: key switch.mmu.group[1].priorities: another block has priority 1 already: remove it from one of the two";
    a_group_as_the_others: "alpha = 1.0" => "sharing = \"sonic\"\nmmu = { group = [{ priorities = [1] }] }",
        "fabric.toml:14: key switch.mmu.group[0]: these groups are as the others: write alpha, limit or reserved";
    a_group_with_two_thresholds: "alpha = 1.0" => "sharing = \"sonic\"\nmmu = { group = [{ priorities = [1], alpha = 1, limit = \"9kB\" }] }",
        "fabric.toml:14: key switch.mmu.group[0].alpha: has no effect with limit, a fixed threshold: write one of the two";
    a_group_that_is_not_counted: "alpha = 1.0" => "sharing = \"sonic\"\nmmu = { bypass = [7], group = [{ priorities = [7], alpha = 1 }] }",
        "fabric.toml:14: key switch.mmu.group[0].priorities: priority 7 is in mmu.bypass, so its frames are not counted: remove it from one of the two";
    a_group_of_another_memory: "alpha = 1.0" => "sharing = \"hpcc\"\nmmu = { group = [{ priorities = [1], alpha = 1 }] }",
        "fabric.toml:14: key switch.mmu.group: has no effect with sharing = \"hpcc\": remove it";
    a_lossless_queue_is_not_limited: "alpha = 1.0" => "sharing = \"sonic\"\npfc = { priorities = [1] }\nqueue = [{ strict = true }, { strict = true, priorities = [1], alpha = 1 }]",
        "fabric.toml:15: key switch.queue[1].alpha: a memory management unit does not limit lossless traffic at egress, and this queue has lossless priorities only: \
         remove it, or write a [[switch.mmu.group]] for them";
    a_queue_of_a_simulator: "alpha = 1.0" => "sharing = \"conweave\"\nqueue = [{ strict = true, reserved = \"1kB\" }, { strict = true }]",
        "fabric.toml:14: key switch.queue[0].reserved: sharing = \"conweave\" has one value for all queues: remove it, or write sharing = \"sonic\"";
    a_cell_too_small: "alpha = 1.0" => "sharing = \"sonic\"\nmmu = { cell = \"64B\" }",
        "fabric.toml:14: key switch.mmu.cell: \"64B\": write a size from 65B to 4096B (the first cell holds 64 B of metadata), or \"off\"";
    a_key_of_another_memory: "alpha = 1.0" => "sharing = \"hpcc\"\nmmu = { xon = \"1kB\" }",
        "fabric.toml:14: key switch.mmu.xon: has no effect with sharing = \"hpcc\": remove it";
    a_ninth_priority: "alpha = 1.0" => "sharing = \"sonic\"\npfc = { priorities = [3, 8] }",
        "fabric.toml:14: key switch.pfc.priorities: found 8: write priorities from 0 to 7";
    an_unknown_formula: "alpha = 1.0" => "sharing = \"sonic\"\npfc = { headroom = \"cisco\" }",
        "fabric.toml:14: key switch.pfc.headroom: \"cisco\" is not a size: write a number with B, kB, MB, GB, TB (powers of ten) or KiB, MiB, GiB, TiB \
         (powers of two), as in \"9MB\", or a formula: \"sonic\", \"mellanox\", \"conweave\", \"hpcc\", \"tub\" or \"worst_case\"";
    a_cable_without_unit: "alpha = 1.0" => "sharing = \"sonic\"\npfc = { cable = \"300\" }",
        "fabric.toml:14: key switch.pfc.cable: \"300\" is not a length: write metres, up to 100000, as in \"40m\"";
    a_memory_full_of_headroom: "alpha = 1.0" => "sharing = \"sonic\"\npfc = { headroom = \"1MB\" }",
        "fabric.toml:12: key switch.buffer: \"9MB\": at leaf0 12MB of headroom and 55296B of reserves are set aside, which leaves nothing to share; write a \
         larger buffer, fewer lossless priorities, or less headroom";
    an_endless_storm: "wire = \"ethernet\"" => "storm = { priority = 3, period = \"1us\" }",
        "fabric.toml:44: key run: the storm of priority 3 never ends, because host.storm has no until: write until here, as in until = \"10ms\", or in storm";
    a_storm_that_ends_before_it_begins: "wire = \"ethernet\"" => "storm = { priority = 3, period = \"1us\", from = \"2ms\", until = \"1ms\" }",
        "fabric.toml:21: key host.storm.until: \"1ms\" is not after from = \"2ms\"";
    an_override_of_no_switch: "[switch.ecn]" => "[[switch.override]]\nmatch = \"tor*\"\n[switch.ecn]",
        "fabric.toml:16: key switch.override[0].match: no node matches \"tor*\": the nodes are host0 to host7, leaf0 to leaf1, spine0 to spine1";
    a_fault_of_no_link: "[switch]" => "[[topology.fault]]\nlink = \"leaf0-spine7\"\nloss = \"1%\"\n[switch]",
        "fabric.toml:12: key topology.fault[0].link: there is no node \"spine7\" (did you mean \"spine0\"?): the nodes are host0 to host7, leaf0 to leaf1, spine0 to spine1";
    overlapping_faults: "[switch]" => "[[topology.fault]]\nlink = \"leaf0-spine1\"\ndown = [{ from = \"1ms\" }, { from = \"2ms\", to = \"3ms\" }]\n[switch]",
        "fabric.toml:13: key topology.fault[0].down: the times at which \"leaf0-spine1\" is down overlap";
    one_direction_down: "[switch]" => "[[topology.fault]]\nlink = \"leaf0>spine1\"\ndown = [{ from = \"1ms\" }]\n[switch]",
        "fabric.toml:13: key topology.fault[0].down: a link is down in both directions: write it with - instead of >";
    one_direction_delayed: "[switch]" => "[[topology.override]]\nlink = \"leaf0>spine1\"\ndelay = \"1ms\"\n[switch]",
        "fabric.toml:13: key topology.override[0].delay: is one for both directions: write the link with - instead of >";
    an_mtu_without_payload: "[switch]" => "[[topology.override]]\nlink = \"leaf0-spine1\"\nmtu = \"30B\"\n[switch]",
        "fabric.toml:13: key topology.override[0].mtu: \"30B\": write a packet size from 41B to 65517B";
    a_stop_before_the_start: "[[traffic]]" => "[[traffic]]\nstart = \"2ms\"\nstop = \"1ms\"",
        "fabric.toml:32: key traffic[0].stop: \"1ms\": write a time after start = \"2ms\", up to 160h";
    a_stall_of_nothing: "[run]" => "[run]\nstall = \"0s\"",
        "fabric.toml:45: key run.stall: write a time from 1ms to 160h, or \"off\"";
    a_dctcp_gain: "congestion = \"dctcp\"" => "congestion = \"dctcp\"\ndctcp = { gain = 0.1 }",
        "fabric.toml:26: key host.transport.dctcp.gain: found 0.1: write a power of two from 1 down to 1/1024, as in 0.0625 (1/16)";
    dctcp_of_another: "congestion = \"dctcp\"" => "congestion = \"cubic\"\ndctcp = { gain = 0.5 }",
        "fabric.toml:26: key host.transport.dctcp: has no effect with congestion = \"cubic\": remove it";
    d2tcp_of_another: "congestion = \"dctcp\"" => "congestion = \"dctcp\"\nd2tcp = { most = 3 }",
        "fabric.toml:26: key host.transport.d2tcp: has no effect with congestion = \"dctcp\": remove it";
    a_d2tcp_exponent: "congestion = \"dctcp\"" => "congestion = \"d2tcp\"\nd2tcp = { most = 0.5 }",
        "fabric.toml:26: key host.transport.d2tcp.most: found 0.5: write a number from 1 to 100";
    d2tcp_without_echo: "congestion = \"dctcp\"" => "congestion = \"d2tcp\"\necn = \"off\"",
        "fabric.toml:26: key host.transport.ecn: congestion = \"d2tcp\" needs ecn = \"dctcp\": remove it";
    a_cubic_beta: "congestion = \"dctcp\"" => "congestion = \"cubic\"\ncubic = { beta = 1.0 }",
        "fabric.toml:26: key host.transport.cubic.beta: found 1: write a number from 0.1 to 0.99";
    a_short_target: "congestion = \"dctcp\"" => "congestion = \"ledbatpp\"\nledbatpp = { target = \"10ns\" }",
        "fabric.toml:26: key host.transport.ledbatpp.target: \"10ns\": write a time from 1us to 1s";
    hystart_of_ledbatpp: "congestion = \"dctcp\"" => "congestion = \"ledbatpp\"\nhystart_plusplus = true",
        "fabric.toml:26: key host.transport.hystart_plusplus: congestion = \"ledbatpp\" ends slow start by its own rule: remove it";
    a_tick: "congestion = \"dctcp\"" => "congestion = \"htcp\"\nhtcp = { tick = \"3ms\" }",
        "fabric.toml:26: key host.transport.htcp.tick: \"3ms\": write a time from 100us to 10ms of which a second is a multiple, as in \"4ms\"";
    a_tick_of_ns3: "congestion = \"dctcp\"" => "congestion = \"cubic\"\ncubic = { flavour = \"ns3\", tick = \"1ms\" }",
        "fabric.toml:26: key host.transport.cubic.tick: has no effect with flavour = \"ns3\": remove it";
    hystart_plusplus_of_cubic: "congestion = \"dctcp\"" => "congestion = \"cubic\"\nhystart_plusplus = true",
        "fabric.toml:26: key host.transport.hystart_plusplus: with congestion = \"cubic\" write cubic.hystart = \"plusplus\"";
    coupled_and_another_control: "congestion = \"dctcp\"" => "congestion = \"cubic\"\nmptcp = {}",
        "fabric.toml:25: key host.transport.congestion: coupled subflows have their own congestion control: remove it, or write mptcp.coupling = \"off\"";
    no_subflow: "congestion = \"dctcp\"" => "mptcp = { subflows = 0 }",
        "fabric.toml:25: key host.transport.mptcp.subflows: found 0: write 1 to 32";
    an_unknown_coupling: "congestion = \"dctcp\"" => "mptcp = { coupling = \"olio\" }",
        "fabric.toml:25: key host.transport.mptcp.coupling: \"olio\" is not known (did you mean \"olia\"?): write \"off\", \"lia\", \"olia\", \"balia\", \"wvegas\" or \"queue_aware\"";
    a_queue_of_lia: "congestion = \"dctcp\"" => "mptcp = { queue_segments = 4 }",
        "fabric.toml:25: key host.transport.mptcp.queue_segments: has an effect only with coupling = \"queue_aware\": remove it";
    a_segment_without_room_for_the_option: "congestion = \"dctcp\"" => "mss = \"1460B\"\nmptcp = {}",
        "fabric.toml:25: key host.transport.mss: \"1460B\": write a size from 1B to 1436B (mtu = \"1500B\" less 40 B of headers, less 24 B for MPTCP's option)";
    several_paths_as_ns3: "congestion = \"dctcp\"" => "stack = \"ns3\"\nmptcp = {}",
        "fabric.toml:25: key host.transport.stack: mptcp does not support stack = \"ns3\": remove it";
    a_large_segment: "congestion = \"dctcp\"" => "congestion = \"dctcp\"\nmss = \"9000B\"",
        "fabric.toml:26: key host.transport.mss: \"9000B\": write a size from 1B to 1460B (mtu = \"1500B\" less 40 B of headers)";
    warmup_too_long: "seed = 7" => "until = \"1ms\"\nwarmup = \"1ms\"",
        "fabric.toml:46: key run.warmup: \"1ms\" is not before until = \"1ms\", so no flow would count: write a shorter warm-up";
    no_time_to_a_deadline: "senders = 3" => "senders = 3\ndeadline = \"0ms\"",
        "fabric.toml:41: key traffic[1].deadline: \"0ms\": write a time above 0, up to 160h, or \"off\"";
    a_deadline_without_unit: "senders = 3" => "senders = 3\ndeadline = 20",
        "fabric.toml:41: key traffic[1].deadline: found 20: write a time in quotes with its unit, as in \"1us\", or a table as in { mean = \"20ms\", least = \"3ms\" }, or \"off\"";
    a_deadline_table_without_mean: "senders = 3" => "senders = 3\ndeadline = { least = \"3ms\" }",
        "fabric.toml:41: key traffic[1].deadline: the key \"mean\" is missing";
    a_floor_above_the_mean: "senders = 3" => "senders = 3\ndeadline = { mean = \"2ms\", least = \"3ms\" }",
        "fabric.toml:41: key traffic[1].deadline.least: \"3ms\" is above mean = \"2ms\"";
    captures_without_packets: "seed = 7" => "engine = \"ideal\"",
        "fabric.toml:48: key record.ports: has no effect with run.engine = \"ideal\", which has no packets: remove it";
    a_phantom_queue_that_grows: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"phantom\"\ndrain = 1.5",
        "fabric.toml:17: key switch.aqm.drain: found 1.5: write a share from 0.1 to 1, as in 0.95";
    a_phantom_queue_by_delay: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"phantom\"\ntarget = \"5ms\"",
        "fabric.toml:17: key switch.aqm.target: has no effect with kind = \"phantom\": remove it";
    a_pacer_that_learns_nothing: "wire = \"ethernet\"" => "pacer = { eta = 0.0 }",
        "fabric.toml:21: key host.pacer.eta: found 0: write a number above 0 and up to 1";
    a_pacer_that_is_never_slow: "wire = \"ethernet\"" => "pacer = { max_rate = \"1Mbps\" }",
        "fabric.toml:21: key host.pacer.max_rate: \"1Mbps\" is below min_rate = \"10Mbps\"";
    pdq_whose_answers_go_astray: "kind = \"tcp\"\ncongestion = \"dctcp\"" => "kind = \"pdq\"",
        "fabric.toml:24: key host.transport.kind: \"pdq\" needs replies to return on the path of the flow: write hash = \"symmetric\" in [switch]";
    pdq_that_is_all_header: "kind = \"tcp\"\ncongestion = \"dctcp\"" => "kind = \"pdq\"\nheader = \"1460B\"",
        "fabric.toml:25: key host.transport.header: \"1460B\": write a size up to 1000B";
    pdq_that_keeps_nobody: "kind = \"tcp\"\ncongestion = \"dctcp\"" => "kind = \"pdq\"\nmax_flows = 1",
        "fabric.toml:25: key host.transport.max_flows: found 1: write a number from 2 to 1000000";
    d3_that_grants_nothing: "kind = \"tcp\"\ncongestion = \"dctcp\"" => "kind = \"d3\"\nbase_rate = \"0bps\"",
        "fabric.toml:25: key host.transport.base_rate: \"0bps\": write a rate from 1kbps to 4Tbps";
    d3_that_grants_more_than_its_header_holds: "kind = \"tcp\"\ncongestion = \"dctcp\"" => "kind = \"d3\"\nbase_rate = \"5Tbps\"",
        "fabric.toml:25: key host.transport.base_rate: \"5Tbps\": write a rate from 1kbps to 4Tbps";
    d3_with_a_key_of_pdq: "kind = \"tcp\"\ncongestion = \"dctcp\"" => "kind = \"d3\"\nearly_start = 2",
        "fabric.toml:25: key host.transport.early_start: unknown key; the keys here are payload, header, min_rto, interval, quench, base_rate, forget, alpha, beta";
    a_rate_of_nothing: "kind = \"tcp\"\ncongestion = \"dctcp\"" => "kind = \"nack\"\nrate = \"0bps\"",
        "fabric.toml:25: key host.transport.rate: \"0bps\": write a rate above 0, or \"unlimited\"";
    reports_too_often: "kind = \"tcp\"\ncongestion = \"dctcp\"" => "kind = \"nack\"\nreport = \"10ns\"",
        "fabric.toml:25: key host.transport.report: \"10ns\": write a time from 1us to 60s";
    an_idle_processor: "wire = \"ethernet\"" => "processor = { queue = 20 }",
        "fabric.toml:21: key host.processor: a processor without any cost has no effect: write packet_time, interrupt_time or stall, or \"off\"";
    a_processor_that_holds_nothing: "wire = \"ethernet\"" => "processor = { packet_time = \"5us\", queue = 0 }",
        "fabric.toml:21: key host.processor.queue: found 0: write a number of frames from 1 to 1000000";
    a_stall_after_hardly_any_work: "wire = \"ethernet\"" => "processor = { stall = { work = \"10ns\", pause = \"1s\" } }",
        "fabric.toml:21: key host.processor.stall.work: \"10ns\": write a time from 1us to 3600s";
    a_loop_of_one_round: "senders = 3" => "senders = 3\nclosed_loop = true",
        "fabric.toml:41: key traffic[1].closed_loop: has no effect with rounds = 1: remove it";
    random_senders_of_all: "senders = 3" => "random_senders = true",
        "fabric.toml:40: key traffic[1].random_senders: has no effect, because all other hosts send in every round: write senders, the number of hosts to draw, or remove it";
    one_iteration_that_computes: "kind = \"incast\"\nto = 0\nsenders = 3\nbytes = \"64kB\"" => "kind = \"ring_all_reduce\"\nbytes = \"64kB\"\ncompute = \"1us\"",
        "fabric.toml:40: key traffic[1].compute: has no effect with iterations = 1: remove it";
    workers_without_queries: "kind = \"incast\"\nto = 0\nsenders = 3\nbytes = \"64kB\"" => "kind = \"partition_aggregate\"\nqueries_per_second = 0\nmessages_per_second = 0\nbackground_per_second = 0\nduration = \"1ms\"\nworkers = 2",
        "fabric.toml:43: key traffic[1].workers: has no effect with queries_per_second = 0: remove it";
    sizes_without_queries: "kind = \"incast\"\nto = 0\nsenders = 3\nbytes = \"64kB\"" => "kind = \"partition_aggregate\"\nqueries_per_second = 0\nmessages_per_second = 0\nbackground_per_second = 0\nduration = \"1ms\"\nquery = \"1kB\"",
        "fabric.toml:43: key traffic[1].query: has no effect with queries_per_second = 0: remove it";
    jitter_without_queries: "kind = \"incast\"\nto = 0\nsenders = 3\nbytes = \"64kB\"" => "kind = \"partition_aggregate\"\nqueries_per_second = 0\nmessages_per_second = 0\nbackground_per_second = 0\nduration = \"1ms\"\njitter = \"1us\"",
        "fabric.toml:43: key traffic[1].jitter: has no effect with queries_per_second = 0: remove it";
    sizes_without_messages: "kind = \"incast\"\nto = 0\nsenders = 3\nbytes = \"64kB\"" => "kind = \"partition_aggregate\"\nqueries_per_second = 0\nmessages_per_second = 0\nbackground_per_second = 0\nduration = \"1ms\"\nmessage = \"1kB\"",
        "fabric.toml:43: key traffic[1].message: has no effect with messages_per_second = 0: remove it";
    sizes_without_background: "kind = \"incast\"\nto = 0\nsenders = 3\nbytes = \"64kB\"" => "kind = \"partition_aggregate\"\nqueries_per_second = 0\nmessages_per_second = 0\nbackground_per_second = 0\nduration = \"1ms\"\nbackground = \"1kB\"",
        "fabric.toml:43: key traffic[1].background: has no effect with background_per_second = 0: remove it";
    an_early_request: "senders = 3" => "senders = 3\nrounds = 2\nclosed_loop = true\nrequest_delay = \"1ns\"",
        "fabric.toml:43: key traffic[1].request_delay: \"1ns\" is below the shortest link delay of the fabric: write at least \"1us\"";
    a_negative_buffer: "\"9MB\"" => "\"-1kB\"",
        "fabric.toml:12: key switch.buffer: \"-1kB\" is negative: write a size of 0 or more, or packets, as in \"100packets\"";
    a_run_of_a_week: "seed = 7" => "until = \"168h\"",
        "fabric.toml:45: key run.until: write a time above 0, up to 160h, \"jobs\" or \"off\"";
    a_start_after_every_run: "senders = 3" => "senders = 3\nstart = \"161h\"",
        "fabric.toml:41: key traffic[1].start: \"161h\": write a start up to 160h";
    rounds_after_every_run: "senders = 3" => "senders = 3\nstart = \"159h\"\nrounds = 3\nperiod = \"1h\"",
        "fabric.toml:41: key traffic[1].start: found a start after 160 h, the latest time of a run: allowed is earlier starts";
    a_duration_after_every_run: "kind = \"incast\"\nto = 0\nsenders = 3\nbytes = \"64kB\"" => "kind = \"random\"\nsizes = \"1kB\"\nflows_per_second = 1e-5\nduration = \"161h\"",
        "fabric.toml:41: key traffic[1].duration: \"161h\": flows would start after 160 h, the latest time of a run: write less";
    more_flows_than_fit: "kind = \"incast\"\nto = 0\nsenders = 3\nbytes = \"64kB\"" => "kind = \"random\"\nsizes = \"1kB\"\nflows_per_second = 1e-9\nflows = 10",
        "fabric.toml:41: key traffic[1].flows: found 10: allowed is up to 0 at this rate, because no flow starts after 160 h, the latest time of a run";
    hosts_beside_lists: "senders = 3" => "senders = [3]\nhosts = [1, 2]",
        "fabric.toml:41: key traffic[1].hosts: has no effect, because to and senders list all hosts that take part: remove it";
    a_sender_to_itself: "senders = 3" => "senders = [0]",
        "fabric.toml:40: key traffic[1].senders: found no sender: allowed is at least one host besides the receiver, which does not send to itself";
    an_override_of_a_switch_as_host: "[switch.ecn]" => "[[host.override]]\nmatch = \"leaf0\"\n[switch.ecn]",
        "fabric.toml:16: key host.override[0].match: \"leaf0\" is a switch: write the name of a host";
    a_host_as_switch: "[switch.ecn]" => "[[switch.override]]\nmatch = \"host0\"\n[switch.ecn]",
        "fabric.toml:16: key switch.override[0].match: \"host0\" is a host: write the name of a switch";
    an_override_of_nothing: "[switch.ecn]" => "[[host.override]]\nmatch = []\n[switch.ecn]",
        "fabric.toml:16: key host.override[0].match: [] matches nothing: write at least one host";
    a_fault_of_nothing: "[switch]" => "[[topology.fault]]\nlink = []\nloss = \"1%\"\n[switch]",
        "fabric.toml:12: key topology.fault[0].link: [] is no link: write at least one";
    a_link_that_loses_everything: "[switch]" => "[[topology.fault]]\nlink = \"leaf0-spine1\"\nloss = 1.0\n[switch]",
        "fabric.toml:13: key topology.fault[0].loss: the link loses every frame: write a probability below 1, or down = [{ from = \"0s\" }]";
    a_frame_too_long: "wire = \"ethernet\"" => "mtu = \"65535B\"",
        "fabric.toml:21: key host.mtu: \"65535B\": write at most \"65517B\"";
    acknowledgements_too_long: "wire = \"ethernet\"" => "wire = { ack = \"16384B\", sack_block = \"16384B\" }",
        "fabric.toml:21: key host.wire.sack_block: \"16384B\": an acknowledgement with 3 such blocks has 65540 B with ack and sack_base, and at most 65435 B are possible: write less";
    a_late_request: "senders = 3" => "senders = 3\nrounds = 2\nclosed_loop = true\nrequest_delay = \"18446744s\"",
        "fabric.toml:43: key traffic[1].request_delay: \"18446744s\": write a time up to a day";
    a_jitter_of_days: "senders = 3" => "senders = 3\njitter = \"25h\"",
        "fabric.toml:41: key traffic[1].jitter: \"25h\": write a time up to a day";
    an_acknowledgement_after_months: "congestion = \"dctcp\"" => "congestion = \"dctcp\"\ndelayed_ack = { timeout = \"5000h\" }",
        "fabric.toml:26: key host.transport.delayed_ack.timeout: \"5000h\": write a time above 0, at most \"1s\"";
    a_reader_that_sleeps_for_months: "congestion = \"dctcp\"" => "congestion = \"dctcp\"\nreader = { read = \"1us\", sleep = \"5000h\" }",
        "fabric.toml:26: key host.transport.reader.sleep: \"5000h\": write a time from \"1us\" to \"86400s\"";
    pie_that_updates_too_often: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"pie\"\nt_update = \"1ps\"",
        "fabric.toml:17: key switch.aqm.t_update: \"1ps\": write a time from \"100ns\" to \"1000s\"";
    pi2_that_updates_too_often: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"pi2\"\nt_update = \"99ns\"",
        "fabric.toml:17: key switch.aqm.t_update: \"99ns\": write a time from \"100ns\" to \"1000s\"";
    a_burst_of_hours: "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "[switch.aqm]\nkind = \"pie\"\nburst_allowance = \"1h\"",
        "fabric.toml:17: key switch.aqm.burst_allowance: \"1h\": write a time from \"0ps\" to \"1000s\"";
    a_threshold_beyond_any_queue: "kmax = \"400kB\"" => "kmax = \"10000000TB\"\ngentle = true",
        "fabric.toml:17: key switch.ecn.kmax: \"10000000TB\": write at most \"1TiB\"";
    a_step_beyond_any_queue: "kmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2" => "k = \"2TB\"",
        "fabric.toml:16: key switch.ecn.k: \"2TB\": write at most \"1TiB\"";
    a_fault_after_the_latest_time: "[switch]" => "[[topology.fault]]\nlink = \"leaf0-spine1\"\ndown = [{ from = \"5000h\" }]\n[switch]",
        "fabric.toml:13: key topology.fault[0].down[0].from: \"5000h\": write a time up to 160h";
    a_storm_after_the_latest_time: "wire = \"ethernet\"" => "storm = { priority = 3, period = \"1us\", from = \"5000h\" }",
        "fabric.toml:21: key host.storm.from: \"5000h\": write a time up to 160h";
    reorder_samples_after_the_latest_time: "[record]" => "[record]\nreorder = \"5000h\"",
        "fabric.toml:48: key record.reorder: \"5000h\": write a time up to 160h";
}

/// A file name that begins with a number is no size.
#[test]
fn a_missing_file_of_sizes() {
    let told = error("\"websearch\"", "\"1.cdf\"");
    assert!(told.contains("1.cdf") && !told.contains("unit"), "{told}");
}

#[test]
fn no_traffic() {
    let text = &VALID[..VALID.find("[[traffic]]").unwrap()];
    assert_eq!(
        parse(text).unwrap_err().to_string(),
        "fabric.toml: there is no traffic: write at least one [[traffic]] block"
    );
}

/// Tests that headers which do not count towards the MTU keep frames within 16 bits, and that the
/// MTU of the message fits.
#[test]
fn mtus_with_headers_of_transports_and_switches() {
    let hpcc = (
        "kind = \"tcp\"\ncongestion = \"dctcp\"",
        "kind = \"rdma\"\nmode = \"irn\"\ncongestion = \"hpcc\"",
    );
    let conweave = ("alpha = 1.0", "balance = \"conweave\"");
    let parsed = |mtu: u32, changes: &[(&str, &str)]| {
        let mtu = format!("wire = \"ethernet\"\nmtu = \"{mtu}B\"");
        let text = VALID.replace("wire = \"ethernet\"", &mtu);
        let change = |text: String, (from, to): &(&str, &str)| text.replacen(from, to, 1);
        parse(&changes.iter().fold(text, change)).map(drop).map_err(|error| error.to_string())
    };
    // Ethernet adds 18 B to a packet, HPCC's telemetry 42 B, ConWeave's ToRs 4 B.
    for (changes, most) in
        [(&[][..], 65_517), (&[hpcc], 65_475), (&[conweave], 65_513), (&[hpcc, conweave], 65_471)]
    {
        assert_eq!(parsed(most, changes), Ok(()));
        let refused = parsed(most + 1, changes).unwrap_err();
        let cure = format!("write at most \"{most}B\"");
        assert!(
            refused.starts_with("fabric.toml:22: key host.mtu: ") && refused.ends_with(&cure),
            "{refused}"
        );
    }
    assert_eq!(
        parsed(65_500, &[hpcc]).unwrap_err(),
        "fabric.toml:22: key host.mtu: \"65500B\": with the headers that the transport and the switches add, a full frame has 65560 B, and at most 65535 B are possible: \
         write at most \"65475B\""
    );
}

#[test]
fn the_parts_of_an_error() {
    let error = parse(&VALID.replace("\"9MB\"", "\"9Mb\"")).unwrap_err();
    assert_eq!((error.line, error.key.as_deref()), (Some(12), Some("switch.buffer")));
    assert_eq!(error.file.unwrap().to_str(), Some("fabric.toml"));
}

#[test]
fn an_option_of_the_command_line_is_named_instead_of_a_line() {
    let set = |key: &str, value: &str| Overrides {
        set: vec![(key.into(), value.into())],
        ..Overrides::default()
    };
    let message = |overrides: &Overrides| parse_with(VALID, overrides).unwrap_err().to_string();
    assert!(message(&set("switch.buffer", "9Mb")).starts_with(
        "fabric.toml: --set switch.buffer=9Mb: key switch.buffer: \"9Mb\" has the wrong unit"
    ));
    assert!(message(&set("switch.bufer", "9MB")).starts_with("fabric.toml: --set switch.bufer=9MB: key switch.bufer: unknown key (did you mean \"buffer\"?)"));
    assert!(message(&set("traffic[1].to", "99")).starts_with(
        "fabric.toml: --set traffic[1].to=99: key traffic[1].to: host 99 is out of range"
    ));
    assert!(message(&set("traffic[5].to", "1")).ends_with(
        "--set traffic[5].to=1: traffic has 2 elements, counted from 0: there is no element 5"
    ));
    assert!(message(&set("a..b", "1")).contains("is not a key path"));
    let threads = Overrides { threads: Some(0), ..Overrides::default() };
    assert_eq!(
        message(&threads),
        "fabric.toml: --threads 0: key run.threads: found 0: write a number from 1 to 1024"
    );
}

#[test]
fn fabrics_that_do_not_hang_together() {
    let custom = |links: &str| {
        format!(
            "format = 1\n[topology]\nkind = \"custom\"\nhosts = 2\nswitches = [\"a\", \"b\"]\n{links}\n[[traffic]]\nkind = \"permutation\"\nsizes = \"1MB\"\n"
        )
    };
    let link = |a: &str, b: &str| format!("[[topology.link]]\na = \"{a}\"\nb = \"{b}\"\n");
    let message = |links: &[(&str, &str)]| {
        parse(&custom(&links.iter().map(|(a, b)| link(a, b)).collect::<String>()))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message(&[("host0", "a"), ("host1", "b")]),
        "fabric.toml:13: key traffic[0]: \"host0\" sends to \"host1\" and cannot reach it: no path through switches joins them; add a link, or write hosts \
         that have one"
    );
    assert_eq!(message(&[("host0", "a")]), "fabric.toml:2: key topology: \"host1\" has no link");
    assert_eq!(
        message(&[("host0", "a"), ("a", "a")]),
        "fabric.toml:11: key topology.link[1].b: a link from \"a\" to itself"
    );
    assert_eq!(
        message(&[("host0", "c")]),
        "fabric.toml:8: key topology.link[0].b: there is no node \"c\": the nodes are host0 to host1, a, b"
    );
    assert!(parse(&custom(&(link("host0", "a") + &link("host1", "a")))).is_ok());
}

/// Tests that separate planes without a path between them are valid as long as nothing is sent from
/// one to the other.
#[test]
fn separate_planes() {
    let links: String =
        [("a", "s"), ("b", "s"), ("b", "t"), ("c", "t"), ("d", "u"), ("e", "u"), ("f", "e")]
            .iter()
            .map(|(a, b)| format!("[[topology.link]]\na = \"{a}\"\nb = \"{b}\"\n"))
            .collect();
    let fabric = format!(
        "format = 1\n[topology]\nkind = \"custom\"\nhosts = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]\nswitches = [\"s\", \"t\", \"u\"]\n{links}"
    );
    let pairs = |pairs: &str| {
        parse(&format!(
            "{fabric}[[traffic]]\nkind = \"pairs\"\npairs = {pairs}\nsizes = \"10kB\"\n"
        ))
    };
    let message = |of: &str| pairs(of).unwrap_err().to_string();
    // b has a link to each of two planes; f sends to e over their link.
    let scenario =
        pairs("[[\"a\", \"b\"], [\"b\", \"c\"], [\"d\", \"e\"], [\"e\", \"f\"]]").unwrap();
    let output = afflux_net::run(&scenario.plan, &afflux_net::Progress::default()).unwrap();
    assert!(output.flows.iter().all(|flow| flow.finish.is_some()));
    // Hosts do not forward: b does not join the planes of a and c, e does not join d and f.
    assert!(
        message("[[\"a\", \"b\"], [\"a\", \"c\"]]").contains("key traffic[0]: \"a\" sends to \"c\" and cannot reach it: no path through switches joins them")
    );
    assert!(
        message("[[\"d\", \"f\"]]").contains(
            "\"f\" is linked to \"e\" alone, and hosts do not forward; link it to a switch"
        )
    );
    // Defaults that follow from the longest path look at every plane.
    let slow = fabric.replace("b = \"u\"\n", "b = \"u\"\ndelay = \"7us\"\n");
    let incast = "[[traffic]]\nkind = \"incast\"\nto = \"a\"\nhosts = [\"a\", \"b\"]\nsenders = 1\nbytes = \"1kB\"\nrounds = 2\nclosed_loop = true\n";
    let resolved = parse(&format!("{slow}{incast}")).unwrap().resolved;
    assert!(resolved.contains("request_delay = \"14us\""), "{resolved}");
    let permutation = |hosts: &str| {
        parse(&format!("{fabric}[[traffic]]\nkind = \"permutation\"\n{hosts}sizes = \"10kB\"\n"))
    };
    assert!(permutation("hosts = [\"d\", \"e\"]\n").is_ok());
    assert!(permutation("").unwrap_err().to_string().contains("key traffic[0]: "));
}

/// Tests that the flow-level engine accepts only flows that start by the clock and send as fast as
/// they can.
#[test]
fn what_flows_without_packets_cannot_be() {
    let text = &VALID[..VALID.find("[record]").unwrap()];
    let message = |from: &str, to: &str| {
        parse(&text.replace("seed = 7", "engine = \"ideal\"").replacen(from, to, 1))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message("senders = 3", "senders = 3\nrounds = 2\nclosed_loop = true"),
        "fabric.toml:47: key run.engine: \"ideal\" does not support flows that other flows start (closed loop): write \"window_log\", or traffic with given start times"
    );
    let slow = "[[traffic]]\nkind = \"datagram\"\npairs = [[0, 3]]\nrate = \"1Gbps\"\nduration = \"1ms\"\n[run]";
    assert!(
        message("[run]", slow)
            .ends_with("\"ideal\" sends every flow at line rate, and the scenario has traffic of a lower rate: write \"window_log\", or remove them")
    );
    assert!(parse(&text.replace("seed = 7", "engine = \"ideal\"")).is_ok());
}

#[test]
fn flows_that_are_granted_rates_keep_to_one_path() {
    let sprayed = VALID
        .replace("kind = \"tcp\"\ncongestion = \"dctcp\"", "kind = \"d3\"")
        .replace("alpha = 1.0", "alpha = 1.0\nbalance = \"spray\"");
    assert_eq!(
        parse(&sprayed).unwrap_err().to_string(),
        "fabric.toml:25: key host.transport.kind: \"d3\" needs one path per flow: write balance = \"ecmp\" in [switch]"
    );
    // Switches that spray grant no rates, even if there is only one path.
    assert!(parse(&sprayed.replace("spines = 2", "spines = 1")).is_err());
    let hashed = sprayed.replace("balance = \"spray\"", "hash = \"murmur3\"");
    assert_eq!(
        parse(&hashed).unwrap_err().to_string(),
        "fabric.toml:25: key host.transport.kind: \"d3\" does not work with hash = \"murmur3\": write another hash in [switch]"
    );
}

#[test]
fn conweave_takes_subflows_for_one() {
    let both = |subflows: u8| {
        VALID
            .replace("congestion = \"dctcp\"", &format!("mptcp = {{ subflows = {subflows} }}"))
            .replace("alpha = 1.0", "alpha = 1.0\nbalance = \"conweave\"")
    };
    assert!(parse(&both(2)).unwrap_err().to_string().ends_with(
        "key host.transport.mptcp: balance = \"conweave\" in [switch] follows flows, and would take the subflows of a connection for one: write subflows = 1, or another balance"
    ));
    assert!(parse(&both(1)).is_ok(), "{:?}", parse(&both(1)).err());
}

#[test]
fn a_star_of_too_many_hosts() {
    let text = "format = 1\n[topology]\nkind = \"star\"\nhosts = 100000000000\n";
    assert_eq!(
        parse(text).unwrap_err().to_string(),
        "fabric.toml:4: key topology.hosts: found 100000000000: write a number of hosts from 1 to 4000000, or an array of their names"
    );
}

#[test]
fn a_scenario_without_a_name() {
    let text = VALID.replacen("format = 1", "format = 1\nname = \"\"", 1);
    assert_eq!(
        parse(&text).unwrap_err().to_string(),
        "fabric.toml:2: key name: \"\": a name is not empty and has no slash: it becomes the name of a directory"
    );
}

#[test]
fn an_odd_fat_tree() {
    let text = "format = 1\n[topology]\nkind = \"fat_tree\"\nk = 5\n[[traffic]]\nkind = \"permutation\"\nsizes = \"1MB\"\n";
    assert_eq!(
        parse(text).unwrap_err().to_string(),
        "fabric.toml:4: key topology.k: found 5: a fat-tree's k is an even number from 2: 4 or 6"
    );
    let large = text.replace("k = 5", "k = 65534");
    assert!(parse(&large).unwrap_err().to_string().contains("at most 4000000 links are possible"));
}

#[test]
fn flow_lists() {
    let folder = folder("flow_lists");
    let message = |content: &str| {
        let (list, scenario) = (folder.join("flows.csv"), folder.join("lists.toml"));
        std::fs::write(&list, content).unwrap();
        let text = "format = 1\n[topology]\nkind = \"star\"\nhosts = 4\n[[traffic]]\nkind = \"flows\"\nfile = \"flows.csv\"\n";
        match afflux_scenario::parse(text, &scenario, &Overrides::default(), &NoParquet) {
            Ok(scenario) => format!("{} flows", scenario.plan.flows.len()),
            Err(error) => error.to_string().replace(&format!("{}/", folder.display()), ""),
        }
    };
    assert_eq!(message("start_ns,src,dst,bytes\n0,0,1,1000\n5,2,1,1000\n"), "2 flows");
    assert_eq!(
        message("start_ns,src,bytes\n0,0,1000\n"),
        "flows.csv:1: found no column \"dst\", expected a header with \"start_ns,src,dst,bytes\" and optionally \"id,class,deadline_ns,dscp,priority\" (key traffic[0].file, lists.toml:7)"
    );
    assert_eq!(
        message("start_ns,src,dst,bytes\n0,0,1,1000\n1,0,4,1000\n"),
        "flows.csv:3: column \"dst\": found host 4, expected a host from 0 to 3 (key traffic[0].file, lists.toml:7)"
    );
    assert_eq!(
        message("start_ns,src,dst,bytes\n0,0,1,1000\n1,0,2\n"),
        "flows.csv:3: found 3 fields in \"1,0,2\", expected 4 as in the header: start_ns,src,dst,bytes (key traffic[0].file, lists.toml:7)"
    );
    assert!(message("start_ns,src,dst,bytes\n0,1,1,1000\n").contains("local = \"instant\""));
}

#[test]
fn flows_of_a_file_that_are_too_large() {
    let folder = folder("too_large");
    std::fs::write(
        folder.join("flows.cm"),
        "Nodes 4\nConnections 1\n0->2 id 1 start 0 size 18446744073709551615\n",
    )
    .unwrap();
    let text = "format = 1\n[topology]\nkind = \"star\"\nhosts = 4\n[[traffic]]\nkind = \"flows\"\nformat = \"htsim\"\nfile = \"flows.cm\"\n";
    let error =
        afflux_scenario::parse(text, &folder.join("lists.toml"), &Overrides::default(), &NoParquet)
            .err()
            .unwrap()
            .to_string();
    let error = error.replace(&format!("{}/", folder.display()), "");
    let message = "flows.cm: a flow of \"18446744073709551615B\": at most \"6270652247780B\" are possible with this transport, 2^32 segments (key traffic[0].file, ";
    assert!(error.starts_with(message), "{error}");
}

#[test]
fn inputs_that_are_missing_or_changed() {
    let folder = folder("inputs");
    let scenario = folder.join("inputs.toml");
    let text = "format = 1\n[topology]\nkind = \"star\"\nhosts = 4\n[[traffic]]\nkind = \"flows\"\nfile = \"flows.csv\"\n";
    let parse =
        |text: &str| afflux_scenario::parse(text, &scenario, &Overrides::default(), &NoParquet);
    let missing = parse(text).unwrap_err();
    assert!(missing.to_string().contains("flows.csv: cannot be read: No such file"), "{missing}");
    // A device or a pipe may have no end.
    for (name, is) in [("/dev/zero", "a pipe or a device, not a file"), ("..", "a directory")] {
        let refused =
            parse(&text.replace("\"flows.csv\"", &format!("\"{name}\"\nformat = \"htsim\"")))
                .unwrap_err()
                .to_string();
        assert!(refused.contains(&format!("{name}: cannot be read: it is {is}")), "{refused}");
    }
    std::fs::write(folder.join("flows.csv"), "start_ns,src,dst,bytes\n0,0,1,1000\n").unwrap();
    let resolved = parse(text).unwrap().resolved;
    std::fs::write(folder.join("flows.csv"), "start_ns,src,dst,bytes\n0,0,1,1001\n").unwrap();
    let changed = parse(&resolved).unwrap_err().to_string();
    assert!(
        changed.contains("the file is not the one of this scenario: its SHA-256 is ")
            && changed.contains(", the scenario says "),
        "{changed}"
    );
    let unknown = parse(&text.replace("flows.csv", "flows.txt")).unwrap_err().to_string();
    assert!(unknown.ends_with("inputs.toml:7: key traffic[0].file: the extension of \"flows.txt\" does not name a known format: write format = \"csv\", \"parquet\", \"hpcc\", \"htsim\" or \"coflow\""), "{unknown}");
}

#[test]
fn scenarios_without_an_end() {
    let endless =
        afflux_scenario::load(std::path::Path::new("/dev/zero"), &Overrides::default(), &NoParquet)
            .unwrap_err()
            .to_string();
    assert_eq!(
        endless,
        "/dev/zero: cannot be read: a scenario has at most 64 MiB; long lists of flows go into a file of their own"
    );
}

#[test]
fn more_memory_than_allowed() {
    let message = error("[run]", "[run]\nmax_memory = \"1MB\"");
    assert!(
        message.starts_with(
            "fabric.toml:45: key run.max_memory: a fabric of 12 nodes and 12 links takes about "
        ),
        "{message}"
    );
    assert!(message.ends_with(" of memory: more than run.max_memory allows, 1.0 MB"), "{message}");
    let byte = error("[run]", "[run]\nmax_memory = \"1B\"");
    assert!(byte.ends_with(" of memory: more than run.max_memory allows, 1 B"), "{byte}");
}

/// Returns the error of the valid scenario with another balance, which is inserted after its line
/// of `alpha`.
fn balance_error(balance: &str) -> String {
    error("alpha = 1.0", &format!("alpha = 1.0\nbalance = {balance}"))
}

#[test]
fn balancers() {
    for (balance, message) in [
        (
            "\"letflo\"",
            "fabric.toml:14: key switch.balance: \"letflo\" is not known (did you mean \"letflow\"?): write \"ecmp\", \"resilient\", \"wcmp\", \"spray\", \
             \"round_robin\", \"drill\", \"letflow\", \"conga\", \"dlb\", \"glb\", \"detail\", \"presto\" or \"conweave\"",
        ),
        (
            "{ gap = \"1us\" }",
            "fabric.toml:14: key switch.balance: the key \"kind\" is missing: write kind = \"ecmp\", \"resilient\", \"wcmp\", \"spray\", \"round_robin\", \
             \"drill\", \"letflow\", \"conga\", \"dlb\", \"glb\", \"detail\", \"presto\" or \"conweave\"",
        ),
        (
            "{ kind = \"letflow\", gaps = \"1us\" }",
            "fabric.toml:14: key switch.balance.gaps: unknown key (did you mean \"gap\"?); the keys here are gap",
        ),
        (
            "{ kind = \"ecmp\", gap = \"1us\" }",
            "fabric.toml:14: key switch.balance.gap: unknown key; there are none here",
        ),
        (
            "{ kind = \"drill\", samples = 0 }",
            "fabric.toml:14: key switch.balance.samples: found 0: write a number from 1 to 64",
        ),
        (
            "{ kind = \"conga\", alpha = 1.0 }",
            "fabric.toml:14: key switch.balance.alpha: found 1: write a number above 0 and below 1",
        ),
        (
            "{ kind = \"conga\", tdre = \"0s\" }",
            "fabric.toml:14: key switch.balance.tdre: \"0s\": write a time from \"1ns\" to \"1s\"",
        ),
        (
            "{ kind = \"conga\", bits = 9 }",
            "fabric.toml:14: key switch.balance.bits: found 9: write a number from 1 to 8",
        ),
        (
            "{ kind = \"wcmp\", entries = 1 }",
            "fabric.toml:14: key switch.balance.entries: found 1: write a number from 2 to 65536, or \"off\"",
        ),
        (
            "{ kind = \"wcmp\", weights = { spine0 = 0 } }",
            "fabric.toml:14: key switch.balance.weights.spine0: found 0: write a weight from 1 to 1000000",
        ),
        (
            "{ kind = \"wcmp\", weights = { spine9 = 2 } }",
            "fabric.toml:14: key switch.balance.weights.spine9: there is no node \"spine9\" (did you mean \"spine0\"?): the nodes are host0 to host7, leaf0 to \
             leaf1, spine0 to spine1",
        ),
        (
            "{ kind = \"dlb\", past_load_weight = 0, future_load_weight = 0 }",
            "fabric.toml:14: key switch.balance.past_load_weight: found 0, and future_load_weight = 0 too: write at least one of them above 0",
        ),
        (
            "{ kind = \"detail\", thresholds = [\"64kB\", \"16kB\"] }",
            "fabric.toml:14: key switch.balance.thresholds: \"64kB\", \"16kB\": write two sizes above 0, the smaller first, as in [\"16kB\", \"64kB\"]",
        ),
        (
            "{ kind = \"presto\", flowcell = \"0B\" }",
            "fabric.toml:14: key switch.balance.flowcell: \"0B\": write a size above 0, as in \"64KiB\"",
        ),
    ] {
        assert_eq!(balance_error(balance), message);
    }
    assert_eq!(
        error(
            "alpha = 1.0",
            "alpha = 1.0\nbalance = \"conga\"\n[[switch.override]]\nmatch = \"spine*\"\nbalance = \"ecmp\""
        ),
        "fabric.toml:14: key switch.balance: the source's ToR chooses all of a path here, and the switches behind have to follow: write the same for all switches"
    );
    assert_eq!(
        error(
            "alpha = 1.0",
            "alpha = 1.0\nbalance = \"glb\"\n[[switch.override]]\nmatch = \"leaf*\"\nbalance = \"dlb\""
        ),
        "fabric.toml:14: key switch.balance: \"glb\": next hops report the state of their links to ToRs, so all switches need it: write the same for all switches"
    );
}
