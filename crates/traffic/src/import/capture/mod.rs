//! Captures to flows: what one host sent another between two ports, without a longer pause than the gap.
//!
//! Bytes are those above TCP or UDP, of each direction apart. TCP's are counted by sequence numbers: what is sent again counts once, and frames
//! that the capture missed count if later ones were seen. A flow starts with its first byte.

mod container;
mod headers;
#[cfg(test)]
mod tests;

use crate::{Place, TrafficError};
use container::{Frames, Wrong};
use headers::{Segment, Skip, TCP};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::net::IpAddr;
use std::path::Path;

/// A flow of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFlow {
    /// Since the capture's first frame.
    pub start_ns: u64,
    /// Indices into [`Captured::hosts`].
    pub src: u32,
    pub dst: u32,
    pub bytes: u64,
    pub tcp: bool,
    /// Of the first frame with payload.
    pub dscp: u8,
}

/// What a capture holds.
#[derive(Debug, Default)]
pub struct Captured {
    /// By start.
    pub flows: Vec<CapturedFlow>,
    /// The addresses of flows, in their order: those of a subnet stand together.
    pub hosts: Vec<IpAddr>,
    /// The earliest frame, since 1970.
    pub origin_ns: u64,
    /// Frames read, and those of them that carry bytes of flows.
    pub frames: u64,
    pub used: u64,
    /// Frames that carry none, with the reason.
    pub dropped: Vec<(&'static str, u64)>,
    /// The file ends within a frame.
    pub cut: bool,
}

/// A connection's windows are below 2^30 bytes (RFC 7323): sequence numbers do not jump further.
const FARTHEST: u32 = 1 << 30;

/// Reads a capture, plain, gzip or xz. A pause of more than `gap_ns` ends a flow.
pub fn read(file: &Path, gap_ns: u64) -> Result<Captured, TrafficError> {
    read_from(crate::text::open(file)?, file, gap_ns)
}

/// As [`read`], from bytes that stand in `file`.
pub fn read_from(reader: impl BufRead, file: &Path, gap_ns: u64) -> Result<Captured, TrafficError> {
    let refused = |wrong: Wrong| match wrong {
        Wrong::Io(error) => crate::text::unreadable(file, &error),
        Wrong::Format(found, expected) => TrafficError::input(Place::whole(file), found, expected),
    };
    let mut frames = Frames::open(reader).map_err(refused)?;
    let mut reading = Reading { gap_ns, first_ns: u64::MAX, ..Reading::default() };
    while let Some(frame) = frames.next().map_err(refused)? {
        if !headers::understands(frame.link_type) {
            let found = format!("frames of link type {}", frame.link_type);
            return Err(TrafficError::input(Place::whole(file), found, headers::LINK_TYPES));
        }
        reading.first_ns = reading.first_ns.min(frame.time_ns);
        let reason = match headers::parse(frame.link_type, frame.captured, frame.length) {
            Ok(segment) => reading.take(&segment, frame.time_ns).err(),
            Err(Skip::NotIp) => Some("not IP"),
            Err(Skip::Fragment) => Some("IP fragments after the first"),
            Err(Skip::Protocol) => Some("neither TCP nor UDP"),
            Err(Skip::Short) => Some("headers that are cut off or wrong"),
        };
        match reason {
            Some(reason) => *reading.dropped.entry(reason).or_default() += 1,
            None => reading.used += 1,
        }
    }
    if frames.timeless > 0 {
        reading.dropped.insert("without a time (simple packet blocks)", frames.timeless);
    }
    let mut captured = reading.finish();
    (captured.frames, captured.cut) = (frames.count, frames.cut);
    Ok(captured)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Direction {
    src: IpAddr,
    dst: IpAddr,
    ports: [u16; 2],
    protocol: u8,
}

struct Stream {
    /// TCP: the number of the next new byte, if it is known.
    next: Option<u32>,
    /// The flow under way.
    flow: Option<usize>,
    last_ns: u64,
}

struct Found {
    start_ns: u64,
    src: IpAddr,
    dst: IpAddr,
    bytes: u64,
    tcp: bool,
    dscp: u8,
}

#[derive(Default)]
struct Reading {
    gap_ns: u64,
    first_ns: u64,
    used: u64,
    streams: FxHashMap<Direction, Stream>,
    flows: Vec<Found>,
    dropped: BTreeMap<&'static str, u64>,
}

fn is_group(address: IpAddr) -> bool {
    address.is_multicast() || matches!(address, IpAddr::V4(v4) if v4.is_broadcast())
}

impl Reading {
    /// Why the segment carries no bytes of a flow, if so.
    fn take(&mut self, segment: &Segment, time_ns: u64) -> Result<(), &'static str> {
        let Segment { src, dst, protocol, dscp, ports, payload, sequence, syn } = *segment;
        if src == dst {
            return Err("from a host to itself");
        }
        if is_group(dst) {
            return Err("to a multicast or broadcast address");
        }
        if payload == 0 && !syn {
            return Err("without payload");
        }
        let tcp = protocol == TCP;
        let stream = self.streams.entry(Direction { src, dst, ports, protocol }).or_insert(Stream { next: None, flow: None, last_ns: time_ns });
        if syn {
            (stream.next, stream.flow) = (Some(sequence.wrapping_add(1)), None);
        }
        if payload == 0 {
            return Err("without payload");
        }
        if time_ns.saturating_sub(stream.last_ns) > self.gap_ns {
            stream.flow = None;
        }
        stream.last_ns = stream.last_ns.max(time_ns);
        let mut bytes = payload;
        if tcp {
            // A SYN takes a number of its own; what it carries (TCP Fast Open) comes behind.
            let end = sequence.wrapping_add(u32::from(syn)).wrapping_add(payload);
            if let Some(next) = stream.next {
                let ahead = end.wrapping_sub(next);
                if ahead == 0 || ahead > u32::MAX - FARTHEST {
                    return Err("sent again");
                }
                if ahead <= FARTHEST {
                    bytes = ahead;
                }
            }
            stream.next = Some(end);
        }
        let flow = *stream.flow.get_or_insert_with(|| {
            self.flows.push(Found { start_ns: time_ns, src, dst, bytes: 0, tcp, dscp });
            self.flows.len() - 1
        });
        let flow = &mut self.flows[flow];
        flow.bytes += u64::from(bytes);
        flow.start_ns = flow.start_ns.min(time_ns);
        Ok(())
    }

    fn finish(self) -> Captured {
        let mut hosts: Vec<IpAddr> = self.flows.iter().flat_map(|flow| [flow.src, flow.dst]).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let number: FxHashMap<IpAddr, u32> = hosts.iter().copied().zip(0..).collect();
        let origin_ns = if self.first_ns == u64::MAX { 0 } else { self.first_ns };
        let flow = |found: Found| CapturedFlow {
            start_ns: found.start_ns - origin_ns,
            src: number[&found.src],
            dst: number[&found.dst],
            bytes: found.bytes,
            tcp: found.tcp,
            dscp: found.dscp,
        };
        let mut flows: Vec<CapturedFlow> = self.flows.into_iter().map(flow).collect();
        // Stable: those of one instant stay in the order of the capture.
        flows.sort_by_key(|flow| flow.start_ns);
        Captured { flows, hosts, origin_ns, used: self.used, dropped: self.dropped.into_iter().collect(), ..Captured::default() }
    }
}
