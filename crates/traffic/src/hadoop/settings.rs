//! Settings of a Hadoop cluster and its jobs.

use crate::Draws;
use afflux_units::{Rate, Span, Time};

/// A time that is drawn uniformly, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub least: Span,
    pub most: Span,
}

/// Capacity of a compute node for tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskCapacity {
    /// Number of maps and of reducers that run at a time. A job's master takes no slot.
    Slots { map: u32, reduce: u32 },
    /// Memory of a node in bytes, and sizes in bytes of the containers that share it.
    Memory { node: u64, map: u64, reduce: u64, master: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framework {
    MapReduce,
    /// Apache Tez, which reuses containers.
    Tez {
        /// Time to start a further task in a container.
        next_task: Range,
        /// Time after which a container without a task is given back.
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

/// Number of directory entries that the name node lists per call (`dfs.ls.limit`).
const LISTED: u64 = 1_000;
/// Number of calls that move the output of a task, a directory with one file: state of the output
/// directory, list of the task's directory, state of the new file, rename
/// (FileOutputCommitter.mergePaths).
const CALLS_PER_OUTPUT: u64 = 4;
/// Number of calls by which a task's commit in version 2, which moves the file, exceeds that in
/// version 1 (state of the attempt's directory, check for an earlier commit, rename).
const FEWER_CALLS: u32 = 2;

impl Committer {
    /// Returns the number of calls of a task's commit that version 2 has and this version does not
    /// have.
    pub fn fewer_calls_of_task(self) -> u32 {
        match self {
            Committer::V1 => FEWER_CALLS,
            Committer::V2 => 0,
        }
    }

    /// Returns the number of calls of a job's commit in addition to those of both versions, if
    /// `tasks` tasks have written output. The master makes them one after the other.
    pub fn calls_of_job(self, tasks: u64) -> u64 {
        match self {
            // The list contains the tasks' directories and the directory of attempts that have not
            // been committed.
            Committer::V1 => (tasks + 1).div_ceil(LISTED) + CALLS_PER_OUTPUT * tasks,
            Committer::V2 => 0,
        }
    }
}

/// Conditions under which a fetch fails, and the consequences (ShuffleSchedulerImpl.copyFailed).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FetchFailure {
    /// Longest time until the request has arrived (`connect_timeout`), and from then until the
    /// answer has arrived (`read_timeout`); `None`: no limit.
    pub connect_timeout: Option<Span>,
    pub read_timeout: Option<Span>,
    /// Time for which a host is left alone after a failure. It is multiplied by 1.3 to the power of
    /// the failures of an output, up to `most`.
    pub penalty: Span,
    pub most: Span,
    /// Number of failures of an output after which its fetches have no time-outs; at least a tenth
    /// of the number of maps.
    pub limit: u32,
}

/// Factor of the penalty per failure: PENALTY_GROWTH_RATE of MapReduce and Tez.
const PENALTY_GROWTH: f64 = 1.3;

impl FetchFailure {
    /// Returns the time for which a host is left alone after the fetch of an output there has
    /// failed `failures` times.
    pub fn delay(&self, failures: u32) -> Span {
        let most = self.most.0 as f64;
        let grown = (0..failures).try_fold(self.penalty.0 as f64, |delay, _| {
            (delay < most).then_some(delay * PENALTY_GROWTH)
        });
        Span(grown.unwrap_or(most).min(most).round() as u64)
    }

    /// Returns the number of failures of an output after which its fetches have no time-outs.
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
    /// Time before each request.
    pub seek: Span,
}

/// Transports and classes of Hadoop's flows: indices into `Plan::transports` and the scenario's
/// class names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportChoice {
    /// Transport of new connections (`connect`), and of data on open connections (`answer`), such
    /// as the answer to a request.
    pub connect: u16,
    pub answer: u16,
    /// Transport from a data node to a map, which reads as fast as it processes data.
    pub read: u16,
    /// Transport from a reducer (or a map) to a data node. The sender writes as fast as it
    /// processes data.
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

/// Settings of a cluster and its jobs. The scenario's keys describe units, defaults and sources.
#[derive(Debug, Clone)]
pub struct Settings {
    pub framework: Framework,
    pub compute: Vec<u32>,
    pub data: Vec<u32>,
    /// Data nodes that logs are sent to.
    pub log_hosts: Vec<u32>,
    /// Host of the name node and the resource manager.
    pub master: u32,
    pub client: u32,
    pub capacity: TaskCapacity,
    pub node_heartbeat: Span,
    /// Number of containers that a node is given at a heartbeat. Maps on nodes that hold blocks do
    /// not count.
    pub containers_per_heartbeat: u32,
    pub master_heartbeat: Span,
    /// Round trips from a job's master to a node that starts a container, handshake included.
    pub launch_rpcs: u32,
    /// Number of files that a node fetches for tasks, and for the job's master.
    pub localized_files: (u32, u32),
    pub container_start: Range,
    pub jvm_start: Range,
    /// Time that a job's master works after its start before it requests containers.
    pub master_init: Range,
    /// Round trips of a job's master to the cluster's master before its first heartbeat, handshake
    /// included.
    pub master_rpcs: u32,
    pub compute_disks: Disks,
    pub data_disks: Disks,
    /// Share of input blocks (`block_cached`) and of map outputs (`output_cached`) that are read
    /// from memory.
    pub block_cached: f64,
    pub output_cached: f64,
    pub block: u64,
    pub input_replication: u32,
    pub output_replication: u32,
    /// Additional bytes on the wire, for checksums, per 512 bytes of a block.
    pub checksum: u64,
    pub final_sync: bool,
    /// Processor time of maps and of reducers in ps per byte.
    pub map_cpu: u64,
    pub reduce_cpu: u64,
    /// Size of a map's buffer in bytes, share of it at which a spill begins, and bytes in the
    /// buffer per byte of output.
    pub sort_buffer: u64,
    pub spill_share: f64,
    pub sort_overhead: f64,
    pub merge_factor: u32,
    /// Shares of the maps that have ended when the master requests the first and the last reducers.
    pub slow_start: (f64, f64),
    /// Share of the capacity that reducers may take while maps wait for containers.
    pub ramp_up: f64,
    pub parallel_copies: u32,
    pub maps_per_fetch: u32,
    pub event_poll: Span,
    pub request: u64,
    pub segment_header: u64,
    pub fetch_service: Range,
    pub fetch_failure: FetchFailure,
    /// A reducer's memory for map outputs in bytes, share of it at which a merge begins, share of
    /// it above which an output is written to disk at once, and number of outputs at which a merge
    /// begins.
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
    /// Round trips of a map and of a reducer to the name node (`task_rpcs`) and to the job's master
    /// (`umbilical_rpcs`), handshakes included.
    pub task_rpcs: (u32, u32),
    pub umbilical_rpcs: (u32, u32),
    /// Number of short reads of a map from data nodes, each over a new connection.
    pub task_reads: u32,
    pub block_rpcs: u32,
    pub commit_rpcs: u32,
    pub committer: Committer,
    pub history_rpcs: u32,
    /// Time between the two calls with which a job's master unregisters. With zero there is only
    /// one call.
    pub unregister: Span,
    pub rpc: u64,
    pub rpc_service: Range,
    /// Whether slow maps, and slow reducers, get a second attempt.
    pub speculative: (bool, bool),
    pub history: u64,
    pub client_poll: Span,
    /// Size in bytes of the log of each container.
    pub log: u64,
    pub transports: TransportChoice,
    pub draws: Draws,
    pub jobs: Vec<Work>,
}

impl Settings {
    /// Returns all hosts of the cluster, ascending. Any of them may send to any other.
    pub fn hosts(&self) -> Vec<u32> {
        let mut hosts: Vec<u32> =
            [&self.compute, &self.data, &self.log_hosts, &vec![self.master, self.client]]
                .into_iter()
                .flatten()
                .copied()
                .collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// Returns the approximate number of flows.
    pub fn expected_flows(&self) -> u64 {
        let of = |work: &Work| {
            let (maps, reducers) = (work.maps.len() as u64, work.reducers as u64);
            // A fetch takes the outputs that have become ready on one host between two requests,
            // which are only a few.
            let calls = |task: u32, umbilical: u32| {
                2 * u64::from(self.launch_rpcs + task + umbilical + self.task_reads)
            };
            let of_map = calls(self.task_rpcs.0, self.umbilical_rpcs.0) + 3;
            let of_reducer = calls(self.task_rpcs.1, self.umbilical_rpcs.1) + maps;
            let of_block = u64::from(self.output_replication + 2 * self.block_rpcs);
            let localized = self.compute.len() as u64 * 6 * u64::from(self.localized_files.0);
            let of_job = 2 * u64::from(
                self.master_rpcs + self.submit_rpcs + self.commit_rpcs + self.history_rpcs,
            ) + 2 * self.committer.calls_of_job(work.committed());
            maps * of_map
                + reducers * of_reducer
                + (work.output / self.block + reducers) * of_block
                + localized
                + of_job
                + 200
        };
        self.jobs.iter().map(of).fold(0, u64::saturating_add)
    }
}

/// A job of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Index into the scenario's job names.
    pub job: u32,
    pub submit: Time,
    /// Input of each map in bytes.
    pub maps: Vec<u64>,
    /// Output of all maps together (`shuffle`) and of the job (`output`) in bytes.
    pub shuffle: u64,
    pub output: u64,
    /// Number of reducers. With 0, the maps write the output.
    pub reducers: u32,
}

impl Work {
    /// Returns the number of tasks that write output.
    pub fn committed(&self) -> u64 {
        if self.reducers > 0 { self.reducers.into() } else { self.maps.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_of_a_job_of_version_1_has_four_calls_for_each_task_and_one_for_each_thousand_in_the_list()
     {
        assert_eq!(
            [1, 56, 999, 1_000].map(|tasks| Committer::V1.calls_of_job(tasks)),
            [1 + 4, 1 + 224, 1 + 3_996, 2 + 4_000]
        );
        assert_eq!(Committer::V2.calls_of_job(1_000), 0);
        assert_eq!([Committer::V1, Committer::V2].map(Committer::fewer_calls_of_task), [2, 0]);
    }

    #[test]
    fn reducers_write_output_and_maps_where_there_are_none() {
        let work = |reducers| Work {
            job: 0,
            submit: Time::ZERO,
            maps: vec![1; 7],
            shuffle: 7,
            output: 7,
            reducers,
        };
        assert_eq!([work(3), work(0)].map(|work| work.committed()), [3, 7]);
    }

    #[test]
    fn a_penalty_grows_by_three_tenths_with_each_failure_up_to_its_limit() {
        let failure = FetchFailure {
            connect_timeout: None,
            read_timeout: None,
            penalty: Span::from_s(10),
            most: Span::from_s(60),
            limit: 30,
        };
        let delays = [1, 2, 3, 4, 5, 6, 7, 1_000_000]
            .map(|failures| failure.delay(failures).0 / 1_000_000_000);
        assert_eq!(delays, [13_000, 16_900, 21_970, 28_561, 37_129, 48_268, 60_000, 60_000]);
        let tez = FetchFailure {
            penalty: Span::from_s(2),
            most: Span::from_s(86_400),
            limit: 15,
            ..failure
        };
        assert_eq!(
            [1, 2, 15].map(|failures| tez.delay(failures).0 / 1_000_000_000),
            [2_600, 3_380, 102_371]
        );
        assert_eq!([10, 400].map(|maps| failure.most_failures(maps)), [30, 40]);
    }
}
