//! Settings of TCP and MPTCP connections, from the TCP keys and those of `mptcp`.

use super::keys::{Coupling, PathManager};
use crate::congestion::{self, Congestion};
use crate::spec::{self, CongestionControl, MptcpConfig, Receive, TcpConfig, TransportConfig};
use crate::transport::key_context::KeyContext;
use crate::transport::tcp::keys as tcp;
use afflux_config::Size;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_units::Bytes;

impl tcp::Keys {
    /// Returns the settings of a TCP that uses one path, or of MPTCP if the key `mptcp` is written.
    pub fn transport(&mut self, key: &Key, context: &KeyContext) -> Result<TransportConfig, Wrong> {
        if self.mptcp.is_some() {
            config(self, key, context).map(Into::into)
        } else {
            self.config(key, context).map(Into::into)
        }
    }
}

fn config(tcp: &mut tcp::Keys, key: &Key, context: &KeyContext) -> Result<MptcpConfig, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let ns3 = tcp.stack == Some(tcp::Stack::Ns3);
    for (name, value, given) in [
        ("reader", "", tcp.reader.is_some()),
        ("ssthresh_cache", "", tcp.ssthresh_cache.is_some()),
        ("stack", " = \"ns3\"", ns3),
    ] {
        if given {
            return Err(Wrong::at(
                at(name),
                format!("mptcp does not support {name}{value}: remove it"),
            ));
        }
    }
    let option = MptcpConfig::DATA_OPTION;
    let most = context.payload.saturating_sub(option);
    let mss = fill(&mut tcp.mss, Size(Bytes(most.into()))).0;
    if mss.0 == 0 || mss.0 > u64::from(most) {
        return Err(Wrong::at(
            at("mss"),
            format!(
                "\"{mss}\": write a size from 1B to {most}B ({}, less {option} B for MPTCP's option)",
                context.why
            ),
        ));
    }
    let keys = tcp.mptcp.as_mut().expect("checked before").resolve(&at("mptcp"))?;
    let coupled = match keys.coupling {
        Coupling::Off => None,
        Coupling::Lia => Some(congestion::Coupling::Lia),
        Coupling::Olia => Some(congestion::Coupling::Olia),
        Coupling::Balia => Some(congestion::Coupling::Balia),
        Coupling::Wvegas => Some(congestion::Coupling::Wvegas),
        Coupling::QueueAware => Some(congestion::Coupling::QueueAware {
            segments: keys.queue_segments.expect("filled in"),
        }),
    };
    if let Some((name, _)) = [
        ("send_buffer", tcp.send_buffer.is_some()),
        ("send_buffer_max", tcp.send_buffer_max.is_some()),
    ]
    .iter()
    .find(|(_, given)| *given)
    {
        return Err(Wrong::at(
            at(name),
            "multipath connections have no send buffer here: remove it",
        ));
    }
    let others = tcp.congestion.is_some_and(|kind| kind != Congestion::Newreno);
    let own = [
        ("newreno", tcp.newreno.is_some()),
        ("hystart_plusplus", tcp.hystart_plusplus.is_some()),
        ("congestion", others),
    ];
    if let Some((name, _)) = own.into_iter().find(|(_, given)| coupled.is_some() && *given) {
        let text = "coupled subflows have their own congestion control: remove it, or write mptcp.coupling = \"off\"";
        return Err(Wrong::at(at(name), text));
    }
    if coupled.is_some() {
        // The coupled congestion control replaces this one.
        tcp.congestion = Some(Congestion::Newreno);
    }
    let config = tcp.config(key, context)?;
    // Keys that are refused above must not appear in the resolved scenario.
    tcp.ssthresh_cache = None;
    tcp.send_buffer_max = None;
    if coupled.is_some() {
        (tcp.congestion, tcp.newreno, tcp.hystart_plusplus) = (None, None, None);
    }
    let receive = config.receive;
    let congestion = coupled.map_or(config.congestion, CongestionControl::Coupled);
    Ok(MptcpConfig {
        tcp: TcpConfig { congestion, receive: Receive::Unlimited, send: None, ..config },
        receive,
        manager: match keys.manager {
            PathManager::Ndiffports => spec::PathManager::DiffPorts(keys.subflows),
            PathManager::Fullmesh => spec::PathManager::FullMesh(keys.subflows),
        },
        scheduler: keys.scheduler,
        opportunistic: keys.opportunistic,
    })
}
