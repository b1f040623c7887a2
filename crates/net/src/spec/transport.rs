//! Any transport.

use crate::transport::around::Around;
use crate::transport::list::transports;
use crate::transport::{datagram, mptcp, nack, ndp, pfabric, rated, rdma, tcp};
use afflux_config::tagged;
use afflux_config::tree::{Key, Wrong};

macro_rules! configs {
    ($($folder:ident)+: $($name:ident $kind:ident($config:ty), $type:ty, $model:expr $(, { $(#[doc = $doc:literal])+ $keys:ty, $read:ident })?;)+) => {
        /// The settings of a transport.
        // A handful per run: what the smaller ones waste does not matter.
        #[allow(clippy::large_enum_variant)]
        #[derive(Debug, Clone, PartialEq)]
        pub enum TransportConfig {
            $($kind($config),)+
        }

        impl TransportConfig {
            pub fn name(&self) -> &'static str {
                match self {
                    $(TransportConfig::$kind(_) => stringify!($name),)+
                }
            }
        }

        $(impl From<$config> for TransportConfig {
            fn from(config: $config) -> Self {
                TransportConfig::$kind(config)
            }
        })+

        tagged! {
            /// How hosts send, chosen by `kind`; without it `"tcp"`.
            #[schemars(rename = "Transport")]
            pub enum TransportKeys, default "tcp" {
                $($($(#[doc = $doc])+ $name $kind($keys),)?)+
            }
        }

        impl TransportKeys {
            /// Checks the keys that are written, and writes the defaults of the others down.
            pub fn resolve(&mut self, key: &Key, around: &Around) -> Result<TransportConfig, Wrong> {
                match self {
                    $($(TransportKeys::$kind(keys) => <$keys>::$read(keys, key, around).map(TransportConfig::from),)?)+
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
