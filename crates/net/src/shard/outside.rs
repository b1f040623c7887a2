//! Packets of real hosts: they enter at a host's NIC like its own datagrams, and leave where they arrive.

use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::queue::Reason;
use crate::spec::FlowId;

/// What has become of packets of real hosts.
#[derive(Debug, Default)]
pub struct Outside {
    /// The transport of their flows.
    pub transport: u16,
    pub arrived: Vec<Departure>,
    /// Tokens of those that were dropped.
    pub lost: Vec<u32>,
}

/// A packet leaves the network for its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When it is due, picoseconds.
    pub at: u64,
    /// Which one it is.
    pub token: u32,
    pub host: u32,
    /// The host's port by which it has come.
    pub nic: u32,
    /// It met congestion, here or before.
    pub marked: bool,
}

impl<'a> Shard<'a> {
    #[inline(always)]
    pub fn is_from_outside(&self, frame: &Frame) -> bool {
        self.outside.is_some() && self.is_outsiders(frame)
    }

    #[cold]
    #[inline(never)]
    fn is_outsiders(&self, frame: &Frame) -> bool {
        let transport = self.outside.as_ref().expect("asked only then").transport;
        frame.kind() == Frame::DATAGRAM && self.world.flow(frame.flow).transport == transport
    }

    /// A host hands a packet to its port `nic`. What no host can forward is dropped.
    pub fn enter_from_outside<O: Outlet>(&mut self, out: &mut O, now: u64, (host, nic): (u32, u32), flow: FlowId, frame: Frame) {
        let frame = Frame { flow, flags: frame.flags | Frame::DATAGRAM, ..frame };
        let info = self.world.ports.of(host)[nic as usize];
        self.last = self.last.max(now);
        self.sets_out(frame.size);
        if info.peer < self.world.plan.topology.hosts && info.peer != frame.dst {
            return self.drop_frame(frame, Reason::Down);
        }
        let place = self.world.place[host as usize];
        self.send_by(out, now, place.local, place.first_port + nic, frame);
    }

    /// It has come to its host.
    pub fn leave_outside(&mut self, now: u64, frame: &Frame) {
        let nic = frame.port - self.world.place[frame.dst as usize].first_port;
        let departure = Departure { at: now, token: frame.aux, host: frame.dst, nic, marked: frame.has(Frame::CE) };
        self.outside.as_mut().expect("packets from outside").arrived.push(departure);
    }

    pub(super) fn lose_outside(&mut self, frame: &Frame) {
        let token = if frame.has(Frame::EXTRA) { self.extras[frame.aux].trigger } else { frame.aux };
        self.outside.as_mut().expect("packets from outside").lost.push(token);
    }
}
