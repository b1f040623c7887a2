//! Al-Fares's fat-tree. Ports of an edge switch: its hosts, then the pod's aggregation switches.
//! Ports of an aggregation switch: the pod's edge switches, then its cores. Ports of a core switch:
//! by pod.

use super::kind::{Fabric, Site, fabric};
use crate::topology::builder::{Builder, check_size, link_delay, link_rate};
use crate::topology::written::{ChangeKeys, NameKeys};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Speed, keys};
use afflux_net::Model;
use afflux_net::spec::Topology;

keys! {
    /// k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores; aggregation switch j of each pod is linked to the cores
    /// j·k/2 … j·k/2+k/2−1 (Al-Fares, SIGCOMM 2008).
    pub struct Keys as "FatTree" => FatTree {
        /// Number of ports of a switch; an even number.
        k: u32 = required, in 2 to 65_534 as "an even number from 2 to 65534", check even;
        /// Hosts under an edge switch for each of its uplinks: `oversubscription · k/2` hosts per edge switch.
        oversubscription: u32 = 1, in 1 to 4_000_000;
        /// Rate of every link.
        rate: Speed = "100Gbps", check link_rate;
        /// Delay of every link, one way.
        delay: Duration = "1us", check link_delay;
        @names: NameKeys;
        @changes: ChangeKeys;
    }
}

fn even(k: u32, key: Key) -> Result<u32, Wrong> {
    if !k.is_multiple_of(2) {
        let (below, above) = (k - 1, k + 1);
        return Err(Wrong::at(
            key,
            format!("found {k}: a fat-tree's k is an even number from 2: {below} or {above}"),
        ));
    }
    Ok(k)
}

impl Fabric for Keys {
    fn build(&mut self, key: &Key, _: &Site) -> Result<Topology, Wrong> {
        let FatTree { k, oversubscription, rate, delay } = self.resolve(key)?;
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
                (0..half).for_each(|c| {
                    builder.link(agg + pod * half + a, core + a * half + c, rate, delay)
                });
            }
        }
        builder.named_by(&self.names, key)
    }
}

pub const MODEL: Model = fabric(
    "fat_tree",
    "Al-Fares et al., SIGCOMM'08; ConWeave's generator for oversubscription",
    "aggregation switch j of each pod is linked to cores j*k/2 to j*k/2+k/2-1",
    "oversubscription by more hosts per edge switch only",
);
