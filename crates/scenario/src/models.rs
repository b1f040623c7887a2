//! Models of this crate in `afflux models`: fabrics, switch presets and frame sizes.

use crate::topology::fabric;
use crate::wire::PROFILES;
use crate::workload;
use afflux_net::Model;
use afflux_net::spec::Preset;

/// Returns every model of this crate.
pub fn models() -> Vec<Model> {
    let wires = PROFILES.iter().map(|profile| Model {
        kind: "wire",
        name: profile.name,
        source: profile.source,
        faithful: profile.about,
        simplified: "sizes only: fields of headers are not simulated",
    });
    fabric::MODELS
        .iter()
        .copied()
        .chain(Preset::ALL.iter().map(|preset| preset.model()))
        .chain(wires)
        .chain(workload::models())
        .collect()
}
