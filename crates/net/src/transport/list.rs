//! The transports, one line for each: its name, its settings, what serves it, and its row of `afflux models`; then the table of its keys, with the
//! function that makes the settings of it. MPTCP's are a table of TCP's.

/// Calls a macro with the list and with the folders. Names are looked up below `transport`.
macro_rules! transports {
    ($then:ident $($with:tt)*) => { $then! { $($with)*
        tcp mptcp datagram nack ndp rdma pfabric rated:
        tcp Tcp(tcp::Config), tcp::Tcp, tcp::MODEL, {
            /// TCP.
            tcp::keys::Keys, transport
        };
        datagram Datagram(datagram::keys::Config), datagram::Datagram, datagram::MODEL, {
            /// A constant rate without acknowledgement or repetition.
            datagram::keys::Keys, resolve
        };
        nack Nack(nack::Config), nack::Nack, nack::MODEL, {
            /// A constant rate, and repetition of what is reported missing.
            nack::Keys, resolve
        };
        ndp Ndp(ndp::NdpConfig), ndp::Ndp, ndp::MODEL, {
            /// NDP: a first window at once, then what the receiver pulls; needs switches that trim.
            ndp::Keys, resolve
        };
        rdma Rdma(rdma::Config), rdma::Rdma, rdma::MODEL, {
            /// RDMA over converged Ethernet.
            rdma::keys::Keys, config
        };
        pfabric Pfabric(pfabric::keys::Config), pfabric::Pfabric, pfabric::MODEL, {
            /// pFabric's minimal transport, or the TCP without fast retransmit that it was made from.
            pfabric::keys::Keys, config
        };
        pdq Pdq(rated::keys::Pdq), rated::Rated, rated::PDQ, {
            /// PDQ: the most critical flows send, the others wait.
            rated::keys::PdqKeys, resolve
        };
        d3 D3(rated::keys::D3), rated::Rated, rated::D3, {
            /// D3: rates by deadline, first come, first served.
            rated::keys::D3Keys, resolve
        };
        mptcp Mptcp(mptcp::Config), mptcp::Mptcp, mptcp::MODEL;
    } };
}
pub(crate) use transports;
