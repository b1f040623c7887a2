//! `[host.transport]` and `[host.transports.NAME]`.

use super::hosts::Frames;
use super::{fill, meaningless, rdma};
use crate::document::{Coupling, DelayedAck, Duration, Host, Or, PathManager, Size, Stack, Tcp, Transport};
use crate::spelling;
use crate::topology::Facts;
use crate::tree::{Key, Wrong};
use afflux_net::congestion::{Congestion, Echo, Flavour, Sender, SlowStart};
use afflux_net::spec::{self, CongestionControl, EcnMode, Estimator, PathScheduler, Recovery, TcpConfig, TransportConfig};
use afflux_net::transports::Around;
use afflux_units::{Bytes, Span};

/// Transports by name; `"default"` is the first. Behind them stand those that follow from them.
pub struct Transports {
    names: Vec<String>,
    pub configs: Vec<TransportConfig>,
    /// Of those that follow from a named one, which; `None` follows from none.
    origins: Vec<Option<u16>>,
}

impl Transports {
    pub fn find(&self, name: &str, key: Key) -> Result<u16, Wrong> {
        let names = self.names.iter().map(String::as_str);
        let found = names.clone().position(|known| known == name);
        found.map(|index| index as u16).ok_or_else(|| {
            let more = if self.names.len() == 1 { "; others are defined in [host.transports.NAME]" } else { "" };
            Wrong::at(key, format!("there is no transport \"{name}\"{}: write {}{more}", spelling::hint(name, names.clone()), spelling::list(names)))
        })
    }
    /// The index of `config`, which is added if it is new; it is the transport `of`, but for some keys.
    pub fn add(&mut self, config: TransportConfig, of: Option<u16>) -> u16 {
        let index = self.configs.iter().position(|known| *known == config).unwrap_or_else(|| {
            self.configs.push(config);
            self.origins.push(of);
            self.configs.len() - 1
        });
        index as u16
    }
    /// The named transport that one is or follows from.
    pub fn origin(&self, index: u16) -> Option<u16> {
        match usize::from(index).checked_sub(self.names.len()) {
            None => Some(index),
            Some(behind) => self.origins[behind],
        }
    }
    /// Indices and keys of those in `[host.transport]` and `[host.transports]`.
    pub fn named(&self) -> impl Iterator<Item = (u16, Key)> {
        let key = |(index, name): (usize, &String)| match index {
            0 => (0, Key::from("host.transport")),
            _ => (index as u16, Key::from("host.transports").name(name)),
        };
        self.names.iter().enumerate().map(key)
    }
}

pub fn check(host: &mut Host, around: &Around) -> Result<Transports, Wrong> {
    let mut transports = Transports { names: vec!["default".into()], configs: Vec::new(), origins: Vec::new() };
    let default = host.transport.get_or_insert_with(|| Transport::Tcp(Tcp::default()));
    transports.configs.push(build(around, default, &Key::from("host.transport"))?);
    let key = Key::from("host.transports");
    for (name, transport) in &mut host.transports {
        let key = key.clone().name(name);
        if name == "default" {
            return Err(Wrong::at(key, "the transport \"default\" is [host.transport]: choose another name"));
        }
        if let Some(expected) = afflux_traffic::names::wrong(name) {
            return Err(Wrong::at(key, format!("{}: write {expected}", afflux_traffic::names::shown(name))));
        }
        if transports.configs.len() >= 1_000 {
            return Err(Wrong::at(key, "at most 1000 transports are possible"));
        }
        transports.configs.push(build(around, transport, &key)?);
        transports.names.push(name.clone());
    }
    Ok(transports)
}

/// Round trip of a full frame and its acknowledgement between the two hosts that are farthest apart, without queues.
pub fn idle_round_trip(host: &Host, frames: &Frames, facts: &Facts) -> Span {
    let hosts = host.delay.map_or(0, |delay| delay.0.0).saturating_mul(4);
    let frame = u64::from(frames.payload) + u64::from(frames.wire.data_header) + u64::from(frames.wire.ack) + 2 * u64::from(frames.wire.gap);
    Span(facts.longest(0).0.saturating_add(facts.longest(frame).0).saturating_add(hosts))
}

