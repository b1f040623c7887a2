//! Tests that a default keeps following other keys in a resolved scenario: a changed key has the
//! same effect there as in the original.

use crate::common::{NoParquet, folder, parse, parse_with};
use afflux_scenario::{Overrides, Scenario};
use std::path::{Path, PathBuf};

/// Returns the scenario with the defaults that its resolved text contains as comments.
fn filled(scenario: &Scenario) -> toml::Table {
    let text: Vec<&str> =
        scenario.resolved.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect();
    toml::from_str(&text.join("\n"))
        .unwrap_or_else(|error| panic!("{error}\n{}", scenario.resolved))
}

fn set(key: &str, value: &str) -> Overrides {
    Overrides { set: vec![(key.into(), value.into())], ..Overrides::default() }
}

const CHANGES: &[(&str, &str)] = &[
    ("host.mtu", "9000B"),
    ("host.delay", "3us"),
    ("host.wire", "\"linux\""),
    ("host.scheduling", "\"strict_priority\""),
    ("host.transport.congestion", "\"dctcp\""),
    ("host.transport.congestion", "\"newreno\""),
    ("host.transport.congestion", "\"bbr\""),
    ("host.transport.stack", "\"ns3\""),
    ("host.transport.stack", "\"basic\""),
    ("host.transport.min_rto", "\"1ms\""),
    ("host.transport.handshake", "false"),
    ("host.transport.recovery", "\"newreno\""),
    ("host.transport.receive_window", "\"2MB\""),
    ("host.transport.mss", "\"1000B\""),
    ("host.transport.mode", "\"irn\""),
    ("host.transport.dcqcn.parameters", "\"nvidia\""),
    ("host.transport", "{ kind = \"rdma\", mode = \"gbn_no_pfc\" }"),
    ("switch.buffer", "\"3MB\""),
    ("switch.buffer", "\"100packets\""),
    ("switch.sharing", "\"static\""),
    ("switch.sharing", "\"unlimited\""),
    ("switch.sharing", "\"sonic\""),
    ("switch.preset", "\"jericho_plus\""),
    ("switch.preset", "\"trident3_lossless\""),
    ("switch.alpha", "2"),
    ("switch.pfc.priorities", "[5]"),
    ("switch.pfc.headroom", "\"mellanox\""),
    ("switch.mmu.headroom_pool", "\"1MB\""),
    ("switch.device_queue", "1"),
    ("switch.forwarding", "\"cut_through\""),
    ("switch.scheduling", "\"strict_priority\""),
    ("switch.balance", "\"drill\""),
    ("switch.balance", "\"conga\""),
    ("switch.ecn", "{ kmin = \"30kB\", kmax = \"90kB\" }"),
    ("switch.ecn", "\"off\""),
    ("switch.aqm", "{ kind = \"pie\" }"),
    ("topology.delay", "\"7us\""),
    ("topology.host_rate", "\"40Gbps\""),
    ("topology.rate", "\"40Gbps\""),
    ("traffic[0].sizes", "\"hadoop\""),
    ("traffic[0].closed_loop", "true"),
    ("traffic[0].hosts", "\"0-3\""),
    ("run.until", "\"1ms\""),
    ("run.seed", "9"),
    ("run.compat", "\"conweave-ns3\""),
];

/// Key whose default names the design, and is therefore written into a resolved scenario.
const NAMED: &str = "congestion";

fn without_name(mut table: toml::Table) -> toml::Table {
    if let Some(toml::Value::Table(transport)) =
        table.get_mut("host").and_then(|host| host.get_mut("transport"))
    {
        for key in ["congestion", "newreno", "cubic", "hystart_plusplus", "ecn"] {
            transport.remove(key);
        }
    }
    table
}

fn follows(original: &str, path: &Path, what: &str) -> usize {
    let parse_in = |text: &str, overrides: &Overrides| {
        afflux_scenario::parse(text, path, overrides, &NoParquet)
    };
    let Ok(scenario) = parse_in(original, &Overrides::default()) else { return 0 };
    let again = parse_in(&scenario.resolved, &Overrides::default())
        .unwrap_or_else(|error| panic!("{what}: {error}\n{}", scenario.resolved));
    assert_eq!((&again.resolved, &again.hash), (&scenario.resolved, &scenario.hash), "{what}");
    let mut taken = 0;
    for (key, value) in CHANGES {
        let (direct, after) =
            (parse_in(original, &set(key, value)), parse_in(&scenario.resolved, &set(key, value)));
        match (direct, after) {
            (Ok(direct), Ok(after)) => {
                let (mut one, mut other) = (filled(&direct), filled(&after));
                if *key == "host.transport.stack" && !original.contains(NAMED) {
                    (one, other) = (without_name(one), without_name(other));
                }
                assert_eq!(one, other, "{what}: {key} = {value}");
                taken += 1;
            }
            (Err(_), Err(_)) => {}
            // The default that is written into the resolved scenario may exclude another stack or
            // kind. The error then says so.
            (Ok(_), Err(error)) => assert!(
                key.starts_with("host.transport"),
                "{what}: {key} = {value}: only the resolved one is refused: {error}"
            ),
            (Err(error), Ok(_)) => {
                panic!("{what}: {key} = {value}: only the original is refused: {error}")
            }
        }
    }
    taken
}

