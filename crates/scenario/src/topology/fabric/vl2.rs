//! VL2 (Greenberg et al. 2009): top-of-rack switches have two uplinks each to aggregation switches,
//! and every aggregation switch is linked to every intermediate switch. Ports of a top-of-rack
//! switch: its hosts, then its uplinks. Ports of an aggregation switch: its top-of-rack switches,
//! then the intermediate ones.

use super::kind::{Fabric, Site, fabric};
use crate::topology::builder::{Builder, check_size, link_delay, link_rate};
use crate::topology::written::{ChangeKeys, NameKeys};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Speed, keys};
use afflux_net::Model;
use afflux_net::spec::Topology;

keys! {
    /// Racks with two uplinks each to aggregation switches. Every aggregation switch is linked to
    /// every intermediate switch. Equal-cost paths lead over all intermediate switches, as with
    /// VL2's load balancing. Between racks that share an aggregation switch, paths lead only over
    /// that switch.
    pub struct Keys as "Vl2" => Vl2 {
        /// Ports of an aggregation switch (D_A), an even number: half go to racks, half to
        /// intermediate switches. There are D_A/2 intermediate switches.
        aggregation_ports: u32 = required, in 2 to 65_534 as "an even number from 2 to 65534", check even;
        /// Ports of an intermediate switch (D_I), an even number, which is the number of
        /// aggregation switches. There are D_A · D_I / 4 racks.
        intermediate_ports: u32 = required, in 2 to 65_534 as "an even number from 2 to 65534", check even;
        /// Hosts of a rack.
        hosts_per_tor: u32 = 20, in 1 to 4_000_000;
        /// Rate of the hosts' links.
        host_rate: Speed = "1Gbps", check link_rate;
        /// Rate of all other links.
        uplink_rate: Speed = "10Gbps", check link_rate;
        /// Delay of every link, one way.
        delay: Duration = "1us", check link_delay;
        @names: NameKeys;
        @changes: ChangeKeys;
    }
}

fn even(count: u32, key: Key) -> Result<u32, Wrong> {
    if !count.is_multiple_of(2) {
        return Err(Wrong::at(key, format!("found {count}: write an even number from 2 to 65534")));
    }
    Ok(count)
}

impl Fabric for Keys {
    fn build(&mut self, key: &Key, _: &Site) -> Result<Topology, Wrong> {
        let keys = self.resolve(key)?;
        let (ports, aggregation) = (keys.aggregation_ports, keys.intermediate_ports);
        let Vl2 { hosts_per_tor: per_tor, host_rate, uplink_rate, delay, .. } = keys;
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
        builder.named_by(&self.names, key)
    }
}

pub const MODEL: Model = fabric(
    "vl2",
    "Greenberg et al., SIGCOMM'09",
    "numbers of switches by their ports; two uplinks per rack, aggregation and intermediate switches in full mesh",
    "load is spread by equal-cost paths: racks that share an aggregation switch do not go up to an intermediate one",
);
