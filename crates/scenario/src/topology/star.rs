//! `kind = "star"`: all hosts on one switch.

use super::builder::{Builder, at_least_one, check_size, delay, rate};
use crate::document::Star;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Topology;
use afflux_units::{Rate, Span};

pub fn build(star: &mut Star, key: &Key) -> Result<Topology, Wrong> {
    let hosts = at_least_one(star.hosts.count(), "host", key.clone().name("hosts"))?;
    let rate = rate(&mut star.rate, Rate::from_gbps(100), key.clone().name("rate"))?;
    let delay = delay(&mut star.delay, Span::from_us(1), key.clone().name("delay"))?;
    check_size(hosts.into(), hosts.into(), hosts.into(), &key.clone().name("hosts"))?;
    let mut builder = Builder::default();
    (0..hosts).for_each(|_| builder.host(Some(0)));
    let switch = builder.switch("switch0".into(), 1, Some(0));
    (0..hosts).for_each(|host| builder.link(host, switch, rate, delay));
    Ok(builder.finish())
}
