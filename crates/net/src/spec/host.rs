//! Hosts, TCP, and what has few settings.

use crate::congestion::EcnMode;
use afflux_config::words;
use afflux_units::{Bytes, Rate, Span};

/// Frame sizes. A frame's `size` is what occupies buffers; on the link it takes `size + gap` bytes' time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    /// The profile's name, for results.
    pub name: String,
    /// Bytes of all headers and trailers of a data frame.
    pub data_header: u16,
    /// Size of an acknowledgement without options.
    pub ack: u16,
    /// Size of a congestion notification of RDMA in a frame of its own.
    pub cnp: u16,
    /// Size of a SYN or SYN-ACK.
    pub syn: u16,
    /// Option bytes that come on top when an acknowledgement carries `n` SACK blocks, `n > 0`: `sack_base + n * sack_block`.
    pub sack_base: u16,
    pub sack_block: u16,
    /// Smaller frames are padded to this.
    pub min_frame: u16,
    /// Preamble, start delimiter and inter-frame gap: on the link only.
    pub gap: u16,
}

impl Wire {
    /// Bytes of the shortest frame.
    pub fn least(&self) -> u64 {
        self.min_frame.max(self.data_header.min(self.ack).min(self.cnp).min(self.syn)).max(1).into()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct HostConfig {
    /// Added once when a frame leaves the host and once when one arrives (NIC and stack).
    pub delay: Span,
    /// Limit of the NIC's queue; `None` is unbounded. What does not fit is dropped.
    pub queue: Option<super::Limit>,
    /// As on switches.
    pub scheduling: super::Scheduling,
    pub aqm: Option<super::Aqm>,
    pub marking: Option<super::Marking>,
    /// Holds back data of TCP flows that have met congestion.
    pub pacer: Option<super::Pacer>,
    /// What its kernel holds back while the card has enough; `None`: the card takes everything. Only with one queue that neither marks nor is limited.
    pub qdisc: Option<super::Qdisc>,
    /// Asks for explicit congestion notification where its transport uses it, and agrees to it when a peer asks.
    pub ecn: bool,
    /// Its NIC stops sending when told to.
    pub honours_pause: bool,
    pub storm: Option<super::Storm>,
    /// Deals with what arrives; `None`: that takes no time.
    pub processor: Option<super::Processor>,
    /// `None`: everything happens at once and exactly.
    pub timing: Option<super::Timing>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TcpConfig {
    pub congestion: super::CongestionControl,
    /// Payload of a full segment.
    pub mss: u16,
    /// Initial window, segments.
    pub initial_window: u32,
    /// Window in segments above which the congestion window never grows; `None` is unlimited.
    pub max_window: Option<u32>,
    pub receive: Receive,
    /// How much an application can have handed over that is not acknowledged; `None` never limits.
    pub send: Option<SendBuffer>,
    /// How the receiver's application reads.
    pub reader: Option<Reader>,
    /// Whose way of taking acknowledgements.
    pub manner: Manner,
    pub recovery: Recovery,
    /// Duplicate acknowledgements (or SACKed segments above a hole) that mean a loss; `None` switches fast retransmit off.
    pub dupack_threshold: Option<u32>,
    /// The window falls to the threshold over a round trip (RFC 6937), not at once.
    pub proportional_reduction: bool,
    /// Tail loss probes (RFC 8985 §7). With SACK or RACK.
    pub tail_probe: bool,
    /// Is a time-out checked with new data before everything is repeated (RFC 5682), and are needless reductions undone (RFC 3522)?
    pub undo: bool,
    /// A sender that was idle for longer than the time-out starts again from a smaller window: halved per time-out, as Linux does.
    pub idle_restart: bool,
    pub delayed_ack: Option<DelayedAck>,
    /// Duplicate acknowledgements after the third are sent at most so often.
    pub sack_compression: Option<SackCompression>,
    /// SYN and SYN-ACK come first.
    pub handshake: bool,
    /// What a finished connection leaves to the next one to the same host.
    pub metrics: Metrics,
    /// Data are spread over the round trip.
    pub pacing: Option<Pacing>,
    pub burst: Burst,
    /// Only a millisecond's worth of a connection waits at its host's own transmitter.
    pub small_queues: bool,
    /// It is part of a real kernel: its frames wait for interrupts and softirqs.
    pub kernel: bool,
    /// Timers expire on multiples of this; zero is exact.
    pub tick: Span,
    pub estimator: Estimator,
    /// Floor of the retransmission time-out.
    pub min_rto: Span,
    /// The variance term is at least this (RFC 6298's clock granularity).
    pub granularity: Span,
    /// `true`: the floor is on the variance term (Linux); `false`: on the whole time-out (RFC 6298).
    pub min_rto_on_variance: bool,
    pub initial_rto: Span,
    pub max_rto: Span,
    /// When a connection is given up whose oldest segment is not acknowledged; `None`: never.
    pub retries: Option<Retries>,
    /// SYNs that are sent again before that.
    pub syn_retries: Option<u32>,
    pub ecn: EcnMode,
    /// Priority of what the receiver sends; `None`: that of the flow.
    pub ack_priority: Option<u8>,
}

/// How long a segment is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retries {
    /// At the time-out after so many others (ns-3's `DataRetries`).
    Count(u32),
    /// At the first time-out so long after the first one (Linux retransmits_timed_out).
    Time(Span),
}

impl Retries {
    /// Linux tcp_model_timeout: what so many time-outs take that double from TCP_RTO_MIN up to TCP_RTO_MAX.
    pub fn doubled(count: u32) -> Retries {
        let (least, most) = (Span::from_ms(200).0, Span::from_s(120).0);
        let doubling = (most / least).ilog2();
        let (doubled, longest) = (count.min(doubling), count.saturating_sub(doubling));
        Retries::Time(Span(((2 << doubled) - 1) * least + u64::from(longest).saturating_mul(most).min(most << 20)))
    }
}

impl TcpConfig {
    /// The RFCs' machine with the fewest parts.
    pub fn basic(congestion: super::CongestionControl, mss: u16) -> TcpConfig {
        TcpConfig {
            congestion,
            mss,
            initial_window: 10,
            max_window: None,
            receive: Receive::Unlimited,
            send: None,
            reader: None,
            manner: Manner::Linux,
            recovery: Recovery::Sack,
            dupack_threshold: Some(3),
            proportional_reduction: false,
            tail_probe: false,
            undo: false,
            idle_restart: false,
            delayed_ack: None,
            sack_compression: None,
            handshake: false,
            metrics: Metrics::Off,
            pacing: None,
            burst: Burst::Segments(1),
            small_queues: false,
            kernel: false,
            tick: Span::ZERO,
            estimator: Estimator::Rfc6298,
            min_rto: Span::from_ms(200),
            granularity: Span::ZERO,
            min_rto_on_variance: false,
            initial_rto: Span::from_s(1),
            max_rto: Span::from_s(120),
            retries: None,
            syn_retries: None,
            ecn: EcnMode::Off,
            ack_priority: None,
        }
    }
}

/// Segments that leave together, as with segmentation offload: a sender waits until the window has room for as many, or for a third of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Burst {
    /// This many; 1 for no waiting.
    Segments(u32),
    /// As many as Linux puts into one buffer, and it does not wait where the next acknowledgement is far off.
    Linux,
}

/// Whose way of taking acknowledgements, where the RFCs leave a choice or are departed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Linux,
    /// But with RACK as Linux.
    Ns3,
}

