//! What a captured port writes down of the frames that it sends.

use super::Shard;
use crate::allocation::What;
use crate::frame::{Control, Frame, Multipath};
use crate::record::{CaptureKind, CaptureMultipath, CaptureOptions, CaptureRecord};
use crate::spec::{Flow, TransportConfig};
use afflux_units::Time;

/// What is said of a frame beside what its header says anyway.
struct Content {
    kind: CaptureKind,
    sequence: u64,
    payload: u16,
    last: bool,
    again: bool,
    options: Option<Box<CaptureOptions>>,
}

impl Content {
    fn bare(kind: CaptureKind, sequence: u64, payload: u16) -> Content {
        Content { kind, sequence, payload, last: false, again: false, options: None }
    }
}

impl<'a> Shard<'a> {
    #[cold]
    #[inline(never)]
    pub(super) fn capture(&mut self, capture: u32, start: u64, frame: Frame) {
        let flow = self.world.flow(frame.flow);
        let Content { kind, sequence, payload, last, again, options } = self.content(flow, &frame);
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
        };
        self.harvest.captures.push((capture, record));
    }

    fn content(&self, flow: &Flow, frame: &Frame) -> Content {
        let shape = self.world.shape(flow);
        match (&self.world.plan.transports[flow.transport as usize], frame.kind()) {
            _ if frame.has(Frame::TO_SWITCH) => Content::bare(CaptureKind::Switch, 0, 0),
            (TransportConfig::Tcp(tcp), Frame::DATA | Frame::ACK | Frame::CONTROL) => self.tcp_content(frame, tcp.mss, tcp.handshake),
            (TransportConfig::Mptcp(mptcp), Frame::DATA | Frame::ACK | Frame::CONTROL) => self.mptcp_content(flow, frame, mptcp.tcp.mss),
            (_, Frame::ACK) => Content::bare(CaptureKind::TcpAck, (frame.seq as u64 * shape.payload as u64).min(flow.bytes), 0),
            (_, Frame::CONTROL) if Control::of(frame) == Control::Report => Content::bare(CaptureKind::Datagram, 0, 0),
            (_, Frame::CONTROL) => Content::bare(CaptureKind::TcpControl(Control::of(frame)), 0, 0),
            // A datagram to a RoCEv2 port, without what is in it.
            (_, Frame::RDMA_ACK) => Content::bare(CaptureKind::Datagram, 0, 0),
            (_, Frame::RATED) if self.extras[frame.aux].header.as_ref().is_some_and(|header| header.what != What::Data || header.answer) => {
                Content::bare(CaptureKind::Datagram, 0, 0)
            }
            (_, kind) => {
                let payload = if frame.seq as u64 + 1 == shape.count { shape.last_payload } else { shape.payload };
                let kind = if kind == Frame::DATA && !frame.has(Frame::QUEUE_PAIR) { CaptureKind::TcpData } else { CaptureKind::Datagram };
                Content::bare(kind, frame.seq as u64 * shape.payload as u64, payload)
            }
        }
    }

    /// Of a connection, which may be of several flows.
    fn tcp_content(&self, frame: &Frame, mss: u16, handshake: bool) -> Content {
        let at = |segment: u32| self.world.position(frame.flow, segment, mss);
        let end = self.world.connection_end(frame.flow);
        match frame.kind() {
            Frame::DATA => {
                let last = handshake && frame.seq + 1 == end;
                Content { last, ..Content::bare(CaptureKind::TcpData, at(frame.seq), self.world.payload(frame.flow, frame.seq, mss)) }
            }
            // What a sender says stands behind what it knows to be acknowledged.
            Frame::CONTROL => {
                let behind = if frame.has(Frame::EXTRA) { 0 } else { frame.aux };
                let control = Control::of(frame);
                let sequence = if control == Control::SynAck { 0 } else { at(behind) };
                Content { last: handshake && control == Control::Ack && behind == end, ..Content::bare(CaptureKind::TcpControl(control), sequence, 0) }
            }
            _ => Content {
                last: handshake && frame.seq == end,
                again: frame.has(Frame::DUPLICATE),
                options: self.acknowledged(frame, at, true),
                ..Content::bare(CaptureKind::TcpAck, at(frame.seq), 0)
            },
        }
    }

    /// Of a subflow, all of whose segments are taken for full ones: those behind the connection's last one, which may be short, stand too far by what
    /// it lacks. Whoever writes them down sees that one.
    fn mptcp_content(&self, flow: &Flow, frame: &Frame, mss: u16) -> Content {
        let full = |segment: u32| segment as u64 * mss as u64;
        let Multipath { subflow, data, edge, .. } = self.extras[frame.aux].multipath;
        let multipath = |data: u64, closes: bool| Some(CaptureMultipath { subflow: subflow - 1, data, closes });
        let options = |multipath| Some(Box::new(CaptureOptions { multipath, ..CaptureOptions::default() }));
        match frame.kind() {
            Frame::DATA => {
                let content = Content::bare(CaptureKind::TcpData, full(frame.seq), self.world.payload(frame.flow, data, mss));
                Content { options: options(multipath(full(data), false)), ..content }
            }
            Frame::CONTROL => {
                let closes = edge != u32::MAX;
                let sequence = if closes { full(data) } else { 0 };
                Content { options: options(multipath(0, closes)), ..Content::bare(CaptureKind::TcpControl(Control::of(frame)), sequence, 0) }
            }
            _ => {
                let mut options = self.acknowledged(frame, full, false).unwrap_or_default();
                options.edge = (edge != u32::MAX).then(|| full(edge));
                options.multipath = multipath(full(data).min(flow.bytes), false);
                let again = frame.has(Frame::DUPLICATE);
                Content { again, options: Some(options), ..Content::bare(CaptureKind::TcpAck, full(frame.seq), 0) }
            }
        }
    }

    /// SACK blocks, the one for what had arrived before first (RFC 2883), and the window.
    fn acknowledged(&self, frame: &Frame, at: impl Fn(u32) -> u64, announces: bool) -> Option<Box<CaptureOptions>> {
        if !frame.has(Frame::EXTRA) {
            return None;
        }
        let extra = &self.extras[frame.aux];
        let room = if extra.multipath.subflow > 0 { crate::spec::MptcpConfig::BLOCKS } else { crate::frame::Extra::BLOCKS };
        let duplicate = frame.has(Frame::DUPLICATE).then_some((extra.trigger, extra.trigger + 1));
        let blocks = duplicate.into_iter().chain(extra.blocks[..extra.count as usize].iter().copied()).take(room);
        let blocks = blocks.map(|(from, to)| (at(from), at(to))).collect();
        let edge = (announces && extra.edge != u32::MAX).then(|| at(frame.seq) + self.beyond(frame, extra.edge));
        Some(Box::new(CaptureOptions { edge, blocks, multipath: None }))
    }

    /// Bytes of the window that ends before segment `edge`.
    fn beyond(&self, frame: &Frame, edge: u32) -> u64 {
        edge.saturating_sub(frame.seq) as u64 * self.tcp(self.world.flow(frame.flow).transport).mss as u64
    }
}
