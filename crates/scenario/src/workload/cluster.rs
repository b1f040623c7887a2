//! The machines and the configuration of Hadoop: `cluster` of `kind = "hadoop"` and
//! `"hadoop_trace"`.

use super::hosts::{HostItem, Hosts, Receiver};
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::TrafficContext;
use crate::validate::traffic::select;
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Between, Duration, Off, Or, Size, Speed, as_written, table, words};
use afflux_net::spec::{Pacing, Reader, Receive, ReceiveBuffer, TcpConfig, TransportConfig};
use afflux_traffic::Classes;
use afflux_traffic::hadoop::{self, FetchFailure, Range, Settings, TaskCapacity, TransportChoice};
use afflux_units::{Bytes, Rate, Span};

words! {
    /// Framework that runs the tasks:
    pub enum Framework {
        /// Hadoop MapReduce: a container per task.
        Mapreduce,
        /// Apache Tez: a container runs several tasks one after the other, and events are reported sooner.
        Tez,
    }
    /// How the output of the tasks becomes the output of the job:
    pub enum Committer {
        /// A task's commit renames the directory of its attempt. The commit of the job lists these
        /// directories and moves the file of each with four calls, one after the other: state of
        /// the output directory, list, state of the new file, rename
        /// (`FileOutputCommitter.mergePaths`).
        V1,
        /// A task's commit moves the task's own file, at the same time as other tasks.
        V2,
    }
}

