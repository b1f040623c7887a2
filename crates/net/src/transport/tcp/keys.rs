//! Settings of the TCP transport.

use crate::congestion::{self, Congestion, Echo, Flavour, Sender, SlowStart};
use crate::spec::{
    self, Burst, CongestionControl, DelayedAck, EcnMode, Estimator, Manner, Metrics, Pacing,
    Receive, ReceiveBuffer, Recovery, Retries, SackCompression, SendBuffer, TcpConfig, TimerWheel,
};
use crate::transport::key_context::{KeyContext, priority};
use crate::transport::mptcp::keys as mptcp;
use afflux_config::keys::{meaningless, time_within, up_to_a_second};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{
    Auto, Duration, Off, Or, Size, Unlimited, keys, schemars, serde, spelling, words,
};
use afflux_units::{Bytes, Span};

words! {
    /// TCP implementation to follow.
    pub enum Stack {
        /// The RFCs with the fewest parts, for comparison with closed-form results: connections are
        /// open from the start, every segment is acknowledged, losses are detected by RFC 6675, and
        /// there is no receive window, no tail loss probe and no limit on the bytes that wait in
        /// the host.
        Basic,
        /// Linux 6.12 with its default settings.
        Linux,
        /// ns-3's rules where they differ from Linux: SACK by RFC 6675 with proportional rate
        /// reduction, every segment acknowledged, ns-3's CUBIC.
        Ns3,
    }
}

