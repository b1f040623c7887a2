//! Warnings about valid scenarios that do not do what they seem to say.
//!
//! Warnings are searched for in the plan, because only the plan shows the settings of all nodes and
//! flows together. Each warning names the key that was written.

mod buffer;
mod ecn;
mod ignored;
pub mod input;
mod mtu;
mod paths;
mod pause;
mod starved;
mod time;
mod timing;
mod too_small;
mod unused;

use afflux_config::tree::Wrong;
use afflux_net::spec::EngineKind;
use input::WarningInput;

pub fn find(input: &WarningInput) -> Vec<Wrong> {
    let mut found = Vec::new();
    time::find(input, &mut found);
    unused::find(input, &mut found);
    // With the flow-level engine, transports, switches and paths have no effect, as its name
    // `"ideal"` says.
    if input.plan.run.engine != EngineKind::Ideal {
        ecn::find(input, &mut found);
        starved::find(input, &mut found);
        pause::find(input, &mut found);
        buffer::find(input, &mut found);
        paths::find(input, &mut found);
        mtu::find(input, &mut found);
        timing::find(input, &mut found);
        too_small::find(input, &mut found);
        ignored::find(input, &mut found);
    }
    found
}
