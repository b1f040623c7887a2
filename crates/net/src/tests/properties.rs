//! Tests properties that hold in any fabric, with any configuration and any traffic.

use super::determinism::{difference, digest};
use super::scenarios::*;
use crate::congestion::Flavour;
use crate::congestion::cubic::HyStart;
use crate::record::{Output, Status};
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Bytes, Probability, Rate, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

/// A random simulation, and the conditions on which its properties depend.
#[derive(Debug, Clone)]
struct Case {
    plan: Plan,
    threads: u32,
    /// True if nothing is lost permanently and the run does not end before everything has arrived.
    completes: bool,
    /// True if a flow's frames cannot overtake each other.
    in_order: bool,
    /// True if all traffic is lossless and the headroom suffices.
    lossless: bool,
}

#[derive(Debug, Clone, Copy)]
enum Fabric {
    Star(u32),
    LeafSpine(u32, u32, u32),
    FatTree,
}

impl Fabric {
    fn build(self) -> Topology {
        match self {
            Fabric::Star(hosts) => star(hosts),
            Fabric::LeafSpine(leaves, spines, hosts) => leaf_spine(leaves, spines, hosts),
            Fabric::FatTree => fat_tree(4, 1),
        }
    }
}

fn fabric() -> impl Strategy<Value = Topology> {
    let shape = prop_oneof![
        (2..7u32).prop_map(Fabric::Star),
        (2..4u32, 1..4u32, 1..4u32)
            .prop_map(|(leaves, spines, hosts)| Fabric::LeafSpine(leaves, spines, hosts)),
        Just(Fabric::FatTree),
    ];
    // Equal links make ties. A cycle of unequal links makes rates that do not divide evenly, and
    // windows much shorter than most delays.
    let rates = prop_oneof![
        Just(vec![Rate::from_gbps(100)]),
        Just(vec![Rate::from_gbps(100), Rate::from_gbps(25), Rate::from_gbps(40)]),
        Just(vec![Rate::from_gbps(10), Rate(33_333_333_333)]),
        Just(vec![Rate::from_mbps(100)]),
    ];
    let delays = prop_oneof![
        Just(vec![1_000]),
        Just(vec![25, 1_000, 7_777]),
        Just(vec![50_000]),
        Just(vec![1, 500])
    ];
    (shape, rates, delays).prop_map(|(shape, rates, delays)| {
        let mut topology = shape.build();
        mix(&mut topology, &rates, &delays);
        topology
    })
}

/// Every empty buffer accepts at least one of the largest frames.
fn buffer() -> impl Strategy<Value = Buffer> {
    prop_oneof![
        Just(Buffer::Unlimited),
        (9_100..80_000u64).prop_map(|bytes| Buffer::Static {
            per_queue: Limit::Bytes(bytes),
            drop_when: Compare::Above
        }),
        (1..20u32).prop_map(|frames| Buffer::Static {
            per_queue: Limit::Packets(frames),
            drop_when: Compare::Above
        }),
        (2..20u32).prop_map(|frames| Buffer::Static {
            per_queue: Limit::Packets(frames),
            drop_when: Compare::AtOrAbove
        }),
        (20_000..200_000u64, 0.1..4.0f64).prop_map(|(total, alpha)| Buffer::Shared {
            total,
            alpha,
            reserved_per_queue: 9_100
        }),
        voq().prop_map(Buffer::Voq),
    ]
}

fn voq() -> impl Strategy<Value = Voq> {
    let memory = (1..60_000u64, 0..40_000u64, 1..30u32, 30_000..300_000u64, 9_100..40_000u64);
    let bandwidth = prop::option::of((10..400u64).prop_map(Rate::from_gbps));
    let turns =
        (prop_oneof![2 => Just(None), 1 => Just(Some(1)), 1 => Just(Some(3))], 64..6_000u32);
    // The speed-up must not be so low that time-outs of microseconds fill the queues with copies
    // for ever.
    let speedup = || prop::option::weighted(0.25, 0.7..3.0f64);
    let limits = (speedup(), prop::option::weighted(0.25, 4..40u32), speedup());
    (memory, bandwidth, turns, 9_100..90_000u64, prop::option::of(1..20u64), limits).prop_map(
        |(
            (on_chip, evict_bytes, evict_packets, dram, write_buffer),
            dram_bandwidth,
            (ports_per_core, credit),
            cap,
            time,
            (credit_speedup, max_credits, fabric_speedup),
        )| Voq {
            ingress: VoqIngress::Core,
            ports_per_core,
            credit: Some(if max_credits.is_some() { credit.max(1_500) } else { credit }),
            grant_latency: Span::from_ns(cap % 3 * 700),
            credit_speedup,
            max_credits,
            fabric_speedup,
            max_bytes: Some(cap),
            // The slowest links, of 100 Mbps, take 728 us for the largest frame.
            max_time: time.map(|steps| Span::from_us(50 * steps + 730)),
            on_chip,
            evict_bytes,
            evict_packets,
            dram,
            dram_bandwidth,
            write_buffer,
            reserved: 0.3,
            dynamic: 0.55,
            xoff: None,
            xon: None,
        },
    )
}

/// Changes the settings that virtual output queues exclude.
fn with_voq(switch: SwitchConfig) -> SwitchConfig {
    SwitchConfig {
        device_queue: 0,
        cut_through: None,
        queue_length: QueueLength::ThroughTransmission,
        ..switch
    }
}

fn marking() -> impl Strategy<Value = Option<Marking>> {
    let at = prop_oneof![Just(MarkAt::Enqueue), Just(MarkAt::Dequeue)];
    let compare = prop_oneof![Just(Compare::Above), Just(Compare::AtOrAbove)];
    let average = prop::option::of(0.01..1.0f64);
    let spacing = prop_oneof![2 => Just(Spacing::Independent), 1 => Just(Spacing::Uniform), 1 => Just(Spacing::Ns3), 1 => Just(Spacing::Linux)];
    let rules = (any::<bool>(), prop::bool::weighted(0.3), prop::bool::weighted(0.2), spacing);
    let marking = (1..30_000u64, 0..30_000u64, 0.0..1.0f64, at, compare, average, rules).prop_map(
        |(
            kmin,
            width,
            pmax,
            at,
            compare,
            average_weight,
            (drop_incapable, gentle, hard_drop, spacing),
        )| Marking {
            kmin: Limit::Bytes(kmin),
            kmax: Limit::Bytes(kmin + width),
            pmax: Probability::new(pmax).expect("within 0..1"),
            at,
            compare,
            average_weight,
            idle_frame: Some(match (gentle, drop_incapable) {
                (true, _) => Idle::Frame(Span::from_us(3)),
                (false, true) => Idle::Unseen,
                (false, false) => Idle::PortFrame,
            }),
            incapable: if drop_incapable { Incapable::Drop } else { Incapable::Pass },
            gentle,
            spacing,
            hard_drop,
        },
    );
    prop::option::of(marking)
}

