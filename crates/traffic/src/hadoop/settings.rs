//! What a cluster and its jobs are made of.

use crate::Draws;
use afflux_units::{Rate, Span, Time};

/// A time drawn uniformly, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub least: Span,
    pub most: Span,
}

/// Room for tasks on a compute node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// So many maps and so many reducers at a time; a job's master takes none.
    Slots { map: u32, reduce: u32 },
    /// Containers of these sizes share a node's memory.
    Memory { node: u64, map: u64, reduce: u64, master: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framework {
    MapReduce,
    /// Containers are used again.
    Tez {
        /// A task in a container that has run another starts after this.
        next_task: Range,
        /// A container without a task is given back after this.
        idle_release: Range,
    },
}

/// Algorithm of FileOutputCommitter (`mapreduce.fileoutputcommitter.algorithm.version`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committer {
    /// The commit of the job moves the output of every task.
    V1,
    /// Each task moves its own output.
    V2,
}

/// Entries of a directory that the name node lists per call (`dfs.ls.limit`).
const LISTED: u64 = 1_000;
/// Calls that move the output of a task, a directory with one file: state of the output directory, list of the task's one, state of the new
/// file, rename (FileOutputCommitter.mergePaths).
const CALLS_PER_OUTPUT: u64 = 4;
/// Calls that a task's commit has less in version 1 (state of the attempt's directory, a look for an earlier commit, rename) than in version 2, which
/// moves the file.
const FEWER_CALLS: u32 = 2;

impl Committer {
    /// Calls of a task's commit that version 2 has and this one has not.
    pub fn fewer_calls_of_task(self) -> u32 {
        match self {
            Committer::V1 => FEWER_CALLS,
            Committer::V2 => 0,
        }
    }

    /// Calls of a job's commit beside those that both versions have, if so many tasks have written output. The master makes them one after the other.
    pub fn calls_of_job(self, tasks: u64) -> u64 {
        match self {
            // The list has the tasks' directories and that of attempts that have not been committed.
            Committer::V1 => (tasks + 1).div_ceil(LISTED) + CALLS_PER_OUTPUT * tasks,
            Committer::V2 => 0,
        }
    }
}

/// When a fetch fails, and what follows (ShuffleSchedulerImpl.copyFailed).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FetchFailure {
    /// Longest time until the request has arrived, and from then until the answer has arrived; `None`: no limit.
    pub connect_timeout: Option<Span>,
    pub read_timeout: Option<Span>,
    /// A host is left alone for so long after a failure, times 1.3 to the power of the failures of an output, at most `most`.
    pub penalty: Span,
    pub most: Span,
    /// Failures of an output after which its fetches have no time-outs; a tenth of the number of maps if that is more.
    pub limit: u32,
}

/// PENALTY_GROWTH_RATE of MapReduce and Tez.
const PENALTY_GROWTH: f64 = 1.3;

impl FetchFailure {
    /// For how long a host is left alone, if the fetch of an output there has failed so many times.
    pub fn delay(&self, failures: u32) -> Span {
        let most = self.most.0 as f64;
        let grown = (0..failures).try_fold(self.penalty.0 as f64, |delay, _| (delay < most).then_some(delay * PENALTY_GROWTH));
        Span(grown.unwrap_or(most).min(most).round() as u64)
    }

    /// Failures of an output after which there are no time-outs any more.
    pub fn most_failures(&self, maps: usize) -> u32 {
        self.limit.max((maps / 10) as u32)
    }
}

/// Disks of each node of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disks {
    pub count: u32,
    pub read: Rate,
    pub write: Rate,
    /// Before each request.
    pub seek: Span,
}

/// Indices into `Plan::transports` and the scenario's class names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ways {
    /// New connections; the other direction of such a connection; connections that are open since before.
    pub connect: u16,
    pub answer: u16,
    /// From a data node to a map that reads as fast as it works.
    pub read: u16,
    /// From a reducer (or a map) to a data node, as fast as it works.
    pub write: u16,
    pub priority: u8,
    pub classes: Classes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classes {
    pub read: u16,
    pub fetch: u16,
    pub write: u16,
    pub rpc: u16,
    pub log: u16,
}

