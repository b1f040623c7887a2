//! Interface of a kind of workload.

use crate::validate::traffic::common::{self, Shared};
use crate::validate::traffic::context::TrafficContext;
use afflux_config::tree::{Key, Wrong};
use afflux_net::Model;
use afflux_traffic::{Classes, Generated, JobKind, TrafficError};
use std::path::Path;

/// A block of traffic of one kind, as written.
pub trait Workload {
    /// Checks the keys, fills in their defaults, and makes the flows. `shared` has the values of
    /// the keys of every block.
    fn generate(
        &mut self,
        shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong>;
    /// Returns the key that decides on the sizes of flows, for messages.
    fn size_key(&self) -> &'static str {
        "sizes"
    }
    /// Returns the file that flow sizes are read from; `None`: from the scenario.
    fn flow_list(&self) -> Option<&Path> {
        None
    }
    /// Returns the paths of input files. They do not count in the hash of the scenario.
    fn paths(&mut self) -> Vec<&mut String> {
        Vec::new()
    }
    /// Returns the kind of the jobs that the block generates; `None`: it has only flows.
    fn jobs(&self) -> Option<JobKind> {
        None
    }
    /// Returns the classes of the block's flows, of which `own` is the block's; empty if the
    /// scenario does not tell them.
    fn classes(&self, own: &str) -> Vec<String> {
        vec![own.to_string()]
    }
    /// True if the key `transport` has a meaning.
    fn names_transport(&self) -> bool {
        true
    }
    /// True if the block's deadline is that of each job, and flows without a job have none.
    fn dates_jobs(&self) -> bool {
        false
    }
    /// True if the transports of hosts (`[[host.override]] transport`) do not apply.
    fn has_own_transport(&self) -> bool {
        false
    }
    /// True if jobs decide when senders end.
    fn ends_with_jobs(&self) -> bool {
        false
    }
}

/// Position of a block in the scenario, and the classes of all blocks.
pub struct Place<'a> {
    pub index: usize,
    /// Key of the block.
    pub key: &'a Key,
    pub classes: &'a mut Classes,
}

impl Place<'_> {
    /// Returns the key `name` of the block.
    pub fn at(&self, name: &str) -> Key {
        self.key.clone().name(name)
    }

    pub fn wrong(&self, error: TrafficError) -> Wrong {
        common::wrong(error, self.key)
    }
}

/// Returns an expected number of flows with about two digits.
pub fn rounded(flows: f64) -> String {
    match flows {
        0.0 => "0".to_string(),
        tiny if tiny < 1e-3 => format!("{tiny:.1e}"),
        few if few < 1.0 => format!("{few:.2}"),
        many => format!("{many:.1}"),
    }
}

/// Returns a row of `afflux models`.
pub const fn model(
    kind: &'static str,
    name: &'static str,
    source: &'static str,
    faithful: &'static str,
    simplified: &'static str,
) -> Model {
    Model { kind, name, source, faithful, simplified }
}

pub const fn pattern(
    name: &'static str,
    source: &'static str,
    faithful: &'static str,
    simplified: &'static str,
) -> Model {
    model("traffic pattern", name, source, faithful, simplified)
}