/// Targets are those of fast fabrics, because queues are short and delays small here.
fn aqm() -> impl Strategy<Value = Option<Aqm>> {
    let codel = (1..40u64, 5..400u64, any::<bool>()).prop_map(|(target, interval, ecn)| {
        CodelConfig { target: Span::from_us(target), interval: Span::from_us(interval), ecn }
    });
    let fq = (
        codel.clone(),
        64..20_000u32,
        prop_oneof![Just(1u32), Just(2), Just(1_024)],
        5..200u32,
        1..65u32,
    )
        .prop_map(|(codel, quantum, flows, limit, drop_batch)| {
            fq_codel(codel, quantum, flows, limit, drop_batch)
        });
    let pie = (
        (1..40u64, 1..50u64, 0..100u64),
        0.1..500.0f64,
        1.0..5_000.0f64,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|((target, t_update, burst), alpha, beta, ecn, derandomize)| {
            Aqm::Pie(PieConfig {
                target: Span::from_us(target),
                t_update: Span::from_us(t_update),
                alpha,
                beta,
                burst_allowance: Span::from_us(burst),
                ecn,
                ecn_threshold: ecn.then(|| Probability::new(0.1).unwrap()),
                derandomize,
            })
        });
    prop_oneof![3 => Just(None), 1 => codel.prop_map(|c| Some(Aqm::Codel(c))), 1 => fq.prop_map(Some), 1 => pie.prop_map(Some)]
}

fn scheduling() -> impl Strategy<Value = Scheduling> {
    let weight = prop_oneof![3 => (1..20u32).prop_map(Service::Weight), 1 => Just(Service::Strict)];
    let percent =
        prop_oneof![3 => (1..100u8).prop_map(Service::Bandwidth), 1 => Just(Service::Strict)];
    let service =
        prop_oneof![prop::collection::vec(weight, 2..9), prop::collection::vec(percent, 2..9)];
    let classes = (service, prop::array::uniform8(0..8u8), 64..20_000u32).prop_map(
        |(service, queues, quantum)| {
            let of_priority = queues.map(|queue| queue % service.len() as u8);
            Scheduling::Classes(Classes { of_priority, service, quantum })
        },
    );
    prop_oneof![2 => Just(Scheduling::One), 1 => (2..9u8).prop_map(|queues| Scheduling::Priorities { queues }), 2 => classes]
}

/// Individual settings of queues: a limit and marking, within the switch's buffer.
fn own_queues() -> impl Strategy<Value = Option<Vec<(Option<Limit>, Option<Marking>)>>> {
    let limit = prop::option::of(prop_oneof![
        (9_100..50_000u64).prop_map(Limit::Bytes),
        (1..20u32).prop_map(Limit::Packets)
    ]);
    prop::option::weighted(0.4, prop::collection::vec((limit, marking()), 8))
}

fn switch_config() -> impl Strategy<Value = SwitchConfig> {
    let cut_through = prop_oneof![2 => Just(None), 1 => (14..200u16).prop_map(Some)];
    let balance = prop_oneof![
        2 => Just(Balance::default()),
        1 => Just(Balance::Spray(SprayConfig {})),
        3 => prop::sample::select(super::balance::balancers()).prop_map(|(_, balance)| balance),
    ];
    let hash =
        prop_oneof![Just(RouteHash::OwnSeed), Just(RouteHash::SameSeed), Just(RouteHash::Murmur3)];
    let length = prop_oneof![2 => Just(QueueLength::ThroughTransmission), 1 => Just(QueueLength::BeforeTransmission), 1 => Just(QueueLength::ThroughStart)];
    let latency = prop_oneof![Just(Span::ZERO), Just(Span::from_ns(450))];
    let device_queue = prop_oneof![4 => Just(0u32), 1 => Just(1), 1 => 2..8u32];
    (
        buffer(),
        marking(),
        aqm(),
        scheduling(),
        cut_through,
        (balance, hash),
        length,
        (latency, device_queue, own_queues()),
    )
        .prop_map(
            |(
                buffer,
                marking,
                aqm,
                scheduling,
                cut_through,
                (balance, hash),
                queue_length,
                (latency, device_queue, own),
            )| {
                // FQ-CoDel does its own scheduling.
                let scheduling = if matches!(
                    (&aqm, &scheduling),
                    (Some(Aqm::FqCodel(_)), Scheduling::Classes(_))
                ) {
                    Scheduling::One
                } else {
                    scheduling
                };
                let switch = SwitchConfig {
                    own: match (own, scheduling.queues()) {
                        (Some(own), queues @ 2..) => (own.into_iter().take(queues as usize))
                            .map(|(limit, marking)| QueueConfig {
                                buffer: buffer.clone(),
                                limit,
                                marking: marking.filter(|_| aqm.is_none()),
                            })
                            .collect(),
                        _ => Vec::new(),
                    },
                    buffer,
                    // Marking and AQM exclude each other.
                    marking: marking.filter(|_| aqm.is_none()),
                    scheduling,
                    aqm,
                    device_queue,
                    cut_through,
                    latency,
                    balance,
                    hash,
                    queue_length,
                    ..switch()
                };
                if matches!(switch.buffer, Buffer::Voq(_)) { with_voq(switch) } else { switch }
            },
        )
}

fn cubic(flavour: Flavour, hystart: HyStart) -> Just<(CongestionControl, EcnMode)> {
    let (tick, mss) = (Some(Span::from_ms(4)), 1460);
    let config = CubicConfig {
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        tcp_friendly: true,
        hystart,
        flavour,
        tick,
        mss,
        paced: false,
    };
    Just((CongestionControl::Cubic(config), EcnMode::Classic))
}

