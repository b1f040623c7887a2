//! Rate-based datagrams with negative acknowledgements.

use super::{Duration, Or, Size, Speed, Unlimited};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Datagrams at a rate of the sender's own, whatever is lost; what the receiver reports missing is sent again, in the same pace (as Tsunami UDP, RBUDP
/// and UDT do, without their adaptation of the rate). Flows should keep to one path: what is overtaken is taken for lost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nack {
    /// Rate of payload, or `"unlimited"`: as fast as the NIC. Default `"unlimited"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Or<Unlimited, Speed>>,
    /// Payload of a frame. Default: `mtu` less the profile's headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,
    /// How often the receiver reports everything that is missing; a gap is reported at once. Default: the longest round trip of the idle fabric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Duration>,
    /// When all has been sent, the last segment is repeated after so long without a report; twice as long each further time. Default: twice the
    /// longest round trip of the idle fabric, and `report`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}
