//! Assigns the transports of hosts to flows that name no transport.

use super::context::{TrafficContext, TransportUsage};
use crate::validate::transport::Transports;
use afflux_config::tree::{Key, Wrong};
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

/// Refuses a block whose flows have one transport of their own, derived from the default one, if a
/// host among its sources has another by `[[host.override]]`. `at` is the path of the block's
/// `transport`.
pub fn must_be_alike(
    transport: u16,
    sources: impl IntoIterator<Item = u32>,
    context: &TrafficContext,
    at: Key,
) -> Result<(), Wrong> {
    let own = |host: &u32| context.of_hosts[*host as usize] != 0;
    match sources.into_iter().find(own).filter(|_| transport == 0) {
        Some(host) => Err(Wrong::at(
            at,
            format!(
                "{} has a transport of its own (host.override), which traffic of this kind cannot follow: \
                 write a transport of host.transports that all hosts of this block use",
                context.facts.topology.nodes[host as usize].name
            ),
        )),
        None => Ok(()),
    }
}

fn is_dctcp(transport: &TransportConfig) -> bool {
    matches!(transport, TransportConfig::Tcp(tcp) if tcp.ecn == EcnMode::Dctcp)
}
