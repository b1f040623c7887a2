//! Messages of RoCEv2, each of which is a flow. Packet numbers show which packets are
//! retransmitted, so these count once. Packets that arrive late, over another path, count for their
//! own message.

use super::carried::{Kind, Packet, Part, Queue};
use super::flows::Found;
use super::notes::{Note, Tally};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Packet sequence numbers have 24 bits.
const NUMBERS: u32 = 1 << 24;
/// Largest distance of a packet from the expected number. A packet farther away belongs to a new
/// connection of the queue pair.
const FARTHEST: u32 = 1 << 16;
/// Largest number of open gaps per queue. Older gaps are closed.
const GAPS: usize = 64;

fn distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from) % NUMBERS
}

struct Message {
    flow: usize,
    /// Bytes of the message's longest packet.
    unit: u32,
    stated: Option<u32>,
    /// Whether the first packet of the message was seen (`is_begun`), and the last one
    /// (`is_ended`).
    is_begun: bool,
    is_ended: bool,
    /// Frame in which the message was found.
    frame: u64,
}

/// Packet numbers that were not seen, and the messages before and after them.
#[derive(Clone, Copy)]
struct Gap {
    first: u32,
    count: u32,
    before: Option<usize>,
    after: Option<usize>,
    /// Frame that follows the gap.
    frame: u64,
}

#[derive(Default)]
struct Progress {
    next: Option<u32>,
    /// Message in progress.
    current: Option<usize>,
    /// Whether the next packet may skip numbers: a read request reserves the numbers of its
    /// responses.
    is_loose: bool,
    gaps: VecDeque<Gap>,
}

#[derive(Default)]
pub struct Messages {
    queues: FxHashMap<Queue, Progress>,
    messages: Vec<Message>,
}

/// State that a packet changes.
struct Books<'a> {
    messages: &'a mut Vec<Message>,
    flows: &'a mut Vec<Found>,
    tally: &'a mut Tally,
}

impl Messages {
    /// Adds a packet to its message. Returns the reason if the packet carries no bytes of a
    /// message.
    pub fn take(
        &mut self,
        packet: &Packet,
        time_ns: u64,
        flows: &mut Vec<Found>,
        tally: &mut Tally,
    ) -> Result<(), Note> {
        let progress = self.queues.entry(packet.queue.clone()).or_default();
        let mut books = Books { messages: &mut self.messages, flows, tally };
        let message = progress.message_of(packet, time_ns, &mut books)?;
        books.add(message, packet, time_ns);
        Ok(())
    }

    /// Notes the packets and messages that the capture missed.
    pub fn finish(mut self, flows: &mut Vec<Found>, tally: &mut Tally) {
        let mut books = Books { messages: &mut self.messages, flows, tally };
        let mut gaps: Vec<Gap> =
            self.queues.into_values().flat_map(|progress| progress.gaps).collect();
        // Notes name the first frames, so gaps are sorted by frame.
        gaps.sort_by_key(|gap| gap.frame);
        gaps.into_iter().for_each(|gap| books.close(gap));
        for message in self.messages.iter().filter(|message| !message.is_begun) {
            tally.note_at(Note::NoBeginning, message.frame);
        }
    }
}

impl Progress {
    fn message_of(
        &mut self,
        packet: &Packet,
        time_ns: u64,
        books: &mut Books,
    ) -> Result<usize, Note> {
        let mut ahead = self.next.map_or(0, |next| distance(next, packet.number));
        if ahead >= NUMBERS - FARTHEST {
            return self.late(packet, time_ns, books);
        }
        if ahead > FARTHEST {
            std::mem::take(self).gaps.into_iter().for_each(|gap| books.close(gap));
            ahead = 0;
        }
        let (before, is_response) = (self.current, packet.queue.is_response);
        // Responses have the numbers of their requests. The numbers between two responses can
        // belong to other requests.
        let is_gap = ahead > 0 && !self.is_loose && !(is_response && before.is_none());
        self.next = Some((packet.number + 1) % NUMBERS);
        self.is_loose = packet.part == Part::Bare(Note::ReadRequest);
        let message = match packet.part {
            // A repeated read request continues where the first read stopped.
            Part::First | Part::Only if is_response && ahead == 0 && before.is_some() => {
                before.ok_or(Note::NoPayload)
            }
            Part::Middle | Part::Last if before.is_some() => before.ok_or(Note::NoPayload),
            _ => books.begin(packet, time_ns),
        };
        self.current =
            if matches!(packet.part, Part::First | Part::Middle) { message.ok() } else { None };
        if is_gap {
            let first = (packet.number + NUMBERS - ahead) % NUMBERS;
            self.gaps.push_back(Gap {
                first,
                count: ahead,
                before,
                after: message.ok(),
                frame: books.tally.frame,
            });
            if self.gaps.len() > GAPS {
                self.gaps.pop_front().into_iter().for_each(|gap| books.close(gap));
            }
        }
        message
    }

