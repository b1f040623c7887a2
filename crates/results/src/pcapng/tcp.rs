//! Fields of TCP headers that simulated frames do not contain: sequence numbers, windows, options.
//! Each file has its own state.

use super::addresses::Addresses;
use super::multipath::Session;
use super::side::Side;
use afflux_net::record::{CaptureKind, CaptureOptions, CaptureRecord, Control, Output};
use afflux_net::spec::{FlowId, Plan, Receive, Recovery, TcpConfig};
use std::collections::HashMap;

/// Length in bytes of Ethernet, IPv4 and TCP headers without options.
const HEADERS: u16 = 54;
/// Length in bytes of NOP, NOP and the timestamps option of RFC 7323.
const TIMESTAMPS: u16 = 12;
/// Largest window scale. RFC 7323 §2.2: the largest window is 65535 × 2^14.
const MOST_SHIFT: u32 = 14;

/// Positions in a subflow of segments that are not full, with the number of missing bytes. Data
/// after such a segment moves to the front by this number.
type Short = HashMap<(FlowId, u8), Vec<(u64, u64)>>;

/// Data shared by all captures of a run.
pub struct Facts<'a> {
    pub plan: &'a Plan,
    output: &'a Output,
    pub timestamps: bool,
    /// Length in bytes of the frame check sequence, which captures leave out.
    pub fcs: u16,
    pub addresses: Addresses,
    short: Short,
}

impl<'a> Facts<'a> {
    pub fn of(plan: &'a Plan, output: &'a Output) -> Facts<'a> {
        let wire = &plan.wire;
        // Profiles with Ethernet's minimum frame size include the frame check sequence.
        let fcs = if wire.min_frame >= 64 { 4 } else { 0 };
        let mut facts = Facts {
            plan,
            output,
            timestamps: wire.data_header >= HEADERS + fcs + TIMESTAMPS,
            fcs,
            addresses: Addresses::of_hosts(&plan.topology),
            short: Short::new(),
        };
        for record in output.captures.iter().flatten() {
            if let (CaptureKind::TcpData, Some(multipath), Some((config, _))) = (
                record.kind,
                record.options.as_ref().and_then(|options| options.multipath),
                facts.tcp(record),
            ) && record.payload < config.mss
            {
                let places = facts.short.entry((record.flow, multipath.subflow)).or_default();
                let place = (record.sequence, u64::from(config.mss - record.payload));
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        facts
    }

    /// Returns the TCP settings and the receive window of a TCP connection.
    fn tcp(&self, record: &CaptureRecord) -> Option<(&'a TcpConfig, Receive)> {
        let flows = &self.plan.flows;
        let flow = flows.get(record.flow as usize).or_else(|| {
            self.output.started.get((record.flow as usize).checked_sub(flows.len())?)
        })?;
        self.plan.transports.get(flow.transport as usize)?.parameters().segments()
    }

    /// Converts a position that assumes full segments to the actual position in the subflow.
    fn place(&self, record: &CaptureRecord, told: u64) -> u64 {
        let subflow = record
            .options
            .as_ref()
            .and_then(|options| options.multipath)
            .map(|multipath| multipath.subflow);
        let short = subflow.and_then(|subflow| self.short.get(&(record.flow, subflow)));
        told - short
            .into_iter()
            .flatten()
            .filter(|(place, _)| *place < told)
            .map(|(_, lacks)| lacks)
            .sum::<u64>()
    }
}

/// Variable parts of a segment's header.
pub struct Segment {
    pub sequence: u32,
    pub acknowledged: u32,
    pub fin: bool,
    pub window: u16,
    /// Options, padded to 32-bit words.
    pub options: Vec<u8>,
}

/// State of the connections seen in one file.
pub struct Seen<'a> {
    facts: &'a Facts<'a>,
    sessions: HashMap<FlowId, Session>,
    /// Newest timestamp of each side.
    stamps: HashMap<(FlowId, u8, Side), u32>,
}

