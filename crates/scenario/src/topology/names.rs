//! Names and patterns of nodes and links in a scenario.

use super::pattern::Pattern;
use super::written::{HostName, NamedHost};
use afflux_config::spelling;
use afflux_config::tree::{Key, Wrong};
use afflux_net::routing::Ports;
use afflux_net::spec::{LinkId, Node, NodeId, NodeKind, Topology};
use afflux_traffic::names::{HostNames, shown, wrong};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

/// Longest name of a node in bytes. The name of a capture file contains the names of two nodes.
const LONGEST: usize = 100;
/// Words that mean several nodes, and so cannot name one.
const WORDS: [&str; 5] = ["all", "random", "hosts", "switches", "default"];

/// Gives the hosts their names and addresses.
pub fn name_hosts(
    topology: &mut Topology,
    hosts: Option<&[HostName]>,
    key: &Key,
) -> Result<(), Wrong> {
    let Some(hosts) = hosts else { return Ok(()) };
    let key = key.clone().name("hosts");
    all_or_none(hosts.len(), topology.hosts as usize, "host", &key)?;
    let mut known = HashSet::new();
    for (index, host) in hosts.iter().enumerate() {
        let key = key.clone().index(index);
        let (name, written) = match host {
            HostName::Name(name) => (Some(name), &[][..]),
            HostName::Table(NamedHost { name, address }) => (
                name.as_ref(),
                address.as_ref().map_or(&[][..], |afflux_config::Names(texts)| texts),
            ),
        };
        let mut addresses = Vec::new();
        for text in written {
            let key = key.clone().name("address");
            let message = || format!("{}: write an IP address, as in \"10.0.0.1\"", shown(text));
            let address: IpAddr = text.parse().map_err(|_| Wrong::at(key.clone(), message()))?;
            if let Some(other) = topology.addresses.insert(address, index as NodeId) {
                return Err(Wrong::at(
                    key,
                    format!("\"{address}\" is an address of host {other} too"),
                ));
            }
            addresses.push(address);
        }
        let name = match (name, addresses.first()) {
            (Some(name), _) => name.clone(),
            (None, Some(address)) => address.to_string(),
            (None, None) => {
                return Err(Wrong::at(
                    key,
                    "a host without a name: write name, or address, or both",
                ));
            }
        };
        let at = if matches!(host, HostName::Table(table) if table.name.is_some()) {
            key.clone().name("name")
        } else {
            key
        };
        check_name(&name, &at)?;
        if let Ok(address) = name.parse::<IpAddr>()
            && !addresses.contains(&address)
        {
            return Err(Wrong::at(
                at,
                format!(
                    "\"{name}\" is an address: write {{ address = \"{name}\" }}, with a name if there is one"
                ),
            ));
        }
        if !known.insert(name.clone()) {
            return Err(Wrong::at(at, format!("{} is there twice", shown(&name))));
        }
        topology.nodes[index].name = name;
    }
    distinct(topology, &key)
}

/// Gives the switches their names.
pub fn name_switches(
    topology: &mut Topology,
    switches: Option<&[String]>,
    key: &Key,
) -> Result<(), Wrong> {
    let Some(switches) = switches else { return Ok(()) };
    let key = key.clone().name("switches");
    let hosts = topology.hosts as usize;
    all_or_none(switches.len(), topology.nodes.len() - hosts, "switch", &key)?;
    check_switches(switches, &key)?;
    topology.nodes[hosts..]
        .iter_mut()
        .zip(switches)
        .for_each(|(node, name)| node.name.clone_from(name));
    distinct(topology, &key)
}

/// Refuses invalid names of switches, and names that occur twice.
pub fn check_switches(switches: &[String], key: &Key) -> Result<(), Wrong> {
    let mut known = HashSet::new();
    for (index, name) in switches.iter().enumerate() {
        let key = key.clone().index(index);
        check_name(name, &key)?;
        if is_numbered(name).is_some() {
            return Err(Wrong::at(
                key,
                format!("\"{name}\": names of this form belong to the hosts"),
            ));
        }
        if name.parse::<IpAddr>().is_ok() {
            return Err(Wrong::at(key, format!("\"{name}\": addresses belong to the hosts")));
        }
        if !known.insert(name) {
            return Err(Wrong::at(key, format!("{} is there twice", shown(name))));
        }
    }
    Ok(())
}

fn all_or_none(found: usize, there: usize, what: &str, key: &Key) -> Result<(), Wrong> {
    if found == there {
        return Ok(());
    }
    let plural = if what == "switch" { "switches" } else { "hosts" };
    Err(Wrong::at(
        key.clone(),
        format!(
            "found {found} names, and the fabric has {there} {plural}: name all of them, or none"
        ),
    ))
}

