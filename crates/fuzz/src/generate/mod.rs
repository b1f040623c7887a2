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

use crate::choices::{ALWAYS, Choices, Draw::*, Keys, Row, Source, drawn, int};
use afflux_engine::random::Stream;
use facts::{Family, Named, Pauses, RdmaPlan};
use std::path::Path;
use toml::Value;
use topology::Fabric;
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

fn written(table: &toml::Table) -> String {
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

const RUN: &[Row] =
    &[(ALWAYS, "seed", Int(1, 1 << 31)), (90, "fct_end", Texts(&["last_ack", "last_byte"]))];

const COST: &[Row] = &[
    (ALWAYS, "switch", Number(100.0)),
    (ALWAYS, "port", Number(1.5)),
    (ALWAYS, "currency", Text("EUR")),
];

fn scenario(c: &mut Choices, data: &Path, trims: bool) -> toml::Table {
    let mut keys = Keys::default();
    keys.put("format", int(1));
    keys.draw(c, &[(20, "name", Text("random")), (10, "description", Text("made at random"))]);
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
    let (mut topology, fabric) = loop {
        let found = topology::topology(c, data, packets);
        if found.1.hosts >= if family == Family::Hadoop { 4 } else { 2 } {
            break found;
        }
    };
    let mut plan = rdma_plan(c);
    if family != Family::Rdma {
        plan = RdmaPlan { pauses: Pauses::Any, entropies: false, ..plan };
    }
    let (switch, switch_facts) = switch::switch(c, &fabric, family, plan.pauses, plan.entropies);
    let pauses = !switch_facts.paused.is_empty();
    let (mut host, storm) = host::host(c, &fabric, family, &switch_facts.paused, pauses);
    let transports = transports(c, &mut host, &fabric, family, plan);
    let endless =
        storm || fabric.cut || pauses || transports.iter().any(|transport| transport.facts.endless);
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
    keys.put("traffic", traffic::traffic(c, &around, packets));
    if c.1 {
        one_direction(c, &mut topology, pauses);
    }
    keys.put("topology", topology);
    keys.put("switch", switch);
    keys.put("host", host);
    keys.put("run", run(c, family, until_ns, pauses));
    let record = record::record(c, &fabric, until_ns, switch_facts.conweave);
    if !record.0.is_empty() {
        keys.put("record", record);
    }
    keys.draw(c, &[(5, "cost", Table(COST))]);
    keys.0
}

/// Adds the default transport and up to two named ones to the table `[host]`.
fn transports(
    c: &mut Choices,
    host: &mut Keys,
    fabric: &Fabric,
    family: Family,
    plan: RdmaPlan,
) -> Vec<Named> {
    let (default, facts) = transport(c, fabric, family, plan);
    host.put("transport", default);
    let mut transports = vec![Named { name: None, family, facts }];
    let mut named = Keys::default();
    for name in ["second", "third"] {
        if !c.chance(30) {
            break;
        }
        let family = c.weighted(&[
            (5, Family::Tcp),
            (2, Family::Mptcp),
            (1, Family::Datagram),
            (1, Family::Nack),
            (1, Family::Pfabric),
        ]);
        let (keys, facts) = transport(c, fabric, family, plan);
        named.put(name, keys);
        transports.push(Named { name: Some(name), family, facts });
    }
    if !named.0.is_empty() {
        host.put("transports", named);
    }
    transports
}

/// Returns the table `[run]`. `pauses`: switches use PFC.
fn run(c: &mut Choices, family: Family, until_ns: Option<u64>, pauses: bool) -> Keys {
    let mut run = drawn(c, RUN);
    match until_ns {
        Some(until) => run.put("until", format!("{until}ns")),
        None if family == Family::Hadoop => run.draw(c, &[(60, "until", Text("jobs"))]),
        None => run.draw(c, &[(10, "until", Text("off"))]),
    }
    run.draw(c, &[(10, "warmup", Time(1, 1_000_000)), (5, "compat", Text("conweave-ns3"))]);
    run.may(c, 5, "size_bounds", |_| vec!["10kB", "1MB"]);
    run.draw(c, &[(3, "max_memory", Text("20GB"))]);
    if c.1 && pauses {
        run.draw(c, &[(50, "stall", Time(1_000_000, 20_000_000))]);
    }
    run
}