table! {
    /// Disks of each node.
    #[derive(Default)]
    pub struct Disks {
        /// Number of disks of a node. Default 12.
        count: u32,
        /// Read rate of each disk, which concurrent requests share. Default `"1.2Gbps"` (150 MB/s,
        /// a hard disk).
        read: Speed,
        /// Write rate of each disk, which concurrent requests share. Default: `read`.
        write: Speed,
        /// Seek time before each request. Default `"8ms"`.
        seek: Duration,
    }

    /// Machines of a Hadoop cluster, and the configuration of Hadoop. Defaults are those of Hadoop
    /// 3.3.6 and Tez where there are any. Values that depend on the machines (processor time,
    /// disks, start-up) must be measured.
    #[derive(Default)]
    pub struct Cluster {
        /// Hosts that run tasks. Default `"all"`.
        compute: Hosts,
        /// Hosts that hold blocks. Default: `compute`.
        data: Hosts,
        /// Data nodes to which logs are uploaded. Default: `data`.
        log_hosts: Hosts,
        /// The host of the name node and the resource manager. Default: the first data node.
        master: Receiver,
        /// The host from which jobs are submitted. Default: `master`.
        client: Receiver,
        /// Time from the end of a transfer until the programs learn of it, and from a decision
        /// until a transfer starts. It limits the engine's lookahead, so a value much below the
        /// links' delay makes runs slow. Default `"5us"`.
        message_delay: Duration,
        /// Memory for containers per compute node (`yarn.nodemanager.resource.memory-mb`). Default `"8GiB"`.
        node_memory: Size,
        /// Memory of a map's container (`mapreduce.map.memory.mb`). Default `"1GiB"`.
        map_memory: Size,
        /// Memory of a reducer's container (`mapreduce.reduce.memory.mb`). Default `"1GiB"`.
        reduce_memory: Size,
        /// Memory of the container of a job's master (`yarn.app.mapreduce.am.resource.mb`). Default `"1536MiB"`.
        master_memory: Size,
        /// Instead of memory: number of maps at a time per compute node. Needs `reduce_slots`.
        /// Default: none: memory limits them.
        map_slots: u32,
        /// Instead of memory: number of reducers at a time per compute node. Needs `map_slots`.
        /// Default: none: memory limits them.
        reduce_slots: u32,
        /// Time between heartbeats of a node manager, at which it is given containers (`yarn.resourcemanager.nodemanagers.heartbeat-interval-ms`). Default
        /// `"1s"`.
        node_heartbeat: Duration,
        /// Containers that a node is given per heartbeat (`yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments`). Maps on compute nodes
        /// that hold blocks do not count. A node sends a further heartbeat when a container ends. Default 1.
        containers_per_heartbeat: u32,
        /// Time that a job's master sleeps before each of its heartbeats, at which it learns which containers it has been given
        /// (`yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms`). Default `"1s"`.
        master_heartbeat: Duration,
        /// Time that a node needs to start a container, without `launch_rpcs` and
        /// `localized_files`. Default `["0.5s", "3s"]`.
        container_start: Between,
        /// Round trips of a job's master to a node to start a container: TCP's handshake, two for
        /// the token, the call. The master starts containers with one thread per compute node, and
        /// 10 more. Default 4.
        launch_rpcs: u32,
        /// Files that a node fetches from data nodes before the first container of a job starts there: for tasks, and for the job's master. The first two share
        /// `resources`, each further one has 100 B per map. Each takes two calls to the name node and a new connection to a data node. Default `[2, 4]`, with Tez
        /// `[5, 6]` (ContainerLocalizer; YARNRunner).
        localized_files: [u32; 2],
        /// Time to start a container's Java virtual machine. Default `["0.5s", "2s"]`.
        jvm_start: Between,
        /// Time that a job's master needs after its start before it asks for containers. Default
        /// `"1s"`.
        master_init: Between,
        /// Round trips of a job's master to `master` after `master_init`: connection, files and
        /// directories, registration, what its containers need. Default 28, with Tez 16
        /// (MRAppMaster, JobHistoryEventHandler, TaskAttemptImpl).
        master_rpcs: u32,
        /// Share of the compute nodes' processors that is available to tasks, if other work (such
        /// as the sockets of other traffic) takes the rest. Starts of containers, Java virtual
        /// machines, masters and further tasks, and processor times per megabyte, become longer in
        /// proportion. Default 1.
        cpu_share: f64,
        /// With Tez: time to start a further task in a container. Default `"100ms"`.
        next_task: Between,
        /// With Tez: a container without work is given back after this time
        /// (`tez.am.container.idle.release-timeout-min.millis`, `-max`). Default `["5s", "10s"]`.
        idle_release: Between,
        /// Disks of compute nodes, for spills and merges. Default: every key has its own default.
        #[serde(default)]
        pub disks: Disks,
        /// Disks of data nodes. Default: `disks`.
        data_disks: Disks,
        /// Share of input blocks that are in a data node's memory. Default 0.
        block_cached: f64,
        /// Share of map outputs that are in memory when they are fetched. Default 1.
        output_cached: f64,
        /// Size of a block (`dfs.blocksize`). Default `"128MiB"`.
        block_size: Size,
        /// Number of data nodes that hold each input block (`dfs.replication`). Default 3, or as
        /// many as there are.
        input_replication: u32,
        /// Number of data nodes to which each output block is written. Default 1
        /// (`mapreduce.terasort.output.replication`).
        output_replication: u32,
        /// Whether a file is complete only when data nodes have it on disk
        /// (`mapreduce.terasort.final.sync`). Default `true`.
        final_sync: bool,
        /// Processor time of a map per megabyte of input, which limits how fast the map reads.
        /// Default `"10ms"` (5 to 20 ms are usual).
        map_cpu_per_mb: Duration,
        /// Processor time of a reducer per megabyte of input, which limits how fast the reducer
        /// writes. Default `"10ms"`.
        reduce_cpu_per_mb: Duration,
        /// Receive buffer of a map's connection to a data node, if `transport` sets none: initial
        /// size, and maximum (`tcp_rmem`). Default `["128KiB", "6MiB"]`.
        read_buffer: [Size; 2],
        /// Size of a map's buffer for its output (`mapreduce.task.io.sort.mb`). Default `"100MiB"`.
        sort_buffer: Size,
        /// Share of `sort_buffer` at which a spill begins (`mapreduce.map.sort.spill.percent`). Default 0.8.
        spill_share: f64,
        /// Bytes of `sort_buffer` per byte of output: 16 B of accounting per record. Default 1.16 (records of 100 B).
        sort_overhead: f64,
        /// Files that are merged at once (`mapreduce.task.io.sort.factor`, `tez.runtime.io.sort.factor`). Default 10, with Tez 100.
        merge_factor: u32,
        /// Shares of the maps that have ended when the master asks for the first and for the last
        /// reducers. Default `[0.05, 0.05]` (`mapreduce.job.reduce.slowstart.completedmaps`), with
        /// Tez `[0.25, 0.75]` (`tez.shuffle-vertex-manager.min-src-fraction`, `max`).
        slow_start: [f64; 2],
        /// Share of the cluster's capacity that reducers may take while maps wait (`yarn.app.mapreduce.am.job.reduce.rampup.limit`). Default 0.5.
        ramp_up: f64,
        /// Fetching threads per reducer (`mapreduce.reduce.shuffle.parallelcopies`, `tez.runtime.shuffle.parallel.copies`). Default 5, with Tez 20.
        parallel_copies: u32,
        /// Map outputs per request to one host. Default 20.
        maps_per_fetch: u32,
        /// Time between two requests of a reducer for new outputs. Default `"1s"`, with Tez `"100ms"`.
        event_poll: Duration,
        /// Size of a request for map outputs. Default `"300B"`.
        request_size: Size,
        /// Size of the headers of each output in the answer. Default `"30B"`.
        segment_header: Size,
        /// Time that the serving host needs to find an output. Default `["200us", "1ms"]`.
        fetch_service: Between,
        /// Time after which the fetch of map outputs fails if the request has not arrived at their host, the handshake of its connection included
        /// (`mapreduce.reduce.shuffle.connect.timeout`, `tez.runtime.shuffle.connect.timeout`), or `"off"`: none. Default `"off"`: each fetch takes as long as
        /// it takes. Hadoop and Tez have `"180s"`. After a failure the reducer leaves the host alone for 10 s times 1.3 to the power of the failures of an
        /// output (ShuffleSchedulerImpl: 13 s, 16.9 s, …), with Tez for 2 s times that, and then fetches its outputs again.
        fetch_connect_timeout: Or<Off, Duration>,
        /// Time after which a fetch fails if the answer has not arrived in full, counted from the
        /// arrival of the request (`mapreduce.reduce.shuffle.read.timeout`,
        /// `tez.runtime.shuffle.read.timeout`), or `"off"`: none. Default `"off"`: each fetch takes
        /// as long as it takes. Hadoop and Tez have `"180s"` for each read from the connection:
        /// time without a byte. The model knows only the ends of transfers, so write more than the
        /// longest regular answer takes. The rest of the answer still crosses the network. The
        /// reducer leaves the host alone for the times that `fetch_connect_timeout` describes.
        fetch_read_timeout: Or<Off, Duration>,
        /// Longest time for which a host is left alone after a failed fetch (`mapreduce.reduce.shuffle.retry-delay.max.ms`). Needs `fetch_connect_timeout`
        /// or `fetch_read_timeout`, and MapReduce: Tez has no such limit. Default `"60s"`.
        fetch_retry_delay_max: Duration,
        /// Memory of a reducer for map outputs. Default: `reduce_memory` times 0.8 (the Java heap)
        /// times 0.7 (`mapreduce.reduce.shuffle.input.buffer.percent`), with Tez times 0.9.
        shuffle_memory: Size,
        /// Share of `shuffle_memory` at which outputs are merged to disk. Default 0.66, with Tez 0.9.
        merge_share: f64,
        /// A map output larger than this share of `shuffle_memory` goes to disk at once. Default 0.25.
        single_share: f64,
        /// Number of outputs in memory at which they are merged
        /// (`mapreduce.reduce.merge.inmem.threshold`). Default 1000.
        merge_outputs: u32,
        /// Time to start the client's Java virtual machine. Default `["2s", "3s"]`.
        client_start: Between,
        /// Pieces of the input that the client samples. Default 10.
        samples: u32,
        /// Size of each sample. Default `"1MB"`.
        sample_size: Size,
        /// Size of the files that the client uploads for the tasks. Default `"500kB"`.
        resources: Size,
        /// Number of data nodes to which these files are written
        /// (`mapreduce.client.submit.file.replication`). Default 10, or as many as there are.
        submit_replication: u32,
        /// Remote calls, one after the other, of a submission. Default 75 (TeraInputFormat, JobSubmitter, YarnClientImpl).
        submit_rpcs: u32,
        /// Round trips, one after the other, of a map and of a reducer to the name node, the handshake of the connection included. Default `[7, 12]` (MapTask,
        /// DFSInputStream; DFSOutputStream, FileOutputCommitter). A further task in a container needs two less.
        task_rpcs: [u32; 2],
        /// Round trips of a map and of a reducer to the job's master, the handshake included. A further task in a container needs three less. Default `[7, 10]`
        /// (YarnChild, Task), with Tez `[5, 6]`.
        umbilical_rpcs: [u32; 2],
        /// Short reads of a map from data nodes, each over a new connection: its part of the list of maps, and the end of its last record. Default 2.
        task_reads: u32,
        /// Remote calls of each block that is written: one to the name node, the others to the data node. Default 4 (DataStreamer).
        block_rpcs: u32,
        /// Remote calls of the commit of a job. Default 7, with Tez 9 (CommitterEventHandler; DAGAppMaster).
        commit_rpcs: u32,
        /// Algorithm of `FileOutputCommitter` (`mapreduce.fileoutputcommitter.algorithm.version`).
        /// Default `"v2"`, as in Hadoop 3; Hadoop 2 has 1. With `"v1"` a reducer has two calls less
        /// than `task_rpcs`. The commit of a job then has, in addition to `commit_rpcs`, four calls
        /// for each task that has written output, and one for each 1000 tasks to list them
        /// (`dfs.ls.limit`). Each call takes `rpc_service` and its time on the network.
        committer: Committer,
        /// Whether a second attempt of a slow map is started (`mapreduce.map.speculative`; DefaultSpeculator with LegacyTaskRuntimeEstimator), only with
        /// MapReduce. The attempt that ends first counts, and the other one is killed. Default `false`; Hadoop's default is `true`. It is off here because the
        /// model knows a map's progress only roughly: one that reads its block counts as two thirds done and is speculated after twice the mean time.
        map_speculative: bool,
        /// Whether a second attempt of a slow reducer is started (`mapreduce.reduce.speculative`), only with MapReduce. The second one fetches all map outputs
        /// again. Default `false`; Hadoop's default is `true`. It is off here because the model knows a reducer's progress only roughly: a third for
        /// its share of the outputs that have arrived, a third when they are merged, the rest at its end.
        reduce_speculative: bool,
        /// Remote calls after the commit that close and copy the job's history. Default 49, with Tez 0 (JobHistoryEventHandler.processDoneFiles).
        history_rpcs: u32,
        /// Time between the two calls with which a job's master unregisters
        /// (RMCommunicator.doUnregistration). With `"0s"` there is only one call. Default `"1s"`,
        /// with Tez `"0s"`.
        unregister: Duration,
        /// Size of a call, and of its answer. Default `"500B"` (0.2 to 2 kB are usual).
        rpc_size: Size,
        /// Time that the server needs for a call. Default `["100us", "1ms"]`.
        rpc_service: Between,
        /// Size of a job's history, which is written when the job ends. Default `"1MB"`, with Tez
        /// `"0B"`.
        history: Size,
        /// Time between two checks of the client whether the job has ended. Default `"2s"`: the
        /// client checks each second, and asks again if its last answer is older than two seconds
        /// (Job, `MAX_JOBSTATUS_AGE`).
        client_poll: Duration,
        /// Size of the log of each container, uploaded when the job has ended
        /// (`yarn.log-aggregation-enable`); `"0B"`: no log. Default `"0B"`.
        log_size: Size,
    }
}

