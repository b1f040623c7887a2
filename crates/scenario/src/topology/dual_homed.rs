//! The dual-homed FatTree of Raiciu et al. (2011). Edge switches come in pairs, and every host has
//! a link to both switches of its pair. The first switch of a pair is linked to the first half of
//! its pod's aggregation switches, the second to the other half. Ports of an edge switch: its
//! hosts, then its uplinks. All other ports are in the order of a fat-tree.

use super::builder::{Builder, at_least_one, check_size, delay, rate};
use crate::document::DualHomed;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Topology;
use afflux_units::{Rate, Span};

pub fn build(fabric: &mut DualHomed, key: &Key) -> Result<Topology, Wrong> {
    let k = fabric.k;
    if k < 4 || !k.is_multiple_of(4) {
        let below = k / 4 * 4;
        let near = if below < 4 {
            "4".to_string()
        } else {
            format!("{below} or {}", u64::from(below) + 4)
        };
        return Err(Wrong::at(
            key.clone().name("k"),
            format!("found {k}: k is a multiple of 4: {near}"),
        ));
    }
    let default = (u64::from(k) * 2 / 3) as u32;
    let per_pair = at_least_one(
        fill(&mut fabric.hosts_per_pair, default),
        "host per pair",
        key.clone().name("hosts_per_pair"),
    )?;
    let rate = rate(&mut fabric.rate, Rate::from_gbps(1), key.clone().name("rate"))?;
    let delay = delay(&mut fabric.delay, Span::from_us(1), key.clone().name("delay"))?;

    let half = u64::from(k / 2);
    let pairs = u64::from(k).saturating_mul(half);
    let hosts = pairs.saturating_mul(per_pair.into());
    let ups = pairs.saturating_mul(2).saturating_mul(half / 2);
    check_size(
        hosts,
        hosts.saturating_mul(2).saturating_add(ups).saturating_add(pairs.saturating_mul(half)),
        u64::from(per_pair) + half,
        key,
    )?;

    let (half, pairs, hosts) = (k / 2, pairs as u32, hosts as u32);
    let mut builder = Builder::default();
    (0..hosts).for_each(|host| builder.host(Some(host / per_pair / half)));
    (0..2 * pairs).for_each(|edge| {
        builder.switch(format!("edge{edge}"), 1, Some(edge / k));
    });
    (0..pairs).for_each(|agg| {
        builder.switch(format!("agg{agg}"), 2, Some(agg / half));
    });
    (0..half * half).for_each(|core| {
        builder.switch(format!("core{core}"), 3, None);
    });
    let (edge, agg, core) = (hosts, hosts + 2 * pairs, hosts + 3 * pairs);
    for host in 0..hosts {
        (0..2)
            .for_each(|side| builder.link(host, edge + 2 * (host / per_pair) + side, rate, delay));
    }
    for pod in 0..k {
        for e in 0..k {
            (0..half / 2).for_each(|a| {
                builder.link(
                    edge + pod * k + e,
                    agg + pod * half + e % 2 * (half / 2) + a,
                    rate,
                    delay,
                )
            });
        }
        for a in 0..half {
            (0..half)
                .for_each(|c| builder.link(agg + pod * half + a, core + a * half + c, rate, delay));
        }
    }
    Ok(builder.finish())
}
