//! Transports that are granted rates, and HULL's pacer.

use super::{Duration, Size, Speed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
