//! `kind = "random"`: open-loop traffic.

use crate::document::{Hosts, Sizes};
use afflux_config::{Duration, table, words};

block! {
    /// Independent sources that start flows at random or regular times. `load` with `load_basis`,
    /// or `flows_per_second`, sets the rate. `duration` or `flows` sets the end.
    pub struct Random {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`. Default `"default"`.
        transport: String,
        /// Sizes of flows: a built-in distribution, the path of a distribution file, a size, or a table.
        pub sizes: Sizes,
        /// Gaps between the flows of a source. Default `"poisson"`.
        arrivals: Arrivals,
        /// Arrivals `"lognormal"`: standard deviation of the logarithm of gaps. Default 1; Parsimon has 1 and 2.
        sigma: f64,
        /// Offered load as a fraction of the capacity that `load_basis` names. Default: required, or `flows_per_second`.
        load: f64,
        /// Capacity that `load` is a fraction of. Default: required with `load`, because studies differ.
        load_basis: LoadBasis,
        /// Flows per second of one source, instead of `load`. Default: none: `load` is required
        /// instead.
        flows_per_second: f64,
        /// Time during which flows start. Default: required, or `flows`.
        duration: Duration,
        /// Total number of flows. Default: none: `duration` is required instead.
        flows: u64,
        /// Hosts that send. Default `"all"`.
        sources: Hosts,
        /// Hosts that receive. Default `"all"`.
        destinations: Hosts,
        /// Whether destinations are in other racks only. Default `false`: any host except the
        /// source.
        inter_rack: bool,
        /// Share of flows that stay in the rack; the others leave it. Default: none: racks do not matter.
        rack_local: f64,
        /// Hosts that receive more than others. Default: none: all destinations are equally likely.
        hotspot: Hotspot,
        /// File of weights from rack to rack: JSON rows, or Parsimon's
        /// `{"matrix": {"inner": [[…]]}}`. Default: none: racks do not matter.
        matrix: String,
        /// SHA-256 of `matrix`: another content is refused. Default: the digest of the file that is found.
        matrix_sha256: String,
    }
}

table! {
    /// Hosts that receive more flows than others.
    pub struct Hotspot {
        /// Hosts that receive more flows.
        pub hosts: Hosts,
        /// Share of flows that go to these hosts; the other flows go to any destination.
        pub share: f64,
    }
}

words! {
    /// Gaps between the flows of a source.
    pub enum Arrivals {
        /// Exponentially distributed gaps.
        Poisson,
        /// Log-normally distributed gaps, with heavier bursts (Parsimon).
        Lognormal,
        /// Equal gaps, with a random phase per source.
        Fixed,
    }
    /// Capacity that a load is a fraction of. C is the rate of a host's link, S the mean size of a
    /// flow, λ the flows per second of a host.
    pub enum LoadBasis {
        /// The host's link, payload only: λ = load·C/(8·S). The HPCC generator.
        HostPayload,
        /// The host's link with all headers: λ = load·C/(8·S·w), w the ratio of wire bytes to payload. The pFabric family.
        HostWire,
        /// The racks' uplinks as if all traffic left the rack: λ = load·C/(oversubscription·8·S). ConWeave's network load; ABM, Reverie.
        FabricOversub,
        /// The bisection bandwidth, as if all traffic crossed the bisection.
        Bisection,
        /// The most loaded link under even spreading over all shortest paths, payload only. Parsimon.
        MaxLink,
    }
}
