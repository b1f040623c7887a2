//! `[record]`: resolves nodes, ports and links by name.

use crate::document::Record;
use crate::topology;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Names, Or, Size};
use afflux_net::routing::Ports;
use afflux_net::spec::{self, Capture, LinkId, NodeId, NodeKind, PortSeries, Topology};
use afflux_units::{Bytes, Span};

/// Largest size in bytes of the headers of a frame: Ethernet, IPv4 and TCP with the longest
/// options, in whole words of 32 bits.
const HEADERS: u64 = 96;

pub fn check(record: &mut Record, topology: &Topology) -> Result<spec::Record, Wrong> {
    let key = Key::from("record");
    let names = topology::Names::of(topology);
    let ports = match fill(&mut record.ports, Or::NONE).0 {
        None => None,
        Some(mut series) => {
            let key = key.clone().name("ports");
            let interval = fill(&mut series.interval, Duration(Span::from_s(1))).0;
            if interval == Span::ZERO {
                return Err(Wrong::at(key.name("interval"), "\"0s\": write a time above 0"));
            }
            let nodes = fill(&mut series.nodes, Names(vec!["switches".into()]));
            let nodes = sampled(&nodes.0, &names, topology, &key.name("nodes"))?;
            record.ports = Some(Or::some(series));
            Some(PortSeries { interval, nodes })
        }
    };
    let imbalance = fill(&mut record.imbalance, Or::NONE).0.map(|window| window.0);
    if imbalance == Some(Span::ZERO) {
        return Err(Wrong::at(key.name("imbalance"), "\"0s\": write a time above 0, or \"off\""));
    }
    let reordering = fill(&mut record.reorder, Or::NONE).0.map(|interval| interval.0);
    if reordering == Some(Span::ZERO) {
        return Err(Wrong::at(key.name("reorder"), "\"0s\": write a time above 0, or \"off\""));
    }
    let senders = fill(&mut record.senders, Or::NONE).0.map(|interval| interval.0);
    if senders == Some(Span::ZERO) {
        return Err(Wrong::at(key.name("senders"), "\"0s\": write a time above 0, or \"off\""));
    }
    let watched = |asked: &mut Option<Names>, name: &str| {
        sampled(&fill(asked, Names(Vec::new())).0, &names, topology, &key.clone().name(name))
    };
    let (gaps, waits) = (watched(&mut record.gaps, "gaps")?, watched(&mut record.waits, "waits")?);
    let snaplen = fill(&mut record.snaplen, Size(Bytes(HEADERS))).0.0;
    if !(HEADERS..=65_535).contains(&snaplen) {
        return Err(Wrong::at(
            key.name("snaplen"),
            format!("\"{}\": write a size from {HEADERS}B (all headers) to 65535B", Bytes(snaplen)),
        ));
    }
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
    Ok(spec::Record {
        explain: fill(&mut record.explain, true),
        ports,
        paths: fill(&mut record.paths, false),
        imbalance,
        reordering,
        captures,
        joined,
        snaplen: snaplen as u32,
        round_trips: fill(&mut record.round_trips, false),
        senders,
        gaps,
        waits,
    })
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
