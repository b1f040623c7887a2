//! Network card of a guest: a vhost-user device with one pair of rings, at a line rate.
//!
//! A frame that the guest sends counts as sent when its last bit has left at the line rate. The
//! card tells the guest then, or up to 1 ms later if few frames wait to be told of, as drivers do
//! that clean their ring with the next receive interrupt. While the switch pauses the card, frames
//! do not leave. TCP small queues, byte queue limits and queueing disciplines of the guest depend on
//! these completions.

use crate::line::{Line, NEVER};
use crate::memory::{GuestMemory, Mapping};
use crate::ring::Ring;
use crate::socket;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

// Feature bits (virtio 1.2 §5.1.3 and §6; vhost-user).
const VERSION_1: u64 = 1 << 32;
const PROTOCOL_FEATURES: u64 = 1 << 30;
const EVENT_IDX: u64 = 1 << 29;
const NET_MTU: u64 = 1 << 3;
const NET_MAC: u64 = 1 << 5;
// Protocol features of vhost-user.
const REPLY_ACK: u64 = 1 << 3;
const BACKEND_REQ: u64 = 1 << 5;
const CONFIG: u64 = 1 << 9;
const INBAND_NOTIFICATIONS: u64 = 1 << 14;
const PROTOCOL: u64 = REPLY_ACK | BACKEND_REQ | CONFIG | INBAND_NOTIFICATIONS;
/// Flags of messages: the version, and bits for replies.
const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;
/// Bytes of the largest message that is accepted.
const LONGEST: usize = 4096;

/// Bytes of `struct virtio_net_hdr_v1` before each frame.
const HEADER: usize = 12;
/// Largest frame in bytes that is taken from a guest.
const LARGEST_FRAME: usize = 65_550;
/// Bytes of the header of Ethernet.
const ETHERNET: usize = 14;
const RECEIVE: usize = 0;
const SEND: usize = 1;

/// Settings of a card.
#[derive(Debug, Clone)]
pub struct NicSpec {
    pub mac: [u8; 6],
    /// Largest packet in bytes.
    pub mtu: u16,
    /// Line rate in bit/s.
    pub rate: u64,
    /// Bytes of header and trailer of a frame on the line, around a packet.
    pub link_header: u64,
    /// Bytes between two frames.
    pub gap: u64,
    /// Least bytes of a frame on the line, without the gap.
    pub least: u64,
    /// Priority (0 to 7) of packets by their DSCP.
    pub priority_of_dscp: [u8; 64],
}

/// Returns the DSCP of an IPv4 packet in an Ethernet frame; 0 for other frames.
fn dscp(frame: &[u8]) -> usize {
    match frame.get(12..16) {
        Some(&[0x08, 0x00, _, service]) => usize::from(service >> 2),
        _ => 0,
    }
}

/// A request of the guest's driver that the guest's clock has to act on.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    Nothing,
    /// The driver has put frames into its ring. The reply goes out when they are taken.
    Kick,
}

#[derive(Debug)]
pub struct Nic {
    spec: NicSpec,
    pub socket: OwnedFd,
    interrupts: Option<OwnedFd>,
    memory: GuestMemory,
    rings: [Ring; 2],
    /// Frames that arrive, with their times in ns.
    arriving: VecDeque<(u64, Vec<u8>)>,
    line: Line,
    pub sent: u64,
    pub received: u64,
    /// Frames for which the guest had no buffer.
    pub overruns: u64,
}

/// The guest broke the protocol, or has gone.
fn broken(what: &str) -> io::Error {
    io::Error::other(format!("the network card: {what}"))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_le_bytes(four.try_into().expect("four")))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |eight| u64::from_le_bytes(eight.try_into().expect("eight")))
}

impl Nic {
    pub fn new(spec: NicSpec, socket: OwnedFd) -> Nic {
        Nic {
            spec,
            socket,
            interrupts: None,
            memory: GuestMemory::default(),
            rings: Default::default(),
            arriving: VecDeque::new(),
            line: Line::default(),
            sent: 0,
            received: 0,
            overruns: 0,
        }
    }

    pub fn arrive(&mut self, at: u64, frame: Vec<u8>) {
        debug_assert!(self.arriving.back().is_none_or(|last| last.0 <= at), "in order of time");
        self.arriving.push_back((at, frame));
    }

    /// Holds frames of these priorities (a bit mask) back from `at` to `until`, in ns.
    pub fn pause(&mut self, at: u64, priorities: u8, until: u64) {
        self.line.pause(at, priorities, until);
    }

