//! A dragonfly (Kim et al. 2008): groups of routers, each group a full mesh, and one global link
//! between any two groups. Ports of a router: its hosts, then the other routers of its group, then
//! its global links.

use super::kind::{Fabric, Site, fabric};
use crate::topology::builder::{Builder, at_least_one, check_size, link_delay, link_rate};
use crate::topology::written::{ChangeKeys, NameKeys};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Speed, keys};
use afflux_net::Model;
use afflux_net::spec::Topology;

keys! {
    /// Groups of routers. The routers of a group are linked to each other, and any two groups by
    /// one global link. Global link j of a group (j / `global_links` is the router's number there)
    /// leads to group j, or j + 1 from the group's own number on. Frames take the paths with the
    /// fewest links; there is no Valiant or adaptive routing.
    pub struct Keys as "Dragonfly" => Dragonfly {
        /// Routers of a group, a.
        routers: u32 = required, in 1 to 4_000_000;
        /// Hosts of a router, p. The default is balanced: a = 2p = 2h.
        hosts_per_router: u32 = (half(routers)) "half of `routers`, rounded up" from "Kim et al. 2008",
            check |hosts, key| at_least_one(hosts, "host per router", key);
        /// Global links of a router, h.
        global_links: u32 = (half(routers)) "half of `routers`, rounded up" from "Kim et al. 2008",
            check |links, key| at_least_one(links, "global link per router", key);
        /// Number of groups, from 2. With fewer groups than the default, the last routers of a
        /// group have fewer global links.
        groups: u32 = (most_groups(routers, global_links)) "`routers` · `global_links` + 1",
            check |groups, key| up_to(groups, most_groups(routers, global_links), key);
        /// Rate of the hosts' links.
        host_rate: Speed = "100Gbps", check link_rate;
        /// Rate of the links between routers of a group.
        local_rate: Speed = (Speed(host_rate)) "`host_rate`", check link_rate;
        /// Rate of the links between groups.
        global_rate: Speed = (Speed(host_rate)) "`host_rate`", check link_rate;
        /// Delay of the links inside a group, one way.
        delay: Duration = "1us", check link_delay;
        /// Delay of the links between groups, one way.
        global_delay: Duration = (Duration(delay)) "`delay`", check link_delay;
        @names: NameKeys;
        @changes: ChangeKeys;
    }
}

fn half(routers: u32) -> u32 {
    routers.div_ceil(2)
}

/// Returns the number of groups that a full mesh by single links can have.
fn most_groups(routers: u32, global_links: u32) -> u32 {
    routers.saturating_mul(global_links).saturating_add(1)
}

fn up_to(groups: u32, most: u32, key: Key) -> Result<u32, Wrong> {
    if groups < 2 || groups > most {
        let range = format!("a number of groups from 2 to {most}, routers · global_links + 1");
        return Err(Wrong::at(key, format!("found {groups}: write {range}")));
    }
    Ok(groups)
}

impl Fabric for Keys {
    fn build(&mut self, key: &Key, _: &Site) -> Result<Topology, Wrong> {
        let keys = self.resolve(key)?;
        let Dragonfly { routers, hosts_per_router, global_links, groups, delay, .. } = keys;
        let [a, p, h, g] = [routers, hosts_per_router, global_links, groups].map(u64::from);
        let hosts = g.saturating_mul(a).saturating_mul(p);
        let local = g.saturating_mul(a.saturating_mul(a - 1) / 2);
        let links = hosts.saturating_add(local).saturating_add(g.saturating_mul(g - 1) / 2);
        check_size(hosts, links, p.saturating_add(a - 1).saturating_add(h), key)?;

        let mut builder = Builder::default();
        let hosts = hosts as u32;
        (0..hosts).for_each(|host| builder.host(Some(host / hosts_per_router / routers)));
        (0..groups * routers).for_each(|router| {
            builder.switch(format!("router{router}"), 1, Some(router / routers));
        });
        for host in 0..hosts {
            builder.link(host, hosts + host / hosts_per_router, keys.host_rate, delay);
        }
        for group in 0..groups {
            let first = hosts + group * routers;
            for router in 0..routers {
                for other in router + 1..routers {
                    builder.link(first + router, first + other, keys.local_rate, delay);
                }
            }
        }
        // Returns the router with the global link from `group` to `other`.
        let router = |group: u32, other: u32| {
            let link = if other < group { other } else { other - 1 };
            hosts + group * routers + link / global_links
        };
        for group in 0..groups {
            for other in group + 1..groups {
                let (a, b) = (router(group, other), router(other, group));
                builder.link(a, b, keys.global_rate, keys.global_delay);
            }
        }
        builder.named_by(&self.names, key)
    }
}

pub const MODEL: Model = fabric(
    "dragonfly",
    "Kim et al., ISCA'08",
    "groups of routers in full mesh, h global links of each router, one global link between any two groups; balanced by default (a = 2p = 2h)",
    "routes have the fewest links, so a frame crosses two global links where that is shorter than a local, a global and a local one; no Valiant, UGAL or other adaptive routing; virtual channels are priorities that the scenario chooses",
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;
    use std::collections::BTreeSet;

    fn built(keys: &mut Keys) -> Result<Topology, Wrong> {
        let inputs = Inputs::of("fabric.toml".as_ref(), None);
        keys.build(&"topology".into(), &Site { inputs: &inputs, frame: (0, 0) })
    }

    /// The network of Kim et al., figure 5: a = 4, p = h = 2, nine groups of eight hosts.
    #[test]
    fn any_two_groups_have_one_global_link() {
        let mut keys = Keys { routers: Some(4), ..Keys::default() };
        let topology = built(&mut keys).unwrap();
        assert_eq!((topology.hosts, topology.nodes.len()), (72, 72 + 36));
        assert_eq!(topology.links.len(), 72 + 9 * 6 + 36);
        let (mut pairs, mut used) = (BTreeSet::new(), [0; 36]);
        for link in &topology.links[72 + 9 * 6..] {
            let [a, b] = [link.a, link.b].map(|node| node as usize - 72);
            assert!(pairs.insert((a / 4, b / 4)) && a / 4 < b / 4, "{a} {b}");
            (used[a], used[b]) = (used[a] + 1, used[b] + 1);
        }
        assert_eq!((pairs.len(), used), (36, [2; 36]));
    }

    #[test]
    fn fewer_groups_use_fewer_global_links() {
        let keys = |groups| Keys {
            routers: Some(2),
            hosts_per_router: Some(3),
            groups: Some(groups),
            ..Keys::default()
        };
        let topology = built(&mut keys(2)).unwrap();
        assert_eq!((topology.hosts, topology.links.len()), (12, 12 + 2 + 1));
        assert_eq!((topology.links[14].a, topology.links[14].b), (12, 14));
        for groups in [1, 4] {
            assert_eq!(
                built(&mut keys(groups)).unwrap_err().to_string(),
                format!(
                    "key topology.groups: found {groups}: write a number of groups from 2 to 3, routers · global_links + 1"
                )
            );
        }
    }
}
