//! `kind = "dumbbell"`: pairs of hosts over one bottleneck.

use super::builder::{Builder, at_least_one, check_size, delay, rate};
use crate::document::Dumbbell;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Topology;
use afflux_units::{Rate, Span};

pub fn build(dumbbell: &mut Dumbbell, key: &Key) -> Result<Topology, Wrong> {
    let pairs = at_least_one(dumbbell.pairs, "pair of hosts", key.clone().name("pairs"))?;
    let access_rate =
        rate(&mut dumbbell.access_rate, Rate::from_gbps(100), key.clone().name("access_rate"))?;
    let access_delay =
        delay(&mut dumbbell.access_delay, Span::from_us(1), key.clone().name("access_delay"))?;
    let rate = rate(&mut dumbbell.rate, Rate::from_gbps(10), key.clone().name("rate"))?;
    let delay = delay(&mut dumbbell.delay, Span::from_us(10), key.clone().name("delay"))?;
    check_size(
        2 * u64::from(pairs),
        2 * u64::from(pairs) + 1,
        u64::from(pairs) + 1,
        &key.clone().name("pairs"),
    )?;
    let mut builder = Builder::default();
    (0..2 * pairs).for_each(|host| builder.host(Some(host / pairs)));
    let left = builder.switch("left".into(), 1, Some(0));
    let right = builder.switch("right".into(), 1, Some(1));
    (0..2 * pairs).for_each(|host| {
        builder.link(host, if host < pairs { left } else { right }, access_rate, access_delay)
    });
    builder.link(left, right, rate, delay);
    Ok(builder.finish())
}
