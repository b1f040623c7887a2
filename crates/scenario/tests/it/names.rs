//! Tests names and addresses of hosts and switches.

use crate::common::parse;
use afflux_net::spec::Start;
use afflux_scenario::Scenario;

fn load(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    parse(text).map(|_| String::from("valid")).unwrap_or_else(|error| error.message)
}

/// Returns a leaf-spine of two racks with names, and with `more` appended.
fn named(more: &str) -> String {
    format!(
        "format = 1\n[topology]\nkind = \"leaf_spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nhosts = [\"db1\", {{ name = \"db2\", address = \
         \"10.0.0.2\" }}, {{ address = [\"10.0.1.1\", \"fe80::1\"] }}, \"host7\"]\nswitches = [\"tor-a\", \"tor-b\", \"core\"]\n{more}"
    )
}

const PAIRS: &str = "[[traffic]]\nkind = \"pairs\"\nsizes = \"1kB\"\npairs = ";

#[test]
fn hosts_are_found_by_number_name_and_address() {
    let text = named(&format!(
        "{PAIRS}[[\"db1\", \"10.0.0.2\"], [2, \"host7\"], [\"fe80:0::1\", \"db2\"], [\"10.0.1.1\", 0]]\n"
    ));
    let plan = load(&text).plan;
    assert_eq!(
        plan.flows.iter().map(|flow| (flow.src, flow.dst)).collect::<Vec<_>>(),
        [(0, 1), (2, 3), (2, 1), (2, 0)]
    );
    let names: Vec<&str> = plan.topology.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["db1", "db2", "10.0.1.1", "host7", "tor-a", "tor-b", "core"]);
    assert!(plan.flows.iter().all(|flow| matches!(flow.start, Start::At(_))));
}

#[test]
fn every_key_takes_names() {
    let text = named(
        "[[topology.override]]\nlink = \"db1-tor-a\"\nrate = \"10Gbps\"\n[[topology.fault]]\nlink = \"10.0.1.1-tor-b\"\nloss = 0.1\n\
         [host]\noverride = [{ match = \"db*\", delay = \"1us\" }]\n[record]\nports = { nodes = [\"db1\", \"core\"] }\ncapture = \"db1>tor-a\"\n\
         [[traffic]]\nkind = \"incast\"\nto = \"db2\"\nsenders = [\"db1\", \"host7\"]\nbytes = \"1kB\"\n\
         [[traffic]]\nkind = \"permutation\"\nhosts = \"db*\"\nsizes = \"1kB\"\n",
    );
    let plan = load(&text).plan;
    assert_eq!(plan.topology.links[0].rate.0, 10_000_000_000);
    assert!(plan.topology.links[2].loss.get() > 0.0);
    assert_eq!(
        plan.topology.nodes.iter().map(|node| node.config).collect::<Vec<_>>()[..4],
        [1, 1, 0, 0]
    );
    assert_eq!(plan.record.ports.as_ref().map(|ports| ports.nodes.clone()), Some(vec![0, 6]));
    assert_eq!(plan.flows.len(), 4);
}

#[test]
fn the_resolved_scenario_keeps_them() {
    let text = named(&format!("{PAIRS}[[\"db1\", \"db2\"]]\n"));
    let first = load(&text);
    let again = load(&first.resolved);
    assert_eq!((first.hash, first.resolved), (again.hash, again.resolved));
    assert_eq!(again.plan.topology.addresses.len(), 3);
}

