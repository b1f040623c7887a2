//! Settings of MPTCP, a table inside the TCP settings.

use crate::spec::PathScheduler;
use afflux_config::tree::Wrong;
use afflux_config::{keys, words};

words! {
    /// Path manager: chooses the subflows of a connection.
    pub enum PathManager {
        /// Subflows between the same two addresses, distinguished by their ports.
        Ndiffports,
        /// A subflow from every NIC of the source to every NIC of the destination.
        Fullmesh,
    }
    /// Coupled congestion control of the subflows.
    pub enum Coupling {
        /// No coupling.
        Off,
        /// RFC 6356.
        Lia,
        /// Khalili et al. 2012.
        Olia,
        /// Peng et al. 2016.
        Balia,
        /// Weighted Vegas, Cao et al. 2012.
        Wvegas,
        /// LIA. In addition, a subflow with a long queue reduces its window.
        QueueAware,
    }
}

keys! {
    /// Multipath TCP (RFC 8684). `receive_window` and `receive_buffer` apply to the connection, all
    /// other keys to each subflow. A segment carries 24 B less payload, to make room for its
    /// option.
    pub struct Keys as "Mptcp" => Settings {
        /// Path manager, which chooses the subflows to open.
        manager: PathManager = "ndiffports";
        /// Number of subflows of a connection, 1 to 32. With `manager = "fullmesh"` it is a
        /// maximum.
        subflows: u8 = (if manager == PathManager::Fullmesh { 8 } else { 2 }) "2, with `\"fullmesh\"` 8", in 1 to 32 as "1 to 32";
        /// Scheduler, which chooses the subflow for the next segment.
        scheduler: PathScheduler = "lowest_rtt";
        /// Coupling of the subflows' windows. `"off"`: each subflow runs `congestion`
        /// independently.
        coupling: Coupling = "lia";
        /// With `coupling = "queue_aware"`: number of segments that a subflow may have in queues
        /// before it reduces its window in favour of the other subflows.
        queue_segments: u32 = {(coupling == Coupling::QueueAware).then_some(4)} "4", check |segments, at| match coupling {
            Coupling::QueueAware => Ok(segments),
            _ => Err(Wrong::at(at, "has an effect only with coupling = \"queue_aware\": remove it")),
        };
        /// If the receive window is full, the oldest segment is also sent on a much faster subflow,
        /// and the subflow that blocks the window is slowed down (opportunistic retransmission and
        /// penalisation).
        opportunistic: bool = true;
    }
}
