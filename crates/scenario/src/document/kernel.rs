//! `[[host.kernel]]`: hosts that are real Linux kernels in simulated time.

use super::Parameter;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Names, Off, Or, Size, keys};
use afflux_units::Span;
use std::collections::BTreeMap;

const PS_PER_MS: u64 = 1_000_000_000;

keys! {
    /// Hosts that are unmodified Linux kernels with real programs. Their clock is the simulated
    /// time, so every run is the same. Images are built once by `afflux kernel build`. Needs
    /// `run.until`. Settings of `[host]` that describe a modelled stack (`timing`, `qdisc`, `pacer`,
    /// `processor`, `transport`) do not apply to these hosts. CPU work takes no simulated time.
    pub struct Kernel as "Kernel" => KernelSettings(senders: Option<Span>) {
        /// Names of the hosts: `"host0"`, `["host1", "host2?"]`. No host may be in two blocks.
        matching "match": Names = required;
        /// Version of the kernel, as in `"6.12"`.
        image: String = "6.12", check version;
        /// Traffic class of the flows that these hosts send, for summaries, comparisons and reports.
        class: String = "kernel";
        @{
            /// Files and directories of this machine that are copied into the guest, with the shared
            /// libraries that programs need. A relative path starts at the scenario's directory, and
            /// the copy is in `/root`, where commands start. An absolute path is the same in the
            /// guest. Default: none: busybox, and the programs `bulk` and `tcpinfo`.
            files: Vec<String>;
            /// SHA-256 of each of `files` that is not a directory, by absolute path: other content
            /// is refused. Default: the digests of the files that are found.
            sha256: BTreeMap<String, String>;
        };
        /// Shell commands that start with the guest, each on its own. Default: none: no command
        /// starts.
        run: Names = none;
        /// Shell commands by the simulated time at which they start, as in
        /// `{ "1s" = "ping -c 3 host1" }`. Default: none: no command starts.
        at: BTreeMap<String, String> as Option<Vec<(Span, String)>> = none, check starts;
        /// Kernel parameters, set before any command, as in
        /// `{ "net.ipv4.tcp_congestion_control" = "dctcp" }`. Default: the kernel's own values.
        sysctl: BTreeMap<String, Parameter> as Option<Vec<(String, String)>> = none, check sysctls;
        /// Interval at which the state of all TCP connections of these hosts is recorded as the kernel
        /// tells it (`tcp_info`), in whole milliseconds, or `"off"`: windows, round trips and pacing
        /// rates go to `senders.parquet`, everything to `HOST.tcp_info.csv`. A sample of a connection
        /// takes 120 bytes of the guest's memory.
        tcp_info: Or<Off, Duration> as Option<u64> = (senders.map_or(Or::NONE, |interval| Or::some(rounded_up(interval))))
            "that of `record.senders`, rounded up to whole milliseconds", check whole_milliseconds;
        /// Memory of each guest, `"24MB"` to `"4GB"`, in whole MiB. Files take part of it.
        memory: Size as u64 = "64MB", check |memory, key| match memory {
            Size(bytes) if (24_000_000..=4_000_000_000).contains(&bytes.0) => Ok(bytes.0.div_ceil(1 << 20)),
            Size(bytes) => Err(Wrong::at(key, format!("\"{bytes}\": write a size from \"24MB\" to \"4GB\""))),
        };
        /// Real time after which a guest that does not become idle is stopped, because it spins or
        /// sends without end: `"1s"` to `"1h"`.
        watchdog: Duration = "60s", check |Duration(time), key| if (Span::from_s(1)..=Span::from_s(3_600)).contains(&time) {
            Ok(time)
        } else {
            Err(Wrong::at(key, format!("\"{time}\": write a time from \"1s\" to \"1h\"")))
        };
    }
}

fn version(image: String, key: Key) -> Result<String, Wrong> {
    if image.is_empty() || !image.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        let text =
            format!("\"{image}\" is no version: write one as in \"6.12\" (afflux kernel list)");
        return Err(Wrong::at(key, text));
    }
    Ok(image)
}

fn starts(commands: BTreeMap<String, String>, key: Key) -> Result<Vec<(Span, String)>, Wrong> {
    let start = |(time, command): (String, String)| match time.parse() {
        Ok(start) => Ok((start, command)),
        Err(error) => {
            let text = format!("\"{time}\": {error}; write a time as in \"1.5s\"");
            Err(Wrong::at(key.clone().name(&time), text.replace('`', "\"")))
        }
    };
    commands.into_iter().map(start).collect()
}

fn sysctls(values: BTreeMap<String, Parameter>, key: Key) -> Result<Vec<(String, String)>, Wrong> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    let sysctl = |(name, value): (String, Parameter)| {
        if name.is_empty() || !name.bytes().all(allowed) {
            let text = "is no name of a kernel parameter: write it as in \"net.ipv4.tcp_ecn\"";
            return Err(Wrong::at(key.clone().name(&name), text));
        }
        let value = match value {
            Parameter::Flag(on) => u8::from(on).to_string(),
            Parameter::Whole(number) => number.to_string(),
            Parameter::Number(number) => number.to_string(),
            Parameter::Text(text) => text,
        };
        Ok((name, value))
    };
    values.into_iter().map(sysctl).collect()
}

fn rounded_up(span: Span) -> Duration {
    Duration(Span(span.0.div_ceil(PS_PER_MS) * PS_PER_MS))
}

/// Returns the interval in milliseconds.
fn whole_milliseconds(interval: Or<Off, Duration>, key: Key) -> Result<Option<u64>, Wrong> {
    match interval.0 {
        Some(Duration(span)) if span == Span::ZERO || !span.0.is_multiple_of(PS_PER_MS) => {
            let text = format!("\"{span}\": write whole milliseconds, as in \"10ms\", or \"off\"");
            Err(Wrong::at(key, text))
        }
        interval => Ok(interval.map(|Duration(span)| span.0 / PS_PER_MS)),
    }
}