/// A congestion control, and how it reacts to marks.
fn control() -> impl Strategy<Value = (CongestionControl, EcnMode)> {
    let dctcp = |gain, initial_alpha| {
        let config = DctcpConfig { gain, initial_alpha };
        Just((CongestionControl::Dctcp(config), EcnMode::Dctcp))
    };
    let bbr = BbrConfig {
        flavour: Flavour::Ns3,
        probe_rtt_interval: Span::from_us(200),
        probe_rtt_time: Span::from_us(20),
        send_quantum: Some(1),
    };
    let htcp = HtcpConfig { rtt_scaling: true, bandwidth_switch: true, tick: Span::from_ms(4) };
    prop_oneof![
        Just((newreno(), EcnMode::Off)),
        Just((newreno(), EcnMode::Classic)),
        Just((rfc5681(), EcnMode::Classic)),
        dctcp(0.0625, 1.0),
        dctcp(0.5, 0.0),
        cubic(Flavour::Linux, HyStart::Linux),
        cubic(Flavour::Ns3, HyStart::Ns3),
        cubic(Flavour::Linux, HyStart::Plusplus),
        Just((CongestionControl::Bbr(bbr), EcnMode::Off)),
        Just((CongestionControl::Htcp(htcp), EcnMode::Classic)),
    ]
}

fn receive() -> impl Strategy<Value = Receive> {
    let buffer = (2_000..100_000u64, 1..5u64, 64..=256u32).prop_map(|(initial, times, share)| {
        let (initial, most) = (Bytes(initial), Bytes(times * initial));
        Receive::Buffer(ReceiveBuffer { initial, most, share })
    });
    prop_oneof![
        3 => Just(Receive::Unlimited),
        1 => (1..100_000u64).prop_map(|bytes| Receive::Window(Bytes(bytes))),
        1 => buffer,
    ]
}

/// Enlarges a buffer to two segments, as validation requires.
fn for_two_segments(receive: Receive, mss: u16) -> Receive {
    let Receive::Buffer(buffer) = receive else { return receive };
    let least = 512 * mss as u64 / buffer.share as u64 + 1;
    let initial = Bytes(buffer.initial.0.max(least));
    let most = Bytes(buffer.most.0.max(initial.0));
    Receive::Buffer(ReceiveBuffer { initial, most, ..buffer })
}

/// TCP of which every option is on or off.
fn options() -> impl Strategy<Value = TcpConfig> {
    any::<[bool; 10]>().prop_map(
        |[
            linux,
            proportional_reduction,
            tail_probe,
            undo,
            handshake,
            pacing,
            compression,
            reader,
            tick,
            estimator,
        ]| TcpConfig {
            send: linux.then_some(SendBuffer { initial: Bytes(16 << 10), most: Bytes(20_000) }),
            reader: reader
                .then_some(Reader::Turns { read: Span::from_us(40), sleep: Span::from_us(150) }),
            manner: if tick != linux { Manner::Ns3 } else { Manner::Linux },
            proportional_reduction,
            tail_probe,
            undo,
            idle_restart: linux,
            sack_compression: compression.then_some(SackCompression {
                part: 20,
                most: Span::from_us(30),
                segments: 5,
            }),
            handshake,
            metrics: if undo { Metrics::Full } else { Metrics::Off },
            pacing: pacing.then_some(Pacing {
                most: None,
                slow_start_percent: 200,
                avoidance_percent: 120,
            }),
            small_queues: linux,
            kernel: linux,
            burst: if linux {
                Burst::Linux
            } else {
                Burst::Segments(if estimator { 4 } else { 1 })
            },
            tick: if tick { Span::from_us(10) } else { Span::ZERO },
            timer_wheel: if undo { TimerWheel::Cascading } else { TimerWheel::NonCascading },
            estimator: if estimator { Estimator::Linux } else { Estimator::Rfc6298 },
            granularity: if tick { Span::from_us(5) } else { Span::ZERO },
            min_rto_on_variance: linux,
            max_rto: Span::from_ms(5),
            ..tcp()
        },
    )
}

fn tcp_config() -> impl Strategy<Value = TcpConfig> {
    let mss =
        prop_oneof![4 => Just(1460u16), 1 => Just(1u16), 1 => Just(8_960u16), 1 => 100..2_000u16];
    // (initial, maximum)
    let windows = prop_oneof![
        3 => Just((10, None)),
        1 => Just((1, Some(1))),
        1 => Just((2, Some(5))),
        1 => Just((100_000, None)),
        1 => (1..40u32).prop_map(|w| (w, None)),
    ];
    let recovery = prop_oneof![1 => Just(Recovery::Sack), 1 => Just(Recovery::NewReno), 2 => Just(Recovery::Rack)];
    let threshold =
        prop_oneof![3 => Just(Some(3)), 1 => Just(None), 1 => (1..40u32).prop_map(Some)];
    let delayed = prop::option::of((1..11u32, 0..300u64).prop_map(|(segments, us)| DelayedAck {
        segments,
        timeout: Span::from_us(us),
        quick: segments % 4 * 5,
    }));
    // Time-outs are tiny, as in data centres, or as in the RFC.
    let timeouts = prop_oneof![
        Just((Span::from_ns(900), Span::from_us(2))),
        Just((Span::from_us(200), Span::from_ms(1))),
        Just((Span::from_ms(5), Span::from_ms(5)))
    ];
    (control(), mss, windows, receive(), recovery, threshold, delayed, timeouts, options())
        .prop_map(
            |(
                (congestion, ecn),
                mss,
                (initial_window, max_window),
                receive,
                recovery,
                dupack_threshold,
                delayed_ack,
                (min_rto, initial_rto),
                options,
            )| {
                let grow = |send| SendBuffer { most: Bytes(20_000 << (mss % 8)), ..send };
                TcpConfig {
                    congestion,
                    ecn,
                    mss,
                    initial_window,
                    max_window,
                    receive: for_two_segments(receive, mss),
                    send: options.send.map(grow),
                    reader: options.reader.filter(|_| matches!(receive, Receive::Buffer(_))),
                    recovery,
                    dupack_threshold,
                    delayed_ack,
                    min_rto,
                    initial_rto,
                    ..options
                }
            },
        )
}

