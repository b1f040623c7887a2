//! Any transport.

use super::{D3, Datagram, MptcpConfig, Nack, Pdq, Pfabric, RdmaConfig, TcpConfig};
use crate::transport::list::transports;
use crate::transport::ndp::NdpConfig;

macro_rules! configs {
    ($($name:literal $kind:ident($config:ty): $type:ty;)*) => {
        /// The settings of a transport.
        // A handful per run: what the smaller ones waste does not matter.
        #[allow(clippy::large_enum_variant)]
        #[derive(Debug, Clone, PartialEq)]
        pub enum TransportConfig {
            $($kind($config),)*
        }

        impl TransportConfig {
            pub fn name(&self) -> &'static str {
                match self {
                    $(TransportConfig::$kind(_) => $name,)*
                }
            }
        }
    };
}
transports!(configs);

impl TransportConfig {
    /// Segments of a flow, or connection, are numbered with 32 bits.
    pub const MOST_SEGMENTS: u64 = u32::MAX as u64 - 2;

    /// Payload of a full segment, in bytes.
    pub fn payload(&self) -> u16 {
        self.parameters().frames().payload
    }

    /// The largest flow, in bytes.
    pub fn most_bytes(&self) -> u64 {
        Self::MOST_SEGMENTS * u64::from(self.payload())
    }
}
