//! Tests that guests give the same run with every engine and any number of threads. The guests here
//! are small programs that answer packets.

use super::determinism::digest;
use crate::outside::{Guests, Outsiders, Packet};
use crate::record::Output;
use crate::shard::Departure;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run_with};
use afflux_engine::random::mix;
use afflux_units::{Probability, Rate, Span, Time};
use std::collections::BTreeMap;
use std::sync::Mutex;

const HOSTS: [u32; 4] = [0, 1, 4, 5];
/// Bursts that each guest sends by itself, their interval in ps, and packets of each.
const BURSTS: u64 = 40;
const EVERY: u64 = 7_000_000;
const BURST: u64 = 12;

/// Packets in the network by token: number of answers that may still follow. Shared by all workers.
#[derive(Default)]
struct Store(Mutex<Vec<u8>>);

impl Store {
    fn put(&self, left: u8) -> u32 {
        let mut packets = self.0.lock().unwrap();
        packets.push(left);
        packets.len() as u32 - 1
    }
}

struct Talker<'a> {
    hosts: Vec<u32>,
    /// Packets to be sent: by time and number, source and destination and answers that may follow.
    planned: BTreeMap<(u64, u64), (u32, u32, u8)>,
    number: u64,
    ended: bool,
    store: &'a Store,
    log: &'a Mutex<Vec<(u64, u32, bool)>>,
    lost: &'a Mutex<u64>,
}

impl Talker<'_> {
    fn plan(&mut self, at: u64, from: u32, to: u32, left: u8) {
        // The number orders packets of one host only, so that it does not depend on the workers.
        self.number += 1;
        self.planned.insert((at, self.number), (from, to, left));
    }
}

impl Guests for Talker<'_> {
    fn due(&mut self) -> u64 {
        self.planned.first_key_value().map_or(u64::MAX, |(key, _)| key.0)
    }
    fn alive(&self) -> i64 {
        if self.ended { 0 } else { self.hosts.len() as i64 }
    }
    fn run(&mut self, arrived: &mut Vec<Departure>, end: u64, sent: &mut Vec<(u64, Packet)>) {
        for departure in arrived.drain(..) {
            assert!(departure.at < end, "an arrival of this window");
            self.log.lock().unwrap().push((departure.at, departure.host, departure.marked));
            let left = self.store.0.lock().unwrap()[departure.token as usize];
            if left > 0 {
                let to = HOSTS[(mix(departure.at) % 4) as usize];
                let think = mix(departure.at ^ u64::from(departure.host)) % 3_000_000;
                if to != departure.host {
                    self.plan(departure.at + think, departure.host, to, left - 1);
                }
            }
        }
        while let Some((&(at, number), &(host, dst, left))) = self.planned.first_key_value() {
            if at >= end {
                break;
            }
            self.planned.remove(&(at, number));
            let ends = ((u64::from(host) << 16) | (at % 5), u64::from(dst) << 16);
            let token = self.store.put(left);
            let size = 100 + (mix(at ^ u64::from(host)) % 1400) as u16;
            sent.push((
                at,
                Packet {
                    host,
                    nic: 0,
                    dst,
                    size,
                    capable: true,
                    marked: false,
                    priority: 0,
                    ends,
                    token,
                },
            ));
        }
    }
    fn lost(&mut self, tokens: &mut Vec<u32>) {
        *self.lost.lock().unwrap() += tokens.drain(..).count() as u64;
    }
    fn failed(&self) -> bool {
        false
    }
}

/// Runs a plan with guests. Returns the output, the arrivals, and the number of lost packets.
fn with_guests(plan: &Plan) -> (Output, Vec<(u64, u32, bool)>, u64) {
    let (store, log, lost) = (Store::default(), Mutex::default(), Mutex::default());
    let output = {
        let mut guests = |hosts: &[u32]| -> Box<dyn Guests + '_> {
            let mut talker = Talker {
                hosts: hosts.to_vec(),
                planned: BTreeMap::new(),
                number: 0,
                ended: false,
                store: &store,
                log: &log,
                lost: &lost,
            };
            for &host in hosts {
                for burst in 0..BURSTS {
                    for place in 0..BURST {
                        let dst = HOSTS[(mix(burst * 64 + place) % 4) as usize];
                        // Two packets of each instant, also at the edge of windows.
                        let at = burst * EVERY + place / 2 * 100_000 + u64::from(host) * 13;
                        if dst != host {
                            talker.plan(at, host, dst, 3);
                        }
                    }
                }
            }
            Box::new(talker)
        };
        let hosts = HOSTS.map(|host| (host, 0));
        let outsiders = Outsiders { hosts: &hosts, guests: &mut guests };
        run_with(plan, &Progress::default(), Some(outsiders)).unwrap()
    };
    let mut log = log.into_inner().unwrap();
    log.sort_unstable();
    (output, log, lost.into_inner().unwrap())
}

