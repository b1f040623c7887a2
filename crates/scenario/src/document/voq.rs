//! `[switch.voq]`: the memory of a deep-buffer switch with virtual output queues.

use super::{Chance, Duration, Off, Or, Size, Speed, Unlimited};
use afflux_config::Word;
use afflux_config::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BySpeed;
impl Word for BySpeed {
    const WORD: &'static str = "by_speed";
}

words! {
    /// What has a queue of its own for each egress port and priority.
    pub enum Ingress {
        /// Each ingress core, as in hardware: with one core the queues are as those of a switch with output queues.
        Core,
        /// Each ingress port (N×N queues, as switches with virtual output queues are often drawn).
        Port,
    }
}

macro_rules! table {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$note:meta])* pub $key:ident: Option<$kind:ty>,)+ }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$note])* #[serde(skip_serializing_if = "Option::is_none")] pub $key: Option<$kind>,)+
        }
        impl $name {
            /// Its own keys where it has them, else those of `other`.
            pub fn or(self, other: $name) -> $name {
                $name { $($key: self.$key.or(other.$key),)+ }
            }
        }
    };
}

table! {
    /// With `sharing = "voq"`: virtual output queues in on-chip memory and DRAM.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Voq {
        /// Is there a queue per ingress core or per ingress port? Default `"core"` (hardware; recalled); `"port"` is a switch with N×N queues.
        pub ingress: Option<Ingress>,
        /// With `ingress = "core"`: this many ports, in the order of the links, belong to one core. Default: all, as in a leaf of one chip.
        pub ports_per_core: Option<u32>,
        /// With several cores: bytes that a queue may send per turn. Default `"2kB"` (a guess; 1 to 4 kB are usual).
        pub credit: Option<Size>,
        /// From a frame's arrival to when it may leave at the earliest: its request and the grant; comes on top of `latency`. Default
        /// `"1500ns"` (a guess: 1 to 2 us within one box, 5 to 10 us across a chassis).
        pub grant_latency: Option<Duration>,
        /// Most bytes of a queue, or `"by_speed"` for Arista's by port speed: 10G 50 MB, 25G 125 MB, 40G 200 MB, 50G 250 MB, 100G 500 MB,
        /// that is 40 ms each (and at least 12.5 MB, as at 1G). Default `"by_speed"` (7500R architecture paper, as quoted; it also says 5 ms).
        pub max_bytes: Option<Or<BySpeed, Size>>,
        /// Most bytes of a queue as the time that its port takes to send them, or `"off"`; the smaller of the two caps counts. Default `"off"`;
        /// `"5ms"` is the other reading of Arista's table: 15.6 MB at 25G.
        pub max_time: Option<Or<Off, Duration>>,
        /// On-chip memory. Default `"16MB"` (Jericho and Jericho+).
        pub on_chip: Option<Size>,
        /// A queue that would be longer, or that finds the on-chip memory full, goes on in DRAM until it is empty. Default `"200kB"` (NCS 5500,
        /// recalled).
        pub evict_bytes: Option<Size>,
        /// The same in packets. Default 6000 (NCS 5500, recalled).
        pub evict_packets: Option<u32>,
        /// DRAM. Default `"4GB"` (Arista, per Jericho or Jericho+ chip).
        pub dram: Option<Size>,
        /// What DRAM does per second, writing and reading together, or `"unlimited"`: a frame that it could not write soon enough is dropped.
        /// Default `"900Gbps"` (Jericho+, recalled).
        pub dram_bandwidth: Option<Or<Unlimited, Speed>>,
        /// Bytes that may wait to be written to DRAM, beside `on_chip`. Default `"1MB"` (a guess).
        pub write_buffer: Option<Size>,
        /// Share of the DRAM that is set aside for the queues, in equal parts. Default 0.3 (Arista, Jericho2).
        pub reserved: Option<Chance>,
        /// Share of the DRAM that any queue may have beyond its own part. Default 0.55 (Arista, Jericho2; the rest is for multicast).
        pub dynamic: Option<Chance>,
    }
}
