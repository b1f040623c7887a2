//! What this crate contributes to `afflux models`: fabrics, switches as bought and frame sizes.

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
        "hpcc",
        "topology files of HPCC and ConWeave",
        "hosts, switches, rates, delays and error rates of links",
        "error rates lose frames in both directions",
    ),
    fabric("custom", "-", "link by link; parallel links, hosts with several links", "hosts do not forward"),
];

const fn fabric(name: &'static str, source: &'static str, faithful: &'static str, simplified: &'static str) -> Model {
    Model { kind: "topology", name, source, faithful, simplified }
}

/// Every model of this crate.
pub fn models() -> Vec<Model> {
    let wires = PROFILES.iter().map(|profile| Model {
        kind: "wire",
        name: profile.name,
        source: profile.source,
        faithful: profile.about,
        simplified: "no handshake frames",
    });
    FABRICS.iter().copied().chain(Preset::ALL.iter().map(|preset| preset.model())).chain(wires).collect()
}
