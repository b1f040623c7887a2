//! Flows of kernels, as far as the NICs of both ends show them.
//!
//! A flow is one direction of a connection. Positions in TCP's sequence count from the segment that
//! opens the direction (SYN), which has position 0, so the payload starts at position 1.

use super::multipath::{Connections, Key};
use super::received::{FlowKey, Received, position};
use super::segment::{Options, Seen, Tcp, Tuple, reversed};
use afflux_net::record::RoundTrips;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Most segments of one flow that wait for the acknowledgement of their round trip.
const MOST_TIMED: usize = 64;

/// One direction of a connection. Times are in ns, positions and counts in bytes and packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    pub sent: Sent,
    pub received: Received,
}

/// Packets at the sender's NIC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    pub packets: u64,
    pub bytes: u64,
    /// Packets with payload, and those of them whose payload had been sent before.
    pub data_packets: u64,
    pub retransmitted_packets: u64,
    pub retransmitted_bytes: u64,
    pub first: Option<u64>,
    pub first_data: Option<u64>,
    pub last: Option<u64>,
    /// True if this direction opened the connection.
    pub opened: bool,
    pub multipath: bool,
    /// Options of the segment that opened this direction.
    pub options: Options,
    /// Position after the last payload, and whether a FIN says that it is the end.
    pub highest: u64,
    pub ended: bool,
    /// Time from which on everything up to `highest` was acknowledged.
    pub acknowledged: Option<u64>,
    /// Time of the first RST of either end.
    pub reset: Option<u64>,
    pub round_trips: RoundTrips,
    timed: VecDeque<(u64, u64)>,
}

impl Sent {
    /// Adds a packet. Returns the position of its payload.
    fn add(&mut self, at: u64, seen: &Seen, opening: u32) -> u64 {
        self.packets += 1;
        self.bytes += seen.payload;
        self.first.get_or_insert(at);
        self.last = Some(at);
        let Some(tcp) = seen.tcp else {
            self.data_packets += 1;
            self.first_data.get_or_insert(at);
            return 0;
        };
        self.opened |= tcp.syn && tcp.acknowledged.is_none();
        self.multipath |= tcp.options.multipath;
        if tcp.syn {
            self.options = tcp.options;
        }
        self.highest = self.highest.max(1);
        if tcp.rst {
            self.reset.get_or_insert(at);
        }
        let place = position(self.highest, tcp.sequence.wrapping_sub(opening));
        let start = place + u64::from(tcp.syn);
        self.ended |= tcp.fin;
        if seen.payload > 0 {
            self.data(at, start, start + seen.payload);
        }
        start
    }

    fn data(&mut self, at: u64, start: u64, end: u64) {
        self.data_packets += 1;
        self.first_data.get_or_insert(at);
        let highest = self.highest;
        if start < highest {
            self.retransmitted_packets += 1;
            self.retransmitted_bytes += highest.min(end) - start;
            // An acknowledgement of a segment that was sent twice says nothing (Karn).
            self.timed.clear();
        } else if self.timed.len() < MOST_TIMED {
            self.timed.push_back((end, at));
        }
        if end > highest {
            self.highest = end;
            self.acknowledged = None;
        }
    }

    /// Handles an acknowledgement that arrives.
    fn acknowledge(&mut self, at: u64, acknowledged: u32) {
        let upto = position(self.highest, acknowledged);
        if upto >= self.highest {
            self.acknowledged.get_or_insert(at);
        }
        let mut round_trip = None;
        while let Some(&(end, sent)) = self.timed.front().filter(|timed| timed.0 <= upto) {
            debug_assert!(end <= upto);
            round_trip = Some(at - sent);
            self.timed.pop_front();
        }
        // An acknowledgement of several segments gives the round trip of the last one.
        if let Some(took) = round_trip {
            self.round_trips.note(took);
        }
    }
}

/// Flows that one host has sent or received.
#[derive(Debug, Default)]
pub struct Flows {
    of: BTreeMap<FlowKey, Flow>,
    /// Sequence number with which each direction was opened the last time.
    opened: BTreeMap<Tuple, u32>,
    connections: Connections,
}

/// One direction of a connection of TCP or MPTCP.
pub struct Transfer {
    pub flow: Flow,
    /// Flows of the subflows, in the order in which they opened. TCP has one.
    pub subflows: Vec<FlowKey>,
    /// The other direction, if it is known.
    pub back: Option<Flow>,
}

impl Flows {
    fn key(&mut self, seen: &Seen) -> FlowKey {
        if let Some(tcp) = seen.tcp.filter(|tcp| tcp.syn) {
            self.opened.insert(seen.tuple, tcp.sequence);
        }
        self.known(seen.tuple)
    }

    fn known(&self, tuple: Tuple) -> FlowKey {
        (tuple, self.opened.get(&tuple).copied().unwrap_or(0))
    }

