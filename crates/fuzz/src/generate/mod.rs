//! Generator of random scenario files: every kind of fabric, switch, transport and traffic. They
//! are small and mostly valid.

mod any_key;
mod facts;
mod host;
mod record;
mod switch;
mod topology;
mod traffic;
mod transport;

use crate::choices::{Choices, Keys, Source, int};
use afflux_engine::random::Stream;
use facts::{Family, Named, Pauses, RdmaPlan};
use std::path::Path;
use toml::{Table, Value};
use transport::{rdma_plan, transport};

/// Purpose of the random stream.
const SCENARIO: u64 = 0x7363_656e_6172_696f;

/// First seed whose scenarios use all features. Scenarios of smaller seeds never change, and lack
/// later features: trimming switches, PI², AQM disciplines, credits and PFC on virtual output
/// queues, AQM disciplines on memory management units, changes of one direction of a link, MTU and
/// convergence of links, traffic that stops, connections that give up, D3 that ends, `rocev2`,
/// `run.stall`, Hadoop's committers, time-outs of fetches and speculative execution, dragonflies,
/// rings of training steps, ECN#, and pFabric without rate control.
pub const NEWER: u64 = 1_000;

/// First seed whose scenarios also have keys that are drawn from the schema of scenarios: every new
/// key from the day on which it is declared.
pub const ANY_KEY: u64 = 2_000;

/// Returns scenario number `number` of `seed` as TOML. The scenario refers to files in `data`.
pub fn numbered(seed: u64, number: u64, data: &Path) -> String {
    let mut stream = Stream::new(seed, SCENARIO, number);
    let mut choices = Choices::new(&mut stream);
    choices.1 = seed >= NEWER;
    let trims = choices.1 && number % 8 == 7;
    let mut table = scenario(&mut choices, data, trims);
    if seed >= ANY_KEY {
        any_key::add(&mut choices, &mut table, &data.join("scenario.toml"));
    }
    written(&table)
}

/// Returns the scenario that `source` selects, as TOML.
pub fn text(source: &mut dyn Source, data: &Path) -> String {
    written(&scenario(&mut Choices::new(source), data, false))
}

fn written(table: &Table) -> String {
    toml::to_string(table).expect("tables, texts and numbers")
}

/// Restricts some link changes to one direction. Rates stay symmetric where switches send PAUSE
/// frames.
fn one_direction(c: &mut Choices, fabric: &mut Keys, pauses: bool) {
    for (list, both, one) in
        [("override", ["delay", "mtu"].as_slice(), "rate"), ("fault", &["down"], "loss")]
    {
        let Some(Value::Array(changes)) = fabric.0.get_mut(list) else { continue };
        for change in changes.iter_mut().filter_map(Value::as_table_mut) {
            let fits = change.contains_key(one)
                && both.iter().all(|name| !change.contains_key(*name))
                && !(pauses && one == "rate");
            if fits && c.chance(40) {
                let link = change["link"].as_str().expect("a text").replacen('-', ">", 1);
                change.insert("link".into(), link.into());
            }
        }
    }
}

