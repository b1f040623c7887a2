//! `[sonic]`: the SONiC configuration that the switch settings were imported from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tables of the SONiC configuration that `afflux import sonic` read, by table, key and field, in
/// SONiC's own names and text. Ports that are alike share one key (`"Ethernet0,Ethernet4|3-4"`).
/// The simulation does not read these tables; `afflux export sonic` writes the values of `[switch]`
/// over them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sonic(pub BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>);
