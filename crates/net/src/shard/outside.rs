//! Packets of real hosts: they enter the network at a host's NIC like its own datagrams, and leave
//! it at their destination host.

use super::records::{CardPause, Entering};
use super::{Departure, Outlet, Shard};
use crate::balance::path_step;
use crate::frame::Frame;
use crate::queue::Reason;
use crate::queue::flowcontrol::duration;
use crate::spec::{FlowId, NodeId};

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

    /// Returns the token of a packet from outside.
    fn token_of(&self, frame: &Frame) -> u32 {
        if frame.has(Frame::EXTRA) { self.extras[frame.aux].trigger } else { frame.aux }
    }

    /// Returns the first bytes of a packet from outside, for a capture. `None` for other frames.
    pub(super) fn contents_of(&self, frame: &Frame) -> Option<Box<[u8]>> {
        if !self.is_from_outside(frame) {
            return None;
        }
        let contents = self.outside.as_ref()?.contents.as_ref()?;
        let most = self.world.plan.record.snaplen as usize;
        Some(contents(self.token_of(frame), frame.has(Frame::CE), most))
    }

    /// Extends the path of a packet from outside by the decision of a switch. The frame itself
    /// carries the token where others carry their path.
    #[cold]
    pub(super) fn note_path_outside(&mut self, id: NodeId, port: u16, frame: &Frame) {
        let token = self.token_of(frame);
        let outside = self.outside.as_ref().expect("packets from outside");
        let mut paths = outside.paths.lock().expect("no worker panics while it holds this lock");
        let number = paths.entry(token).or_default();
        *number = path_step(*number, id, port);
    }

    /// Returns the path of a packet from outside that leaves the network.
    fn take_path(&mut self, token: u32) -> u32 {
        let outside = self.outside.as_ref().expect("packets from outside");
        let mut paths = outside.paths.lock().expect("no worker panics while it holds this lock");
        paths.remove(&token).unwrap_or(0)
    }

    /// Tells the guest at the frame's port of a PAUSE frame that takes effect at `at`, if its card
    /// obeys.
    #[cold]
    pub fn tell_pause(&mut self, at: u64, frame: &Frame) {
        let port = &self.ports[frame.port as usize];
        let pause = port.pause();
        let Some(rate) = pause.and_then(|pause| pause.obeys()) else { return };
        let host = self.nodes[port.node as usize].id;
        let nic = frame.port - self.nodes[port.node as usize].first_port;
        let (classes, xoff, quanta) = frame.pause_parts();
        let outside = self.outside.as_mut().expect("guests are outside");
        for (priorities, time) in [(classes & xoff, duration(quanta, rate)), (classes & !xoff, 0)] {
            if priorities != 0 {
                outside.paused.push(CardPause { at, host, nic, priorities, until: at + time });
            }
        }
    }

    /// Hands over a packet that has arrived at its destination host.
    pub fn leave_outside(&mut self, now: u64, frame: &Frame) {
        if self.record_paths {
            let path = self.take_path(frame.aux);
            self.count_path(&Frame { aux: path, ..*frame }, 0);
        }
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
        let token = self.token_of(frame);
        if self.record_paths {
            self.take_path(token);
        }
        self.outside.as_mut().expect("packets from outside").lost.push(token);
    }
}
