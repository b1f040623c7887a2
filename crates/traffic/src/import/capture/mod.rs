//! Converts captures to flows. A flow is the data that one host sent another between two ports,
//! without a longer pause than the gap. Each RoCEv2 message is a flow as well.
//!
//! The bytes of a flow are those above TCP, UDP or RoCEv2, counted in each direction separately.
//! TCP's bytes are counted by sequence numbers: retransmitted bytes count once, and frames that the
//! capture missed count if later ones were seen. A flow starts with its first byte. Tunnels are
//! removed, so hosts are those inside a tunnel.

mod carried;
mod container;
mod flows;
mod fragments;
mod headers;
mod messages;
mod notes;
mod pending;
mod reading;
mod roce;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_headers;
#[cfg(test)]
mod tests_messages;
mod tunnels;

pub use carried::Kind;
pub use flows::{Captured, CapturedFlow};
pub use notes::Noted;

use crate::{Place, TrafficError};
use carried::Carried;
use container::{Frames, Wrong};
use notes::Note;
use reading::Reading;
use std::io::BufRead;
use std::path::Path;

/// Reads a capture, plain, gzip or xz. A pause of more than `gap_ns` ends a flow.
pub fn read(file: &Path, gap_ns: u64) -> Result<Captured, TrafficError> {
    read_from(crate::text::open(file)?, file, gap_ns)
}

/// Reads a capture as [`read`] does, from the bytes of `file`.
pub fn read_from(reader: impl BufRead, file: &Path, gap_ns: u64) -> Result<Captured, TrafficError> {
    let refused = |wrong: Wrong| match wrong {
        Wrong::Io(error) => crate::text::unreadable(file, &error),
        Wrong::Format(found, expected) => TrafficError::input(Place::whole(file), found, expected),
    };
    let mut frames = Frames::open(reader).map_err(refused)?;
    let mut reading = Reading::new(gap_ns);
    let mut interface = None;
    while let Some(frame) = frames.next().map_err(refused)? {
        if !headers::understands(frame.link_type) {
            let found = format!("frames of link type {}", frame.link_type);
            return Err(TrafficError::input(Place::whole(file), found, headers::LINK_TYPES));
        }
        reading.first_ns = reading.first_ns.min(frame.time_ns);
        reading.tally.frame = frame.number;
        let carrying =
            headers::parse(frame.link_type, frame.captured, frame.length, &mut reading.tally);
        let first = *interface.get_or_insert(frame.interface);
        if frame.interface != first && carrying.as_ref().is_ok_and(Carried::may_count_twice) {
            reading.tally.note(Note::Interfaces);
        }
        reading.take(carrying, frame.time_ns);
    }
    reading.tally.join(std::mem::take(&mut frames.tally));
    let mut captured = reading.finish();
    (captured.frames, captured.cut) = (frames.count, frames.cut);
    Ok(captured)
}
