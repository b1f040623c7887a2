//! Tests which hosts have the timing of real hosts.

use crate::common::{parse, parse_with};
use afflux_scenario::Overrides;

fn text(host: &str, traffic: &str) -> String {
    format!(
        "format = 1\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\n[host]\n{host}\n[[traffic]]\nkind = \"pairs\"\npairs = [[0, 1]]\nsizes = \"1MB\"\n{traffic}"
    )
}

/// Returns, for each host, whether it has the timing of real hosts.
fn timed(host: &str, traffic: &str) -> Vec<bool> {
    let scenario = parse(&text(host, traffic)).unwrap_or_else(|error| panic!("{error}"));
    let topology = &scenario.plan.topology;
    (0..topology.hosts)
        .map(|host| {
            scenario.plan.hosts[topology.nodes[host as usize].config as usize].timing.is_some()
        })
        .collect()
}

#[test]
fn linux_and_rdma_have_it_by_default_and_models_without_hosts_do_not() {
    let (all, none) = (vec![true; 4], vec![false; 4]);
    for (host, traffic, expected) in [
        ("", "", &all),
        ("transport = { congestion = \"dctcp\" }", "", &all),
        ("transport = { mptcp = { subflows = 2 } }", "", &all),
        ("transport = { kind = \"rdma\", mode = \"irn\" }", "", &all),
        ("transport = { stack = \"basic\" }", "", &none),
        ("transport = { stack = \"ns3\" }", "", &none),
        ("transport = { kind = \"pdq\" }", "", &none),
        ("timing = \"exact\"", "", &none),
        ("timing = {}\ntransport = { stack = \"basic\" }", "", &all),
        ("", "[run]\nengine = \"ideal\"\n", &none),
        // Transports that no traffic uses do not count.
        ("transports = { other = { stack = \"basic\" } }", "", &all),
        ("transports = { other = { stack = \"basic\" } }", "transport = \"other\"\n", &none),
    ] {
        assert_eq!(&timed(host, traffic), expected, "{host} {traffic}");
    }
    assert_eq!(
        timed("override = [{ match = \"host1\", timing = \"exact\" }]", ""),
        [true, false, true, true]
    );
    assert_eq!(
        timed(
            "transport = { stack = \"basic\" }\noverride = [{ match = \"host1\", timing = {} }]",
            ""
        ),
        [false, true, false, false]
    );
}

/// Tests that hosts are the same with all seeds, even if no flow of a rare kind starts with some of
/// them.
#[test]
fn hosts_do_not_depend_on_whether_a_flow_starts() {
    let text = "format = 1\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\n[[traffic]]\nkind = \"random\"\nsizes = \"20kB\"\n\
                flows_per_second = 100.0\nduration = \"10ms\"\n";
    let scenarios: Vec<_> = (1..=20)
        .map(|seed| {
            parse_with(text, &Overrides { seed: Some(seed), ..Overrides::default() }).unwrap()
        })
        .collect();
    assert!(
        scenarios.iter().any(|one| one.plan.flows.is_empty())
            && scenarios.iter().any(|one| !one.plan.flows.is_empty())
    );
    assert!(
        scenarios
            .iter()
            .all(|one| one.plan.hosts[0].timing.is_some() && one.plan.hosts[0].qdisc.is_some())
    );
}

/// Tests the turns of flows in a host: Linux gives each a packet of the NIC with its Ethernet header,
/// or two with `fq`, and ten at first.
#[test]
fn quanta_of_hosts_are_packets_of_the_mtu() {
    let resolved =
        |host: &str| parse(&text(host, "")).unwrap_or_else(|error| panic!("{error}")).resolved;
    for (host, quanta) in [
        ("", &["quantum = \"1514B\""][..]),
        ("mtu = \"9000B\"", &["quantum = \"9014B\""]),
        ("mtu = \"9000B\"\nqdisc = \"fq_codel\"", &["quantum = \"9014B\""]),
        (
            "mtu = \"9000B\"\nqdisc = { kind = \"fq_codel\", quantum = \"300B\" }",
            &["quantum = \"300B\""],
        ),
        ("qdisc = \"fq\"", &["quantum = \"3028B\"", "initial_quantum = \"15140B\""]),
        (
            "mtu = \"9000B\"\nqdisc = \"fq\"",
            &["quantum = \"18028B\"", "initial_quantum = \"90140B\""],
        ),
    ] {
        let text = resolved(host);
        assert!(quanta.iter().all(|quantum| text.contains(quantum)), "{host}: {text}");
    }
}

