//! What a transport's flows are like to a network that knows rates but no frames.

use crate::congestion::{Cut, Early, Growth, rate};
use crate::spec::*;
use crate::transport;
use crate::world::World;

/// Part of a link that flows under coupled congestion controls use which it limits, as measured (validation/estimates.py).
const COUPLED: f64 = 0.92;

/// What all flows of a transport have in common. Bytes, bytes per second, seconds.
#[derive(Debug, Clone)]
pub struct Habits {
    /// Payload of a full frame.
    pub payload: f64,
    /// Bytes on a link for each byte of payload, gap included: of the data, and of what answers them in the other direction.
    pub forth: f64,
    pub back: f64,
    /// Acknowledgements that are sent at once at the start of a connection; from then on one for so many frames, 0 for none.
    pub quick: f64,
    pub frames_per_ack: f64,
    /// So often a receiver reports, whatever comes.
    pub reports: f64,
    /// Frames that open and close a connection: from its source, and to it.
    pub control: (u64, u64),
    /// Nothing is sent before a round trip has passed.
    pub opens: bool,
    /// The window at the start; infinite where a flow starts at the rate of its NIC.
    pub initial_window: f64,
    /// The window never exceeds this.
    pub window: f64,
    pub rate: f64,
    /// The rate yields to congestion.
    pub yields: bool,
    /// How the window answers to congestion, and how it grows from then on.
    pub cut: Cut,
    pub growth: Growth,
    pub early: Option<Early>,
    /// Part of a switch's link that flows use which are limited by it.
    pub efficiency: f64,
    /// How much of it they use is not known beforehand.
    pub erratic: bool,
    /// Links grant rates: nobody sends more than they carry.
    pub granted: bool,
    /// Frames that overtake each other are taken for losses.
    pub ordered: bool,
    /// The receiving application takes its time: bytes per second.
    pub reads: f64,
    /// Its frames can be marked, and are not dropped by what marks.
    pub marked: bool,
    /// What waits at the host's own NIC is bounded.
    pub small_queues: bool,
    /// Bytes of memory for its two ends, without what depends on the window.
    pub halves: usize,
    /// Senders keep a record of each frame that is outstanding.
    pub remembers: bool,
    pub subflows: usize,
}

impl Habits {
    pub fn of(world: &World, transport: &TransportConfig) -> Self {
        let wire = &world.plan.wire;
        let on_link = |bytes: u16| f64::from(bytes.max(wire.min_frame)) + f64::from(wire.gap);
        let sizes = |payload: u16, overhead: u16| (f64::from(payload.max(1)), on_link(payload + overhead + wire.data_header), on_link(wire.ack + overhead));
        let made = |(payload, data, ack): (f64, f64, f64), frames_per_ack: f64| Habits {
            payload,
            forth: data / payload,
            back: if frames_per_ack > 0.0 { ack / frames_per_ack / payload } else { 0.0 },
            quick: 0.0,
            frames_per_ack,
            reports: f64::INFINITY,
            control: (0, 0),
            opens: false,
            initial_window: f64::INFINITY,
            window: f64::INFINITY,
            rate: f64::INFINITY,
            yields: true,
            cut: Cut::default(),
            growth: Growth::AtOnce,
            early: None,
            efficiency: 1.0,
            erratic: false,
            granted: false,
            ordered: false,
            reads: f64::INFINITY,
            marked: false,
            small_queues: false,
            halves: 0,
            remembers: false,
            subflows: 1,
        };
        match transport {
            TransportConfig::Tcp(tcp) => Self::of_tcp(tcp, made(sizes(tcp.mss, 0), per_ack(tcp)), size_of::<transport::tcp::Sender>() + 200),
            TransportConfig::Mptcp(mptcp) => {
                let payload = mptcp.tcp.mss.saturating_sub(MptcpConfig::DATA_OPTION);
                let subflows = match mptcp.manager {
                    PathManager::DiffPorts(count) | PathManager::FullMesh(count) => usize::from(count.max(1)),
                };
                let one = size_of::<transport::mptcp::Subflow>() + size_of::<transport::tcp::Receiver>() + 300;
                let of_one = Self::of_tcp(&mptcp.tcp, made(sizes(payload, MptcpConfig::DATA_OPTION), per_ack(&mptcp.tcp)), one);
                let control = if mptcp.tcp.handshake { (3 * subflows as u64, 2 * subflows as u64) } else { (0, 0) };
                let halves = subflows * one + size_of::<transport::mptcp::Connection>() + size_of::<transport::mptcp::Joint>();
                // All subflows together grow as one connection (RFC 6356).
                let growth = match of_one.growth {
                    Growth::PerRoundTrip(bytes) => Growth::PerRoundTrip(bytes / subflows as f64),
                    other => other,
                };
                let window = window(mptcp.receive).min(of_one.window);
                Habits { subflows, halves, control, efficiency: COUPLED, growth, erratic: of_one.marked, window, ..of_one }
            }
            TransportConfig::Datagram(datagram) => Habits {
                rate: datagram.rate.map_or(f64::INFINITY, |rate| rate.0 as f64 / 8.0),
                yields: false,
                marked: datagram.ecn_capable,
                halves: size_of::<transport::datagram::Source>() + size_of::<transport::datagram::Sink>(),
                ..made(sizes(datagram.payload, 0), 0.0)
            },
            TransportConfig::Nack(nack) => Habits {
                reports: nack.report.as_seconds(),
                rate: nack.rate.map_or(f64::INFINITY, |rate| rate.0 as f64 / 8.0),
                yields: false,
                halves: size_of::<transport::nack::Sender>() + size_of::<transport::nack::Receiver>(),
                ..made(sizes(nack.payload, 0), 0.0)
            },
            TransportConfig::Rdma(rdma) => Habits {
                erratic: of_rate(rdma).is_some_and(|habits| habits.erratic),
                growth: of_rate(rdma).map_or(Growth::AtOnce, |habits| habits.growth),
                efficiency: of_rate(rdma).map_or(1.0, |habits| habits.efficiency),
                ordered: matches!(rdma.recovery, RdmaRecovery::GoBackN { .. }),
                marked: true,
                halves: size_of::<transport::rdma::QueuePair>() + size_of::<transport::rdma::Responder>(),
                ..made(sizes(rdma.payload, rdma.overhead()), 1.0)
            },
            TransportConfig::Pfabric(pfabric) => Habits {
                initial_window: f64::INFINITY,
                window: pfabric.tcp.max_window.map_or(f64::INFINITY, |frames| f64::from(frames) * f64::from(pfabric.tcp.mss)),
                remembers: true,
                halves: size_of::<transport::pfabric::Sender>() + size_of::<transport::tcp::Receiver>(),
                ..made(sizes(pfabric.tcp.mss, 0), 1.0)
            },
            TransportConfig::Pdq(Pdq { rated, .. }) | TransportConfig::D3(D3 { rated, .. }) => {
                let halves = size_of::<transport::rated::Sender>() + size_of::<transport::rated::Receiver>();
                Habits { opens: true, granted: true, control: (2, 2), halves, ..made(sizes(rated.payload, rated.header), 1.0) }
            }
        }
    }

