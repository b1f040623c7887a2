//! Receiving half of TCP. Its buffer is in [`super::receive_memory`].

use super::receive_memory::ReceiveMemory;
use crate::frame::{Extra, Frame};
use crate::spec::{EcnMode, Receive, Recovery, TcpConfig};

/// Acknowledgement to be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckNow {
    pub cumulative: u32,
    pub trigger: u32,
    pub ece: bool,
    /// Whether the segment that caused it was a retransmission, and whether it had arrived before.
    pub repeated: bool,
    pub duplicate: bool,
    /// True if the receiver held the acknowledgement back, for a timer or for the reader.
    pub delayed: bool,
    /// Reply to a window request: time in ps at which the open window was announced, 0 if it has
    /// not opened since the last arrival.
    pub opened: u64,
}

/// Acknowledgements that the arrival of a segment causes: up to two, because a DCTCP receiver first
/// acknowledges the segments of the old state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reaction {
    pub first: Option<AckNow>,
    pub second: Option<AckNow>,
}

/// Segment that arrives.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrival {
    pub now: u64,
    pub seq: u32,
    pub marked: bool,
    pub cwr: bool,
    pub retransmission: bool,
    /// Timestamp that the segment echoes (0: none), and whether it is a full segment.
    pub echo: u32,
    pub full: bool,
}

impl Arrival {
    /// Describes the arrival of `frame`.
    #[inline(always)]
    pub fn of(now: u64, frame: &Frame, echo: u32, full: bool) -> Arrival {
        Arrival {
            now,
            seq: frame.seq,
            marked: frame.has(Frame::CE),
            cwr: frame.has(Frame::CWR),
            retransmission: frame.has(Frame::RETRANSMISSION),
            echo,
            full,
        }
    }
}

#[derive(Default)]
pub struct Receiver {
    next: u32,
    pub segments: u32,
    /// Flow that is arriving, and the segment behind its last one.
    pub current: u32,
    pub to: u32,
    /// Segments received above the first hole: disjoint ranges in ascending order.
    ranges: Vec<(u32, u32)>,
    /// Newest arrivals above the hole, newest first: RFC 2018 reports their blocks first.
    recent: [u32; Extra::BLOCKS],
    /// Highest segment that has arrived.
    pub highest: u32,
    /// Number of segments not yet acknowledged, and the segment that arrived last.
    waiting: u32,
    trigger: u32,
    repeated: bool,
    duplicate: bool,
    /// DCTCP: whether the last segment was marked. Classic ECN: marks are echoed until the sender
    /// reports its reduction (CWR).
    congested: bool,
    /// Number of acknowledgements that are still sent without delay.
    quick: u32,
    /// SACK compression: duplicates sent at the edge `edge`, and duplicates held back there.
    sent_at_edge: u32,
    edge: u32,
    held_back: u32,
    /// Time in ps at which a delayed or held back acknowledgement is due; 0 for none.
    deadline: u64,
    /// Time in ps for which the timer was set that expires at `deadline`.
    due: u64,
    receive_memory: Option<Box<ReceiveMemory>>,
    /// Time in ps at which the receiver announced that the window had opened, 0 if data have
    /// arrived since.
    opened: u64,
    /// ECN mode that the two ends have agreed on.
    pub ecn: EcnMode,
    /// Time in ps at which the SYN was answered, and round trip of the handshake in ps.
    pub answered: u64,
    pub round_trip: u64,
    pub armed: u64,
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub src: u32,
    pub hash: u32,
    pub priority: u8,
    pub marked: u64,
    /// Time in ps that the last data frame spent paused.
    pub paused: u64,
    pub reordered: u64,
    /// Time in ps at which `next` last advanced.
    pub last: u64,
}

/// Identity and initial state of a receiver.
pub struct ReceiverSetup {
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub src: u32,
    pub hash: u32,
    pub priority: u8,
    /// Number of segments of the whole connection, and of its first flow.
    pub segments: u32,
    pub to: u32,
    pub ecn: EcnMode,
    /// Creation time in ps.
    pub now: u64,
}

