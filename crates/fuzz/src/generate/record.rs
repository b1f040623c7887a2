//! Generator of `[record]`.

use super::topology::Fabric;
use crate::choices::{Choices, Draw::*, Keys};
use toml::Value;

/// Returns the table `[record]`. `until_ns`: end of the run in ns, if known. Otherwise sampling
/// intervals are long.
pub fn record(c: &mut Choices, fabric: &Fabric, until_ns: Option<u64>, conweave: bool) -> Keys {
    let mut keys = Keys::default();
    let interval = |c: &mut Choices| match until_ns {
        Some(until) => format!("{}ns", (until / c.scale(1, 100)).max(1_000)),
        None => c.of(&["20ms", "100ms", "1s"]).to_string(),
    };
    let nodes = |c: &mut Choices| {
        c.of(&[Value::from("switches"), "hosts".into(), "all".into(), vec!["host0"].into()])
    };
    keys.draw(c, &[(5, "explain", Flag(false))]);
    keys.may(c, 40, "ports", |c| {
        let mut ports = Keys::default();
        ports.put("interval", interval(c));
        ports.may(c, 50, "nodes", nodes);
        ports
    });
    keys.draw(c, &[(35, "paths", Flag(true))]);
    keys.may(c, 20, "imbalance", interval);
    if conweave {
        keys.may(c, 50, "reorder", interval);
    }
    keys.may(c, 15, "gaps", nodes);
    keys.may(c, 15, "waits", nodes);
    keys.draw(c, &[(20, "round_trips", Flag(true))]);
    keys.may(c, 20, "senders", interval);
    if c.chance(15) {
        let link = c.of(&fabric.links);
        keys.put("capture", if c.chance(50) { link.into() } else { link.replace('-', ">") });
        keys.draw(c, &[(30, "snaplen", Size(96, 1_500))]);
    }
    keys
}