#[test]
fn numbers_stay_names_where_hosts_have_others() {
    let star = |hosts: &str, pair: &str| {
        format!("format = 1\n[topology]\nkind = \"star\"\nhosts = {hosts}\n{PAIRS}[{pair}]\n")
    };
    let flows = |text: &str| {
        load(text).plan.flows.iter().map(|flow| (flow.src, flow.dst)).collect::<Vec<_>>()
    };
    assert_eq!(flows(&star("3", "[\"host2\", 0]")), [(2, 0)]);
    assert_eq!(flows(&star("[\"a\", \"b\", \"c\"]", "[\"host2\", \"a\"]")), [(2, 0)]);
    // If hosts have names of the form `host3`, the names count and not the numbers.
    assert_eq!(
        flows(&star("[\"host1\", \"host2\", \"host3\"]", "[\"host2\", \"host1\"]")),
        [(1, 0)]
    );
    assert!(
        error(&star("[\"host1\", \"host2\", \"host3\"]", "[\"host0\", \"host1\"]"))
            .contains("no node \"host0\"")
    );
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = |hosts: &str| {
        error(&format!(
            "format = 1\n[topology]\nkind = \"star\"\nhosts = {hosts}\n{PAIRS}[[0, 1]]\n"
        ))
    };
    for (hosts, says) in [
        ("[\"a\", \"a\"]", "key topology.hosts[1]: \"a\" is there twice"),
        ("[\"a\", \"switch0\"]", "\"switch0\" is the name of two nodes"),
        (
            "[\"a\", \"a\\nb\"]",
            "key topology.hosts[1]: \"a\\nb\": write a name without control characters",
        ),
        (
            "[\"a\", \"\\u202eb\"]",
            "without control characters and invisible ones (this one has U+202E)",
        ),
        ("[\"a\", \"b c\"]", "no blanks"),
        ("[\"a\", \"../b\"]", "none of"),
        ("[\"a\", \"=b\"]", "does not begin with"),
        ("[\"a\", \"7\"]", "a name with a letter"),
        ("[\"a\", \"all\"]", "means several nodes"),
        ("[\"a\", \"10.0.0.1\"]", "is an address: write { address = \"10.0.0.1\" }"),
        (
            "[\"a\", { address = \"10.0.0\" }]",
            "key topology.hosts[1].address: \"10.0.0\": write an IP address",
        ),
        ("[{ address = \"10.0.0.1\" }, { address = \"10.0.0.1\" }]", "is an address of host 0 too"),
        ("[\"a\", {}]", "a host without a name"),
        ("[\"a\", 7]", "a host's name, or a table"),
    ] {
        let message = wrong(hosts);
        assert!(message.contains(says), "{hosts}: {message}");
    }
    let long = "x".repeat(101);
    assert!(wrong(&format!("[\"a\", \"{long}\"]")).contains("at most 100 bytes"));
    let message = error(&named(&format!("{PAIRS}[[\"db1\", \"db3\"]]\n")));
    assert!(message.contains("there is no node \"db3\" (did you mean \"db1\"?)"), "{message}");
    let message = error(&named(
        "[[traffic]]\nkind = \"incast\"\nto = \"10.0.0.3\"\nsenders = [0]\nbytes = \"1kB\"\n",
    ));
    assert!(message.contains("did you mean \"10.0.0.2\"?"), "{message}");
    let few = named("").replace(", \"host7\"]", "]");
    assert!(
        error(&format!("{few}{PAIRS}[[0, 1]]\n"))
            .contains("found 3 names, and the fabric has 4 hosts: name all of them, or none")
    );
    let switch = named("").replace("\"core\"", "\"db1\"");
    assert!(
        error(&format!("{switch}{PAIRS}[[0, 1]]\n")).contains("\"db1\" is the name of two nodes")
    );
}

#[test]
fn names_cannot_leave_their_place() {
    let star = |more: &str| format!("format = 1\n{more}\n[topology]\nkind = \"star\"\nhosts = 2\n");
    let pairs = |keys: &str| {
        format!("[[traffic]]\nkind = \"pairs\"\npairs = [[0, 1]]\nsizes = \"1kB\"\n{keys}\n")
    };
    for name in ["../../x", "a/b", "..", "-rf", "a\\nb", "a\\u0000"] {
        let message = error(&format!("{}{}", star(&format!("name = \"{name}\"")), pairs("")));
        assert!(message.contains("key name: "), "{message}");
    }
    for key in ["class", "name"] {
        let message = error(&format!(
            "{}{}",
            star(""),
            pairs(&format!("{key} = \"x\\n9,0,2,1,99999999,y\""))
        ));
        assert!(message.contains(&format!("key traffic[0].{key}: \"x\\n9,0,2,1,99999999,y\": write a name without control characters")), "{message}");
    }
    // A value of any length gives a message of limited length, in one line.
    let message = error(&format!(
        "{}{}",
        star(""),
        pairs(&format!("class = \"{}\"", "é\\u001b".repeat(50_000)))
    ));
    assert!(message.len() < 3_000 && !message.contains(|c: char| c.is_control()), "{message}");
}

