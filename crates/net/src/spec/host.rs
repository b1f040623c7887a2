//! Specifies hosts, frame sizes and TCP.

use super::processor::{Processor, ProcessorKeys};
use crate::congestion::EcnMode;
use crate::pacer::{Config as Pacer, Keys as PacerKeys};
use crate::queue::aqm::Config as Aqm;
use crate::queue::flowcontrol::keys::{Storm, StormKeys};
use crate::queue::limit::{Limit, QueueSize};
use crate::queue::marking::keys::{EcnKeys, Marking};
use crate::queue::qdisc::{Config as Qdisc, QdiscKeys, RingKeys};
use crate::queue::scheduling::Kind as SchedulingKind;
use crate::queue::scheduling::about::Scheduling;
use crate::queue::scheduling::blocks::NicQueueKeys;
use crate::timing::{Config as Timing, Exact, Keys as TimingKeys};
use afflux_config::keys::{at_most_a_second, meaningless};
use afflux_config::tree::Wrong;
use afflux_config::{Duration, Off, Or, Size, Unlimited, keys, words};
use afflux_units::{Bytes, Rate, Span};

/// Frame sizes in bytes. A frame occupies `size` bytes in buffers, and takes the time of `size +
/// gap` bytes on the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    /// Name of the profile, for results.
    pub name: String,
    /// Size of all headers and trailers of a data frame.
    pub data_header: u16,
    /// Size of an acknowledgement without options.
    pub ack: u16,
    /// Size of an RDMA congestion notification that is sent as a frame of its own.
    pub cnp: u16,
    /// Size of a SYN or SYN-ACK.
    pub syn: u16,
    /// Size of the additional options if an acknowledgement carries `n` SACK blocks, `n > 0`:
    /// `sack_base + n * sack_block`.
    pub sack_base: u16,
    pub sack_block: u16,
    /// Size to which smaller frames are padded.
    pub min_frame: u16,
    /// Preamble, start delimiter and interframe gap. They take time on the link, but no space in
    /// buffers.
    pub gap: u16,
}

impl Wire {
    /// Returns the size of the shortest frame in bytes.
    pub fn least(&self) -> u64 {
        self.min_frame.max(self.data_header.min(self.ack).min(self.cnp).min(self.syn)).max(1).into()
    }
}

keys! {
    /// Delay and queues of a NIC.
    pub struct NicKeys as "NicKeys" => Nic {
        /// Delay of NIC and stack, added once when a frame leaves a host and once when a frame
        /// arrives. The pFabric authors' ns-2 has 2.5 us.
        delay: Duration = "0ns", check at_most_a_second;
        /// Limit of the NIC's queue; frames that do not fit are dropped. Without a limit a sender
        /// waits for its NIC.
        queue: Or<Unlimited, QueueSize> as Option<Limit> = "unlimited", check |limit, key| match limit.0 {
            Some(QueueSize(Limit::Bytes(0) | Limit::Packets(0))) => Err(Wrong::at(
                key,
                "a queue of size 0 drops every frame: write a size above 0, or \"unlimited\"",
            )),
            limit => Ok(limit.map(|QueueSize(limit)| limit)),
        };
        @{
            /// Order in which the NIC sends. Default `"fifo"`, or the order that follows from the
            /// `nic_queue` blocks.
            scheduling: SchedulingKind;
            /// With `scheduling = "strict_priority"` and without `nic_queue` blocks: number of
            /// queues, 2 to 8. Default 8.
            priorities: u8;
            /// With `scheduling = "dwrr"` or `"ets"`: bytes per turn for a weight of 1, or for the
            /// least bandwidth. Default: a full frame.
            quantum: Size;
            /// Queues of each NIC, by class, 2 to 8 of them. In an override all queues are replaced.
            /// Default: none: one queue, or with `scheduling = "strict_priority"` as many as
            /// `priorities` says.
            nic_queue: Vec<NicQueueKeys>;
        };
    }
}

