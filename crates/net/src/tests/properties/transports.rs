//! Random transports.

use crate::congestion::Flavour;
use crate::congestion::cubic::HyStart;
use crate::spec::*;
use crate::testing::*;
use afflux_units::{Bytes, Span};
use proptest::prelude::*;

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
    let dctcp = |gain, initial_alpha, flavour| {
        let config = DctcpConfig { gain, initial_alpha, flavour };
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
        dctcp(0.0625, 1.0, Flavour::Linux),
        dctcp(0.5, 0.0, Flavour::Ns3),
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

pub(super) fn tcp_config() -> impl Strategy<Value = TcpConfig> {
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

pub(super) fn rdma_config() -> impl Strategy<Value = RdmaConfig> {
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

/// Returns a transport with this TCP on each of several subflows.
pub(super) fn over_several_paths(tcp: TcpConfig, seed: u64) -> TransportConfig {
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
