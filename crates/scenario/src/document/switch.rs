//! `[switch]` and its overrides.

use afflux_config::{Names, keys};
use afflux_net::spec::SwitchKeys;

keys! {
    /// Settings of all switches.
    pub struct Switch as "Switch" => Switches {
        /// Switches with other settings. Later overrides win. Default: none: all switches are
        /// alike.
        overrides "override": Vec<SwitchOverride> = none;
        @keys: SwitchKeys;
    }
}

keys! {
    /// Settings of some switches. Missing keys have their values from `[switch]`.
    pub struct SwitchOverride as "SwitchOverride" => Matched {
        /// Names of switches: `"leaf*"`, `["spine0", "spine1"]`.
        matching "match": Names = required;
        @keys: SwitchKeys;
    }
}

impl Switch {
    pub fn overrides(&self) -> &[SwitchOverride] {
        self.overrides.as_deref().unwrap_or_default()
    }
}
