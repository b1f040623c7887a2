//! `kind = "flows"`: lists of flows from files.

use super::block::{Place, Workload, model};
use super::keys::FlowKeys;
use crate::validate::traffic::common::{self, Shared};
use crate::validate::traffic::context::TrafficContext;
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Size, keys, words};
use afflux_net::Model;
use afflux_net::spec::Start;
use afflux_traffic::coflow::{self, CoflowOptions};
use afflux_traffic::hpcc::{self, HpccOptions};
use afflux_traffic::matrix::{self, MatrixOptions};
use afflux_traffic::{FlowListOptions, Generated, JobKind, LocalFlows, from_columns, read_csv};
use afflux_units::{Bytes, Span, Time};
use std::path::Path;

keys! {
    /// A list of flows from a file.
    pub struct Keys as "Flows" => Flows {
        @flow: FlowKeys;
        /// The file (`.gz` and `.xz` are read too); a relative path is relative to the scenario file.
        file: String = required;
        /// SHA-256 of the file, hexadecimal: another content is refused. Default: the digest of the file that is found.
        sha256: String = none;
        /// Format of the file. Default: by its extension.
        format: FileFormat = none;
        /// Treatment of flows from a host to itself. Default `"refuse"`; formats `"coflow"`:
        /// `"drop"`.
        local: Local = none;
        /// Format `"hpcc"`: time in the file that becomes time 0. Default `"2s"`, at which both generators begin.
        origin: Duration = none;
        /// Format `"coflow"`: meaning of a location of the trace. Default `"host"` if there are enough hosts, else `"modulo"`.
        placement: Placement = none;
        /// Format `"coflow"`: factor on all sizes. Default 1.
        size_scale: f64 = none;
        /// Format `"coflow"`: factor on all arrival times. Default 1.
        time_scale: f64 = none;
        /// Format `"coflow"`: size of a megabyte of the trace. Default `"1MB"`; CoflowSim uses `"1MiB"`.
        megabyte: Size = none;
        /// Format `"coflow"`: number of coflows to take from the top of the file. Default: all.
        coflows: u64 = none;
    }
}

words! {
    /// Formats of flow lists.
    pub enum FileFormat {
        /// A header with `start_ns,src,dst,bytes` and optionally `id,class,deadline_ns,dscp,priority`
        /// (`.csv`).
        Csv,
        /// The same columns as Parquet (`.parquet`).
        Parquet,
        /// Flow files of HPCC and ConWeave: the number of flows, then `src dst pg size start_s` or `src dst pg dport size start_s`.
        Hpcc,
        /// Connection matrices of htsim (`.cm`).
        Htsim,
        /// Coflow traces of coflow-benchmark, such as `FB2010-1Hr-150-0.txt`.
        Coflow,
    }
    /// Flows from a host to itself:
    pub enum Local {
        /// are an error.
        Refuse,
        /// finish at their start and do not use the network.
        Instant,
        /// are left out; a note says how many.
        Drop,
    }
    /// Meaning of a location of a coflow trace.
    pub enum Placement {
        /// The host of that number.
        Host,
        /// That number modulo the number of hosts.
        Modulo,
        /// That rack (modulo the number of racks). Each task runs on a host of the rack, which is
        /// drawn once.
        Rack,
    }
}

