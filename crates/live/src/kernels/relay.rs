//! The kernels of one worker, at the door of the network.

use super::KernelError;
use super::error::tail;
use super::pcap::Pcap;
use super::received::FlowKey;
use super::segment::seen;
use super::store::{Store, Stored};
use super::wire::Flows;
use crate::{addresses, packet};
use afflux_kernel::{Failure, Group, Guest, NEVER, State};
use afflux_net::Progress;
use afflux_net::outside::{CardPause, Contents, Departure, Guests, Packet};
use afflux_net::spec::Plan;
use afflux_scenario::{KernelHost, Packets};
use afflux_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Bytes of an Ethernet header, and the type of IPv4.
const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
/// Bytes that contain the headers of Ethernet and IPv4.
const HEADERS: usize = ETHERNET + 60;
/// Virtual time after the end of the run in ns in which guests hand over their files.
const AFTERWARDS: u64 = 30_000_000_000;

/// Least real time between two reports of progress.
const REPORT: Duration = Duration::from_millis(50);

/// Address of a card: locally administered, with the numbers of card and host.
pub fn mac(host: u32, nic: u32) -> [u8; 6] {
    let [_, a, b, c] = (host + 1).to_be_bytes();
    [0x02, 0, nic as u8, a, b, c]
}

/// A guest, and what it has sent and received.
pub struct Resident {
    pub guest: Guest,
    pub host: u32,
    pub nics: u32,
    pub pcap: Pcap,
    pub flows: Flows,
    /// Packets that are not IPv4, or not for a host with a kernel.
    pub ignored: u64,
    /// Virtual time in ns before which the guest ended or was ended, if that was before the end of
    /// the run.
    pub ended: Option<u64>,
}

impl Resident {
    pub fn new(guest: Guest, host: u32, nics: u32) -> Resident {
        let (pcap, flows) = (Pcap::new(), Flows::default());
        Resident { guest, host, nics, pcap, flows, ignored: 0, ended: None }
    }
}

/// State that the workers share.
pub struct Shared<'p> {
    packets: &'p Packets,
    progress: &'p Progress,
    names: Vec<&'p str>,
    /// Hosts that are kernels.
    kernels: BTreeSet<u32>,
    /// The switch at each NIC, by host.
    switches: Vec<Vec<u32>>,
    store: Arc<Store>,
    residents: Mutex<Vec<Resident>>,
    /// The first failure, with its time in ns and the number of its host.
    failure: Mutex<Option<(u64, u32, String)>>,
    /// Number of packets that the network has dropped, by flow.
    dropped: Mutex<BTreeMap<FlowKey, u64>>,
}

impl<'p> Shared<'p> {
    pub fn new(
        plan: &'p Plan,
        kernels: &[KernelHost],
        packets: &'p Packets,
        progress: &'p Progress,
    ) -> Self {
        let hosts = plan.topology.hosts as usize;
        let mut switches = vec![Vec::new(); hosts];
        for link in &plan.topology.links {
            for (end, other) in [(link.a, link.b), (link.b, link.a)] {
                if let Some(of_host) = switches.get_mut(end as usize) {
                    of_host.push(other);
                }
            }
        }
        Shared {
            packets,
            progress,
            names: plan.topology.nodes[..hosts].iter().map(|node| node.name.as_str()).collect(),
            kernels: kernels.iter().map(|kernel| kernel.host).collect(),
            switches,
            store: Arc::default(),
            residents: Mutex::default(),
            failure: Mutex::default(),
            dropped: Mutex::default(),
        }
    }

    /// Returns what captures ask for the contents of packets.
    pub fn contents(&self) -> Contents {
        let store = self.store.clone();
        Arc::new(move |token, marked, most| {
            store.look(token, |frame| {
                let mut bytes = frame[..frame.len().min(most.max(HEADERS))].to_vec();
                mark(&mut bytes, marked);
                bytes.truncate(most);
                bytes.into()
            })
        })
    }

