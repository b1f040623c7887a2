//! Random scenarios within the time budget of `make test`: both engines and 1, 2, 3 and 7 threads
//! agree, and no check of a run fails.

use afflux_fuzz::examine::{Limits, Verdict, examine};
use afflux_fuzz::{data, generate};
use afflux_results::ParquetFlowLists;
use afflux_scenario::{Overrides, parse};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use toml::{Table, Value};

/// Total packet-hops of all scenarios. Each scenario counts once although it runs five times.
const HOPS: u64 = 1_000_000;
/// Packet-hop limit per scenario. Many small scenarios cover more than a few large ones.
const LARGEST: u64 = 20_000;
const SEED: u64 = 1_020;
const _: () = assert!(SEED >= generate::NEWER && SEED < generate::ANY_KEY);
/// Most scenarios to draw. Most drawn scenarios are valid, so a need for more would indicate a
/// defect of the generator.
const MOST: u64 = 2_000;
/// Wall-time limit for a busy machine, after at least `LEAST` scenarios. A run that takes too long
/// is stopped and not compared.
const WALL: Duration = Duration::from_secs(10);
const LEAST: u64 = 20;
/// Scenarios of each seed that are only read, to count the valid ones.
const DRAWN: u64 = 400;

#[test]
fn random_scenarios_hold_in_both_engines() {
    hold(SEED, HOPS);
}

/// Scenarios with keys that are drawn from the schema.
#[test]
fn random_scenarios_with_any_key_hold_in_both_engines() {
    hold(generate::ANY_KEY + 20, HOPS / 4);
}

fn hold(seed: u64, most_hops: u64) {
    let limits = Limits { wall: Duration::from_secs(3), hops: LARGEST, ..Limits::default() };
    let (began, mut hops, mut sound, mut refused) = (Instant::now(), 0, 0_u64, 0_u64);
    for number in 0..MOST {
        let text = generate::numbered(seed, number, &data());
        match examine(&text, &data().join("scenario.toml"), &limits) {
            Verdict::Sound(figures) => (hops, sound) = (hops + figures.hops, sound + 1),
            Verdict::Refused(_) => refused += 1,
            Verdict::TooLarge(_) => {}
            Verdict::Broken(broken) => {
                panic!("`afflux-fuzz replay {seed}:{number}`: {}\n{}", broken.what, broken.detail)
            }
        }
        if hops >= most_hops || (sound >= LEAST && began.elapsed() > WALL) {
            break;
        }
    }
    println!(
        "{sound} sound, {refused} refused, {hops} packet-hops, {:.1} s",
        began.elapsed().as_secs_f64()
    );
    assert!(sound >= LEAST, "{sound} scenarios were valid, {refused} were not");
}

/// The share of valid scenarios is counted over a fixed number of them: how many `hold` gets to
/// depends on the speed of the machine.
#[test]
fn most_random_scenarios_are_valid() {
    for seed in [SEED, generate::ANY_KEY + 20] {
        let valid = (0..DRAWN)
            .filter(|&number| {
                let text = generate::numbered(seed, number, &data());
                let path = data().join("scenario.toml");
                parse(&text, &path, &Overrides::default(), &ParquetFlowLists).is_ok()
            })
            .count() as u64;
        println!("seed {seed}: {valid} of {DRAWN} are valid");
        assert!(valid > 4 * (DRAWN - valid), "seed {seed}: {valid} of {DRAWN} are valid");
    }
}

/// Checks that the first scenarios contain every feature of `NEWER`.
#[test]
fn everything_newer_is_drawn() {
    fn tables<'a>(value: &'a Value, name: &str, found: &mut Vec<(String, &'a Table)>) {
        match value {
            Value::Table(table) => {
                found.push((name.to_string(), table));
                table.iter().for_each(|(key, value)| tables(value, key, found));
            }
            Value::Array(values) => values.iter().for_each(|value| tables(value, name, found)),
            _ => {}
        }
    }
    let mut drawn = BTreeSet::new();
    for number in 0..400 {
        let document = Value::Table(
            toml::from_str(&generate::numbered(SEED, number, &data())).expect("a scenario"),
        );
        let mut found = Vec::new();
        tables(&document, "", &mut found);
        let switch = document.get("switch").and_then(Value::as_table).expect("a switch");
        let managed = switch.contains_key("mmu") || switch.contains_key("voq");
        for (name, table) in found {
            drawn.extend(table.keys().map(|key| format!("{name}.{key}")));
            drawn.extend(
                table
                    .iter()
                    .filter_map(|(key, value)| Some(format!("{key} = {}", value.as_str()?))),
            );
            if let Some(link) = table.get("link").and_then(Value::as_str) {
                drawn.extend(link.contains('>').then(|| format!("{name} of one direction")));
            }
        }
        for discipline in ["codel", "fq_codel", "pie", "pi2"] {
            let drawn_here =
                switch.get("aqm").and_then(|aqm| aqm.get("kind")).and_then(Value::as_str)
                    == Some(discipline);
            drawn.extend((managed && drawn_here).then(|| format!("{discipline} on memory")));
        }
        drawn.extend(
            (switch.contains_key("voq") && switch.contains_key("pfc"))
                .then(|| "PFC on virtual output queues".into()),
        );
        drawn.extend(
            (switch.contains_key("voq") && switch.contains_key("queue"))
                .then(|| "classes on virtual output queues".into()),
        );
        let shares =
            |queue: &Value| queue.get("alpha").is_some() || queue.get("reserved").is_some();
        let queues = || switch.get("queue").and_then(Value::as_array).into_iter().flatten();
        drawn.extend(
            (switch.contains_key("mmu") && queues().any(shares))
                .then(|| "shares of queues beside a memory management unit".into()),
        );
    }
    for what in [
        "kind = pi2",
        "kind = ecn_sharp",
        "kind = dragonfly",
        "kind = ring_all_reduce",
        "codel on memory",
        "fq_codel on memory",
        "pie on memory",
        "pi2 on memory",
        "PFC on virtual output queues",
        "classes on virtual output queues",
        "shares of queues beside a memory management unit",
        "group.limit",
        "group.alpha",
        "voq.credit_speedup",
        "voq.max_credits",
        "voq.fabric_speedup",
        "override of one direction",
        "fault of one direction",
        "override.mtu",
        "down.converge",
        "traffic.stop",
        "transport.retries",
        "transport.syn_retries",
        "transport.forget",
        "wire = rocev2",
        "run.stall",
        "balance.reorder_memory",
        "record.senders",
    ] {
        assert!(drawn.contains(what), "{what} is never drawn");
    }
}

/// Runs shrunk scenarios that were broken once.
#[test]
fn what_was_found_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/found");
    let mut seen = 0;
    for entry in fs::read_dir(&folder).expect("the folder of found scenarios") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a scenario");
        let verdict =
            examine(&text, &path, &Limits { wall: Duration::from_secs(60), ..Limits::default() });
        assert!(matches!(verdict, Verdict::Sound(_)), "{}: {verdict:?}", path.display());
        seen += 1;
    }
    assert!(seen >= 3);
}