/// Runs the plan with both engines and several numbers of threads.
fn same_with_guests(name: &str, plan: &Plan) -> (Output, Vec<(u64, u32, bool)>, u64) {
    let mut plan = plan.clone();
    plan.run.engine = EngineKind::Classical;
    let reference = with_guests(&plan);
    plan.run.engine = EngineKind::WindowLog;
    for threads in [1, 2, 3] {
        plan.run.threads = threads;
        let found = with_guests(&plan);
        assert!(found.1 == reference.1, "{name}: arrivals differ with {threads} threads");
        assert_eq!(digest(&found.0), digest(&reference.0), "{name}: {threads} threads");
        assert_eq!(found.0.carried, reference.0.carried, "{name}: {threads} threads");
        assert_eq!(found.2, reference.2, "{name}: losses differ with {threads} threads");
    }
    reference
}

/// Guests and two simulated flows on a fabric of two leaves.
fn fabric() -> Plan {
    let mut topology = leaf_spine(2, 2, 4);
    topology.links.iter_mut().for_each(|link| link.rate = Rate::from_gbps(10));
    let flows = vec![flow(0, 2, 6, 400_000, Time::ZERO), flow(1, 7, 3, 400_000, Time(1_000_000))];
    let mut plan = plan(topology, flows);
    plan.transports = vec![TransportConfig::Tcp(dctcp())];
    plan.switches[0].marking = Some(step(Limit::Bytes(8_000)));
    plan.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(20_000), drop_when: Compare::Above };
    plan.record.ports = Some(PortSeries { interval: Span::from_us(20), nodes: vec![8, 9, 10, 11] });
    plan.run.until = Some(Time(400_000_000));
    plan
}

#[test]
fn guests_share_queues_with_flows_and_runs_repeat() {
    let (output, log, lost) = same_with_guests("plain", &fabric());
    let c = &output.counters;
    assert!(c.drops_buffer > 0 && c.ecn_marks > 0 && lost > 0 && log.len() > 1000, "{c:?} {lost}");
    assert!(log.iter().any(|(.., marked)| *marked));
    assert_eq!((output.flows.len(), output.started.len()), (2, 0), "only simulated flows");
    // Each pair of hosts has up to five flows, fewer than there are carriers.
    let carried = &output.carried;
    assert!(carried.len() > 12 && carried.iter().all(|one| one.ends.is_some()), "{carried:?}");
    assert_eq!(output.end, Time(400_000_000), "guests keep the run going until its end");
}

#[test]
fn guests_with_losses_and_other_settings() {
    let mut lossy = fabric();
    lossy.topology.links.iter_mut().for_each(|link| link.loss = Probability::new(0.02).unwrap());
    let (output, ..) = same_with_guests("losses, also on access links", &lossy);
    assert!(output.counters.drops_loss > 0);
    let mut delayed = fabric();
    delayed.hosts[0].delay = Span::from_us(2);
    same_with_guests("hosts with a delay", &delayed);
    let mut queueing = fabric();
    queueing.hosts[0].queue = Some(Limit::Packets(4));
    same_with_guests("hosts with a short queue", &queueing);
    let mut spraying = fabric();
    spraying.switches[0].balance = Balance::Spray(SprayConfig {});
    same_with_guests("spraying", &spraying);
    let mut lossless = fabric();
    lossless.switches[0].marking = None;
    lossless.switches[0].buffer = Buffer::Mmu(super::lossless::conweave(700_000));
    lossless.switches[0].pfc = Some(pfc(0b111));
    lossless.switches[0].honours_pause = true;
    let (output, ..) = same_with_guests("lossless", &lossless);
    assert_eq!(output.counters.dropped_packets, 0);
}
