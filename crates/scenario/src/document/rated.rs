//! Transports that are granted rates, and HULL's pacer.

use super::{Duration, Size, Speed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// PDQ (Hong, Caesar and Godfrey, SIGCOMM 2012): switches let the most critical flows of each link send at its rate and pause the others. All switches
/// and the senders' own links take part. Both directions of a flow must take the same way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pdq {
    /// Payload of a full segment. Default: `mtu` less the profile's headers and `header`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,
    /// Bytes of the scheduling header, on every frame both ways. Default `"16B"` (four fields of four bytes); pFabric's comparison has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<Size>,
    /// Least time-out. Default `"1ms"` (of this program: the paper gives none).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Duration>,
    /// What switches take for a round trip: their capacity is taken anew every two. Default: the longest of the idle fabric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Flows whose deadline cannot be met any more are given up (status `terminated`). Default `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_termination: Option<bool>,
    /// Flows that end within so many round trips together do not hold up the next one (K); 0 switches early start off. Default 2 (the paper's).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_start: Option<f64>,
    /// A paused flow probes every so many round trips times its place in the list, at least every one (X); 0 switches suppressed probing off.
    /// Default 0.2 (the paper's).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppressed_probing: Option<f64>,
    /// Of several paused flows one is let go per such time. Default `"10us"` (Aequitas; the paper gives none).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dampening: Option<Duration>,
    /// Most flows that a link keeps (M). Default 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_flows: Option<u32>,
}

/// D3 (Wilson et al., SIGCOMM 2011): flows ask for the rate that their deadline needs, once per round trip; switches grant first come, first served.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct D3 {
    /// As in PDQ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,
    /// As in PDQ. Default `"16B"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<Size>,
    /// Least time-out. Default `"1ms"` (of this program).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Duration>,
    /// What switches take for a round trip: their capacity is corrected every one. Default: the longest of the idle fabric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Flows whose deadline has passed, or that would need more than their link has, are given up (status `terminated`). Default `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quench: Option<bool>,
    /// What a flow is granted at least; one that has no more sends a request without data per round trip. Default: such a frame per `interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rate: Option<Speed>,
    /// Gain of a switch's estimate of capacity for what is not used. Default 0.1 (the paper's).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// The same for the queue. Default 1 (the paper's).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
}

/// HULL's pacer (Alizadeh et al., NSDI 2012): a token bucket for data of TCP flows that have met congestion. Defaults: the authors' ns-2.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pacer {
    /// How often the rate changes (T_r). Default `"64us"`; `"7.2us"` at 10 Gbps in qjump's ns-2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Weight of what was handed over in the last interval. Default 0.125.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// Bits per second on top for each bit that waits, at every change (`qlength_factor`). Default 122; 3000 at 10 Gbps in qjump's ns-2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_gain: Option<f64>,
    /// Probability that an acknowledgement with the echo associates its flow with the pacer (p_a). Default 0.125.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// For how long (T_i). Default `"10ms"`; `"1ms"` at 10 Gbps in qjump's ns-2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Least rate. Default `"10Mbps"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Speed>,
    /// Largest rate. Default: the NIC's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<Speed>,
    /// Most tokens. Default `"3100B"` (qjump's ns-2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<Size>,
}