    /// Returns the NIC of `host` that takes a frame which has arrived at `nic`. A switch with links to
    /// several NICs knows which has the destination's address (MAC), but a balancer there may have
    /// chosen another link. From another switch, a frame for another NIC has come as a router
    /// forwards it: Linux takes its host's addresses at all NICs.
    fn takes(&self, host: u32, nic: u32, frame: &[u8]) -> u32 {
        let switches = &self.switches[host as usize];
        let addressed = packet::parse(&frame[ETHERNET..])
            .and_then(|header| addresses::nic_of(header.destination))
            .map_or(nic, |(_, addressed)| addressed);
        let alike = switches.get(addressed as usize) == switches.get(nic as usize);
        if alike { addressed } else { nic }
    }

    /// True if the host is a kernel with this NIC.
    fn has(&self, host: u32, nic: u32) -> bool {
        self.kernels.contains(&host) && (nic as usize) < self.switches[host as usize].len()
    }

    /// Returns the guests after the run, ordered by host.
    pub fn take_residents(&self) -> Vec<Resident> {
        let mut residents = std::mem::take(&mut *lock(&self.residents));
        residents.sort_by_key(|resident| resident.host);
        residents
    }

    /// Returns the numbers of dropped packets by flow.
    pub fn take_dropped(&self) -> BTreeMap<FlowKey, u64> {
        std::mem::take(&mut *lock(&self.dropped))
    }

    /// Returns why the run had to end early.
    pub fn take_failure(&self) -> Option<String> {
        lock(&self.failure).take().map(|(.., text)| text)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no worker panics while it holds this lock")
}

/// Marks the IPv4 packet in a frame (CE) if it is ECN-capable.
fn mark(frame: &mut [u8], marked: bool) {
    let packet = &mut frame[ETHERNET..];
    let marks =
        marked && packet::parse(packet).is_some_and(|header| header.capable && !header.marked);
    if marks {
        packet::mark(packet);
    }
}

pub struct Relay<'s, 'p> {
    group: Group,
    /// Everything of the residents but the guests, which are in `group`.
    rest: Vec<Rest>,
    place: BTreeMap<u32, usize>,
    shared: &'s Shared<'p>,
    failed: bool,
    /// Real time at which the progress was last reported.
    reported: Instant,
}

struct Rest {
    host: u32,
    nics: u32,
    pcap: Pcap,
    flows: Flows,
    ignored: u64,
    ended: Option<u64>,
}

impl<'s, 'p> Relay<'s, 'p> {
    pub fn new(residents: Vec<Resident>, shared: &'s Shared<'p>) -> Self {
        let (mut guests, mut rest) = (Vec::new(), Vec::new());
        for Resident { guest, host, nics, pcap, flows, ignored, ended } in residents {
            guests.push(guest);
            rest.push(Rest { host, nics, pcap, flows, ignored, ended });
        }
        let place = rest.iter().enumerate().map(|(index, one)| (one.host, index)).collect();
        Relay {
            group: Group { guests },
            rest,
            place,
            shared,
            failed: false,
            reported: Instant::now(),
        }
    }

    /// Hands a packet that has arrived to its guest.
    fn deliver(&mut self, departure: &Departure) {
        let Stored { mut frame, sent, .. } = self.shared.store.take(departure.token);
        let Some(&place) = self.place.get(&departure.host) else { return };
        let at = departure.at.div_ceil(1_000);
        mark(&mut frame, departure.marked);
        if let Some(seen) = seen(&frame[ETHERNET..]) {
            self.rest[place].flows.received(at, sent, departure.marked, &seen);
        }
        let nic = self.shared.takes(departure.host, departure.nic, &frame);
        frame[..6].copy_from_slice(&mac(departure.host, nic));
        self.rest[place].pcap.add(at, &frame);
        self.group.guests[place].arrive(nic, at, frame);
    }