/// Defines the TCP keys, with a table of parameters for each congestion control.
macro_rules! tcp {
    ($($(#[$doc:meta])* $module:ident $name:ident($config:ident): $($machine:ident($held:ty)),+;)+) => {
        keys! {
            /// TCP: byte streams with acknowledgements. `stack` chooses the defaults of the other
            /// keys. Without it they are those of a Linux machine with CUBIC.
            pub struct Keys as "Tcp" => Settings(context: &KeyContext<'_>) of written {
                /// Implementation that sets the defaults of the keys below.
                stack: Stack = "linux";
                /// Congestion control.
                congestion: Congestion = (if stack == Stack::Linux { Congestion::Cubic } else { Congestion::Newreno })
                    "`\"cubic\"`, with `stack = \"basic\"` or `\"ns3\"` `\"newreno\"`";
                /// Payload of a full segment.
                mss: Size as u16 = (context.full()) "`mtu` less the profile's headers (1460 B for `\"ethernet\"`)", check |size, at| context.payload(size, at);
                /// Initial window in segments.
                initial_window: u32 = (congestion.about().initial_window) "10 (RFC 6928; Linux) unless the congestion control has its own",
                    in 1 to 4_294_967_295 as "at least 1 segment";
                /// Window in segments above which the congestion window never grows.
                max_window: Or<Unlimited, u32> = "unlimited", check |most, at| match most.0 {
                    Some(most) if most < initial_window => Err(Wrong::at(at, format!("{most} is less than initial_window = {initial_window}"))),
                    most => Ok(most),
                };
                /// Fixed receive window.
                receive_window: Or<Unlimited, Size> = {(!written.buffers()).then_some(Or::NONE)} "with `stack = \"linux\"` a `receive_buffer` instead, otherwise `\"unlimited\"`",
                    check |window, at| match window.0 {
                        _ if written.buffers() => Err(meaningless(at, "receive_buffer")),
                        Some(Size(window)) if window.0 < u64::from(mss) => Err(Wrong::at(at, format!("\"{window}\" does not hold a segment of {mss} B"))),
                        Some(Size(window)) if window.0 > LARGEST_WINDOW => Err(Wrong::at(at, format!("\"{window}\": TCP announces at most 1 GiB (RFC 7323): write less, or \"unlimited\""))),
                        window => Ok(window.map(|size| size.0)),
                    };
                /// Receive buffer, instead of a fixed `receive_window`. Bytes that have arrived and
                /// are not read yet occupy it (Linux's `SO_RCVBUF`, doubled).
                receive_buffer: Size = {written.buffers().then(|| written.initial_buffer(mss))}
                    "with `stack = \"linux\"` `\"128KiB\"`, or room for two segments if they need more (Linux's `tcp_rmem[1]`); otherwise none",
                    check |Size(initial), at| {
                        let part = written.receive_buffer_share.unwrap_or(0.5);
                        let holds = initial.0 <= 1 << 40 && initial.0 * u64::from(share(part)) / 256 >= 2 * u64::from(mss);
                        let words = || format!("\"{initial}\": its share for payload must hold two segments of {mss} B, and it is at most 1 TiB");
                        // An invalid share is reported at its own key.
                        if holds || !SHARES.contains(&part) { Ok(initial) } else { Err(Wrong::at(at, words())) }
                    };
                /// Largest size of the buffer. It grows with the bytes that the application reads
                /// per round trip (Linux's `tcp_rmem[2]`).
                receive_buffer_max: Size = {receive_buffer.map(|initial| Size(if written.receive_buffer.is_some() { initial } else { initial.max(BUFFER_MAX) }))}
                    "it does not grow; `\"6MiB\"` with `stack = \"linux\"` if neither a `receive_buffer` nor a `receive_window` is written",
                    check |Size(most), at| match receive_buffer {
                        None => Err(Wrong::at(at, UNBUFFERED)),
                        Some(initial) if most < initial || most.0 > 1 << 40 => {
                            Err(Wrong::at(at, format!("\"{most}\": write at least receive_buffer = \"{initial}\", at most 1 TiB")))
                        }
                        Some(_) => Ok(most),
                    };
                /// Fraction of the buffer that payload can take. The rest is the kernel's
                /// bookkeeping.
                receive_buffer_share: f64 = {receive_buffer.map(|_| 0.5)} "0.5", check |part, at| match part {
                    _ if receive_buffer.is_none() => Err(Wrong::at(at, UNBUFFERED)),
                    part if SHARES.contains(&part) => Ok(part),
                    part => Err(Wrong::at(at, format!("found {part}: write a number from 1/256 to 1"))),
                };
                /// Fixed size of the send buffer, which holds the bytes that the application has
                /// handed over and that are not acknowledged (Linux's `SO_SNDBUF`, doubled). As in
                /// Linux, each offload buffer takes 896 bytes of it for bookkeeping, and a full
                /// buffer puts the application to sleep until a third of it is free. Default: none:
                /// the buffer grows up to `send_buffer_max`.
                send_buffer: Size = none, check |Size(size), at| match size.0 {
                    bytes if bytes < u64::from(mss) || bytes > 1 << 40 => Err(Wrong::at(at, format!("\"{size}\": write at least a segment of {mss} B, at most 1 TiB"))),
                    _ => Ok(size),
                };
                /// Largest size of the send buffer on Linux (`tcp_wmem[2]`). The buffer starts at
                /// 16 KiB and grows with the congestion window, so only this maximum limits a
                /// connection. A limited connection carries about two thirds of it per round trip,
                /// because the application sleeps until a third is free.
                send_buffer_max: Or<Unlimited, Size> = {
                    send_buffer.is_none().then_some(if stack == Stack::Linux { Or::some(Size(SEND_MAX)) } else { Or::NONE })
                } "`\"4MiB\"` with `stack = \"linux\"`, otherwise `\"unlimited\"`", check |most, at| match most.0 {
                    _ if send_buffer.is_some() => Err(meaningless(at, "send_buffer")),
                    Some(Size(most)) if most.0 < SEND_LEAST.0 || most.0 > 1 << 40 => Err(Wrong::at(at, format!("\"{most}\": write at least \"16KiB\", at most 1 TiB"))),
                    most => Ok(most.map(|size| size.0)),
                };
                /// The receiving application alternates between reading and sleeping, from the
                /// start of the connection. Needs `receive_buffer`. Default: it reads at once.
                reader: Reader as Option<spec::Reader> = none, check |reader, at| match receive_buffer {
                    None => Err(Wrong::at(at, "needs receive_buffer = \"SIZE\", because only a buffer can fill up")),
                    Some(_) => reader.turns(&at),
                };
                /// Connections are opened by SYN and SYN-ACK, and closed by FIN.
                handshake: bool = (stack != Stack::Basic) "`true`; with `stack = \"basic\"` `false`: they are open from the start";
                /// A connection starts with the slow start threshold of the previous connection to
                /// the same host (Linux's `tcp_no_metrics_save` and `tcp_no_ssthresh_metrics_save`
                /// both 0).
                ssthresh_cache: bool = false;
                /// Loss detection of the sender.
                recovery: Recovery = (if stack == Stack::Linux { Recovery::Rack } else { Recovery::Sack })
                    "`\"rack\"` (RFC 8985) with `stack = \"linux\"`, otherwise `\"sack\"` (RFC 6675)";
                /// Proportional rate reduction (RFC 6937): the window falls to the threshold over a
                /// round trip.
                prr: bool = (stack != Stack::Basic) "`true`, `false` with `stack = \"basic\"`";
                /// Tail loss probes (RFC 8985).
                tail_probe: bool = (stack == Stack::Linux && recovery != Recovery::NewReno) "`true` with `stack = \"linux\"`, otherwise `false`",
                    check |probes, at| match recovery {
                        Recovery::NewReno if probes => Err(Wrong::at(at, "needs selective acknowledgements: recovery = \"rack\" or \"sack\"")),
                        _ => Ok(probes),
                    };
                /// New data after a time-out test whether the time-out was spurious (F-RTO, RFC
                /// 5682), and spurious reductions are undone (RFC 3522).
                undo: bool = (stack == Stack::Linux) "`true` with `stack = \"linux\"`, otherwise `false`";
                /// A connection starts from a smaller window after an idle time longer than the
                /// time-out (Linux's `tcp_slow_start_after_idle`).
                idle_restart: bool = (stack == Stack::Linux) "`true` with `stack = \"linux\"`, otherwise `false`";
                /// Number of duplicate acknowledgements (or SACKed segments above a hole) that
                /// indicate a loss. `"off"`: no fast retransmit, which needs `recovery = "sack"` or
                /// `"newreno"`: RACK finds losses by time, and uses this number only to stop waiting
                /// for reordered segments.
                dupack_threshold: Or<Off, u32> = 3 from "RFC 5681",
                    check |count, at| if count.0 == Some(0) { Err(Wrong::at(at, "found 0: write at least 1, or \"off\"")) } else { Ok(count.0) };
                /// Delayed acknowledgements, or `"off"`: every segment is acknowledged.
                delayed_ack: Or<Off, DelayedAckKeys> = (if stack == Stack::Linux { Or::some(DelayedAckKeys::default()) } else { Or::NONE })
                    "`{}` with `stack = \"linux\"`, otherwise `\"off\"`";
                /// From the fourth duplicate acknowledgement on, at most one is sent per twentieth
                /// of a round trip, and they are at most 1 ms apart (Linux's
                /// `tcp_comp_sack_delay_ns`).
                sack_compression: bool = (stack == Stack::Linux) "`true` with `stack = \"linux\"`, otherwise `false`";
                /// Segments are spaced over the round trip, at a rate of two windows per round trip
                /// in slow start and 1.2 windows later (Linux with `fq`). BBR always paces.
                pacing: bool = false;
                /// Number of segments that leave together, as with segmentation offload. A sender
                /// with outstanding data waits until the window has room for that many, or for a
                /// third of the window. `"auto"`: as Linux, the data of one millisecond, and up to
                /// 64 KB on short paths. The sender then waits only if the next acknowledgement is
                /// near.
                burst: Or<Auto, u32> as Burst = (if stack == Stack::Linux { Or::NONE } else { Or::some(1) }) "`\"auto\"` with `stack = \"linux\"`, otherwise 1",
                    check |burst, at| match burst.0 {
                        None => Ok(Burst::Linux),
                        Some(burst @ 1..=64) => Ok(Burst::Segments(burst)),
                        Some(burst) => Err(Wrong::at(at, format!("found {burst}: write 1 to 64 segments, or \"auto\""))),
                    };
                /// Linux's small queues (`tcp_limit_output_bytes`): limit on the bytes of a
                /// connection that wait at its host's transmitter. The limit is the data of one
                /// millisecond, but at least two offload buffers, and at most 1 MiB unless the
                /// connection is paced.
                small_queues: bool = (stack == Stack::Linux) "`true` with `stack = \"linux\"`, otherwise `false`";
                /// Clock tick of the kernel (4 ms with HZ = 250). Timers expire on multiples of it.
                /// `"0ns"`: exact timers.
                tick: Duration = "0ns", check |time, at| at_most(Span::from_ms(100), time, at);
                /// Tick at which a timer expires that was set for `n` ticks. `"non_cascading"`: tick
                /// `n + 1`, so that at least `n` whole ticks pass; from `n` = 63 on the next multiple
                /// of 8 ticks after `n`, from 504 on of 64, and so on. `"cascading"`: tick `n`, as in
                /// kernels before 4.8. Without `tick` it has no effect.
                timer_wheel: TimerWheel = "non_cascading" from "Linux 500462a9de65 (4.8), kernel/time/timer.c, calc_index";
                /// Estimator of the variance of the round trip.
                rtt_estimator: Estimator = (if stack == Stack::Linux { Estimator::Linux } else { Estimator::Rfc6298 })
                    "`\"linux\"` with `stack = \"linux\"`, otherwise `\"rfc6298\"`";
                /// Smallest retransmission time-out. Data centres often set less (1 to 10 ms; 200
                /// us in the pFabric study). With the default, a lost tail costs 200 ms if no tail
                /// loss probe helps.
                min_rto: Duration = "200ms" from "Linux's TCP_RTO_MIN; RFC 6298 says 1 s", check timeout;
                /// Smallest variance term of the time-out (RFC 6298's clock granularity G).
                granularity: Duration = "0ns", check |time, at| at_most(Span::from_s(1), time, at);
                /// `true`: `min_rto` bounds the variance term, so the time-out is at least the
                /// round trip plus `min_rto` (Linux). `false`: it bounds the whole time-out (RFC
                /// 6298).
                min_rto_on_variance: bool = (stack != Stack::Ns3) "`true`, `false` with `stack = \"ns3\"`";
                /// Time-out before the first round-trip sample.
                initial_rto: Duration = (Duration(if handshake { Span::from_s(1) } else { sampled(context.idle, min_rto, min_rto_on_variance) }))
                    "with a handshake `\"1s\"` (RFC 6298), else: what one sample of the longest path without queues gives, because connections are open from the start (RFC 6298 §2.2); a connection without any sample has 1 s (§2.1)",
                    check timeout;
                /// Ceiling of the time-out with back-off.
                max_rto: Duration = (Duration(min_rto.max(initial_rto).max(Span::from_s(120)))) "`\"120s\"` (Linux's TCP_RTO_MAX), or `min_rto` or `initial_rto` if longer",
                    check |time, at| match timeout(time, at.clone())? {
                        most if most < min_rto.max(initial_rto) => {
                            Err(Wrong::at(at, format!("\"{most}\" is less than min_rto = \"{min_rto}\" or initial_rto = \"{initial_rto}\"")))
                        }
                        most => Ok(most),
                    };
                /// Number of time-outs of one segment after which a connection is given up (status
                /// `terminated`). `stack = "linux"` converts it into a time, as Linux does for
                /// `tcp_retries2`: the duration of that many time-outs that double from 200 ms on
                /// (15: 924.6 s). The other stacks count time-outs. Connections whose receiver has
                /// a `reader`, and MPTCP connections, are never given up.
                retries: Or<Unlimited, u32> = (match stack {
                    _ if written.reader.is_some() || written.mptcp.is_some() => Or::NONE,
                    Stack::Linux => Or::some(15),
                    Stack::Ns3 => Or::some(6),
                    Stack::Basic => Or::NONE,
                }) "15 with `stack = \"linux\"`, 6 with `\"ns3\"` (`DataRetries`), otherwise `\"unlimited\"`", check |retries, at| match retries.0 {
                    Some(_) if written.reader.is_some() => Err(meaningless(at, "reader")),
                    Some(_) if written.mptcp.is_some() => Err(meaningless(at, "mptcp")),
                    Some(0) => Err(Wrong::at(at, "found 0: write at least 1, or \"unlimited\"")),
                    most => Ok(most),
                };
                /// Number of SYN retransmissions after which the connection is given up.
                syn_retries: Or<Unlimited, u32> = (match stack {
                    _ if written.mptcp.is_some() || !handshake => Or::NONE,
                    Stack::Linux | Stack::Ns3 => Or::some(6),
                    Stack::Basic => Or::NONE,
                }) "6 with `stack = \"linux\"` (`tcp_syn_retries`) and `\"ns3\"` (`ConnCount`), otherwise `\"unlimited\"`", check |retries, at| match retries.0 {
                    Some(_) if written.mptcp.is_some() => Err(meaningless(at, "mptcp")),
                    Some(_) if !handshake => Err(meaningless(at, "handshake = false")),
                    most => Ok(most),
                };
                /// Explicit congestion notification (ECN). BBR version 1 does not react to it.
                /// Version 3 does with `"dctcp"`.
                ecn: EcnMode = (if congestion.about().echo == Echo::Exact { EcnMode::Dctcp } else { EcnMode::Off })
                    "`\"dctcp\"` if the congestion control needs every mark told, otherwise `\"off\"`",
                    check |ecn, at| agreed(ecn, congestion, at);
                /// Priority of the frames that the receiver sends, mainly acknowledgements, 0 to 7.
                /// Default: that of the flow. With RDMA it is often higher.
                ack_priority: u8 = none, check priority;
                /// HyStart++ (RFC 9406) in the first slow start. For `congestion = "cubic"` use
                /// `cubic.hystart`.
                hystart_plusplus: bool = {(congestion.about().slow_start == SlowStart::Standard).then_some(false)} "`false`",
                    check |on, at| match congestion.about().slow_start {
                        SlowStart::None => Err(meaningless(at, &format!("congestion = \"{}\"", congestion.name()))),
                        SlowStart::Own(instead) => Err(Wrong::at(at, instead)),
                        SlowStart::Standard => Ok(on),
                    };
                /// Multipath TCP (RFC 8684): a connection has several subflows, and each subflow is
                /// a TCP with the settings of this table. Default: none: one path.
                mptcp: mptcp::Keys = none;
                $(
                    #[doc = concat!("Parameters of `congestion = \"", stringify!($module), "\"`. Default: every key has its own default.")]
                    $module: congestion::$module::Keys = none;
                )+
            }
        }

        impl Keys {
            /// Returns the congestion controls whose parameters are written.
            fn controls(&self) -> Vec<Congestion> {
                [$((Congestion::$name, self.$module.is_some())),+].into_iter().filter(|(_, given)| *given).map(|(control, _)| control).collect()
            }

            /// Checks the parameters of `control`, and returns its settings.
            fn control(&mut self, control: Congestion, sender: &Sender, key: &Key) -> Result<CongestionControl, Wrong> {
                match control {
                    $(Congestion::$name => {
                        let table = self.$module.get_or_insert_default();
                        table.resolve(&key.clone().name(control.name()), sender).map(CongestionControl::$name)
                    })+
                }
            }
        }
    };
}
crate::congestion_controls!(tcp);

keys! {
    /// Delayed acknowledgements.
    #[derive(Copy)]
    pub struct DelayedAckKeys as "DelayedAck" => DelayedAckConfig(linux: bool) {
        /// Largest number of full segments per acknowledgement.
        segments: u32 = 2 from "RFC 5681 §4.2", in 1 to 4_294_967_295 as "at least 1 segment";
        /// Longest delay of an acknowledgement.
        timeout: Duration = "40ms" from "Linux's TCP_DELACK_MIN", check up_to_a_second;
        /// Number of acknowledgements without delay at the start of a connection, and after
        /// disorder.
        quick: u32 = (if linux { 16 } else { 0 }) "16 with `stack = \"linux\"`, otherwise 0";
    }
}

/// Reading schedule of the receiving application.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, crate = "afflux_config::serde")]
#[schemars(crate = "afflux_config::schemars")]
pub struct Reader {
    /// Duration of each reading phase, in which the application reads everything. The first one
    /// starts when the connection opens.
    pub read: Duration,
    /// Duration of each phase in which the application reads nothing.
    pub sleep: Duration,
}

impl Reader {
    fn turns(&self, key: &Key) -> Result<spec::Reader, Wrong> {
        let phase = |time, name| {
            time_within(time, Span::from_us(1), Span::from_s(86_400), key.clone().name(name))
        };
        Ok(spec::Reader::Turns {
            read: phase(self.read, "read")?,
            sleep: phase(self.sleep, "sleep")?,
        })
    }
}

impl Keys {
    /// True if the receiver has a buffer, and not a fixed window.
    fn buffers(&self) -> bool {
        self.receive_buffer.is_some()
            || self.stack == Some(Stack::Linux) && self.receive_window.is_none()
    }

    /// Returns Linux's `tcp_rmem[1]`, or more if the share for payload would not hold two segments.
    fn initial_buffer(&self, mss: u16) -> Size {
        let share = self.receive_buffer_share.unwrap_or(0.5).clamp(1.0 / 256.0, 1.0);
        Size(Bytes((128 << 10).max((2.0 * f64::from(mss) / share).ceil() as u64 + 256)))
    }

    /// Returns the settings of a TCP that uses one path.
    pub fn config(&mut self, key: &Key, context: &KeyContext) -> Result<TcpConfig, Wrong> {
        let keys = self.resolve(key, context)?;
        if let Some(other) = self.controls().into_iter().find(|other| *other != keys.congestion) {
            return Err(meaningless(
                key.clone().name(other.name()),
                &format!("congestion = \"{}\"", keys.congestion.name()),
            ));
        }
        let (linux, flavour) = (
            keys.stack == Stack::Linux,
            if keys.stack == Stack::Ns3 { Flavour::Ns3 } else { Flavour::Linux },
        );
        let sender = Sender { flavour, mss: keys.mss, paced: keys.pacing, ecn: keys.ecn };
        let control = self.control(keys.congestion, &sender, key)?;
        let receive = match keys.receive_buffer {
            Some(initial) => {
                let (most, share) = (
                    keys.receive_buffer_max.unwrap_or(initial),
                    keys.receive_buffer_share.map_or(128, share),
                );
                Receive::Buffer(ReceiveBuffer { initial, most, share })
            }
            None => keys.receive_window.flatten().map_or(Receive::Unlimited, Receive::Window),
        };
        let delayed_ack = match self.delayed_ack.as_mut().and_then(|delayed| delayed.0.as_mut()) {
            Some(table) => Some(table.resolve(&key.clone().name("delayed_ack"), linux)?),
            None => None,
        };
        let send = match (keys.send_buffer, keys.send_buffer_max.flatten()) {
            (Some(fixed), _) => Some(SendBuffer { initial: fixed, most: fixed }),
            (None, most) => most.map(|most| SendBuffer { initial: SEND_LEAST, most }),
        };
        Ok(TcpConfig {
            congestion: if keys.hystart_plusplus == Some(true) {
                CongestionControl::PlusPlus(Box::new(control))
            } else {
                control
            },
            mss: keys.mss,
            initial_window: keys.initial_window,
            max_window: keys.max_window,
            receive,
            send,
            reader: keys.reader,
            manner: if keys.stack == Stack::Ns3 { Manner::Ns3 } else { Manner::Linux },
            recovery: keys.recovery,
            dupack_threshold: keys.dupack_threshold,
            proportional_reduction: keys.prr,
            tail_probe: keys.tail_probe,
            undo: keys.undo,
            idle_restart: keys.idle_restart,
            delayed_ack: delayed_ack.map(|DelayedAckConfig { segments, timeout, quick }| {
                DelayedAck { segments, timeout, quick }
            }),
            sack_compression: keys.sack_compression.then_some(SackCompression {
                part: 20,
                most: Span::from_ms(1),
                segments: 44,
            }),
            handshake: keys.handshake,
            metrics: if keys.ssthresh_cache { Metrics::Full } else { Metrics::Off },
            pacing: keys.pacing.then_some(Pacing {
                most: None,
                slow_start_percent: 200,
                avoidance_percent: 120,
            }),
            burst: keys.burst,
            small_queues: keys.small_queues,
            kernel: linux,
            tick: keys.tick,
            timer_wheel: keys.timer_wheel,
            estimator: keys.rtt_estimator,
            min_rto: keys.min_rto,
            granularity: keys.granularity,
            min_rto_on_variance: keys.min_rto_on_variance,
            initial_rto: keys.initial_rto,
            max_rto: keys.max_rto,
            retries: keys
                .retries
                .map(|most| if linux { Retries::doubled(most) } else { Retries::Count(most) }),
            syn_retries: keys.syn_retries,
            ecn: keys.ecn,
            ack_priority: keys.ack_priority,
        })
    }
}

const SHARES: std::ops::RangeInclusive<f64> = 1.0 / 256.0..=1.0;
const UNBUFFERED: &str = "has no effect without receive_buffer = \"SIZE\"";
/// Linux's `tcp_wmem[1]` and `tcp_wmem[2]`.
const SEND_LEAST: Bytes = Bytes(16 << 10);
const SEND_MAX: Bytes = Bytes(4 << 20);
/// Linux's `tcp_rmem[2]`.
const BUFFER_MAX: Bytes = Bytes(6 << 20);
/// Largest receive window that TCP announces (RFC 7323: 65,535 << 14).
const LARGEST_WINDOW: u64 = 1 << 30;

fn share(part: f64) -> u32 {
    (part * 256.0 + 0.5) as u32
}

fn at_most(most: Span, Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    if time > most {
        Err(Wrong::at(key, format!("\"{time}\": write at most \"{most}\"")))
    } else {
        Ok(time)
    }
}

fn timeout(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    match time {
        Span::ZERO => Err(Wrong::at(key, "\"0s\": write a time above 0")),
        long if long > Span::from_s(86_400) => {
            Err(Wrong::at(key, format!("\"{long}\": write at most a day")))
        }
        _ => Ok(time),
    }
}

/// Returns the time-out after one sample of an idle path: SRTT = R, RTTVAR = R/2 (RFC 6298 §2.2).
fn sampled(Span(rtt): Span, Span(min): Span, on_variance: bool) -> Span {
    let sampled = if on_variance {
        rtt.saturating_add(min.max(rtt.saturating_mul(2)))
    } else {
        min.max(rtt.saturating_mul(3))
    };
    Span(sampled).min(Span::from_s(86_400))
}

fn agreed(ecn: EcnMode, congestion: Congestion, key: Key) -> Result<EcnMode, Wrong> {
    match (ecn, congestion.about().echo) {
        (EcnMode::Off | EcnMode::Classic, Echo::Exact) => Err(Wrong::at(
            key,
            format!("congestion = \"{}\" needs ecn = \"dctcp\": remove it", congestion.name()),
        )),
        (EcnMode::Dctcp, Echo::Classic) => {
            let exact = |one: &&Congestion| {
                one.about().echo != Echo::Classic && one.about().missing_deadline.is_none()
            };
            let others = spelling::list(Congestion::ALL.iter().filter(exact).map(|one| one.name()));
            Err(Wrong::at(
                key,
                format!("\"dctcp\" is for congestion = {others}: write \"off\" or \"classic\""),
            ))
        }
        _ => Ok(ecn),
    }
}