fn build(around: &Around, transport: &mut Transport, key: &Key) -> Result<TransportConfig, Wrong> {
    if let Some(config) = transport.declared(key, around) {
        return config;
    }
    match transport {
        Transport::Tcp(keys) if keys.mptcp.is_some() => mptcp(around, keys, key).map(TransportConfig::Mptcp),
        Transport::Tcp(keys) => plain(around, keys, key).map(TransportConfig::Tcp),
        Transport::Rdma(keys) => rdma::config(around, keys, key).map(TransportConfig::Rdma),
        _ => unreachable!("its keys are declared"),
    }
}

fn plain(around: &Around, tcp: &mut Tcp, key: &Key) -> Result<TcpConfig, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let mss = around.payload(fill(&mut tcp.mss, around.full()), at("mss"))?;
    let stack = fill(&mut tcp.stack, Stack::Linux);
    let linux = stack == Stack::Linux;
    let pacing = fill(&mut tcp.pacing, false).then_some(spec::Pacing { most: None, slow_start_percent: 200, avoidance_percent: 120 });
    let (congestion, ecn) = congestion(tcp, sender(stack, mss, pacing.is_some()), if linux { Congestion::Cubic } else { Congestion::Newreno }, key)?;
    let initial_window = fill(&mut tcp.initial_window, congestion.parameters().about().initial_window);
    if initial_window == 0 {
        return Err(Wrong::at(at("initial_window"), "found 0: write at least 1 segment"));
    }
    let max_window = fill(&mut tcp.max_window, Or::NONE).0;
    if let Some(most) = max_window.filter(|most| *most < initial_window) {
        return Err(Wrong::at(at("max_window"), format!("{most} is less than initial_window = {initial_window}")));
    }
    let receive = receive(tcp, stack, mss, key)?;
    let reader = match &tcp.reader {
        Some(_) if tcp.receive_buffer.is_none() => return Err(Wrong::at(at("reader"), "needs receive_buffer = \"SIZE\": without it nothing fills up")),
        Some(reader) => {
            for (name, Duration(span)) in [("read", reader.read), ("sleep", reader.sleep)] {
                if span < Span::from_us(1) {
                    return Err(Wrong::at(at("reader").name(name), format!("\"{span}\": write at least \"1us\"")));
                }
            }
            Some(spec::Reader::Turns { read: reader.read.0, sleep: reader.sleep.0 })
        }
        None => None,
    };
    let dupack_threshold = fill(&mut tcp.dupack_threshold, Or::some(3)).0;
    if dupack_threshold == Some(0) {
        return Err(Wrong::at(at("dupack_threshold"), "found 0: write at least 1, or \"off\""));
    }
    let mut delayed = fill(&mut tcp.delayed_ack, if linux { Or::some(DelayedAck { segments: None, timeout: None, quick: None }) } else { Or::NONE });
    let delayed_ack = match &mut delayed.0 {
        Some(delayed) => Some(delayed_ack(delayed, if linux { 16 } else { 0 }, &at("delayed_ack"))?),
        None => None,
    };
    tcp.delayed_ack = Some(delayed);
    let recovery = fill(&mut tcp.recovery, if linux { Recovery::Rack } else { Recovery::Sack });
    let handshake = fill(&mut tcp.handshake, stack != Stack::Basic);
    let tail_probe = fill(&mut tcp.tail_probe, linux && recovery != Recovery::NewReno);
    if tail_probe && recovery == Recovery::NewReno {
        return Err(Wrong::at(at("tail_probe"), "needs selective acknowledgements: recovery = \"rack\" or \"sack\""));
    }
    let burst = match fill(&mut tcp.burst, if linux { Or::NONE } else { Or::some(1) }).0 {
        None => spec::Burst::Linux,
        Some(burst) if (1..=64).contains(&burst) => spec::Burst::Segments(burst),
        Some(burst) => return Err(Wrong::at(at("burst"), format!("found {burst}: write 1 to 64 segments, or \"auto\""))),
    };
    let tick = fill(&mut tcp.tick, Duration(Span::ZERO)).0;
    if tick > Span::from_ms(100) {
        return Err(Wrong::at(at("tick"), format!("\"{tick}\": write at most \"100ms\"")));
    }
    let timeouts = timeouts(around, tcp, stack, handshake, key)?;
    Ok(TcpConfig {
        congestion,
        mss,
        initial_window,
        max_window,
        receive,
        reader,
        manner: if stack == Stack::Ns3 { spec::Manner::Ns3 } else { spec::Manner::Linux },
        recovery,
        dupack_threshold,
        proportional_reduction: fill(&mut tcp.prr, stack != Stack::Basic),
        tail_probe,
        undo: fill(&mut tcp.undo, linux),
        idle_restart: fill(&mut tcp.idle_restart, linux),
        delayed_ack,
        sack_compression: fill(&mut tcp.sack_compression, linux).then_some(spec::SackCompression { part: 20, most: Span::from_ms(1), segments: 44 }),
        handshake,
        metrics: if fill(&mut tcp.ssthresh_cache, false) { spec::Metrics::Full } else { spec::Metrics::Off },
        pacing,
        burst,
        small_queues: fill(&mut tcp.small_queues, linux),
        tick,
        estimator: fill(&mut tcp.rtt_estimator, if linux { Estimator::Linux } else { Estimator::Rfc6298 }),
        min_rto: timeouts.min,
        granularity: timeouts.granularity,
        min_rto_on_variance: timeouts.on_variance,
        initial_rto: timeouts.initial,
        max_rto: timeouts.max,
        ecn,
        ack_priority: match tcp.ack_priority {
            Some(priority @ 8..) => return Err(Wrong::at(at("ack_priority"), format!("found {priority}: write a priority from 0 (lowest) to 7"))),
            priority => priority,
        },
    })
}

