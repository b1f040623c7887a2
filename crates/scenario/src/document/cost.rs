//! `[cost]`: what the fabric costs.

use afflux_config::tree::{Key, Wrong};
use afflux_config::{Names, keys};
use afflux_traffic::names;

keys! {
    /// Prices of switches and ports, to compare designs by cost. They change no result.
    pub struct Cost as "Cost" => Prices {
        /// Currency of all prices, as it is printed.
        currency: String = "USD", check printable;
        /// Price of a switch without its ports.
        switch: f64 = 0.0, check price;
        /// Price of a switch port that has a link: transceiver, share of the cable, licence.
        port: f64 = 0.0, check price;
        @{
            /// Switches with other prices. Default: none: all switches have the same prices.
            overrides "override": Vec<CostOverride>;
        };
    }
}

keys! {
    /// Prices of some switches. Missing keys have their values from `[cost]`. If several overrides
    /// match a switch, the last one counts.
    pub struct CostOverride as "CostOverride" => OwnPrices {
        /// Names of switches: `"leaf*"`, `["spine0", "spine1"]`.
        matching "match": Names = required;
        /// Price of a switch. Default: that of `[cost]`.
        switch: f64 = none, check price;
        /// Price of a port. Default: that of `[cost]`.
        port: f64 = none, check price;
    }
}

fn printable(currency: String, key: Key) -> Result<String, Wrong> {
    if currency.trim().is_empty() {
        let what = "\"\": write the currency as it is to be printed, for example \"USD\"";
        return Err(Wrong::at(key, what));
    }
    match names::wrong(&currency) {
        Some(expected) => {
            let shown = names::shown(&currency);
            Err(Wrong::at(key, format!("{shown}: write {expected}, as in \"USD\"")))
        }
        None => Ok(currency),
    }
}

fn price(value: f64, key: Key) -> Result<f64, Wrong> {
    if value >= 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(Wrong::at(key, format!("found {value}: write a price of 0 or more")))
    }
}
