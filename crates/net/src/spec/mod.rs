//! Defines the plan, the input of a simulation. The caller (the `scenario` crate) has validated it,
//! so this crate only asserts.

mod fabric;
mod flow;
mod host;
mod mptcp;
mod preset;
mod processor;
mod rdma;
mod record;
mod run;
mod switch;
mod transport;

pub use crate::app::Applications;
pub use crate::balance::configs::*;
pub use crate::balance::{Balance, ReorderMemory, RouteHash};
pub use crate::congestion::configs::*;
pub use crate::congestion::rate::configs::*;
pub use crate::congestion::rate::{Cnp, RateControl};
pub use crate::congestion::{CongestionControl, Coupling, EcnMode};
pub use crate::pacer::{Config as Pacer, Keys as PacerKeys};
pub use crate::queue::aqm::configs::*;
pub use crate::queue::aqm::{AqmKeys, Config as Aqm, QueueTag, TrimKeys};
pub use crate::queue::buffer::mmu::conweave::ConweaveRules;
pub use crate::queue::buffer::mmu::hpcc::HpccRules;
pub use crate::queue::buffer::mmu::keys::OffsetKeys;
pub use crate::queue::buffer::mmu::policy::{GroupShare, QueueShare};
pub use crate::queue::buffer::mmu::sonic::{OwnShares, SonicKeys, SonicRules};
pub use crate::queue::buffer::mmu::{Config as Mmu, MmuKeys, Rules, SharedMemory};
pub use crate::queue::buffer::shares::{checked_alpha, checked_reserve};
pub use crate::queue::buffer::sharing::{Form, Sharing};
pub use crate::queue::buffer::{VoqConfig as Voq, VoqIngress, VoqKeys};
pub use crate::queue::flowcontrol::keys::{
    Formula, Headroom, PauseTime, Pauses, Pfc, PfcKeys, Refresh, Storm, StormAction, StormKeys,
    Watchdog, WatchdogKeys, mask,
};
pub use crate::queue::limit::{Compare, Limit, QueueSize};
pub use crate::queue::marking::keys::{EcnKeys, Idle, Incapable, MarkAt, Marking};
pub use crate::queue::marking::spacing::Spacing;
pub use crate::queue::qdisc::configs::*;
pub use crate::queue::qdisc::{Config as Qdisc, Kind as QdiscKind, QdiscKeys, RingKeys};
pub use crate::queue::scheduling::Kind as SchedulingKind;
pub use crate::queue::scheduling::about::{Classes, Scheduling, Served, Service, Share};
pub use crate::queue::scheduling::blocks::{NicQueueKeys, QueueKeys, ServiceKeys};
pub use crate::timing::{Config as Timing, Keys as TimingKeys};
pub use crate::transport::datagram::keys::Config as Datagram;
pub use crate::transport::nack::Config as Nack;
pub use crate::transport::pfabric::keys::Config as Pfabric;
pub use crate::transport::rated::keys::{D3, Pdq};
pub use fabric::{Down, Link, LinkId, Node, NodeId, NodeKind, Topology};
pub use flow::{Flow, FlowId, GroupId, Start, Undrawn};
pub use host::{
    Burst, DelayedAck, Estimator, HostConfig, HostKeys, HostParts, Manner, Metrics, NicKeys,
    Pacing, Reader, Receive, ReceiveBuffer, Recovery, Retries, SackCompression, SendBuffer,
    TimerWheel,
};
pub use host::{TcpConfig, Wire};
pub use mptcp::{MptcpConfig, PathManager, PathScheduler};
pub use preset::Preset;
pub use processor::{Processor, ProcessorKeys, Stall};
pub use rdma::{Entropy, Irn, RdmaConfig, RdmaRecovery, RdmaWindow, Reps};
pub use record::{Capture, PortSeries, Record, RecordKeys};
pub(crate) use run::models;
pub use run::{Bound, Compat, EngineKind, FctEnd, MaxMemory, RunConfig, RunKeys};
pub use switch::{
    Buffer, Forwarding, QueueConfig, QueueLength, SwitchConfig, SwitchKeys, SwitchParts,
};
pub use transport::{Settings, TransportConfig, TransportKeys};

/// A complete, validated simulation.
#[derive(Debug, Clone)]
pub struct Plan {
    pub topology: Topology,
    /// Host settings, shared by all hosts of one kind. `Node::config` of a host is an index into
    /// them.
    pub hosts: Vec<HostConfig>,
    /// Switch settings. `Node::config` of a switch is an index into them.
    pub switches: Vec<SwitchConfig>,
    /// Transports. `Flow::transport` is an index into them.
    pub transports: Vec<TransportConfig>,
    /// Sizes of frames on the wire.
    pub wire: Wire,
    /// Flows in order of `FlowId`. Those with `Start::At` must be sorted by time.
    pub flows: Vec<Flow>,
    /// Flows that only an estimate counts. Empty in a plan that is run.
    pub undrawn: Vec<Undrawn>,
    /// Applications, which start more flows during the run.
    pub applications: Option<Applications>,
    pub run: RunConfig,
    pub record: Record,
}

impl Plan {
    /// Size of the largest frame of any transport.
    pub fn largest_frame(&self) -> u64 {
        let payload = |transport: &TransportConfig| {
            let frames = transport.parameters().frames();
            frames.payload + frames.data
        };
        let largest = self.transports.iter().map(payload).max().unwrap_or(0) as u64;
        (largest + self.wire.data_header as u64).max(self.wire.min_frame as u64)
    }
}
