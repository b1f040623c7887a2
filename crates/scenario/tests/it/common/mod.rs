//! Helpers that the tests of this crate share.
#![allow(dead_code)]

use afflux_scenario::{FlowColumns, Overrides, Reader, Scenario, ScenarioError};
use std::path::{Path, PathBuf};

pub struct NoParquet;

impl Reader for NoParquet {
    fn parquet(&self, _: &Path, _: u64) -> Result<FlowColumns, String> {
        Err("there is no reader for Parquet here".into())
    }
}

/// Creates an empty folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A small valid scenario, which tests change by replacing text in it.
pub const VALID: &str = r#"format = 1

[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "100Gbps"
delay = "1us"

[switch]
buffer = "9MB"
alpha = 1.0

[switch.ecn]
kmin = "100kB"
kmax = "400kB"
pmax = 0.2

[host]
wire = "ethernet"

[host.transport]
kind = "tcp"
congestion = "dctcp"

[host.transports.bulk]
congestion = "newreno"

[[traffic]]
kind = "random"
sizes = "websearch"
load = 0.5
load_basis = "host_payload"
duration = "1ms"

[[traffic]]
kind = "incast"
to = 0
senders = 3
bytes = "64kB"
transport = "bulk"

[run]
seed = 7

[record]
ports = { interval = "10us", nodes = ["leaf*"] }
capture = ["host0>leaf0"]
"#;

pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    parse_with(text, &Overrides::default())
}

pub fn parse_with(text: &str, overrides: &Overrides) -> Result<Scenario, ScenarioError> {
    let mut scenario =
        afflux_scenario::parse(text, Path::new("fabric.toml"), overrides, &NoParquet)?;
    // The memory limit of the machine differs between runs, so only a limit of the scenario is
    // kept.
    scenario.plan.run.max_memory = scenario.plan.run.max_memory.filter(|max| max.by.is_none());
    Ok(scenario)
}

/// Returns the error of the valid scenario with `from` replaced by `to`.
pub fn error(from: &str, to: &str) -> String {
    assert!(VALID.contains(from), "{from}");
    match parse(&VALID.replacen(from, to, 1)) {
        Ok(_) => panic!("no error with {to}"),
        Err(error) => error.to_string(),
    }
}
