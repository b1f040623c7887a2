//! Relay of packets between real hosts and the simulated network, paced by the wall clock.

use crate::clock::{Clock, simulated};
use crate::command::Command;
use crate::host::Host;
use crate::lateness::Lateness;
use crate::offload::{Handed, Unsummed};
use crate::packet::{self, Header};
use crate::precedence::Precedence;
use crate::wire::Taken;
use crate::{Control, LiveError, Options, addresses, sys};
use afflux_net::outside::{Driven, Packet};
use afflux_scenario::Packets;
use afflux_units::Span;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// Longest wait for packets, in ns, before the relay checks for a stop request.
const ASK_NS: u64 = 20_000_000;
/// Most packets taken from one device before the next device is served.
const BATCH: usize = 32;
/// Time in ns that an interrupted command has to end before it is killed.
const GRACE_NS: u64 = 2_000_000_000;

/// Measurements of the relay itself, in addition to the network's records.
#[derive(Debug, Default)]
pub struct Watched {
    /// Lateness of departures: from the instant at which a packet should leave for its host to the
    /// instant at which it does. Excludes the first packet of each NIC.
    pub lateness: Lateness,
    /// Lateness of the first packet of each NIC, for which the kernel touches memory and creates
    /// tables for the first time.
    pub first: Lateness,
    /// Upper bound on the time that an arriving packet waited while the thread processed others.
    pub pickup: Lateness,
    pub duration: Duration,
    pub entered: u64,
    pub delivered: u64,
    /// Packets that are not IPv4, or not from or for a host of the scenario.
    pub ignored: u64,
    /// Packets longer than the scenario's MTU.
    pub too_long: u64,
    /// Packets to hosts of the scenario that are not real.
    pub to_nobody: u64,
    /// ECN marks written into packets.
    pub marks: u64,
    /// Packets lost in devices: before the network (`unread`) or behind it (`refused`).
    pub unread: u64,
    pub refused: u64,
    pub real_time: bool,
    pub interrupted: bool,
    /// Error that ended the run before its time. The packets until then are in the result.
    pub broken: Option<LiveError>,
    /// Exit status of the command. `None` if it was killed or there is no command.
    pub status: Option<i32>,
    /// Shortest propagation delay of a round trip between two hosts that have exchanged packets.
    pub base_rtt: Option<Span>,
    pub notes: Vec<String>,
}

/// A packet inside the simulated network.
struct Stored {
    buffer: Box<[u8]>,
    length: usize,
    unsummed: Option<Unsummed>,
}

/// Packets inside the simulated network, by token.
#[derive(Default)]
struct Store {
    packets: Vec<Stored>,
    free: Vec<u32>,
}

impl Store {
    /// Returns the token of a free buffer of `most` bytes.
    fn buffer(&mut self, most: usize) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.packets.push(Stored {
                buffer: vec![0; most].into_boxed_slice(),
                length: 0,
                unsummed: None,
            });
            self.packets.len() as u32 - 1
        })
    }
}

struct Relay<'a, 'd, 'w, 'p> {
    driven: &'d mut Driven<'w, 'p>,
    hosts: &'a [Host],
    packets: &'a Packets,
    /// Host number in the plan to index in `hosts`.
    place: Vec<Option<usize>>,
    clock: Clock,
    precedence: Precedence,
    store: Store,
    handed: Handed,
    /// Whether a NIC has had its first packet, by index in `hosts` and NIC number.
    met: Vec<Vec<bool>>,
    /// Whether the first host has sent a packet to the second, by indices in `hosts`.
    sent: Vec<Vec<bool>>,
    watched: Watched,
}

