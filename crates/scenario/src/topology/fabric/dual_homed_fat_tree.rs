//! The dual-homed FatTree of Raiciu et al. (2011). Edge switches come in pairs, and every host has
//! a link to both switches of its pair. The first switch of a pair is linked to the first half of
//! its pod's aggregation switches, the second to the other half. Ports of an edge switch: its
//! hosts, then its uplinks. All other ports are in the order of a fat-tree.

use super::kind::{Fabric, Site, fabric};
use crate::topology::builder::{Builder, at_least_one, check_size, link_delay, link_rate};
use crate::topology::written::{ChangeKeys, NameKeys};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Speed, keys};
use afflux_net::Model;
use afflux_net::spec::Topology;

keys! {
    /// k pods of k/2 pairs of edge switches and k/2 aggregation switches, (k/2)² cores. Every host has a link to both edge switches of its pair; the
    /// first of a pair is linked to the first half of its pod's aggregation switches, the second to the other half.
    pub struct Keys as "DualHomed" => DualHomed {
        /// Number of pods; a multiple of 4. The study's is 12.
        k: u32 = required, in 4 to 65_532 as "a multiple of 4 from 4 to 65532", check multiple_of_4;
        /// Hosts of each pair of edge switches. With the default a pod with k = 12 is oversubscribed 2.67:1.
        hosts_per_pair: u32 = ((u64::from(k) * 2 / 3) as u32) "2k/3, rounded down",
            check |hosts, key| at_least_one(hosts, "host per pair", key);
        /// Rate of every link.
        rate: Speed = "1Gbps", check link_rate;
        /// Delay of every link, one way.
        delay: Duration = "1us", check link_delay;
        @names: NameKeys;
        @changes: ChangeKeys;
    }
}

fn multiple_of_4(k: u32, key: Key) -> Result<u32, Wrong> {
    if !k.is_multiple_of(4) {
        let below = k / 4 * 4;
        let above = below + 4;
        return Err(Wrong::at(key, format!("found {k}: k is a multiple of 4: {below} or {above}")));
    }
    Ok(k)
}

impl Fabric for Keys {
    fn build(&mut self, key: &Key, _: &Site) -> Result<Topology, Wrong> {
        let DualHomed { k, hosts_per_pair: per_pair, rate, delay } = self.resolve(key)?;
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
            (0..2).for_each(|side| {
                builder.link(host, edge + 2 * (host / per_pair) + side, rate, delay)
            });
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
                (0..half).for_each(|c| {
                    builder.link(agg + pod * half + a, core + a * half + c, rate, delay)
                });
            }
        }
        builder.named_by(&self.names, key)
    }
}

pub const MODEL: Model = fabric(
    "dual_homed_fat_tree",
    "Raiciu et al., SIGCOMM'11; sizes as htsim builds it",
    "pairs of edge switches that serve the same hosts, each with half of the pod's aggregation switches",
    "a host's two NICs are chosen by hash, or by MPTCP's full mesh",
);
