//! Properties of MPTCP connections that other parts of the simulator need: their paths, and their
//! behaviour for estimates.

use super::{Connection, MptcpReceiver, Subflow};
use crate::congestion::IncreaseRule;
use crate::expected::FluidModel;
use crate::idle::Route;
use crate::spec::{Flow, MptcpConfig, PathManager, PathScheduler, Receive, TcpConfig};
use crate::transport::door::{Frames, Parameters};
use crate::transport::requirements::{Ecn, Paths, Requirements, Setting};
use crate::transport::tcp::Receiver;
use crate::world::World;
use afflux_engine::random::mix;

/// Returns the hash of subflow `number` at the given `attempt`. `own`: hash of the flow.
pub fn subflow_hash(own: u32, number: usize, attempt: u64) -> u32 {
    if number == 0 && attempt == 0 {
        own
    } else {
        mix(own as u64 ^ (number as u64) << 32 ^ attempt << 40) as u32
    }
}

/// Returns the paths that the path manager finds.
pub fn routes(world: &World, now: u64, flow: &Flow, config: &MptcpConfig) -> Vec<Route> {
    let (own, back) = (world.flow_hash(flow, false), world.flow_hash(flow, true));
    let route = |number: usize, via: Option<u16>, hash: u32| {
        let path = world.path_via(now, via, hash, flow.src, flow.dst);
        // Replies leave through the NIC at which data arrive.
        let answered =
            path.last().map(|&(node, port)| world.ports.of(node)[port as usize].peer_port);
        Route { there: (via, hash), back: (answered, subflow_hash(back, number, 0)) }
    };
    match config.manager {
        PathManager::DiffPorts(count) => (0..count as usize)
            .map(|number| route(number, None, subflow_hash(own, number, 0)))
            .collect(),
        PathManager::FullMesh(most) => {
            let (sources, targets) =
                (world.ports.of(flow.src).len() as u16, world.ports.of(flow.dst).len() as u16);
            let mut found = Vec::new();
            for (via, target) in
                (0..sources).flat_map(|via| (0..targets).map(move |target| (via, target)))
            {
                let number = found.len();
                let leads_there =
                    |&hash: &u32| world.leads_to(now, (flow.src, via), hash, (flow.dst, target));
                if found.len() < most as usize
                    && let Some(hash) = (0..World::TRIES)
                        .map(|attempt| subflow_hash(own, number, attempt))
                        .find(leads_there)
                {
                    found.push(route(number, Some(via), hash));
                }
            }
            found
        }
    }
}

/// Fraction of a link that flows with coupled congestion control use if that link limits them, as
/// measured (validation/estimates.py).
const COUPLED: f64 = 0.92;

impl Parameters for MptcpConfig {
    fn segments(&self) -> Option<(&TcpConfig, Receive)> {
        Some((&self.tcp, self.receive))
    }
    fn unused(&self, one_nic: bool) -> Vec<Setting> {
        let text = "opens one subflow per connection, because every host has one NIC: write \"ndiffports\" for several subflows over one NIC, or connect hosts to several switches";
        match self.manager {
            PathManager::FullMesh(_) if one_nic => vec![Setting { key: "mptcp.manager", text }],
            _ => Vec::new(),
        }
    }
    fn requirements(&self) -> Requirements {
        let tcp = self.tcp.requirements();
        let useless = Setting { key: "mptcp.subflows", text: "the subflows share one path" };
        let several = matches!(self.manager, PathManager::DiffPorts(2..))
            .then_some((useless, "mptcp.subflows = 1"));
        Requirements {
            ecn: Ecn { reacts: true, paced: false, ..tcp.ecn },
            paths: Paths {
                several,
                subflows: matches!(
                    self.manager,
                    PathManager::DiffPorts(2..) | PathManager::FullMesh(2..)
                )
                .then_some("mptcp"),
                ..Paths::default()
            },
            timing: tcp.timing,
            ack_priority: tcp.ack_priority,
            ..Requirements::default()
        }
    }
    fn routes(&self, world: &World, flow: &Flow) -> Vec<Route> {
        routes(world, 0, flow, self)
    }
    fn frames(&self) -> Frames {
        Frames {
            payload: self.tcp.mss,
            data: Self::DATA_OPTION,
            answer: Some(Self::ACK_OPTION),
            carry_more: true,
            with_options: 2,
        }
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        let subflows = match self.manager {
            PathManager::DiffPorts(count) | PathManager::FullMesh(count) => {
                usize::from(count.max(1))
            }
        };
        let one = size_of::<Subflow>() + size_of::<Receiver>() + 300;
        let of_one = self.tcp.fluid_model_with(
            FluidModel::new(world, self.frames(), self.tcp.frames_per_ack()),
            one,
        );
        // All subflows together grow as one connection (RFC 6356).
        let growth = match of_one.growth {
            IncreaseRule::PerRoundTrip(bytes) => {
                IncreaseRule::PerRoundTrip(bytes / subflows as f64)
            }
            other => other,
        };
        FluidModel {
            subflows,
            copies: if self.scheduler == PathScheduler::Redundant { subflows as f64 } else { 1.0 },
            overtakes: self.opportunistic
                && self.scheduler != PathScheduler::Redundant
                && subflows > 1,
            halves: subflows * one + size_of::<Connection>() + size_of::<MptcpReceiver>(),
            control: if self.tcp.handshake {
                (3 * subflows as u64, 2 * subflows as u64)
            } else {
                (0, 0)
            },
            efficiency: COUPLED,
            growth,
            erratic: of_one.marked,
            window: self.receive.most().min(of_one.window),
            ..of_one
        }
    }
}
