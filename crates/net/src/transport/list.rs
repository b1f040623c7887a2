//! The transports, one line for each: its name where it is counted, its settings, and what serves it.

/// Calls a macro with the list. Names are looked up where it is called.
macro_rules! transports {
    ($then:ident $($with:tt)*) => { $then! { $($with)*
        "tcp" Tcp(TcpConfig): tcp::Tcp;
        "mptcp" Mptcp(MptcpConfig): mptcp::Mptcp;
        "rdma" Rdma(RdmaConfig): rdma::Rdma;
        "pfabric" Pfabric(Pfabric): pfabric::Pfabric;
        "pdq" Pdq(Pdq): rated::Rated;
        "d3" D3(D3): rated::Rated;
        "datagram" Datagram(Datagram): datagram::Datagram;
        "nack" Nack(Nack): nack::Nack;
        "ndp" Ndp(NdpConfig): ndp::Ndp;
    } };
}
pub(crate) use transports;
