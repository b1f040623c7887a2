//! Captures as pcapng files: `<from>-<to>.pcapng`, one direction of one link each, with nanosecond stamps.

mod blocks;
mod headers;

use crate::ResultsError;
use afflux_net::record::{CaptureRecord, Output};
use afflux_net::spec::Capture;
use afflux_scenario::Scenario;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Bytes kept of each frame: all headers.
const SNAPLEN: u32 = 96;

pub struct CaptureFile<'a> {
    /// `leaf0->spine1`.
    interface: String,
    rate_bps: u64,
    records: &'a [CaptureRecord],
}

/// The files of a run, with their names. Captures of parallel links are numbered from the second on: `a-b-2.pcapng`.
pub fn files<'a>(scenario: &Scenario, output: &'a Output) -> Vec<(String, CaptureFile<'a>)> {
    let topology = &scenario.plan.topology;
    let mut files: Vec<(String, CaptureFile)> = Vec::new();
    for (Capture { link, reverse }, records) in scenario.plan.record.captures.iter().zip(&output.captures) {
        let link = &topology.links[*link as usize];
        let (from, to) = if *reverse { (link.b, link.a) } else { (link.a, link.b) };
        let [from, to] = [from, to].map(|node| topology.nodes[node as usize].name.as_str());
        let names = ["".to_owned()].into_iter().chain((2..).map(|number| format!("-{number}")));
        let mut names = names.map(|suffix| format!("{from}-{to}{suffix}.pcapng").replace('/', "_"));
        let Some(name) = names.find(|name| files.iter().all(|(taken, _)| taken != name)) else { continue };
        files.push((name, CaptureFile { interface: format!("{from}->{to}"), rate_bps: link.rate.0, records }));
    }
    files
}

impl CaptureFile<'_> {
    pub fn write(&self, path: &Path) -> Result<(), ResultsError> {
        let write = || {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
            self.write_to(&mut out)?;
            out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
        };
        write().map_err(ResultsError::io(path))
    }

    fn write_to(&self, out: &mut impl Write) -> std::io::Result<()> {
        let mut block = Vec::new();
        blocks::section_header(&mut block);
        blocks::interface(&mut block, &self.interface, self.rate_bps, SNAPLEN);
        out.write_all(&block)?;
        let mut frame = Vec::new();
        for record in self.records {
            frame.clear();
            headers::frame(&mut frame, record, SNAPLEN as usize);
            // Profiles of other simulators have frames smaller than real headers; a packet is never shorter than what is shown of it.
            let length = u32::from(record.size).max(frame.len() as u32);
            block.clear();
            blocks::packet(&mut block, record.time.round_ns(), &frame, length);
            out.write_all(&block)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