    /// Adds a packet that the host sends. Returns its flow.
    pub fn sent(&mut self, at: u64, seen: &Seen) -> FlowKey {
        let key = self.key(seen);
        let start = self.of.entry(key).or_default().sent.add(at, seen, key.1);
        self.connections.sent(key, start, seen);
        self.reset(at, seen);
        key
    }

    /// Adds a packet that has arrived, which was sent at `sent`.
    pub fn received(&mut self, at: u64, sent: u64, marked: bool, seen: &Seen) {
        let key = self.key(seen);
        let flow = self.of.entry(key).or_default();
        let start = flow.received.add(at, sent, marked, seen, key.1);
        self.connections.received(at, key, start, seen);
        self.reset(at, seen);
        let Some(acknowledged) = seen.tcp.and_then(|tcp| tcp.acknowledged) else { return };
        let back = self.known(reversed(seen.tuple));
        if let Some(flow) = self.of.get_mut(&back) {
            flow.sent.acknowledge(at, acknowledged.wrapping_sub(back.1));
        }
    }

    /// Notes an RST, which ends the other direction too.
    fn reset(&mut self, at: u64, seen: &Seen) {
        if !seen.tcp.is_some_and(|Tcp { rst, .. }| rst) {
            return;
        }
        let back = self.known(reversed(seen.tuple));
        if let Some(flow) = self.of.get_mut(&back) {
            flow.sent.reset.get_or_insert(at);
        }
    }

    /// Joins the records that two hosts have of their flows.
    pub fn join(&mut self, other: Flows) {
        self.opened.extend(other.opened);
        self.connections.join(other.connections);
        for (key, seen) in other.of {
            let flow = self.of.entry(key).or_default();
            if seen.sent.packets > 0 {
                flow.sent = seen.sent;
            }
            if seen.received.packets > 0 {
                flow.received = seen.received;
            }
        }
    }

    /// Returns the last flow of a tuple.
    pub fn latest(&self, tuple: Tuple) -> Option<&Flow> {
        self.of.get(&self.known(tuple))
    }

    pub fn of(&self, key: &FlowKey) -> &Flow {
        &self.of[key]
    }

    /// Returns all flows. The subflows of a connection of MPTCP are one.
    pub fn transfers(&self) -> Vec<Transfer> {
        let connections: BTreeMap<Key, Transfer> = self
            .connections
            .iter()
            .map(|(key, direction, mut subflows)| {
                subflows.sort_by_key(|flow| (self.of[flow].sent.first, *flow));
                let parts: Vec<&Flow> = subflows.iter().map(|flow| &self.of[flow]).collect();
                let mut flow = sum(&parts);
                let data = direction.sent.clone().unwrap_or_default();
                flow.sent.highest = data.highest;
                flow.sent.ended = data.ended;
                flow.sent.acknowledged = data.acknowledged;
                if let Some(received) = &direction.received {
                    (flow.received.next, flow.received.advanced) =
                        (received.next, received.advanced);
                }
                (key, Transfer { flow, subflows, back: None })
            })
            .collect();
        let parts: BTreeSet<FlowKey> =
            connections.values().flat_map(|transfer| transfer.subflows.iter().copied()).collect();
        let alone = self.of.iter().filter(|(key, _)| !parts.contains(key)).map(|(key, flow)| {
            let back = self.latest(reversed(key.0)).cloned();
            Transfer { flow: flow.clone(), subflows: vec![*key], back }
        });
        let mut all: Vec<Transfer> = alone.collect();
        let back = |key: &Key| {
            let peer = self.connections.peer(*key)?;
            connections.get(&peer).map(|transfer| transfer.flow.clone())
        };
        let backs: Vec<Option<Flow>> = connections.keys().map(back).collect();
        all.extend(
            connections
                .into_values()
                .zip(backs)
                .map(|(transfer, back)| Transfer { back, ..transfer }),
        );
        all
    }
}

/// Returns the counts and times of all subflows of a direction together. The first one has opened
/// the connection. A connection is reset when all its subflows are.
fn sum(parts: &[&Flow]) -> Flow {
    let mut whole = Flow::default();
    let (sent, received) = (&mut whole.sent, &mut whole.received);
    for part in parts {
        sent.packets += part.sent.packets;
        sent.bytes += part.sent.bytes;
        sent.data_packets += part.sent.data_packets;
        sent.retransmitted_packets += part.sent.retransmitted_packets;
        sent.retransmitted_bytes += part.sent.retransmitted_bytes;
        sent.first = [sent.first, part.sent.first].into_iter().flatten().min();
        sent.first_data = [sent.first_data, part.sent.first_data].into_iter().flatten().min();
        sent.last = sent.last.max(part.sent.last);
        received.packets += part.received.packets;
        received.bytes += part.received.bytes;
        received.last = received.last.max(part.received.last);
        received.marked += part.received.marked;
        received.reordered += part.received.reordered;
    }
    sent.multipath = true;
    sent.opened = parts.first().is_some_and(|first| first.sent.opened);
    let resets: Option<Vec<u64>> = parts.iter().map(|part| part.sent.reset).collect();
    sent.reset = resets.and_then(|resets| resets.into_iter().max());
    whole
}

