//! Warns of keys that other settings of the scenario make meaningless.

use super::input::WarningInput;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{
    Balance, CongestionControl, Entropy, ReorderMemory, TcpConfig, TransportConfig,
};
use afflux_units::Span;

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    for transport in input.used() {
        let said = match transport.config {
            TransportConfig::Tcp(tcp) => of_tcp(tcp),
            TransportConfig::Rdma(rdma) => match &rdma.entropy {
                Entropy::Reps(reps) if reps.freeze.is_none() => vec![(
                    "entropy.explore",
                    "has no effect with freeze = \"off\": write freeze, or remove it",
                )],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        for (name, text) in said {
            let key = name.split('.').fold(transport.key.clone(), Key::name);
            warn(input, key, text, found);
        }
    }
    let unbounded = |balance: &Balance| matches!(balance, Balance::Conweave(conweave) if conweave.reorder_memory == ReorderMemory::Unbounded);
    if input.switches().any(|switch| unbounded(&switch.balance)) {
        let text = "has no effect with reorder_memory = \"unbounded\": remove one of the two";
        warn(input, input.switch_key("balance.reorder_queues"), text, found);
    }
    records(input, found);
}

fn of_tcp(tcp: &TcpConfig) -> Vec<(&'static str, &'static str)> {
    let mut said = Vec::new();
    if matches!(tcp.congestion, CongestionControl::Bbr(_) | CongestionControl::Bbr3(_)) {
        if tcp.pacing.is_none() {
            said.push(("pacing", "has no effect: BBR always paces; remove it"));
        }
        said.push(("prr", "has no effect: BBR sets its own window after a loss; remove it"));
    }
    if tcp.tick == Span::ZERO {
        said.push((
            "timer_wheel",
            "has no effect, because timers are exact without tick: write tick = \"4ms\", or remove it",
        ));
    }
    said
}

fn records(input: &WarningInput, found: &mut Vec<Wrong>) {
    let record = &input.plan.record;
    if record.captures.is_empty() {
        let text = "has no effect, because nothing is captured: write capture, or remove it";
        warn(input, Key::from("record.snaplen"), text, found);
    }
    if record.reordering.is_some()
        && !input.switches().any(|switch| matches!(switch.balance, Balance::Conweave(_)))
    {
        let text =
            "records nothing: no switch has balance = { kind = \"conweave\" }, which reorders";
        warn(input, Key::from("record.reorder"), text, found);
    }
}

fn warn(input: &WarningInput, key: Key, text: &str, found: &mut Vec<Wrong>) {
    if input.tree.has(&key) {
        found.push(Wrong::at(key, text));
    }
}
