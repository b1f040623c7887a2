//! Names of nodes and links in a scenario: exact, or with `*` and `?`.

use crate::spelling;
use afflux_net::routing::Ports;
use afflux_net::spec::{LinkId, NodeId, NodeKind, Topology};
use std::collections::{BTreeSet, HashMap};

/// Nodes by name.
pub struct Names<'a> {
    topology: &'a Topology,
    by_name: HashMap<&'a str, NodeId>,
}

impl<'a> Names<'a> {
    pub fn of(topology: &'a Topology) -> Self {
        Names { topology, by_name: topology.nodes.iter().enumerate().map(|(id, node)| (node.name.as_str(), id as NodeId)).collect() }
    }

    /// The node of this name.
    pub fn find(&self, name: &str) -> Result<NodeId, String> {
        self.by_name.get(name).copied().ok_or_else(|| self.unknown(name))
    }

    /// The nodes that a name with `*` or `?` means; at least one.
    pub fn matching(&self, pattern: &str, kind: Option<NodeKind>) -> Result<Vec<NodeId>, String> {
        let found = self.meant(pattern, kind);
        if found.is_empty() { Err(self.unknown(pattern)) } else { Ok(found) }
    }

    fn meant(&self, pattern: &str, kind: Option<NodeKind>) -> Vec<NodeId> {
        let right = |id: &NodeId| kind.is_none_or(|kind| self.topology.nodes[*id as usize].kind == kind);
        if !pattern.contains(['*', '?']) {
            return self.by_name.get(pattern).copied().filter(right).into_iter().collect();
        }
        (0..self.topology.nodes.len() as NodeId).filter(right).filter(|id| matches(pattern, &self.topology.nodes[*id as usize].name)).collect()
    }

    fn unknown(&self, name: &str) -> String {
        let number = name.strip_prefix("host").and_then(|rest| rest.parse::<u64>().ok());
        if number.is_some() {
            return format!("there is no node \"{name}\": hosts are host0 to host{}", self.topology.hosts - 1);
        }
        if name.contains(['*', '?']) {
            return format!("no node matches \"{name}\": {}", self.overview());
        }
        let hint = spelling::hint(name, self.topology.nodes.iter().map(|node| node.name.as_str()));
        format!("there is no node \"{name}\"{hint}: {}", self.overview())
    }

    /// The names there are, shortened: first and last of each kind.
    fn overview(&self) -> String {
        let stem = |name: &'a str| name.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut parts: Vec<(&str, &str, &str)> = Vec::new();
        for node in &self.topology.nodes {
            match parts.last_mut() {
                Some((kind, _, last)) if *kind == stem(&node.name) => *last = &node.name,
                _ => parts.push((stem(&node.name), &node.name, &node.name)),
            }
        }
        let shown: Vec<String> =
            parts.iter().take(12).map(|(_, first, last)| if first == last { first.to_string() } else { format!("{first} to {last}") }).collect();
        format!("the nodes are {}{}", shown.join(", "), if parts.len() > 12 { ", …" } else { "" })
    }

    /// The links that `"leaf0-spine*"` or `"leaf0-spine1#0"` means, in order, with the direction: `true` if written from `Link::b`.
    /// `separator` stands between the ends.
    pub fn links(&self, text: &str, separator: char, ports: &Ports) -> Result<Vec<(LinkId, bool)>, String> {
        let (ends, nth) = match text.rsplit_once('#') {
            Some((ends, number)) => match number.parse::<usize>() {
                Ok(number) => (ends, Some(number)),
                Err(_) => return Err(format!("\"{text}\": after # stands the number of one of several parallel links, from 0")),
            },
            None => (text, None),
        };
        let mut found = BTreeSet::new();
        let mut reason = None;
        let mut split = false;
        for (at, _) in ends.match_indices(separator) {
            split = true;
            let (left, right) = (ends[..at].trim(), ends[at + separator.len_utf8()..].trim());
            match (self.matching(left, None), self.matching(right, None)) {
                (Ok(left), Ok(right)) => self.between(&left, &right, nth, ports, &mut found),
                (Err(message), _) | (_, Err(message)) => reason = reason.or(Some(message)),
            }
        }
        match (found.is_empty(), split, reason, nth) {
            (false, ..) => Ok(found.into_iter().collect()),
            (_, false, ..) => Err(format!("\"{text}\" is not a link: write the names of its two ends, as in \"host0{separator}switch0\"")),
            (_, _, Some(reason), _) => Err(reason),
            (_, _, None, Some(number)) => Err(format!("no link \"{ends}\" has a number {number}: parallel links are counted from 0")),
            (_, _, None, None) => Err(format!("no link joins the ends of \"{text}\"")),
        }
    }

    fn between(&self, left: &[NodeId], right: &[NodeId], nth: Option<usize>, ports: &Ports, found: &mut BTreeSet<(LinkId, bool)>) {
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

/// `*` stands for any characters, `?` for one.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, n) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("leaf*", "leaf12", true),
            ("leaf?", "leaf12", false),
            ("*f1*", "leaf12", true),
            ("leaf1", "leaf12", false),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
