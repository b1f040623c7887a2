//! IPv4 addresses of hosts: from the scenario, or else 10.x.y.z with the 24 bits of the host's
//! number + 1.

use afflux_net::spec::Topology;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// Hosts whose address is not derived from their number.
#[derive(Debug, Default)]
pub struct Addresses {
    own: BTreeMap<u32, [u8; 4]>,
}

impl Addresses {
    pub fn of_hosts(topology: &Topology) -> Self {
        let mut own = BTreeMap::new();
        if topology.addresses.is_empty() {
            return Addresses { own };
        }
        let taken: BTreeSet<[u8; 4]> = topology.addresses.keys().filter_map(octets).collect();
        for (address, host) in &topology.addresses {
            if let Some(octets) = octets(address) {
                own.entry(*host).or_insert(octets);
            }
        }
        // If a derived address belongs to another host, use the next free network: 11.x.y.z, ….
        for host in (0..topology.hosts).filter(|host| !own.contains_key(host)).collect::<Vec<_>>() {
            let [_, x, y, z] = made(host);
            if let Some(first) = (10..=u8::MAX)
                .find(|first| !taken.contains(&[*first, x, y, z]))
                .filter(|first| *first != 10)
            {
                own.insert(host, [first, x, y, z]);
            }
        }
        Addresses { own }
    }

    pub fn of(&self, host: u32) -> [u8; 4] {
        self.own.get(&host).copied().unwrap_or_else(|| made(host))
    }
}

fn made(host: u32) -> [u8; 4] {
    let [_, x, y, z] = host.wrapping_add(1).to_be_bytes();
    [10, x, y, z]
}

fn octets(address: &IpAddr) -> Option<[u8; 4]> {
    match address {
        IpAddr::V4(address) => Some(Ipv4Addr::octets(address)),
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_its_own() {
        let given =
            ["10.0.0.3", "192.0.2.1", "2001:db8::1", "10.0.0.1"].map(|text| text.parse().unwrap());
        let topology = Topology {
            hosts: 4,
            addresses: given.into_iter().zip([0, 1, 2, 3]).collect(),
            ..Topology::default()
        };
        let addresses = Addresses::of_hosts(&topology);
        // Host 2 has no IPv4 address, and 10.0.0.3 belongs to host 0.
        assert_eq!(
            [0, 1, 2, 3].map(|host| addresses.of(host)),
            [[10, 0, 0, 3], [192, 0, 2, 1], [11, 0, 0, 3], [10, 0, 0, 1]]
        );
        assert_eq!(Addresses::default().of(255), [10, 0, 1, 0]);
    }
}