fn distinct(topology: &Topology, key: &Key) -> Result<(), Wrong> {
    let mut known = HashSet::with_capacity(topology.nodes.len());
    match topology.nodes.iter().find(|node| !known.insert(node.name.as_str())) {
        Some(node) => Err(Wrong::at(
            key.clone(),
            format!("{} is the name of two nodes: give each its own", shown(&node.name)),
        )),
        None => Ok(()),
    }
}

/// Refuses names that other keys could not distinguish from something else, and names that no file
/// can have.
fn check_name(name: &str, key: &Key) -> Result<(), Wrong> {
    let refuse = |reason: String| Err(Wrong::at(key.clone(), format!("{}: {reason}", shown(name))));
    if name.is_empty() {
        return refuse("a node's name is not empty".into());
    }
    if let Some(expected) = wrong(name) {
        return refuse(format!("write {expected}"));
    }
    if name.len() > LONGEST {
        return refuse(format!(
            "a node's name has at most {LONGEST} bytes, this one has {}",
            name.len()
        ));
    }
    if name.chars().any(|c| c.is_whitespace() || "*?>#/\\,\"".contains(c)) {
        return refuse(format!(
            "a node's name has no blanks and none of {}",
            spelling::list(["*", "?", ">", "#", "/", "\\", ",", "\""])
        ));
    }
    if name.starts_with(['=', '+', '-', '@', '.', '\'']) {
        return refuse(format!(
            "a node's name does not begin with {}",
            spelling::list(["=", "+", "-", "@", ".", "'"])
        ));
    }
    if name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return refuse(
            "numbers and ranges of them mean hosts by their place: write a name with a letter"
                .into(),
        );
    }
    if WORDS.contains(&name) {
        return refuse("this word means several nodes: write another name".into());
    }
    Ok(())
}

/// Returns the number in a name such as `host3`.
fn is_numbered(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("host")?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u32::MAX))
}

/// Nodes by name, and hosts also by address. `host3` means the host with that number, unless hosts
/// have names of this form.
pub struct Names<'a> {
    topology: &'a Topology,
    by_name: HashMap<&'a str, NodeId>,
    by_number: bool,
}

impl<'a> Names<'a> {
    pub fn of(topology: &'a Topology) -> Self {
        let by_name = topology
            .nodes
            .iter()
            .enumerate()
            .map(|(id, node)| (node.name.as_str(), id as NodeId))
            .collect();
        let hosts = &topology.nodes[..topology.hosts as usize];
        let by_number = hosts
            .iter()
            .zip(0..)
            .all(|(host, number)| is_numbered(&host.name).is_none_or(|own| own == number));
        Names { topology, by_name, by_number }
    }

    /// Returns the node with this name or address.
    pub fn find(&self, name: &str) -> Result<NodeId, String> {
        self.get(name).ok_or_else(|| self.unknown(name))
    }

    fn get(&self, name: &str) -> Option<NodeId> {
        if let Some(node) = self.by_name.get(name) {
            return Some(*node);
        }
        if !self.topology.addresses.is_empty()
            && let Ok(address) = name.parse::<IpAddr>()
        {
            return self.topology.addresses.get(&address).copied();
        }
        is_numbered(name).filter(|number| self.by_number && *number < self.topology.hosts)
    }

