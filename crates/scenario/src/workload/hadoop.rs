//! `kind = "hadoop"`: one Hadoop job.

use super::block::{Place, Workload, model};
use super::cluster::{self, Cluster, MOST_MAPS, add};
use super::keys::FlowKeys;
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::TrafficContext;
use afflux_config::keys::fill;
use afflux_config::tree::Wrong;
use afflux_config::{Size, keys};
use afflux_net::Model;
use afflux_traffic::hadoop::{self, Framework, Work};
use afflux_traffic::{Generated, Job, JobKind};

keys! {
    /// One Hadoop sort (TeraSort), which reads, shuffles and writes the same volume.
    pub struct Keys as "Hadoop" => Hadoop {
        @flow: FlowKeys;
        /// Framework that runs the tasks.
        framework: Framework = "mapreduce";
        /// Size of the input.
        size: Size = required;
        /// Number of input files, all of equal size. Each is rounded up to whole blocks, with one
        /// map per block.
        files: u32 = 1;
        /// Number of reducers (`mapreduce.job.reduces`, which has no useful default). Default: one per compute node.
        reducers: u32 = none;
        /// The machines and the configuration of Hadoop. Default: every key has its own default.
        cluster: Cluster = none;
    }
}

impl Workload for Keys {
    fn generate(
        &mut self,
        mut shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let Place { index, key, classes } = place;
        let at = |name: &str| key.clone().name(name);
        let block = self.resolve(key)?;
        let cluster = self.cluster.get_or_insert_default();
        let mut settings = cluster.settings(block.framework, &mut shared, key, classes, context)?;
        let size = block.size.0;
        if size == 0 {
            return Err(Wrong::at(at("size"), "\"0B\": write a size above 0"));
        }
        let files = block.files;
        if files == 0 || u64::from(files) > size {
            return Err(Wrong::at(
                at("files"),
                format!("found {files}: write a number from 1 to the size in bytes"),
            ));
        }
        let reducers = fill(&mut self.reducers, settings.compute.len() as u32);
        if !(1..=100_000).contains(&reducers) {
            return Err(Wrong::at(
                at("reducers"),
                format!("found {reducers}: write a number from 1 to 100000"),
            ));
        }
        let blocks = (size / settings.block).max(u64::from(files));
        if blocks > MOST_MAPS {
            let key = if u64::from(files) > MOST_MAPS { "files" } else { "size" };
            return Err(Wrong::at(
                at(key),
                format!("{blocks} blocks: at most {MOST_MAPS} are possible"),
            ));
        }
        let maps: Vec<u64> = (0..u64::from(files))
            .flat_map(|file| {
                hadoop::blocks(hadoop::share(size, files.into(), file), settings.block)
            })
            .collect();
        settings.jobs = vec![Work {
            job: 0,
            submit: shared.start,
            maps,
            shuffle: size,
            output: size,
            reducers,
        }];
        add(settings, index, shared.template.transport, key, ("size", None), context)?;
        Ok(Generated {
            jobs: vec![Job::new(JobKind::Application, "", Some(shared.start))],
            ..Generated::default()
        })
    }
    fn jobs(&self) -> Option<JobKind> {
        Some(JobKind::Application)
    }
    fn classes(&self, own: &str) -> Vec<String> {
        cluster::classes(own).into()
    }
    fn ends_with_jobs(&self) -> bool {
        true
    }
}

pub const MODELS: &[Model] = &[
    model(
        "application",
        "hadoop: mapreduce",
        "Hadoop 3.3.6: client, resource and node manager heartbeats, MapReduce's master, ShuffleSchedulerImpl, HDFS",
        "submission, room given away at heartbeats (one container per heartbeat that is not node-local), starts by the master's threads, files that each node fetches once, round trips of each phase counted in Hadoop's source, slow start and ramp-up of reducers, maps that read no faster than they work, spills and merges on shared disks, fetches by threads from random hosts of at most so many outputs, memory that fills and is merged, blocks along pipelines of data nodes, sync, FileOutputCommitter of version 1 (the commit of the job moves the output of each task with four calls, one after the other) or 2, time-outs of fetches and the penalty of a host (10 s times 1.3 to the power of the failures, at most 60 s), second attempts of slow tasks (DefaultSpeculator), calls as flows and connections with their handshakes, history and leave of the master, client polls, upload of logs",
        "no failures of tasks or nodes; maps are not run again after failed fetches, and no reducer gives up: after 30 failures (or a tenth of the number of maps) of an output its fetch has no time-out; a time-out counts the whole answer instead of a single read, fails all of its outputs, and the rest of the answer still crosses the network; speculation knows progress only by steps (a map that reads its block counts as two thirds done, a reducer has a third for outputs that have arrived, a third for merging), without status reports between them, a killed attempt leaves transfers and disk requests under way, and a container that is being started is killed after its start; both committers count one file per task, and no commit of tasks that are maps; a core per task, or the same share of one (`cpu_share`), whatever else a node does; a disk slower than the network delays the end of a transfer, not its packets; the data nodes of a pipeline pass a block on without delay, and its window of 80 packets (5.2 MB) is left out: behind a queue of 40 ms it would allow 129 MB/s; a reducer whose memory is full asks for no more instead of closing its window; all reducers get equal parts; node managers' heartbeats are no flows; maps wait for no missed scheduling opportunities (locality delay); programs know of a flow's end, and start one, after `message_delay`",
    ),
    model(
        "application",
        "hadoop: tez",
        "Apache Tez's master and shuffle, as MapReduce runs on it (yarn-tez)",
        "containers run one task after the other and are given back after an idle time, events every 100 ms, slow start between two shares, 20 copies, merges of 100 files",
        "as MapReduce, but penalties are 2 s times 1.3 to the power of the failures, and there is no speculation (off by default in Tez); the pipelined sorter's second thread and grouping of splits are left out",
    ),
];
