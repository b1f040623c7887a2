//! State of a capture that is being read: connections, messages, incomplete datagrams, and the
//! flows found so far.

use super::carried::{Carried, Carrying, Datagram, Kind, Segment};
use super::flows::{Captured, CapturedFlow, Found};
use super::messages::Messages;
use super::notes::{Note, Tally};
use super::pending::Pending;
use rustc_hash::FxHashMap;
use std::net::IpAddr;

/// Largest jump of sequence numbers. A connection's windows are below 2^30 bytes (RFC 7323).
const FARTHEST: u32 = 1 << 30;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Direction {
    src: IpAddr,
    dst: IpAddr,
    ends: [u32; 2],
    kind: Kind,
}

struct Stream {
    /// TCP: sequence number of the next new byte, if it is known.
    next: Option<u32>,
    /// Flow in progress.
    flow: Option<usize>,
    last_ns: u64,
}

/// Use of a frame.
pub enum Outcome {
    /// The frame carries bytes of flows.
    Used,
    /// The frame is in no flow.
    Left(Note),
    /// The frame is a fragment. Its use is known when the first fragment comes.
    Waits,
}

/// State of the reader.
#[derive(Default)]
pub struct Reading {
    gap_ns: u64,
    pub first_ns: u64,
    pub used: u64,
    streams: FxHashMap<Direction, Stream>,
    messages: Messages,
    pub pending: FxHashMap<Datagram, Pending>,
    flows: Vec<Found>,
    pub tally: Tally,
}

/// Refuses frames between addresses that are not the two hosts of a flow, with the reason.
fn between(src: IpAddr, dst: IpAddr) -> Result<(), Note> {
    if src == dst {
        return Err(Note::Local);
    }
    if dst.is_multicast() || matches!(dst, IpAddr::V4(v4) if v4.is_broadcast()) {
        Err(Note::Group)
    } else {
        Ok(())
    }
}

impl Reading {
    /// Starts to read a capture. A pause of more than `gap_ns` ends a flow.
    pub fn new(gap_ns: u64) -> Self {
        Reading { gap_ns, first_ns: u64::MAX, ..Reading::default() }
    }

    /// Adds a frame to a flow, or notes why it is in none.
    pub fn take(&mut self, carrying: Carrying, time_ns: u64) -> Outcome {
        let taken = match carrying {
            Ok(Carried::Segment(segment)) => self.segment(&segment, time_ns),
            Ok(Carried::Packet(packet)) => {
                between(packet.queue.src, packet.queue.dst).and_then(|()| {
                    self.messages.take(&packet, time_ns, &mut self.flows, &mut self.tally)
                })
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

    /// Adds a segment to its flow. Returns the reason if it carries no bytes of a flow.
    fn segment(&mut self, segment: &Segment, time_ns: u64) -> Result<(), Note> {
        let Segment { src, dst, kind, dscp, ends, payload, sequence, syn, .. } = *segment;
        between(src, dst)?;
        if payload == 0 && !syn {
            return Err(Note::NoPayload);
        }
        let stream = self.streams.entry(Direction { src, dst, ends, kind }).or_insert(Stream {
            next: None,
            flow: None,
            last_ns: time_ns,
        });
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
            // A SYN takes a sequence number. Data in the same segment (TCP Fast Open) follow it.
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

    pub fn finish(mut self) -> Captured {
        self.abandon_all();
        self.messages.finish(&mut self.flows, &mut self.tally);
        let mut hosts: Vec<IpAddr> =
            self.flows.iter().flat_map(|flow| [flow.src, flow.dst]).collect();
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
        // The sort is stable, so flows that start at one instant stay in the order of the capture.
        flows.sort_by_key(|flow| flow.start_ns);
        Captured {
            flows,
            hosts,
            origin_ns,
            used: self.used,
            noted: self.tally.finish(),
            ..Captured::default()
        }
    }
}
