//! `kind = "leaf_spine"`: racks under leaf switches, every leaf linked to every spine. Ports of a
//! leaf: its hosts, then its uplinks by spine. Ports of a spine: by leaf.

use super::builder::{Builder, at_least_one, check_size, delay, rate};
use crate::document::LeafSpine;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{NodeId, Topology};
use afflux_units::{Rate, Span};

pub fn build(fabric: &mut LeafSpine, key: &Key) -> Result<Topology, Wrong> {
    let leaves = at_least_one(fabric.leaves, "leaf", key.clone().name("leaves"))?;
    let spines = at_least_one(fabric.spines, "spine", key.clone().name("spines"))?;
    let per_leaf =
        at_least_one(fabric.hosts_per_leaf, "host per leaf", key.clone().name("hosts_per_leaf"))?;
    let parallel = at_least_one(
        fill(&mut fabric.parallel, 1),
        "uplink per spine",
        key.clone().name("parallel"),
    )?;
    let host_rate =
        rate(&mut fabric.host_rate, Rate::from_gbps(100), key.clone().name("host_rate"))?;
    let uplink_rate = rate(&mut fabric.uplink_rate, host_rate, key.clone().name("uplink_rate"))?;
    let common = delay(&mut fabric.delay, Span::from_us(1), key.clone().name("delay"))?;
    let host_delay = delay(&mut fabric.host_delay, common, key.clone().name("host_delay"))?;
    let uplink_delay = delay(&mut fabric.uplink_delay, common, key.clone().name("uplink_delay"))?;

    let [l, s, h, p] = [leaves, spines, per_leaf, parallel].map(u64::from);
    let uplinks = s.saturating_mul(p);
    check_size(
        l * h,
        l.saturating_mul(uplinks).saturating_add(l * h),
        h.saturating_add(uplinks).max(l.saturating_mul(p)),
        key,
    )?;
    let mut builder = Builder::default();
    let hosts = leaves * per_leaf;
    (0..hosts).for_each(|host| builder.host(Some(host / per_leaf)));
    let first_leaf: NodeId = hosts;
    (0..leaves).for_each(|leaf| {
        builder.switch(format!("leaf{leaf}"), 1, Some(leaf));
    });
    let first_spine = hosts + leaves;
    (0..spines).for_each(|spine| {
        builder.switch(format!("spine{spine}"), 2, None);
    });
    (0..hosts)
        .for_each(|host| builder.link(host, first_leaf + host / per_leaf, host_rate, host_delay));
    for leaf in 0..leaves {
        for spine in 0..spines {
            (0..parallel).for_each(|_| {
                builder.link(first_leaf + leaf, first_spine + spine, uplink_rate, uplink_delay)
            });
        }
    }
    Ok(builder.finish())
}
