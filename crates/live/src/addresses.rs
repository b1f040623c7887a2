//! Selection of real hosts, and their addresses: NIC `n` of host `h` has the address 10.n.x.y with
//! 256 x + y = h + 1.

use crate::LiveError;
use afflux_net::spec::Plan;
use std::net::{IpAddr, Ipv4Addr};

/// Largest number of hosts: 10.n.255.255 is a broadcast address.
const MOST_HOSTS: u32 = 65_534;
pub const PREFIX_BITS: u32 = 16;

pub fn address(host: u32, nic: u32) -> Ipv4Addr {
    let [.., x, y] = (host + 1).to_be_bytes();
    Ipv4Addr::new(10, nic as u8, x, y)
}

/// Returns the host that has this address on any of its NICs.
pub fn host_of(address: Ipv4Addr) -> Option<u32> {
    nic_of(address).map(|(host, _)| host)
}

/// Returns host and NIC of an address.
pub fn nic_of(address: Ipv4Addr) -> Option<(u32, u32)> {
    let [ten, nic, x, y] = address.octets();
    let number = u32::from(x) * 256 + u32::from(y);
    (ten == 10 && (1..=MOST_HOSTS).contains(&number)).then(|| (number - 1, nic.into()))
}

/// Returns the host with this name, address or number, or an error text if there is none.
pub fn named(plan: &Plan, name: &str) -> Result<u32, String> {
    let hosts = plan.topology.hosts;
    let place = plan.topology.nodes[..hosts as usize].iter().position(|node| node.name == name);
    let by_address = || {
        name.parse().ok().and_then(|address: IpAddr| plan.topology.addresses.get(&address).copied())
    };
    let found = place
        .map(|index| index as u32)
        .or_else(|| name.parse().ok().filter(|number| *number < hosts))
        .or_else(by_address);
    let (first, last) =
        (&plan.topology.nodes[0].name, &plan.topology.nodes[hosts as usize - 1].name);
    found.ok_or_else(|| {
        format!("\"{name}\" is not one of the scenario's {hosts} hosts ({first} to {last})")
    })
}

/// Returns the hosts that `wanted` selects, in that order.
pub fn chosen(plan: &Plan, wanted: Option<&str>) -> Result<Vec<u32>, LiveError> {
    let hosts = plan.topology.hosts;
    let wrong = |text: String| Err(LiveError::Wrong(text));
    if hosts > MOST_HOSTS {
        return wrong(format!(
            "the scenario has {hosts} hosts: live mode has addresses for {MOST_HOSTS}"
        ));
    }
    let Some(wanted) = wanted else { return Ok((0..hosts).collect()) };
    let means = "write how many (the first ones), or which: \"0,8\" or \"host0,host8\"";
    if let Ok(count) = wanted.parse::<u32>() {
        if count == 0 || count > hosts {
            return wrong(format!("--hosts {wanted}: the scenario has {hosts} hosts; {means}"));
        }
        return Ok((0..count).collect());
    }
    let mut chosen = Vec::new();
    for name in wanted.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match named(plan, name) {
            Ok(host) if !chosen.contains(&host) => chosen.push(host),
            Ok(_) => return wrong(format!("--hosts {wanted}: \"{name}\" comes twice")),
            Err(none) => return wrong(format!("--hosts {wanted}: {none}; {means}")),
        }
    }
    if chosen.is_empty() { wrong(format!("--hosts {wanted}: {means}")) } else { Ok(chosen) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for host in [0, 1, 253, 254, 255, 256, 511, MOST_HOSTS - 1] {
            assert_eq!(host_of(address(host, 3)), Some(host));
            assert_eq!(nic_of(address(host, 3)), Some((host, 3)));
        }
        assert_eq!(address(0, 0), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(address(256, 1), Ipv4Addr::new(10, 1, 1, 1));
        let others = [
            Ipv4Addr::new(10, 0, 255, 255),
            Ipv4Addr::new(10, 0, 0, 0),
            Ipv4Addr::new(11, 0, 0, 1),
            Ipv4Addr::new(224, 0, 0, 1),
        ];
        assert!(others.into_iter().all(|other| host_of(other).is_none()));
    }
}