keys! {
    /// Settings of a host, apart from those of `NicKeys`.
    pub struct HostKeys as "HostKeys" => HostConfig(parts: HostParts) {
        /// Whether the host uses explicit congestion notification: it asks for ECN if its transport
        /// does, and agrees when a peer asks. If `false`, no connection from or to the host uses
        /// ECN, and DCTCP behaves as Reno there, as in Linux. `false` is Linux's `tcp_ecn = 0` on a
        /// host without DCTCP; DCTCP asks and agrees whatever `tcp_ecn` is.
        ecn: bool = true;
        /// ECN marking in the NIC's queues, as on switches, or `"off"`. The pFabric authors' ns-2
        /// also marks at NICs.
        marking "nic_ecn": Or<Off, EcnKeys> as Option<Marking> = "off", table |ecn, key| if parts.kind.is_pfabric() {
            Err(meaningless(key.clone(), &parts.kind.word()))
        } else {
            ecn.marking(key)
        };
        @{
            /// Queueing discipline of the kernel, which holds frames back while the NIC has enough:
            /// a name, or a table with `kind` and parameters; in an override the whole value is
            /// replaced. Default: `"fq_codel"` if the default of `timing` is not `"exact"`, some
            /// traffic is TCP, and no host has `queue`, `scheduling`, `nic_queue`, `nic_ecn` or
            /// `pacer`; otherwise `"off"`: the NIC takes everything at once. RDMA frames are not
            /// held back.
            #[schemars(schema_with = "afflux_config::name_or_table::<QdiscKeys>")]
            qdisc: QdiscKeys;
        };
        @rings: RingKeys;
        /// HULL's pacer before the NIC, or `"off"`. `{}` has the authors' parameters. In an override
        /// the whole value is replaced.
        pacer: Or<Off, PacerKeys> as Option<Pacer> = "off", table PacerKeys::resolve;
        /// Whether the NIC obeys PAUSE frames of its switch.
        honours_pause: bool = true;
        /// Fault for tests: the NIC repeatedly sends PAUSE frames to its switch. Default: none: no
        /// storm.
        storm: StormKeys as Option<Storm> = none, table StormKeys::resolve;
        /// Processor that handles arriving frames, or `"off"`: handling takes no time. In an
        /// override the whole value is replaced.
        processor: Or<Off, ProcessorKeys> as Option<Processor> = "off", table ProcessorKeys::processor;
        /// Timing of real hosts (interrupts, hand-over to the NIC, gaps between frames, clocks), or
        /// `"exact"` for none of it. With `"exact"`, simultaneous senders stay in phase, and at a
        /// full queue one of them can take every free place. In an override the whole value is
        /// replaced. Default: `{}` if all traffic but datagrams uses Linux's TCP
        /// (`stack = "linux"`) or RDMA; otherwise, and always with `run.compat` or
        /// `run.engine = "ideal"`, `"exact"`.
        timing: Or<Exact, TimingKeys> as Option<Timing> = none, table TimingKeys::resolve;
    }
    plus {
        delay: Span = parts.nic.delay;
        /// Limit of the NIC's queue; `None`: unlimited. Frames that exceed the limit are dropped.
        queue: Option<Limit> = parts.nic.queue.filter(|_| !parts.kind.is_pfabric());
        /// Scheduling of the NIC's queues, as on switches.
        scheduling: Scheduling = parts.scheduling;
        /// Discipline that drops and serves by urgency. The limit of the queue is then its own.
        aqm: Option<Aqm> = parts.kind.discipline(parts.nic.queue);
        /// Queueing discipline of the kernel, which holds frames back while the card has enough.
        /// `None`: the card takes all frames. It requires a single queue that has no limit and does
        /// not mark.
        qdisc: Option<Qdisc> = parts.qdisc;
    }
}

