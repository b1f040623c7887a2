//! BCube (Guo et al. 2009). Hosts are numbered by digits, a switch of level i joins the hosts that
//! differ only in digit i, and hosts forward frames. Order of ports: a host's by level, a switch's
//! by digit.

use super::builder::{Builder, at_least_one, check_size, delay, rate};
use crate::document::Bcube;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Topology;
use afflux_units::{Rate, Span};

pub fn build(fabric: &mut Bcube, key: &Key) -> Result<Topology, Wrong> {
    let ports = fabric.ports;
    if ports < 2 {
        return Err(Wrong::at(
            key.clone().name("ports"),
            format!("found {ports}: write a number from 2"),
        ));
    }
    let levels = fill(&mut fabric.levels, 2);
    if levels < 2 {
        return Err(Wrong::at(
            key.clone().name("levels"),
            format!("found {levels}: write a number from 2; with one level it is a star"),
        ));
    }
    let rate = rate(&mut fabric.rate, Rate::from_gbps(1), key.clone().name("rate"))?;
    let delay = delay(&mut fabric.delay, Span::from_us(1), key.clone().name("delay"))?;

    let hosts = u64::from(ports).saturating_pow(levels);
    check_size(hosts, hosts.saturating_mul(levels.into()), ports.max(levels).into(), key)?;
    let hosts = at_least_one(hosts as u32, "host", key.clone())?;
    let per_level = hosts / ports;

    let mut builder = Builder::default();
    builder.hosts_relay();
    (0..hosts).for_each(|host| builder.host(Some(host / ports)));
    for level in 0..levels {
        for number in 0..per_level {
            let group = (level == 0).then_some(number);
            builder.switch(format!("level{level}_{number}"), 1, group);
        }
    }
    for host in 0..hosts {
        for level in 0..levels {
            // The number of the switch consists of the host's digits without the digit of this
            // level.
            let weight = ports.pow(level);
            let number = host / (weight * ports) * weight + host % weight;
            builder.link(host, hosts + level * per_level + number, rate, delay);
        }
    }
    Ok(builder.finish())
}
