//! List of the transports. Each entry has the name, the settings type with its payload of full
//! frames, the implementation, the row of `afflux models`, and the table of keys with the function
//! that makes the settings from it.
//! MPTCP has no entry of its own in the scenario: its keys are a table inside the TCP keys.

/// Calls a macro with the list and with the folders. The names are resolved below `transport`.
macro_rules! transports {
    ($then:ident $($with:tt)*) => { $then! { $($with)*
        tcp mptcp datagram nack ndp rdma pfabric rated:
        tcp Tcp(tcp::Config: mss), tcp::Tcp, tcp::MODEL, {
            /// TCP.
            tcp::keys::Keys, transport
        };
        datagram Datagram(datagram::keys::Config: payload), datagram::Datagram, datagram::MODEL, {
            /// Datagrams at a constant rate, without acknowledgements or retransmissions.
            datagram::keys::Keys, resolve
        };
        nack Nack(nack::Config: payload), nack::Nack, nack::MODEL, {
            /// A constant rate, with retransmission of the frames that the receiver reports
            /// missing.
            nack::Keys, resolve
        };
        ndp Ndp(ndp::NdpConfig: payload), ndp::Ndp, ndp::MODEL, {
            /// NDP: the first window is sent at once, then the receiver pulls frames. Needs
            /// switches that trim frames.
            ndp::Keys, resolve
        };
        rdma Rdma(rdma::Config: payload), rdma::Rdma, rdma::MODEL, {
            /// RDMA over converged Ethernet.
            rdma::keys::Keys, config
        };
        pfabric Pfabric(pfabric::keys::Config: tcp.mss), pfabric::Pfabric, pfabric::MODEL, {
            /// pFabric's minimal transport, or the TCP without fast retransmit that it is derived
            /// from.
            pfabric::keys::Keys, config
        };
        pdq Pdq(rated::keys::Pdq: payload), rated::Rated, rated::PDQ, {
            /// PDQ: the most critical flows send, and the others wait.
            rated::keys::PdqKeys, resolve
        };
        d3 D3(rated::keys::D3: payload), rated::Rated, rated::D3, {
            /// D3: rates according to deadlines, granted first come, first served.
            rated::keys::D3Keys, resolve
        };
        mptcp Mptcp(mptcp::Config: tcp.mss), mptcp::Mptcp, mptcp::MODEL;
    } };
}
pub(crate) use transports;
