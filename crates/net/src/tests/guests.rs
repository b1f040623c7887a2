//! Tests that guests give the same run with every engine and any number of threads. The guests here
//! are small programs that answer packets.

use super::determinism::digest;
use crate::outside::{Guests, Outsiders, Packet};
use crate::record::Output;
use crate::shard::{CardPause, Departure};
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run_with};
use afflux_engine::random::mix;
use afflux_units::{Probability, Rate, Span, Time};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

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
    pauses: &'a Mutex<Vec<CardPause>>,
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
    fn run(
        &mut self,
        arrived: &mut Vec<Departure>,
        paused: &mut Vec<CardPause>,
        end: u64,
        sent: &mut Vec<(u64, Packet)>,
    ) {
        for pause in paused.drain(..) {
            assert!(pause.at < end && HOSTS.contains(&pause.host), "a pause of this window");
            self.pauses.lock().unwrap().push(pause);
        }
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
                    dst_nic: 0,
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

/// A run with guests: arrivals (time in ps, host, whether marked), number of lost packets, and the
/// pauses of which the guests were told.
struct Ran {
    output: Output,
    arrivals: Vec<(u64, u32, bool)>,
    lost: u64,
    pauses: Vec<CardPause>,
}

fn with_guests(plan: &Plan) -> Ran {
    let (store, log, lost) = (Store::default(), Mutex::default(), Mutex::default());
    let pauses = Mutex::default();
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
                pauses: &pauses,
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
        // Tokens depend on the workers, so that the contents of packets cannot show them.
        let contents = Arc::new(|_: u32, marked: bool, most: usize| -> Box<[u8]> {
            Box::new([u8::from(marked), most as u8])
        });
        let outsiders = Outsiders { hosts: &hosts, guests: &mut guests, contents };
        run_with(plan, &Progress::default(), Some(outsiders)).unwrap()
    };
    let mut log = log.into_inner().unwrap();
    log.sort_unstable();
    let mut pauses: Vec<CardPause> = pauses.into_inner().unwrap();
    pauses.sort_unstable_by_key(|pause| (pause.at, pause.host, pause.priorities));
    Ran { output, arrivals: log, lost: lost.into_inner().unwrap(), pauses }
}

/// Runs the plan with both engines and several numbers of threads.
fn same_with_guests(name: &str, plan: &Plan) -> Ran {
    let mut plan = plan.clone();
    plan.run.engine = EngineKind::Classical;
    let reference = with_guests(&plan);
    plan.run.engine = EngineKind::WindowLog;
    for threads in [1, 2, 3] {
        plan.run.threads = threads;
        let found = with_guests(&plan);
        assert!(
            found.arrivals == reference.arrivals,
            "{name}: arrivals differ with {threads} threads"
        );
        let (output, expected) = (&found.output, &reference.output);
        assert_eq!(digest(output), digest(expected), "{name}: {threads} threads");
        assert_eq!(output.carried, expected.carried, "{name}: {threads} threads");
        assert!(output.captures == expected.captures, "{name}: captures, {threads} threads");
        assert_eq!(output.paths, expected.paths, "{name}: {threads} threads");
        assert_eq!(found.lost, reference.lost, "{name}: losses differ with {threads} threads");
        assert!(found.pauses == reference.pauses, "{name}: pauses, {threads} threads");
    }
    reference
}

/// Guests and two simulated flows on a fabric of two leaves.
fn fabric() -> Plan {
    let mut topology = leaf_spine(2, 2, 4);
    topology.links.iter_mut().for_each(|link| link.rate = Rate::from_gbps(10));
    let flows = vec![flow(0, 2, 6, 400_000, Time::ZERO), flow(1, 7, 3, 400_000, Time(1_000_000))];
    let mut plan = plan(topology, flows);
    plan.transports = tcp_only(dctcp());
    plan.switches[0].marking = Some(step(Limit::Bytes(8_000)));
    plan.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(20_000), drop_when: Compare::Above };
    plan.record.ports = Some(PortSeries { interval: Span::from_us(20), nodes: vec![8, 9, 10, 11] });
    plan.run.until = Some(Time(400_000_000));
    plan
}

#[test]
fn guests_share_queues_with_flows_and_runs_repeat() {
    let Ran { output, arrivals: log, lost, .. } = same_with_guests("plain", &fabric());
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
    let Ran { output, .. } = same_with_guests("losses, also on access links", &lossy);
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
    // Little memory, so that the leaves pause their hosts, too.
    let Ran { output, pauses, .. } = same_with_guests("lossless", &lossless);
    assert_eq!(output.counters.dropped_packets, 0);
    assert!(pauses.iter().any(|pause| pause.until > pause.at), "{pauses:?}");
    assert!(pauses.iter().any(|pause| pause.until == pause.at), "{pauses:?}");
    lossless.hosts[0].honours_pause = false;
    assert_eq!(same_with_guests("hosts that ignore PAUSE", &lossless).pauses, []);
}

/// The link from the first leaf to its third guest is captured, and all paths are recorded.
#[test]
fn guests_in_captures_and_paths() {
    let mut plan = fabric();
    plan.record.paths = true;
    plan.record.captures = vec![Capture { link: 0, reverse: true }];
    let Ran { output, arrivals, .. } = same_with_guests("captures and paths", &plan);
    let at_first: Vec<_> = arrivals.iter().filter(|(_, host, _)| *host == 0).collect();
    let captured: Vec<_> =
        output.captures[0].iter().filter_map(|record| record.packet.as_ref()).collect();
    assert!(captured.len() >= at_first.len() && captured.len() <= at_first.len() + 3);
    assert!(captured.iter().all(|packet| packet[1] == 96), "the usual number of bytes");
    let arrived_marked = at_first.iter().filter(|(.., marked)| *marked).count();
    let captured_marked = captured.iter().filter(|packet| packet[0] == 1).count();
    assert!(arrived_marked > 0 && captured_marked.abs_diff(arrived_marked) <= 3);
    let carried = |flow| output.carried.iter().any(|carried| carried.flow == flow);
    let paths: Vec<_> = output.paths.iter().filter(|path| carried(path.flow)).collect();
    assert_eq!(paths.iter().map(|path| path.frames).sum::<u64>(), arrivals.len() as u64);
    assert!(paths.iter().all(|path| path.nodes.len() == 3 || path.nodes.len() == 5), "{paths:?}");
}
