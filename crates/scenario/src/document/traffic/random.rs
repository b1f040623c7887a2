//! Open-loop traffic.

use crate::document::{Duration, Hosts, Sizes};
use afflux_config::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

block! {
    /// Independent sources that start flows by their own clocks. The rate is given by `load` with `load_basis`, or by `flows_per_second`; the end
    /// by `duration` or `flows`.
    pub struct Random {
        /// As in `kind = "flows"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub transport: Option<String>,
        /// Sizes of flows: a built-in distribution, the path of a distribution file, a size, or a table.
        pub sizes: Sizes,
        /// Gaps between the flows of a source. Default `"poisson"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub arrivals: Option<Arrivals>,
        /// Arrivals `"lognormal"`: standard deviation of the logarithm of gaps. Default 1; Parsimon has 1 and 2.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sigma: Option<f64>,
        /// Offered load as a share of what `load_basis` says.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub load: Option<f64>,
        /// What `load` is a share of; needed with it, because studies differ.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub load_basis: Option<LoadBasis>,
        /// Instead of `load`: flows per second of one source.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub flows_per_second: Option<f64>,
        /// Flows start for so long.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub duration: Option<Duration>,
        /// So many flows in all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub flows: Option<u64>,
        /// Hosts that send. Default `"all"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sources: Option<Hosts>,
        /// Hosts that receive. Default `"all"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub destinations: Option<Hosts>,
        /// Destinations are in other racks only. Default `false`: anywhere but the source itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub inter_rack: Option<bool>,
        /// Share of flows that stay in the rack; the others leave it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rack_local: Option<f64>,
        /// Hosts that receive more than others.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hotspot: Option<Hotspot>,
        /// File of weights from rack to rack: JSON rows, or Parsimon's `{"matrix": {"inner": [[…]]}}`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub matrix: Option<String>,
        /// SHA-256 of `matrix`: another content is refused. Written into resolved scenarios.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub matrix_sha256: Option<String>,
    }
}

/// Hosts that receive more than others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hotspot {
    /// The hosts.
    pub hosts: Hosts,
    /// Share of flows that go to them; the others go anywhere.
    pub share: f64,
}

words! {
    /// Gaps between the flows of a source.
    pub enum Arrivals {
        /// Exponential.
        Poisson,
        /// Log-normal: heavier bursts (Parsimon).
        Lognormal,
        /// Equal, with a random phase per source.
        Fixed,
    }
    /// What a load is a share of. C is the rate of a host's link, S the mean size of a flow, λ the flows per second of a host.
    pub enum LoadBasis {
        /// The host's link, payload only: λ = load·C/(8·S). The HPCC generator.
        HostPayload,
        /// The host's link with all headers: λ = load·C/(8·S·w), w the ratio of wire bytes to payload. The pFabric family.
        HostWire,
        /// The racks' uplinks as if all traffic left the rack: λ = load·C/(oversubscription·8·S). ConWeave's network load; ABM, Reverie.
        FabricOversub,
        /// The bisection as if all traffic crossed it.
        Bisection,
        /// The most loaded link under even spreading over all shortest paths, payload only. Parsimon.
        MaxLink,
    }
}