/// Who limits the window at the receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Receive {
    Unlimited,
    /// Always this much beyond what has been acknowledged.
    Window(Bytes),
    /// A buffer: what has been received and not read takes room.
    Buffer(ReceiveBuffer),
}

/// A receive buffer as Linux counts it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReceiveBuffer {
    pub initial: Bytes,
    /// It grows up to this with what the application reads per round trip; equal to `initial` if it is fixed.
    pub most: Bytes,
    /// Share of the buffer that payload can take, the rest is bookkeeping; in 1/256.
    pub share: u32,
}

/// A send buffer. Linux makes it larger than three windows of payload (tcp_sndbuf_expand), so below its largest size it does not limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendBuffer {
    /// It has no less for payload, and keeps it if that is also the most.
    pub initial: Bytes,
    pub most: Bytes,
}

impl SendBuffer {
    /// Memory that Linux reckons for one segment in a window, twice: of 1460 B with headers rounded up to a power of two, and one more for each doubling.
    pub fn segments(&self, mss: u16, cwnd: u32) -> u32 {
        let of_segment = (u64::from(mss) + 640).next_power_of_two() + 256;
        let grown = 2 * u64::from(cwnd.max(10)) * of_segment;
        let bytes = grown.clamp(self.initial.0, self.most.0);
        u32::try_from(bytes / u64::from(mss)).unwrap_or(u32::MAX).max(1)
    }
}

/// How the receiving application reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// For a while everything at once, then not, in turn.
    Turns { read: Span, sleep: Span },
    /// Up to `chunk` at a time, which it then works on at `rate` before it reads on.
    Worker { chunk: Bytes, rate: Rate },
}

/// Linux's compression of SACKs: one per `1 / part` of the round trip, at most `most` apart, at the latest after `segments`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackCompression {
    pub part: u32,
    pub most: Span,
    pub segments: u32,
}

/// Linux's tcp_metrics: what is kept per destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metrics {
    #[default]
    Off,
    /// The slow start threshold.
    Full,
}

/// Rate: `mss * max(cwnd, in flight) / srtt`, times a percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    /// Payload leaves no faster than this (Linux's `SO_MAX_PACING_RATE`).
    pub most: Option<Rate>,
    pub slow_start_percent: u32,
    pub avoidance_percent: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// Largest number of full segments per acknowledgement.
    pub segments: u32,
    pub timeout: Span,
    /// Acknowledgements that are not delayed at the start of a connection and after disorder (Linux: 16).
    pub quick: u32,
}

words! {
    /// Variance of the round trip.
    pub enum Estimator {
        /// RFC 6298.
        Rfc6298,
        /// The largest deviation of a round trip counts, and shorter round trips count less.
        Linux,
    }
    /// How a sender detects losses.
    pub enum Recovery {
        /// RFC 6675: a scoreboard of selective acknowledgements.
        Sack,
        /// RFC 8985: a segment is lost if one that was sent later has arrived.
        Rack,
        /// RFC 6582: one hole per round trip.
        #[serde(rename = "newreno")]
        NewReno,
    }
}