    /// Returns the time in ns at which the card next interrupts the guest.
    pub fn next(&self) -> u64 {
        self.arriving.front().map_or(NEVER, |first| first.0).min(self.line.next())
    }

    pub fn interrupts(&self) -> Option<&OwnedFd> {
        self.interrupts.as_ref()
    }

    /// Writes the rings for everything that happens up to `now`: completed transmissions and
    /// arriving frames. Returns the rings whose interrupt the guest wants, sending first.
    pub fn interrupt(&mut self, now: u64) -> io::Result<Vec<u32>> {
        let outside = || broken("a ring is outside the guest's memory");
        let before = [self.rings[RECEIVE].pushed(), self.rings[SEND].pushed()];
        for head in self.line.complete(now) {
            self.rings[SEND].push(&self.memory, head, 0).ok_or_else(outside)?;
        }
        while self.arriving.front().is_some_and(|first| first.0 <= now) {
            let (_, frame) = self.arriving.pop_front().expect("there is one");
            self.hand_over(&frame)?;
        }
        let mut wanted = Vec::new();
        for ring in [SEND, RECEIVE] {
            if self.rings[ring]
                .needs_interrupt(&self.memory, before[ring])
                .unwrap_or(before[ring] != self.rings[ring].pushed())
            {
                wanted.push(ring as u32);
            }
        }
        Ok(wanted)
    }

    /// Copies a frame into a buffer of the guest's.
    fn hand_over(&mut self, frame: &[u8]) -> io::Result<()> {
        let outside = || broken("a receive buffer is outside the guest's memory");
        let head = if self.rings[RECEIVE].enabled {
            self.rings[RECEIVE].pop(&self.memory).ok_or_else(outside)?
        } else {
            None
        };
        let Some(head) = head else {
            self.overruns += 1;
            return Ok(());
        };
        let mut bytes = vec![0; HEADER + frame.len()];
        bytes[10] = 1; // number of buffers
        bytes[HEADER..].copy_from_slice(frame);
        let mut left = &bytes[..];
        for (address, length) in
            self.rings[RECEIVE].chain(&self.memory, head).ok_or_else(outside)?
        {
            let (now, then) = left.split_at(left.len().min(length as usize));
            self.memory.write(address, now).ok_or_else(outside)?;
            left = then;
        }
        if !left.is_empty() {
            // The driver's buffers fit its MTU, so a longer frame is one that it does not expect.
            self.overruns += 1;
            return self.rings[RECEIVE].push(&self.memory, head, 0).ok_or_else(outside);
        }
        self.received += 1;
        self.rings[RECEIVE].push(&self.memory, head, bytes.len() as u32).ok_or_else(outside)
    }

    /// Takes the frames that the driver has put into its ring at `now`, and appends them to `to`.
    pub fn take(&mut self, now: u64, to: &mut Vec<Vec<u8>>) -> io::Result<()> {
        let outside = || broken("a frame to be sent is outside the guest's memory");
        while let Some(head) = self.rings[SEND].pop(&self.memory).ok_or_else(outside)? {
            let mut frame = Vec::with_capacity(2048);
            for (address, length) in
                self.rings[SEND].chain(&self.memory, head).ok_or_else(outside)?
            {
                self.memory.read(address, length as usize, &mut frame).ok_or_else(outside)?;
                if frame.len() > LARGEST_FRAME {
                    return Err(broken("a frame is longer than 64 KiB"));
                }
            }
            if frame.len() <= HEADER {
                return Err(broken("a frame is empty"));
            }
            frame.drain(..HEADER);
            // The guest hands over the header of Ethernet with the packet.
            let packet = frame.len().saturating_sub(ETHERNET) as u64;
            let bytes = (packet + self.spec.link_header).max(self.spec.least) + self.spec.gap;
            let duration = (bytes as u128 * 8_000_000_000).div_ceil(self.spec.rate.into());
            let priority = self.spec.priority_of_dscp[dscp(&frame)] & 7;
            self.line.send(now, duration as u64, priority, head);
            self.sent += 1;
            to.push(frame);
        }
        Ok(())
    }

