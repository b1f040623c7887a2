//! Hosts and their transports.

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
    /// Option bytes that come on top when an acknowledgement carries `n` SACK blocks, `n > 0`: `sack_base + n * sack_block`.
    pub sack_base: u16,
    pub sack_block: u16,
    /// Smaller frames are padded to this.
    pub min_frame: u16,
    /// Preamble, start delimiter and inter-frame gap: on the link only.
    pub gap: u16,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HostConfig {
    /// Added once when a frame leaves the host and once when one arrives (NIC and stack).
    pub delay: Span,
    /// Limit of the NIC's queue; `None` is unbounded. What does not fit is dropped.
    pub queue: Option<super::Limit>,
    /// FIFO, or strict priority as on switches.
    pub scheduling: super::Scheduling,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TransportConfig {
    Tcp(TcpConfig),
    Datagram(Datagram),
}

/// A constant-rate source: frames of `payload` bytes at `rate` (of payload), the first at the flow's start. Nothing is acknowledged
/// or repeated; the flow is finished when every byte has arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Datagram {
    /// `None`: as fast as the NIC.
    pub rate: Option<Rate>,
    pub payload: u16,
    /// Frames are ECN-capable: marked, not dropped, by marking queues.
    pub ecn_capable: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TcpConfig {
    pub congestion: CongestionControl,
    /// Payload of a full segment.
    pub mss: u16,
    /// Initial window, segments.
    pub initial_window: u32,
    /// Window in segments above which the congestion window never grows; `None` is unlimited.
    pub max_window: Option<u32>,
    /// Receive window, bytes; `None` never limits.
    pub receive_window: Option<Bytes>,
    pub recovery: Recovery,
    /// Duplicate acknowledgements (or SACKed segments above a hole) that mean a loss; `None` switches fast retransmit off.
    pub dupack_threshold: Option<u32>,
    pub delayed_ack: Option<DelayedAck>,
    /// Floor of the retransmission time-out.
    pub min_rto: Span,
    /// `true`: the floor is on the variance term (Linux); `false`: on the whole time-out (RFC 6298).
    pub min_rto_on_variance: bool,
    pub initial_rto: Span,
    pub max_rto: Span,
    pub ecn: EcnMode,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CongestionControl {
    /// RFC 5681 / RFC 6582.
    NewReno,
    /// RFC 8257.
    Dctcp(DctcpConfig),
    Bbr(BbrConfig),
    Bbr3(Bbr3Config),
}

/// BBR version 1, as in Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BbrConfig {
    /// Time without a smaller round trip after which the sender empties the pipe; 10 s in Linux.
    pub probe_rtt_interval: Span,
    /// How long it does so, at least; 200 ms in Linux.
    pub probe_rtt_time: Span,
    /// Segments handed to the network at once, for which the window has room thrice; `None`: Linux's segmentation offload.
    pub send_quantum: Option<u32>,
}

/// BBR version 3, as in google/bbr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bbr3Config {
    /// As in [`BbrConfig`]; 5 s.
    pub probe_rtt_interval: Span,
    pub probe_rtt_time: Span,
    pub send_quantum: Option<u32>,
    /// Reacts to marks: the network marks early, and every mark is echoed exactly.
    pub ecn: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DctcpConfig {
    /// g = 2^-gain_shift; 4 in the paper, the RFC and Linux.
    pub gain_shift: u32,
    /// Initial alpha in 1/1024; 1024 in Linux, 0 in the authors' ns-2.
    pub initial_alpha: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// RFC 6582: one hole per round trip.
    NewReno,
    /// RFC 6675 scoreboard.
    Sack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// Acknowledge at the latest every so many full segments.
    pub segments: u32,
    pub timeout: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnMode {
    Off,
    /// RFC 3168: data is ECN-capable, acknowledgements and retransmissions are not; one reduction per round trip.
    Classic,
    /// DCTCP: every frame is ECN-capable and the receiver echoes each mark exactly.
    Dctcp,
}
