//! Refuses flows and connections with more segments than a transport can number.

use crate::workload::block::Workload;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{Flow, TransportConfig};
use afflux_traffic::hadoop::Settings;
use afflux_units::Bytes;
use std::collections::BTreeMap;
use std::path::Path;

/// Checks all flows of a block. `key` is the key of the block.
pub fn fit(
    flows: &[Flow],
    block: &dyn Workload,
    key: &Key,
    transports: &[TransportConfig],
) -> Result<(), Wrong> {
    let most = |flow: &Flow| transports[usize::from(flow.transport)].most_bytes();
    let Some(flow) = flows.iter().find(|flow| flow.bytes > most(flow)) else { return Ok(()) };
    let key = key.clone().name(block.size_key());
    Err(too_large(key, block.flow_list(), "a flow", flow.bytes, most(flow)))
}

/// Checks connections that carry one flow after the other. Each key of `connections` begins with
/// the block.
pub fn connections_fit(
    flows: &[Flow],
    connections: &BTreeMap<(u32, u32, u32, u16, u8), u32>,
    transports: &[TransportConfig],
) -> Result<(), Wrong> {
    let mut segments = vec![0u64; connections.len()];
    for flow in flows {
        if let Some(connection) = flow.connection {
            segments[connection as usize] +=
                flow.bytes.div_ceil(u64::from(transports[usize::from(flow.transport)].payload()));
        }
    }
    let full = connections
        .iter()
        .find(|(_, connection)| segments[**connection as usize] > TransportConfig::MOST_SEGMENTS);
    let Some((&(block, src, dst, ..), connection)) = full else { return Ok(()) };
    let found = segments[*connection as usize];
    let message = format!(
        "the connection from host {src} to host {dst} carries {found} segments: at most {} are possible",
        TransportConfig::MOST_SEGMENTS
    );
    Err(Wrong::at(Key::from("traffic").index(block as usize).name("persistent"), message))
}

/// Checks the transfers between a cluster's tasks. `file`: the trace that the jobs are read from,
/// if any.
pub fn transfers_fit(
    settings: &Settings,
    transport: &TransportConfig,
    key: &Key,
    file: Option<&Path>,
) -> Result<(), Wrong> {
    let most = transport.most_bytes();
    if settings.block > most {
        return Err(too_large(
            key.clone().name("cluster").name("block_size"),
            None,
            "a block",
            settings.block,
            most,
        ));
    }
    let of_one = |bytes: u64, reducers: u32| bytes.div_ceil(u64::from(reducers.max(1)));
    let shares =
        settings.jobs.iter().map(|work| of_one(work.shuffle.max(work.output), work.reducers));
    match shares.max() {
        Some(share) if share > most => Err(too_large(
            key.clone().name(if file.is_some() { "file" } else { "size" }),
            file,
            "the share of one reducer",
            share,
            most,
        )),
        _ => Ok(()),
    }
}

/// Returns the message about a size that is too large. `file`: the file that the size is read from,
/// if it is not from the scenario.
fn too_large(key: Key, file: Option<&Path>, what: &str, bytes: u64, most: u64) -> Wrong {
    let message = format!(
        "{what} of \"{}\": at most \"{}\" are possible with this transport, 2^32 segments",
        Bytes(bytes),
        Bytes(most)
    );
    match file {
        Some(file) => Wrong::input(key, file, None, message),
        None => Wrong::at(key, message),
    }
}
