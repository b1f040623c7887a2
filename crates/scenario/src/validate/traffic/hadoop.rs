//! `kind = "hadoop"` and `"hadoop_trace"`: resolves the cluster and its jobs.

use super::common::{self, Shared, shared};
use super::context::{HadoopCluster, TrafficContext};
use super::patterns::all;
use super::{mtu, segments, select};
use crate::document::{self, Cluster, Disks, Framework, Hadoop, HadoopTrace, HostItem, Receiver};
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Between, Duration, Off, Or, Size, Speed};
use afflux_net::spec::{Pacing, Reader, Receive, ReceiveBuffer, TcpConfig, TransportConfig};
use afflux_traffic::hadoop::{
    self, Committer, FetchFailure, Range, Settings, TaskCapacity, TraceOptions, TransportChoice,
    Work,
};
use afflux_traffic::{Classes, Generated, Job, JobKind};
use afflux_units::{Bytes, Rate, Span};

pub fn job(
    block: &mut Hadoop,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let mut transport = block.transport.take();
    let mut shared = shared(block.common(), Some(&mut transport), index, key, classes, context)?;
    shared.template.transport = mtu::of_all(shared.template.transport, context)?;
    block.transport = transport;
    let framework = fill(&mut block.framework, Framework::Mapreduce);
    let (mut settings, message_delay) =
        cluster(&mut block.cluster, framework, &shared, &block.class, key, classes, context)?;
    let size = block.size.0.0;
    if size == 0 {
        return Err(Wrong::at(at("size"), "\"0B\": write a size above 0"));
    }
    let files = fill(&mut block.files, 1);
    if files == 0 || u64::from(files) > size {
        return Err(Wrong::at(
            at("files"),
            format!("found {files}: write a number from 1 to the size in bytes"),
        ));
    }
    let reducers = fill(&mut block.reducers, settings.compute.len() as u32);
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
        .flat_map(|file| hadoop::blocks(hadoop::share(size, files.into(), file), settings.block))
        .collect();
    settings.jobs =
        vec![Work { job: 0, submit: shared.start, maps, shuffle: size, output: size, reducers }];
    segments::transfers_fit(
        &settings,
        &context.transports.configs[usize::from(shared.template.transport)],
        key,
        None,
    )?;
    context.budget.reserve(settings.expected_flows() as f64, || at("size"))?;
    context.clusters.push(HadoopCluster { block: index, message_delay, settings });
    Ok(Generated {
        jobs: vec![Job::new(JobKind::Application, "", Some(shared.start))],
        ..Generated::default()
    })
}

pub fn trace(
    block: &mut HadoopTrace,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let mut transport = block.transport.take();
    let mut shared = shared(block.common(), Some(&mut transport), index, key, classes, context)?;
    shared.template.transport = mtu::of_all(shared.template.transport, context)?;
    block.transport = transport;
    let framework = fill(&mut block.framework, Framework::Mapreduce);
    let (mut settings, message_delay) =
        cluster(&mut block.cluster, framework, &shared, &block.class, key, classes, context)?;
    let path = context.inputs.identify(&mut block.file, &mut block.sha256, &at("file"))?;
    let factor = |slot: &mut Option<f64>, name: &str| match fill(slot, 1.0) {
        factor if factor > 0.0 && factor <= 1e6 => Ok(factor),
        factor => Err(Wrong::at(
            at(name),
            format!("found {factor}: write a number above 0, up to 1000000"),
        )),
    };
    let options = TraceOptions {
        size_scale: factor(&mut block.size_scale, "size_scale")?,
        time_scale: factor(&mut block.time_scale, "time_scale")?,
        skip: fill(&mut block.skip, 0),
        most: block.jobs,
        bytes_per_reducer: fill(&mut block.bytes_per_reducer, Size(Bytes(1_000_000_000)))
            .0
            .0
            .max(1),
        block: settings.block,
        start: shared.start,
    };
    let read = hadoop::read_trace(&path, &options).map_err(|error| common::wrong(error, key))?;
    let mut given = Generated::default();
    for (place, (name, work)) in read.into_iter().enumerate() {
        given.jobs.push(Job::new(JobKind::Application, name, Some(work.submit)));
        settings.jobs.push(Work { job: place as u32, ..work });
    }
    if settings.jobs.is_empty() {
        return Err(Wrong::at(at("jobs"), format!("no job of {} is left", path.display())));
    }
    segments::transfers_fit(
        &settings,
        &context.transports.configs[usize::from(shared.template.transport)],
        key,
        Some(&path),
    )?;
    context.budget.reserve(settings.expected_flows() as f64, || at("file"))?;
    context.clusters.push(HadoopCluster { block: index, message_delay, settings });
    Ok(given)
}

/// Largest number of maps of a job, and of all jobs of a trace.
const MOST_MAPS: u64 = hadoop::MOST_MAPS;

/// Largest number of calls of one purpose, and of files of a job.
const MOST_CALLS: u32 = 1_000_000;

/// Resolves the settings of a cluster, apart from its jobs.
fn cluster(
    c: &mut Cluster,
    framework: Framework,
    shared: &Shared,
    class: &Option<String>,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<(Settings, Span), Wrong> {
    let key = key.clone().name("cluster");
    let at = |name: &str| key.clone().name(name);
    let tez = framework == Framework::Tez;
    let compute = select::hosts(&fill(&mut c.compute, all()), &at("compute"), context.facts)?;
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
    let transports =
        transports(shared, class, map_cpu, reduce_cpu, buffer, &key, classes, context)?;
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
        committer: match fill(&mut c.committer, document::Committer::V2) {
            document::Committer::V1 => Committer::V1,
            document::Committer::V2 => Committer::V2,
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
    class: &Option<String>,
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
    let prefix = match class.as_deref() {
        None | Some("default") => String::new(),
        Some(class) => format!("{class}."),
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
