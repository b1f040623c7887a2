//! `[[traffic]]`: blocks to flows.

mod background;
mod by_host;
mod common;
mod files;
mod hadoop;
mod jobs;
mod load;
mod mtu;
mod offered;
mod partition_aggregate;
mod patterns;
mod random;
mod segments;
mod select;
mod sizes;

use crate::document::Traffic;
use crate::inputs::Inputs;
use crate::topology::{Facts, Reach};
use crate::tree::{Key, Wrong};
use crate::validate::memory::Room;
use crate::validate::transport::Transports;
use crate::{Job, Reader};
use afflux_net::app::Program;
use afflux_net::spec::{Applications, Flow, RunConfig, TransportConfig, Undrawn};
use afflux_net::transports;
use afflux_traffic::hadoop::{Hadoop, Settings};
use afflux_traffic::{Classes, Generated};
use afflux_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What traffic is made in.
pub struct Around<'a> {
    pub inputs: &'a Inputs,
    pub reader: &'a dyn Reader,
    pub facts: &'a Facts<'a>,
    pub keys: &'a transports::Around<'a>,
    pub seed: u64,
    pub transports: Transports,
    pub run: &'a RunConfig,
    /// Hadoop clusters, whose jobs are numbered from 0 in their block.
    pub clusters: Vec<Cluster>,
    /// The transport of each host, for blocks that name none.
    pub of_hosts: Vec<u16>,
    pub priority_of_dscp: [u8; 64],
    pub room: Room,
    pub uses: Uses,
    pub offers: Vec<offered::Offer>,
    /// Flows of a random process that are drawn for an estimate, about; `None`: all.
    pub most_flows: Option<u64>,
    /// By block.
    pub undrawn: Vec<(usize, Undrawn)>,
    pub warnings: Vec<Wrong>,
}

/// What the traffic uses.
#[derive(Default)]
pub struct Uses {
    /// Named transports, by index, with the priorities of what is sent by them or by one that follows from them.
    pub ways: BTreeSet<(u16, u8)>,
    /// The same of transports that no name stands for.
    pub unnamed: BTreeSet<(u16, u8)>,
    /// Named transports with a flow that has a deadline.
    pub dated: BTreeSet<u16>,
    /// Of DCTCP by host: flows that its receivers agree to explicit congestion notification for, and flows that they refuse it.
    pub refused: BTreeMap<u16, (u64, u64)>,
    /// The transport and the priority that the block at hand names.
    named: Option<(u16, u8)>,
    /// When each block begins.
    pub starts: Vec<Time>,
}

impl Uses {
    /// All transports that something is sent by.
    pub fn transports(&self) -> BTreeSet<u16> {
        self.ways.iter().chain(&self.unnamed).map(|way| way.0).collect()
    }

    /// A block in which no flow starts with this seed uses what it names, so that hosts are the same with every seed.
    fn note(&mut self, flows: &[Flow], transports: &Transports) {
        if flows.is_empty() {
            self.ways.extend(self.named);
        }
        let mut last = None;
        for flow in flows.iter().filter(|flow| flow.src != flow.dst) {
            let way = (flow.transport, flow.priority, flow.deadline.is_some());
            if last.replace(way) == Some(way) {
                continue;
            }
            match transports.origin(flow.transport) {
                Some(named) => {
                    self.ways.insert((named, flow.priority));
                    if way.2 {
                        self.dated.insert(named);
                    }
                }
                None => {
                    self.unnamed.insert((flow.transport, flow.priority));
                }
            }
        }
    }
}

pub struct Cluster {
    pub block: usize,
    pub message_delay: Span,
    pub settings: Settings,
}

pub struct Sent {
    pub flows: Vec<Flow>,
    pub jobs: Vec<Job>,
    pub blocks: Vec<String>,
    pub classes: Vec<String>,
    pub transports: Transports,
    pub notes: Vec<String>,
    pub applications: Option<Applications>,
    pub uses: Uses,
    pub warnings: Vec<Wrong>,
    pub undrawn: Vec<Undrawn>,
}

