//! Values of the `[switch]` keys that each preset sets.

use afflux_config::{Duration, Or, Size};
use afflux_net::spec::{
    Headroom, Limit, MmuKeys, OffsetKeys, PfcKeys, Preset, QueueSize, Sharing, SonicKeys,
    SwitchKeys, VoqKeys,
};
use afflux_units::{Bytes, Span};

/// Returns the keys that a preset sets. All other keys have their usual defaults.
pub fn keys(preset: Preset) -> SwitchKeys {
    match preset {
        Preset::Trident3 => SwitchKeys {
            sharing: Some(Sharing::Dynamic),
            buffer: Some(QueueSize(Limit::Bytes(24_192_256))),
            alpha: Some(8.0),
            reserved: Some(Size(Bytes(1_792))),
            latency: Some(Duration(Span::from_ns(800))),
            ..SwitchKeys::default()
        },
        Preset::Trident3Lossless => SwitchKeys {
            sharing: Some(Sharing::Sonic),
            buffer: Some(QueueSize(Limit::Bytes(32_689_152))),
            alpha: Some(8.0),
            reserved: Some(Size(Bytes(1_792))),
            mmu: Some(MmuKeys {
                cell: Some(Or::some(Size(Bytes(256)))),
                sonic: SonicKeys {
                    alpha: Some(1.0),
                    reserved: Some(Size(Bytes(4_608))),
                    lossy_pool: Some(Size(Bytes(24_192_256))),
                    headroom_pool: Some(Size(Bytes(2_058_240))),
                    xon: Some(Size(Bytes(4_608))),
                    ..SonicKeys::default()
                },
                offset: OffsetKeys { xon_offset: Some(Size(Bytes(4_608))) },
                ..MmuKeys::default()
            }),
            pfc: Some(Or::some(PfcKeys {
                priorities: Some(vec![3, 4]),
                headroom: Some(Headroom::Bytes(160_000)),
                ..PfcKeys::default()
            })),
            latency: Some(Duration(Span::from_ns(800))),
            ..SwitchKeys::default()
        },
        Preset::JerichoPlus => SwitchKeys {
            sharing: Some(Sharing::Voq),
            voq: Some(VoqKeys {
                grant_latency: Some(Duration(Span::from_ns(1_500))),
                max_bytes: Some(Or::NONE),
                max_time: Some(Or::NONE),
                dram: Some(Size(Bytes(8_000_000_000))),
                ..VoqKeys::default()
            }),
            latency: Some(Duration(Span::from_ns(2_300))),
            ..SwitchKeys::default()
        },
    }
}
