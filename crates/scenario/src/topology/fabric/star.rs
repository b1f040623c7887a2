//! `kind = "star"`: all hosts on one switch.

use super::kind::{Fabric, Site, fabric};
use crate::topology::builder::{Builder, at_least_one, check_size, link_delay, link_rate};
use crate::topology::written::{ChangeKeys, HostList};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Speed, keys};
use afflux_net::Model;
use afflux_net::spec::Topology;

keys! {
    /// All hosts on one switch.
    pub struct Keys as "Star" => Star {
        /// The hosts: their number (`host0` …), or an array with a name, or a table of name and
        /// addresses, for each host.
        hosts: HostList = required;
        /// Name of the switch, in an array. Default: `switch0`.
        switches: Vec<String> = none;
        /// Rate of every link.
        rate: Speed = "100Gbps", check link_rate;
        /// Propagation delay of every link, one way.
        delay: Duration = "1us" from "the convention of the ns-3 RDMA simulators; 200 m of fibre", check link_delay;
        @changes: ChangeKeys;
    }
}

impl Fabric for Keys {
    fn build(&mut self, key: &Key, _: &Site) -> Result<Topology, Wrong> {
        let Star { hosts: list, switches, rate, delay } = self.resolve(key)?;
        let hosts = at_least_one(list.count(), "host", key.clone().name("hosts"))?;
        check_size(hosts.into(), hosts.into(), hosts.into(), &key.clone().name("hosts"))?;
        let mut builder = Builder::default();
        (0..hosts).for_each(|_| builder.host(Some(0)));
        let switch = builder.switch("switch0".into(), 1, Some(0));
        (0..hosts).for_each(|host| builder.link(host, switch, rate, delay));
        builder.named(list.names(), switches.as_deref(), key)
    }
}

pub const MODEL: Model = fabric("star", "-", "one switch", "none");