fn rdma_config() -> impl Strategy<Value = RdmaConfig> {
    let recovery = prop_oneof![
        1 => (100..4_000u64).prop_map(|rto| RdmaRecovery::GoBackN { rto: Span::from_us(rto) }),
        1 => (prop::option::of(3_000..100_000u64), 0..5u32, 50..400u64, any::<bool>()).prop_map(|(bdp, few, rto, ns3)| {
            RdmaRecovery::Irn(Irn { bdp, few, rto_low: Span::from_us(rto), rto_high: Span::from_us(2 * rto), timeouts: true, ns3 })
        }),
    ];
    let cut = prop_oneof![Just(None), Just(Some(Span::from_us(4)))];
    let dcqcn =
        (cut, 1..60u64, 2..400u64, prop::option::of(5_000..1_000_000u64), 1..6u32, any::<bool>())
            .prop_map(
                |(decrease_period, alpha, increase, byte_counter, fast_recovery, clamp_target)| {
                    DcqcnConfig {
                        decrease_period,
                        alpha_period: Span::from_us(alpha),
                        increase_period: Span::from_us(increase),
                        byte_counter,
                        fast_recovery,
                        clamp_target,
                        ..dcqcn()
                    }
                },
            );
    let control = prop_oneof![1 => Just(RateControl::None), 4 => dcqcn.prop_map(RateControl::Dcqcn), 1 => Just(RateControl::Timely(timely())), 1 => Just(RateControl::Swift(swift())), 1 => Just(RateControl::Hpcc(hpcc()))];
    let window = prop_oneof![
        3 => Just(RdmaWindow::None),
        1 => prop::option::of(2_000..50_000u64).prop_map(RdmaWindow::Fixed),
        1 => prop::option::of(2_000..50_000u64).prop_map(RdmaWindow::Scaled)
    ];
    let cnp = prop_oneof![
        Just(Cnp::Ack),
        (1..60u64, 0..3u64).prop_map(|(us, late)| Cnp::Packet {
            interval: Span::from_us(us),
            delay: Span::from_us(20 * late)
        })
    ];
    (
        recovery,
        control,
        window,
        cnp,
        any::<bool>(),
        prop::option::of(0..8u8),
        prop_oneof![Just(1_000u16), 400..1_460u16],
    )
        .prop_map(
            |(recovery, control, window, cnp, cnp_out_of_order, ack_priority, payload)| {
                RdmaConfig {
                    payload,
                    recovery,
                    control,
                    window,
                    cnp,
                    entropy: if cnp == Cnp::Ack && cnp_out_of_order {
                        Entropy::Reps(Reps { cache: 4, freeze: None, explore: 16 })
                    } else {
                        Entropy::Flow
                    },
                    cnp_out_of_order,
                    ack_priority,
                    ..rdma()
                }
            },
        )
}

/// Transports 0 and 1 are TCP, 2 is a datagram source, 3 is RDMA (but see `by_urgency` and
/// `by_granted_rates`).
fn flows(hosts: u32) -> impl Strategy<Value = Vec<Flow>> {
    let one = (
        0..hosts,
        1..hosts,
        1..60_000u64,
        0..20u64,
        0..8u8,
        prop_oneof![4 => Just(0u16), 3 => Just(1), 1 => Just(2), 4 => Just(3)],
    );
    let incast = (0..hosts, 1..40_000u64, 0..20u64, 2..60usize);
    (prop::collection::vec(one, 1..25), prop::option::of(incast)).prop_map(
        move |(random, incast)| {
            let mut flows: Vec<Flow> = random
                .into_iter()
                .map(|(src, step, bytes, at, priority, transport)| {
                    // Few starting times make ties.
                    Flow {
                        priority,
                        transport,
                        ..flow(0, src, (src + step) % hosts, bytes, Time::from_ns(at * 2_000))
                    }
                })
                .collect();
            if let Some((dst, bytes, at, count)) = incast {
                // Several of the flows are between the same two hosts.
                flows.extend((0..count as u32).map(|i| {
                    flow(
                        0,
                        (dst + 1 + i % (hosts - 1)) % hosts,
                        dst,
                        bytes,
                        Time::from_ns(at * 2_000),
                    )
                }));
            }
            numbered(flows)
        },
    )
}

/// Disturbances of links and of the run: (loss, a link that goes down, end, sampling interval,
/// closed loop).
type Disturbance = (Option<f64>, Option<Outage>, Option<u64>, Option<u64>, bool);
/// A link, the start and the length of its outage, and the time to detect it, in ns.
type Outage = (prop::sample::Index, u64, u64, u64);

fn disturbance() -> impl Strategy<Value = Disturbance> {
    (
        prop_oneof![4 => Just(None), 1 => (0.0..0.1f64).prop_map(Some), 1 => Just(Some(0.5))],
        prop::option::weighted(
            0.2,
            (any::<prop::sample::Index>(), 100..50_000u64, 1..100_000u64, 0..20_000u64),
        ),
        prop::option::weighted(0.4, 1..120_000u64),
        prop::option::weighted(0.3, 300..200_000u64),
        any::<bool>(),
    )
}

/// A memory management unit, with or without flow control: the rules, the shared memory, lossless
/// priorities, headroom (too small or sufficient), (duration of a pause, repeat at half time, hosts
/// obey pauses), cells.
type Managed = (Rules, u64, u8, Option<u64>, (u16, bool, bool), Option<u16>);

fn managed() -> impl Strategy<Value = Option<Managed>> {
    let alpha = || prop_oneof![Just(0.0625), Just(0.25), Just(1.0), 0.02..4.0f64];
    let sonic = (
        alpha(),
        0..10_000u64,
        prop::option::of(1.0..4.0f64),
        alpha(),
        0..12_000u64,
        0..6_000u64,
        0..6_000u64,
        prop::bool::weighted(0.3),
    )
        .prop_map(
            |(alpha, reserved, lossy_ingress_alpha, lossy_alpha, lossy, xon, xon_offset, pool)| {
                Rules::Sonic(SonicRules {
                    alpha,
                    reserved,
                    lossy_ingress_alpha,
                    lossy_alpha,
                    queue_reserved: 9_500,
                    lossy_pool: Some(20_000 + 10 * lossy),
                    // The pool does not suffice for all groups at once.
                    headroom_pool: pool.then_some(40_000),
                    xon,
                    xon_offset,
                    own: if lossy % 2 == 0 { Box::default() } else { Box::new(own_shares(lossy)) },
                })
            },
        );
    let conweave = alpha().prop_map(|ingress_alpha| {
        Rules::Conweave(ConweaveRules { ingress_alpha, egress_alpha: 1.0, mtu: 1_048 })
    });
    let hpcc = (0..2u8, 0..10_000u64, 0..6_000u64).prop_map(|(shift, reserved, resume_offset)| {
        Rules::Hpcc(HpccRules { shift, nic_rate: Rate::from_gbps(25), reserved, resume_offset })
    });
    let rules = prop_oneof![3 => sonic, 1 => conweave, 1 => hpcc];
    let priorities = prop_oneof![1 => Just(0u8), 2 => Just(0b110u8), 3 => Just(0xff_u8)];
    let headroom = prop_oneof![1 => (0..40_000u64).prop_map(Some), 2 => Just(None)];
    let pause =
        (prop_oneof![Just(u16::MAX), 1..2_000u16], any::<bool>(), prop::bool::weighted(0.8));
    prop::option::weighted(
        0.5,
        (
            rules,
            20_000..200_000u64,
            priorities,
            headroom,
            pause,
            prop_oneof![Just(None), Just(Some(256u16))],
        ),
    )
}

