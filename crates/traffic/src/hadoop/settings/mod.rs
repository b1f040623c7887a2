//! Settings of a Hadoop cluster and its jobs.

mod capacity;
mod checks;
mod committer;
mod fetch;

pub use capacity::{CapacityKeys, TaskCapacity};
pub use committer::Committer;
pub use fetch::{FetchFailure, FetchKeys};

use crate::Draws;
use afflux_config::keys::meaningless;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Between, Duration, Off, Or, Size, Speed, keys, words};
use afflux_net::spec::ReceiveBuffer;
use afflux_units::{Bytes, Span, Time};
pub use checks::Range;
use checks::{
    DAY, at_least_1_mbps, count, counts, longer, per_byte, positive, range, replicas, size, timeout,
};

words! {
    /// Framework that runs the tasks:
    pub enum Framework {
        /// Hadoop MapReduce: a container per task.
        Mapreduce,
        /// Apache Tez: a container runs several tasks one after the other, and events are reported sooner.
        Tez,
    }
}

keys! {
    /// Disks of each node.
    #[derive(Copy)]
    pub struct DiskKeys as "Disks" => Disks {
        /// Number of disks of a node.
        count: u32 = 12, in 1 to 1000;
        /// Read rate of each disk, which concurrent requests share.
        read: Speed = "1.2Gbps" from "150 MB/s, a hard disk", check at_least_1_mbps;
        /// Write rate of each disk, which concurrent requests share.
        write: Speed = (Speed(read)) "`read`", check at_least_1_mbps;
        /// Seek time before each request.
        seek: Duration = "8ms", check |Duration(seek), key| if seek > Span::from_s(1) {
            Err(Wrong::at(key, format!("\"{seek}\": write at most \"1s\"")))
        } else {
            Ok(seek)
        };
    }
}

keys! {
    /// Processors of compute nodes.
    pub struct CpuKeys as "HadoopCpu" => Cpu {
        /// Share of the compute nodes' processors that is available to tasks, if other work (such as
        /// the sockets of other traffic) takes the rest. Starts of containers, Java virtual
        /// machines, masters and further tasks, and processor times per megabyte, become longer in
        /// proportion.
        cpu_share: f64 = 1.0, in 0.01 to 1.0;
    }
}