/// Of TCP with the key `mptcp`.
fn mptcp(around: &Around, tcp: &mut Tcp, key: &Key) -> Result<spec::MptcpConfig, Wrong> {
    let at = |name: &str| key.clone().name("mptcp").name(name);
    for (name, given) in [("reader", tcp.reader.is_some()), ("ssthresh_cache", tcp.ssthresh_cache.is_some()), ("stack", tcp.stack == Some(Stack::Ns3))] {
        if given {
            return Err(Wrong::at(
                key.clone().name(name),
                format!("with mptcp there is no {name}{}: leave it out", if name == "stack" { " = \"ns3\"" } else { "" }),
            ));
        }
    }
    let option = spec::MptcpConfig::DATA_OPTION;
    let most = around.payload.saturating_sub(option);
    let mss = fill(&mut tcp.mss, Size(Bytes(most.into()))).0;
    if mss.0 == 0 || mss.0 > u64::from(most) {
        return Err(Wrong::at(
            key.clone().name("mss"),
            format!("\"{mss}\": write a size from 1B to {most}B ({}, less {option} B for MPTCP's option)", around.why),
        ));
    }
    let keys = tcp.mptcp.as_mut().expect("checked before");
    let manager = fill(&mut keys.manager, PathManager::Ndiffports);
    let subflows = fill(&mut keys.subflows, if manager == PathManager::Fullmesh { 8 } else { 2 });
    if !(1..=32).contains(&subflows) {
        return Err(Wrong::at(at("subflows"), format!("found {subflows}: write 1 to 32")));
    }
    let coupling = fill(&mut keys.coupling, Coupling::Lia);
    if keys.queue_segments.is_some() && coupling != Coupling::QueueAware {
        return Err(Wrong::at(at("queue_segments"), "is for coupling = \"queue_aware\": leave it out"));
    }
    let coupled = match coupling {
        Coupling::Off => None,
        Coupling::Lia => Some(spec::Coupling::Lia),
        Coupling::Olia => Some(spec::Coupling::Olia),
        Coupling::Balia => Some(spec::Coupling::Balia),
        Coupling::Wvegas => Some(spec::Coupling::Wvegas),
        Coupling::QueueAware => Some(spec::Coupling::QueueAware { segments: fill(&mut keys.queue_segments, 4) }),
    };
    let scheduler = fill(&mut keys.scheduler, PathScheduler::LowestRtt);
    let opportunistic = fill(&mut keys.opportunistic, true);
    if coupled.is_some() && (tcp.congestion.is_some_and(|kind| kind != Congestion::Newreno) || tcp.newreno.is_some() || tcp.hystart_plusplus.is_some()) {
        let name = if tcp.newreno.is_some() {
            "newreno"
        } else if tcp.hystart_plusplus.is_some() {
            "hystart_plusplus"
        } else {
            "congestion"
        };
        return Err(Wrong::at(
            key.clone().name(name),
            "coupled subflows have a congestion control of their own: leave it out, or write mptcp.coupling = \"off\"",
        ));
    }
    if coupled.is_some() {
        // Its own congestion control replaces this one.
        tcp.congestion = Some(Congestion::Newreno);
    }
    let config = plain(around, tcp, key)?;
    // What is refused above must not stand in the resolved scenario.
    tcp.ssthresh_cache = None;
    if coupled.is_some() {
        (tcp.congestion, tcp.newreno, tcp.hystart_plusplus) = (None, None, None);
    }
    let receive = config.receive;
    let congestion = coupled.map_or(config.congestion, CongestionControl::Coupled);
    Ok(spec::MptcpConfig {
        tcp: TcpConfig { congestion, receive: spec::Receive::Unlimited, ..config },
        receive,
        manager: match manager {
            PathManager::Ndiffports => spec::PathManager::DiffPorts(subflows),
            PathManager::Fullmesh => spec::PathManager::FullMesh(subflows),
        },
        scheduler,
        opportunistic,
    })
}

