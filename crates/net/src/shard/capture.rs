//! Packet captures: records the frames that a captured port sends.

use super::Shard;
use crate::frame::Frame;
use crate::memory::Kept;
use crate::record::{CaptureKind, CaptureOptions, CaptureRecord};
use crate::spec::Flow;
use afflux_units::Time;

/// The part of a capture record that only the frame's transport knows.
pub struct Content {
    pub kind: CaptureKind,
    pub sequence: u64,
    pub payload: u16,
    pub last: bool,
    pub again: bool,
    pub options: Option<Box<CaptureOptions>>,
}

impl Content {
    /// Describes a segment of a flow.
    pub fn data(shard: &Shard, flow: &Flow, frame: &Frame, kind: CaptureKind) -> Content {
        let shape = shard.world.shape(flow);
        let payload =
            if frame.seq as u64 + 1 == shape.count { shape.last_payload } else { shape.payload };
        Content::bare(kind, frame.seq as u64 * shape.payload as u64, payload)
    }

    /// Describes a datagram: a segment of a flow, or without `data` a frame whose content is not
    /// recorded.
    pub fn datagram(shard: &Shard, flow: &Flow, frame: &Frame, data: bool) -> Content {
        if data {
            Content::data(shard, flow, frame, CaptureKind::Datagram)
        } else {
            Content::bare(CaptureKind::Datagram, 0, 0)
        }
    }

    pub fn bare(kind: CaptureKind, sequence: u64, payload: u16) -> Content {
        Content { kind, sequence, payload, last: false, again: false, options: None }
    }
}

impl<'a> Shard<'a> {
    #[cold]
    #[inline(never)]
    pub(super) fn capture(&mut self, capture: u32, start: u64, frame: Frame) {
        let flow = self.world.flow(frame.flow);
        let Content { kind, sequence, payload, last, again, options } =
            if frame.kind() == Frame::TO_SWITCH {
                Content::bare(CaptureKind::Switch, 0, 0)
            } else {
                self.captured(flow, &frame)
            };
        let packet = self.contents_of(&frame);
        let ecn = if frame.has(Frame::CE) { 3 } else { 2 * frame.has(Frame::ECT) as u8 };
        let answer = flow.dst != frame.dst;
        let (src, dst) = if answer { (flow.dst, flow.src) } else { (flow.src, flow.dst) };
        let record = CaptureRecord {
            time: Time(start),
            flow: frame.flow,
            src,
            dst,
            kind,
            sequence,
            payload,
            size: frame.size,
            ecn,
            ece: frame.has(Frame::ECE),
            cwr: frame.has(Frame::CWR),
            last,
            again,
            answer,
            priority: frame.priority(),
            options,
            packet,
        };
        self.kept += Kept::capture(&record);
        self.harvest.captures.push((capture, record));
    }
}
