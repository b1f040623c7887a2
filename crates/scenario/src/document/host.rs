//! `[host]`: NICs, frame sizes and transports.

use super::{Kernel, Python};
use afflux_config::{Names, Size, form, keys, table};
use afflux_net::spec::{HostKeys, NicKeys, TransportKeys};
use schemars::{Schema, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

keys! {
    /// Settings of all hosts.
    pub struct Host as "Host" => Hosts {
        @nic: NicKeys;
        @{
            /// Priority of each DSCP, for blocks of traffic with `dscp`, as in `{ 26 = 3 }`.
            /// Default: each missing DSCP has its priority in SONiC: 3 → 3, 4 → 4, 5 → 2, 8 → 0,
            /// 46 → 5, 48 → 6, all others → 1.
            dscp_to_priority: BTreeMap<String, u8>;
        };
        @keys: HostKeys;
        @{
            /// Frame sizes: the name of a profile or a table. Default `"ethernet"`.
            wire: Wire;
            /// Largest packet of the profile's network layer. Together with the profile's headers it
            /// gives the default of `mss`. Default: the profile's, `"1500B"` for `"ethernet"`.
            mtu: Size;
            /// Transport of all traffic that names no other. Default: Linux's TCP with CUBIC,
            /// `{ kind = "tcp", stack = "linux", congestion = "cubic" }`.
            transport: TransportKeys;
            /// Further transports by name, for `transport = "NAME"` in `[[traffic]]`. Default: none:
            /// `[host.transport]` is the only one.
            transports: BTreeMap<String, TransportKeys>;
            /// Congestion control written in Python. Default: the built-in one that `congestion`
            /// names.
            python: Python;
            /// Hosts that are real Linux kernels in simulated time. Default: none: all hosts are
            /// models.
            kernel: Vec<Kernel>;
            /// Hosts with other settings. Later overrides win. Default: none: all hosts are alike.
            overrides "override": Vec<HostOverride>;
        };
    }
}

keys! {
    /// Settings of some hosts. Missing keys have their values from `[host]`.
    pub struct HostOverride as "HostOverride" => MatchedHosts {
        /// Names of hosts: `"host0"`, `["host1", "host2?"]`.
        matching "match": Names = required;
        @nic: NicKeys;
        @keys: HostKeys;
        /// Name in `[host.transports]`: transport of these hosts in blocks of traffic that name
        /// none. A DCTCP sender does not use explicit congestion notification, as Reno, to hosts
        /// whose own transport is not DCTCP: Linux refuses ECN to a SYN that is itself ECN-capable.
        /// Default: `[host.transport]`.
        transport: String = none;
    }
}

impl Host {
    /// Removes tables and lists without entries, on which the hash of a scenario does not depend.
    pub fn remove_empty(&mut self) {
        self.dscp_to_priority.take_if(|map| map.is_empty());
        self.transports.take_if(|map| map.is_empty());
        self.kernel.take_if(|blocks| blocks.is_empty());
        self.overrides.take_if(|changes| changes.is_empty());
        if let Some(python) = &mut self.python {
            python.parameters.take_if(|map| map.is_empty());
        }
    }

    pub fn overrides(&self) -> &[HostOverride] {
        self.overrides.as_deref().unwrap_or_default()
    }
}

/// Frame sizes: the name of a profile, or a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Wire {
    Profile(String),
    Table(WireTable),
}

table! {
    /// Frame sizes in bytes. A frame occupies its size in buffers, and `gap` bytes more on the
    /// link.
    #[derive(Default)]
    pub struct WireTable {
        /// Profile that supplies the values of missing keys. Default `"ethernet"`.
        base: String,
        /// Name in results. Default `"custom"`.
        name: String,
        /// Bytes of all headers and trailers of a data frame. Default: that of `base`, `"58B"` for `"ethernet"`.
        data_header: Size,
        /// Size of an acknowledgement without options. Default: that of `base`, `"58B"` for `"ethernet"`.
        ack: Size,
        /// Size of an RDMA congestion notification in a frame of its own (`cnp = "packet"`).
        /// Default: `ack` if it is written, otherwise that of `base`.
        cnp: Size,
        /// Size of a SYN or SYN-ACK. Default: that of `base`, `"70B"` for `"ethernet"`.
        syn: Size,
        /// Additional bytes of an acknowledgement with SACK blocks: `sack_base` plus `sack_block` for each. Default: that of `base`, `"4B"` for
        /// `"ethernet"`.
        sack_base: Size,
        /// Bytes of each SACK block in an acknowledgement, see `sack_base`. Default: that of `base`, `"8B"` for `"ethernet"`.
        sack_block: Size,
        /// Size to which smaller frames are padded. Default: that of `base`, `"64B"` for
        /// `"ethernet"`.
        min_frame: Size,
        /// Preamble, start delimiter and inter-frame gap, which occupy the link but no buffer.
        /// Default: that of `base`, `"20B"` for `"ethernet"`.
        gap: Size,
        /// The part of `data_header` that counts towards the MTU (network and transport layer). Default: that of `base`, `"40B"` for
        /// `"ethernet"`.
        mtu_header: Size,
    }
}

form! {
    Wire<'de>, deserialize_any, "the name of a profile, or a table" {
        fn visit_str<E: de::Error>(self, name: &str) -> Result<Wire, E> {
            Ok(Wire::Profile(name.to_string()))
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Wire, A::Error> {
            WireTable::deserialize(MapAccessDeserializer::new(map)).map(Wire::Table)
        }
    }
    |generator| {
        let profiles: Vec<Schema> = crate::wire::PROFILES.iter().map(|p| json_schema!({ "const": p.name, "description": p.about })).collect();
        json_schema!({
            "description": "Frame sizes: a profile's name or a table.",
            "anyOf": [{ "oneOf": profiles }, generator.subschema_for::<WireTable>()]
        })
    }
}