    /// Handles a packet whose number has passed. It fills a gap, or was seen before.
    fn late(&mut self, packet: &Packet, time_ns: u64, books: &mut Books) -> Result<usize, Note> {
        let Some(place) =
            self.gaps.iter().position(|gap| distance(gap.first, packet.number) < gap.count)
        else {
            return Err(if let Part::Bare(note) = packet.part { note } else { Note::SentAgain });
        };
        let gap = self.gaps[place];
        let message = match (packet.part, gap.before, gap.after) {
            // The packets after the gap are the rest of this message.
            (Part::First, before, Some(after))
                if before != gap.after && !books.messages[after].is_begun =>
            {
                (books.messages[after].is_begun, books.messages[after].stated) =
                    (true, packet.stated);
                Ok(after)
            }
            (Part::Middle | Part::Last, Some(message), _)
            | (Part::Middle | Part::Last, None, Some(message)) => Ok(message),
            _ => books.begin(packet, time_ns),
        };
        let count = distance(gap.first, packet.number);
        let under_way =
            if matches!(packet.part, Part::First | Part::Middle) { message.ok() } else { None };
        // The numbers after a read request belong to its responses.
        let behind =
            if packet.part == Part::Bare(Note::ReadRequest) { 0 } else { gap.count - count - 1 };
        let parts = [
            Gap { count, after: message.ok(), ..gap },
            Gap { first: (packet.number + 1) % NUMBERS, count: behind, before: under_way, ..gap },
        ];
        self.gaps.remove(place);
        self.gaps.extend(parts.into_iter().filter(|part| part.count > 0));
        message
    }
}

impl Books<'_> {
    /// Begins a new message. A request without data is not a message.
    fn begin(&mut self, packet: &Packet, time_ns: u64) -> Result<usize, Note> {
        match packet.part {
            Part::Bare(note) => return Err(note),
            _ if packet.payload == 0 => return Err(Note::NoPayload),
            _ => {}
        }
        let Queue { src, dst, .. } = packet.queue;
        self.flows.push(Found {
            start_ns: time_ns,
            src,
            dst,
            bytes: 0,
            kind: Kind::Rdma,
            dscp: packet.dscp,
        });
        let is_begun = matches!(packet.part, Part::First | Part::Only);
        self.messages.push(Message {
            flow: self.flows.len() - 1,
            unit: 0,
            stated: packet.stated,
            is_begun,
            is_ended: false,
            frame: self.tally.frame,
        });
        Ok(self.messages.len() - 1)
    }

    fn add(&mut self, message: usize, packet: &Packet, time_ns: u64) {
        let message = &mut self.messages[message];
        message.unit = message.unit.max(packet.payload);
        message.is_ended |= matches!(packet.part, Part::Last | Part::Only);
        let flow = &mut self.flows[message.flow];
        flow.bytes += u64::from(packet.payload);
        flow.start_ns = flow.start_ns.min(time_ns);
    }

    /// Closes a gap that was not filled. Packets missing within a message count as full packets. A
    /// message that has ended has the length that its first packet states.
    fn close(&mut self, gap: Gap) {
        let is_within = gap.before.is_some() && gap.before == gap.after;
        self.tally.note_at(if is_within { Note::Gap } else { Note::GapOfMessages }, gap.frame);
        let Some(message) = gap.before.map(|message| &self.messages[message]) else { return };
        let bytes = &mut self.flows[message.flow].bytes;
        match message.stated {
            Some(stated) if message.is_ended || !is_within => *bytes = u64::from(stated),
            _ if is_within => *bytes += u64::from(gap.count) * u64::from(message.unit),
            _ => {}
        }
    }
}