/// Returns the names of the jobs of traffic blocks in a star of eight hosts.
fn jobs(blocks: &str) -> Vec<String> {
    load(&star(blocks)).jobs.iter().map(|job| job.name.clone()).collect()
}

fn star(blocks: &str) -> String {
    format!("format = 1\n[topology]\nkind = \"star\"\nhosts = 8\n{blocks}")
}

const READ: &str =
    "kind = \"incast\"\nbytes = \"1kB\"\nsenders = 2\nrounds = 2\nperiod = \"1ms\"\n";

#[test]
fn jobs_have_the_names_of_their_blocks() {
    let read = |name: &str| format!("[[traffic]]\n{READ}{name}\n");
    let shuffle =
        |name: &str| format!("[[traffic]]\nkind = \"all_to_all\"\nsizes = \"1kB\"\n{name}\n");
    assert_eq!(
        jobs(&(read("name = \"query\"") + &read("name = \"query1\""))),
        ["query.0", "query.1", "query1.0", "query1.1"]
    );
    // Without a name, the first block of a kind has the name of the kind, and further blocks the
    // name of their position.
    assert_eq!(
        jobs(&(shuffle("") + &read("") + &read("") + &shuffle(""))),
        ["all_to_all", "incast.0", "incast.1", "traffic2.0", "traffic2.1", "traffic3"]
    );
    assert_eq!(
        jobs(&(read("") + &read("name = \"incast\""))),
        ["traffic0.0", "traffic0.1", "incast.0", "incast.1"]
    );
    // With all defaults written, a block without a name has the name of its position.
    assert_eq!(jobs(&read("name = \"traffic0\"")), ["incast.0", "incast.1"]);
    let scenario = load(&star(&(shuffle("") + &read("name = \"r\""))));
    assert_eq!(
        (scenario.blocks, scenario.jobs[2].block),
        (vec!["all_to_all".to_string(), "r".to_string()], 1)
    );
    // Random draws depend on block names as they did before jobs had names.
    let drawn = |name: &str| {
        let plan = load(&star(&read(&format!("random_senders = true\n{name}")))).plan;
        plan.flows.iter().map(|flow| flow.src).collect::<Vec<_>>()
    };
    assert_eq!(drawn(""), drawn("name = \"traffic0\""));
    // Jobs of a block "a.0" could be taken for jobs of a block "a".
    let message = error(&star(&(read("name = \"a\"") + &read("name = \"a.0\""))));
    assert!(message.contains("key traffic[1].name: \"a.0\" begins as the names of the jobs of traffic[0] do, \"a.…\": write another name"), "{message}");
    assert_eq!(
        jobs(
            &(read("name = \"a\"")
                + "[[traffic]]\nkind = \"permutation\"\nname = \"a.0\"\nsizes = \"1kB\"\n")
        )
        .len(),
        2
    );
}

/// Tests that drawn deadlines of answers are those of their query, and that they count from it.
#[test]
fn each_query_has_a_deadline() {
    let scenario = load(&star(
        "[[traffic]]\nkind = \"partition_aggregate\"\nqueries_per_second = 1000\njitter = \"2ms\"\nduration = \"5ms\"\nmessages_per_second = 1000\n\
         deadline = { mean = \"10ms\", least = \"3ms\" }\n",
    ));
    let mut of_jobs = std::collections::BTreeMap::new();
    for flow in scenario.plan.flows.iter() {
        let Some(job) = scenario.jobs.get(flow.job as usize) else {
            assert_eq!(flow.deadline, None, "a message");
            continue;
        };
        let afflux_net::spec::Start::At(start) = flow.start else { panic!("{flow:?}") };
        let end = start.0 - job.arrival.unwrap().0 + flow.deadline.unwrap().0;
        assert_eq!(*of_jobs.entry(flow.job).or_insert(end), end, "{flow:?} {job:?}");
    }
    let different: std::collections::BTreeSet<u64> = of_jobs.values().copied().collect();
    assert!(of_jobs.len() > 5 && different.len() > 3, "{of_jobs:?}");
}

