//! Specifies the transports, with one variant for each kind.

use crate::transport::key_context::KeyContext;
use crate::transport::list::transports;
use crate::transport::{datagram, mptcp, nack, ndp, pfabric, rated, rdma, tcp};
use afflux_config::tagged;
use afflux_config::tree::{Key, Wrong};

/// Settings of a kind of transport.
pub trait Settings {
    /// Returns the settings of a transport that has this kind.
    fn of(config: &TransportConfig) -> &Self;
}

macro_rules! configs {
    ($($folder:ident)+: $($name:ident $kind:ident($config:ty: $($payload:ident).+), $type:ty, $model:expr $(, { $(#[doc = $doc:literal])+ $keys:ty, $read:ident })?;)+) => {
        /// The settings of a transport.
        // A run has only a few of these values, so the memory wasted by smaller variants does not
        // matter.
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

        $(impl Settings for $config {
            #[inline(always)]
            fn of(config: &TransportConfig) -> &Self {
                match config {
                    TransportConfig::$kind(config) => config,
                    _ => unreachable!("a flow of another transport"),
                }
            }
        })+

        $(impl From<$config> for TransportConfig {
            fn from(config: $config) -> Self {
                TransportConfig::$kind(config)
            }
        })+

        tagged! {
            /// Transport of the hosts, chosen by `kind`; default `"tcp"`.
            #[schemars(rename = "Transport")]
            pub enum TransportKeys, default "tcp" {
                $($($(#[doc = $doc])+ $name $kind($keys),)?)+
            }
        }

        impl TransportKeys {
            /// Checks the keys that are written, and fills in the defaults of the others.
            pub fn resolve(&mut self, key: &Key, context: &KeyContext) -> Result<TransportConfig, Wrong> {
                match self {
                    $($(TransportKeys::$kind(keys) => <$keys>::$read(keys, key, context).map(TransportConfig::from),)?)+
                }
            }
        }
    };
}
transports!(configs);

impl TransportConfig {
    /// Maximum number of segments of a flow or connection. Segments have numbers of 32 bits.
    pub const MOST_SEGMENTS: u64 = u32::MAX as u64 - 2;

    /// Returns the payload of a full segment in bytes.
    pub fn payload(&self) -> u16 {
        self.parameters().frames().payload
    }

    /// Returns the size of the largest flow in bytes.
    pub fn most_bytes(&self) -> u64 {
        Self::MOST_SEGMENTS * u64::from(self.payload())
    }
}
