//! `[sonic]`: where a switch's settings came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tables of the SONiC configuration that `afflux import sonic` read, by table, key and field, in SONiC's own names and text; one key for all
/// ports that are alike (`"Ethernet0,Ethernet4|3-4"`). The simulation does not read them; `afflux export sonic` writes what `[switch]` says over
/// them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sonic(pub BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>);