/// Reserves hold the largest frame, so that everything arrives in the end.
fn own_shares(from: u64) -> OwnShares {
    let mut own = OwnShares::default();
    let reserved = Some(9_500);
    own.groups[0] = GroupShare { alpha: Some(0.125), limit: None, reserved };
    own.groups[2] = GroupShare { alpha: None, limit: Some(9_500 + from), reserved };
    own.queues[1] = QueueShare { alpha: Some(0.0625), reserved };
    own.queues[2] = QueueShare { alpha: Some(3.0), reserved };
    own
}

/// Gives the plan's switches this memory. Returns whether nothing can be lost at ingress.
fn set_memory(
    plan: &mut Plan,
    (rules, shared, priorities, headroom, (quanta, at_half, honours), cell): Managed,
) -> bool {
    let delay = |link: &Link| link.delay.0 + plan.hosts[0].delay.0 + plan.switches[0].latency.0;
    // The headroom is four of the largest frames, plus the data in flight in both directions. Cells
    // of 256 B take at most six times the bytes of a frame of 40 B.
    let needed = |link: &Link| {
        40_000
            + (2 * delay(link) as u128 * link.rate.0 as u128 / 8_000_000_000_000) as u64
            + crate::queue::flowcontrol::response_bytes(link.rate)
    };
    let enough = plan.topology.links.iter().map(needed).max().expect("links")
        * if cell.is_some() { 7 } else { 1 };
    let lossless = headroom.is_none()
        && priorities == 0xff
        && honours
        && match &rules {
            Rules::Sonic(rules) => rules.headroom_pool.is_none(),
            Rules::Conweave(_) => false,
            Rules::Hpcc(_) => true,
        };
    let switch = &mut plan.switches[0];
    switch.device_queue = 0;
    if switch.queue_length == QueueLength::ThroughStart {
        switch.queue_length = QueueLength::BeforeTransmission;
    }
    switch.pfc = (priorities != 0).then_some(Pfc {
        priorities,
        headroom: Headroom::Bytes(headroom.unwrap_or(enough)),
        pause: PauseTime::Quanta(quanta),
        refresh: if at_half { Refresh::AtHalf } else { Refresh::OnArrival },
        response: (quanta % 2 == 0).then_some(Span::from_ns(quanta as u64)),
        deadlock_after: Some(Span::from_us(40)),
        ..pfc(priorities)
    });
    switch.honours_pause = switch.pfc.is_some();
    plan.hosts[0].honours_pause = honours;
    switch.buffer = Buffer::Mmu(Mmu { total: 0, cell, bypass: 0, rules: rules.clone() });
    let aside = (plan.topology.hosts..plan.topology.nodes.len() as u32)
        .map(|node| crate::reserved_memory(plan, node))
        .map(|s| s.headroom + s.reserved);
    let total = aside.max().expect("switches") + shared;
    plan.switches[0].buffer = Buffer::Mmu(Mmu { total, cell, bypass: 0, rules });
    // A pause that expires before it is repeated does not protect from losses, and queues with
    // their own limits can lose frames.
    let limited =
        plan.hosts[0].queue.is_some() || plan.switches[0].own.iter().any(|own| own.limit.is_some());
    lossless && at_half && quanta == u16::MAX && !limited && plan.switches[0].aqm.is_none()
}

/// Gives the plan virtual output queues that pause, or that only obey pauses.
fn deep_pauses(plan: &mut Plan, seed: u64) {
    let priorities = [0xff, 0b110, 0b1][(seed / 3 % 3) as usize];
    let pause = if (seed / 9).is_multiple_of(3) {
        PauseTime::Quanta(1 + (seed / 27 % 3_000) as u16)
    } else {
        PauseTime::Quanta(u16::MAX)
    };
    plan.switches[0].pfc = Some(Pfc {
        headroom: Headroom::Bytes(seed / 5 % 200_000),
        pause,
        refresh: if (seed / 7).is_multiple_of(2) { Refresh::AtHalf } else { Refresh::OnArrival },
        deadlock_after: Some(Span::from_us(40)),
        ..pfc(priorities)
    });
    plan.switches[0].honours_pause = !(seed / 11).is_multiple_of(4);
    plan.hosts[0].honours_pause = !(seed / 13).is_multiple_of(4);
}

/// Returns a transport with this TCP on each of several subflows.
fn over_several_paths(tcp: TcpConfig, seed: u64) -> TransportConfig {
    let coupling = [
        None,
        Some(Coupling::Lia),
        Some(Coupling::Olia),
        Some(Coupling::Balia),
        Some(Coupling::Wvegas),
        Some(Coupling::QueueAware { segments: 4 }),
    ];
    let congestion = coupling[(seed / 5 % 6) as usize]
        .map_or(tcp.congestion.clone(), CongestionControl::Coupled);
    TransportConfig::Mptcp(MptcpConfig {
        receive: tcp.receive,
        tcp: TcpConfig { congestion, receive: Receive::Unlimited, reader: None, ..tcp },
        manager: if seed.is_multiple_of(2) {
            PathManager::DiffPorts(1 + (seed / 30 % 4) as u8)
        } else {
            PathManager::FullMesh(4)
        },
        scheduler: [PathScheduler::LowestRtt, PathScheduler::RoundRobin, PathScheduler::Redundant]
            [(seed / 120 % 3) as usize],
        opportunistic: (seed / 360).is_multiple_of(2),
    })
}

