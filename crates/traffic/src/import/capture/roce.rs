//! RoCEv2: parses InfiniBand's transport headers over UDP (InfiniBand Architecture Specification,
//! volume 1, chapter 9 and annexes A14 and A17).

use super::carried::{Carried, Carrying, Kind, Packet, Part, Queue, Segment};
use super::headers::{Ip, View};
use super::notes::Note;

/// Lengths in bytes of the base transport header, and of the check sequence at the end.
const BASE: u32 = 12;
const CHECK: u32 = 4;
/// Lengths in bytes of the extended headers.
const RDMA: u32 = 16;
const ACKNOWLEDGE: u32 = 4;
const ATOMIC: u32 = 28;
const IMMEDIATE: u32 = 4;
const INVALIDATE: u32 = 4;
const FLUSH: u32 = 4;
const DATAGRAM: u32 = 8;
const RELIABLE_DATAGRAM: u32 = 4;
const SHARED: u32 = 4;

/// Services, in the upper three bits of the opcode.
const UNRELIABLE_CONNECTION: u8 = 1;
const RELIABLE_DATAGRAMS: u8 = 2;
const UNRELIABLE_DATAGRAMS: u8 = 3;
const EXTENDED_CONNECTION: u8 = 5;

/// Queue pair of connection management.
const MANAGEMENT: u32 = 1;

/// Returns the meaning of the lower five bits of an opcode, and the length in bytes of the
/// operation's extended headers.
fn operation(code: u8) -> Option<(Part, u32)> {
    Some(match code {
        0 => (Part::First, 0),
        1 | 7 => (Part::Middle, 0),
        2 | 8 => (Part::Last, 0),
        3 | 9 => (Part::Last, IMMEDIATE),
        4 => (Part::Only, 0),
        5 => (Part::Only, IMMEDIATE),
        6 => (Part::First, RDMA),
        10 => (Part::Only, RDMA),
        11 => (Part::Only, RDMA + IMMEDIATE),
        12 => (Part::Bare(Note::ReadRequest), RDMA),
        13 => (Part::First, ACKNOWLEDGE),
        14 => (Part::Middle, 0),
        15 => (Part::Last, ACKNOWLEDGE),
        16 => (Part::Only, ACKNOWLEDGE),
        19 | 20 => (Part::Bare(Note::Atomic), ATOMIC),
        22 => (Part::Last, INVALIDATE),
        23 => (Part::Only, INVALIDATE),
        28 => (Part::Bare(Note::Flush), FLUSH + RDMA),
        29 => (Part::Only, RDMA),
        _ => return None,
    })
}

pub fn parse(ip: &Ip, view: View) -> Carrying {
    let [opcode, flags] = view.get(0)?;
    let pair = view.four(4)? & 0xff_ffff;
    let number = view.four(8)? & 0xff_ffff;
    let (service, code) = (opcode >> 5, opcode & 0x1f);
    let is_connected = matches!(service, 0 | RELIABLE_DATAGRAMS | EXTENDED_CONNECTION);
    match (opcode, code) {
        (0x81, _) => return Err(Note::Notification),
        (_, 17 | 18) if is_connected => return Err(Note::Acknowledgement),
        _ => {}
    }
    // Services without acknowledgements have neither reads nor atomics. Unreliable datagrams have
    // only whole messages.
    let is_known = match service {
        UNRELIABLE_CONNECTION => code <= 11,
        UNRELIABLE_DATAGRAMS => matches!(code, 4 | 5),
        _ => is_connected,
    };
    let (part, extended) =
        operation(code).filter(|_| is_known && flags & 0xf == 0).ok_or(Note::Opcode(opcode))?;
    let is_response = matches!(code, 13..=16);
    // Length in bytes of the service's headers between the base header and those of the operation.
    let of_service = match service {
        RELIABLE_DATAGRAMS if is_response => RELIABLE_DATAGRAM,
        RELIABLE_DATAGRAMS => RELIABLE_DATAGRAM + DATAGRAM,
        UNRELIABLE_DATAGRAMS => DATAGRAM,
        EXTENDED_CONNECTION if !is_response => SHARED,
        _ => 0,
    };
    let padding = u32::from(flags >> 4 & 3);
    let payload = view
        .len()
        .checked_sub(BASE + of_service + extended + padding + CHECK)
        .ok_or(Note::Wrong)?;
    if service == UNRELIABLE_DATAGRAMS {
        if pair == MANAGEMENT {
            return Err(Note::Management);
        }
        let from = view.four(16)? & 0xff_ffff;
        let (src, dst, dscp) = (ip.src, ip.dst, ip.dscp);
        return Ok(Carried::Segment(Segment {
            src,
            dst,
            kind: Kind::Rdma,
            dscp,
            ends: [from, pair],
            payload,
            sequence: 0,
            syn: false,
            goes_on: false,
        }));
    }
    let stated = if matches!(code, 6 | 10 | 11) {
        Some(view.four((BASE + of_service) as usize + 12)?)
    } else {
        None
    };
    let queue = Queue { src: ip.src, dst: ip.dst, pair, is_response };
    Ok(Carried::Packet(Packet { queue, dscp: ip.dscp, number, part, payload, stated }))
}
