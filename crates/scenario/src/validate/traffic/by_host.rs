//! Assigns the transports of hosts to flows that name no transport.

use super::context::TransportUsage;
use crate::validate::transport::Transports;
use afflux_net::spec::{EcnMode, Flow, TcpConfig, TransportConfig};

/// Gives flows of the default transport (0) the transport of their source host. If the two hosts of
/// a flow differ, the flow uses what both agree on.
pub fn assign(
    flows: &mut [Flow],
    of_hosts: &[u16],
    transports: &mut Transports,
    uses: &mut TransportUsage,
) {
    if of_hosts.iter().all(|own| *own == 0) {
        return;
    }
    for flow in flows.iter_mut().filter(|flow| flow.transport == 0) {
        let own = of_hosts[flow.src as usize];
        flow.transport = match &transports.configs[usize::from(own)] {
            // Linux (tcp_ecn_create_request): a listener without DCTCP refuses ECN to a SYN that
            // asks for ECN and is itself ECN-capable, as DCTCP's SYN is. Without ECN Linux's DCTCP
            // is Reno.
            TransportConfig::Tcp(tcp)
                if tcp.ecn == EcnMode::Dctcp
                    && !is_dctcp(&transports.configs[usize::from(of_hosts[flow.dst as usize])]) =>
            {
                let alone = TcpConfig { ecn: EcnMode::Off, ..tcp.clone() };
                uses.refused.entry(own).or_default().1 += 1;
                transports.add(TransportConfig::Tcp(alone), Some(own))
            }
            TransportConfig::Tcp(tcp) if tcp.ecn == EcnMode::Dctcp => {
                uses.refused.entry(own).or_default().0 += 1;
                own
            }
            _ => own,
        };
    }
}

fn is_dctcp(transport: &TransportConfig) -> bool {
    matches!(transport, TransportConfig::Tcp(tcp) if tcp.ecn == EcnMode::Dctcp)
}