/// Puts pFabric's queues everywhere. Transport 0 becomes pFabric's, or the TCP that it is compared
/// with.
fn by_urgency(plan: &mut Plan, seed: u64) {
    let limit =
        [None, Some(Limit::Bytes(20_000)), Some(Limit::Packets(8))][(seed / 7 % 3) as usize];
    let switch = &mut plan.switches[0];
    (switch.buffer, switch.marking, switch.scheduling, switch.device_queue) =
        (Buffer::Unlimited, None, Scheduling::One, 0);
    switch.aqm = Some(Aqm::Pfabric(limit));
    switch.own.clear();
    if switch.queue_length == QueueLength::ThroughStart {
        switch.queue_length = QueueLength::BeforeTransmission;
    }
    let host = &mut plan.hosts[0];
    host.qdisc = None;
    (host.queue, host.scheduling, host.aqm) =
        (None, Scheduling::One, (seed / 21).is_multiple_of(2).then_some(Aqm::Pfabric(limit)));
    let TransportConfig::Tcp(tcp) = &plan.transports[0] else { unreachable!("transport 0 is TCP") };
    let config = match seed / 42 % 3 {
        0 => ns2_tcp(newreno()),
        1 => ns2_tcp(CongestionControl::Dctcp(DctcpConfig { gain: 0.0625, initial_alpha: 0.0 })),
        _ => Pfabric { pooled: (seed / 126).is_multiple_of(2), ..pfabric() },
    };
    // The longest paths take milliseconds.
    let tcp = TcpConfig {
        mss: tcp.mss,
        min_rto: Span::from_ms(1),
        initial_rto: Span::from_ms(1),
        max_rto: Span::from_ms(5),
        ..config.tcp
    };
    plan.transports[0] = TransportConfig::Pfabric(Pfabric { tcp, ..config });
    plan.flows
        .iter_mut()
        .filter(|flow| flow.transport == 0)
        .for_each(|flow| flow.connection = None);
}

/// True if a full frame takes longer on the slowest links than many a round trip of faster ones.
fn has_slow_links(plan: &Plan) -> bool {
    plan.topology.links.iter().any(|link| link.rate < Rate::from_gbps(1))
}

/// Makes links grant rates, which transport 3 requests.
fn by_granted_rates(plan: &mut Plan, seed: u64) {
    plan.switches[0].hash = RouteHash::Symmetric;
    let (min_rto, early) = (Span::from_ms(1), (seed / 6).is_multiple_of(2));
    // The interval is not shorter than the time of a full frame. The base rate is not higher than a
    // frame without data in each interval, as by default.
    let (interval, base_rate) = if has_slow_links(plan) {
        (Span::from_ms(1), Rate::from_mbps(1))
    } else {
        (Span::from_us(10), Rate::from_mbps(40))
    };
    plan.transports[3] = match seed / 12 % 2 {
        0 => TransportConfig::Pdq(Pdq {
            min_rto,
            interval,
            early_termination: early,
            dampening: Span::from_us(seed / 24 % 2 * 10),
            ..pdq()
        }),
        _ => TransportConfig::D3(D3 { min_rto, interval, base_rate, quench: early, ..d3() }),
    };
    if (seed / 48).is_multiple_of(2) {
        plan.flows
            .iter_mut()
            .filter(|flow| flow.transport == 3 && flow.id % 3 == 0)
            .for_each(|flow| flow.deadline = Some(Span::from_us(5 + seed % 300)));
    }
}

/// Settings of the hosts (delay, queue of the NIC, scheduling), and of the run (seed, whether flows
/// end with their last byte, threads, gap between frames, RDMA).
type Hosts = (Span, Option<u64>, Scheduling);
type Run = (u64, bool, u32, u16, RdmaConfig);
type Drawn = (
    Topology,
    (SwitchConfig, Option<Managed>),
    TcpConfig,
    TcpConfig,
    Vec<Flow>,
    Disturbance,
    Hosts,
    Run,
);

fn case() -> impl Strategy<Value = Case> {
    let drawn = fabric().prop_flat_map(|topology| {
        let hosts = topology.hosts;
        let host = (
            prop_oneof![Just(Span::ZERO), Just(Span::from_ns(700))],
            prop::option::weighted(0.2, 9_100..100_000u64),
            scheduling(),
        );
        let run = (
            any::<u64>(),
            any::<bool>(),
            prop_oneof![4 => Just(2u32), 1 => Just(3)],
            prop_oneof![Just(0u16), Just(20u16)],
            rdma_config(),
        );
        (
            Just(topology),
            (switch_config(), managed()),
            tcp_config(),
            tcp_config(),
            flows(hosts),
            disturbance(),
            host,
            run,
        )
    });
    drawn.prop_map(assembled)
}

/// Lets links lose frames, and one of them go down.
fn disturb(topology: &mut Topology, loss: Option<f64>, down: Option<Outage>) {
    // Heavy loss occurs only at the hosts. On every link of a long path, it would let nothing
    // through.
    let lossy = if is_heavy(loss) { topology.hosts as usize } else { topology.links.len() };
    lose(&mut topology.links[..lossy], loss.unwrap_or(0.0));
    if let Some((which, from, length, detect)) = down {
        let from = Time::from_ns(from);
        let which = which.index(topology.links.len());
        topology.links[which].down = vec![Down {
            from,
            to: Some(from + Span::from_ns(length)),
            detect: Span::from_ns(detect),
            converge: Span::from_ns(detect % 3 * 7_000),
        }];
    }
}

fn is_heavy(loss: Option<f64>) -> bool {
    loss.is_some_and(|p| p > 0.1)
}

/// Starts another round from a host once all TCP flows to it have ended.
fn close_loop(flows: &mut Vec<Flow>, topology: &Topology) {
    let Some(dst) = flows.iter().find(|f| f.transport != 2).map(|f| f.dst) else { return };
    flows.iter_mut().filter(|f| f.dst == dst && f.transport != 2).for_each(|f| f.group = Some(0));
    let delay = topology.links.iter().map(|l| l.delay).min().expect("links");
    let start = Start::After { group: 0, delay };
    let (id, next) = (flows.len() as i64, (dst + 1) % topology.hosts);
    flows.push(Flow { start, ..flow(id, dst, next, 5_000, Time::ZERO) });
}

