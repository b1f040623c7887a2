//! Flows of kernels, as far as the wire shows them.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Most segments of one flow that wait for the acknowledgement of their round trip.
const MOST_TIMED: usize = 64;

/// Protocol, source address and port, destination address and port.
pub type Tuple = (u8, Ipv4Addr, u16, Ipv4Addr, u16);

/// A packet's flow, payload, and the fields of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub tuple: Tuple,
    pub payload: u64,
    /// Sequence number and acknowledgement number, if the packet is TCP.
    tcp: Option<(u32, u32)>,
}

/// Reads an IPv4 packet.
pub fn seen(packet: &[u8]) -> Option<Seen> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let word = |at: usize| Some(u32::from_be_bytes(packet.get(at..at + 4)?.try_into().ok()?));
    let (protocol, src, dst) = (*packet.get(9)?, word(12)?, word(16)?);
    let half = |at: usize| Some(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?));
    let (ports, length, tcp) = match protocol {
        TCP => {
            let offset = usize::from(*packet.get(header + 12)? >> 4) * 4;
            let numbers = (word(header + 4)?, word(header + 8)?);
            ((half(header)?, half(header + 2)?), offset, Some(numbers))
        }
        UDP => ((half(header)?, half(header + 2)?), 8, None),
        _ => ((0, 0), 8, None),
    };
    Some(Seen {
        tuple: (protocol, src.into(), ports.0, dst.into(), ports.1),
        payload: total.saturating_sub(header + length) as u64,
        tcp,
    })
}

/// Times in ns and counts of one direction of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub first_sent: Option<u64>,
    pub last_sent: u64,
    pub received_packets: u64,
    pub received_bytes: u64,
    pub last_received: Option<u64>,
    pub marked: u64,
    /// Payload bytes that had been sent before (TCP).
    pub retransmitted_bytes: u64,
    /// Least, greatest and sum of the one-way delays of packets.
    pub least_delay: u64,
    pub most_delay: u64,
    pub delays: u64,
    /// Round trips at the sender, from a segment that was sent once to the first acknowledgement
    /// of it (TCP): number, least, greatest, sum.
    pub round_trips: u64,
    pub least_round_trip: u64,
    pub most_round_trip: u64,
    pub sum_round_trips: u64,
    highest: Option<u32>,
    timed: VecDeque<(u32, u64)>,
}

/// Flows that one host has sent or received.
#[derive(Debug, Default)]
pub struct Flows(BTreeMap<Tuple, Flow>);

fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Flows {
    pub fn sent(&mut self, at: u64, seen: &Seen) {
        let flow = self.0.entry(seen.tuple).or_default();
        flow.sent_packets += 1;
        flow.sent_bytes += seen.payload;
        flow.first_sent.get_or_insert(at);
        flow.last_sent = at;
        if let Some((sequence, _)) = seen.tcp.filter(|_| seen.payload > 0) {
            let end = sequence.wrapping_add(seen.payload as u32);
            let highest = flow.highest.unwrap_or(sequence);
            if is_after(end, highest) {
                flow.highest = Some(end);
                if !is_after(highest, sequence) && flow.timed.len() < MOST_TIMED {
                    flow.timed.push_back((end, at));
                }
            }
            if is_after(highest, sequence) {
                let again = highest.wrapping_sub(sequence).min(seen.payload as u32);
                flow.retransmitted_bytes += u64::from(again);
                // An acknowledgement of a segment that was sent twice says nothing (Karn).
                flow.timed.clear();
            }
        }
    }

    pub fn received(&mut self, at: u64, sent: u64, marked: bool, seen: &Seen) {
        let flow = self.0.entry(seen.tuple).or_default();
        let delay = at - sent;
        flow.least_delay =
            if flow.received_packets == 0 { delay } else { flow.least_delay.min(delay) };
        flow.most_delay = flow.most_delay.max(delay);
        flow.delays += delay;
        flow.received_packets += 1;
        flow.received_bytes += seen.payload;
        flow.last_received = Some(at);
        flow.marked += u64::from(marked);
        let Some((_, acknowledged)) = seen.tcp else { return };
        let (protocol, src, src_port, dst, dst_port) = seen.tuple;
        let Some(back) = self.0.get_mut(&(protocol, dst, dst_port, src, src_port)) else { return };
        let mut round_trip = None;
        while let Some(&(end, sent)) = back.timed.front() {
            if is_after(end, acknowledged) {
                break;
            }
            round_trip = Some(at - sent);
            back.timed.pop_front();
        }
        // An acknowledgement of several segments gives the round trip of the last one.
        if let Some(took) = round_trip {
            back.least_round_trip =
                if back.round_trips == 0 { took } else { back.least_round_trip.min(took) };
            back.most_round_trip = back.most_round_trip.max(took);
            back.sum_round_trips += took;
            back.round_trips += 1;
        }
    }

    /// Joins what two hosts have seen of their flows.
    pub fn join(&mut self, other: Flows) {
        for (tuple, seen) in other.0 {
            let flow = self.0.entry(tuple).or_default();
            let (sender, receiver) = if seen.sent_packets > 0 {
                (seen, std::mem::take(flow))
            } else {
                (std::mem::take(flow), seen)
            };
            *flow = Flow {
                received_packets: receiver.received_packets,
                received_bytes: receiver.received_bytes,
                last_received: receiver.last_received,
                marked: receiver.marked,
                least_delay: receiver.least_delay,
                most_delay: receiver.most_delay,
                delays: receiver.delays,
                ..sender
            };
        }
    }

    /// Returns the flows as CSV, in order of their first packets. Flows whose sender is no kernel
    /// come last.
    pub fn csv(&self) -> String {
        let mut rows: Vec<(&Tuple, &Flow)> = self.0.iter().collect();
        rows.sort_by_key(|(tuple, flow)| (flow.first_sent.unwrap_or(u64::MAX), **tuple));
        let mut text = String::from(
            "protocol,src,src_port,dst,dst_port,start_ns,last_sent_ns,last_received_ns,\
             sent_packets,sent_bytes,received_packets,received_bytes,retransmitted_bytes,marked,\
             delay_min_ns,delay_mean_ns,delay_max_ns,queueing_mean_ns,\
             round_trips,round_trip_min_ns,round_trip_mean_ns,round_trip_max_ns\n",
        );
        for ((protocol, src, src_port, dst, dst_port), flow) in rows {
            let protocol = match *protocol {
                TCP => "tcp".to_string(),
                UDP => "udp".to_string(),
                1 => "icmp".to_string(),
                other => other.to_string(),
            };
            let mean = flow.delays.checked_div(flow.received_packets);
            let number =
                |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
            let of = |value: u64, count: u64| number(Some(value).filter(|_| count > 0));
            let row = [
                protocol,
                src.to_string(),
                src_port.to_string(),
                dst.to_string(),
                dst_port.to_string(),
                number(flow.first_sent),
                of(flow.last_sent, flow.sent_packets),
                number(flow.last_received),
                flow.sent_packets.to_string(),
                flow.sent_bytes.to_string(),
                flow.received_packets.to_string(),
                flow.received_bytes.to_string(),
                flow.retransmitted_bytes.to_string(),
                flow.marked.to_string(),
                of(flow.least_delay, flow.received_packets),
                number(mean),
                of(flow.most_delay, flow.received_packets),
                number(mean.map(|mean| mean - flow.least_delay)),
                flow.round_trips.to_string(),
                of(flow.least_round_trip, flow.round_trips),
                number(flow.sum_round_trips.checked_div(flow.round_trips)),
                of(flow.most_round_trip, flow.round_trips),
            ];
            text.push_str(&row.join(","));
            text.push('\n');
        }
        text
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(forth: bool, sequence: u32, acknowledged: u32, payload: u16) -> Seen {
        let mut packet = vec![0; 40];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(40 + payload).to_be_bytes());
        packet[9] = TCP;
        let (src, dst) = if forth { (1u32, 2u32) } else { (2, 1) };
        packet[12..16].copy_from_slice(&src.to_be_bytes());
        packet[16..20].copy_from_slice(&dst.to_be_bytes());
        packet[20..22].copy_from_slice(&(src as u16).to_be_bytes());
        packet[22..24].copy_from_slice(&(dst as u16).to_be_bytes());
        packet[24..28].copy_from_slice(&sequence.to_be_bytes());
        packet[28..32].copy_from_slice(&acknowledged.to_be_bytes());
        packet[32] = 5 << 4;
        seen(&packet).unwrap()
    }

    #[test]
    fn retransmissions_and_round_trips() {
        let first = u32::MAX - 999;
        let mut sender = Flows::default();
        sender.sent(0, &segment(true, first, 0, 1000));
        sender.sent(10, &segment(true, 0, 0, 1000));
        sender.received(100, 60, false, &segment(false, 0, 0, 0));
        sender.received(130, 70, false, &segment(false, 0, 1000, 0));
        sender.sent(200, &segment(true, 1000, 0, 1000));
        sender.sent(300, &segment(true, 1000, 0, 1000));
        sender.received(400, 350, false, &segment(false, 0, 2000, 0));
        let mut receiver = Flows::default();
        for (at, sent, marked) in [(50, 0, false), (80, 10, true), (340, 300, false)] {
            receiver.received(at, sent, marked, &segment(true, 0, 0, 1000));
        }
        sender.join(receiver);
        assert_eq!(sender.count(), 2);
        let flow = &sender.0[&segment(true, 0, 0, 0).tuple];
        assert_eq!((flow.sent_bytes, flow.retransmitted_bytes), (4000, 1000));
        assert_eq!((flow.round_trips, flow.least_round_trip, flow.most_round_trip), (2, 100, 120));
        assert_eq!((flow.received_packets, flow.marked), (3, 1));
        assert_eq!((flow.least_delay, flow.most_delay, flow.delays), (40, 70, 160));
        assert!(
            sender.csv().lines().nth(1).unwrap().starts_with(
                "tcp,0.0.0.1,1,0.0.0.2,2,0,300,340,4,4000,3,3000,1000,1,40,53,70,13,2,100,110,120"
            ),
            "{}",
            sender.csv()
        );
    }

    #[test]
    fn what_is_no_ipv4_is_no_flow() {
        assert_eq!(seen(&[]), None);
        assert_eq!(seen(&[0x45; 19]), None);
    }
}