as_written!(Cluster);

/// Largest number of maps of a job, and of all jobs of a trace.
pub const MOST_MAPS: u64 = hadoop::MOST_MAPS;

/// Largest number of calls of one purpose, and of files of a job.
const MOST_CALLS: u32 = 1_000_000;

/// Resolves the settings of a cluster, apart from its jobs.
pub fn cluster(
    c: &mut Cluster,
    framework: Framework,
    shared: &Shared,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<(Settings, Span), Wrong> {
    let key = key.clone().name("cluster");
    let at = |name: &str| key.clone().name(name);
    let tez = framework == Framework::Tez;
    let compute =
        select::hosts(&fill(&mut c.compute, Hosts::all()), &at("compute"), context.facts)?;
    let given = c.compute.clone().expect("filled");
    let data = select::hosts(&fill(&mut c.data, given), &at("data"), context.facts)?;
    let given = c.data.clone().expect("filled");
    let log_hosts = select::hosts(&fill(&mut c.log_hosts, given), &at("log_hosts"), context.facts)?;
    let master = select::host(
        &fill(&mut c.master, Receiver(HostItem::Number(data[0]))).0,
        &at("master"),
        context.facts,
    )?;
    let client = select::host(
        &fill(&mut c.client, Receiver(HostItem::Number(master))).0,
        &at("client"),
        context.facts,
    )?;
    let message_delay = positive(&mut c.message_delay, Span::from_us(5), &at("message_delay"))?;
    if message_delay < Span::from_ns(100) || message_delay > Span::from_ms(1) {
        return Err(Wrong::at(
            at("message_delay"),
            format!("\"{message_delay}\": write \"100ns\" to \"1ms\""),
        ));
    }
    let capacity = capacity(c, &key)?;
    let share = fill(&mut c.cpu_share, 1.0);
    if !(0.01..=1.0).contains(&share) {
        return Err(Wrong::at(
            at("cpu_share"),
            format!("found {share}: write a number from 0.01 to 1"),
        ));
    }
    // Work on the processors of compute nodes takes longer by a factor of 1 / `cpu_share`.
    let longer = |span: u64| (span as f64 / share).round() as u64;
    let busy = |slot: &mut Option<Between>, least: Span, most: Span| {
        let Range { least, most } = range(slot, least, most);
        Range { least: Span(longer(least.0)), most: Span(longer(most.0)) }
    };
    let framework = match tez {
        false => {
            for (name, given) in
                [("next_task", c.next_task.is_some()), ("idle_release", c.idle_release.is_some())]
            {
                if given {
                    return Err(meaningless(at(name), "framework = \"mapreduce\""));
                }
            }
            hadoop::Framework::MapReduce
        }
        true => hadoop::Framework::Tez {
            next_task: busy(&mut c.next_task, Span::from_ms(100), Span::from_ms(100)),
            idle_release: range(&mut c.idle_release, Span::from_s(5), Span::from_s(10)),
        },
    };
    let count =
        |slot: &mut Option<u32>, default: u32, least: u32, name: &str| match fill(slot, default) {
            count if (least..=1_000_000).contains(&count) => Ok(count),
            count => Err(Wrong::at(
                at(name),
                format!("found {count}: write a whole number from {least} to 1000000"),
            )),
        };
    let most_calls = |count: u32, name: &str| match count {
        count if count <= MOST_CALLS => Ok(count),
        count => Err(Wrong::at(
            at(name),
            format!("found {count}: write a whole number from 0 to {MOST_CALLS}"),
        )),
    };
    let calls =
        |slot: &mut Option<u32>, default: u32, name: &str| most_calls(fill(slot, default), name);
    let pair = |slot: &mut Option<[u32; 2]>, default: [u32; 2], name: &str| {
        let [first, second] = fill(slot, default);
        Ok::<_, Wrong>((most_calls(first, name)?, most_calls(second, name)?))
    };
    let portion = |slot: &mut Option<f64>, default: f64, name: &str| match fill(slot, default) {
        portion if (0.0..=1.0).contains(&portion) => Ok(portion),
        portion => Err(Wrong::at(at(name), format!("found {portion}: write a number from 0 to 1"))),
    };
    let bytes = |slot: &mut Option<Size>, default: u64, least: u64, name: &str| match fill(
        slot,
        Size(Bytes(default)),
    )
    .0
    .0
    {
        bytes if (least..=1 << 50).contains(&bytes) => Ok(bytes),
        bytes => {
            Err(Wrong::at(at(name), format!("\"{bytes}B\": write a size from {least}B to 1024TiB")))
        }
    };
    let map_cpu = longer(per_byte(&mut c.map_cpu_per_mb, &at("map_cpu_per_mb"))?);
    let reduce_cpu = longer(per_byte(&mut c.reduce_cpu_per_mb, &at("reduce_cpu_per_mb"))?);
    let compute_disks = disks(&mut c.disks, &at("disks"))?;
    let mut given = c.data_disks.clone().unwrap_or_else(|| c.disks.clone());
    let data_disks = disks(&mut given, &at("data_disks"))?;
    c.data_disks = Some(given);
    let most_input = data.len() as u32;
    let slow_start = fill(&mut c.slow_start, if tez { [0.25, 0.75] } else { [0.05, 0.05] });
    if !(0.0 <= slow_start[0] && slow_start[0] <= slow_start[1] && slow_start[1] <= 1.0) {
        return Err(Wrong::at(
            at("slow_start"),
            format!(
                "found {slow_start:?}: write two numbers from 0 to 1, the second not below the first"
            ),
        ));
    }
    let sort_overhead = fill(&mut c.sort_overhead, 1.16);
    if !(1.0..=100.0).contains(&sort_overhead) {
        return Err(Wrong::at(
            at("sort_overhead"),
            format!("found {sort_overhead}: write a number from 1 to 100"),
        ));
    }
    let reduce_memory = match capacity {
        TaskCapacity::Memory { reduce, .. } => reduce,
        TaskCapacity::Slots { .. } => 1 << 30,
    };
    let usable = (reduce_memory as f64 * 0.8 * if tez { 0.9 } else { 0.7 }) as u64;
    let read_buffer = fill(&mut c.read_buffer, [Size(Bytes(128 << 10)), Size(Bytes(6 << 20))]);
    if read_buffer[0].0.0 < 4_096
        || read_buffer[0].0 > read_buffer[1].0
        || read_buffer[1].0.0 > 1 << 30
    {
        return Err(Wrong::at(
            at("read_buffer"),
            "write two sizes from \"4KiB\" to \"1GiB\", the second not below the first",
        ));
    }
    let buffer = ReceiveBuffer { initial: read_buffer[0].0, most: read_buffer[1].0, share: 128 };
    let fetch_failure = fetch_failure(c, tez, &key)?;
    let speculative = |slot: &mut Option<bool>, name: &str| match *slot {
        Some(_) if tez => Err(meaningless(at(name), "framework = \"tez\"")),
        _ if tez => Ok(false),
        _ => Ok(fill(slot, false)),
    };
    let speculative = (
        speculative(&mut c.map_speculative, "map_speculative")?,
        speculative(&mut c.reduce_speculative, "reduce_speculative")?,
    );
    let transports = transports(shared, map_cpu, reduce_cpu, buffer, &key, classes, context)?;
    let settings = Settings {
        framework,
        compute,
        log_hosts,
        master,
        client,
        capacity,
        node_heartbeat: positive(&mut c.node_heartbeat, Span::from_s(1), &at("node_heartbeat"))?,
        containers_per_heartbeat: count(
            &mut c.containers_per_heartbeat,
            1,
            1,
            "containers_per_heartbeat",
        )?,
        master_heartbeat: positive(
            &mut c.master_heartbeat,
            Span::from_s(1),
            &at("master_heartbeat"),
        )?,
        launch_rpcs: calls(&mut c.launch_rpcs, 4, "launch_rpcs")?,
        localized_files: pair(
            &mut c.localized_files,
            if tez { [5, 6] } else { [2, 4] },
            "localized_files",
        )?,
        container_start: busy(&mut c.container_start, Span::from_ms(500), Span::from_s(3)),
        jvm_start: busy(&mut c.jvm_start, Span::from_ms(500), Span::from_s(2)),
        master_init: busy(&mut c.master_init, Span::from_s(1), Span::from_s(1)),
        master_rpcs: calls(&mut c.master_rpcs, if tez { 16 } else { 28 }, "master_rpcs")?,
        compute_disks,
        data_disks,
        block_cached: portion(&mut c.block_cached, 0.0, "block_cached")?,
        output_cached: portion(&mut c.output_cached, 1.0, "output_cached")?,
        block: bytes(&mut c.block_size, 128 << 20, 1, "block_size")?,
        input_replication: count(
            &mut c.input_replication,
            3.min(most_input),
            1,
            "input_replication",
        )?,
        output_replication: count(&mut c.output_replication, 1, 1, "output_replication")?,
        // HDFS adds a CRC32C of 4 B to every 512 B.
        checksum: 4,
        final_sync: fill(&mut c.final_sync, true),
        map_cpu,
        reduce_cpu,
        sort_buffer: bytes(&mut c.sort_buffer, 100 << 20, 1 << 20, "sort_buffer")?,
        spill_share: portion(&mut c.spill_share, 0.8, "spill_share")?.max(0.01),
        sort_overhead,
        merge_factor: count(&mut c.merge_factor, if tez { 100 } else { 10 }, 2, "merge_factor")?,
        slow_start: (slow_start[0], slow_start[1]),
        ramp_up: portion(&mut c.ramp_up, 0.5, "ramp_up")?,
        parallel_copies: count(
            &mut c.parallel_copies,
            if tez { 20 } else { 5 },
            1,
            "parallel_copies",
        )?,
        maps_per_fetch: count(&mut c.maps_per_fetch, 20, 1, "maps_per_fetch")?,
        event_poll: positive(
            &mut c.event_poll,
            if tez { Span::from_ms(100) } else { Span::from_s(1) },
            &at("event_poll"),
        )?,
        request: bytes(&mut c.request_size, 300, 1, "request_size")?,
        segment_header: bytes(&mut c.segment_header, 30, 0, "segment_header")?,
        fetch_service: range(&mut c.fetch_service, Span::from_us(200), Span::from_ms(1)),
        fetch_failure,
        shuffle_memory: bytes(&mut c.shuffle_memory, usable, 1 << 20, "shuffle_memory")?,
        merge_share: portion(&mut c.merge_share, if tez { 0.9 } else { 0.66 }, "merge_share")?,
        single_share: portion(&mut c.single_share, 0.25, "single_share")?,
        merge_outputs: count(&mut c.merge_outputs, 1_000, 1, "merge_outputs")?,
        client_start: range(&mut c.client_start, Span::from_s(2), Span::from_s(3)),
        samples: count(&mut c.samples, 10, 0, "samples")?,
        sample: bytes(&mut c.sample_size, 1_000_000, 0, "sample_size")?,
        resources: bytes(&mut c.resources, 500_000, 0, "resources")?,
        submit_replication: count(
            &mut c.submit_replication,
            10.min(most_input),
            1,
            "submit_replication",
        )?,
        submit_rpcs: calls(&mut c.submit_rpcs, 75, "submit_rpcs")?,
        task_rpcs: pair(&mut c.task_rpcs, [7, 12], "task_rpcs")?,
        umbilical_rpcs: pair(
            &mut c.umbilical_rpcs,
            if tez { [5, 6] } else { [7, 10] },
            "umbilical_rpcs",
        )?,
        task_reads: calls(&mut c.task_reads, 2, "task_reads")?,
        block_rpcs: calls(&mut c.block_rpcs, 4, "block_rpcs")?,
        commit_rpcs: calls(&mut c.commit_rpcs, if tez { 9 } else { 7 }, "commit_rpcs")?,
        committer: match fill(&mut c.committer, Committer::V2) {
            Committer::V1 => hadoop::Committer::V1,
            Committer::V2 => hadoop::Committer::V2,
        },
        speculative,
        history_rpcs: calls(&mut c.history_rpcs, if tez { 0 } else { 49 }, "history_rpcs")?,
        unregister: unregister(
            &mut c.unregister,
            if tez { Span::ZERO } else { Span::from_s(1) },
            &at("unregister"),
        )?,
        rpc: bytes(&mut c.rpc_size, 500, 1, "rpc_size")?,
        rpc_service: range(&mut c.rpc_service, Span::from_us(100), Span::from_ms(1)),
        history: bytes(&mut c.history, if tez { 0 } else { 1_000_000 }, 0, "history")?,
        client_poll: positive(&mut c.client_poll, Span::from_s(2), &at("client_poll"))?,
        log: bytes(&mut c.log_size, 0, 0, "log_size")?,
        transports,
        draws: shared.draws,
        jobs: Vec::new(),
        data,
    };
    for (name, replication) in [
        ("input_replication", settings.input_replication),
        ("output_replication", settings.output_replication),
    ] {
        if replication > most_input {
            return Err(Wrong::at(
                at(name),
                format!("found {replication}: there are {most_input} data nodes"),
            ));
        }
    }
    Ok((settings, message_delay))
}

fn positive(slot: &mut Option<Duration>, default: Span, key: &Key) -> Result<Span, Wrong> {
    match fill(slot, Duration(default)).0 {
        span if span > Span::ZERO && span <= Span::from_s(86_400) => Ok(span),
        span => Err(Wrong::at(key.clone(), format!("\"{span}\": write a time above 0, up to 24h"))),
    }
}

fn fetch_failure(c: &mut Cluster, tez: bool, key: &Key) -> Result<FetchFailure, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let timeout = |slot: &mut Option<Or<Off, Duration>>, name: &str| match fill(slot, Or::NONE).0 {
        None => Ok(None),
        Some(Duration(span)) if span > Span::ZERO && span <= Span::from_s(86_400) => Ok(Some(span)),
        Some(Duration(span)) => Err(Wrong::at(
            at(name),
            format!("\"{span}\": write a time above 0, up to 24h, or \"off\""),
        )),
    };
    let connect_timeout = timeout(&mut c.fetch_connect_timeout, "fetch_connect_timeout")?;
    let read_timeout = timeout(&mut c.fetch_read_timeout, "fetch_read_timeout")?;
    let longest = at("fetch_retry_delay_max");
    let never = connect_timeout.is_none() && read_timeout.is_none();
    if c.fetch_retry_delay_max.is_some() && (tez || never) {
        let beside = if tez {
            "framework = \"tez\""
        } else {
            "fetch_connect_timeout = \"off\" and fetch_read_timeout = \"off\""
        };
        return Err(meaningless(longest, beside));
    }
    Ok(match tez {
        // Tez's ShuffleScheduler works as Hadoop's, but has shorter penalties and no limit on them.
        // A day, the longest time of these keys, stands for no limit.
        true => FetchFailure {
            connect_timeout,
            read_timeout,
            penalty: Span::from_s(2),
            most: Span::from_s(86_400),
            limit: 15,
        },
        false => {
            let most = if never {
                Span::from_s(60)
            } else {
                positive(&mut c.fetch_retry_delay_max, Span::from_s(60), &longest)?
            };
            FetchFailure {
                connect_timeout,
                read_timeout,
                penalty: Span::from_s(10),
                most,
                limit: 30,
            }
        }
    })
}