fn timeouts(around: &Around, tcp: &mut Tcp, stack: Stack, handshake: bool, key: &Key) -> Result<Timeouts, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let positive = |span: Span, name: &str| match span {
        Span::ZERO => Err(Wrong::at(at(name), "\"0s\": write a time above 0")),
        long if long > Span::from_s(86_400) => Err(Wrong::at(at(name), format!("\"{long}\": a time-out is at most a day"))),
        _ => Ok(span),
    };
    let min = positive(fill(&mut tcp.min_rto, Duration(Span::from_ms(200))).0, "min_rto")?;
    let on_variance = fill(&mut tcp.min_rto_on_variance, stack != Stack::Ns3);
    // What one sample of an idle path gives: SRTT = R, RTTVAR = R/2 (RFC 6298 §2.2).
    let rtt = around.idle.0;
    let sampled = if on_variance { rtt.saturating_add(min.0.max(rtt.saturating_mul(2))) } else { min.0.max(rtt.saturating_mul(3)) };
    let sampled = if handshake { Span::from_s(1) } else { Span(sampled.min(Span::from_s(86_400).0)) };
    let initial = positive(fill(&mut tcp.initial_rto, Duration(sampled)).0, "initial_rto")?;
    let floor = Span(min.0.max(initial.0));
    let max = positive(fill(&mut tcp.max_rto, Duration(Span(floor.0.max(Span::from_s(120).0)))).0, "max_rto")?;
    if max < floor {
        return Err(Wrong::at(at("max_rto"), format!("\"{max}\" is less than min_rto = \"{min}\" or initial_rto = \"{initial}\"")));
    }
    let granularity = fill(&mut tcp.granularity, Duration(Span::ZERO)).0;
    if granularity > Span::from_s(1) {
        return Err(Wrong::at(at("granularity"), format!("\"{granularity}\": write at most \"1s\"")));
    }
    Ok(Timeouts { min, granularity, on_variance, initial, max })
}

/// What limits the window at the receiver.
fn receive(tcp: &mut Tcp, stack: Stack, mss: u16, key: &Key) -> Result<spec::Receive, Wrong> {
    let at = |name: &str| key.clone().name(name);
    if stack == Stack::Linux && tcp.receive_window.is_none() && tcp.receive_buffer.is_none() {
        // Linux's tcp_rmem, and at least what the smallest share for payload needs for two segments.
        let share = tcp.receive_buffer_share.unwrap_or(0.5).clamp(1.0 / 256.0, 1.0);
        let initial = LINUX_RECEIVE_BUFFER.max((2.0 * f64::from(mss) / share).ceil() as u64 + 256);
        tcp.receive_buffer = Some(Size(Bytes(initial)));
        fill(&mut tcp.receive_buffer_max, Size(Bytes(initial.max(LINUX_RECEIVE_BUFFER_MAX))));
    }
    let Some(Size(initial)) = tcp.receive_buffer else {
        for (name, given) in [("receive_buffer_max", tcp.receive_buffer_max.is_some()), ("receive_buffer_share", tcp.receive_buffer_share.is_some())] {
            if given {
                return Err(Wrong::at(at(name), "has no meaning without receive_buffer = \"SIZE\""));
            }
        }
        let window = fill(&mut tcp.receive_window, Or::NONE).0.map(|Size(bytes)| bytes);
        if let Some(window) = window.filter(|window| window.0 < u64::from(mss)) {
            return Err(Wrong::at(at("receive_window"), format!("\"{window}\" does not hold a segment of {mss} B")));
        }
        return Ok(window.map_or(spec::Receive::Unlimited, spec::Receive::Window));
    };
    if tcp.receive_window.is_some() {
        return Err(meaningless(at("receive_window"), "receive_buffer"));
    }
    let share = fill(&mut tcp.receive_buffer_share, 0.5);
    if !(1.0 / 256.0..=1.0).contains(&share) {
        return Err(Wrong::at(at("receive_buffer_share"), format!("found {share}: write a number from 1/256 to 1")));
    }
    let share = (share * 256.0 + 0.5) as u32;
    if initial.0 > 1 << 40 || initial.0 * u64::from(share) / 256 < 2 * u64::from(mss) {
        return Err(Wrong::at(
            at("receive_buffer"),
            format!("\"{initial}\": its share for payload must hold two segments of {mss} B, and it is at most 1 TiB"),
        ));
    }
    let Size(most) = fill(&mut tcp.receive_buffer_max, Size(initial));
    if most < initial || most.0 > 1 << 40 {
        return Err(Wrong::at(at("receive_buffer_max"), format!("\"{most}\": write at least receive_buffer = \"{initial}\", at most 1 TiB")));
    }
    Ok(spec::Receive::Buffer(spec::ReceiveBuffer { initial, most, share }))
}

