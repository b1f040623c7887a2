//! Link by link.

use super::builder::{Builder, at_least_one, check_size, delay, rate};
use super::connected;
use super::names::Names;
use crate::document::{Custom, Switches};
use crate::spelling;
use crate::tree::{Key, Wrong};
use crate::validate::fill;
use afflux_net::spec::Topology;
use afflux_units::{Rate, Span};

pub fn build(fabric: &mut Custom, key: &Key) -> Result<Topology, Wrong> {
    let hosts = at_least_one(fabric.hosts, "host", key.clone().name("hosts"))?;
    let names = switch_names(&fabric.switches, key)?;
    check_size(u64::from(hosts) + names.len() as u64, 0, 0, &key.clone().name("hosts"))?;
    let mut builder = Builder::default();
    (0..hosts).for_each(|_| builder.host(None));
    for name in names {
        builder.switch(name, 1, None);
    }
    let nodes = builder.finish();
    let names = Names::of(&nodes);
    let mut builder = Builder::from(nodes.clone());
    let mut links = 0u64;
    for (index, link) in fabric.link.iter_mut().enumerate() {
        let key = key.clone().name("link").index(index);
        let end = |name: &str, end: &str| names.find(name).map_err(|message| Wrong::at(key.clone().name(end), message));
        let (a, b) = (end(&link.a, "a")?, end(&link.b, "b")?);
        if a == b {
            return Err(Wrong::at(key.name("b"), format!("a link from \"{}\" to itself", link.b)));
        }
        let rate = rate(&mut link.rate, Rate::from_gbps(100), key.clone().name("rate"))?;
        let delay = delay(&mut link.delay, Span::from_us(1), key.clone().name("delay"))?;
        let count = at_least_one(fill(&mut link.count, 1), "link", key.clone().name("count"))?;
        links += u64::from(count);
        check_size(hosts.into(), links, 0, &key.name("count"))?;
        (0..count).for_each(|_| builder.link(a, b, rate, delay));
    }
    let mut topology = builder.finish();
    connected::find_tiers(&mut topology);
    Ok(topology)
}

fn switch_names(switches: &Switches, key: &Key) -> Result<Vec<String>, Wrong> {
    let key = key.clone().name("switches");
    match switches {
        Switches::Count(count) => {
            check_size((*count).into(), 0, 0, &key)?;
            Ok((0..*count).map(|number| format!("switch{number}")).collect())
        }
        Switches::Names(names) => {
            let mut known = std::collections::BTreeSet::new();
            for (index, name) in names.iter().enumerate() {
                let wrong = |message: String| Wrong::at(key.clone().index(index), message);
                if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control() || "*?>#".contains(c)) {
                    return Err(wrong(format!(
                        "\"{name}\": a node's name is not empty and has no blanks and none of {}",
                        spelling::list(["*", "?", ">", "#"])
                    )));
                }
                if name.strip_prefix("host").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())) {
                    return Err(wrong(format!("\"{name}\": names of this form belong to the hosts")));
                }
                if !known.insert(name) {
                    return Err(wrong(format!("\"{name}\" is there twice")));
                }
            }
            Ok(names.clone())
        }
    }
}