impl<'a> Seen<'a> {
    pub fn new(facts: &'a Facts<'a>) -> Seen<'a> {
        Seen { facts, sessions: HashMap::new(), stamps: HashMap::new() }
    }

    /// Returns the header fields of the next segment of the file.
    pub fn segment(&mut self, record: &CaptureRecord) -> Segment {
        let place = self.facts.place(record, record.sequence) as u32;
        let closes = record
            .options
            .as_ref()
            .and_then(|options| options.multipath)
            .is_some_and(|multipath| multipath.closes);
        // Sequence number of the first byte. The SYN has the number before it.
        let first = 1u32;
        let (sequence, acknowledged, fin) = match record.kind {
            CaptureKind::TcpAck => {
                // The acknowledgement of the other side's FIN carries this side's FIN.
                let ends = record.last && !record.again;
                (
                    first + u32::from(record.last && record.again),
                    first.wrapping_add(place).wrapping_add(record.last.into()),
                    ends,
                )
            }
            CaptureKind::TcpControl(Control::Syn) => (0, 0, false),
            CaptureKind::TcpControl(Control::SynAck) => (0, first, false),
            CaptureKind::TcpControl(Control::AskWindow) => (place, first, false),
            CaptureKind::TcpControl(Control::Ack) => (
                first.wrapping_add(place).wrapping_add(record.last.into()),
                first + u32::from(record.last),
                closes,
            ),
            _ => (first.wrapping_add(place), first, record.last),
        };
        let (window, options) = match self.facts.tcp(record) {
            Some((config, receive)) => {
                (window(record, receive), self.options(record, place, config, receive))
            }
            None => (u16::MAX, Vec::new()),
        };
        Segment { sequence, acknowledged, fin, window, options }
    }

    fn options(
        &mut self,
        record: &CaptureRecord,
        place: u32,
        config: &TcpConfig,
        receive: Receive,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let none = CaptureOptions::default();
        let options = record.options.as_deref().unwrap_or(&none);
        let opens = matches!(record.kind, CaptureKind::TcpControl(Control::Syn | Control::SynAck));
        if opens {
            let option_bytes = if self.facts.timestamps { TIMESTAMPS } else { 0 }
                + if options.multipath.is_some() { 24 } else { 0 };
            // Maximum segment size (RFC 9293 §3.2), then SACK permitted (RFC 2018) or padding.
            out.extend([2, 4]);
            out.extend((config.mss + option_bytes).to_be_bytes());
            out.extend(if config.recovery == Recovery::NewReno { [1, 1] } else { [4, 2] });
        }
        if self.facts.timestamps {
            if !opens {
                out.extend([1, 1]);
            }
            self.stamp(
                &mut out,
                record,
                options.multipath.map_or(0, |multipath| multipath.subflow),
            );
        } else if opens {
            out.extend([1, 1]);
        }
        if opens {
            out.extend([1, 3, 3, shift(receive) as u8]);
        }
        if let Some(multipath) = &options.multipath {
            let session = self
                .sessions
                .entry(record.flow)
                .or_insert_with(|| Session::new(self.facts.plan.run.seed, record.flow));
            match record.kind {
                CaptureKind::TcpControl(control) => {
                    session.opening(&mut out, control, Side::of(record), multipath)
                }
                CaptureKind::TcpData => {
                    session.mapping(&mut out, multipath.data, place, record.payload)
                }
                _ => session.acknowledgement(&mut out, multipath.data),
            }
        }
        if !options.blocks.is_empty() {
            out.extend([1, 1, 5, 2 + 8 * options.blocks.len() as u8]);
            for edge in options.blocks.iter().flat_map(|&(from, to)| [from, to]) {
                out.extend((self.facts.place(record, edge) as u32).wrapping_add(1).to_be_bytes());
            }
        }
        out.resize(out.len().next_multiple_of(4), 1);
        out
    }

    /// Appends the timestamps option (RFC 7323), in ms as in Linux. Simulated frames carry no
    /// timestamps, so the option has the capture time of this frame and the newest timestamp of the
    /// other side.
    fn stamp(&mut self, out: &mut Vec<u8>, record: &CaptureRecord, subflow: u8) {
        let (now, side) = ((record.time.0 / 1_000_000_000) as u32, Side::of(record));
        self.stamps.insert((record.flow, subflow, side), now);
        let other = self.stamps.get(&(record.flow, subflow, side.other())).copied().unwrap_or(0);
        out.extend([8, 10]);
        out.extend(now.to_be_bytes());
        out.extend(other.to_be_bytes());
    }
}

/// Returns the largest number of outstanding bytes that the receiver allows.
fn most(receive: Receive) -> u64 {
    match receive {
        Receive::Unlimited => u64::MAX,
        Receive::Window(bytes) => bytes.0,
        Receive::Buffer(buffer) => buffer.most.0,
    }
}

/// Returns the least window scale that can express the receiver's largest window.
fn shift(receive: Receive) -> u32 {
    (0..MOST_SHIFT).find(|shift| most(receive) >> shift <= u16::MAX.into()).unwrap_or(MOST_SHIFT)
}

fn window(record: &CaptureRecord, receive: Receive) -> u16 {
    // A host that receives no data does not limit the sender.
    if !record.answer {
        return u16::MAX;
    }
    let options = record.options.as_deref();
    let from = options
        .and_then(|options| options.multipath)
        .map_or(record.sequence, |multipath| multipath.data);
    let edge = options.and_then(|options| options.edge);
    let bytes = edge.map_or(most(receive), |edge| edge.saturating_sub(from));
    // RFC 7323 §2.2: the window of a SYN is not scaled.
    let scaled = if matches!(record.kind, CaptureKind::TcpControl(_)) {
        bytes
    } else {
        bytes >> shift(receive)
    };
    scaled.min(u16::MAX.into()) as u16
}
