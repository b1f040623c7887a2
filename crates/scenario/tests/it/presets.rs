//! Tests that `preset` stands for the keys of a purchasable switch.

use crate::common::{VALID, error, parse};
use afflux_net::spec::{Buffer, Headroom, Rules};
use afflux_scenario::Scenario;

const TRIDENT3: Buffer =
    Buffer::Shared { total: 24_192_256, alpha: 8.0, reserved_per_queue: 1_792 };

fn with_switch(keys: &str) -> Scenario {
    let scenario = parse(&VALID.replacen("buffer = \"9MB\"\nalpha = 1.0\n", keys, 1)).unwrap();
    let again =
        parse(&scenario.resolved).unwrap_or_else(|error| panic!("{error}\n{}", scenario.resolved));
    assert_eq!(again.resolved, scenario.resolved);
    assert_eq!(
        format!("{:?}", again.plan.switches),
        format!("{:?}", scenario.plan.switches),
        "the resolved scenario is the same scenario"
    );
    scenario
}

/// Returns the buffer of the switch with this name.
fn buffer(scenario: &Scenario, name: &str) -> Buffer {
    let node = scenario.plan.topology.nodes.iter().find(|node| node.name == name).unwrap();
    scenario.plan.switches[node.config as usize].buffer.clone()
}

#[test]
fn fills_what_is_not_written() {
    let scenario = with_switch("preset = \"trident3\"\n");
    assert_eq!(buffer(&scenario, "leaf0"), TRIDENT3);
    assert_eq!(scenario.plan.switches[0].latency.0, 800_000);
    for key in
        ["preset = \"trident3\"", "alpha = 8.0", "reserved = \"1792B\"", "latency = \"800ns\""]
    {
        assert!(scenario.resolved.contains(key), "{key} in\n{}", scenario.resolved);
    }
}

#[test]
fn a_lossless_one() {
    let scenario = with_switch(
        "preset = \"trident3_lossless\"\nmmu = { cell = \"off\" }\npfc = { priorities = [3] }\n",
    );
    let Buffer::Mmu(mmu) = buffer(&scenario, "leaf0") else {
        panic!("{:?}", buffer(&scenario, "leaf0"))
    };
    assert_eq!((mmu.total, mmu.cell), (32_689_152, None));
    let Rules::Sonic(rules) = mmu.rules else { panic!("{:?}", mmu.rules) };
    assert_eq!(
        (rules.headroom_pool, rules.xon, rules.queue_reserved),
        (Some(2_058_240), 4_608, 1_792)
    );
    let pfc = scenario.plan.switches[0].pfc.as_ref().unwrap();
    assert_eq!((pfc.priorities, pfc.headroom), (0b1000, Headroom::Bytes(160_000)));
}

#[test]
fn what_is_written_wins() {
    let scenario = with_switch("preset = \"trident3\"\nalpha = 1.0\nlatency = \"0ns\"\n");
    assert_eq!(
        buffer(&scenario, "leaf0"),
        Buffer::Shared { total: 24_192_256, alpha: 1.0, reserved_per_queue: 1_792 }
    );
    assert_eq!(scenario.plan.switches[0].latency.0, 0);
}

#[test]
fn another_sharing_takes_the_keys_of_the_presets_away() {
    let scenario = with_switch("preset = \"trident3\"\nsharing = \"unlimited\"\n");
    assert_eq!(buffer(&scenario, "leaf0"), Buffer::Unlimited);
    assert!(!scenario.resolved.contains("reserved"), "{}", scenario.resolved);
}

#[test]
fn an_override_has_its_own() {
    let text = "buffer = \"9MB\"\nalpha = 1.0\noverride = [{ match = \"leaf*\", preset = \"trident3\" }, { match = \"leaf1\", alpha = 2.0 }]\n";
    let scenario = with_switch(text);
    assert_eq!(
        buffer(&scenario, "spine0"),
        Buffer::Shared { total: 9_000_000, alpha: 1.0, reserved_per_queue: 0 }
    );
    assert_eq!(buffer(&scenario, "leaf0"), TRIDENT3);
    assert_eq!(
        buffer(&scenario, "leaf1"),
        Buffer::Shared { total: 24_192_256, alpha: 2.0, reserved_per_queue: 1_792 }
    );
    assert!(scenario.resolved.contains("reserved = \"1792B\""), "{}", scenario.resolved);
}

#[test]
fn an_unknown_one_is_named() {
    let message = error("alpha = 1.0", "preset = \"trident\"");
    assert!(message.starts_with("fabric.toml:13: key switch.preset: \"trident\" is not known (did you mean \"trident3\"?): write \"trident3\""), "{message}");
}

#[test]
fn each_has_a_row_among_the_models() {
    let models = afflux_scenario::models();
    assert!(models.iter().any(|model| model.kind == "switch preset" && model.name == "trident3"));
}