impl Workload for Keys {
    fn generate(
        &mut self,
        shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let (flows, key, classes) = (self, place.key, place.classes);
        let Shared { own_class, own_priority, .. } = shared;
        let format = match flows.format {
            Some(format) => format,
            None => by_extension(flows.file.as_deref().expect("required"), key)?,
        };
        flows.format = Some(format);
        refuse_foreign_keys(flows, format, key)?;
        let file = flows.file.as_mut().expect("required");
        let path = context.inputs.identify(file, &mut flows.sha256, &key.clone().name("file"))?;
        let hosts = context.facts.hosts();
        let wrong = |error| common::wrong(error, key);
        let template = shared.template;
        let priority_of_dscp = &context.priority_of_dscp;
        let most = context.budget.flows_left();
        let most_bytes = context.transports.configs[usize::from(template.transport)].most_bytes();
        let options = |local| FlowListOptions {
            hosts,
            names: context.facts.names(),
            local,
            most,
            most_bytes,
            template,
            own_class,
            own_priority,
            priority_of_dscp,
        };
        let mut given = match format {
            FileFormat::Csv => read_csv(&path, &options(local(flows)), classes).map_err(wrong)?,
            FileFormat::Parquet => {
                let columns = context.reader.parquet(&path, most).map_err(|message| {
                    Wrong::input(key.clone().name("file"), &path, None, message)
                })?;
                from_columns(&columns, &path, &options(local(flows)), classes).map_err(wrong)?
            }
            FileFormat::Hpcc => {
                let origin = fill(&mut flows.origin, Duration(Span::from_s(2))).0;
                hpcc::read(
                    &path,
                    &HpccOptions { hosts, origin, local: local(flows), most, own_priority },
                    &template,
                )
                .map_err(wrong)?
            }
            FileFormat::Htsim => {
                let mut given = matrix::read(
                    &path,
                    &MatrixOptions { hosts, local: local(flows), most },
                    &template,
                )
                .map_err(wrong)?;
                if let Some(nodes) = matrix::nodes(&path).ok().filter(|nodes| *nodes != hosts) {
                    given.notes.push(format!(
                        "{}: `Nodes {nodes}` is left out: the topology has {hosts} hosts",
                        path.display()
                    ));
                }
                given
            }
            FileFormat::Coflow => {
                let options = coflow_options(flows, &path, key, context)?;
                coflow::read(&path, &options, &template, &shared.draws).map_err(wrong)?
            }
        };
        // The default must not be written into the resolved scenario: it would take precedence over the
        // file's columns there.
        if !own_priority
            && given.flows.iter().chain(&given.local).any(|flow| flow.priority != template.priority)
        {
            flows.flow.block.priority = None;
        }
        shift(&mut given, shared.start, key)?;
        context
            .budget
            .reserve((given.flows.len() + given.local.len()) as f64, || key.clone().name("file"))?;
        Ok(given)
    }
    fn jobs(&self) -> Option<JobKind> {
        (self.format == Some(FileFormat::Coflow)).then_some(JobKind::Coflow)
    }
    fn classes(&self, own: &str) -> Vec<String> {
        // A column of the file may have them.
        if own == "default" { Vec::new() } else { vec![own.to_string()] }
    }
    fn size_key(&self) -> &'static str {
        "file"
    }
    fn flow_list(&self) -> Option<&Path> {
        self.file.as_deref().map(Path::new)
    }
    fn paths(&mut self) -> Vec<&mut String> {
        self.file.as_mut().into_iter().collect()
    }
}

pub const MODELS: &[Model] = &[
    model(
        "traffic import",
        "flow list",
        "CSV or Parquet: start_ns, src, dst, bytes",
        "every row is checked",
        "none",
    ),
    model(
        "traffic import",
        "coflow",
        "coflow-benchmark, Facebook 2010",
        "each reducer fetches equal parts from all mappers, at the coflow's arrival",
        "a location is a host or a drawn host of a rack; flows within a host are left out; 1 MB is 1,000,000 B",
    ),
    model(
        "traffic import",
        "htsim",
        "connection matrices of Broadcom/csg-htsim",
        "sources, destinations, sizes, starts, identifiers",
        "triggers, failures and endless connections are refused, priorities ignored; starts rounded to nanoseconds",
    ),
    model(
        "traffic import",
        "hpcc",
        "flow files of HPCC's and ConWeave's ns-3",
        "sources, destinations, sizes, starts",
        "ports are not used, nor is priority group 3 if all flows are in it, as generators write it by default (noted)",
    ),
];

fn by_extension(file: &str, key: &Key) -> Result<FileFormat, Wrong> {
    let lower = file.to_ascii_lowercase();
    let plain = lower.strip_suffix(".gz").or(lower.strip_suffix(".xz")).unwrap_or(&lower);
    match Path::new(plain).extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(FileFormat::Csv),
        Some("parquet") => Ok(FileFormat::Parquet),
        Some("cm") => Ok(FileFormat::Htsim),
        _ => {
            let message = format!(
                "the extension of \"{file}\" does not name a known format: write format = \"csv\", \"parquet\", \"hpcc\", \"htsim\" or \"coflow\""
            );
            Err(Wrong::at(key.clone().name("file"), message))
        }
    }
}

