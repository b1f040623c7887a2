//! One function for each reader of foreign data. For any bytes, a reader must return a value or an
//! error and never panic. The coverage-guided fuzzer of `fuzz/` calls these functions, and so does
//! the test that replays its corpus.

use crate::choices::Bytes;
use crate::examine::{Limits, Verdict, examine};
use crate::{data, generate};
use afflux_results::ParquetFlowLists;
use afflux_scenario::{Overrides, Reader, Scenario, ScenarioError};
use afflux_traffic::hadoop::{TraceOptions, read_trace};
use afflux_traffic::{
    Classes, CoflowOptions, Draws, FileOptions, FlowListOptions, HpccOptions, LocalFlows,
    MatrixOptions, SizeDistribution, SpatialMatrix, Template, capture, coflow, hpcc, matrix,
    read_csv_from,
};
use afflux_units::{Probability, Rate, Span, Time};
use std::fmt::{Debug, Display};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

/// A reader and its name, which is also the name of its corpus.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident)*) => { pub const TARGETS: &[Target] = &[$(Target { name: stringify!($name), run: $name }),*]; };
}
targets! { quantities scenario set names flow_list parquet captures coflows connections hpcc_flows fabric sizes jobs weights random_scenario }

/// Returns the target with this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}

/// File name of input that is not in a file.
const NOWHERE: &str = "input";
/// Number of hosts of the fabric for flow lists.
const HOSTS: u32 = 16;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes these bytes to a file for a reader that needs one. The file is overwritten each time.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let folder = root.join(format!("afflux-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for inputs");
        folder
    });
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("space for an input");
    path
}

fn quantity<T: FromStr + Display + PartialEq + Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(
            value.to_string().parse::<T>().ok().as_ref(),
            Some(&value),
            "{text:?} is printed as {value}"
        );
    }
}

/// Checks that a printed quantity is read back as the same quantity.
fn quantities(bytes: &[u8]) {
    let text = text(bytes);
    quantity::<Span>(&text);
    quantity::<afflux_units::Bytes>(&text);
    quantity::<Rate>(&text);
    let _ = text.parse::<Probability>();
}

/// Checks that an error names a line of the file, and that a resolved scenario reads back as the
/// same scenario.
fn checked(text: &str, found: Result<Scenario, ScenarioError>) {
    match found {
        Ok(scenario) => match parsed(&scenario.resolved) {
            Ok(again) => assert_eq!(
                (&again.resolved, &again.hash),
                (&scenario.resolved, &scenario.hash),
                "resolved differently:\n{text}"
            ),
            Err(error) => {
                panic!("the resolved form is refused: {error}\n{}\nof\n{text}", scenario.resolved)
            }
        },
        Err(error) => {
            assert!(
                error.line.is_none_or(|line| line >= 1 && line <= text.lines().count().max(1)),
                "{error}\n{text}"
            );
            assert!(!error.message.is_empty());
        }
    }
}

fn parsed(text: &str) -> Result<Scenario, ScenarioError> {
    afflux_scenario::parse(
        text,
        &data().join("scenario.toml"),
        &Overrides::default(),
        &ParquetFlowLists,
    )
}

fn scenario(bytes: &[u8]) {
    let text = text(bytes);
    checked(&text, parsed(&text));
}

/// Small scenario with most tables, to which settings are applied.
const BASE: &str = include_str!("../data/base.toml");

/// Reads `key=value` lines, as for `--set`.
fn set(bytes: &[u8]) {
    let text = text(bytes);
    let set = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .take(8)
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    let overrides = Overrides { set, ..Overrides::default() };
    // Errors in options have no line of the file, so only successes are checked.
    if let Ok(scenario) =
        afflux_scenario::parse(BASE, &data().join("base.toml"), &overrides, &ParquetFlowLists)
    {
        checked(&text, Ok(scenario));
    }
}

/// Reads names and patterns of nodes, links and hosts, wherever a scenario can contain them.
fn names(bytes: &[u8]) {
    let text = text(bytes);
    let quoted = toml::Value::from(text).to_string();
    for place in [
        "topology.override.0.link",
        "topology.fault.0.link",
        "record.capture",
        "record.gaps",
        "switch.override.0.match",
        "traffic.0.hosts",
        "traffic.1.to",
    ] {
        let overrides =
            Overrides { set: vec![(place.to_string(), quoted.clone())], ..Overrides::default() };
        if let Ok(scenario) =
            afflux_scenario::parse(BASE, &data().join("base.toml"), &overrides, &ParquetFlowLists)
        {
            checked(&quoted, Ok(scenario));
        }
    }
}

