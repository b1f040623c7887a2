//! Warns of keys that other settings of the scenario make meaningless.

use super::input::WarningInput;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{Balance, TransportConfig};
use afflux_net::transports::HostTiming;
use afflux_units::Probability;

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    let one_nic = !input.plan.topology.is_multihomed();
    for transport in input.used() {
        for unused in transport.config.parameters().unused(one_nic) {
            let key = unused.key.split('.').fold(transport.key.clone(), Key::name);
            warn(input, key, unused.text, found);
        }
    }
    if let Some((key, text)) = input.switches().find_map(|switch| switch.balance.unused()) {
        warn(input, input.switch_key(&format!("balance.{key}")), text, found);
    }
    if input.hosts().any(|host| host.timing.is_some())
        && !any_transport(input, |one| one.parameters().requirements().timing == HostTiming::Nic)
    {
        let text = "has no effect, because no traffic is RDMA, and `send` delays all other frames: write send, or remove it";
        warn(input, input.host_key("timing.nic_send"), text, found);
    }
    records(input, found);
    faults(input, found);
}

/// Warns of faults that neither lose frames nor take a link down. A sweep over `loss` may begin with
/// 0, so this is no error.
fn faults(input: &WarningInput, found: &mut Vec<Wrong>) {
    for (index, fault) in input.written.topology.faults().iter().enumerate() {
        if fault.down.is_empty() && fault.loss.is_some_and(|loss| loss.0 == Probability::ZERO) {
            let text = "nothing is wrong with the link: write a probability above 0, or down, or remove the fault";
            let key = Key::from("topology.fault").index(index).name("loss");
            found.push(Wrong::at(key, text));
        }
    }
}

/// True if a transport that traffic uses has a property.
fn any_transport(input: &WarningInput, has: impl Fn(&TransportConfig) -> bool) -> bool {
    input.uses.transports().into_iter().any(|index| has(&input.plan.transports[usize::from(index)]))
}

fn records(input: &WarningInput, found: &mut Vec<Wrong>) {
    let record = &input.plan.record;
    if record.captures.is_empty() {
        let text = "has no effect, because nothing is captured: write capture, or remove it";
        warn(input, Key::from("record.snaplen"), text, found);
    }
    if record.ports.as_ref().is_some_and(|series| series.nodes.is_empty()) {
        let text = "records nothing, because it has no nodes: write nodes = \"switches\", or remove record.ports";
        warn(input, Key::from("record.ports.nodes"), text, found);
    }
    if input.plan.topology.uplinks().next().is_none() {
        let text = "records nothing, because no switch has an uplink: write record.ports for the ports of switches, or remove it";
        warn(input, Key::from("record.imbalance"), text, found);
    }
    if record.round_trips && !any_transport(input, |one| one.parameters().segments().is_some()) {
        let text = "records nothing, because no traffic is TCP or MPTCP: remove it";
        warn(input, Key::from("record.round_trips"), text, found);
    }
    if record.senders.is_some() && !any_transport(input, |one| one.parameters().is_sampled()) {
        let text = "records nothing, because the transports of all traffic have no records of senders: remove it";
        warn(input, Key::from("record.senders"), text, found);
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