    /// Returns the nodes with this name, or whose names match this pattern; at least one.
    pub fn matching(&self, pattern: &str, kind: Option<NodeKind>) -> Result<Vec<NodeId>, String> {
        let right =
            |id: &NodeId| kind.is_none_or(|kind| self.topology.nodes[*id as usize].kind == kind);
        // A name may contain brackets, so a name takes precedence over a pattern.
        if self.get(pattern).is_some() || !Pattern::is_in(pattern) {
            let id = self.get(pattern).ok_or_else(|| self.unknown(pattern))?;
            return match kind {
                _ if right(&id) => Ok(vec![id]),
                Some(NodeKind::Host) => {
                    Err(format!("{} is a switch: write the name of a host", shown(pattern)))
                }
                _ => Err(format!("{} is a host: write the name of a switch", shown(pattern))),
            };
        }
        let parsed = Pattern::parse(pattern)?;
        let nodes = 0..self.topology.nodes.len() as NodeId;
        let found: Vec<NodeId> = nodes
            .filter(right)
            .filter(|id| parsed.matches(&self.topology.nodes[*id as usize].name))
            .collect();
        match kind {
            _ if !found.is_empty() => Ok(found),
            Some(NodeKind::Host) => {
                let hosts = &self.topology.nodes[..self.topology.hosts as usize];
                Err(format!(
                    "no host matches {}: the hosts are {}",
                    shown(pattern),
                    overview(hosts)
                ))
            }
            _ => Err(self.unknown(pattern)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let numbered = |node: &Node| is_numbered(&node.name).is_some();
        if is_numbered(name).is_some()
            && self.topology.nodes[..self.topology.hosts as usize].iter().all(numbered)
            && self.by_number
        {
            return format!(
                "there is no node \"{name}\": hosts are host0 to host{}",
                self.topology.hosts - 1
            );
        }
        let nodes = overview(&self.topology.nodes);
        if Pattern::is_in(name) {
            return format!("no node matches {}: the nodes are {nodes}", shown(name));
        }
        let hint = self
            .closest(name)
            .map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
        format!("there is no node {}{hint}: the nodes are {nodes}", shown(name))
    }

    fn closest(&self, name: &str) -> Option<String> {
        if name.parse::<IpAddr>().is_ok() {
            let written: Vec<String> =
                self.topology.addresses.keys().map(ToString::to_string).collect();
            return spelling::nearest(name, written.iter().map(String::as_str)).map(str::to_string);
        }
        spelling::nearest(name, self.topology.nodes.iter().map(|node| node.name.as_str()))
            .map(str::to_string)
    }

    /// Returns the links that `"leaf0-spine*"` or `"leaf0-spine1#0"` means, in order, each with its
    /// direction: `true` if written from `Link::b`. `separator` stands between the ends.
    pub fn links(
        &self,
        text: &str,
        separator: char,
        ports: &Ports,
    ) -> Result<Vec<(LinkId, bool)>, String> {
        let (ends, nth) = match text.rsplit_once('#') {
            Some((ends, number)) => match number.parse::<usize>() {
                Ok(number) => (ends, Some(number)),
                Err(_) => {
                    return Err(format!(
                        "\"{text}\": after # stands the number of one of several parallel links, from 0"
                    ));
                }
            },
            None => (text, None),
        };
        let mut found = BTreeSet::new();
        let mut reason = None;
        let mut split = false;
        for (at, _) in ends.match_indices(separator) {
            // A separator within brackets belongs to a range.
            if ends[..at].matches('[').count() > ends[..at].matches(']').count()
                && self.get(ends[..at].trim()).is_none()
            {
                continue;
            }
            split = true;
            let (left, right) = (ends[..at].trim(), ends[at + separator.len_utf8()..].trim());
            match (self.matching(left, None), self.matching(right, None)) {
                (Ok(left), Ok(right)) => self.between(&left, &right, nth, ports, &mut found),
                (Err(message), _) | (_, Err(message)) => reason = reason.or(Some(message)),
            }
        }
        match (found.is_empty(), split, reason, nth) {
            (false, ..) => Ok(found.into_iter().collect()),
            (_, false, ..) => Err(format!(
                "\"{text}\" is not a link: write the names of its two ends, as in \"host0{separator}switch0\""
            )),
            (_, _, Some(reason), _) => Err(reason),
            (_, _, None, Some(number)) => Err(format!(
                "no link \"{ends}\" has a number {number}: parallel links are counted from 0"
            )),
            (_, _, None, None) => Err(format!("no link joins the ends of \"{text}\"")),
        }
    }

    fn between(
        &self,
        left: &[NodeId],
        right: &[NodeId],
        nth: Option<usize>,
        ports: &Ports,
        found: &mut BTreeSet<(LinkId, bool)>,
    ) {
        let right: BTreeSet<NodeId> = right.iter().copied().collect();
        for &node in left {
            let mut count: HashMap<NodeId, usize> = HashMap::new();
            for port in ports.of(node).iter().filter(|port| right.contains(&port.peer)) {
                let number = count.entry(port.peer).or_default();
                if nth.is_none_or(|nth| nth == *number) {
                    found.insert((port.link, port.reverse));
                }
                *number += 1;
            }
        }
    }
}

impl HostNames for Names<'_> {
    fn find(&self, text: &str) -> Option<u32> {
        self.get(text).filter(|node| *node < self.topology.hosts)
    }
    fn nearest(&self, text: &str) -> Option<String> {
        self.closest(text)
    }
}

/// Returns names of nodes in short form: the first and the last of each kind.
fn overview(nodes: &[Node]) -> String {
    fn stem(name: &str) -> &str {
        name.trim_end_matches(|c: char| c.is_ascii_digit())
    }
    let mut parts: Vec<(&str, &str, &str)> = Vec::new();
    for node in nodes {
        match parts.last_mut() {
            Some((kind, _, last)) if *kind == stem(&node.name) => *last = &node.name,
            _ => parts.push((stem(&node.name), &node.name, &node.name)),
        }
    }
    let shown: Vec<String> = parts
        .iter()
        .take(12)
        .map(
            |(_, first, last)| {
                if first == last { first.to_string() } else { format!("{first} to {last}") }
            },
        )
        .collect();
    format!("{}{}", shown.join(", "), if parts.len() > 12 { ", …" } else { "" })
}