pub fn generate(blocks: &mut [Traffic], mut around: Around) -> Result<(Sent, Room), Wrong> {
    if blocks.is_empty() {
        return Err(Wrong::at(Key::default(), "there is no traffic: write at least one [[traffic]] block"));
    }
    let mut classes = Classes::default();
    let mut parts = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let names_of_jobs = jobs::blocks(blocks);
    let facts = around.facts;
    let reach = Reach::of(facts.topology, &facts.ports);
    for (index, block) in blocks.iter_mut().enumerate() {
        let key = Key::from("traffic").index(index);
        let mut part = self::block(block, index, &key, &mut classes, &mut around)?;
        reach.check(part.flows.iter().map(|flow| (flow.src, flow.dst)), &key)?;
        if let Some(cluster) = around.clusters.last().filter(|cluster| cluster.block == index) {
            let hosts = cluster.settings.hosts();
            reach.check(hosts.iter().flat_map(|&from| hosts.iter().map(move |&to| (from, to))), &key)?;
        }
        let name = common::name(block, index);
        if let Some(other) = names.insert(name.clone(), index) {
            return Err(Wrong::at(
                key.name("name"),
                format!("\"{name}\" is the name of traffic[{other}] too, and blocks of one name would draw the same random numbers: write another name"),
            ));
        }
        if !matches!(block, Traffic::DatagramSource(_)) {
            by_host::assign(&mut part.flows, &around.of_hosts, &mut around.transports, &mut around.uses);
        }
        mtu::fit(&mut part.flows, &mut around)?;
        segments::fit(&part.flows, block, &key, &around.transports.configs)?;
        if let Some((deadlines, draws)) = common::deadlines(block, index, &key, around.seed)? {
            deadlines.assign(&mut part, &draws);
            if matches!(block, Traffic::PartitionAggregate(_)) {
                // Queries have one, not what is sent beside them.
                part.flows.iter_mut().filter(|flow| flow.job == Flow::NO_JOB).for_each(|flow| flow.deadline = None);
            }
        }
        if let Some(stop) = common::stop(block, &key, around.run)? {
            part.flows.iter_mut().for_each(|flow| flow.stop = stop);
        }
        if common::persistent(block) {
            let other = part.flows.iter().any(|f| !matches!(around.transports.configs[f.transport as usize], TransportConfig::Tcp(_)));
            if other {
                return Err(Wrong::at(key.name("persistent"), "only TCP has persistent connections: remove it"));
            }
            // The block's number for now; see below.
            part.flows.iter_mut().for_each(|flow| flow.connection = Some(index as u32));
        }
        if let Some((_, undrawn)) = around.undrawn.last_mut().filter(|(block, _)| *block == index) {
            undrawn.sample = afflux_net::sample(&part.flows).cloned().collect();
        }
        part.name_jobs(&names_of_jobs[index], index as u32);
        around.uses.note(&part.flows, &around.transports);
        around.uses.starts.push(common::start(block));
        for note in &mut part.notes {
            *note = format!("traffic[{index}]: {}", note.replace('`', "\""));
        }
        parts.push(part);
    }
    jobs::distinct(&names_of_jobs, &parts)?;
    let applications = applications(std::mem::take(&mut around.clusters), &parts);
    if around.run.until_done && applications.is_none() {
        return Err(Wrong::at(Key::from("run").name("until"), "\"jobs\": the traffic has no jobs: write a [[traffic]] block of kind = \"hadoop\", or a time"));
    }
    let last = Key::from("traffic").index(blocks.len() - 1);
    let mut all = Generated::merge(parts).map_err(|error| common::wrong(error, &last))?;
    if all.flows.len() >= u32::MAX as usize {
        return Err(Wrong::at(Key::from("traffic"), format!("this makes {} flows: at most {} are possible", all.flows.len(), u32::MAX - 1)));
    }
    let mut connections = BTreeMap::new();
    for flow in &mut all.flows {
        if let Some(block) = flow.connection {
            let next = connections.len() as u32;
            flow.connection = Some(*connections.entry((block, flow.src, flow.dst, flow.transport, flow.priority)).or_insert(next));
        }
    }
    segments::connections_fit(&all.flows, &connections, &around.transports.configs)?;
    if !all.local.is_empty() {
        all.notes.push(format!("{} flows from a host to itself finish at their start: they never see the network", all.local.len()));
        all = all.with_local();
    }
    if all.flows.is_empty() && applications.is_none() {
        all.notes.push("the traffic has no flows: a longer duration or a higher load would give some".into());
    }
    let mut warnings = std::mem::take(&mut around.warnings);
    warnings.extend(offered::check(&around));
    let sent = Sent {
        flows: all.flows,
        jobs: all.jobs,
        blocks: names_of_jobs,
        classes: classes.into_names(),
        transports: around.transports,
        notes: all.notes,
        applications,
        uses: around.uses,
        warnings,
        undrawn: around.undrawn.into_iter().map(|(_, undrawn)| undrawn).collect(),
    };
    Ok((sent, around.room))
}

/// Jobs are numbered through all blocks.
fn applications(clusters: Vec<Cluster>, parts: &[Generated]) -> Option<Applications> {
    let latency = clusters.iter().map(|cluster| cluster.message_delay).min()?;
    let home = clusters[0].settings.master;
    let program = |Cluster { block, mut settings, .. }: Cluster| {
        let before: usize = parts[..block].iter().map(|part| part.jobs.len()).sum();
        settings.jobs.iter_mut().for_each(|work| work.job += before as u32);
        Arc::new(Hadoop(Arc::new(settings))) as Arc<dyn Program>
    };
    Some(Applications { home, latency, programs: clusters.into_iter().map(program).collect() })
}

fn block(block: &mut Traffic, index: usize, key: &Key, classes: &mut Classes, around: &mut Around) -> Result<Generated, Wrong> {
    match block {
        Traffic::Flows(flows) => files::generate(flows, index, key, classes, around),
        Traffic::Random(random) => random::generate(random, index, key, classes, around),
        Traffic::Incast(incast) => patterns::incast(incast, index, key, classes, around),
        Traffic::PartitionAggregate(service) => partition_aggregate::generate(service, index, key, classes, around),
        Traffic::Permutation(permutation) => patterns::permutation(permutation, index, key, classes, around),
        Traffic::Pairs(pairs) => patterns::pairs(pairs, index, key, classes, around),
        Traffic::AllToAll(all) => patterns::all_to_all(all, index, key, classes, around),
        Traffic::DatagramSource(source) => patterns::datagram(source, index, key, classes, around),
        Traffic::Hadoop(job) => hadoop::job(job, index, key, classes, around),
        Traffic::HadoopTrace(trace) => hadoop::trace(trace, index, key, classes, around),
        Traffic::Background(background) => background::generate(background, index, key, classes, around),
    }
}