    /// Takes the frames that a guest has sent.
    fn collect(&mut self, place: usize, sent: &mut Vec<(u64, Packet)>) {
        let Rest { host, pcap, flows, ignored, .. } = &mut self.rest[place];
        let (host, shared) = (*host, self.shared);
        for (at, nic, frame) in self.group.guests[place].take_sent() {
            pcap.add(at, &frame);
            let ip = frame.get(ETHERNET..).filter(|_| frame[12..ETHERNET] == IPV4);
            let known = ip.and_then(|ip| {
                let header = packet::parse(ip)?;
                let (dst, dst_nic) = addresses::nic_of(header.destination)?;
                Some((ip, header, dst, dst_nic))
            });
            let Some((ip, header, dst, dst_nic)) =
                known.filter(|known| known.2 != host && shared.has(known.2, known.3))
            else {
                *ignored += 1;
                continue;
            };
            let flow = seen(ip).map(|seen| flows.sent(at, &seen));
            let size = (ip.len() as u16).saturating_add(shared.packets.link_header);
            let packet = Packet {
                host,
                nic,
                dst,
                dst_nic,
                size,
                capable: header.capable,
                marked: header.marked,
                priority: shared.packets.priority_of_dscp[usize::from(header.dscp)],
                ends: header.ends,
                token: shared.store.put(Stored { sent: at, frame, flow }),
            };
            sent.push((at * 1_000, packet));
        }
    }

    /// Notes guests that have ended before the end of the run.
    fn look_for_ends(&mut self, end: u64) {
        for (guest, rest) in self.group.guests.iter_mut().zip(&mut self.rest) {
            if guest.state != State::Ended || rest.ended.is_some() {
                continue;
            }
            rest.ended = Some(end);
            let console = guest.console();
            let host = rest.host;
            // The kernel's own time is before its words.
            let panic = |line: &str| line.find("Kernel panic").map(|at| line[at..].to_string());
            let reason = console
                .lines()
                .find_map(panic)
                .unwrap_or_else(|| "its kernel ended before run.until".into());
            self.fail(host, &reason, end, &console);
            return self.look_for_ends(end);
        }
    }

    /// Reports from time to time how far the guests are (`now` in ns), and which one is the slowest.
    fn report(&mut self, now: u64) {
        if self.reported.elapsed() < REPORT {
            return;
        }
        self.reported = Instant::now();
        let walls = self.group.guests.iter().map(|guest| guest.counts().wall.as_secs_f64());
        let slowest = walls.zip(&self.rest).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((seconds, rest)) = slowest {
            let name = self.shared.names[rest.host as usize];
            self.shared.progress.advance_guests(now.saturating_mul(1_000), name, seconds);
        }
    }

    /// Notes the failure of a guest before `end` (ns). The earliest failure counts, that of the first
    /// host if several are equally early, so that it does not depend on which worker is faster.
    fn fail(&mut self, host: u32, reason: &str, end: u64, console: &str) {
        self.failed = true;
        let name = self.shared.names[host as usize];
        let text = format!("{name}: {reason}, at {}{}", shown(end), tail(console));
        let mut first = lock(&self.shared.failure);
        if first.as_ref().is_none_or(|(at, of, _)| (end, host) < (*at, *of)) {
            *first = Some((end, host, text));
        }
    }
}

fn shown(ns: u64) -> String {
    format!("{:.6} s", ns as f64 / 1e9)
}

/// Returns the last command that a console shows as started.
fn last_command(console: &str) -> Option<&str> {
    console.lines().filter_map(|line| line.strip_prefix("[afflux] start ")).next_back()
}

impl Guests for Relay<'_, '_> {
    fn due(&mut self) -> u64 {
        match self.group.next() {
            NEVER => u64::MAX,
            next => next.saturating_mul(1_000),
        }
    }

    fn alive(&self) -> i64 {
        self.group.alive() as i64
    }