#[test]
fn each_client_has_an_incast() {
    let flows = |to: &str| {
        let scenario = load(&star(&format!("[[traffic]]\n{READ}name = \"read\"\nto = {to}\n")));
        scenario
            .plan
            .flows
            .iter()
            .map(|flow| (scenario.jobs[flow.job as usize].name.clone(), flow.src, flow.dst))
            .collect::<Vec<_>>()
    };
    let expected = [
        ("read.0", 0, 2),
        ("read.0", 1, 2),
        ("read.1", 0, 5),
        ("read.1", 1, 5),
        ("read.2", 0, 2),
        ("read.2", 1, 2),
        ("read.3", 0, 5),
        ("read.3", 1, 5),
    ];
    let expected = expected.map(|(job, src, dst)| (job.to_string(), src, dst)).to_vec();
    assert_eq!(flows("[5, \"host2\"]"), expected);
    assert_eq!(flows("\"host[2,5]\""), expected);
    assert_eq!(flows("[2]"), flows("2"));
    let resolved = load(&star(&format!("[[traffic]]\n{READ}to = \"host[2,5]\"\n"))).resolved;
    assert!(resolved.contains("to = \"host[2,5]\""), "{resolved}");
    assert_eq!(load(&resolved).resolved, resolved);
    // All other hosts among those that may take part send.
    let all = load(&star(
        "[[traffic]]\nkind = \"incast\"\nbytes = \"1kB\"\nhosts = \"0-3\"\nto = [0, 7]\n",
    ))
    .plan;
    assert_eq!(
        all.flows.iter().map(|flow| (flow.src, flow.dst)).collect::<Vec<_>>(),
        [(1, 0), (2, 0), (3, 0), (0, 7), (1, 7), (2, 7), (3, 7)]
    );
}

#[test]
fn patterns_of_hosts() {
    let ends = |block: &str| {
        let mut ends: Vec<_> =
            load(&star(block)).plan.flows.iter().map(|flow| (flow.src, flow.dst)).collect();
        ends.sort_unstable();
        ends
    };
    assert_eq!(
        ends(&format!("{PAIRS}[[\"host[1-2]\", \"host[2-3]\"], [\"host[5-5]\", 6]]\n")),
        [(1, 2), (1, 3), (2, 3), (5, 6)]
    );
    assert_eq!(
        ends("[[traffic]]\nkind = \"all_to_all\"\nsizes = \"1kB\"\nhosts = [\"host[6,7]\", 0]\n")
            .len(),
        6
    );
    let random = "[[traffic]]\nkind = \"random\"\nsizes = \"1kB\"\nflows_per_second = 1e6\nduration = \"50us\"\nsources = \"host[1-2]\"\ndestinations = \"host?\"\n";
    assert!(ends(random).iter().all(|(src, _)| [1, 2].contains(src)));
    let senders =
        format!("[[traffic]]\n{}senders = \"host[3-4]\"\n", READ.replace("senders = 2\n", ""));
    assert_eq!(ends(&senders), [(3, 0), (3, 0), (4, 0), (4, 0)]);
    // Other tables with names of nodes accept patterns too, and names with brackets stay names.
    let links = "[[topology.override]]\nlink = \"host[2-3]-switch0\"\nrate = \"10Gbps\"\n[[host.override]]\nmatch = \"host[0,4-6]\"\ndelay = \"1us\"\n";
    let plan = load(&star(&format!("{links}{PAIRS}[[0, 1]]\n"))).plan;
    let slow: Vec<u32> = plan
        .topology
        .links
        .iter()
        .filter(|link| link.rate.0 == 10_000_000_000)
        .map(|link| link.a.min(link.b))
        .collect();
    assert_eq!(slow, [2, 3]);
    assert_eq!(
        plan.topology.nodes.iter().map(|node| node.config).collect::<Vec<_>>()[..8],
        [1, 0, 0, 0, 1, 1, 1, 0]
    );
    let named = load(&format!("format = 1\n[topology]\nkind = \"star\"\nhosts = [\"a[1]\", \"a1\", \"b\"]\n{PAIRS}[[\"a[1]\", \"a[1-2]\"]]\n")).plan;
    assert_eq!((named.flows[0].src, named.flows[0].dst), (0, 1));
    let message = error(&star(&format!("{PAIRS}[[0, \"db[1-2]\"]]\n")));
    assert!(
        message.contains(
            "key traffic[0].pairs[0][1]: no host matches \"db[1-2]\": the hosts are host0 to host7"
        ),
        "{message}"
    );
}
