//! `kind = "hadoop"`, `"hadoop_trace"` and `"background"`: Hadoop jobs, and other traffic during
//! the jobs.

use crate::document::{Hosts, Receiver};
use afflux_config::{Between, Duration, Off, Or, Size, Speed, table, words};

block! {
    /// One Hadoop sort (TeraSort), which reads, shuffles and writes the same volume.
    pub struct Hadoop {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`, which must be TCP. Default `"default"`.
        transport: String,
        /// Framework that runs the tasks. Default `"mapreduce"`.
        framework: Framework,
        /// Size of the input.
        pub size: Size,
        /// Number of input files, all of equal size. Each is rounded up to whole blocks, with one
        /// map per block. Default 1.
        files: u32,
        /// Number of reducers (`mapreduce.job.reduces`, which has no useful default). Default: one per compute node.
        reducers: u32,
        /// The machines and the configuration of Hadoop. Default: every key has its own default.
        #[serde(default)]
        pub cluster: Cluster,
    }
}

block! {
    /// Hadoop jobs from a file of the Facebook traces of the SWIM project. Each line has job,
    /// submission in seconds, seconds since the previous submission, bytes of map input, shuffle
    /// and output, separated by tabs. All jobs share one cluster. Jobs without shuffle have no
    /// reducers.
    pub struct HadoopTrace {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`, which must be TCP. Default `"default"`.
        transport: String,
        /// Framework that runs the tasks. Default `"mapreduce"`.
        framework: Framework,
        /// The file (`.gz` and `.xz` are read too); a relative path is relative to the scenario file.
        pub file: String,
        /// SHA-256 of the file, hexadecimal: another content is refused. Default: the digest of the file that is found.
        sha256: String,
        /// Factor on all sizes: the traced clusters had 600 and 3000 machines. Default 1.
        size_scale: f64,
        /// Factor on all submission times. Default 1.
        time_scale: f64,
        /// Number of jobs at the top of the file that are left out. Default 0.
        skip: u64,
        /// Number of jobs to take. The first one starts with the block. Default: all.
        jobs: u64,
        /// Shuffled bytes per reducer of a job. Default `"1GB"`.
        bytes_per_reducer: Size,
        /// The machines and the configuration of Hadoop. Default: every key has its own default.
        #[serde(default)]
        pub cluster: Cluster,
    }
}

block! {
    /// Traffic of limited rate between hosts until the end of the run, which needs `[run] until`.
    pub struct Background {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`. Default
        /// `"default"`. With `protocol = "tcp"` each pair has one long connection whose source
        /// hands over data at the rate (as `iperf3 --fq-rate` does: Linux's `SO_MAX_PACING_RATE`);
        /// with `"datagram"` it sends datagrams.
        transport: String,
        /// How the traffic is sent. Default `"tcp"`.
        protocol: Protocol,
        /// Payload rate: of all sources together, or of each source with `per = "node"`.
        pub rate: Speed,
        /// Whether `rate` is per host or for all hosts together. Default `"total"`.
        per: Per,
        /// Hosts that take part. Default `"all"`.
        hosts: Hosts,
        /// Choice of destinations. Default `"ring"`.
        pairing: Pairing,
        /// Connections per source, which share its rate. Default 1.
        connections: u32,
        /// Longest delay of a connection or datagram source: each starts at a uniformly drawn time
        /// up to this after `start`. Default `"0s"`.
        jitter: Duration,
    }
}

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
    /// Protocol of background traffic:
    pub enum Protocol {
        /// Long connections.
        Tcp,
        /// Datagrams at a constant rate.
        Datagram,
    }
    /// Senders to which a rate applies.
    pub enum Per {
        /// Each sending host.
        Node,
        /// All sending hosts together.
        Total,
    }
    /// Choice of destinations.
    pub enum Pairing {
        /// Each host sends to the next one, the last to the first.
        Ring,
        /// The hosts send by a drawn permutation without fixed points.
        Permutation,
        /// Each host sends to another one, drawn independently.
        Random,
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
