//! Input of all warnings: the scenario as written and as resolved, its plan, and queries that
//! several warnings share.

use crate::document::Document;
use crate::validate::traffic::context::TransportUsage;
use crate::validate::transport::Transports;
use afflux_config::tree::{Key, Tree};
use afflux_net::spec::{HostConfig, NodeKind, Plan, SwitchConfig, SwitchKeys, TransportConfig};
use std::collections::BTreeSet;

/// The scenario and its plan, in which warnings are searched for.
pub struct WarningInput<'a> {
    /// The scenario as written, with the changes of the command line.
    pub tree: &'a Tree,
    /// The document that was read from `tree`.
    pub written: &'a Document,
    /// The document with every default filled in.
    pub document: &'a Document,
    pub plan: &'a Plan,
    /// Keys of each of the plan's switch settings, every default filled in.
    pub switch_keys: &'a [SwitchKeys],
    pub transports: &'a Transports,
    pub uses: &'a TransportUsage,
    /// Bit mask of the priorities that packets of Linux kernels can have: programs choose the DSCP.
    /// `None` without kernels.
    pub kernels: Option<u8>,
}

/// A transport of `[host.transport]` or `[host.transports]` that traffic uses, and the priorities of that traffic.
pub struct UsedTransport<'a> {
    pub key: Key,
    pub config: &'a TransportConfig,
    pub priorities: BTreeSet<u8>,
    /// Whether a flow of this transport has a deadline.
    pub dated: bool,
}

impl WarningInput<'_> {
    /// True if no traffic is simulated.
    pub fn idle(&self) -> bool {
        self.uses.variants.is_empty() && self.uses.unnamed.is_empty()
    }

    /// Returns the priorities of all traffic, several times each.
    pub fn priorities(&self) -> impl Iterator<Item = u8> {
        let simulated = self.uses.variants.iter().chain(&self.uses.unnamed).map(|way| way.1);
        let kernels = self.kernels.unwrap_or(0);
        simulated.chain((0..8).filter(move |priority| kernels >> priority & 1 != 0))
    }

    /// Returns the key `name` below `[switch]`, or below the first override that has it.
    pub fn switch_key(&self, name: &str) -> Key {
        self.place("switch", self.written.switch.overrides().len(), name)
    }

    /// Returns the key `name` below `[host]`, or below the first override that has it.
    pub fn host_key(&self, name: &str) -> Key {
        self.place("host", self.written.host.overrides().len(), name)
    }

    fn place(&self, table: &str, overrides: usize, name: &str) -> Key {
        let below = |table: Key| name.split('.').fold(table, |key, part| key.name(part));
        let own = below(Key::from(table));
        if self.tree.has(&own) {
            return own;
        }
        let of_override = |index: usize| below(Key::from(table).name("override").index(index));
        (0..overrides).map(of_override).find(|key| self.tree.has(key)).unwrap_or(own)
    }

    /// Returns the settings of the fabric's switches. Those of `[switch]` may be absent, because
    /// overrides may match every switch.
    pub fn switches(&self) -> impl Iterator<Item = &SwitchConfig> {
        self.in_use(NodeKind::Switch).into_iter().map(|config| &self.plan.switches[config as usize])
    }

    pub fn hosts(&self) -> impl Iterator<Item = &HostConfig> {
        self.in_use(NodeKind::Host).into_iter().map(|config| &self.plan.hosts[config as usize])
    }

    fn in_use(&self, kind: NodeKind) -> BTreeSet<u32> {
        self.plan
            .topology
            .nodes
            .iter()
            .filter(|node| node.kind == kind)
            .map(|node| node.config)
            .collect()
    }

    /// Returns the named transports that traffic uses.
    pub fn used(&self) -> Vec<UsedTransport<'_>> {
        let priorities = |index: u16| {
            self.uses
                .variants
                .iter()
                .filter(|way| way.0 == index)
                .map(|way| way.1)
                .collect::<BTreeSet<u8>>()
        };
        let named = self.transports.named().map(|(index, key)| (index, key, priorities(index)));
        named
            .filter(|(.., priorities)| !priorities.is_empty())
            .map(|(index, key, priorities)| UsedTransport {
                key,
                config: &self.plan.transports[usize::from(index)],
                priorities,
                dated: self.uses.dated.contains(&index),
            })
            .collect()
    }
}