impl Receiver {
    pub fn new(setup: ReceiverSetup, config: &TcpConfig) -> Self {
        let mut receive_memory = match config.receive {
            Receive::Buffer(buffer) => Some(Box::new(ReceiveMemory::new(
                buffer,
                setup.now,
                super::sender::first_edge(config),
                config,
            ))),
            _ => None,
        };
        if let Some(receive_memory) = receive_memory.as_mut().filter(|_| !config.handshake) {
            receive_memory.open(setup.now);
        }
        Receiver {
            segments: setup.segments,
            current: setup.flow,
            to: setup.to,
            recent: [u32::MAX; Extra::BLOCKS],
            quick: config.delayed_ack.map_or(0, |d| d.quick),
            edge: u32::MAX,
            receive_memory,
            ecn: setup.ecn,
            flow: setup.flow,
            transport: setup.transport,
            node: setup.node,
            src: setup.src,
            hash: setup.hash,
            priority: setup.priority,
            ..Receiver::default()
        }
    }

    #[cfg(test)]
    pub fn finished(&self) -> bool {
        self.next == self.segments
    }
    /// True if the current flow has arrived in full.
    #[inline(always)]
    pub fn has_current(&self) -> bool {
        self.next >= self.to
    }
    /// Returns how many of the segments `from..to` have arrived in order, so that the application
    /// can read them, and whether the last one is among them.
    pub fn received(&self, from: u32, to: u32) -> (u32, bool) {
        (self.next.min(to).saturating_sub(from), self.next >= to)
    }
    /// Returns the first segment that the sender may not send, if the receiver announces it.
    pub fn announce(&mut self) -> Option<u32> {
        let next = self.next;
        self.receive_memory.as_mut().map(|receive_memory| receive_memory.announce(next))
    }
    /// Returns the time in ps at which the receiver must be woken; 0 for never.
    #[inline(always)]
    pub fn wake(&self) -> u64 {
        match &self.receive_memory {
            None => self.deadline,
            Some(receive_memory) if self.deadline == 0 => receive_memory.turns_at,
            Some(receive_memory) if receive_memory.turns_at == 0 => self.deadline,
            Some(receive_memory) => self.deadline.min(receive_memory.turns_at),
        }
    }

    /// Completes the handshake, and takes its round trip.
    pub fn on_established(&mut self, now: u64) {
        if self.answered != 0 && self.round_trip == 0 {
            self.round_trip = now - self.answered;
            if let Some(receive_memory) = &mut self.receive_memory {
                receive_memory.open(now);
            }
        }
    }
    /// Returns an acknowledgement of everything that has arrived.
    pub fn say_now(&mut self) -> AckNow {
        self.acknowledge(false)
    }
    /// Returns the acknowledgement again, in reply to a window request.
    pub fn say_again(&mut self) -> AckNow {
        AckNow { opened: self.opened, ..self.acknowledge(true) }
    }

