//! Captures as pcapng files with nanosecond timestamps: `<from>-<to>.pcapng` for one direction of
//! one link, or `<a>-<b>-both.pcapng` with both directions as two interfaces.

mod addresses;
mod blocks;
mod headers;
mod multipath;
mod side;
mod tcp;

use afflux_net::record::{CaptureRecord, Output};
use afflux_net::spec::{Capture, LinkId, Plan};
use afflux_scenario::Scenario;
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use tcp::{Facts, Seen};

pub struct CaptureFile<'a> {
    interfaces: Vec<Interface<'a>>,
    plan: &'a Plan,
    output: &'a Output,
}

struct Interface<'a> {
    /// Name of the interface, for example `leaf0->spine1`.
    name: String,
    rate_bps: u64,
    records: &'a [CaptureRecord],
}

/// Returns the files of a run with their names. Captures of parallel links are numbered from the
/// second on: `a-b-2.pcapng`.
pub fn files<'a>(scenario: &'a Scenario, output: &'a Output) -> Vec<(String, CaptureFile<'a>)> {
    let plan = &scenario.plan;
    let name = |node: u32| plan.topology.nodes[node as usize].name.as_str();
    let mut files: Vec<(String, CaptureFile)> = Vec::new();
    let mut both: Option<LinkId> = None;
    for (Capture { link: id, reverse }, records) in
        plan.record.captures.iter().zip(&output.captures)
    {
        let link = &plan.topology.links[*id as usize];
        let (from, to) = if *reverse { (link.b, link.a) } else { (link.a, link.b) };
        let interface = Interface {
            name: format!("{}->{}", name(from), name(to)),
            rate_bps: link.rate.0,
            records,
        };
        // The opposite direction of this link was the previous capture.
        if both == Some(*id)
            && let Some((_, file)) = files.last_mut()
        {
            file.interfaces.push(interface);
            continue;
        }
        let joined = plan.record.joined.contains(id);
        both = joined.then_some(*id);
        let stem = format!("{}-{}{}", name(from), name(to), if joined { "-both" } else { "" });
        let numbers = ["".to_owned()].into_iter().chain((2..).map(|number| format!("-{number}")));
        let mut names = numbers.map(|number| format!("{stem}{number}.pcapng").replace('/', "_"));
        let Some(name) = names.find(|name| files.iter().all(|(taken, _)| taken != name)) else {
            continue;
        };
        files.push((name, CaptureFile { interfaces: vec![interface], plan, output }));
    }
    files
}

impl CaptureFile<'_> {
    pub fn write(&self, file: &mut impl Write) -> std::io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        self.write_to(&mut out)?;
        out.flush()
    }

    /// Returns the addresses and names of the named hosts that occur in the capture.
    fn named(&self, facts: &Facts) -> Vec<([u8; 4], &str)> {
        let records = self.interfaces.iter().flat_map(|interface| interface.records);
        let mut hosts: BTreeSet<(u32, [u8; 4])> = BTreeSet::new();
        for record in records {
            for (host, place) in [(record.src, 26), (record.dst, 30)] {
                let own = record.packet.as_ref().and_then(|packet| packet.get(place..place + 4));
                let address = own.and_then(|own| own.try_into().ok());
                hosts.insert((host, address.unwrap_or_else(|| facts.addresses.of(host))));
            }
        }
        let name = |host: u32| {
            self.plan
                .topology
                .nodes
                .get(host as usize)
                .map(|node| node.name.as_str())
                .filter(|name| *name != format!("host{host}"))
        };
        hosts.into_iter().filter_map(|(host, address)| Some((address, name(host)?))).collect()
    }

    fn write_to(&self, out: &mut impl Write) -> std::io::Result<()> {
        let snaplen = self.plan.record.snaplen;
        let mut block = Vec::new();
        blocks::section_header(&mut block);
        for interface in &self.interfaces {
            blocks::interface(&mut block, &interface.name, interface.rate_bps, snaplen);
        }
        let facts = Facts::of(self.plan, self.output);
        blocks::names(&mut block, &self.named(&facts));
        out.write_all(&block)?;
        let mut seen = Seen::new(&facts);
        let mut frame = Vec::new();
        let mut left: Vec<&[CaptureRecord]> =
            self.interfaces.iter().map(|interface| interface.records).collect();
        // Select the interface with the earliest frame, or the first interface if times are equal.
        while let Some(number) = (0..left.len())
            .filter(|&number| !left[number].is_empty())
            .min_by_key(|&number| left[number][0].time)
        {
            let record = &left[number][0];
            left[number] = &left[number][1..];
            frame.clear();
            let length = headers::frame(&mut frame, record, &facts, &mut seen, snaplen as usize);
            block.clear();
            blocks::packet(&mut block, number as u32, record.time.round_ns(), &frame, length);
            out.write_all(&block)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