struct Timeouts {
    min: Span,
    granularity: Span,
    on_variance: bool,
    initial: Span,
    max: Span,
}

/// Its transport, for a congestion control.
fn sender(stack: Stack, mss: u16, paced: bool) -> Sender {
    Sender { flavour: if stack == Stack::Ns3 { Flavour::Ns3 } else { Flavour::Linux }, mss, paced, ecn: EcnMode::Off }
}

fn congestion(tcp: &mut Tcp, sender: Sender, default: Congestion, key: &Key) -> Result<(CongestionControl, EcnMode), Wrong> {
    let kind = fill(&mut tcp.congestion, default);
    let (about, at) = (kind.about(), |name: &str| key.clone().name(name));
    let word = format!("congestion = \"{}\"", kind.name());
    if let Some(other) = tcp.controls().into_iter().find(|other| *other != kind) {
        return Err(meaningless(at(other.name()), &word));
    }
    let ecn = match fill(&mut tcp.ecn, if about.echo == Echo::Exact { EcnMode::Dctcp } else { EcnMode::Off }) {
        EcnMode::Off | EcnMode::Classic if about.echo == Echo::Exact => {
            return Err(Wrong::at(at("ecn"), format!("{word} needs ecn = \"dctcp\": leave it out")));
        }
        EcnMode::Dctcp if about.echo == Echo::Classic => {
            let exact = |one: &&Congestion| one.about().echo != Echo::Classic && one.about().undated.is_none();
            let others = spelling::list(Congestion::ALL.iter().filter(exact).map(|one| one.name()));
            return Err(Wrong::at(at("ecn"), format!("\"dctcp\" is for congestion = {others}: write \"off\" or \"classic\"")));
        }
        agreed => agreed,
    };
    let standard = match about.slow_start {
        SlowStart::None if tcp.hystart_plusplus.is_some() => return Err(meaningless(at("hystart_plusplus"), &word)),
        SlowStart::Own(instead) if tcp.hystart_plusplus.is_some() => return Err(Wrong::at(at("hystart_plusplus"), instead)),
        slow_start => slow_start == SlowStart::Standard,
    };
    let control = tcp.control(kind, &Sender { ecn, ..sender }, key)?;
    let plusplus = standard && fill(&mut tcp.hystart_plusplus, false);
    Ok((if plusplus { CongestionControl::PlusPlus(Box::new(control)) } else { control }, ecn))
}

/// Linux's `tcp_rmem[1]` and `tcp_rmem[2]`, bytes.
const LINUX_RECEIVE_BUFFER: u64 = 128 << 10;
const LINUX_RECEIVE_BUFFER_MAX: u64 = 6 << 20;

fn delayed_ack(delayed: &mut DelayedAck, quick: u32, key: &Key) -> Result<spec::DelayedAck, Wrong> {
    let segments = fill(&mut delayed.segments, 2);
    if segments == 0 {
        return Err(Wrong::at(key.clone().name("segments"), "found 0: write at least 1 segment"));
    }
    let timeout = fill(&mut delayed.timeout, Duration(Span::from_ms(40))).0;
    if timeout == Span::ZERO {
        return Err(Wrong::at(key.clone().name("timeout"), "\"0s\": write a time above 0"));
    }
    Ok(spec::DelayedAck { segments, timeout, quick: fill(&mut delayed.quick, quick) })
}
