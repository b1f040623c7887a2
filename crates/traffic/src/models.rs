//! Models of this crate in `afflux models`.

use afflux_net::Model;

const fn model(
    kind: &'static str,
    name: &'static str,
    source: &'static str,
    faithful: &'static str,
    simplified: &'static str,
) -> Model {
    Model { kind, name, source, faithful, simplified }
}

const SIZES: &str = "flow sizes";
const ARRIVALS: &str = "arrivals";
const DEADLINES: &str = "deadlines";
const LOAD: &str = "load basis";
const PATTERN: &str = "traffic pattern";
const APPLICATION: &str = "application";
const IMPORT: &str = "traffic import";

/// Text about distributions that are given by published points.
const POINTS: &str =
    "the published points, straight lines between them as in the authors' generators";
const BYTES: &str = "sizes are rounded to whole bytes, at least one";
const PACKETS: &str = "none: sizes are rounded up to whole packets of 1460 B as the scripts do";

const MODELS: &[Model] = &[
    model(SIZES, "alistorage", "Alibaba storage 2019; HPCC and ConWeave generators", POINTS, BYTES),
    model(SIZES, "solar", "Alibaba Solar RPC 2022; ConWeave generator", POINTS, BYTES),
    model(SIZES, "websearch", "DCTCP, SIGCOMM'10; HPCC generator", POINTS, BYTES),
    model(SIZES, "datamining", "VL2, SIGCOMM'09; ConWeave workloads (7 points)", POINTS, BYTES),
    model(
        SIZES,
        "fbhdp-20",
        "Facebook Hadoop, SIGCOMM'15; HPCC generator (20 points)",
        POINTS,
        BYTES,
    ),
    model(
        SIZES,
        "pfabric-websearch",
        "DCTCP's web search as in pFabric, SIGCOMM'13; ns-2 scripts",
        POINTS,
        PACKETS,
    ),
    model(
        SIZES,
        "pfabric-datamining",
        "VL2's data mining as in pFabric, SIGCOMM'13; ns-2 scripts",
        POINTS,
        PACKETS,
    ),
    model(SIZES, "imc10", "Benson et al., IMC'10, as in pHost, CoNEXT'15; yaps", POINTS, PACKETS),
    model(
        SIZES,
        "file",
        "files of the HPCC, ConWeave, ns-2 and Parsimon generators",
        "jumps, gaps, a first share above 0",
        BYTES,
    ),
    model(SIZES, "fixed", "-", "every flow has the size", "none"),
    model(SIZES, "uniform", "-", "whole bytes, both ends included", "none"),
    model(SIZES, "exponential", "-", "inverse of the distribution function", BYTES),
    model(
        ARRIVALS,
        "poisson",
        "HPCC and ConWeave generators: -ln(1-u)/rate",
        "independent clocks per host (the same process as one per pair)",
        "starts are rounded to nanoseconds",
    ),
    model(
        ARRIVALS,
        "lognormal",
        "Parsimon, NSDI'23: sigma 1 or 2",
        "mean kept for every sigma",
        "one clock per host instead of one for all; the first gap is a whole gap",
    ),
    model(
        ARRIVALS,
        "fixed",
        "-",
        "equal gaps, in step or with a random phase per host",
        "starts are rounded to nanoseconds",
    ),
    model(
        DEADLINES,
        "exponential",
        "D3, SIGCOMM'11, and PDQ, SIGCOMM'12 (mean 20 ms, at least 3 ms); from memory, the papers were not at hand",
        "exponential, what is drawn below the floor counts as the floor; each source draws by itself",
        "deadlines do not depend on sizes: a large flow may have one that cannot be met",
    ),
    model(
        LOAD,
        "host_payload",
        "HPCC generator",
        "rate = load*C/(8*E[S]), payload only, traffic within racks included",
        "none",
    ),
    model(
        LOAD,
        "host_wire",
        "pFabric family's ns-2 scripts",
        "headers of every frame count (1500/1460 for whole packets)",
        "acknowledgements do not count; the mean is that of the distribution, where the scripts round it (1138 packets for web search)",
    ),
    model(
        LOAD,
        "fabric_oversub",
        "ConWeave run.py; ABM and Reverie",
        "rate = load*C/(oversubscription*8*E[S])",
        "as if all traffic left its rack, as theirs",
    ),
    model(
        LOAD,
        "bisection",
        "CONGA, SIGCOMM'14",
        "rate = 2*load*B/(hosts*8*E[S])",
        "as if all traffic crossed the bisection",
    ),
    model(
        LOAD,
        "max_link",
        "Parsimon, NSDI'23",
        "the most loaded channel carries the load, payload only",
        "the share of a channel is expected, not that of a sample of flows",
    ),
    model(
        PATTERN,
        "random",
        "HPCC and ConWeave generators, pFabric's scripts",
        "every host an independent source; destinations uniform, by rack, hot or by a matrix",
        "open loop: a flow starts whatever became of those before",
    ),
    model(
        PATTERN,
        "spatial",
        "Parsimon's rack-to-rack matrices",
        "racks by weight, hosts uniform within",
        "all hosts of a rack send alike",
    ),
    model(
        PATTERN,
        "incast",
        "DCTCP, SIGCOMM'10 (aggregator and workers)",
        "open or closed loop, size per worker or in total, jitter",
        "requests are a fixed delay, not frames",
    ),
    model(
        PATTERN,
        "partition_aggregate",
        "DCTCP, SIGCOMM'10, section 2.2; Fujii, Tazaki and Sekiya, IEICE 2014, section 3.3: answers of 2 to 20 kB, messages of 50 kB to 1 MB, background of 1 to 50 MB",
        "every query is answered by workers drawn for it, with jitter and a deadline; messages and background by Poisson processes of their own",
        "requests take no time; one level of aggregation; sizes are uniform within their ranges, of which alone the sources tell",
    ),
    model(
        PATTERN,
        "permutation",
        "htsim, MPTCP (SIGCOMM'11)",
        "all permutations without fixed points are equally likely",
        "none",
    ),
    model(PATTERN, "stride", "Hedera, NSDI'10", "host i to i + stride", "none"),
    model(
        PATTERN,
        "all_to_all",
        "shuffles; pairwise exchange",
        "all at once, in timed steps, or so many at a time per receiver",
        "requests are a fixed delay, not frames",
    ),
    model(
        PATTERN,
        "constant_rate",
        "-",
        "one datagram flow per pair, bytes = rate * duration",
        "none",
    ),
    model(
        PATTERN,
        "background",
        "iperf3 with --fq-rate (SO_MAX_PACING_RATE), or UDP at a constant rate",
        "long TCP connections whose source is paced to its share of the rate; they are cut off when the run ends",
        "a source that the network has held back does not catch up, and does not stop at its own buffer",
    ),
    model(
        APPLICATION,
        "hadoop: mapreduce",
        "Hadoop 3.3.6: client, resource and node manager heartbeats, MapReduce's master, ShuffleSchedulerImpl, HDFS",
        "submission, room given away at heartbeats (one container per heartbeat that is not node-local), starts by the master's threads, files that each node fetches once, round trips of each phase counted in Hadoop's source, slow start and ramp-up of reducers, maps that read no faster than they work, spills and merges on shared disks, fetches by threads from random hosts of at most so many outputs, memory that fills and is merged, blocks along pipelines of data nodes, sync, FileOutputCommitter of version 1 (the commit of the job moves the output of each task with four calls, one after the other) or 2, time-outs of fetches and the penalty of a host (10 s times 1.3 to the power of the failures, at most 60 s), second attempts of slow tasks (DefaultSpeculator), calls as flows and connections with their handshakes, history and leave of the master, client polls, upload of logs",
        "no failures of tasks or nodes; maps are not run again after failed fetches, and no reducer gives up: after 30 failures (or a tenth of the number of maps) of an output its fetch has no time-out; a time-out counts the whole answer instead of a single read, fails all of its outputs, and the rest of the answer still crosses the network; speculation knows progress only by steps (a map that reads its block counts as two thirds done, a reducer has a third for outputs that have arrived, a third for merging), without status reports between them, a killed attempt leaves transfers and disk requests under way, and a container that is being started is killed after its start; both committers count one file per task, and no commit of tasks that are maps; a core per task, or the same share of one (`cpu_share`), whatever else a node does; a disk slower than the network delays the end of a transfer, not its packets; the data nodes of a pipeline pass a block on without delay, and its window of 80 packets (5.2 MB) is left out: behind a queue of 40 ms it would allow 129 MB/s; a reducer whose memory is full asks for no more instead of closing its window; all reducers get equal parts; node managers' heartbeats are no flows; maps wait for no missed scheduling opportunities (locality delay); programs know of a flow's end, and start one, after `message_delay`",
    ),
    model(
        APPLICATION,
        "hadoop: tez",
        "Apache Tez's master and shuffle, as MapReduce runs on it (yarn-tez)",
        "containers run one task after the other and are given back after an idle time, events every 100 ms, slow start between two shares, 20 copies, merges of 100 files",
        "as MapReduce, but penalties are 2 s times 1.3 to the power of the failures, and there is no speculation (off by default in Tez); the pipelined sorter's second thread and grouping of splits are left out",
    ),
    model(
        APPLICATION,
        "hadoop trace",
        "Facebook 2009 and 2010, SWIM project (UC Berkeley)",
        "submission times, bytes of map input, shuffle and output of each job",
        "numbers of tasks are not in the trace: a map per block, a reducer per so many bytes; all jobs share one cluster, first come, first served",
    ),
    model(
        IMPORT,
        "flow list",
        "CSV or Parquet: start_ns, src, dst, bytes",
        "every row is checked",
        "none",
    ),
    model(
        IMPORT,
        "coflow",
        "coflow-benchmark, Facebook 2010",
        "each reducer fetches equal parts from all mappers, at the coflow's arrival",
        "a location is a host or a drawn host of a rack; flows within a host are left out; 1 MB is 1,000,000 B",
    ),
    model(
        IMPORT,
        "htsim",
        "connection matrices of Broadcom/csg-htsim",
        "sources, destinations, sizes, starts, identifiers",
        "triggers, failures and endless connections are refused, priorities ignored; starts rounded to nanoseconds",
    ),
    model(
        IMPORT,
        "hpcc",
        "flow files of HPCC's and ConWeave's ns-3",
        "sources, destinations, sizes, starts",
        "priority groups and ports are not used",
    ),
];

/// Returns one row for each distribution, arrival process, load basis, pattern and importer.
pub fn models() -> Vec<Model> {
    MODELS.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadBasis, SizeDistribution};

    #[test]
    fn nothing_is_left_out_or_named_twice() {
        let has = |kind: &str, name: &str| {
            models().iter().filter(|model| model.kind == kind && model.name == name).count() == 1
        };
        assert!(SizeDistribution::names().into_iter().all(|name| has(SIZES, name)));
        assert!(LoadBasis::ALL.into_iter().all(|basis| has(LOAD, basis.name())));
        assert!(models().iter().all(|model| has(model.kind, model.name)));
    }
}