/// Settings of a host that follow from several of its keys.
#[derive(Debug, Clone)]
pub struct HostParts {
    pub nic: Nic,
    pub kind: SchedulingKind,
    pub scheduling: Scheduling,
    pub qdisc: Option<Qdisc>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TcpConfig {
    pub congestion: super::CongestionControl,
    /// Payload of a full segment in bytes.
    pub mss: u16,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Maximum congestion window in segments; `None`: unlimited.
    pub max_window: Option<u32>,
    pub receive: Receive,
    /// Send buffer, which limits the unacknowledged data of an application; `None`: unlimited.
    pub send: Option<SendBuffer>,
    /// Reading pattern of the receiving application; `None`: it reads everything at once.
    pub reader: Option<Reader>,
    /// Implementation whose processing of acknowledgements is followed.
    pub manner: Manner,
    pub recovery: Recovery,
    /// Number of duplicate acknowledgements (or of SACKed segments above a hole) that indicate a
    /// loss; `None`: no fast retransmit.
    pub dupack_threshold: Option<u32>,
    /// `true`: the window falls to the threshold gradually over a round trip (RFC 6937). `false`:
    /// the window falls at once.
    pub proportional_reduction: bool,
    /// Enables tail loss probes (RFC 8985 §7), with SACK or RACK.
    pub tail_probe: bool,
    /// Enables checking a time-out with new data before everything is retransmitted (RFC 5682), and
    /// undoing spurious reductions (RFC 3522).
    pub undo: bool,
    /// Enables restarting from a smaller window after the sender was idle for longer than the
    /// time-out. The window is halved per time-out, as in Linux.
    pub idle_restart: bool,
    pub delayed_ack: Option<DelayedAck>,
    /// Limits the rate of duplicate acknowledgements after the third one.
    pub sack_compression: Option<SackCompression>,
    /// Enables the handshake with SYN and SYN-ACK.
    pub handshake: bool,
    /// State that a finished connection leaves to the next connection to the same host.
    pub metrics: Metrics,
    /// Spreads data over the round trip.
    pub pacing: Option<Pacing>,
    pub burst: Burst,
    /// Limits the data of a connection that wait at its host's own transmitter to the amount of one
    /// millisecond.
    pub small_queues: bool,
    /// True if the stack is part of a real kernel, so that its frames wait for interrupts and
    /// softirqs.
    pub kernel: bool,
    /// Timer resolution: timers expire at multiples of this; zero is exact.
    pub tick: Span,
    pub timer_wheel: TimerWheel,
    pub estimator: Estimator,
    /// Minimum of the retransmission time-out.
    pub min_rto: Span,
    /// Minimum of the variance term (clock granularity of RFC 6298).
    pub granularity: Span,
    /// `true`: `min_rto` applies to the variance term (Linux). `false`: it applies to the whole
    /// time-out (RFC 6298).
    pub min_rto_on_variance: bool,
    pub initial_rto: Span,
    pub max_rto: Span,
    /// Rule for giving up a connection whose oldest segment is not acknowledged; `None`: never.
    pub retries: Option<Retries>,
    /// Number of retransmissions of a SYN before the connection is given up.
    pub syn_retries: Option<u32>,
    pub ecn: EcnMode,
    /// Priority of the frames that the receiver sends; `None`: priority of the flow.
    pub ack_priority: Option<u8>,
}

/// Limit for the retransmission of a segment, after which the connection is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retries {
    /// Gives up at the time-out that follows this number of time-outs (`DataRetries` of ns-3).
    Count(u32),
    /// Gives up at the first time-out that is this long after the first one
    /// (`retransmits_timed_out` of Linux).
    Time(Span),
}

impl Retries {
    /// Returns the total duration of `count` time-outs that double from TCP_RTO_MIN up to
    /// TCP_RTO_MAX (`tcp_model_timeout` of Linux).
    pub fn doubled(count: u32) -> Retries {
        let (least, most) = (Span::from_ms(200).0, Span::from_s(120).0);
        let doubling = (most / least).ilog2();
        let (doubled, longest) = (count.min(doubling), count.saturating_sub(doubling));
        Retries::Time(Span(
            ((2 << doubled) - 1) * least + u64::from(longest).saturating_mul(most).min(most << 20),
        ))
    }
}

impl TcpConfig {
    /// Returns the simplest configuration that follows the RFCs.
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
            timer_wheel: TimerWheel::NonCascading,
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

/// Number of segments that leave together, as with segmentation offload. The sender waits until the
/// window has space for all of them, or for a third of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Burst {
    /// Fixed number; 1 disables waiting.
    Segments(u32),
    /// Number that Linux puts into one buffer. The sender does not wait if the next acknowledgement
    /// is far off.
    Linux,
}

