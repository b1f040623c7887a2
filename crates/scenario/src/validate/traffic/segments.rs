//! Flows whose segments can be numbered.

use crate::document::Traffic;
use crate::tree::{Key, Wrong};
use afflux_net::spec::{Flow, TransportConfig};
use afflux_traffic::hadoop::Settings;
use afflux_units::Bytes;
use std::collections::BTreeMap;
use std::path::Path;

/// All flows of a block, whose key is `key`.
pub fn fit(flows: &[Flow], block: &Traffic, key: &Key, transports: &[TransportConfig]) -> Result<(), Wrong> {
    let most = |flow: &Flow| transports[usize::from(flow.transport)].most_bytes();
    let Some(flow) = flows.iter().find(|flow| flow.bytes > most(flow)) else { return Ok(()) };
    let wrong = too_large(key.clone().name(size_key(block)), "a flow", flow.bytes, most(flow));
    Err(if let Traffic::Flows(list) = block { read_from(Path::new(&list.file), wrong) } else { wrong })
}

/// Connections that carry one flow after the other, each with the block that it is of.
pub fn connections_fit(flows: &[Flow], connections: &BTreeMap<(u32, u32, u32, u16, u8), u32>, transports: &[TransportConfig]) -> Result<(), Wrong> {
    let mut segments = vec![0u64; connections.len()];
    for flow in flows {
        if let Some(connection) = flow.connection {
            segments[connection as usize] += flow.bytes.div_ceil(u64::from(transports[usize::from(flow.transport)].payload()));
        }
    }
    let full = connections.iter().find(|(_, connection)| segments[**connection as usize] > TransportConfig::MOST_SEGMENTS);
    let Some((&(block, src, dst, ..), connection)) = full else { return Ok(()) };
    let found = segments[*connection as usize];
    let message = format!("the connection from host {src} to host {dst} carries {found} segments: at most {} are possible", TransportConfig::MOST_SEGMENTS);
    Err(Wrong::at(Key::from("traffic").index(block as usize).name("persistent"), message))
}

/// What a cluster's tasks send each other.
pub fn transfers_fit(settings: &Settings, transport: &TransportConfig, key: &Key, size: &str) -> Result<(), Wrong> {
    let most = transport.most_bytes();
    if settings.block > most {
        return Err(too_large(key.clone().name("cluster").name("block_size"), "a block", settings.block, most));
    }
    let of_one = |bytes: u64, reducers: u32| bytes.div_ceil(u64::from(reducers.max(1)));
    let shares = settings.jobs.iter().map(|work| of_one(work.shuffle.max(work.output), work.reducers));
    match shares.max() {
        Some(share) if share > most => Err(too_large(key.clone().name(size), "the share of one reducer", share, most)),
        _ => Ok(()),
    }
}

/// What is wrong stands in a file that a block names.
pub fn read_from(file: &Path, wrong: Wrong) -> Wrong {
    Wrong::input(wrong.key, file, None, wrong.message)
}

fn too_large(key: Key, what: &str, bytes: u64, most: u64) -> Wrong {
    Wrong::at(key, format!("{what} of \"{}\": at most \"{}\" are possible with this transport, 2^32 segments", Bytes(bytes), Bytes(most)))
}

fn size_key(block: &Traffic) -> &'static str {
    match block {
        Traffic::Flows(_) => "file",
        Traffic::Incast(incast) if incast.total.is_some() => "total",
        Traffic::Incast(incast) if incast.bytes.is_some() => "bytes",
        Traffic::DatagramSource(source) if source.bytes.is_some() => "bytes",
        Traffic::DatagramSource(_) | Traffic::PartitionAggregate(_) => "duration",
        _ => "sizes",
    }
}
