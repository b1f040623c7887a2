//! `kind = "custom"`: a fabric that is written link by link.

use super::builder::{Builder, at_least_one, check_size, delay, rate};
use super::changes::longest;
use super::connected;
use super::names::{self, Names};
use crate::document::{Custom, Switches};
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{Link, Topology};
use afflux_units::{Rate, Span};

pub fn build(fabric: &mut Custom, key: &Key, frame: (u16, u16)) -> Result<Topology, Wrong> {
    let hosts = at_least_one(fabric.hosts.count(), "host", key.clone().name("hosts"))?;
    let names = switch_names(&fabric.switches, key)?;
    let common_rate = fabric.rate.map_or(Rate::from_gbps(100), |rate| rate.0);
    let common_delay = fabric.delay.map_or(Span::from_us(1), |delay| delay.0);
    check_size(u64::from(hosts) + names.len() as u64, 0, 0, &key.clone().name("hosts"))?;
    let mut builder = Builder::default();
    (0..hosts).for_each(|_| builder.host(None));
    for name in names {
        builder.switch(name, 1, None);
    }
    let mut nodes = builder.finish();
    names::name_hosts(&mut nodes, fabric.hosts.names(), key)?;
    let names = Names::of(&nodes);
    let mut builder = Builder::from(nodes.clone());
    let mut links = 0u64;
    for (index, link) in fabric.link.iter_mut().enumerate() {
        let key = key.clone().name("link").index(index);
        let end = |name: &str, end: &str| {
            names.find(name).map_err(|message| Wrong::at(key.clone().name(end), message))
        };
        let (a, b) = (end(&link.a, "a")?, end(&link.b, "b")?);
        if a == b {
            return Err(Wrong::at(key.name("b"), format!("a link from \"{}\" to itself", link.b)));
        }
        let rate = rate(&mut link.rate, common_rate, key.clone().name("rate"))?;
        let delay = delay(&mut link.delay, common_delay, key.clone().name("delay"))?;
        let longest =
            link.mtu.map(|mtu| longest(mtu, frame, key.clone().name("mtu"))).transpose()?;
        let count = at_least_one(fill(&mut link.count, 1), "link", key.clone().name("count"))?;
        links += u64::from(count);
        check_size(hosts.into(), links, 0, &key.name("count"))?;
        (0..count).for_each(|_| builder.add(Link { longest, ..Link::new(a, b, rate, delay) }));
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
            names::check_switches(names, &key)?;
            Ok(names.clone())
        }
    }
}