    /// Processes a segment, and returns the acknowledgements to send.
    #[inline]
    pub fn on_data(&mut self, arrival: Arrival, config: &TcpConfig) -> Reaction {
        let Arrival { now, seq, marked, cwr, retransmission, .. } = arrival;
        let mut reaction = Reaction::default();
        self.marked += marked as u64;
        self.reordered += (seq < self.highest && !retransmission) as u64;
        self.highest = self.highest.max(seq);
        self.opened = 0;
        self.on_established(now);
        if let Some(receive_memory) = &mut self.receive_memory {
            receive_memory.on_echo(now, arrival.echo, arrival.full);
        }
        let mut at_once = false;
        match self.ecn {
            EcnMode::Off => {}
            EcnMode::Classic => {
                // RFC 3168 §6.1.3: the sender's CWR ends the echo, and a mark on the same segment
                // starts it anew. Linux acknowledges both at once, because a sender that has just
                // reduced its window may have a very small one.
                if cwr {
                    self.congested = false;
                    at_once |= self.quick_mode(config);
                }
                if marked && !self.congested {
                    self.congested = true;
                    self.enter_quick(2, config);
                }
            }
            EcnMode::Dctcp => {
                // RFC 8257 §3.2: acknowledge the segments of the old state before entering the new
                // one.
                if marked != self.congested {
                    if self.waiting > 0 {
                        reaction.first = Some(self.acknowledge(false));
                    }
                    self.congested = marked;
                    // Linux dctcp_ece_ack_update: acknowledge the new state without delay, too.
                    at_once |= self.quick_mode(config);
                }
            }
        }
        self.trigger = seq;
        self.repeated = retransmission;
        self.duplicate = false;
        let mut out_of_order = false;
        if seq == self.next {
            self.next += 1;
            self.last = now;
            if let Some(&(start, end)) = self.ranges.first()
                && start == self.next
            {
                self.next = end;
                self.ranges.remove(0);
                // A gap is filled (RFC 5681 §4.2).
                at_once = true;
            }
            // A hole is still open above, or this segment completes a flow.
            at_once |= !self.ranges.is_empty() || self.has_current();
            self.read(now);
        } else {
            at_once = true;
            if self.held_back > 0 && seq > self.next && self.crowds(seq) {
                // The blocks held back would no longer fit into one report with this segment.
                let ready = self.acknowledge(true);
                reaction.first.get_or_insert(ready);
                (self.trigger, self.repeated) = (seq, retransmission);
            }
            if seq < self.next || !self.hold(seq) {
                self.duplicate = true;
                self.enter_quick(16, config);
            } else {
                out_of_order = true;
            }
        }
        self.waiting += 1;
        if out_of_order
            && let Some(compression) = &config.sack_compression
            && self.quick == 0
            && self.hold_back(now, compression, config)
        {
            return reaction;
        }
        match config.delayed_ack {
            Some(delayed)
                if !at_once
                    && self.quick == 0
                    && (self.waiting < delayed.segments || self.fills()) =>
            {
                if self.deadline == 0 {
                    self.due = super::clock::due(now, delayed.timeout.0, config);
                    self.deadline = super::clock::expiry(now, delayed.timeout.0, config);
                } else if self.due <= super::clock::ticked(now, config) + delayed.timeout.0 / 4 {
                    // The timer is about to expire anyway (Linux tcp_send_delayed_ack).
                    reaction.second = Some(self.acknowledge(true));
                }
            }
            _ => reaction.second = Some(self.acknowledge(false)),
        }
        reaction
    }

    fn fills(&self) -> bool {
        self.receive_memory.as_ref().is_some_and(|receive_memory| receive_memory.fills(self.next))
    }

    /// True if the receiver has quick acknowledgements. Linux's other immediate acknowledgements
    /// depend on them.
    fn quick_mode(&self, config: &TcpConfig) -> bool {
        config.delayed_ack.is_some_and(|d| d.quick > 0)
    }
    fn enter_quick(&mut self, count: u32, config: &TcpConfig) {
        if self.quick_mode(config) {
            self.quick = self.quick.max(count);
        }
    }

    /// Holds a duplicate acknowledgement back (Linux __tcp_ack_snd_check): after `dupack_threshold`
    /// (default 3) duplicates at an edge, further ones wait for a part of the round trip. Returns
    /// false if the acknowledgement must be sent now.
    fn hold_back(
        &mut self,
        now: u64,
        compression: &crate::spec::SackCompression,
        config: &TcpConfig,
    ) -> bool {
        if self.edge != self.next {
            (self.edge, self.sent_at_edge) = (self.next, 0);
        }
        if self.held_back >= compression.segments {
            return false;
        }
        if self.sent_at_edge < config.dupack_threshold.unwrap_or(3) {
            self.sent_at_edge += 1;
            return false;
        }
        self.held_back += 1;
        if self.held_back == 1 || self.deadline == 0 {
            let part = if self.round_trip == 0 {
                compression.most.0
            } else {
                self.round_trip / compression.part as u64
            };
            self.deadline = now + part.min(compression.most.0).max(1);
            self.due = self.deadline;
        }
        true
    }

    /// Lets the application read new data in order, if it is awake.
    fn read(&mut self, now: u64) {
        if let Some(receive_memory) = &mut self.receive_memory {
            receive_memory.on_arrival(now, self.next);
        }
    }

