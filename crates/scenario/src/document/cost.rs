//! `[cost]`: what the fabric costs.

use afflux_config::{Names, table};

table! {
    /// Prices, so that designs can be compared by cost too. They change no result.
    pub struct Cost {
        /// The currency of all prices, as it is printed. Default `"USD"`.
        currency: String,
        /// Price of a switch without what belongs to its ports. Default 0.
        switch: f64,
        /// Price of a port of a switch that a link is plugged into: transceiver, its part of the cable, licence. Default 0.
        port: f64,
        /// Switches of another price. Default: none: all switches have the same prices.
        #[serde(rename = "override", default, skip_serializing_if = "Vec::is_empty")]
        pub overrides: Vec<CostOverride>,
    }

    /// Switches of another price; missing keys are as in `[cost]`. If several overrides match a switch, the last one counts.
    pub struct CostOverride {
        /// Names of switches: `"leaf*"`, `["spine0", "spine1"]`.
        #[serde(rename = "match")]
        pub matching: Names,
        /// Price of a switch. Default: that of `[cost]`.
        switch: f64,
        /// Price of a port. Default: that of `[cost]`.
        port: f64,
    }
}
