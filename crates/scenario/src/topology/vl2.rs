//! VL2 (Greenberg et al. 2009): top-of-rack switches have two uplinks each to aggregation switches,
//! and every aggregation switch is linked to every intermediate switch. Ports of a top-of-rack
//! switch: its hosts, then its uplinks. Ports of an aggregation switch: its top-of-rack switches,
//! then the intermediate ones.

use super::builder::{Builder, at_least_one, check_size, delay, rate};
use crate::document::Vl2;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Topology;
use afflux_units::{Rate, Span};

pub fn build(fabric: &mut Vl2, key: &Key) -> Result<Topology, Wrong> {
    let (ports, aggregation) = (fabric.aggregation_ports, fabric.intermediate_ports);
    for (name, count) in [("aggregation_ports", ports), ("intermediate_ports", aggregation)] {
        if count < 2 || !count.is_multiple_of(2) {
            return Err(Wrong::at(
                key.clone().name(name),
                format!("found {count}: write an even number from 2"),
            ));
        }
    }
    let per_tor = at_least_one(
        fill(&mut fabric.hosts_per_tor, 20),
        "host per rack",
        key.clone().name("hosts_per_tor"),
    )?;
    let host_rate = rate(&mut fabric.host_rate, Rate::from_gbps(1), key.clone().name("host_rate"))?;
    let uplink_rate =
        rate(&mut fabric.uplink_rate, Rate::from_gbps(10), key.clone().name("uplink_rate"))?;
    let delay = delay(&mut fabric.delay, Span::from_us(1), key.clone().name("delay"))?;

    let tors = u64::from(ports) * u64::from(aggregation) / 4;
    if tors == 0 {
        return Err(Wrong::at(
            key.clone(),
            "this makes no rack: aggregation_ports · intermediate_ports / 4 is their number",
        ));
    }
    let hosts = tors.saturating_mul(per_tor.into());
    let links = hosts.saturating_add(4 * tors);
    check_size(
        hosts,
        links,
        u64::from(per_tor + 2).max(ports.into()).max(aggregation.into()),
        key,
    )?;

    let (tors, hosts, intermediate) = (tors as u32, hosts as u32, ports / 2);
    let mut builder = Builder::default();
    (0..hosts).for_each(|host| builder.host(Some(host / per_tor)));
    (0..tors).for_each(|tor| {
        builder.switch(format!("tor{tor}"), 1, Some(tor));
    });
    (0..aggregation).for_each(|agg| {
        builder.switch(format!("agg{agg}"), 2, None);
    });
    (0..intermediate).for_each(|int| {
        builder.switch(format!("int{int}"), 3, None);
    });
    let (tor, agg, int) = (hosts, hosts + tors, hosts + tors + aggregation);
    (0..hosts).for_each(|host| builder.link(host, tor + host / per_tor, host_rate, delay));
    for t in 0..tors {
        (0..2).for_each(|side| {
            builder.link(tor + t, agg + (2 * t + side) % aggregation, uplink_rate, delay)
        });
    }
    for a in 0..aggregation {
        (0..intermediate).for_each(|i| builder.link(agg + a, int + i, uplink_rate, delay));
    }
    Ok(builder.finish())
}
