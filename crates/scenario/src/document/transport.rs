//! `[host.transport]` and `[host.transports.NAME]`.

use super::choice::tagged;
use super::switch::words;
use super::{Auto, Duration, Off, Or, Size, Speed, Unlimited};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

tagged! {
    /// How hosts send, chosen by `kind`; without it `"tcp"`.
    pub enum Transport, default "tcp" {
        /// TCP.
        "tcp" => Tcp,
        /// A constant rate without acknowledgement or repetition.
        "datagram" => Datagram,
    }
}

/// TCP: byte streams with acknowledgements; connections are open from the start (no handshake).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Congestion control. Default `"newreno"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
    /// Payload of a full segment. Default: `mtu` less the profile's headers (1460 B for `"ethernet"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<Size>,
    /// Initial window in segments. Default 10 (RFC 6928; Linux).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// Window in segments above which the congestion window never grows. Default `"unlimited"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_window: Option<Or<Unlimited, u32>>,
    /// The receiver's window. Default `"unlimited"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<Or<Unlimited, Size>>,
    /// Which losses a sender knows of. Default `"sack"` (RFC 6675; Linux).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Duplicate acknowledgements (or SACKed segments above a hole) that mean a loss; `"off"`: no fast retransmit. Default 3 (RFC 5681).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dupack_threshold: Option<Or<Off, u32>>,
    /// Delayed acknowledgements, or `"off"`: every segment is acknowledged. Default `"off"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Or<Off, DelayedAck>>,
    /// Floor of the retransmission time-out. Default `"200ms"` (Linux's TCP_RTO_MIN; RFC 6298 says 1 s). Data centres usually set less
    /// (1 to 10 ms; 200 us in the pFabric study): with this default one lost tail costs 200 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Duration>,
    /// `true`: the floor is on the variance term, so the time-out is at least the round trip plus `min_rto` (Linux); `false`: on the whole
    /// time-out (RFC 6298). Default `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto_on_variance: Option<bool>,
    /// Time-out before the first round-trip sample. Default: what one sample of the longest path without queues gives, because connections
    /// are open from the start (RFC 6298 §2.2); a connection without any sample has 1 s (§2.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Duration>,
    /// Ceiling of the time-out with back-off. Default `"120s"` (Linux's TCP_RTO_MAX), or `min_rto` or `initial_rto` if longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rto: Option<Duration>,
    /// Explicit congestion notification. Default `"dctcp"` with `congestion = "dctcp"`, otherwise `"off"`. BBR version 1 does not react to it; version 3 does with `"dctcp"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Echo>,
    /// Parameters of DCTCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dctcp: Option<Dctcp>,
    /// Parameters of BBR version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bbr: Option<Bbr>,
    /// Parameters of BBR version 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bbr3: Option<Bbr>,
}

words! {
    /// Congestion control.
    pub enum Congestion {
        /// RFC 5681 and RFC 6582.
        Newreno,
        /// RFC 8257.
        Dctcp,
        /// BBR version 1, as in Linux: rate and round trip are measured, losses and marks change little.
        Bbr,
        /// BBR version 3, as in google/bbr: with bounds learnt from losses and, with `ecn = "dctcp"`, from marks.
        Bbr3,
    }
    /// Which losses a sender knows of.
    pub enum Recovery {
        /// RFC 6675: a scoreboard of selective acknowledgements.
        Sack,
        /// RFC 6582: one hole per round trip.
        Newreno,
    }
    /// Explicit congestion notification.
    pub enum Echo {
        /// Frames are not ECN-capable.
        Off,
        /// RFC 3168: data is ECN-capable, acknowledgements and retransmissions are not; one reduction per round trip.
        Classic,
        /// Every frame is ECN-capable and the receiver echoes each mark exactly (RFC 8257 §3.2).
        Dctcp,
    }
}

/// Parameters of DCTCP (RFC 8257).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dctcp {
    /// Weight g of the newest marked share in alpha; a power of two. Default 0.0625 (1/16 in paper, RFC and Linux).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// Alpha at the start, 0 to 1. Default 1 (RFC 8257 and Linux); the authors' ns-2 has 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_alpha: Option<f64>,
}

/// Parameters of BBR.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bbr {
    /// Time without a smaller round trip after which the pipe is emptied to measure it. Default `"10s"` for version 1 (Linux), `"5s"` for version 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_rtt_interval: Option<Duration>,
    /// How long that lasts, at least. Default `"200ms"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_rtt_time: Option<Duration>,
    /// Segments that sender and receiver hand over at once: the window has room for three times as many beyond the path's own. `"auto"`: what
    /// Linux's segmentation offload takes, a millisecond's worth. ns-3 has 1. Default `"auto"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_quantum: Option<Or<Auto, u32>>,
}

/// Delayed acknowledgements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedAck {
    /// Acknowledge at the latest every so many full segments. Default 2 (RFC 5681 §4.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    /// Acknowledge at the latest after this time. Default `"40ms"` (Linux's TCP_DELACK_MIN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

/// Datagrams at a constant rate. A flow is finished when every byte has arrived.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Datagram {
    /// Rate of payload, or `"unlimited"`: as fast as the NIC. Default `"unlimited"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Or<Unlimited, Speed>>,
    /// Payload of a frame. Default: `mtu` less the profile's headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,
    /// Frames are ECN-capable: marked, not dropped, by marking queues. Default `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_capable: Option<bool>,
}
