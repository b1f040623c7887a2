//! Traps: scenarios that are valid and yet do not do what they seem to say. One warning each.
//!
//! A trap is found in the plan, because only the plan shows what meets what, and told with the key that was written.

mod buffer;
mod ecn;
mod mtu;
mod paths;
mod pause;
mod starved;
mod time;
mod timing;
mod unused;

use super::traffic::Uses;
use super::transport::Transports;
use crate::document::Document;
use crate::tree::{Key, Tree, Wrong};
use afflux_net::spec::{EngineKind, HostConfig, NodeKind, Plan, SwitchConfig, TransportConfig};
use std::collections::BTreeSet;

/// What traps are looked for in.
pub struct Ground<'a> {
    /// As written, with what the command line changed.
    pub tree: &'a Tree,
    /// The same, as read.
    pub written: &'a Document,
    /// With every default.
    pub document: &'a Document,
    pub plan: &'a Plan,
    pub transports: &'a Transports,
    pub uses: &'a Uses,
}

/// A transport of `[host.transport]` or `[host.transports]` that traffic uses, and the priorities of that traffic.
pub struct Used<'a> {
    pub key: Key,
    pub config: &'a TransportConfig,
    pub priorities: BTreeSet<u8>,
    /// A flow of it has a deadline.
    pub dated: bool,
}

pub fn find(ground: &Ground) -> Vec<Wrong> {
    let mut found = Vec::new();
    time::find(ground, &mut found);
    unused::find(ground, &mut found);
    // Transports, switches and paths have no effect there, as the engine's name says.
    if ground.plan.run.engine != EngineKind::Ideal {
        ecn::find(ground, &mut found);
        starved::find(ground, &mut found);
        pause::find(ground, &mut found);
        buffer::find(ground, &mut found);
        paths::find(ground, &mut found);
        mtu::find(ground, &mut found);
        timing::find(ground, &mut found);
    }
    found
}

impl Ground<'_> {
    /// Nothing is sent.
    fn idle(&self) -> bool {
        self.uses.ways.is_empty() && self.uses.unnamed.is_empty()
    }

    /// `name` below `[switch]`, or below the first override that has it.
    fn switch_key(&self, name: &str) -> Key {
        self.place("switch", self.written.switch.overrides.len(), name)
    }

    /// `name` below `[host]`, or below the first override that has it.
    fn host_key(&self, name: &str) -> Key {
        self.place("host", self.written.host.overrides.len(), name)
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

    /// Settings of switches that the fabric has: an override may leave none with those of `[switch]`.
    fn switches(&self) -> impl Iterator<Item = &SwitchConfig> {
        self.in_use(NodeKind::Switch).into_iter().map(|config| &self.plan.switches[config as usize])
    }

    fn hosts(&self) -> impl Iterator<Item = &HostConfig> {
        self.in_use(NodeKind::Host).into_iter().map(|config| &self.plan.hosts[config as usize])
    }

    fn in_use(&self, kind: NodeKind) -> BTreeSet<u32> {
        self.plan.topology.nodes.iter().filter(|node| node.kind == kind).map(|node| node.config).collect()
    }

    /// The named transports that traffic uses.
    fn used(&self) -> Vec<Used<'_>> {
        let priorities = |index: u16| self.uses.ways.iter().filter(|way| way.0 == index).map(|way| way.1).collect::<BTreeSet<u8>>();
        let named = self.transports.named().map(|(index, key)| (index, key, priorities(index)));
        named
            .filter(|(.., priorities)| !priorities.is_empty())
            .map(|(index, key, priorities)| Used {
                key,
                config: &self.plan.transports[usize::from(index)],
                priorities,
                dated: self.uses.dated.contains(&index),
            })
            .collect()
    }
}
