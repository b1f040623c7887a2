//! `[[traffic]]`: turns blocks into flows.

pub mod by_host;
pub mod common;
pub mod context;
pub mod jobs;
pub mod mtu;
pub mod offered;
pub mod segments;
pub mod select;
pub mod sizes;
pub mod timing;

use crate::topology::Reach;
use crate::validate::memory::MemoryBudget;
use crate::validate::transport::Transports;
use crate::workload::Traffic;
use crate::workload::block::Place;
use afflux_config::tree::{Key, Wrong};
use afflux_net::app::Program;
use afflux_net::spec::{Applications, Flow, TransportConfig, Undrawn};
use afflux_traffic::hadoop::Hadoop;
use afflux_traffic::{Classes, Generated, Job};
use afflux_units::Time;
use context::{HadoopCluster, TrafficContext, TransportUsage};
use std::collections::BTreeMap;
use std::sync::Arc;

pub struct Sent {
    pub flows: Vec<Flow>,
    pub jobs: Vec<Job>,
    pub blocks: Vec<String>,
    pub classes: Vec<String>,
    pub transports: Transports,
    pub notes: Vec<String>,
    pub applications: Option<Applications>,
    pub uses: TransportUsage,
    pub warnings: Vec<Wrong>,
    pub undrawn: Vec<Undrawn>,
}

pub fn generate(
    blocks: &mut [Traffic],
    mut context: TrafficContext,
) -> Result<(Sent, MemoryBudget), Wrong> {
    if blocks.is_empty() && !context.kernels {
        return Err(Wrong::at(
            Key::default(),
            "there is no traffic: write at least one [[traffic]] block",
        ));
    }
    let mut classes = Classes::default();
    let mut parts = Vec::new();
    let mut names = BTreeMap::new();
    let names_of_jobs = jobs::blocks(blocks);
    let facts = context.facts;
    let reach = Reach::of(facts.topology, &facts.ports);
    for (index, block) in blocks.iter_mut().enumerate() {
        let place = Place { index, key: &Key::from("traffic").index(index), classes: &mut classes };
        let part = part(block, place, &names_of_jobs[index], &reach, &mut names, &mut context)?;
        parts.push(part);
    }
    jobs::distinct(&names_of_jobs, &parts)?;
    let applications = applications(std::mem::take(&mut context.clusters), &parts);
    if context.run.until_done && applications.is_none() {
        return Err(Wrong::at(
            Key::from("run").name("until"),
            "\"jobs\": the traffic has no jobs: write a [[traffic]] block of kind = \"hadoop\", or a time",
        ));
    }
    let last = Key::from("traffic").index(blocks.len().saturating_sub(1));
    let mut all = Generated::merge(parts).map_err(|error| common::wrong(error, &last))?;
    if all.flows.len() >= u32::MAX as usize {
        return Err(Wrong::at(
            Key::from("traffic"),
            format!("this makes {} flows: at most {} are possible", all.flows.len(), u32::MAX - 1),
        ));
    }
    number_connections(&mut all.flows, &context.transports)?;
    if !all.local.is_empty() {
        all.notes.push(format!(
            "{} flows from a host to itself finish at their start: they never see the network",
            all.local.len()
        ));
        all = all.with_local();
    }
    if all.flows.is_empty() && applications.is_none() && !context.kernels {
        all.notes.push("the traffic has no flows, so nothing is simulated".into());
    }
    let mut warnings = std::mem::take(&mut context.warnings);
    warnings.extend(offered::check(&context));
    let sent = Sent {
        flows: all.flows,
        jobs: all.jobs,
        blocks: names_of_jobs,
        classes: classes.into_names(),
        transports: context.transports,
        notes: all.notes,
        applications,
        uses: context.uses,
        warnings,
        undrawn: context.undrawn.into_iter().map(|(_, undrawn)| undrawn).collect(),
    };
    Ok((sent, context.budget))
}

