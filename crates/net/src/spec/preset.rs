//! Switch presets: names of purchasable switches, each for a set of `[switch]` keys. The values are
//! in the `scenario` crate.

use crate::Model;
use afflux_config::{schemars, serde};

macro_rules! presets {
    ($($(#[$note:meta])* $variant:ident = $name:literal { source: $source:literal, faithful: $faithful:literal, simplified: $simplified:literal })+) => {
        /// Name of a switch as it is bought.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(crate = "afflux_config::serde")]
        #[schemars(crate = "afflux_config::schemars")]
        pub enum Preset {
            $($(#[$note])* #[serde(rename = $name)] $variant,)+
        }

        impl Preset {
            pub const ALL: &[Preset] = &[$(Preset::$variant),+];

            /// Returns the row of this preset in `afflux models`.
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
        simplified: "lossy traffic only, no ingress pools; stores and forwards, where the box can cut through; no marking until ecn is written"
    }
    /// Trident 3 with both kinds of traffic as SONiC sets it up: ingress pool of 32,689,152 B of
    /// which 2,058,240 B are headroom for all, PFC on priorities 3 and 4 with 160,000 B each,
    /// alpha 1. Lossy traffic has the limits of `"trident3"`, but uses the same memory.
    Trident3Lossless = "trident3_lossless" {
        source: "SONiC, sonic-buildimage device/arista/x86_64-arista_7050cx3_32s, BALANCED profile (read there); cells of 256 B as quoted by Juniper for Trident 3",
        faithful: "pools, reserves, alphas, xon and xon_offset of lossless and lossy traffic, in cells; shared headroom for 13 groups at once",
        simplified: "that the pool's size includes the headroom is inferred (they add up to more than 32 MB otherwise); no watchdog and no marking until written"
    }
    /// Broadcom Jericho+ with 8 GB (deep, the switch of the Hadoop study): one virtual output queue
    /// per egress port of at most 40 ms, which are 125 MB at 25G and 500 MB at 100G
    /// (`voq = { max_time = "5ms" }` for the other reading of Arista's table). A frame takes 3.8 us
    /// through the box (recalled), of which the credit takes 1.5 us (a guess).
    JerichoPlus = "jericho_plus" {
        source: "LY Corporation, JANOG (8 GB, Jericho+: read there); Arista 7500R architecture paper as quoted (caps by speed); store and forward in 3.8 us \
                 (recalled)",
        faithful: "125 MB for each 25G port, 500 MB for each 100G port, 8 GB in all; the grant's latency is part of the 3.8 us",
        simplified: "one core; DRAM of 900 Gbps, eviction and credits as in voq's defaults, which are recalled or guessed; no marking until ecn is written"
    }
}