fn unregister(slot: &mut Option<Duration>, default: Span, key: &Key) -> Result<Span, Wrong> {
    match fill(slot, Duration(default)).0 {
        span if span <= Span::from_s(86_400) => Ok(span),
        span => Err(Wrong::at(key.clone(), format!("\"{span}\": write a time up to 24h"))),
    }
}

fn range(slot: &mut Option<Between>, least: Span, most: Span) -> Range {
    let Between(least, most) = fill(slot, Between(least, most));
    Range { least, most }
}

/// Returns a time per megabyte as picoseconds per byte.
fn per_byte(slot: &mut Option<Duration>, key: &Key) -> Result<u64, Wrong> {
    match fill(slot, Duration(Span::from_ms(10))).0 {
        span if (Span::from_us(10)..=Span::from_s(60)).contains(&span) => Ok(span.0 / 1_000_000),
        span => Err(Wrong::at(
            key.clone(),
            format!("\"{span}\": write \"10us\" to \"60s\" per megabyte"),
        )),
    }
}

fn capacity(c: &mut Cluster, key: &Key) -> Result<TaskCapacity, Wrong> {
    let at = |name: &str| key.clone().name(name);
    if c.map_slots.is_some() || c.reduce_slots.is_some() {
        let memories = [
            ("node_memory", &c.node_memory),
            ("map_memory", &c.map_memory),
            ("reduce_memory", &c.reduce_memory),
            ("master_memory", &c.master_memory),
        ];
        if let Some((name, _)) = memories.iter().find(|(_, memory)| memory.is_some()) {
            return Err(meaningless(at(name), "map_slots and reduce_slots"));
        }
        let slots = |slots: Option<u32>, name: &str| match slots {
            Some(slots) if (1..=10_000).contains(&slots) => Ok(slots),
            Some(slots) => {
                Err(Wrong::at(at(name), format!("found {slots}: write a number from 1 to 10000")))
            }
            None => Err(Wrong::at(
                key.clone(),
                format!("{name} is missing: write both map_slots and reduce_slots, or neither"),
            )),
        };
        return Ok(TaskCapacity::Slots {
            map: slots(c.map_slots, "map_slots")?,
            reduce: slots(c.reduce_slots, "reduce_slots")?,
        });
    }
    let node = fill(&mut c.node_memory, Size(Bytes(8 << 30))).0.0;
    let container =
        |slot: &mut Option<Size>, default: u64, name: &str| match fill(slot, Size(Bytes(default)))
            .0
            .0
        {
            0 => Err(Wrong::at(at(name), "\"0B\": write a size above 0")),
            bytes if bytes > node => Err(Wrong::at(
                at(name),
                format!("\"{}\" does not fit node_memory = \"{}\"", Bytes(bytes), Bytes(node)),
            )),
            bytes => Ok(bytes),
        };
    let map = container(&mut c.map_memory, 1 << 30, "map_memory")?;
    let reduce = container(&mut c.reduce_memory, 1 << 30, "reduce_memory")?;
    let master = container(&mut c.master_memory, 1_536 << 20, "master_memory")?;
    Ok(TaskCapacity::Memory { node, map, reduce, master })
}

