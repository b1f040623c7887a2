//! Models of this crate in `afflux models`: fabrics, switch presets and frame sizes.

use crate::document::Preset;
use crate::wire::PROFILES;
use afflux_net::Model;

const FABRICS: &[Model] = &[
    fabric("star", "-", "one switch", "none"),
    fabric("dumbbell", "-", "pairs of hosts over one bottleneck", "none"),
    fabric(
        "leaf_spine",
        "ConWeave, SIGCOMM'23 (8 leaves, 8 spines, 16 hosts each); pFabric, SIGCOMM'13 (9 racks, 4 spines)",
        "any numbers, rates, delays and parallel uplinks; ports by hosts, then spines",
        "all links of a tier are alike but for overrides",
    ),
    fabric(
        "fat_tree",
        "Al-Fares et al., SIGCOMM'08; ConWeave's generator for oversubscription",
        "aggregation switch j of each pod is linked to cores j*k/2 to j*k/2+k/2-1",
        "oversubscription by more hosts per edge switch only",
    ),
    fabric(
        "dual_homed_fat_tree",
        "Raiciu et al., SIGCOMM'11; sizes as htsim builds it",
        "pairs of edge switches that serve the same hosts, each with half of the pod's aggregation switches",
        "a host's two NICs are chosen by hash, or by MPTCP's full mesh",
    ),
    fabric(
        "vl2",
        "Greenberg et al., SIGCOMM'09",
        "numbers of switches by their ports; two uplinks per rack, aggregation and intermediate switches in full mesh",
        "load is spread by equal-cost paths: racks that share an aggregation switch do not go up to an intermediate one",
    ),
    fabric(
        "bcube",
        "Guo et al., SIGCOMM'09",
        "hosts of several NICs that forward for each other over levels of switches; digits are corrected in any order",
        "a forwarding host takes its delay twice, holds frames in its NIC's queues and has no limit of its own; ways over a digit that is right already are taken only where a failure leaves no other; no source routing, no probing of paths",
    ),
    fabric(
        "hpcc",
        "topology files of HPCC and ConWeave",
        "hosts, switches, rates, delays and error rates of links",
        "error rates lose frames in both directions",
    ),
    fabric(
        "custom",
        "-",
        "link by link; parallel links, hosts with several links",
        "hosts do not forward",
    ),
];

const fn fabric(
    name: &'static str,
    source: &'static str,
    faithful: &'static str,
    simplified: &'static str,
) -> Model {
    Model { kind: "topology", name, source, faithful, simplified }
}

/// Returns every model of this crate.
pub fn models() -> Vec<Model> {
    let wires = PROFILES.iter().map(|profile| Model {
        kind: "wire",
        name: profile.name,
        source: profile.source,
        faithful: profile.about,
        simplified: "no handshake frames",
    });
    FABRICS
        .iter()
        .copied()
        .chain(Preset::ALL.iter().map(|preset| preset.model()))
        .chain(wires)
        .collect()
}
