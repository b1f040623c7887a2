//! `[cost]`: what the fabric costs.

use afflux_config::{Names, table};

table! {
    /// Prices of switches and ports, to compare designs by cost. They change no result.
    pub struct Cost {
        /// Currency of all prices, as it is printed. Default `"USD"`.
        currency: String,
        /// Price of a switch without its ports. Default 0.
        switch: f64,
        /// Price of a switch port that has a link: transceiver, share of the cable, licence.
        /// Default 0.
        port: f64,
        /// Switches with other prices. Default: none: all switches have the same prices.
        #[serde(rename = "override", default, skip_serializing_if = "Vec::is_empty")]
        pub overrides: Vec<CostOverride>,
    }

    /// Prices of some switches. Missing keys have their values from `[cost]`. If several overrides
    /// match a switch, the last one counts.
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
