//! Warns of keys that other settings of the scenario make meaningless.

use super::input::WarningInput;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Balance;

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    for transport in input.used() {
        for unused in transport.config.parameters().unused() {
            let key = unused.key.split('.').fold(transport.key.clone(), Key::name);
            warn(input, key, unused.text, found);
        }
    }
    if let Some((key, text)) = input.switches().find_map(|switch| switch.balance.unused()) {
        warn(input, input.switch_key(&format!("balance.{key}")), text, found);
    }
    records(input, found);
}

fn records(input: &WarningInput, found: &mut Vec<Wrong>) {
    let record = &input.plan.record;
    if record.captures.is_empty() {
        let text = "has no effect, because nothing is captured: write capture, or remove it";
        warn(input, Key::from("record.snaplen"), text, found);
    }
    if record.reordering.is_some()
        && !input.switches().any(|switch| switch.balance.about().reorders)
    {
        let able: Vec<&str> = Balance::ALL
            .iter()
            .filter(|about| about.reorders)
            .map(|about| about.model.name)
            .collect();
        let text = format!(
            "records nothing: no switch reorders frames; write balance = \"{}\", or remove it",
            able.join("\" or \"")
        );
        warn(input, Key::from("record.reorder"), &text, found);
    }
}

fn warn(input: &WarningInput, key: Key, text: &str, found: &mut Vec<Wrong>) {
    if input.tree.has(&key) {
        found.push(Wrong::at(key, text));
    }
}