#[test]
fn its_keys_have_bounds() {
    for (timing, wrong) in [
        ("{ receive = \"2ms\" }", "key host.timing.receive: \"2ms\": write at most \"1ms\""),
        ("{ clock_ppm = -1.0 }", "key host.timing.clock_ppm"),
        ("\"rough\"", "key host.timing"),
        ("{ gaps = \"1ns\" }", "key host.timing.gaps"),
    ] {
        let error = parse(&text(&format!("timing = {timing}"), "")).unwrap_err().to_string();
        assert!(error.contains(wrong), "{error}");
    }
}

/// Tests a request over an idle link: its delay relative to a run without noise is within the
/// bounds of the noise, and repeats with the seed.
#[test]
fn a_lone_flow_is_late_by_the_noise_alone() {
    let took = |timing: &str, seed: u64| {
        let overrides = Overrides { seed: Some(seed), ..Overrides::default() };
        let scenario =
            parse_with(&text(&format!("timing = {timing}"), "").replace("1MB", "1kB"), &overrides)
                .unwrap();
        let output = afflux_net::run(&scenario.plan, &afflux_net::Progress::default()).unwrap();
        let record = &output.flows[0];
        record.finish.unwrap().since(record.start.unwrap()).0
    };
    let exact = took("\"exact\"", 1);
    // SYN, SYN-ACK, data and acknowledgement have one interrupt and one hand-over each, and clocks
    // deviate by 100 ppm.
    let most = 4 * 22_000_000 + 4 * 200;
    let late: Vec<u64> = (1..=50).map(|seed| took("{}", seed) - exact).collect();
    assert!(late.iter().all(|late| (1..=most).contains(late)), "{late:?}");
    let mean = late.iter().sum::<u64>() as f64 / 50.0;
    assert!((0.4..0.6).contains(&(mean / most as f64)), "{mean}");
    assert_eq!(took("{}", 3) - exact, late[2]);
    // Interrupts occur at times that are not whole nanoseconds.
    let none =
        took("{ receive = \"0ns\", send = \"0ns\", gap = \"0ns\", clock_ppm = 0.0 }", 1) - exact;
    assert!(none <= 4, "{none}");
}

/// Tests that frames that arrive together prefer no port: renumbering hosts changes their shares
/// within the spread of seeds, never systematically.
#[test]
fn no_number_of_a_host_is_preferred() {
    let shares = |timing: &str, seed: u64| {
        let text = format!(
            "format = 1\n[topology]\nkind = \"star\"\nhosts = 5\nrate = \"1Gbps\"\ndelay = \"20us\"\n[switch]\nsharing = \"static\"\nbuffer = \"100packets\"\n[host]\n\
             timing = {timing}\ntransport = {{ congestion = \"newreno\" }}\n[[traffic]]\nkind = \"pairs\"\npairs = [[1, 0], [2, 0], [3, 0], [4, 0]]\nsizes = \"100GB\"\n\
             stop = \"500ms\"\n"
        );
        let overrides = Overrides { seed: Some(seed), ..Overrides::default() };
        let scenario = parse_with(&text, &overrides).unwrap_or_else(|error| panic!("{error}"));
        let output = afflux_net::run(&scenario.plan, &afflux_net::Progress::default()).unwrap();
        let sent: Vec<f64> = output
            .flows
            .iter()
            .map(|flow| (flow.packets_sent - flow.packets_retransmitted) as f64)
            .collect();
        let all: f64 = sent.iter().sum();
        sent.into_iter().map(|sent| sent / all).collect::<Vec<f64>>()
    };
    for timing in ["\"exact\"", "{}"] {
        let seeds = 30;
        let runs: Vec<Vec<f64>> = (1..=seeds).map(|seed| shares(timing, seed)).collect();
        for sender in 0..4 {
            let of: Vec<f64> = runs.iter().map(|run| run[sender]).collect();
            let mean = of.iter().sum::<f64>() / seeds as f64;
            let variance = of.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>()
                / (seeds - 1) as f64;
            // The limit is four standard errors. About one test in some thousand would fail by
            // chance, but the seeds are fixed.
            assert!(
                (mean - 0.25).abs() < 4.0 * (variance / seeds as f64).sqrt(),
                "{timing}: host{}: {mean}, {of:?}",
                sender + 1
            );
        }
    }
}
