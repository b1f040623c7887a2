//! `kind = "leaf_spine"`: racks under leaf switches, every leaf linked to every spine. Ports of a
//! leaf: its hosts, then its uplinks by spine. Ports of a spine: by leaf.

use super::kind::{Fabric, Site, fabric};
use crate::topology::builder::{Builder, check_size, link_delay, link_rate};
use crate::topology::written::{ChangeKeys, NameKeys};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Speed, keys};
use afflux_net::Model;
use afflux_net::spec::{NodeId, Topology};

keys! {
    /// Leaf switches with a rack of hosts each, linked to spine switches. The oversubscription is
    /// `hosts_per_leaf · host_rate / (spines · parallel · uplink_rate)`.
    pub struct Keys as "LeafSpine" => LeafSpine {
        /// Number of leaf switches, each with a rack of hosts.
        leaves: u32 = required, in 1 to 4_000_000;
        /// Number of spine switches.
        spines: u32 = required, in 1 to 4_000_000;
        /// Hosts under each leaf.
        hosts_per_leaf: u32 = required, in 1 to 4_000_000;
        /// Rate of the hosts' links.
        host_rate: Speed = "100Gbps", check link_rate;
        /// Rate of the links between leaves and spines.
        uplink_rate: Speed = (Speed(host_rate)) "`host_rate`", check link_rate;
        /// Parallel links between each leaf and each spine.
        parallel: u32 = 1, in 1 to 65_535;
        /// Delay of every link that has no delay of its own.
        delay: Duration = "1us", check link_delay;
        /// Delay of the hosts' links.
        host_delay: Duration = (Duration(delay)) "`delay`", check link_delay;
        /// Delay of the links between leaves and spines.
        uplink_delay: Duration = (Duration(delay)) "`delay`", check link_delay;
        @names: NameKeys;
        @changes: ChangeKeys;
    }
}

impl Fabric for Keys {
    fn build(&mut self, key: &Key, _: &Site) -> Result<Topology, Wrong> {
        let keys = self.resolve(key)?;
        let LeafSpine { leaves, spines, hosts_per_leaf: per_leaf, parallel, .. } = keys;
        let LeafSpine { host_rate, uplink_rate, host_delay, uplink_delay, .. } = keys;
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
        (0..hosts).for_each(|host| {
            builder.link(host, first_leaf + host / per_leaf, host_rate, host_delay)
        });
        for leaf in 0..leaves {
            for spine in 0..spines {
                (0..parallel).for_each(|_| {
                    builder.link(first_leaf + leaf, first_spine + spine, uplink_rate, uplink_delay)
                });
            }
        }
        builder.named_by(&self.names, key)
    }
}

pub const MODEL: Model = fabric(
    "leaf_spine",
    "ConWeave, SIGCOMM'23 (8 leaves, 8 spines, 16 hosts each); pFabric, SIGCOMM'13 (9 racks, 4 spines)",
    "any numbers, rates, delays and parallel uplinks; ports by hosts, then spines",
    "all links of a tier are alike but for overrides",
);