fn refuse_foreign_keys(flows: &Keys, format: FileFormat, key: &Key) -> Result<(), Wrong> {
    let coflow = format == FileFormat::Coflow;
    for (name, given, belongs) in [
        ("origin", flows.origin.is_some(), format == FileFormat::Hpcc),
        ("placement", flows.placement.is_some(), coflow),
        ("size_scale", flows.size_scale.is_some(), coflow),
        ("time_scale", flows.time_scale.is_some(), coflow),
        ("megabyte", flows.megabyte.is_some(), coflow),
        ("coflows", flows.coflows.is_some(), coflow),
        ("local", flows.local.is_some_and(|local| local != Local::Drop), !coflow),
    ] {
        if given && !belongs {
            let word = match format {
                FileFormat::Csv => "format = \"csv\"",
                FileFormat::Parquet => "format = \"parquet\"",
                FileFormat::Hpcc => "format = \"hpcc\"",
                FileFormat::Htsim => "format = \"htsim\"",
                FileFormat::Coflow => "format = \"coflow\", which leaves local flows out",
            };
            return Err(meaningless(key.clone().name(name), word));
        }
    }
    Ok(())
}

fn local(flows: &mut Keys) -> LocalFlows {
    match fill(&mut flows.local, Local::Refuse) {
        Local::Refuse => LocalFlows::Refuse,
        Local::Instant => LocalFlows::Instant,
        Local::Drop => LocalFlows::Drop,
    }
}

fn coflow_options(
    flows: &mut Keys,
    path: &Path,
    key: &Key,
    context: &TrafficContext,
) -> Result<CoflowOptions, Wrong> {
    let hosts = context.facts.hosts();
    let ports = coflow::ports(path).map_err(|error| common::wrong(error, key))?;
    fill(&mut flows.local, Local::Drop);
    let placement = match fill(
        &mut flows.placement,
        if hosts >= ports { Placement::Host } else { Placement::Modulo },
    ) {
        Placement::Host => coflow::Placement::Host { hosts },
        Placement::Modulo => coflow::Placement::Modulo { hosts },
        Placement::Rack => {
            let racks = context.facts.racks().map_err(|message| {
                Wrong::at(key.clone().name("placement"), format!("\"rack\" {message}"))
            })?;
            coflow::Placement::Rack(racks)
        }
    };
    let megabyte = fill(&mut flows.megabyte, Size(Bytes(1_000_000))).0;
    if megabyte.0 == 0 {
        return Err(Wrong::at(key.clone().name("megabyte"), "\"0B\": write \"1MB\" or \"1MiB\""));
    }
    Ok(CoflowOptions {
        placement,
        size_scale: fill(&mut flows.size_scale, 1.0),
        time_scale: fill(&mut flows.time_scale, 1.0),
        megabyte_bytes: megabyte.0,
        most_coflows: flows.coflows,
        most: context.budget.flows_left().min(coflow::MOST_FLOWS),
    })
}

/// Delays all flows by `start`.
fn shift(given: &mut Generated, start: Time, key: &Key) -> Result<(), Wrong> {
    let start = Time::from_ns(start.round_ns());
    if start == Time::ZERO {
        return Ok(());
    }
    let late = || {
        Wrong::at(
            key.clone().name("start"),
            "flows would start after 160 h, the latest time of a run",
        )
    };
    let moved = |time: Time| {
        time.0.checked_add(start.0).map(Time).filter(|at| *at <= Time::LATEST).ok_or_else(late)
    };
    for flow in given.flows.iter_mut().chain(&mut given.local) {
        if let Start::At(time) = &mut flow.start {
            *time = moved(*time)?;
        }
    }
    for arrival in given.jobs.iter_mut().filter_map(|job| job.arrival.as_mut()) {
        *arrival = moved(*arrival)?;
    }
    Ok(())
}
