//! `[host.transport]` and `[host.transports.NAME]`.

use crate::tree::{Key, Wrong};
use afflux_config::tagged;
use afflux_net::spec::TransportConfig;
use afflux_net::transports::{self, Around, D3, Datagram, Nack, Ndp, Pdq, Pfabric, Rdma, Tcp};

tagged! {
    /// How hosts send, chosen by `kind`; without it `"tcp"`.
    pub enum Transport, default "tcp" {
        /// TCP.
        "tcp" => Tcp,
        /// A constant rate without acknowledgement or repetition.
        "datagram" => Datagram,
        /// A constant rate, and repetition of what is reported missing.
        "nack" => Nack,
        /// NDP: a first window at once, then what the receiver pulls; needs switches that trim.
        "ndp" => Ndp,
        /// RDMA over converged Ethernet.
        "rdma" => Rdma,
        /// pFabric's minimal transport, or the TCP without fast retransmit that it was made from.
        "pfabric" => Pfabric,
        /// PDQ: the most critical flows send, the others wait.
        "pdq" => Pdq,
        /// D3: rates by deadline, first come, first served.
        "d3" => D3,
    }
}

impl Transport {
    /// Checks the keys that are written, and writes the defaults of the others down.
    pub fn resolve(&mut self, key: &Key, around: &Around) -> Result<TransportConfig, Wrong> {
        match self {
            Transport::Tcp(keys) if keys.mptcp.is_some() => transports::mptcp(keys, key, around).map(TransportConfig::Mptcp),
            Transport::Tcp(keys) => keys.config(key, around).map(TransportConfig::Tcp),
            Transport::Datagram(keys) => keys.resolve(key, around).map(TransportConfig::Datagram),
            Transport::Pdq(keys) => keys.resolve(key, around).map(TransportConfig::Pdq),
            Transport::D3(keys) => keys.resolve(key, around).map(TransportConfig::D3),
            Transport::Pfabric(keys) => keys.config(key, around).map(TransportConfig::Pfabric),
            Transport::Nack(keys) => keys.resolve(key, around).map(TransportConfig::Nack),
            Transport::Ndp(keys) => keys.resolve(key, around).map(TransportConfig::Ndp),
            Transport::Rdma(keys) => keys.config(key, around).map(TransportConfig::Rdma),
        }
    }
}
