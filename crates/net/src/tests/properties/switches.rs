//! Random fabrics and switches.

use super::super::scenarios::*;
use crate::spec::*;
use crate::testing::*;
use afflux_units::{Probability, Rate, Span};
use proptest::prelude::*;

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

pub(super) fn fabric() -> impl Strategy<Value = Topology> {
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

pub(super) fn scheduling() -> impl Strategy<Value = Scheduling> {
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

pub(super) fn switch_config() -> impl Strategy<Value = SwitchConfig> {
    let cut_through = prop_oneof![2 => Just(None), 1 => (14..200u16).prop_map(Some)];
    let balance = prop_oneof![
        2 => Just(Balance::default()),
        1 => Just(Balance::Spray(SprayConfig {})),
        3 => prop::sample::select(super::super::balance::balancers()).prop_map(|(_, balance)| balance),
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