    fn run(
        &mut self,
        arrived: &mut Vec<Departure>,
        paused: &mut Vec<CardPause>,
        end: u64,
        sent: &mut Vec<(u64, Packet)>,
    ) {
        for departure in arrived.drain(..) {
            self.deliver(&departure);
        }
        for CardPause { at, host, nic, priorities, until } in paused.drain(..) {
            if let Some(&place) = self.place.get(&host) {
                let (at, until) = (at.div_ceil(1_000), until.div_ceil(1_000));
                self.group.guests[place].pause(nic, at, priorities, until);
            }
        }
        let end = end.div_ceil(1_000);
        let progress = self.shared.progress;
        for (place, failure) in self.group.run(end, &|| progress.cancelled()) {
            let console = self.group.guests[place].console();
            self.rest[place].ended = Some(end);
            let command = match (&failure, last_command(&console)) {
                (Failure::Busy(_), Some(command)) => format!(", after the command {command}"),
                _ => String::new(),
            };
            self.fail(self.rest[place].host, &format!("{failure}{command}"), end, &console);
        }
        self.look_for_ends(end);
        self.report(end);
        for place in 0..self.rest.len() {
            self.collect(place, sent);
            self.rest[place].pcap.sort();
        }
    }

    fn lost(&mut self, tokens: &mut Vec<u32>) {
        for token in tokens.drain(..) {
            if let Some(flow) = self.shared.store.take(token).flow {
                *lock(&self.shared.dropped).entry(flow).or_default() += 1;
            }
        }
    }

    fn failed(&self) -> bool {
        self.failed
    }
}

impl Drop for Relay<'_, '_> {
    fn drop(&mut self) {
        let guests = std::mem::take(&mut self.group.guests);
        let rest = std::mem::take(&mut self.rest);
        let whole = guests.into_iter().zip(rest).map(|(guest, rest)| {
            let Rest { host, nics, pcap, flows, ignored, ended } = rest;
            Resident { guest, host, nics, pcap, flows, ignored, ended }
        });
        if let Ok(mut residents) = self.shared.residents.lock() {
            residents.extend(whole);
        }
    }
}

/// Runs the guests of `residents` up to `end` (ns), apart from any network. Returns the failures by
/// index.
fn alone(residents: &mut Vec<Resident>, end: u64, progress: &Progress) -> Vec<(usize, Failure)> {
    let (mut guests, mut rest) = (Vec::new(), Vec::new());
    for Resident { guest, host, nics, pcap, flows, ignored, ended } in residents.drain(..) {
        guests.push(guest);
        rest.push((host, nics, pcap, flows, ignored, ended));
    }
    let mut group = Group { guests };
    let failed = group.run(end, &|| progress.cancelled());
    let whole = group.guests.into_iter().zip(rest).map(|(guest, rest)| {
        let (host, nics, pcap, flows, ignored, ended) = rest;
        Resident { guest, host, nics, pcap, flows, ignored, ended }
    });
    residents.extend(whole);
    failed
}

/// Lets the kernels boot until they are idle for the first time.
pub fn boot(residents: &mut Vec<Resident>, progress: &Progress) -> Result<(), KernelError> {
    let failed = alone(residents, 0, progress);
    if progress.cancelled() {
        return Err(KernelError::Cancelled);
    }
    if let Some((place, failure)) = failed.into_iter().next() {
        let guest = &mut residents[place].guest;
        let console = guest.console();
        let text = format!("{}: {failure}{}", guest.name, tail(&console));
        return Err(KernelError::Start(text));
    }
    match residents.iter_mut().find(|resident| resident.guest.state == State::Ended) {
        None => Ok(()),
        Some(resident) => {
            let guest = &mut resident.guest;
            let console = guest.console();
            let text = format!(
                "{}: its kernel did not start; if it lacks memory, raise memory in [[host.kernel]]{}",
                guest.name,
                tail(&console)
            );
            Err(KernelError::Start(text))
        }
    }
}

/// Lets the guests hand over their files after the run, and ends them.
pub fn finish(residents: &mut Vec<Resident>, end: Time, progress: &Progress) {
    let end = end.0.div_ceil(1_000) + AFTERWARDS;
    alone(residents, end, progress);
    residents.iter_mut().for_each(|resident| resident.guest.kill());
}