/// A cluster and how its jobs run; see the scenario's keys for units, defaults and sources.
#[derive(Debug, Clone)]
pub struct Settings {
    pub framework: Framework,
    pub compute: Vec<u32>,
    pub data: Vec<u32>,
    /// Where logs go.
    pub log_hosts: Vec<u32>,
    /// Name node and resource manager.
    pub master: u32,
    pub client: u32,
    pub room: Room,
    pub node_heartbeat: Span,
    /// Containers that a node is given at a heartbeat; maps on nodes that hold blocks do not count.
    pub containers_per_heartbeat: u32,
    pub master_heartbeat: Span,
    /// Round trips from a job's master to a node that starts a container, the handshake included.
    pub launch_rpcs: u32,
    /// Files that a node fetches for tasks, and for the job's master.
    pub localized_files: (u32, u32),
    pub container_start: Range,
    pub jvm_start: Range,
    /// After its start a job's master works for so long before it asks for containers.
    pub master_init: Range,
    /// Round trips of a job's master to the cluster's before its first heartbeat, the handshake included.
    pub master_rpcs: u32,
    pub compute_disks: Disks,
    pub data_disks: Disks,
    /// Share of blocks, and of map outputs, that are read from memory.
    pub block_cached: f64,
    pub output_cached: f64,
    pub block: u64,
    pub input_replication: u32,
    pub output_replication: u32,
    /// Bytes on the wire per byte of a block, in 1/512: checksums.
    pub checksum: u64,
    pub final_sync: bool,
    /// Processor time per byte, picoseconds.
    pub map_cpu: u64,
    pub reduce_cpu: u64,
    /// A map's buffer, at which share of it a spill begins, and what a byte of output takes there.
    pub sort_buffer: u64,
    pub spill_share: f64,
    pub sort_overhead: f64,
    pub merge_factor: u32,
    /// Share of the maps that have ended when the first and when the last reducers are asked for.
    pub slow_start: (f64, f64),
    /// Reducers take at most this share of the room while maps wait for theirs.
    pub ramp_up: f64,
    pub parallel_copies: u32,
    pub maps_per_fetch: u32,
    pub event_poll: Span,
    pub request: u64,
    pub segment_header: u64,
    pub fetch_service: Range,
    pub fetch_failure: FetchFailure,
    /// A reducer's memory for map outputs, the share of it at which a merge begins, that above which an output goes to disk at once, and the
    /// number of outputs at which a merge begins.
    pub shuffle_memory: u64,
    pub merge_share: f64,
    pub single_share: f64,
    pub merge_outputs: u32,
    pub client_start: Range,
    pub samples: u32,
    pub sample: u64,
    pub resources: u64,
    pub submit_replication: u32,
    pub submit_rpcs: u32,
    /// Round trips of a map and of a reducer to the name node, and to the job's master, the handshakes included.
    pub task_rpcs: (u32, u32),
    pub umbilical_rpcs: (u32, u32),
    /// Short reads of a map from data nodes, each over a new connection.
    pub task_reads: u32,
    pub block_rpcs: u32,
    pub commit_rpcs: u32,
    pub committer: Committer,
    pub history_rpcs: u32,
    /// Between the two calls with which a job's master takes its leave; with zero there is one.
    pub unregister: Span,
    pub rpc: u64,
    pub rpc_service: Range,
    /// Whether a second attempt of a slow map, and of a slow reducer, is started.
    pub speculative: (bool, bool),
    pub history: u64,
    pub client_poll: Span,
    /// Per container.
    pub log: u64,
    pub ways: Ways,
    pub draws: Draws,
    pub jobs: Vec<Work>,
}

impl Settings {
    /// All hosts of the cluster, ascending: any of them may send to any other.
    pub fn hosts(&self) -> Vec<u32> {
        let mut hosts: Vec<u32> = [&self.compute, &self.data, &self.log_hosts, &vec![self.master, self.client]].into_iter().flatten().copied().collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// About how many flows there will be.
    pub fn expected_flows(&self) -> u64 {
        let of = |work: &Work| {
            let (maps, reducers) = (work.maps.len() as u64, work.reducers as u64);
            // A fetch takes what has become ready at one host between two looks: a few outputs.
            let calls = |task: u32, umbilical: u32| 2 * u64::from(self.launch_rpcs + task + umbilical + self.task_reads);
            let of_map = calls(self.task_rpcs.0, self.umbilical_rpcs.0) + 3;
            let of_reducer = calls(self.task_rpcs.1, self.umbilical_rpcs.1) + maps;
            let of_block = u64::from(self.output_replication + 2 * self.block_rpcs);
            let localized = self.compute.len() as u64 * 6 * u64::from(self.localized_files.0);
            let of_job =
                2 * u64::from(self.master_rpcs + self.submit_rpcs + self.commit_rpcs + self.history_rpcs) + 2 * self.committer.calls_of_job(work.committed());
            maps * of_map + reducers * of_reducer + (work.output / self.block + reducers) * of_block + localized + of_job + 200
        };
        self.jobs.iter().map(of).fold(0, u64::saturating_add)
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Index into the scenario's job names.
    pub job: u32,
    pub submit: Time,
    /// Input of each map.
    pub maps: Vec<u64>,
    /// Output of all maps together, and of the job.
    pub shuffle: u64,
    pub output: u64,
    /// None: maps write the output.
    pub reducers: u32,
}

impl Work {
    /// Tasks that write output.
    pub fn committed(&self) -> u64 {
        if self.reducers > 0 { self.reducers.into() } else { self.maps.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_of_a_job_of_version_1_has_four_calls_for_each_task_and_one_for_each_thousand_in_the_list() {
        assert_eq!([1, 56, 999, 1_000].map(|tasks| Committer::V1.calls_of_job(tasks)), [1 + 4, 1 + 224, 1 + 3_996, 2 + 4_000]);
        assert_eq!(Committer::V2.calls_of_job(1_000), 0);
        assert_eq!([Committer::V1, Committer::V2].map(Committer::fewer_calls_of_task), [2, 0]);
    }

    #[test]
    fn reducers_write_output_and_maps_where_there_are_none() {
        let work = |reducers| Work { job: 0, submit: Time::ZERO, maps: vec![1; 7], shuffle: 7, output: 7, reducers };
        assert_eq!([work(3), work(0)].map(|work| work.committed()), [3, 7]);
    }

    #[test]
    fn a_penalty_grows_by_three_tenths_with_each_failure_up_to_its_limit() {
        let failure = FetchFailure { connect_timeout: None, read_timeout: None, penalty: Span::from_s(10), most: Span::from_s(60), limit: 30 };
        let delays = [1, 2, 3, 4, 5, 6, 7, 1_000_000].map(|failures| failure.delay(failures).0 / 1_000_000_000);
        assert_eq!(delays, [13_000, 16_900, 21_970, 28_561, 37_129, 48_268, 60_000, 60_000]);
        let tez = FetchFailure { penalty: Span::from_s(2), most: Span::from_s(86_400), limit: 15, ..failure };
        assert_eq!([1, 2, 15].map(|failures| tez.delay(failures).0 / 1_000_000_000), [2_600, 3_380, 102_371]);
        assert_eq!([10, 400].map(|maps| failure.most_failures(maps)), [30, 40]);
    }
}