keys! {
    /// Processor time of tasks, and how fast they read.
    pub struct TaskKeys as "HadoopTasks" => TaskWork(cpu_share: f64) {
        /// Processor time of a map per megabyte of input, which limits how fast the map reads.
        map_cpu "map_cpu_per_mb": Duration as u64 = "10ms" from "5 to 20 ms are usual", check |time, key| per_byte(time, cpu_share, key);
        /// Processor time of a reducer per megabyte of input, which limits how fast the reducer
        /// writes.
        reduce_cpu "reduce_cpu_per_mb": Duration as u64 = "10ms", check |time, key| per_byte(time, cpu_share, key);
        /// Receive buffer of a map's connection to a data node, if `transport` sets none: initial
        /// size, and maximum (`tcp_rmem`).
        read_buffer: [Size; 2] as ReceiveBuffer = ["128KiB", "6MiB"], check |[Size(initial), Size(most)], key| {
            if initial.0 < 4_096 || initial > most || most.0 > 1 << 30 {
                let what = "write two sizes from \"4KiB\" to \"1GiB\", the second not below the first";
                return Err(Wrong::at(key, what));
            }
            Ok(ReceiveBuffer { initial, most, share: 128 })
        };
    }
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

keys! {
    /// Configuration of a Hadoop cluster and its jobs.
    pub struct ClusterKeys as "HadoopConfiguration" => Settings(parts: ClusterParts) {
        /// Time from the end of a transfer until the programs learn of it, and from a decision
        /// until a transfer starts. It limits the engine's lookahead, so a value much below the
        /// links' delay makes runs slow.
        message_delay: Duration = "5us", check |time, key| match positive(time, key.clone())? {
            time if time < Span::from_ns(100) || time > Span::from_ms(1) => {
                Err(Wrong::at(key, format!("\"{time}\": write \"100ns\" to \"1ms\"")))
            }
            time => Ok(time),
        };
        @capacity: CapacityKeys;
        /// Time between heartbeats of a node manager, at which it is given containers
        /// (`yarn.resourcemanager.nodemanagers.heartbeat-interval-ms`).
        node_heartbeat: Duration = "1s", check positive;
        /// Containers that a node is given per heartbeat
        /// (`yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments`). Maps on
        /// compute nodes that hold blocks do not count. A node sends a further heartbeat when a
        /// container ends.
        containers_per_heartbeat: u32 = 1, check count::<1>;
        /// Time that a job's master sleeps before each of its heartbeats, at which it learns which
        /// containers it has been given
        /// (`yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms`).
        master_heartbeat: Duration = "1s", check positive;
        /// Time that a node needs to start a container, without `launch_rpcs` and
        /// `localized_files`.
        container_start: Between as Range = ["0.5s", "3s"], check |times, _| Ok(parts.busy(times));
        /// Round trips of a job's master to a node to start a container: TCP's handshake, two for
        /// the token, the call. The master starts containers with one thread per compute node, and
        /// 10 more.
        launch_rpcs: u32 = 4, check count::<0>;
        /// Files that a node fetches from data nodes before the first container of a job starts
        /// there: for tasks, and for the job's master. The first two share `resources`, each further
        /// one has 100 B per map. Each takes two calls to the name node and a new connection to a
        /// data node.
        localized_files: [u32; 2] as (u32, u32) = (if parts.tez { [5, 6] } else { [2, 4] })
            "`[2, 4]`, with Tez `[5, 6]` (ContainerLocalizer; YARNRunner)", check counts;
        /// Time to start a container's Java virtual machine.
        jvm_start: Between as Range = ["0.5s", "2s"], check |times, _| Ok(parts.busy(times));
        /// Time that a job's master needs after its start before it asks for containers.
        master_init: Between as Range = "1s", check |times, _| Ok(parts.busy(times));
        /// Round trips of a job's master to `master` after `master_init`: connection, files and
        /// directories, registration, what its containers need.
        master_rpcs: u32 = (if parts.tez { 16 } else { 28 })
            "28, with Tez 16 (MRAppMaster, JobHistoryEventHandler, TaskAttemptImpl)", check count::<0>;
        @cpu: CpuKeys;
        /// With Tez: time to start a further task in a container.
        next_task: Between as Option<Range> = {parts.tez.then_some(Between(Span::from_ms(100), Span::from_ms(100)))} "`\"100ms\"`",
            check |times, key| parts.with_tez(&key).map(|()| parts.busy(times));
        /// With Tez: a container without work is given back after this time
        /// (`tez.am.container.idle.release-timeout-min.millis`, `-max`).
        idle_release: Between as Option<Range> = {parts.tez.then_some(Between(Span::from_s(5), Span::from_s(10)))} "`[\"5s\", \"10s\"]`",
            check |times, key| parts.with_tez(&key).and_then(|()| range(times, key));
        @{
            /// Disks of compute nodes, for spills and merges. Default: every key has its own
            /// default.
            disks: DiskKeys;
            /// Disks of data nodes. Default: `disks`.
            data_disks: DiskKeys;
        };
        /// Share of input blocks that are in a data node's memory, from which they are read.
        block_cached: f64 = 0.0, in 0.0 to 1.0;
        /// Share of map outputs that are in memory when they are fetched.
        output_cached: f64 = 1.0, in 0.0 to 1.0;
        /// Size of a block (`dfs.blocksize`).
        block "block_size": Size as u64 = "128MiB", check size::<1>;
        /// Number of data nodes that hold each input block (`dfs.replication`).
        input_replication: u32 = (parts.at_most_nodes(3)) "3, or as many as there are", check |number, key| replicas(number, &parts.machines.data, key);
        /// Number of data nodes to which each output block is written.
        output_replication: u32 = 1 from "`mapreduce.terasort.output.replication`", check |number, key| replicas(number, &parts.machines.data, key);
        /// Whether a file is complete only when data nodes have it on disk
        /// (`mapreduce.terasort.final.sync`).
        final_sync: bool = true;
        @tasks: TaskKeys;
        /// Size of a map's buffer for its output (`mapreduce.task.io.sort.mb`).
        sort_buffer: Size as u64 = "100MiB", check size::<MIB>;
        /// Share of `sort_buffer` at which a spill begins (`mapreduce.map.sort.spill.percent`).
        spill_share: f64 = 0.8, in 0.0 to 1.0, check |share, _| Ok(f64::max(share, 0.01));
        /// Bytes of `sort_buffer` per byte of output: 16 B of accounting per record.
        sort_overhead: f64 = 1.16 from "records of 100 B", in 1.0 to 100.0;
        /// Whether the spills before a map's last one take time of a disk while the map works. With
        /// `false` the page cache takes them for nothing.
        early_spills: bool = true;
        /// Files that are merged at once (`mapreduce.task.io.sort.factor`, `tez.runtime.io.sort.factor`).
        merge_factor: u32 = (if parts.tez { 100 } else { 10 }) "10, with Tez 100", check count::<2>;
        /// Shares of the maps that have ended when the master asks for the first and for the last
        /// reducers.
        slow_start: [f64; 2] as (f64, f64) = (if parts.tez { [0.25, 0.75] } else { [0.05, 0.05] })
            "`[0.05, 0.05]` (`mapreduce.job.reduce.slowstart.completedmaps`), with Tez `[0.25, 0.75]` (`tez.shuffle-vertex-manager.min-src-fraction`, `max`)",
            check |shares, key| match shares {
                [first, last] if 0.0 <= first && first <= last && last <= 1.0 => Ok((first, last)),
                _ => Err(Wrong::at(key, format!("found {shares:?}: write two numbers from 0 to 1, the second not below the first"))),
            };
        /// Share of the cluster's capacity that reducers may take while maps wait
        /// (`yarn.app.mapreduce.am.job.reduce.rampup.limit`).
        ramp_up: f64 = 0.5, in 0.0 to 1.0;
        /// Fetching threads per reducer (`mapreduce.reduce.shuffle.parallelcopies`, `tez.runtime.shuffle.parallel.copies`).
        parallel_copies: u32 = (if parts.tez { 20 } else { 5 }) "5, with Tez 20", check count::<1>;
        /// Map outputs per request to one host.
        maps_per_fetch: u32 = 20, check count::<1>;
        /// Time between two requests of a reducer for new outputs.
        event_poll: Duration = (Duration(Span::from_ms(if parts.tez { 100 } else { 1_000 }))) "`\"1s\"`, with Tez `\"100ms\"`", check positive;
        /// Size of a request for map outputs.
        request "request_size": Size as u64 = "300B", check size::<1>;
        /// Size of the headers of each output in the answer.
        segment_header: Size as u64 = "30B", check size::<0>;
        /// Time that the serving host needs to find an output.
        fetch_service: Between as Range = ["200us", "1ms"], check range;
        @fetch: FetchKeys;
        /// Memory of a reducer for map outputs.
        shuffle_memory: Size as u64 = (parts.usable_memory())
            "`reduce_memory` times 0.8 (the Java heap) times 0.7 (`mapreduce.reduce.shuffle.input.buffer.percent`), with Tez times 0.9", check size::<MIB>;
        /// Share of `shuffle_memory` at which outputs are merged to disk.
        merge_share: f64 = (if parts.tez { 0.9 } else { 0.66 }) "0.66, with Tez 0.9", in 0.0 to 1.0;
        /// A map output larger than this share of `shuffle_memory` goes to disk at once.
        single_share: f64 = 0.25, in 0.0 to 1.0;
        /// Number of outputs in memory at which they are merged
        /// (`mapreduce.reduce.merge.inmem.threshold`).
        merge_outputs: u32 = 1000, check count::<1>;
        /// Time to start the client's Java virtual machine.
        client_start: Between as Range = ["2s", "3s"], check range;
        /// Pieces of the input that the client samples.
        samples: u32 = 10, check count::<0>;
        /// Size of each sample.
        sample "sample_size": Size as u64 = "1MB", check size::<0>;
        /// Size of the files that the client uploads for the tasks.
        resources: Size as u64 = "500kB", check size::<0>;
        /// Number of data nodes to which these files are written
        /// (`mapreduce.client.submit.file.replication`).
        submit_replication: u32 = (parts.at_most_nodes(10)) "10, or as many as there are", check count::<1>;
        /// Remote calls, one after the other, of a submission.
        submit_rpcs: u32 = 75 from "TeraInputFormat, JobSubmitter, YarnClientImpl", check count::<0>;
        /// Round trips, one after the other, of a map and of a reducer to the name node, the
        /// handshake of the connection included. A further task in a container needs two less.
        task_rpcs: [u32; 2] as (u32, u32) = [7, 12] from "MapTask, DFSInputStream; DFSOutputStream, FileOutputCommitter", check counts;
        /// Round trips of a map and of a reducer to the job's master, the handshake included. A
        /// further task in a container needs three less.
        umbilical_rpcs: [u32; 2] as (u32, u32) = (if parts.tez { [5, 6] } else { [7, 10] }) "`[7, 10]` (YarnChild, Task), with Tez `[5, 6]`", check counts;
        /// Short reads of a map from data nodes, each over a new connection: its part of the list of
        /// maps, and the end of its last record.
        task_reads: u32 = 2, check count::<0>;
        /// Remote calls of each block that is written: one to the name node, the others to the data
        /// node.
        block_rpcs: u32 = 4 from "DataStreamer", check count::<0>;
        /// Remote calls of the commit of a job.
        commit_rpcs: u32 = (if parts.tez { 9 } else { 7 }) "7, with Tez 9 (CommitterEventHandler; DAGAppMaster)", check count::<0>;
        /// Algorithm of `FileOutputCommitter` (`mapreduce.fileoutputcommitter.algorithm.version`).
        /// Hadoop 2 has 1. With `"v1"` a reducer has two calls less than `task_rpcs`. The commit of
        /// a job then has, in addition to `commit_rpcs`, four calls for each task that has written
        /// output, and one for each 1000 tasks to list them (`dfs.ls.limit`). Each call takes
        /// `rpc_service` and its time on the network.
        committer: Committer = "v2" from "as in Hadoop 3";
        /// Whether a second attempt of a slow map is started (`mapreduce.map.speculative`;
        /// DefaultSpeculator with LegacyTaskRuntimeEstimator), only with MapReduce. The attempt that
        /// ends first counts, and the other one is killed. Hadoop's default is `true`. It is off here
        /// because the model knows a map's progress only roughly: one that reads its block counts as
        /// two thirds done and is speculated after twice the mean time.
        map_speculative: bool as Option<bool> = {(!parts.tez).then_some(false)} "`false`", check |on, key| parts.without_tez(&key).map(|()| on);
        /// Whether a second attempt of a slow reducer is started (`mapreduce.reduce.speculative`),
        /// only with MapReduce. The second one fetches all map outputs again. Hadoop's default is
        /// `true`. It is off here because the model knows a reducer's progress only roughly: a third
        /// for its share of the outputs that have arrived, a third when they are merged, the rest at
        /// its end.
        reduce_speculative: bool as Option<bool> = {(!parts.tez).then_some(false)} "`false`", check |on, key| parts.without_tez(&key).map(|()| on);
        /// Remote calls after the commit that close and copy the job's history.
        history_rpcs: u32 = (if parts.tez { 0 } else { 49 }) "49, with Tez 0 (JobHistoryEventHandler.processDoneFiles)", check count::<0>;
        /// Time between the two calls with which a job's master unregisters
        /// (RMCommunicator.doUnregistration). With `"0s"` there is only one call.
        unregister: Duration = (Duration(Span::from_s(if parts.tez { 0 } else { 1 }))) "`\"1s\"`, with Tez `\"0s\"`",
            check |Duration(time), key| if time > DAY { Err(Wrong::at(key, format!("\"{time}\": write a time up to 24h"))) } else { Ok(time) };
        /// Size of a call, and of its answer.
        rpc "rpc_size": Size as u64 = "500B" from "0.2 to 2 kB are usual", check size::<1>;
        /// Time that the server needs for a call.
        rpc_service: Between as Range = ["100us", "1ms"], check range;
        /// Time after which a caller closes a connection that it has just opened and opens another
        /// one, if its first call has not arrived at the server
        /// (`ipc.client.connect.timeout`), or `"off"`: the call takes as long as TCP's time-outs.
        /// Lost SYNs double TCP's time-out from 1 s on, and a new connection begins with 1 s again.
        /// Hadoop gives up after 45 repetitions, the model never. SYNs of the first connection
        /// still cross the network in the model. Connections to data nodes have no such time-out
        /// here (Hadoop's is a minute).
        rpc_connect_timeout: Or<Off, Duration> as Option<Span> = "20s" from "Hadoop's default", check timeout;
        /// Size of a job's history, which is written when the job ends.
        history: Size as u64 = (Size(Bytes(if parts.tez { 0 } else { 1_000_000 }))) "`\"1MB\"`, with Tez `\"0B\"`", check size::<0>;
        /// Time between two checks of the client whether the job has ended. The client checks each
        /// second, and asks again if its last answer is older than two seconds (Job,
        /// `MAX_JOBSTATUS_AGE`).
        client_poll: Duration = "2s", check positive;
        /// Size of the log of each container, uploaded when the job has ended
        /// (`yarn.log-aggregation-enable`); `"0B"`: no log.
        log "log_size": Size as u64 = "0B", check size::<0>;
    }
    plus {
        /// True with Apache Tez, which reuses containers.
        tez: bool = parts.tez;
        compute: Vec<u32> = parts.machines.compute;
        data: Vec<u32> = parts.machines.data;
        /// Data nodes that logs are sent to.
        log_hosts: Vec<u32> = parts.machines.log_hosts;
        /// Host of the name node and the resource manager.
        master: u32 = parts.machines.master;
        client: u32 = parts.machines.client;
        capacity: TaskCapacity = parts.capacity;
        compute_disks: Disks = parts.disks.0;
        data_disks: Disks = parts.disks.1;
        /// Processor time of maps and of reducers in ps per byte.
        map_cpu: u64 = parts.tasks.map_cpu;
        reduce_cpu: u64 = parts.tasks.reduce_cpu;
        fetch_failure: FetchFailure = parts.fetch_failure;
        /// Whether slow maps, and slow reducers, get a second attempt.
        speculative: (bool, bool) = (map_speculative == Some(true), reduce_speculative == Some(true));
        transports: TransportChoice = parts.transports;
        draws: Draws = parts.draws;
        jobs: Vec<Work> = Vec::new();
    }
}

const MIB: u64 = 1 << 20;
/// Additional bytes on the wire per 512 bytes of a block: HDFS's CRC32C.
pub const CHECKSUM: u64 = 4;

/// Hosts of a cluster.
#[derive(Debug, Clone)]
pub struct Machines {
    pub compute: Vec<u32>,
    pub data: Vec<u32>,
    /// Data nodes that logs are sent to.
    pub log_hosts: Vec<u32>,
    /// Host of the name node and the resource manager.
    pub master: u32,
    pub client: u32,
}

/// Settings that `ClusterKeys` are resolved with.
#[derive(Debug, Clone)]
pub struct ClusterParts {
    tez: bool,
    machines: Machines,
    cpu_share: f64,
    tasks: TaskWork,
    capacity: TaskCapacity,
    disks: (Disks, Disks),
    fetch_failure: FetchFailure,
    transports: TransportChoice,
    draws: Draws,
}

impl ClusterKeys {
    /// Checks the written keys and fills in the defaults of the others. `key` is the path of the
    /// table. `transports` chooses the transports of flows for given processor times.
    pub fn settings(
        &mut self,
        key: &Key,
        framework: Framework,
        machines: Machines,
        draws: Draws,
        transports: impl FnOnce(&TaskWork) -> Result<TransportChoice, Wrong>,
    ) -> Result<Settings, Wrong> {
        let at = |name: &str| key.clone().name(name);
        let tez = framework == Framework::Tez;
        let disks = self.disks.get_or_insert_default().resolve(&at("disks"))?;
        let alike = self.disks.unwrap_or_default();
        let data_disks = self.data_disks.get_or_insert(alike).resolve(&at("data_disks"))?;
        let cpu_share = self.cpu.resolve(key)?.cpu_share;
        let tasks = self.tasks.resolve(key, cpu_share)?;
        let parts = ClusterParts {
            tez,
            machines,
            cpu_share,
            capacity: self.capacity.tasks(key)?,
            disks: (disks, data_disks),
            fetch_failure: self.fetch.resolve(key, tez)?,
            transports: transports(&tasks)?,
            tasks,
            draws,
        };
        self.resolve(key, parts)
    }
}

impl ClusterParts {
    fn busy(&self, Between(least, most): Between) -> Range {
        let longer = |time: Span| Span(longer(time.0, self.cpu_share));
        Range { least: longer(least), most: longer(most) }
    }

    fn with_tez(&self, key: &Key) -> Result<(), Wrong> {
        let word = "framework = \"mapreduce\"";
        if self.tez { Ok(()) } else { Err(meaningless(key.clone(), word)) }
    }

    fn without_tez(&self, key: &Key) -> Result<(), Wrong> {
        let word = "framework = \"tez\"";
        if self.tez { Err(meaningless(key.clone(), word)) } else { Ok(()) }
    }

    fn at_most_nodes(&self, number: u32) -> u32 {
        number.min(self.machines.data.len() as u32)
    }

    /// Returns the part of a reducer's memory that map outputs may take.
    fn usable_memory(&self) -> Size {
        let memory = match self.capacity {
            TaskCapacity::Memory { reduce, .. } => reduce,
            TaskCapacity::Slots { .. } => 1 << 30,
        };
        let share = if self.tez { 0.9 } else { 0.7 };
        Size(Bytes((memory as f64 * 0.8 * share) as u64))
    }
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
}