fn disks(d: &mut Disks, key: &Key) -> Result<hadoop::Disks, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let count = fill(&mut d.count, 12);
    if !(1..=1_000).contains(&count) {
        return Err(Wrong::at(
            at("count"),
            format!("found {count}: write a number from 1 to 1000"),
        ));
    }
    let read = fill(&mut d.read, Speed(Rate::from_mbps(1_200)));
    let write = fill(&mut d.write, read);
    for (name, rate) in [("read", read), ("write", write)] {
        if rate.0.0 < 1_000_000 {
            return Err(Wrong::at(at(name), format!("\"{}\": write at least \"1Mbps\"", rate.0)));
        }
    }
    let seek = fill(&mut d.seek, Duration(Span::from_ms(8))).0;
    if seek > Span::from_s(1) {
        return Err(Wrong::at(at("seek"), format!("\"{seek}\": write at most \"1s\"")));
    }
    Ok(hadoop::Disks { count, read: read.0, write: write.0, seek })
}

/// Creates the variants of the block's transport, and the classes of its flows.
#[allow(clippy::too_many_arguments)]
fn transports(
    shared: &Shared,
    map_cpu: u64,
    reduce_cpu: u64,
    buffer: ReceiveBuffer,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<TransportChoice, Wrong> {
    let connect = shared.template.transport;
    let TransportConfig::Tcp(tcp) = context.transports.configs[connect as usize].clone() else {
        return Err(Wrong::at(
            key.clone(),
            "Hadoop needs TCP, and the transport of this block sends datagrams: write another transport",
        ));
    };
    let rate = |ps_per_byte: u64| Rate(8_000_000_000_000 / ps_per_byte.max(1));
    let answer = TcpConfig { handshake: false, ..tcp.clone() };
    let receive = if let Receive::Buffer(own) = tcp.receive {
        Receive::Buffer(own)
    } else {
        Receive::Buffer(buffer)
    };
    // An HDFS client reads packets of 64 KiB.
    let reader = Some(Reader::Worker { chunk: Bytes(65_536), rate: rate(map_cpu) });
    // A block comes over the connection of its request, so its transfer has no handshake.
    let read = TcpConfig { receive, reader, handshake: false, ..tcp.clone() };
    let pacing = tcp.pacing.unwrap_or(Pacing {
        most: None,
        slow_start_percent: 200,
        avoidance_percent: 120,
    });
    let write =
        TcpConfig { pacing: Some(Pacing { most: Some(rate(reduce_cpu)), ..pacing }), ..tcp };
    let mut add = |config| context.transports.add(TransportConfig::Tcp(config), Some(connect));
    let (answer, read, write) = (add(answer), add(read), add(write));
    context.uses.variants.insert((connect, shared.template.priority));
    let prefix = match shared.block.class.as_str() {
        "default" => String::new(),
        class => format!("{class}."),
    };
    let mut index = |purpose: &str| {
        classes
            .index(&format!("{prefix}{purpose}"))
            .ok_or_else(|| Wrong::at(key.clone(), "at most 65,536 different classes are possible"))
    };
    let classes = hadoop::Classes {
        read: index("read")?,
        fetch: index("fetch")?,
        write: index("write")?,
        rpc: index("rpc")?,
        log: index("log")?,
    };
    Ok(TransportChoice {
        connect,
        answer,
        read,
        write,
        priority: shared.template.priority,
        classes,
    })
}