/// Relays packets until the run ends.
pub fn relay(
    driven: &mut Driven,
    hosts: &[Host],
    mut command: Option<Command>,
    packets: &Packets,
    options: &Options,
    control: &Control,
) -> Result<Watched, LiveError> {
    let mut notes = Vec::new();
    let (precedence, refused) = Precedence::of_this_thread();
    let real_time = refused.is_none();
    if let Some(error) = refused {
        notes.push(format!("no real-time scheduling (CAP_SYS_NICE is lacking: {error}): packets are late whenever the machine is busy"));
    }
    sys::sleep_exactly().map_err(LiveError::system("asking for exact sleeps"))?;
    let mut place = vec![None; driven.hosts() as usize];
    hosts.iter().enumerate().for_each(|(index, host)| place[host.number as usize] = Some(index));
    let mut relay = Relay {
        driven,
        hosts,
        packets,
        place,
        clock: Clock::start(),
        precedence,
        store: Store::default(),
        handed: Handed::nothing(),
        met: hosts.iter().map(|host| vec![false; host.nics.len()]).collect(),
        sent: vec![vec![false; hosts.len()]; hosts.len()],
        watched: Watched { real_time, notes, ..Watched::default() },
    };
    let ended = relay.until_the_end(command.as_ref(), options, control);
    relay.watched.duration = relay.clock.elapsed();
    relay.watched.base_rtt = relay.base_rtt();
    if let Some(command) = &mut command {
        relay.watched.status = command.end()?;
    }
    let unread = hosts.iter().map(Host::unread).sum::<Result<u64, _>>();
    relay.watched.broken = ended.err();
    relay.watched.unread = match unread {
        // The device that ended the run may have no counters left.
        Err(_) if relay.watched.broken.is_some() => 0,
        unread => unread?,
    };
    Ok(relay.watched)
}

impl Relay<'_, '_, '_, '_> {
    fn until_the_end(
        &mut self,
        command: Option<&Command>,
        options: &Options,
        control: &Control,
    ) -> Result<(), LiveError> {
        let nics: Vec<(usize, usize)> = self
            .hosts
            .iter()
            .enumerate()
            .flat_map(|(host, h)| (0..h.nics.len()).map(move |nic| (host, nic)))
            .collect();
        let ended: Option<OwnedFd> = command.map(|command| command.watch()).transpose()?;
        let descriptors: Vec<i32> = nics
            .iter()
            .map(|&(host, nic)| self.hosts[host].nics[nic].descriptor())
            .chain(ended.iter().map(AsRawFd::as_raw_fd))
            .collect();
        let mut poll = sys::Poll::of(&descriptors)
            .map_err(LiveError::system("watching the hosts' devices"))?;
        let mut end_ns = options.duration.map_or(u64::MAX, |duration| duration.as_nanos() as u64);
        let mut ready = Vec::new();
        let (mut asked, mut looked) = (0, u64::MAX);
        loop {
            let now = self.clock.now_ns();
            if now >= end_ns {
                break;
            }
            if now - asked >= ASK_NS {
                asked = now;
                if control.stopped() && !self.watched.interrupted {
                    self.watched.interrupted = true;
                    end_ns = end_ns.min(if ended.is_some() { now + GRACE_NS } else { now });
                }
            }
            let due = self.driven.due().map_or(u64::MAX, |at| at.0.div_ceil(1_000));
            let wait = self
                .precedence
                .wait_ns(now, due.min(end_ns))
                .map_err(LiveError::system("changing how the forwarding thread is scheduled"))?;
            let wait = wait.min(ASK_NS);
            poll.wait(wait, &mut ready).map_err(LiveError::system("waiting for packets"))?;
            let now = self.clock.now_ns();
            if wait > 0 {
                // A packet that is ready now arrived during the wait, so it has not waited for
                // pickup.
                self.precedence.has_slept(now);
                looked = now;
            }
            if !ready.is_empty() {
                self.watched.pickup.note(now.saturating_sub(looked));
            }
            looked = now;
            for &index in &ready {
                match nics.get(index) {
                    Some(&(host, nic)) => self.take_from(host, nic)?,
                    None => return Ok(()),
                }
            }
            self.bring_up();
        }
        Ok(())
    }