    /// Returns the time in ps at which the application will have processed all data that are here,
    /// if no more arrive.
    pub fn read_by(&self, now: u64) -> u64 {
        match &self.receive_memory {
            Some(receive_memory) => receive_memory.read_by(now, self.next),
            None => now,
        }
    }

    /// Returns the acknowledgement of a segment that arrives again after all data have arrived.
    pub fn repeat(&self, seq: u32, marked: bool) -> AckNow {
        AckNow {
            cumulative: self.segments,
            trigger: seq,
            ece: marked,
            repeated: true,
            duplicate: true,
            delayed: false,
            opened: 0,
        }
    }

    /// Wakes the receiver: a delayed acknowledgement is due, or the application falls asleep or
    /// wakes up.
    pub fn on_wake(&mut self, now: u64, config: &TcpConfig) -> Option<AckNow> {
        let due = config.delayed_ack.is_some_and(|delayed| self.waiting >= delayed.segments);
        let window_opens = self
            .receive_memory
            .as_mut()
            .is_some_and(|memory| memory.turn(now, self.next, self.segments, due));
        if window_opens {
            self.opened = now;
        }
        if self.deadline != 0 && self.deadline <= now && (self.waiting > 0 || self.held_back > 0) {
            return Some(self.acknowledge(true));
        }
        window_opens.then(|| self.acknowledge(true))
    }

    fn acknowledge(&mut self, delayed: bool) -> AckNow {
        self.waiting = 0;
        self.held_back = 0;
        self.deadline = 0;
        self.quick = self.quick.saturating_sub(1);
        AckNow {
            cumulative: self.next,
            trigger: self.trigger,
            ece: self.congested,
            repeated: self.repeated,
            duplicate: self.duplicate,
            delayed,
            opened: 0,
        }
    }

    /// True if `seq` extends neither of the two newest blocks. Acknowledgements held back before it
    /// are then sent first (Linux tcp_sack_new_ofo_skb).
    fn crowds(&self, seq: u32) -> bool {
        let (blocks, _) = self.recent_blocks();
        !blocks[..2].iter().any(|&(from, to)| from != to && from <= seq + 1 && seq <= to)
            && blocks[1] != (0, 0)
    }

    /// Stores a segment above a hole. Returns false if the segment is here already.
    #[cold]
    fn hold(&mut self, seq: u32) -> bool {
        let at = self.ranges.partition_point(|&(_, end)| end < seq);
        match self.ranges.get(at).copied() {
            Some((start, end)) if start <= seq && seq < end => return false,
            Some((_, end)) if end == seq => {
                self.ranges[at].1 = seq + 1;
                if let Some(&(next_start, next_end)) = self.ranges.get(at + 1)
                    && next_start == seq + 1
                {
                    self.ranges[at].1 = next_end;
                    self.ranges.remove(at + 1);
                }
            }
            Some((start, _)) if start == seq + 1 => self.ranges[at].0 = seq,
            _ => self.ranges.insert(at, (seq, seq + 1)),
        }
        self.recent.rotate_right(1);
        self.recent[0] = seq;
        true
    }

    /// Returns the blocks that contain the newest arrivals, newest first, and their number.
    fn recent_blocks(&self) -> ([(u32, u32); Extra::BLOCKS], usize) {
        let mut blocks = [(0, 0); Extra::BLOCKS];
        let mut count = 0;
        for &seq in &self.recent {
            let at = self.ranges.partition_point(|&(_, end)| end <= seq);
            if let Some(&block) = self.ranges.get(at)
                && block.0 <= seq
                && !blocks[..count].contains(&block)
            {
                blocks[count] = block;
                count += 1;
            }
        }
        (blocks, count)
    }