/// Lets flows of the first transports between the same two hosts share a connection.
fn share_connections(flows: &mut [Flow], hosts: u32, transports: u16) {
    for flow in flows.iter_mut().filter(|f| {
        f.transport < transports
            && f.src != f.dst
            && f.group.is_none()
            && matches!(f.start, Start::At(_))
    }) {
        flow.connection = Some((flow.src * hosts + flow.dst) * 2 + flow.transport as u32);
        flow.priority = 0;
    }
}

/// Lets some senders stop early.
fn stop_some(flows: &mut [Flow]) {
    for flow in
        flows.iter_mut().filter(|f| f.bytes % 7 == 3 && f.connection.is_none() && f.group.is_none())
    {
        if let Start::At(start) = flow.start {
            flow.stop = start + Span::from_ns(1 + flow.bytes % 40_000);
        }
    }
}

fn host_config((delay, queue, scheduling): Hosts, seed: u64) -> HostConfig {
    let held = scheduling == Scheduling::One && queue.is_none() && seed % 5 < 3;
    let rings = if seed.is_multiple_of(7) { 2 } else { 1 };
    let ring = (!seed.is_multiple_of(4)).then_some(1 + seed % 20_000);
    let kind = ["fq_codel", "fq", "pfifo"][(seed % 3) as usize];
    HostConfig {
        delay,
        queue: queue.map(Limit::Bytes),
        scheduling,
        timing: (seed % 3 == 1).then(timing).flatten(),
        qdisc: held.then(|| qdisc(kind, ring, rings)),
        ..host()
    }
}

fn record(plan: &mut Plan, interval: Option<Span>, seed: u64) {
    let nodes = all_nodes(plan);
    let record = &mut plan.record;
    record.ports = interval.map(|interval| PortSeries { interval, nodes });
    record.paths = seed.is_multiple_of(3);
    record.senders = interval.filter(|_| seed.is_multiple_of(3));
    record.imbalance =
        interval.filter(|_| seed.is_multiple_of(2)).map(|interval| Span(2 * interval.0));
}

/// Sets the memory of the switches, and the queues and transports that need particular ones.
/// Returns whether nothing can be lost at ingress, and whether retransmissions may go on for ever.
fn set_queues(plan: &mut Plan, managed: Option<Managed>, seed: u64) -> (bool, bool) {
    let pfabric =
        seed % 7 == 3 && managed.is_none() && !matches!(plan.switches[0].buffer, Buffer::Voq(_));
    let lossless = managed.is_some_and(|managed| set_memory(plan, managed));
    if pfabric {
        by_urgency(plan, seed);
    }
    if let Buffer::Voq(voq) = &mut plan.switches[0].buffer
        && seed % 3 == 1
    {
        (voq.dram, voq.xoff, voq.xon) = (200_000_000, Some(9_100 + seed % 60_000), Some(5_000));
        deep_pauses(plan, seed);
    }
    if seed % 6 == 5 && plan.switches[0].balance == Balance::default() {
        by_granted_rates(plan, seed);
    }
    // Go-back-N retransmits from the gap on at once, and may lose the same frame of a short queue
    // for ever.
    let repeats = pfabric
        && matches!(&plan.transports[3], TransportConfig::Rdma(rdma) if matches!(rdma.recovery, RdmaRecovery::GoBackN { .. }));
    (lossless, repeats)
}

fn assembled(
    (
        mut topology,
        (switch, managed),
        first,
        second,
        mut flows,
        (loss, down, until, sampling, closed),
        hosts,
        (seed, last_byte, threads, gap, rdma),
    ): Drawn,
) -> Case {
    disturb(&mut topology, loss, down);
    if closed {
        close_loop(&mut flows, &topology);
    }
    let several = seed % 5 == 2 && second.manner == Manner::Linux;
    if seed % 4 == 1 {
        share_connections(&mut flows, topology.hosts, if several { 1 } else { 2 });
    }
    stop_some(&mut flows);
    let heavy = is_heavy(loss);
    let most = match (first.mss.min(second.mss), heavy) {
        (1, _) => 150,
        (_, true) => 6_000,
        _ => 60_000,
    };
    flows.iter_mut().filter(|f| f.transport != 2).for_each(|f| f.bytes = 1 + f.bytes % most);
    let mut plan = plan(topology, flows);
    let in_order = !several
        && switch.balance == Balance::default()
        && plan.topology.links.iter().all(|l| l.down.is_empty());
    plan.switches = vec![switch];
    let slow = has_slow_links(&plan);
    if let Balance::Glb(glb) = &mut plan.switches[0].balance
        && slow
    {
        // Reports every 4 us would use all capacity of such links.
        glb.sampling_interval = Span::from_us(100);
    }
    plan.hosts = vec![host_config(hosts, seed)];
    let (rate, ecn_capable) = (Some(Rate::from_gbps(20)), seed.is_multiple_of(2));
    plan.transports = vec![
        TransportConfig::Tcp(first),
        if several { over_several_paths(second, seed) } else { TransportConfig::Tcp(second) },
        TransportConfig::Datagram(Datagram { rate, payload: 1460, ecn_capable }),
        TransportConfig::Rdma(rdma),
    ];
    plan.wire.gap = gap;
    plan.run.seed = seed;
    plan.run.fct_end = if last_byte { FctEnd::LastByte } else { FctEnd::LastAck };
    // Without an end, there may be long intervals between time-outs.
    let interval = sampling
        .filter(|_| until.is_some() || !heavy)
        .map(|ns| Span::from_ns(if until.is_some() { ns } else { 500_000 + ns }));
    record(&mut plan, interval, seed);
    let (lossless, repeats) = set_queues(&mut plan, managed, seed);
    // The end ensures that data that wait for ever show as an unfinished flow, not as a test that
    // hangs.
    let latest = if repeats { Time::from_ns(20_000_000) } else { Time(Span::from_s(10_000).0) };
    plan.run.until = Some(until.map_or(latest, Time::from_ns));
    Case { plan, threads, completes: until.is_none() && !repeats, in_order, lossless }
}

fn run_with(plan: &Plan, engine: EngineKind, threads: u32) -> Output {
    let mut plan = plan.clone();
    plan.run.engine = engine;
    plan.run.threads = threads;
    // This call also checks conservation, memory and the sum of the parts.
    run(&plan, &Progress::default()).expect("a valid plan")
}

