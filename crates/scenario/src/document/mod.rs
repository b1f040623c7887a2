//! The scenario file as Rust types. Every optional key is an `Option`; validation
//! (`crate::validate`) writes its default into it.

mod cost;
mod host;
mod kernel;
mod python;
mod sonic;
mod switch;

pub use cost::{Cost, Prices};
pub use host::{Host, HostOverride, Wire, WireTable};
pub use kernel::Kernel;
pub use python::{Parameter, Python, PythonClass};
pub use sonic::Sonic;
pub use switch::Switch;

use crate::topology::fabric::Topology;
use crate::workload::Traffic;
use afflux_config::table;
use afflux_net::spec::{RecordKeys, RunKeys};

table! {
    /// A scenario of afflux: a fabric, its switches and hosts, its traffic, and the records to write.
    pub struct Document {
        /// Version of this file format: 1.
        #[schemars(range(min = 1, max = 1))]
        pub format: u32,
        /// Name in results and of the default output directory. Default: the file's name without `.toml`.
        name: String,
        /// Description of the scenario, for readers and reports. Default: none: results have no
        /// description.
        description: String,
        /// The fabric.
        pub topology: Topology,
        /// Settings of all switches. Default: every key has its own default.
        #[serde(default)]
        pub switch: Switch,
        /// Settings of all hosts: NIC, frame sizes and transport. Default: every key has its own default.
        #[serde(default)]
        pub host: Host,
        /// Blocks of traffic, all active together. Default: required: at least one block, unless some hosts are kernels.
        #[serde(default)]
        pub traffic: Vec<Traffic>,
        /// Settings of the run. Default: every key has its own default.
        #[serde(default)]
        pub run: RunKeys,
        /// Records to write. Default: every key has its own default.
        #[serde(default)]
        pub record: RecordKeys,
        /// Prices of switches and ports. `summary.json` contains the cost of the fabric. Default:
        /// none: the fabric has no cost.
        cost: Cost,
        /// Tables of the SONiC configuration that the switches were imported from. Default: none: the switches were not imported.
        sonic: Sonic,
    }
}