    /// Returns the SACK blocks, newest first; none if there is no hole.
    pub fn blocks(&self) -> ([(u32, u32); Extra::BLOCKS], u8) {
        if self.ranges.is_empty() {
            return Default::default();
        }
        let (mut blocks, mut count) = self.recent_blocks();
        // The recent arrivals may all lie in one block: report other blocks too, from the top.
        for &block in self.ranges.iter().rev() {
            if count == Extra::BLOCKS {
                break;
            }
            if !blocks[..count].contains(&block) {
                blocks[count] = block;
                count += 1;
            }
        }
        (blocks, count as u8)
    }
    /// True if the buffer may still grow. The receiver then puts timestamps on its frames, to
    /// measure the round trip.
    pub fn tunes(&self) -> bool {
        self.receive_memory.as_ref().is_some_and(|receive_memory| receive_memory.tunes())
    }

    /// Returns whether this acknowledgement reports what has arrived beyond gaps or twice, and the
    /// blocks.
    #[inline(always)]
    pub fn selective(
        &self,
        ack: AckNow,
        config: &TcpConfig,
    ) -> (bool, [(u32, u32); Extra::BLOCKS], u8) {
        let selective =
            config.recovery != Recovery::NewReno && (!self.ranges.is_empty() || ack.duplicate);
        let (blocks, count) = if selective { self.blocks() } else { Default::default() };
        (selective, blocks, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{DelayedAck, Reader, ReceiveBuffer};
    use afflux_units::{Bytes, Span};

    const MS: u64 = 1_000_000_000;

    /// Returns a receiver with a buffer of 100 full frames, two fifths of which is bookkeeping. The
    /// application sleeps from 3 ms to 500 ms.
    fn asleep() -> (Receiver, TcpConfig) {
        let receive = Receive::Buffer(ReceiveBuffer {
            initial: Bytes(250_000),
            most: Bytes(250_000),
            share: 153,
        });
        let config = TcpConfig {
            mss: 1494,
            receive,
            reader: Some(Reader::Turns { read: Span::from_ms(3), sleep: Span::from_ms(497) }),
            delayed_ack: Some(DelayedAck { segments: 2, timeout: Span::from_ms(40), quick: 0 }),
            tick: Span::from_ms(10),
            ..crate::testing::tcp()
        };
        let setup = ReceiverSetup {
            flow: 0,
            transport: 0,
            node: 1,
            src: 0,
            hash: 0,
            priority: 0,
            segments: 1000,
            to: 1000,
            ecn: EcnMode::Off,
            now: 0,
        };
        (Receiver::new(setup, &config), config)
    }

    fn arrive(receiver: &mut Receiver, now: u64, config: &TcpConfig) -> Option<u32> {
        let reaction =
            receiver.on_data(Arrival { now, seq: receiver.next, ..Arrival::default() }, config);
        reaction.second.map(|ack| {
            receiver.announce();
            ack.cumulative
        })
    }

    /// While the application sleeps, only the timer acknowledges: every 30 ms with a timer of 40 ms
    /// and clock ticks of 10 ms.
    #[test]
    fn no_acknowledgement_of_two_segments_while_asleep() {
        let (mut receiver, config) = asleep();
        assert_eq!([MS, 2 * MS].map(|now| arrive(&mut receiver, now, &config)), [None, Some(2)]);
        assert_eq!(receiver.on_wake(3 * MS, &config), None);
        let acks: Vec<u64> =
            (4..100).filter(|ms| arrive(&mut receiver, ms * MS, &config).is_some()).collect();
        assert_eq!(acks, [30, 60, 90]);
        // The application is awake again, and the pending segments are acknowledged.
        assert_eq!(receiver.on_wake(500 * MS, &config).map(|ack| ack.cumulative), Some(98));
    }

    /// Unread segments are merged 17 by 17, so they take less of the buffer than the window
    /// calculation allows for them.
    #[test]
    fn what_is_not_read_takes_little_room() {
        let (mut receiver, config) = asleep();
        let all = receiver.announce();
        assert_eq!(all, Some(100));
        receiver.on_wake(3 * MS, &config);
        for seq in 0..34 {
            receiver.on_data(
                Arrival { now: (4 + seq as u64) * MS, seq, ..Arrival::default() },
                &config,
            );
        }
        // 34 segments of 1494 B, and twice the 1005 B of bookkeeping: 52,806 B of 250,000 B.
        assert_eq!(receiver.announce(), Some(34 + (197_194 * 153 / 256 / 1494) as u32));
    }
}