fn same_from_both_engines(case: &Case, output: &Output) -> Result<(), TestCaseError> {
    let expected = digest(output);
    for threads in [1, case.threads] {
        // Workers meet after every window, so long runs with short windows are left to the
        // scenarios of `determinism`.
        if threads > 1 && output.engine.events > 60_000 {
            continue;
        }
        let got = digest(&run_with(&case.plan, EngineKind::WindowLog, threads));
        if let Some(difference) = difference(&got, &expected) {
            return Err(TestCaseError::fail(format!("{threads} threads:\n{difference}")));
        }
    }
    Ok(())
}

fn nothing_is_faster_than_ideal(case: &Case, output: &Output) -> Result<(), TestCaseError> {
    for (flow, record) in case.plan.flows.iter().zip(&output.flows) {
        let (Some(start), Some(finish)) = (record.start, record.finish) else { continue };
        let took = finish.since(start);
        prop_assert!(
            took >= record.ideal,
            "flow {}: {took} is less than the ideal {}",
            flow.id,
            record.ideal
        );
    }
    Ok(())
}

fn everything_arrives(case: &Case, output: &Output) -> Result<(), TestCaseError> {
    let both = || case.plan.flows.iter().zip(&output.flows);
    for (flow, record) in both() {
        let given_up = (flow.deadline.is_some() || flow.stop != Flow::ENDLESS)
            && record.status == Status::Terminated;
        // Flows that follow a group with a terminated flow never start.
        let follows = matches!(flow.start, Start::After { group, .. } if both().any(|(f, r)| f.group == Some(group) && r.status == Status::Terminated));
        if flow.transport != 2 && !given_up && !follows {
            prop_assert_eq!(record.status, Status::Finished, "flow {}: {:?}", flow.id, record);
        }
    }
    prop_assert_eq!(output.counters.in_flight_packets, 0);
    prop_assert_eq!(output.counters.in_flight_bytes, 0);
    Ok(())
}

fn buffers_hold(case: &Case, output: &Output) -> Result<(), TestCaseError> {
    let switch = &case.plan.switches[0];
    let several = switch.scheduling.queues() > 1;
    // Series count the frame in transmission and the device queue, even if the buffer does not.
    let beyond =
        if switch.queue_length != QueueLength::ThroughTransmission || switch.device_queue > 0 {
            1 + switch.device_queue as u64
        } else {
            0
        };
    let sending = beyond * 9_100;
    let of_switches = output.ports.iter().filter(|r| r.node >= case.plan.topology.hosts);
    if let Buffer::Static { per_queue: Limit::Bytes(limit), .. } = switch.buffer {
        for r in of_switches.clone().filter(|r| !several || r.queue >= 0) {
            prop_assert!(
                r.queue_bytes <= r.queue_bytes_max && r.queue_bytes_max <= limit + sending,
                "{r:?}"
            );
        }
    }
    if let Buffer::Voq(Voq { max_bytes: Some(limit), dram, on_chip, .. }) = switch.buffer {
        // Without priorities and cores, the port is the queue. Lossless queues have no cap.
        for r in of_switches
            .clone()
            .filter(|r| switch.pfc.is_none() && (r.queue >= 0 || switch.queues(8) == 1))
        {
            prop_assert!(r.queue_bytes_max <= limit, "{r:?}");
        }
        let mut in_use = std::collections::BTreeMap::new();
        for r in of_switches.clone().filter(|r| r.queue == -1) {
            *in_use.entry((r.time, r.node)).or_insert(0) += r.queue_bytes;
        }
        prop_assert!(in_use.values().all(|bytes| *bytes <= on_chip + dram));
    }
    if let Buffer::Shared { total, .. } = switch.buffer {
        let mut in_use = std::collections::BTreeMap::new();
        for r in of_switches.filter(|r| r.queue == -1) {
            prop_assert!(r.queue_bytes_max <= total + sending, "{r:?}");
            *in_use.entry((r.time, r.node)).or_insert(0) += r.queue_bytes.saturating_sub(sending);
        }
        prop_assert!(in_use.values().all(|bytes| *bytes <= total));
    }
    Ok(())
}

fn nothing_overtakes(case: &Case, output: &Output) -> Result<(), TestCaseError> {
    for (flow, record) in case.plan.flows.iter().zip(&output.flows) {
        // Recycled entropies take many paths.
        let one_path = !matches!(&case.plan.transports[flow.transport as usize], TransportConfig::Rdma(rdma) if matches!(rdma.entropy, Entropy::Reps(_)));
        if record.packets_retransmitted == 0 && one_path {
            prop_assert_eq!(record.packets_reordered, 0, "flow {}", flow.id);
        }
    }
    Ok(())
}

/// Runs one of `PARTS` tests with equal shares of the cases, so that they share the cores.
fn any_simulation(part: u64) {
    // A failing case is reported within minutes, even if it is not minimal.
    let mut config =
        Config { failure_persistence: None, max_shrink_time: 120_000, ..Config::default() };
    // Half of proptest's usual number of cases is run. PROPTEST_CASES sets another number, as
    // `make fuzz` does. The seeds are fixed, and PROPTEST_RNG_SEED sets others.
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases /= 2;
    }
    config.cases = config.cases.div_ceil(PARTS as u32);
    config.rng_seed = RngSeed::Fixed(match config.rng_seed {
        RngSeed::Random => 1 + part,
        RngSeed::Fixed(seed) => PARTS * seed + part,
    });
    proptest!(config, |(case in case())| {
        let output = run_with(&case.plan, EngineKind::Classical, 1);
        same_from_both_engines(&case, &output)?;
        nothing_is_faster_than_ideal(&case, &output)?;
        buffers_hold(&case, &output)?;
        if case.completes {
            everything_arrives(&case, &output)?;
        }
        if case.lossless {
            prop_assert_eq!((output.counters.in_discards, output.counters.drops_buffer), (0, 0));
        }
        if case.in_order {
            nothing_overtakes(&case, &output)?;
        }
    });
}

const PARTS: u64 = 16;

parts! {
    any_simulation:
    any_simulation_0 0
    any_simulation_1 1
    any_simulation_2 2
    any_simulation_3 3
    any_simulation_4 4
    any_simulation_5 5
    any_simulation_6 6
    any_simulation_7 7
    any_simulation_8 8
    any_simulation_9 9
    any_simulation_10 10
    any_simulation_11 11
    any_simulation_12 12
    any_simulation_13 13
    any_simulation_14 14
    any_simulation_15 15
}