/// Shortens durations and shrinks fabrics. The test compares keys, so flows and routes only cost
/// time: it reads each scenario a hundred times.
const FEWER_FLOWS: &[(&str, &str)] = &[
    ("duration = \"200ms\"", "duration = \"2ms\""),
    ("duration = \"20ms\"", "duration = \"1ms\""),
    ("duration = \"12ms\"", "duration = \"400us\""),
    ("duration = \"10ms\"", "duration = \"1ms\""),
    ("duration = \"2s\"", "duration = \"20ms\""),
    ("duration = \"1s\"", "duration = \"10ms\""),
    ("flows = 20000", "flows = 20"),
    ("flows = 2000", "flows = 20"),
    ("sizes = \"1GB\"", "sizes = \"1MB\""),
    ("k = 8", "k = 4"),
];

#[test]
fn every_example_template_and_study() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut files, mut taken) = (0, 0);
    for folder in [
        "examples",
        "python/afflux/templates",
        "studies/conweave",
        "studies/longfat",
        "studies/mptcp",
        "studies/pfabric",
    ] {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(root.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        for path in paths {
            let text = FEWER_FLOWS
                .iter()
                .fold(std::fs::read_to_string(&path).unwrap(), |text, (many, few)| {
                    text.replace(many, few)
                });
            taken += follows(&text, &path, &path.display().to_string());
            files += 1;
        }
    }
    assert!(files > 15 && taken > 10 * files, "{files} files, {taken} changes taken");
}

#[test]
fn a_scenario_without_defaults_written() {
    let text = "format = 1\n[topology]\nkind = \"leaf_spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[[traffic]]\nkind = \"incast\"\nbytes = \"1MB\"\n";
    assert!(follows(text, Path::new("plain.toml"), "without defaults") > 20);
}

/// Changes the buffer, and with it all defaults that follow from it.
#[test]
fn another_buffer_on_a_resolved_scenario() {
    let text = "format = 1\n[topology]\nkind = \"star\"\nhosts = 4\n[switch]\nsharing = \"sonic\"\npfc = { priorities = [3] }\n[[traffic]]\nkind = \"incast\"\nbytes = \"1MB\"\npriority = 3\n";
    let resolved = parse(text).unwrap().resolved;
    let direct = parse_with(text, &set("switch.buffer", "\"8MB\"")).unwrap();
    let after = parse_with(&resolved, &set("switch.buffer", "\"8MB\"")).unwrap();
    assert_eq!(format!("{:?}", direct.plan.switches), format!("{:?}", after.plan.switches));
    assert_ne!(
        format!("{:?}", direct.plan.switches),
        format!("{:?}", parse(text).unwrap().plan.switches)
    );
}

/// Covers keys as written, names for tables, strings with special characters, and inputs by path
/// and hash.
#[test]
fn resolved_text() {
    let folder = folder("derived");
    std::fs::write(folder.join("sizes.csv"), "1000 0.5\n2000 1.0\n").unwrap();
    let text = r#"format = 1
name = "x"
description = """
Two lines, "quotes" and
# no comment"""
[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
[switch]
balance = "drill"
ecn = { k = "30kB" }
[host.transports."a b"]
congestion = "dctcp"
[[traffic]]
kind = "permutation"
sizes = "sizes.csv"
transport = "a b"
"#;
    let path = folder.join("x.toml");
    let scenario = afflux_scenario::parse(text, &path, &Overrides::default(), &NoParquet).unwrap();
    let resolved = &scenario.resolved;
    for line in [
        "name = \"x\"",
        "description = \"Two lines, \\\"quotes\\\" and\\n# no comment\"",
        "[switch.balance]\nkind = \"drill\"\n# memory = 1\n",
        "[switch.ecn]\nk = \"30kB\"\n",
        "# kmin = \"30kB\"\n",
        "[host.transports.\"a b\"]\ncongestion = \"dctcp\"\nkind = \"tcp\"\nstack = \"linux\"\n# ",
        "# mss = \"1460B\"\n",
        "# dctcp.gain = 0.0625\n",
        "\nsha256 = \"",
        "[run]\n",
        "\nseed = 1\n",
    ] {
        assert!(resolved.contains(line), "{line} in\n{resolved}");
    }
    assert!(!resolved.contains("[host.transport]"), "nothing is sent by it:\n{resolved}");
    let elsewhere = afflux_scenario::parse(
        resolved,
        Path::new("/elsewhere/y.toml"),
        &Overrides::default(),
        &NoParquet,
    )
    .unwrap();
    assert_eq!((&elsewhere.resolved, &elsewhere.hash), (resolved, &scenario.hash));
    assert_eq!(filled(&scenario)["traffic"][0]["sizes"]["unit"].as_str(), Some("1B"));
}