    /// Returns the shortest propagation delay of a round trip between two hosts that have exchanged
    /// packets.
    fn base_rtt(&self) -> Option<Span> {
        let pairs = (0..self.hosts.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let exchanged = pairs
            .filter(|&(a, b)| self.sent[a][b] && self.sent[b][a])
            .map(|(a, b)| (self.hosts[a].number, self.hosts[b].number));
        exchanged
            .filter_map(|(a, b)| {
                Some(self.driven.propagation(a, b)? + self.driven.propagation(b, a)?)
            })
            .min()
    }

    /// Advances the simulation to the current time and delivers the packets that have arrived.
    #[inline]
    fn bring_up(&mut self) {
        self.driven.advance(simulated(self.clock.now_ns()));
        if !self.driven.arrived().is_empty() {
            self.deliver();
        }
        for token in self.driven.lost().drain(..) {
            self.store.free.push(token);
        }
    }

    fn take_from(&mut self, host: usize, nic: usize) -> Result<(), LiveError> {
        let most = self.packets.mtu as usize;
        let from = &self.hosts[host];
        let mut count = 0;
        while count < BATCH {
            match from.nics[nic].take(&mut self.handed, most) {
                // The kernel says this once each time that the device goes down.
                Err(source) if source.raw_os_error() == Some(libc::ENETDOWN) => {
                    let seconds = self.clock.now_ns() as f64 / 1e9;
                    self.watched.notes.push(format!(
                        "the device of {} went down at {seconds:.3} s: its packets are missing until it is up",
                        from.name
                    ));
                    break;
                }
                Err(source) => {
                    let doing = format!("reading from {}", from.name);
                    return Err(LiveError::System { doing, source });
                }
                Ok(Taken::Nothing) => break,
                Ok(Taken::Packet) => {}
                Ok(other) => {
                    self.watched.ignored += u64::from(other == Taken::Foreign);
                    self.watched.too_long += u64::from(other == Taken::TooLong);
                    count += 1;
                    continue;
                }
            }
            let parsed = packet::parse(self.handed.packet());
            let known = parsed.and_then(|header| {
                Some((
                    header,
                    addresses::nic_of(header.destination)
                        .filter(|(to, _)| (*to as usize) < self.place.len())?,
                ))
            });
            let segments = self.handed.segments();
            count += segments;
            // A host does not send packets for its own address to its device. If one arrives, it is
            // ignored, because the network would return it.
            let Some((Header { dscp, capable, marked, ends, .. }, (dst, dst_nic))) =
                known.filter(|(_, to)| to.0 != from.number)
            else {
                self.watched.ignored += segments as u64;
                continue;
            };
            if let Some(to) = self.place[dst as usize] {
                self.sent[host][to] = true;
            }
            let priority = self.packets.priority_of_dscp[usize::from(dscp)];
            for segment in 0..segments {
                let token = self.store.buffer(most);
                let stored = &mut self.store.packets[token as usize];
                stored.length = self.handed.segment(segment, &mut stored.buffer);
                stored.unsummed = self.handed.unsummed();
                let size = (stored.length as u16).saturating_add(self.packets.link_header);
                self.watched.entered += 1;
                self.precedence.has_taken_one();
                self.bring_up();
                let packet = Packet {
                    host: from.number,
                    nic: nic as u32,
                    dst,
                    dst_nic,
                    size,
                    capable,
                    marked,
                    priority,
                    ends,
                    token,
                };
                self.driven.enter(&packet);
            }
        }
        Ok(())
    }

    /// Delivers the packets that have left the network to their hosts.
    fn deliver(&mut self) {
        let mut arrived = std::mem::take(self.driven.arrived());
        for departure in arrived.drain(..) {
            let token = departure.token;
            self.store.free.push(token);
            let Some(host) = self.place[departure.host as usize] else {
                self.watched.to_nobody += 1;
                continue;
            };
            let Stored { buffer, length, unsummed } = &mut self.store.packets[token as usize];
            let packet = &mut buffer[..*length];
            if departure.marked
                && packet::parse(packet).is_some_and(|header| header.capable && !header.marked)
            {
                packet::mark(packet);
                self.watched.marks += 1;
            }
            let met = std::mem::replace(&mut self.met[host][departure.nic as usize], true);
            match self.hosts[host].nics[departure.nic as usize].give(packet, *unsummed) {
                Ok(()) => self.watched.delivered += 1,
                // The host's kernel has no buffer space, or its interface is down.
                Err(_) => self.watched.refused += 1,
            }
            let lateness = if met { &mut self.watched.lateness } else { &mut self.watched.first };
            lateness.note(self.clock.now_ns().saturating_sub(departure.at.div_ceil(1_000)));
        }
        *self.driven.arrived() = arrived;
    }
}
