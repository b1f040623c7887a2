//! Switches as they are bought: names for sets of keys of `[switch]`.

use super::{Duration, QueueSize, Sharing, Size, Switch};
use afflux_net::Model;
use afflux_net::spec::Limit;
use afflux_units::{Bytes, Span};

macro_rules! presets {
    ($($(#[$note:meta])* $variant:ident = $name:literal { source: $source:literal, faithful: $faithful:literal, simplified: $simplified:literal, keys: $keys:expr })+) => {
        /// A switch as it is bought.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum Preset {
            $($(#[$note])* #[serde(rename = $name)] $variant,)+
        }

        impl Preset {
            pub const ALL: &[Preset] = &[$(Preset::$variant),+];

            /// The keys it gives; the others are as always.
            pub fn keys(self) -> Switch {
                match self {
                    $(Preset::$variant => $keys,)+
                }
            }

            /// Its row of `afflux models`.
            pub fn model(self) -> Model {
                match self {
                    $(Preset::$variant => Model { kind: "switch preset", name: $name, source: $source, faithful: $faithful, simplified: $simplified },)+
                }
            }
        }
    };
}

presets! {
    /// Broadcom Trident 3 (32 MB, shallow), set up for lossy traffic as SONiC does on the Arista 7050CX3: an egress pool of 24,192,256 B,
    /// alpha 8 (`dynamic_th` 3), 1792 B reserved per queue; 800 ns. The sizes are read from SONiC's device files, the latency is recalled.
    Trident3 = "trident3" {
        source: "SONiC, sonic-buildimage device/arista/x86_64-arista_7050cx3_32s, BALANCED profile (sizes, alpha: read there); latency of the 7050X3 (recalled)",
        faithful: "egress pool of lossy traffic, 24192256 B, alpha 8, 1792 B reserved per queue: one queue may take 21.5 MB, 6.9 ms at 25 Gbps",
        simplified: "lossy traffic only, no ingress pools; stores and forwards, where the box can cut through; no marking until ecn is written",
        keys: Switch {
            sharing: Some(Sharing::Dynamic),
            buffer: Some(QueueSize(Limit::Bytes(24_192_256))),
            alpha: Some(8.0),
            reserved: Some(Size(Bytes(1_792))),
            latency: Some(Duration(Span::from_ns(800))),
            ..Switch::default()
        }
    }
}