fn flow_list(bytes: &[u8]) {
    for local in [LocalFlows::Refuse, LocalFlows::Instant, LocalFlows::Drop] {
        let options = FlowListOptions { local, ..FlowListOptions::new(HOSTS) };
        let _ = read_csv_from(bytes, Path::new(NOWHERE), &options, &mut Classes::default());
    }
}

fn parquet(bytes: &[u8]) {
    if let Ok(columns) = ParquetFlowLists.parquet(&file("flows.parquet", bytes), u64::MAX) {
        let _ = afflux_traffic::from_columns(
            &columns,
            Path::new(NOWHERE),
            &FlowListOptions::new(HOSTS),
            &mut Classes::default(),
        );
    }
}

fn captures(bytes: &[u8]) {
    if let Ok(captured) = capture::read_from(bytes, Path::new(NOWHERE), 1_000_000) {
        assert!(captured.used <= captured.frames);
        assert!(
            captured
                .flows
                .iter()
                .all(|flow| (flow.src.max(flow.dst) as usize) < captured.hosts.len()
                    && flow.src != flow.dst
                    || flow.bytes > 0)
        );
    }
}

fn coflows(bytes: &[u8]) {
    let options = CoflowOptions::new(HOSTS, HOSTS);
    let _ = coflow::read_from(
        bytes,
        Path::new(NOWHERE),
        &options,
        &Template::default(),
        &Draws::new(1, "coflows"),
    );
}

fn connections(bytes: &[u8]) {
    let _ = matrix::read_from(
        bytes,
        Path::new(NOWHERE),
        &MatrixOptions::new(HOSTS),
        &Template::default(),
    );
}

fn hpcc_flows(bytes: &[u8]) {
    let _ =
        hpcc::read_from(bytes, Path::new(NOWHERE), &HpccOptions::new(HOSTS), &Template::default());
}

/// Reads a topology file of HPCC's simulator.
fn fabric(bytes: &[u8]) {
    let path = file("fabric.txt", bytes);
    let scenario = format!(
        "format = 1\n[topology]\nkind = \"hpcc\"\nfile = {}\n[[traffic]]\nkind = \"pairs\"\npairs = [[0, 1]]\nsizes = \"1kB\"\n",
        toml::Value::from(path.display().to_string())
    );
    let _ = parsed(&scenario);
}

fn sizes(bytes: &[u8]) {
    for options in [FileOptions::default(), FileOptions { unit_bytes: 1_460, whole_units: true }] {
        if let Ok(sizes) = SizeDistribution::read_from(bytes, Path::new(NOWHERE), &options) {
            for u in [0.0, 0.5, 0.999_999_9] {
                assert!(sizes.sample(u) > 0);
            }
            assert!(sizes.mean() > 0.0 && sizes.mean().is_finite());
        }
    }
}

/// Reads a Hadoop trace.
fn jobs(bytes: &[u8]) {
    let options = TraceOptions {
        size_scale: 0.5,
        time_scale: 2.0,
        skip: 1,
        most: Some(1_000),
        bytes_per_reducer: 1_000_000_000,
        block: 128 << 20,
        start: Time::ZERO,
    };
    let _ = read_trace(&file("jobs.tsv", bytes), &options);
}

/// Reads traffic weights from rack to rack.
fn weights(bytes: &[u8]) {
    let _ = SpatialMatrix::read_from(bytes, Path::new(NOWHERE));
}

/// Uses the bytes as choices of a generator, and runs the resulting scenario, mostly a valid one,
/// on both engines.
fn random_scenario(bytes: &[u8]) {
    let text = generate::text(&mut Bytes(bytes), &data());
    let limits = Limits {
        wall: Duration::from_secs(5),
        hops: 100_000,
        threads: vec![1, 2],
        ..Limits::default()
    };
    if let Verdict::Broken(broken) = examine(&text, &data().join("scenario.toml"), &limits) {
        panic!("{}\n{}\n{text}", broken.what, broken.detail);
    }
}
