//! BCube (Guo et al. 2009). Hosts are numbered by digits, a switch of level i joins the hosts that
//! differ only in digit i, and hosts forward frames. Order of ports: a host's by level, a switch's
//! by digit.

use super::kind::{Fabric, Site, fabric};
use crate::topology::builder::{Builder, at_least_one, check_size, link_delay, link_rate};
use crate::topology::written::{ChangeKeys, NameKeys};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Speed, keys};
use afflux_net::Model;
use afflux_net::spec::Topology;

keys! {
    /// BCube(n, k): n^(k+1) hosts with k+1 NICs each, numbered by k+1 digits from 0 to n−1. A
    /// switch of level i joins the n hosts that differ only in digit i (the last digit is digit 0).
    /// Each level has n^k switches, named `level<i>_<number>` by the other digits. Hosts forward
    /// frames for other hosts. A hash selects among the shortest paths (the orders in which digits
    /// are corrected). BCube's longer paths, over a digit that is already right, are not used.
    pub struct Keys as "Bcube" => Bcube {
        /// Ports of a switch, n.
        ports: u32 = required, in 2 to 65_535;
        /// Levels of switches, k + 1, which is also the number of NICs of a host; at least 2.
        levels: u32 = 2, in 2 to 21 as "a number from 2 to 21; with one level it is a star";
        /// Rate of every link.
        rate: Speed = "1Gbps", check link_rate;
        /// Delay of every link, one way.
        delay: Duration = "1us", check link_delay;
        @names: NameKeys;
        @changes: ChangeKeys;
    }
}

impl Fabric for Keys {
    fn build(&mut self, key: &Key, _: &Site) -> Result<Topology, Wrong> {
        let Bcube { ports, levels, rate, delay } = self.resolve(key)?;
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
        builder.named_by(&self.names, key)
    }
}

pub const MODEL: Model = fabric(
    "bcube",
    "Guo et al., SIGCOMM'09",
    "hosts of several NICs that forward for each other over levels of switches; digits are corrected in any order",
    "a forwarding host takes its delay twice, holds frames in its NIC's queues and has no limit of its own; ways over a digit that is right already are taken only where a failure leaves no other; no source routing, no probing of paths",
);
