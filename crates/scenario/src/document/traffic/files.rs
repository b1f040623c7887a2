//! `kind = "flows"`: lists of flows from files.

use afflux_config::{Duration, Size, words};

block! {
    /// A list of flows from a file.
    pub struct Flows {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`. Default `"default"`.
        transport: String,
        /// The file (`.gz` and `.xz` are read too); a relative path is relative to the scenario file.
        pub file: String,
        /// SHA-256 of the file, hexadecimal: another content is refused. Default: the digest of the file that is found.
        sha256: String,
        /// Format of the file. Default: by its extension.
        format: FileFormat,
        /// Treatment of flows from a host to itself. Default `"refuse"`; formats `"coflow"`:
        /// `"drop"`.
        local: Local,
        /// Format `"hpcc"`: time in the file that becomes time 0. Default `"2s"`, at which both generators begin.
        origin: Duration,
        /// Format `"coflow"`: meaning of a location of the trace. Default `"host"` if there are enough hosts, else `"modulo"`.
        placement: Placement,
        /// Format `"coflow"`: factor on all sizes. Default 1.
        size_scale: f64,
        /// Format `"coflow"`: factor on all arrival times. Default 1.
        time_scale: f64,
        /// Format `"coflow"`: size of a megabyte of the trace. Default `"1MB"`; CoflowSim uses `"1MiB"`.
        megabyte: Size,
        /// Format `"coflow"`: number of coflows to take from the top of the file. Default: all.
        coflows: u64,
    }
}

words! {
    /// Formats of flow lists.
    pub enum FileFormat {
        /// A header with `start_ns,src,dst,bytes` and optionally `id,class,deadline_ns` (`.csv`).
        Csv,
        /// The same columns as Parquet (`.parquet`).
        Parquet,
        /// Flow files of HPCC and ConWeave: the number of flows, then `src dst pg size start_s` or `src dst pg dport size start_s`.
        Hpcc,
        /// Connection matrices of htsim (`.cm`).
        Htsim,
        /// Coflow traces of coflow-benchmark, such as `FB2010-1Hr-150-0.txt`.
        Coflow,
    }
    /// Flows from a host to itself:
    pub enum Local {
        /// are an error.
        Refuse,
        /// finish at their start and do not use the network.
        Instant,
        /// are left out; a note says how many.
        Drop,
    }
    /// Meaning of a location of a coflow trace.
    pub enum Placement {
        /// The host of that number.
        Host,
        /// That number modulo the number of hosts.
        Modulo,
        /// That rack (modulo the number of racks). Each task runs on a host of the rack, which is
        /// drawn once.
        Rack,
    }
}
