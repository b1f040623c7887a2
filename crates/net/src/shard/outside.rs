//! Packets of real hosts: they enter the network at a host's NIC like its own datagrams, and leave
//! it at their destination host.

use super::records::Entering;
use super::{Departure, Outlet, Shard};
use crate::frame::Frame;
use crate::queue::Reason;
use crate::spec::FlowId;

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

    /// Sends a packet of a real host by port `nic` of `host`. Drops the packet if its next hop is
    /// another host, which could not forward it.
    pub fn enter_from_outside<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        (host, nic): (u32, u32),
        flow: FlowId,
        frame: Frame,
    ) {
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

    /// Lets the packets of the guest at `node` enter that are due at `now`.
    pub(super) fn on_guest<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let due = |shard: &mut Self| {
            let entering = &mut shard.outside.as_mut()?.entering;
            let queue = entering.get_mut(&node)?;
            queue.front().is_some_and(|first| first.at <= now).then(|| queue.pop_front())?
        };
        while let Some(Entering { host, nic, flow, frame, .. }) = due(self) {
            self.enter_from_outside(out, now, (host, nic), flow, frame);
        }
    }

    /// Hands over a packet that has arrived at its destination host.
    pub fn leave_outside(&mut self, now: u64, frame: &Frame) {
        let nic = frame.port - self.world.place[frame.dst as usize].first_port;
        let departure = Departure {
            at: now,
            token: frame.aux,
            host: frame.dst,
            nic,
            marked: frame.has(Frame::CE),
        };
        self.outside.as_mut().expect("packets from outside").arrived.push(departure);
    }

    pub(super) fn lose_outside(&mut self, frame: &Frame) {
        let token =
            if frame.has(Frame::EXTRA) { self.extras[frame.aux].trigger } else { frame.aux };
        self.outside.as_mut().expect("packets from outside").lost.push(token);
    }
}
