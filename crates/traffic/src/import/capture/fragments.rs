//! IP fragments. Only the first fragment has the header above IP. UDP's header states the length of
//! the whole datagram; TCP's bytes are counted in each fragment.

use super::carried::{Carried, Carrying, Datagram, Fragment, Segment};
use super::notes::Note;
use super::pending::{Beginning, Pending, Piece};
use super::reading::{Outcome, Reading};

impl Reading {
    pub fn fragment(&mut self, fragment: Fragment, time_ns: u64) {
        let Fragment { datagram, offset, length, last, first } = fragment;
        let piece = Piece { offset, length, time_ns, frame: self.tally.frame };
        let mut pending = self.pending.remove(&datagram).unwrap_or_default();
        if pending.is_over(&piece) {
            self.abandon(std::mem::take(&mut pending));
        }
        pending.pieces.push(piece);
        if last {
            pending.end = Some(offset.saturating_add(length));
        }
        if let Some(first) = first {
            let beginning = self.beginning(*first, length, time_ns);
            std::mem::take(&mut pending.waiting)
                .into_iter()
                .for_each(|piece| self.further(&beginning, piece));
            pending.beginning = Some(beginning);
        } else if let Some(beginning) = &pending.beginning {
            self.further(beginning, piece);
        } else {
            pending.waiting.push(piece);
        }
        if !pending.is_complete() {
            self.pending.insert(datagram, pending);
        }
    }

    fn beginning(&mut self, first: Carrying, length: u32, time_ns: u64) -> Beginning {
        let in_parts = match &first {
            Ok(Carried::Segment(segment)) if segment.goes_on => Some(segment.clone()),
            _ => None,
        };
        match (self.take(first, time_ns), in_parts) {
            (_, Some(segment)) => {
                let headers = length - segment.payload;
                Beginning::Segment(segment, headers)
            }
            (Outcome::Left(note), None) => Beginning::Left(note),
            (Outcome::Used | Outcome::Waits, None) => Beginning::Whole,
        }
    }

    fn further(&mut self, beginning: &Beginning, piece: Piece) {
        let now = std::mem::replace(&mut self.tally.frame, piece.frame);
        match beginning {
            Beginning::Whole => self.used += 1,
            Beginning::Left(note) => self.tally.note(*note),
            Beginning::Segment(segment, headers) => {
                let sequence = segment
                    .sequence
                    .wrapping_add(u32::from(segment.syn))
                    .wrapping_add(piece.offset)
                    .wrapping_sub(*headers);
                let rest = Segment {
                    sequence,
                    payload: piece.length,
                    syn: false,
                    goes_on: false,
                    ..segment.clone()
                };
                self.take(Ok(Carried::Segment(rest)), piece.time_ns);
            }
        }
        self.tally.frame = now;
    }

    /// Notes a datagram whose missing fragments never came.
    fn abandon(&mut self, pending: Pending) {
        pending
            .waiting
            .iter()
            .for_each(|piece| self.tally.note_at(Note::NoFirstFragment, piece.frame));
        if let (Some(Beginning::Whole), Some(piece)) = (pending.beginning, pending.pieces.first()) {
            self.tally.note_at(Note::FragmentsMissing, piece.frame);
        }
    }

    pub fn abandon_all(&mut self) {
        let mut all: Vec<(Datagram, Pending)> = self.pending.drain().collect();
        // Notes name the first frames, so datagrams are sorted by frame.
        all.sort_by_key(|(_, pending)| pending.pieces.first().map(|piece| piece.frame));
        all.into_iter().for_each(|(_, pending)| self.abandon(pending));
    }
}
