//! Builder that all kinds of fabric share: it adds nodes and links, and limits their number.

use super::names;
use super::written::{HostName, NameKeys};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Speed};
use afflux_net::spec::{Link, Node, NodeId, NodeKind, Topology};
use afflux_units::{Probability, Rate, Span};

/// Largest number of links. A larger number is taken for a mistake.
const MOST_LINKS: u64 = 4_000_000;
/// Largest number of ports of a node, because ports are numbered by 16 bits.
const MOST_PORTS: u64 = 65_535;
/// Longest delay of a link. A longer one is taken for a mistake, and could overflow sums of times.
const LONGEST_DELAY: Span = Span::from_s(3_600);

#[derive(Default)]
pub struct Builder {
    topology: Topology,
}

impl Builder {
    /// Adds a host. All hosts must be added before the first switch.
    pub fn host(&mut self, group: Option<u32>) {
        debug_assert_eq!(self.topology.hosts as usize, self.topology.nodes.len());
        let name = format!("host{}", self.topology.hosts);
        self.topology.nodes.push(Node { name, kind: NodeKind::Host, config: 0, group, tier: 0 });
        self.topology.hosts += 1;
    }
    pub fn switch(&mut self, name: String, tier: u8, group: Option<u32>) -> NodeId {
        self.topology.nodes.push(Node { name, kind: NodeKind::Switch, config: 0, group, tier });
        self.topology.nodes.len() as NodeId - 1
    }
    pub fn link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Span) {
        self.add(Link::new(a, b, rate, delay));
    }
    pub fn lossy_link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Span, loss: Probability) {
        self.add(Link { loss, ..Link::new(a, b, rate, delay) });
    }
    pub fn add(&mut self, link: Link) {
        self.topology.links.push(link);
    }
    /// Lets hosts forward frames for other hosts.
    pub fn hosts_relay(&mut self) {
        self.topology.relays = true;
    }
    /// Returns the number of hosts so far.
    pub fn hosts(&self) -> u32 {
        self.topology.hosts
    }
    pub fn finish(self) -> Topology {
        self.topology
    }
    /// Returns the fabric, with the nodes named as written.
    pub fn named(
        mut self,
        hosts: Option<&[HostName]>,
        switches: Option<&[String]>,
        key: &Key,
    ) -> Result<Topology, Wrong> {
        names::name_hosts(&mut self.topology, hosts, key)?;
        names::name_switches(&mut self.topology, switches, key)?;
        Ok(self.topology)
    }
    pub fn named_by(self, names: &NameKeys, key: &Key) -> Result<Topology, Wrong> {
        self.named(names.hosts.as_deref(), names.switches.as_deref(), key)
    }
}

/// Checks the rate of links.
pub fn link_rate(Speed(rate): Speed, key: Key) -> Result<Rate, Wrong> {
    match wrong_rate(rate) {
        Some(message) => Err(Wrong::at(key, message)),
        None => Ok(rate),
    }
}

/// Highest rate of a link (100 Tbps). A frame of 64 B takes 5 ps there, and the engine counts in
/// whole picoseconds.
const FASTEST: Rate = Rate(100_000_000_000_000);

/// Returns the reason why a link cannot have this rate, or `None`. The lower limit keeps the times
/// of long queues within the engine's range.
pub fn wrong_rate(rate: Rate) -> Option<String> {
    match rate.0 {
        0 => Some(format!("\"{rate}\": a link has a rate above 0")),
        1..1_000 => Some(format!("\"{rate}\": a link has at least 1kbps")),
        _ if rate > FASTEST => Some(format!("\"{rate}\": a link has at most {FASTEST}")),
        _ => None,
    }
}

/// Checks the delay of links.
pub fn link_delay(Duration(delay): Duration, key: Key) -> Result<Span, Wrong> {
    check_delay(delay, key)
}

pub fn check_delay(delay: Span, key: Key) -> Result<Span, Wrong> {
    match delay {
        Span::ZERO => Err(Wrong::at(
            key,
            format!(
                "\"{delay}\": a link has a delay above 0, as in \"1us\" (or \"5ns\" for a metre of cable)"
            ),
        )),
        long if long > LONGEST_DELAY => {
            Err(Wrong::at(key, format!("\"{delay}\": a link's delay is at most one hour")))
        }
        _ => Ok(delay),
    }
}

/// Returns the count, or an error if it is 0.
pub fn at_least_one(count: u32, what: &str, key: Key) -> Result<u32, Wrong> {
    match count {
        0 => Err(Wrong::at(key, format!("found 0: a fabric has at least one {what}"))),
        _ => Ok(count),
    }
}

pub fn check_size(hosts: u64, links: u64, ports: u64, key: &Key) -> Result<(), Wrong> {
    if hosts.max(links) > MOST_LINKS {
        return Err(Wrong::at(
            key.clone(),
            format!(
                "this makes {hosts} hosts and {links} links: at most {MOST_LINKS} links are possible"
            ),
        ));
    }
    if ports > MOST_PORTS {
        return Err(Wrong::at(
            key.clone(),
            format!("this makes a switch of {ports} ports: at most {MOST_PORTS} are possible"),
        ));
    }
    Ok(())
}

/// Adds links to the nodes of an existing topology.
impl From<Topology> for Builder {
    fn from(topology: Topology) -> Self {
        Builder { topology }
    }
}
