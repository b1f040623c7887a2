//! Generator of `[switch]`.

mod balance;
mod memory;
pub mod queues;

use super::facts::{Family, Pauses, SwitchFacts};
use super::topology::Fabric;
use crate::choices::{ALWAYS, Choices, Draw::*, Keys, Row, drawn};
use balance::balance;
use queues::{Limits, PROCESSOR, discipline, marking, schedule};

const TRIMMING: &[Row] = &[
    (60, "data", Size(1, 60_000)),
    (40, "headers", Size(500, 30_000)),
    (30, "header", Size(20, 200)),
];

const DYNAMIC: &[Row] = &[
    (90, "buffer", Size(20_000, 1_000_000)),
    (60, "alpha", Reals(&[0.0625, 0.125, 0.5, 1.0, 2.0, 8.0])),
    (20, "reserved", Size(1, 16_000)),
];

const LATENCY: Row = (15, "latency", Time(1, 5_000));

pub fn switch(
    c: &mut Choices,
    fabric: &Fabric,
    family: Family,
    pauses: Pauses,
    entropies: bool,
) -> (Keys, SwitchFacts) {
    let mut keys = Keys::default();
    let mut facts = SwitchFacts::default();
    let reorders = if family == Family::Ndp {
        keys.put("trimming", drawn(c, TRIMMING));
        keys.draw(c, &[LATENCY]);
        true
    } else if pauses == Pauses::Any && c.chance(4) {
        let preset = c.of(&["trident3", "jericho_plus"]);
        keys.put("preset", preset);
        preset == "trident3"
    } else {
        ports(c, &mut keys, &mut facts, fabric, family, pauses, entropies)
    };
    balance(c, &mut keys, &mut facts, fabric, family, entropies, reorders);
    overrides(c, &mut keys, fabric, family);
    (keys, facts)
}

/// Sets the memory and the queues of a switch that neither trims nor has a preset. Returns true if
/// it can hold frames back for ConWeave.
fn ports(
    c: &mut Choices,
    keys: &mut Keys,
    facts: &mut SwitchFacts,
    fabric: &Fabric,
    family: Family,
    pauses: Pauses,
    entropies: bool,
) -> bool {
    let pfabric = family == Family::Pfabric && c.chance(75);
    let sharing = sharing(c, pauses, pfabric);
    keys.put("sharing", sharing);
    let obeys = pauses == Pauses::Obeyed;
    if obeys {
        keys.put("honours_pause", true);
    }
    match sharing {
        "static" => {
            let buffer = Or(50, &Unit(2, 60, "packets"), &Size(9_200, 200_000));
            let full = Texts(&["above", "at_or_above"]);
            let full = if pfabric {
                (30, "drop_when", Text("at_or_above"))
            } else {
                (20, "drop_when", full)
            };
            keys.draw(c, &[(ALWAYS, "buffer", buffer), full]);
        }
        "dynamic" => keys.draw(c, DYNAMIC),
        "voq" => memory::deep(c, keys, facts),
        "unlimited" => {}
        _ => {
            let needed = pauses == Pauses::Needed;
            memory::managed(c, keys, facts, sharing, fabric, needed);
        }
    }
    let voq = sharing == "voq";
    let managed = matches!(sharing, "sonic" | "conweave" | "hpcc");
    let lossless = !facts.paused.is_empty();
    let pauses_here = managed || obeys || lossless;
    // Scenarios of older seeds must not change.
    let anywhere = c.1 && (voq || pauses_here);
    let disciplined =
        !pfabric && (anywhere || !voq && !pauses_here) && (family == Family::Hull || c.chance(25));
    let aqm = if disciplined { discipline(c, keys, family, entropies) } else { "off" };
    if aqm == "off" && !pfabric && c.chance(60) {
        keys.put("ecn", marking(c, voq && !c.1));
    }
    if pfabric {
        keys.put("scheduling", "pfabric");
    } else {
        let limits = Limits {
            shares: sharing == "dynamic" || c.1 && sharing == "sonic" && !lossless,
            buffers: sharing == "static",
            marks: aqm == "off",
        };
        let several = aqm != "fq_codel";
        schedule(c, keys, several, several && (!voq || c.1), &limits);
    }
    keys.draw(c, &[LATENCY]);
    let cuts = !voq && c.chance(15);
    if cuts {
        keys.put("forwarding", "cut_through");
        keys.draw(c, &[(50, "cut_through_header", Size(14, 1_000))]);
    }
    if !voq {
        queue_length(c, keys, pauses_here || pfabric);
    }
    if !cuts && !managed && !lossless {
        keys.draw(c, &[(4, "processor", PROCESSOR)]);
    }
    !(cuts || voq)
}

fn sharing(c: &mut Choices, pauses: Pauses, pfabric: bool) -> &'static str {
    match pauses {
        _ if pfabric => c.weighted(&[(4, "static"), (1, "unlimited")]),
        Pauses::Needed => c.weighted(&[(3, "sonic"), (1, "conweave"), (1, "hpcc")]),
        Pauses::Obeyed => {
            c.weighted(&[(3, "dynamic"), (3, "static"), (1, "unlimited"), (1, "sonic")])
        }
        Pauses::Any => c.weighted(&[
            (7, "dynamic"),
            (7, "static"),
            (2, "voq"),
            (1, "unlimited"),
            (3, "sonic"),
            (1, "conweave"),
            (1, "hpcc"),
        ]),
    }
}

/// Sets the queue of the device, or how long frames count as queued. `holds`: ports hold frames.
fn queue_length(c: &mut Choices, keys: &mut Keys, holds: bool) {
    if !holds && c.chance(10) {
        let lengths = Texts(&["before_transmission", "through_start"]);
        keys.draw(c, &[(ALWAYS, "device_queue", Scale(1, 8)), (50, "queue_length", lengths)]);
    } else if c.chance(15) {
        let lengths = ["through_transmission", "before_transmission", "through_start"];
        keys.put("queue_length", c.of(&lengths[..if holds { 2 } else { 3 }]));
    }
}

/// Sets an override with a change of a key or two for some switches.
fn overrides(c: &mut Choices, keys: &mut Keys, fabric: &Fabric, family: Family) {
    let Some(sharing) = keys.text("sharing").filter(|_| c.chance(15)) else { return };
    let mut change = Keys::default();
    change.put("match", c.of(fabric.switches));
    let (key, value) = match c.range(0, 3) {
        0 if sharing == "static" => ("buffer", Unit(2, 40, "packets")),
        1 if sharing == "dynamic" => ("alpha", Reals(&[0.25, 4.0])),
        2 if family != Family::Pfabric && !keys.has("aqm") && sharing != "voq" => {
            change.put("ecn", marking(c, false));
            return keys.put("override", vec![change]);
        }
        _ => ("latency", Time(1, 2_000)),
    };
    change.draw(c, &[(ALWAYS, key, value)]);
    keys.put("override", vec![change]);
}
