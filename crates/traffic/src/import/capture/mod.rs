//! Captures to flows: what one host sent another between two ports, without a longer pause than the gap, and each message of RoCEv2.
//!
//! Bytes are those above TCP, UDP or RoCEv2, of each direction apart. TCP's are counted by sequence numbers: what is sent again counts once, and frames
//! that the capture missed count if later ones were seen. A flow starts with its first byte. Tunnels are removed: hosts are those inside.

mod container;
mod fragments;
mod headers;
mod messages;
mod notes;
mod roce;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_headers;
#[cfg(test)]
mod tests_messages;
mod tunnels;

pub use headers::Kind;
pub use notes::Noted;

use crate::{Place, TrafficError};
use container::{Frames, Wrong};
use fragments::Pending;
use headers::{Carried, Carrying, Datagram, Segment};
use messages::Messages;
use notes::{Note, Tally};
use rustc_hash::FxHashMap;
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
    pub kind: Kind,
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
    /// Frames that carry none, with the reason, and what was left out of others.
    pub noted: Vec<Noted>,
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
    let mut interface = None;
    while let Some(frame) = frames.next().map_err(refused)? {
        if !headers::understands(frame.link_type) {
            let found = format!("frames of link type {}", frame.link_type);
            return Err(TrafficError::input(Place::whole(file), found, headers::LINK_TYPES));
        }
        reading.first_ns = reading.first_ns.min(frame.time_ns);
        reading.tally.frame = frame.number;
        if *interface.get_or_insert(frame.interface) != frame.interface {
            reading.tally.note(Note::Interfaces);
        }
        let carrying = headers::parse(frame.link_type, frame.captured, frame.length, &mut reading.tally);
        reading.take(carrying, frame.time_ns);
    }
    reading.tally.join(std::mem::take(&mut frames.tally));
    let mut captured = reading.finish();
    (captured.frames, captured.cut) = (frames.count, frames.cut);
    Ok(captured)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Direction {
    src: IpAddr,
    dst: IpAddr,
    ends: [u32; 2],
    kind: Kind,
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
    kind: Kind,
    dscp: u8,
}

/// What became of a frame.
enum Outcome {
    /// It carries bytes of flows.
    Used,
    /// It is in no flow.
    Left(Note),
    /// A fragment: known when the first fragment comes.
    Waits,
}

#[derive(Default)]
struct Reading {
    gap_ns: u64,
    first_ns: u64,
    used: u64,
    streams: FxHashMap<Direction, Stream>,
    messages: Messages,
    pending: FxHashMap<Datagram, Pending>,
    flows: Vec<Found>,
    tally: Tally,
}

/// Why nothing between these addresses is a flow, if so.
fn between(src: IpAddr, dst: IpAddr) -> Result<(), Note> {
    if src == dst {
        return Err(Note::Local);
    }
    if dst.is_multicast() || matches!(dst, IpAddr::V4(v4) if v4.is_broadcast()) { Err(Note::Group) } else { Ok(()) }
}

impl Reading {
    /// Takes or notes a frame.
    fn take(&mut self, carrying: Carrying, time_ns: u64) -> Outcome {
        let taken = match carrying {
            Ok(Carried::Segment(segment)) => self.segment(&segment, time_ns),
            Ok(Carried::Packet(packet)) => {
                between(packet.queue.src, packet.queue.dst).and_then(|()| self.messages.take(&packet, time_ns, &mut self.flows, &mut self.tally))
            }
            Ok(Carried::Fragment(fragment)) => {
                self.fragment(fragment, time_ns);
                return Outcome::Waits;
            }
            Err(note) => Err(note),
        };
        match taken {
            Ok(()) => {
                self.used += 1;
                Outcome::Used
            }
            Err(note) => {
                self.tally.note(note);
                Outcome::Left(note)
            }
        }
    }

    /// Why the segment carries no bytes of a flow, if so.
    fn segment(&mut self, segment: &Segment, time_ns: u64) -> Result<(), Note> {
        let Segment { src, dst, kind, dscp, ends, payload, sequence, syn, .. } = *segment;
        between(src, dst)?;
        if payload == 0 && !syn {
            return Err(Note::NoPayload);
        }
        let stream = self.streams.entry(Direction { src, dst, ends, kind }).or_insert(Stream { next: None, flow: None, last_ns: time_ns });
        if syn {
            (stream.next, stream.flow) = (Some(sequence.wrapping_add(1)), None);
        }
        if payload == 0 {
            return Err(Note::NoPayload);
        }
        if time_ns.saturating_sub(stream.last_ns) > self.gap_ns {
            stream.flow = None;
        }
        stream.last_ns = stream.last_ns.max(time_ns);
        let mut bytes = payload;
        if kind == Kind::Tcp {
            // A SYN takes a number of its own; what it carries (TCP Fast Open) comes behind.
            let end = sequence.wrapping_add(u32::from(syn)).wrapping_add(payload);
            if let Some(next) = stream.next {
                let ahead = end.wrapping_sub(next);
                if ahead == 0 || ahead > u32::MAX - FARTHEST {
                    return Err(Note::SentAgain);
                }
                if ahead <= FARTHEST {
                    bytes = ahead;
                }
                if bytes > payload {
                    self.tally.note(Note::Gap);
                }
            }
            stream.next = Some(end);
        }
        let flow = *stream.flow.get_or_insert_with(|| {
            self.flows.push(Found { start_ns: time_ns, src, dst, bytes: 0, kind, dscp });
            self.flows.len() - 1
        });
        let flow = &mut self.flows[flow];
        flow.bytes += u64::from(bytes);
        flow.start_ns = flow.start_ns.min(time_ns);
        Ok(())
    }

    fn finish(mut self) -> Captured {
        self.abandon_all();
        self.messages.finish(&mut self.flows, &mut self.tally);
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
            kind: found.kind,
            dscp: found.dscp,
        };
        let mut flows: Vec<CapturedFlow> = self.flows.into_iter().map(flow).collect();
        // Stable: those of one instant stay in the order of the capture.
        flows.sort_by_key(|flow| flow.start_ns);
        Captured { flows, hosts, origin_ns, used: self.used, noted: self.tally.finish(), ..Captured::default() }
    }
}