    /// Handles the next message on the card's socket.
    pub fn serve(&mut self) -> io::Result<Request> {
        let mut head = [0; 12];
        let mut fds = Vec::new();
        socket::receive_with(&self.socket, &mut head, &mut fds)?;
        let (request, flags, size) = (word(&head, 0), word(&head, 4), word(&head, 8) as usize);
        if size > LONGEST {
            return Err(broken("a message is too long"));
        }
        let mut body = vec![0; size];
        socket::receive_with(&self.socket, &mut body, &mut fds)?;
        let mut answer = None;
        let ring = word(&body, 0) as usize & 1;
        match request {
            // GET_FEATURES, SET_FEATURES, GET_PROTOCOL_FEATURES
            1 => {
                let features = VERSION_1 | PROTOCOL_FEATURES | EVENT_IDX | NET_MAC | NET_MTU;
                answer = Some(features.to_le_bytes().to_vec());
            }
            2 => {
                let by_index = long(&body, 0) & EVENT_IDX != 0;
                self.rings.iter_mut().for_each(|ring| ring.by_index = by_index);
            }
            15 => answer = Some(PROTOCOL.to_le_bytes().to_vec()),
            // SET_PROTOCOL_FEATURES
            16 if long(&body, 0) != PROTOCOL => {
                return Err(broken("the kernel lacks in-band notifications"));
            }
            // SET_MEM_TABLE
            5 => self.map(&body, &fds)?,
            // SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE, SET_VRING_ENABLE
            8 => self.rings[ring].size = word(&body, 4) as u16,
            9 => {
                let ring = &mut self.rings[ring];
                (ring.descriptors, ring.used, ring.available) =
                    (long(&body, 8), long(&body, 16), long(&body, 24));
            }
            10 => self.rings[ring].restart(word(&body, 4) as u16),
            18 => self.rings[ring].enabled = word(&body, 4) != 0,
            // SET_BACKEND_REQ_FD
            21 => self.interrupts = fds.pop(),
            // GET_CONFIG
            24 => answer = Some(self.config(body)),
            // VRING_KICK
            35 if ring == SEND => return Ok(Request::Kick),
            // SET_OWNER, SET_VRING_KICK, SET_VRING_CALL, SET_CONFIG and others change nothing here.
            _ => {}
        }
        if answer.is_none() && flags & NEED_REPLY != 0 {
            answer = Some(0u64.to_le_bytes().to_vec());
        }
        if let Some(answer) = answer {
            self.answer(request, &answer)?;
        }
        Ok(Request::Nothing)
    }

    /// Lets the driver go on after [`Request::Kick`].
    pub fn kicked(&self) -> io::Result<()> {
        self.answer(35, &0u64.to_le_bytes())
    }

    fn answer(&self, request: u32, body: &[u8]) -> io::Result<()> {
        let mut message = Vec::with_capacity(12 + body.len());
        for value in [request, VERSION | REPLY, body.len() as u32] {
            message.extend_from_slice(&value.to_le_bytes());
        }
        message.extend_from_slice(body);
        socket::send(&self.socket, &message)
    }

    /// Returns the message that raises the interrupt of a ring, and asks for a reply.
    pub fn interrupt_message(ring: u32) -> [u8; 20] {
        let mut message = [0; 20];
        // VRING_CALL to the front end, 8 bytes: index and number.
        for (place, value) in [4, VERSION | NEED_REPLY, 8, ring, 0].into_iter().enumerate() {
            message[4 * place..4 * place + 4].copy_from_slice(&u32::to_le_bytes(value));
        }
        message
    }

    fn map(&mut self, body: &[u8], fds: &[OwnedFd]) -> io::Result<()> {
        self.memory.clear();
        for (index, file) in fds.iter().enumerate().take(word(body, 0) as usize) {
            let at = 8 + 32 * index;
            let (address, size, offset) = (long(body, at), long(body, at + 8), long(body, at + 24));
            self.memory.add(address, Mapping::new(file, size as usize, offset)?);
        }
        Ok(())
    }

    /// Answers GET_CONFIG: address, status, number of ring pairs, MTU (`struct virtio_net_config`).
    fn config(&self, mut body: Vec<u8>) -> Vec<u8> {
        let mut config = self.spec.mac.to_vec();
        for value in [1u16, 1, self.spec.mtu] {
            config.extend_from_slice(&value.to_le_bytes());
        }
        let (from, size) = (word(&body, 0) as usize, word(&body, 4) as usize);
        config.resize(LONGEST, 0);
        let wanted = config.get(from..(from + size).min(LONGEST)).unwrap_or(&[]);
        body.truncate(12);
        body.extend_from_slice(wanted);
        body
    }
}