    fn of_tcp(tcp: &TcpConfig, common: Habits, halves: usize) -> Habits {
        let (piece, reads) = match tcp.reader {
            Some(Reader::Worker { chunk, rate }) => (chunk.0 as f64, rate.0 as f64 / 8.0),
            Some(Reader::Turns { .. }) | None => (0.0, f64::INFINITY),
        };
        let (cut, growth) = tcp.congestion.parameters().habits(common.payload);
        Habits {
            cut,
            growth,
            early: tcp.congestion.parameters().early(),
            ordered: tcp.dupack_threshold.is_some() && tcp.recovery != Recovery::Rack,
            reads,
            // The window opens with each piece that is read, and then there is an acknowledgement.
            frames_per_ack: common.frames_per_ack.max(piece / common.payload),
            quick: tcp.delayed_ack.map_or(0.0, |delayed| f64::from(delayed.quick)),
            control: if tcp.handshake { (3, 1) } else { (0, 0) },
            opens: tcp.handshake,
            initial_window: f64::from(tcp.initial_window) * common.payload,
            window: window(tcp.receive).min(tcp.max_window.map_or(f64::INFINITY, |frames| f64::from(frames) * common.payload)),
            rate: tcp.pacing.and_then(|pacing| pacing.most).map_or(f64::INFINITY, |rate| rate.0 as f64 / 8.0),
            marked: tcp.ecn != EcnMode::Off,
            small_queues: tcp.small_queues,
            halves,
            remembers: true,
            ..common
        }
    }

    /// Acknowledgements of so many frames.
    pub fn acknowledgements(&self, frames: f64) -> f64 {
        if self.frames_per_ack == 0.0 {
            return 0.0;
        }
        let quick = frames.min(self.quick);
        quick + ((frames - quick) / self.frames_per_ack).ceil()
    }
}

fn of_rate(rdma: &RdmaConfig) -> Option<rate::Habits> {
    rdma.control.parameters().map(|parameters| parameters.habits(f64::from(rdma.payload)))
}

/// Frames that one acknowledgement is for.
fn per_ack(tcp: &TcpConfig) -> f64 {
    tcp.delayed_ack.map_or(1.0, |delayed| f64::from(delayed.segments.max(1)))
}

fn window(receive: Receive) -> f64 {
    match receive {
        Receive::Unlimited => f64::INFINITY,
        Receive::Window(bytes) => bytes.0 as f64,
        Receive::Buffer(buffer) => buffer.most.0 as f64 * f64::from(buffer.share) / 256.0,
    }
}
