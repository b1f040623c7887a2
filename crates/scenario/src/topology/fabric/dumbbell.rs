//! `kind = "dumbbell"`: pairs of hosts over one bottleneck.

use super::kind::{Fabric, Site, fabric};
use crate::topology::builder::{Builder, check_size, link_delay, link_rate};
use crate::topology::written::{ChangeKeys, NameKeys};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Speed, keys};
use afflux_net::Model;
use afflux_net::spec::Topology;

keys! {
    /// Two switches with hosts 0 … pairs−1 on the left and hosts pairs … 2·pairs−1 on the right.
    /// Host i usually sends to host pairs+i.
    pub struct Keys as "Dumbbell" => Dumbbell {
        /// Number of hosts on each side.
        pairs: u32 = required, in 1 to 4_000_000;
        /// Rate of the hosts' links.
        access_rate: Speed = "100Gbps", check link_rate;
        /// Delay of the hosts' links.
        access_delay: Duration = "1us", check link_delay;
        /// Rate of the bottleneck between `left` and `right`.
        rate: Speed = "10Gbps", check link_rate;
        /// Delay of the bottleneck.
        delay: Duration = "10us", check link_delay;
        @names: NameKeys;
        @changes: ChangeKeys;
    }
}

impl Fabric for Keys {
    fn build(&mut self, key: &Key, _: &Site) -> Result<Topology, Wrong> {
        let Dumbbell { pairs, access_rate, access_delay, rate, delay } = self.resolve(key)?;
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
        builder.named_by(&self.names, key)
    }
}

pub const MODEL: Model = fabric("dumbbell", "-", "pairs of hosts over one bottleneck", "none");
