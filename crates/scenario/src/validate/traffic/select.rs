//! Finds the hosts that a block names.

use super::context::TrafficContext;
use crate::topology::Facts;
use crate::workload::hosts::{HostItem, Hosts};
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::NodeKind;
use std::collections::BTreeSet;

/// Returns the single host that `item` names.
pub fn host(item: &HostItem, key: &Key, facts: &Facts) -> Result<u32, Wrong> {
    match items(item, key, facts)?.as_slice() {
        [one] => Ok(*one),
        many => Err(Wrong::at(key.clone(), format!("names {} hosts: write one host", many.len()))),
    }
}

/// Returns the hosts in order, each once.
pub fn hosts(hosts: &Hosts, key: &Key, facts: &Facts) -> Result<Vec<u32>, Wrong> {
    let mut found = BTreeSet::new();
    for (index, item) in hosts.0.iter().enumerate() {
        let key = if hosts.0.len() == 1 { key.clone() } else { key.clone().index(index) };
        found.extend(items(item, &key, facts)?);
    }
    if found.is_empty() {
        return Err(Wrong::at(
            key.clone(),
            "no hosts: write \"all\", numbers, or text as in \"0-15\"",
        ));
    }
    Ok(found.into_iter().collect())
}

/// Returns the check of a key that names hosts.
pub fn of(context: &TrafficContext) -> impl Fn(Hosts, Key) -> Result<Vec<u32>, Wrong> {
    |names, key| hosts(&names, &key, context.facts)
}

/// Returns pairs of two different hosts: each source of an entry with each of its destinations.
pub fn pairs(pairs: &[[HostItem; 2]], key: &Key, facts: &Facts) -> Result<Vec<(u32, u32)>, Wrong> {
    if pairs.is_empty() {
        return Err(Wrong::at(key.clone(), "no pairs: write [[source, destination], …]"));
    }
    let mut found = Vec::new();
    for (index, [src, dst]) in pairs.iter().enumerate() {
        let key = key.clone().index(index);
        let (sources, destinations) =
            (items(src, &key.clone().index(0), facts)?, items(dst, &key.clone().index(1), facts)?);
        let before = found.len();
        found.extend(
            sources
                .iter()
                .flat_map(|src| destinations.iter().map(|dst| (*src, *dst)))
                .filter(|(src, dst)| src != dst),
        );
        if found.len() == before {
            return Err(Wrong::at(
                key,
                format!("the pair has host {} twice: write two different hosts", sources[0]),
            ));
        }
    }
    Ok(found)
}

fn in_range(host: u32, key: &Key, facts: &Facts) -> Result<u32, Wrong> {
    if host < facts.hosts() {
        return Ok(host);
    }
    Err(Wrong::at(
        key.clone(),
        format!("host {host} is out of range: the fabric has the hosts 0 to {}", facts.hosts() - 1),
    ))
}

fn items(item: &HostItem, key: &Key, facts: &Facts) -> Result<Vec<u32>, Wrong> {
    // A host with this name takes precedence over any other meaning of the text.
    let text = match item {
        HostItem::Number(host) => return Ok(vec![in_range(*host, key, facts)?]),
        HostItem::Text(text) => text.trim(),
    };
    if text == "all" {
        return Ok((0..facts.hosts()).collect());
    }
    if let Ok(host) = text.parse() {
        return Ok(vec![in_range(host, key, facts)?]);
    }
    if let Some((from, to)) = text.split_once('-')
        && let (Ok(from), Ok(to)) = (from.trim().parse::<u32>(), to.trim().parse::<u32>())
    {
        if from > to {
            return Err(Wrong::at(
                key.clone(),
                format!("\"{text}\": the first number is above the second"),
            ));
        }
        in_range(to, key, facts)?;
        return Ok((from..=to).collect());
    }
    let names = facts.names();
    names.matching(text, Some(NodeKind::Host)).map_err(|message| match names.find(text) {
        Ok(_) => Wrong::at(key.clone(), format!("\"{text}\" is a switch: write hosts")),
        Err(_) => Wrong::at(key.clone(), format!("{message}; or write \"all\", a range of numbers as in \"0-15\", or a pattern as in \"host1[2-8]\"")),
    })
}