#[cfg(test)]
mod tests {
    use super::super::segment::TCP;
    use super::*;
    use std::net::Ipv4Addr;

    /// First sequence number of the direction from 1 to 2, near the end of the 32 bits.
    const FIRST: u32 = u32::MAX - 1_000;

    fn segment(forth: bool, at: u32, acknowledged: u32, payload: u64) -> Seen {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let tcp = Tcp {
            sequence: if forth { FIRST.wrapping_add(at) } else { at },
            acknowledged: Some(if forth { acknowledged } else { FIRST.wrapping_add(acknowledged) }),
            syn: at == 0,
            fin: false,
            rst: false,
            options: Options::default(),
        };
        let tuple = if forth { (TCP, a, 5, b, 80) } else { (TCP, b, 80, a, 5) };
        Seen { tuple, payload, tcp: Some(tcp) }
    }

    fn opening() -> Seen {
        let mut seen = segment(true, 0, 0, 0);
        seen.tcp.as_mut().unwrap().acknowledged = None;
        seen
    }

    fn with(mut seen: Seen, change: impl Fn(&mut Tcp)) -> Seen {
        change(seen.tcp.as_mut().unwrap());
        seen
    }

    /// Two segments, the second of which is lost and sent again, over the wrap of the sequence.
    #[test]
    fn a_transfer_with_a_loss() {
        let (mut sender, mut receiver) = (Flows::default(), Flows::default());
        let mut pass = |at: u64, arrives: Option<u64>, marked: bool, seen: &Seen| {
            let (from, to) = if seen.tuple.2 == 5 {
                (&mut sender, &mut receiver)
            } else {
                (&mut receiver, &mut sender)
            };
            from.sent(at, seen);
            if let Some(arrives) = arrives {
                to.received(arrives, at, marked, seen);
            }
        };
        pass(0, Some(10), false, &opening());
        pass(10, Some(20), false, &segment(false, 0, 1, 0));
        pass(20, Some(40), true, &segment(true, 1, 1, 1_000));
        pass(21, None, false, &segment(true, 1_001, 1, 1_000));
        pass(22, Some(42), false, &segment(true, 2_001, 1, 500));
        pass(42, Some(60), false, &segment(false, 1, 1_001, 0));
        pass(100, Some(130), false, &segment(true, 1_001, 1, 1_000));
        pass(130, Some(150), false, &segment(false, 1, 2_501, 0));
        pass(151, Some(160), false, &with(segment(true, 2_501, 1, 0), |tcp| tcp.fin = true));
        sender.join(receiver);
        let flow = &sender.of[&(opening().tuple, FIRST)];
        let (sent, received) = (&flow.sent, &flow.received);
        assert!(sent.opened && sent.ended && sent.highest == 2_501);
        assert_eq!((sent.first, sent.first_data, sent.last), (Some(0), Some(20), Some(151)));
        assert_eq!((sent.packets, sent.data_packets, sent.bytes), (6, 4, 3_500));
        assert_eq!((sent.retransmitted_packets, sent.retransmitted_bytes), (1, 1_000));
        assert_eq!((sent.acknowledged, sent.reset), (Some(150), None));
        let RoundTrips { samples, sum, .. } = sent.round_trips;
        assert_eq!((samples, sum), (1, 40), "the segment that was not sent again");
        assert_eq!((received.packets, received.bytes, received.marked), (5, 2_500, 1));
        assert_eq!((received.next, received.advanced, received.reordered), (2_501, Some(130), 1));
        assert_eq!((received.delays.least, received.delays.most), (9, 30));
        let back = &sender.of[&(segment(false, 0, 0, 0).tuple, 0)];
        assert!(!back.sent.opened && back.sent.data_packets == 0);
    }

    /// A refused connection, and the tuple used again by another one.
    #[test]
    fn a_tuple_can_be_used_again() {
        let mut sender = Flows::default();
        sender.sent(0, &opening());
        sender.received(9, 5, false, &with(segment(false, 1, 1, 0), |tcp| tcp.rst = true));
        let again = with(opening(), |tcp| tcp.sequence = 77);
        sender.sent(20, &again);
        let keys: Vec<u32> =
            sender.of.keys().filter(|key| key.0 == again.tuple).map(|key| key.1).collect();
        assert_eq!(keys, [77, FIRST]);
        assert_eq!(sender.of[&(again.tuple, FIRST)].sent.reset, Some(9));
        assert_eq!(sender.of[&(again.tuple, 77)].sent.reset, None);
    }
}
