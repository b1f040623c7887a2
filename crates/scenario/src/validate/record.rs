//! `[record]`: resolves nodes, ports and links by name.

use crate::topology;
use afflux_config::Names;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_net::routing::Ports;
use afflux_net::spec::{Capture, LinkId, NodeId, NodeKind, Record, RecordKeys, Topology};

pub fn check(record: &mut RecordKeys, topology: &Topology) -> Result<Record, Wrong> {
    let key = Key::from("record");
    let names = topology::Names::of(topology);
    let mut captures: Vec<Capture> = Vec::new();
    let mut joined: Vec<LinkId> = Vec::new();
    let asked = fill(&mut record.capture, Names(Vec::new()));
    let all = Ports::new(topology);
    for (index, text) in asked.0.iter().enumerate() {
        let key = if asked.0.len() == 1 {
            key.clone().name("capture")
        } else {
            key.clone().name("capture").index(index)
        };
        if text.contains('>') {
            let links = names.links(text, '>', &all).map_err(|message| Wrong::at(key, message))?;
            captures.extend(links.into_iter().map(|(link, reverse)| Capture { link, reverse }));
        } else {
            // Text without any separator most likely lacks the arrow, so the message is about it.
            let separator = if text.contains('-') { '-' } else { '>' };
            let links =
                names.links(text, separator, &all).map_err(|message| Wrong::at(key, message))?;
            joined.extend(links.iter().map(|(link, _)| link));
            captures.extend(
                links
                    .into_iter()
                    .flat_map(|(link, _)| [false, true].map(|reverse| Capture { link, reverse })),
            );
        }
    }
    joined.sort_unstable();
    joined.dedup();
    captures.sort_unstable_by_key(|capture| (capture.link, capture.reverse));
    captures.dedup();
    let nodes = |texts: Names, key: Key| sampled(&texts.0, &names, topology, &key);
    record.resolve(&key, &nodes, captures, joined)
}

/// Returns the nodes that `texts` name, in the order of the fabric.
fn sampled(
    texts: &[String],
    names: &topology::Names,
    topology: &Topology,
    key: &Key,
) -> Result<Vec<NodeId>, Wrong> {
    let mut nodes: Vec<NodeId> = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let kind = match text.as_str() {
            "switches" => Some(NodeKind::Switch),
            "hosts" => Some(NodeKind::Host),
            _ => None,
        };
        if kind.is_some() || text == "all" {
            nodes
                .extend((0..topology.nodes.len() as NodeId).filter(|id| {
                    kind.is_none_or(|kind| topology.nodes[*id as usize].kind == kind)
                }));
        } else {
            let key = if texts.len() == 1 { key.clone() } else { key.clone().index(index) };
            let found = names.matching(text, None).map_err(|message| {
                Wrong::at(key, format!("{message}; or write \"switches\", \"hosts\" or \"all\""))
            })?;
            nodes.extend(found);
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    Ok(nodes)
}