/// Implementation that is followed in processing acknowledgements, where the RFCs leave a choice or
/// where the implementation departs from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Linux,
    /// ns-3, except that RACK works as in Linux.
    Ns3,
}

/// Rule that limits the receive window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Receive {
    Unlimited,
    /// Constant window beyond the acknowledged data.
    Window(Bytes),
    /// Receive buffer, in which received but unread data occupy space.
    Buffer(ReceiveBuffer),
}

/// Receive buffer with the accounting of Linux.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReceiveBuffer {
    pub initial: Bytes,
    /// Maximum size. The buffer grows up to it with the amount that the application reads per round
    /// trip. Equal to `initial` for a fixed size.
    pub most: Bytes,
    /// Share of the buffer that payload can occupy, in 1/256. The rest is bookkeeping.
    pub share: u32,
}

/// Send buffer with the accounting of Linux. It is larger than the congestion window
/// (`tcp_sndbuf_expand`), so it limits only at its maximum size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendBuffer {
    /// Minimum size in bytes, bookkeeping included. Equal to `most` for a fixed size.
    pub initial: Bytes,
    pub most: Bytes,
}

impl SendBuffer {
    /// Returns the size in bytes while the congestion window is `cwnd` segments. As in Linux, the
    /// buffer has twice the memory of the window. The memory of a segment is its payload with 640
    /// bytes of headers, rounded up to a power of two, plus 256 bytes.
    pub fn size(&self, mss: u16, cwnd: u32) -> u64 {
        let of_segment = (u64::from(mss) + 640).next_power_of_two() + 256;
        let grown = 2 * u64::from(cwnd.max(10)) * of_segment;
        grown.clamp(self.initial.0, self.most.0)
    }
}

/// Reading pattern of the receiving application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Alternates between reading everything at once for `read` and not reading for `sleep`.
    Turns { read: Span, sleep: Span },
    /// Reads up to `chunk` at a time, and processes it at `rate` before reading on.
    Worker { chunk: Bytes, rate: Rate },
}

/// SACK compression of Linux: one acknowledgement per `1 / part` of the round trip, at most `most`
/// apart, and at the latest after `segments`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackCompression {
    pub part: u32,
    pub most: Span,
    pub segments: u32,
}

/// Values kept per destination (`tcp_metrics` of Linux).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metrics {
    #[default]
    Off,
    /// Keeps the slow start threshold.
    Full,
}

/// Pacing at the rate `mss * max(cwnd, in flight) / srtt`, times a percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    /// Maximum rate of payload (`SO_MAX_PACING_RATE` of Linux).
    pub most: Option<Rate>,
    pub slow_start_percent: u32,
    pub avoidance_percent: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// Largest number of full segments per acknowledgement.
    pub segments: u32,
    pub timeout: Span,
    /// Number of acknowledgements that are not delayed at the start of a connection and after
    /// reordering or loss (Linux: 16).
    pub quick: u32,
}

words! {
    /// Linux's data structure for timers, which decides at which tick they expire.
    pub enum TimerWheel {
        /// Linux since 4.8: one tick later than set, and beyond 62 ticks at a multiple of 8, 64, …
        /// ticks.
        NonCascading,
        /// Linux before 4.8: at the tick for which they are set.
        Cascading,
    }
    /// Estimator of the round-trip time variance.
    pub enum Estimator {
        /// RFC 6298.
        Rfc6298,
        /// Linux: the largest deviation within a round trip counts, and shorter round trips count
        /// less.
        Linux,
    }
    /// Method by which a sender detects losses.
    pub enum Recovery {
        /// RFC 6675: a scoreboard of selective acknowledgements.
        Sack,
        /// RFC 8985: a segment is lost if a segment that was sent later has arrived.
        Rack,
        /// RFC 6582: repairs one hole per round trip.
        #[serde(rename = "newreno")]
        NewReno,
    }
}