fn scenario(c: &mut Choices, data: &Path, trims: bool) -> Table {
    let mut keys = Keys::default();
    keys.put("format", int(1));
    keys.may(c, 20, "name", |_| "random");
    keys.may(c, 10, "description", |_| "made at random");
    // Many small scenarios, and some longer ones.
    let packets = if c.chance(25) { c.scale(8_000, 250_000) } else { c.scale(100, 16_000) };
    let family = c.weighted(&[
        (20, Family::Tcp),
        (9, Family::Mptcp),
        (13, Family::Rdma),
        (5, Family::Pfabric),
        (4, Family::Pdq),
        (3, Family::D3),
        (3, Family::Hull),
        (3, Family::Nack),
        (2, Family::Datagram),
        (2, Family::Hadoop),
    ]);
    let family = if trims { Family::Ndp } else { family };
    let (fabric_keys, fabric) = loop {
        let found = topology::topology(c, data, packets);
        if found.1.hosts >= if family == Family::Hadoop { 4 } else { 2 } {
            break found;
        }
    };
    let rdma = rdma_plan(c);
    let with_rdma = family == Family::Rdma;
    let plain = RdmaPlan { pauses: Pauses::Any, entropies: false, ..rdma };
    let used = if with_rdma { rdma } else { plain };
    let (switch, switch_facts) = switch::switch(c, &fabric, family, used.pauses, used.entropies);
    let (mut host, mut endless) =
        host::host(c, &fabric, family, &switch_facts.paused, !switch_facts.paused.is_empty());
    let mut transports = Vec::new();
    let (default, facts) = transport(c, &fabric, family, used);
    transports.push(Named { name: None, family, facts });
    host.put("transport", default);
    let mut named = Keys::default();
    for name in ["second", "third"] {
        if !c.chance(30) {
            break;
        }
        let other = c.weighted(&[
            (5, Family::Tcp),
            (2, Family::Mptcp),
            (1, Family::Datagram),
            (1, Family::Nack),
            (1, Family::Pfabric),
        ]);
        let (keys, facts) = transport(c, &fabric, other, used);
        named.put(name, keys);
        transports.push(Named { name: Some(name.into()), family: other, facts });
    }
    if !named.0.is_empty() {
        host.put("transports", named);
    }
    endless |= fabric.cut
        || !switch_facts.paused.is_empty()
        || transports.iter().any(|transport| transport.facts.endless);
    // Time in ns that all frames take on one host's link. Hosts send simultaneously, so most runs
    // are shorter.
    let long = packets * 12_000_000 / fabric.mbps;
    let until_ns = (endless || c.chance(45)).then(|| {
        let until = c.scale((long / 20).max(2_000), (4 * long).max(8_000))
            + if family == Family::Hadoop { 20_000_000 } else { 0 };
        until + fabric.round_trip_ns
    });
    let around = traffic::Drawn {
        fabric: &fabric,
        data,
        family,
        transports: &transports,
        paused: &switch_facts.paused,
        ends: until_ns.is_some(),
    };
    let blocks = traffic::traffic(c, &around, packets);
    let mut fabric_keys = fabric_keys;
    if c.1 {
        one_direction(c, &mut fabric_keys, !switch_facts.paused.is_empty());
    }
    keys.put("topology", fabric_keys);
    keys.put("switch", switch);
    keys.put("host", host);
    keys.put("traffic", Value::Array(blocks));
    let mut run = Keys::default();
    run.put("seed", int(c.range(1, 1 << 31)));
    run.may(c, 90, "fct_end", |c| c.of(&["last_ack", "last_byte"]));
    match until_ns {
        Some(until) => run.put("until", format!("{until}ns")),
        None if family == Family::Hadoop => run.may(c, 60, "until", |_| "jobs"),
        None => run.may(c, 10, "until", |_| "off"),
    }
    run.may(c, 10, "warmup", |c| c.time(1, 1_000_000));
    run.may(c, 5, "compat", |_| "conweave-ns3");
    run.may(c, 5, "size_bounds", |_| Value::Array(vec!["10kB".into(), "1MB".into()]));
    run.may(c, 3, "max_memory", |_| "20GB");
    if c.1 && !switch_facts.paused.is_empty() {
        run.may(c, 50, "stall", |c| c.time(1_000_000, 20_000_000));
    }
    keys.put("run", run);
    let record = record::record(c, &fabric, until_ns, switch_facts.conweave);
    if !record.0.is_empty() {
        keys.put("record", record);
    }
    keys.may(c, 5, "cost", |_| {
        let mut cost = Keys::default();
        cost.put("switch", 100.0);
        cost.put("port", 1.5);
        cost.put("currency", "EUR");
        cost
    });
    keys.0
}
