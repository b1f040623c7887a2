//! Al-Fares's fat-tree. Ports of an edge switch: its hosts, then the pod's aggregation switches.
//! Ports of an aggregation switch: the pod's edge switches, then its cores. Ports of a core switch:
//! by pod.

use super::builder::{Builder, at_least_one, check_size, delay, rate};
use crate::document::FatTree;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Topology;
use afflux_units::{Rate, Span};

pub fn build(fabric: &mut FatTree, key: &Key) -> Result<Topology, Wrong> {
    let k = fabric.k;
    if k < 2 || !k.is_multiple_of(2) {
        let near =
            if k < 2 { String::new() } else { format!(": {} or {}", k - 1, u64::from(k) + 1) };
        return Err(Wrong::at(
            key.clone().name("k"),
            format!("found {k}: a fat-tree's k is an even number from 2{near}"),
        ));
    }
    let oversubscription = at_least_one(
        fill(&mut fabric.oversubscription, 1),
        "host per uplink",
        key.clone().name("oversubscription"),
    )?;
    let rate = rate(&mut fabric.rate, Rate::from_gbps(100), key.clone().name("rate"))?;
    let delay = delay(&mut fabric.delay, Span::from_us(1), key.clone().name("delay"))?;

    let half = u64::from(k / 2);
    let racks = u64::from(k).saturating_mul(half);
    let hosts = racks.saturating_mul(half).saturating_mul(oversubscription.into());
    check_size(
        hosts,
        hosts.saturating_add(racks.saturating_mul(half).saturating_mul(2)),
        half.saturating_mul(u64::from(oversubscription) + 1),
        key,
    )?;

    let (half, racks, hosts) = (k / 2, racks as u32, hosts as u32);
    let per_rack = half * oversubscription;
    let mut builder = Builder::default();
    (0..hosts).for_each(|host| builder.host(Some(host / per_rack / half)));
    for (name, tier) in [("edge", 1), ("agg", 2)] {
        (0..racks).for_each(|number| {
            builder.switch(format!("{name}{number}"), tier, Some(number / half));
        });
    }
    (0..half * half).for_each(|core| {
        builder.switch(format!("core{core}"), 3, None);
    });
    let (edge, agg, core) = (hosts, hosts + racks, hosts + 2 * racks);
    (0..hosts).for_each(|host| builder.link(host, edge + host / per_rack, rate, delay));
    for pod in 0..k {
        for e in 0..half {
            (0..half).for_each(|a| {
                builder.link(edge + pod * half + e, agg + pod * half + a, rate, delay)
            });
        }
        for a in 0..half {
            (0..half)
                .for_each(|c| builder.link(agg + pod * half + a, core + a * half + c, rate, delay));
        }
    }
    Ok(builder.finish())
}
