//! `kind = "custom"`: a fabric that is written link by link.

use super::kind::{Fabric, Site, fabric};
use crate::topology::builder::{Builder, at_least_one, check_size, link_delay, link_rate};
use crate::topology::changes::longest;
use crate::topology::connected;
use crate::topology::names::{self, Names};
use crate::topology::written::{self, ChangeKeys, HostList, Switches};
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Speed, keys};
use afflux_net::Model;
use afflux_net::spec::{Link, Topology};
use afflux_units::{Rate, Span};

keys! {
    /// Any fabric. Ports are numbered in the order of the links.
    pub struct Keys as "Custom" => Custom {
        /// The hosts: their number (`host0` …), or an array with a name, or a table of name and
        /// addresses, for each host.
        hosts: HostList = required;
        /// The switches: their number (`switch0` …) or their names.
        switches: Switches = required;
        /// Rate of the links that name no rate. Default `"100Gbps"`.
        rate: Speed = none;
        /// Propagation delay, one way, of the links that name no delay. Default `"1us"`.
        delay: Duration = none;
        /// The links. Default: required: every host and every switch needs a link.
        link: Vec<written::Link> = none;
        @changes: ChangeKeys;
    }
}

impl Fabric for Keys {
    fn build(&mut self, key: &Key, site: &Site) -> Result<Topology, Wrong> {
        let Custom { hosts: list, switches, .. } = &self.resolve(key)?;
        let hosts = at_least_one(list.count(), "host", key.clone().name("hosts"))?;
        let names = switch_names(switches, key)?;
        let common_rate = self.rate.unwrap_or(Speed(Rate::from_gbps(100)));
        let common_delay = self.delay.unwrap_or(Duration(Span::from_us(1)));
        link_rate(common_rate, key.clone().name("rate"))?;
        link_delay(common_delay, key.clone().name("delay"))?;
        check_size(u64::from(hosts) + names.len() as u64, 0, 0, &key.clone().name("hosts"))?;
        let mut builder = Builder::default();
        (0..hosts).for_each(|_| builder.host(None));
        for name in names {
            builder.switch(name, 1, None);
        }
        let mut nodes = builder.finish();
        names::name_hosts(&mut nodes, list.names(), key)?;
        let names = Names::of(&nodes);
        let mut builder = Builder::from(nodes.clone());
        let mut links = 0u64;
        for (index, link) in self.link.iter_mut().flatten().enumerate() {
            let key = key.clone().name("link").index(index);
            let end = |name: &str, end: &str| {
                names.find(name).map_err(|message| Wrong::at(key.clone().name(end), message))
            };
            let (a, b) = (end(&link.a, "a")?, end(&link.b, "b")?);
            if a == b {
                return Err(Wrong::at(
                    key.name("b"),
                    format!("a link from \"{}\" to itself", link.b),
                ));
            }
            let rate = link_rate(fill(&mut link.rate, common_rate), key.clone().name("rate"))?;
            let delay = link_delay(fill(&mut link.delay, common_delay), key.clone().name("delay"))?;
            let longest = link
                .mtu
                .map(|mtu| longest(mtu, site.frame, key.clone().name("mtu")))
                .transpose()?;
            let count = at_least_one(fill(&mut link.count, 1), "link", key.clone().name("count"))?;
            links += u64::from(count);
            check_size(hosts.into(), links, 0, &key.name("count"))?;
            (0..count).for_each(|_| builder.add(Link { longest, ..Link::new(a, b, rate, delay) }));
        }
        let mut topology = builder.finish();
        connected::find_tiers(&mut topology);
        Ok(topology)
    }
}

pub const MODEL: Model = fabric(
    "custom",
    "-",
    "link by link; parallel links, hosts with several links",
    "hosts do not forward",
);

fn switch_names(switches: &Switches, key: &Key) -> Result<Vec<String>, Wrong> {
    let key = key.clone().name("switches");
    match switches {
        Switches::Count(count) => {
            check_size((*count).into(), 0, 0, &key)?;
            Ok((0..*count).map(|number| format!("switch{number}")).collect())
        }
        Switches::Names(names) => {
            names::check_switches(names, &key)?;
            Ok(names.clone())
        }
    }
}
