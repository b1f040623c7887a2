//! The settings.

use crate::congestion::{self, Congestion};
use crate::spec::{self, CongestionControl, MptcpConfig, PathScheduler, Receive, TcpConfig};
use crate::transport::around::Around;
use crate::transport::tcp;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Size, keys, words};
use afflux_units::Bytes;

words! {
    /// Path managers.
    pub enum PathManager {
        /// Subflows between the same two addresses, told apart by their ports.
        Ndiffports,
        /// From every NIC of the source to every one of the destination.
        Fullmesh,
    }
    /// Coupled congestion controls.
    pub enum Coupling {
        /// None.
        Off,
        /// RFC 6356.
        Lia,
        /// Khalili et al. 2012.
        Olia,
        /// Peng et al. 2016.
        Balia,
        /// Weighted Vegas, Cao et al. 2012.
        Wvegas,
        /// LIA, and a subflow with a long queue gives way.
        QueueAware,
    }
}

keys! {
    /// Multipath TCP (RFC 8684). `receive_window` and `receive_buffer` are the connection's, everything else is each subflow's. A segment carries 24 B less,
    /// for its option.
    pub struct Keys as "Mptcp" => Settings {
        /// Which subflows are opened.
        manager: PathManager = "ndiffports";
        /// Subflows of a connection, 1 to 32; with `manager = "fullmesh"` at most so many.
        subflows: u8 = (if manager == PathManager::Fullmesh { 8 } else { 2 }) "2, with `\"fullmesh\"` 8", in 1 to 32 as "1 to 32";
        /// Which subflow gets the next segment.
        scheduler: PathScheduler = "lowest_rtt";
        /// How the windows of the subflows go together. `"off"`: each subflow has `congestion` to itself.
        coupling: Coupling = "lia";
        /// Of `coupling = "queue_aware"`: segments of its own that a subflow may have in queues before it gives way to its siblings.
        queue_segments: u32 = {(coupling == Coupling::QueueAware).then_some(4)} "4", check |segments, at| match coupling {
            Coupling::QueueAware => Ok(segments),
            _ => Err(Wrong::at(at, "is for coupling = \"queue_aware\": leave it out")),
        };
        /// Where the receive window is full, the oldest segment goes on another subflow too if that one is much faster, and the subflow that holds
        /// the window up is slowed down (opportunistic retransmission and penalisation).
        opportunistic: bool = true;
    }
}

/// Of TCP with the key `mptcp`.
pub fn config(tcp: &mut tcp::Keys, key: &Key, around: &Around) -> Result<MptcpConfig, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let ns3 = tcp.stack == Some(tcp::Stack::Ns3);
    for (name, value, given) in [("reader", "", tcp.reader.is_some()), ("ssthresh_cache", "", tcp.ssthresh_cache.is_some()), ("stack", " = \"ns3\"", ns3)] {
        if given {
            return Err(Wrong::at(at(name), format!("with mptcp there is no {name}{value}: leave it out")));
        }
    }
    let option = MptcpConfig::DATA_OPTION;
    let most = around.payload.saturating_sub(option);
    let mss = fill(&mut tcp.mss, Size(Bytes(most.into()))).0;
    if mss.0 == 0 || mss.0 > u64::from(most) {
        return Err(Wrong::at(at("mss"), format!("\"{mss}\": write a size from 1B to {most}B ({}, less {option} B for MPTCP's option)", around.why)));
    }
    let keys = tcp.mptcp.as_mut().expect("checked before").resolve(&at("mptcp"))?;
    let coupled = match keys.coupling {
        Coupling::Off => None,
        Coupling::Lia => Some(congestion::Coupling::Lia),
        Coupling::Olia => Some(congestion::Coupling::Olia),
        Coupling::Balia => Some(congestion::Coupling::Balia),
        Coupling::Wvegas => Some(congestion::Coupling::Wvegas),
        Coupling::QueueAware => Some(congestion::Coupling::QueueAware { segments: keys.queue_segments.expect("filled in") }),
    };
    let others = tcp.congestion.is_some_and(|kind| kind != Congestion::Newreno);
    let own = [("newreno", tcp.newreno.is_some()), ("hystart_plusplus", tcp.hystart_plusplus.is_some()), ("congestion", others)];
    if let Some((name, _)) = own.into_iter().find(|(_, given)| coupled.is_some() && *given) {
        let text = "coupled subflows have a congestion control of their own: leave it out, or write mptcp.coupling = \"off\"";
        return Err(Wrong::at(at(name), text));
    }
    if coupled.is_some() {
        // Its own congestion control replaces this one.
        tcp.congestion = Some(Congestion::Newreno);
    }
    let config = tcp.config(key, around)?;
    // What is refused above must not stand in the resolved scenario.
    tcp.ssthresh_cache = None;
    if coupled.is_some() {
        (tcp.congestion, tcp.newreno, tcp.hystart_plusplus) = (None, None, None);
    }
    let receive = config.receive;
    let congestion = coupled.map_or(config.congestion, CongestionControl::Coupled);
    Ok(MptcpConfig {
        tcp: TcpConfig { congestion, receive: Receive::Unlimited, ..config },
        receive,
        manager: match keys.manager {
            PathManager::Ndiffports => spec::PathManager::DiffPorts(keys.subflows),
            PathManager::Fullmesh => spec::PathManager::FullMesh(keys.subflows),
        },
        scheduler: keys.scheduler,
        opportunistic: keys.opportunistic,
    })
}
