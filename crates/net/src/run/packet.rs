//! Packets that enter the network from hosts outside of it, and the interface of such hosts whose
//! clock follows the simulation.

use crate::app::NewFlow;
use crate::frame::Frame;
use crate::shard::{CardPause, Contents, Departure};
use crate::spec::{Datagram, Flow, Plan, TransportConfig};
use crate::world::World;
use afflux_engine::random::mix;

/// A packet of a real host.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Host and port at which the packet enters the network.
    pub host: u32,
    pub nic: u32,
    /// Destination host, and its port that has the destination address.
    pub dst: u32,
    pub dst_nic: u32,
    /// Size of the frame in buffers in bytes, without the gap.
    pub size: u16,
    /// ECN-capable (`capable`), and marked on its way here (`marked`).
    pub capable: bool,
    pub marked: bool,
    /// Priority, 0 (lowest) to 7.
    pub priority: u8,
    /// Hashes of the packet's two ends (protocol, address and port). Packets with equal ends are
    /// one flow.
    pub ends: (u64, u64),
    /// Handle that the caller gets back with the packet.
    pub token: u32,
}

/// Hosts whose clock follows the simulation. One worker has one object, and calls it window by
/// window. The packets that have arrived determine the packets that a guest sends.
pub trait Guests: Send {
    /// Returns the time in ps at which a guest next acts without a packet arriving; `u64::MAX` if
    /// none does.
    fn due(&mut self) -> u64;
    /// Returns the number of guests that can still act.
    fn alive(&self) -> i64;
    /// Lets all guests run up to but not including `end` (ps). `arrived` and `paused` have the
    /// packets that arrive before and the pauses that take effect before, ordered by time at each
    /// host. Appends the packets that the guests send, in order of time at each host.
    fn run(
        &mut self,
        arrived: &mut Vec<Departure>,
        paused: &mut Vec<CardPause>,
        end: u64,
        sent: &mut Vec<(u64, Packet)>,
    );
    /// Takes the tokens of dropped packets.
    fn lost(&mut self, tokens: &mut Vec<u32>);
    /// Returns whether the run has to end because a guest cannot go on.
    fn failed(&self) -> bool;
}

/// The hosts of a plan that are guests, and the function that returns the guests of one worker.
pub struct Outsiders<'g> {
    /// Numbers of the hosts, ascending, each with the traffic class of the packets that it sends.
    pub hosts: &'g [(u32, u16)],
    /// Called once per worker with its share of `hosts`.
    pub guests: &'g mut dyn FnMut(&[u32]) -> Box<dyn Guests + 'g>,
    /// Contents of the packets, for captures.
    pub contents: Contents,
}

/// Adds the transport of the flows that carry packets from outside, and returns its number.
pub fn add_transport(plan: &mut Plan) -> u16 {
    let mtu = (plan.largest_frame() as u16).saturating_sub(plan.wire.data_header).max(1);
    plan.transports.push(TransportConfig::Datagram(Datagram {
        rate: None,
        payload: mtu,
        ecn_capable: true,
    }));
    plan.transports.len() as u16 - 1
}

/// Returns a flow that carries packets from outside.
pub fn carrier(src: u32, dst: u32, transport: u16, class: u16, priority: u8) -> NewFlow {
    NewFlow { src, dst, bytes: 1, transport, class, priority, job: Flow::NO_JOB }
}

/// Returns the frame of a packet that enters the network at `now` (ps), number `number` of its flow.
pub fn frame_of(world: &World, now: u64, packet: &Packet, number: u32) -> Frame {
    let mut flags = packet.priority as u16 & Frame::PRIORITY;
    if packet.capable {
        flags |= Frame::ECT;
    }
    if packet.marked {
        flags |= Frame::ECT | Frame::CE;
    }
    let (a, b) = packet.ends;
    let (a, b) = if world.hashes_symmetrically() { (a.min(b), a.max(b)) } else { (a, b) };
    // Hash for the choice among equal-cost paths.
    let hash = mix(mix(a ^ mix(world.plan.run.seed)) ^ b) as u32;
    Frame {
        seq: number,
        aux: packet.token,
        dst: packet.dst,
        hash: route(world, now, packet, hash),
        size: packet.size.max(world.plan.wire.min_frame),
        flags,
        ..Frame::default()
    }
}

/// Returns the route (or hash) of a packet. Switches send a packet by the port of the NIC that has
/// its address, if they have links to several: it gets a hash by which they do. If there is none
/// (only other NICs can be reached from there, or a balancer decides), the hash remains.
fn route(world: &World, now: u64, packet: &Packet, hash: u32) -> u32 {
    let Packet { host, nic, dst, dst_nic, .. } = *packet;
    let (from, to) = ((host, nic as u16), (dst, dst_nic as u16));
    if world.ports.of(dst).len() == 1 && world.ports.of(host).len() == 1 {
        return world.route_of(hash, host, dst);
    }
    let attempt = |number: u64| match number {
        0 => hash,
        _ => mix(u64::from(hash) ^ number << 40) as u32,
    };
    let found = (0..World::TRIES).map(attempt).find(|&one| world.leads_to(now, from, one, to));
    world.route_via(Some(from.1), found.unwrap_or(hash), host, dst)
}