/// Turns a block into flows. `names` has the names of the blocks before it.
fn part(
    block: &mut Traffic,
    place: Place,
    jobs: &str,
    reach: &Reach,
    names: &mut BTreeMap<String, usize>,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let Place { index, key, classes } = place;
    let (keys, transport) = block.common();
    let shared = common::shared(keys, transport, index, key, classes, context)?;
    let deadlines = common::deadlines(keys, &shared.block, key, context.seed)?;
    let common = shared.block.clone();
    let block = block.workload();
    let place = Place { index, key, classes };
    let mut part = block.generate(shared, place, context)?;
    debug_assert!(part.jobs.iter().all(|job| Some(job.kind) == block.jobs()));
    reach.check(part.flows.iter().map(|flow| (flow.src, flow.dst)), key)?;
    if let Some(cluster) = context.clusters.last().filter(|cluster| cluster.block == index) {
        let hosts = cluster.settings.hosts();
        reach.check(hosts.iter().flat_map(|&from| hosts.iter().map(move |&to| (from, to))), key)?;
    }
    let name = &common.name;
    if let Some(other) = names.insert(name.clone(), index) {
        return Err(Wrong::at(
            key.clone().name("name"),
            format!(
                "\"{name}\" is the name of traffic[{other}] too, and blocks of one name would draw the same random numbers: write another name"
            ),
        ));
    }
    if !block.has_own_transport() {
        by_host::assign(
            &mut part.flows,
            &context.of_hosts,
            &mut context.transports,
            &mut context.uses,
        );
    }
    mtu::fit(&mut part.flows, context)?;
    segments::fit(&part.flows, block, key, &context.transports.configs)?;
    if let Some((deadlines, draws)) = deadlines {
        if block.dates_jobs() {
            deadlines.assign_to_jobs(&mut part, &draws);
        } else {
            deadlines.assign(&mut part, &draws);
        }
    }
    if let Some(stop) = common::stop(&common, block.ends_with_jobs(), key, context.run)? {
        part.flows.iter_mut().for_each(|flow| flow.stop = stop);
    }
    if common.persistent {
        persist(&mut part.flows, &context.transports, index, key)?;
    }
    if let Some((_, undrawn)) = context.undrawn.last_mut().filter(|(block, _)| *block == index) {
        undrawn.sample = afflux_net::sample(&part.flows).cloned().collect();
    }
    part.name_jobs(jobs, index as u32);
    context.uses.note(&part.flows, &context.transports);
    context.uses.starts.push(Time(common.start.0));
    for note in &mut part.notes {
        *note = format!("traffic[{index}]: {}", note.replace('`', "\""));
    }
    Ok(part)
}

/// Makes flows share connections. The number of the block stands in for the connection until
/// connections are numbered.
fn persist(
    flows: &mut [Flow],
    transports: &Transports,
    block: usize,
    key: &Key,
) -> Result<(), Wrong> {
    let is_tcp = |flow: &Flow| {
        matches!(transports.configs[flow.transport as usize], TransportConfig::Tcp(_))
    };
    if !flows.iter().all(is_tcp) {
        return Err(Wrong::at(
            key.clone().name("persistent"),
            "only TCP has persistent connections: remove it",
        ));
    }
    flows.iter_mut().for_each(|flow| flow.connection = Some(block as u32));
    Ok(())
}

/// Numbers the persistent connections of all blocks.
fn number_connections(flows: &mut [Flow], transports: &Transports) -> Result<(), Wrong> {
    let mut connections = BTreeMap::new();
    for flow in &mut *flows {
        if let Some(block) = flow.connection {
            let next = connections.len() as u32;
            flow.connection = Some(
                *connections
                    .entry((block, flow.src, flow.dst, flow.transport, flow.priority))
                    .or_insert(next),
            );
        }
    }
    segments::connections_fit(flows, &connections, &transports.configs)
}

/// Creates the programs of Hadoop clusters. Jobs are numbered through all blocks.
fn applications(clusters: Vec<HadoopCluster>, parts: &[Generated]) -> Option<Applications> {
    let latency = clusters.iter().map(|cluster| cluster.settings.message_delay).min()?;
    let home = clusters[0].settings.master;
    let program = |HadoopCluster { block, mut settings }: HadoopCluster| {
        let before: usize = parts[..block].iter().map(|part| part.jobs.len()).sum();
        settings.jobs.iter_mut().for_each(|work| work.job += before as u32);
        Arc::new(Hadoop(Arc::new(settings))) as Arc<dyn Program>
    };
    Some(Applications { home, latency, programs: clusters.into_iter().map(program).collect() })
}
