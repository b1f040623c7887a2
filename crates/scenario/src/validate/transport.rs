//! `[host.transport]` and `[host.transports.NAME]`.

use super::hosts::Frames;
use super::{fill, meaningless, nack, rated, rdma};
use crate::document::{
    Bbr, Congestion, Connections, Coupling, Cubic, D2tcp, Datagram, Dctcp, DelayedAck, Duration, Echo, Estimator, Flavour, Host, Htcp, HyStart, Or,
    PathManager, PathScheduler, Pfabric, PfabricCongestion, Rank, Recovery, RenoFlavour, Size, Stack, Tcp, Timeout, Transport, WithoutDeadline,
};
use crate::spelling;
use crate::topology::Facts;
use crate::tree::{Key, Wrong};
use afflux_net::spec::{
    self, Bbr3Config, BbrConfig, CongestionControl, CubicConfig, CubicFlavour, D2tcpConfig, DctcpConfig, EcnMode, HtcpConfig, TcpConfig, TransportConfig,
    Undated,
};
use afflux_units::{Bytes, Rate, Span};

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

pub fn check(host: &mut Host, frames: &Frames, facts: &Facts, compat: Option<spec::Compat>) -> Result<Transports, Wrong> {
    let idle_rtt = idle_round_trip(host, frames, facts);
    let around = Around { frames, idle_rtt, nic: rdma::nic_rate(facts), compat };
    let mut transports = Transports { names: vec!["default".into()], configs: Vec::new(), origins: Vec::new() };
    let default = host.transport.get_or_insert_with(|| Transport::Tcp(Tcp::default()));
    transports.configs.push(around.build(default, &Key::from("host.transport"))?);
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
        transports.configs.push(around.build(transport, &key)?);
        transports.names.push(name.clone());
    }
    Ok(transports)
}

/// Round trip of a full frame and its acknowledgement between the two hosts that are farthest apart, without queues.
fn idle_round_trip(host: &Host, frames: &Frames, facts: &Facts) -> Span {
    let hosts = host.delay.map_or(0, |delay| delay.0.0).saturating_mul(4);
    let frame = u64::from(frames.payload) + u64::from(frames.wire.data_header) + u64::from(frames.wire.ack) + 2 * u64::from(frames.wire.gap);
    Span(facts.longest(0).0.saturating_add(facts.longest(frame).0).saturating_add(hosts))
}

struct Around<'a> {
    frames: &'a Frames,
    idle_rtt: Span,
    nic: Rate,
    compat: Option<spec::Compat>,
}

impl Around<'_> {
    fn build(&self, transport: &mut Transport, key: &Key) -> Result<TransportConfig, Wrong> {
        match transport {
            Transport::Tcp(tcp) if tcp.mptcp.is_some() => self.mptcp(tcp, key).map(TransportConfig::Mptcp),
            Transport::Tcp(tcp) => self.tcp(tcp, key).map(TransportConfig::Tcp),
            Transport::Pfabric(pfabric) => self.pfabric(pfabric, key).map(TransportConfig::Pfabric),
            Transport::Pdq(pdq) => rated::pdq(pdq, self.frames, self.idle_rtt, key).map(TransportConfig::Pdq),
            Transport::D3(d3) => rated::d3(d3, self.frames, self.idle_rtt, key).map(TransportConfig::D3),
            Transport::Datagram(datagram) => self.frames.datagram(datagram, key).map(TransportConfig::Datagram),
            Transport::Nack(keys) => nack::config(keys, self.frames, self.idle_rtt, key).map(TransportConfig::Nack),
            Transport::Rdma(rdma) => rdma::config(rdma, self.frames, self.nic, self.compat, key).map(TransportConfig::Rdma),
        }
    }

    fn tcp(&self, tcp: &mut Tcp, key: &Key) -> Result<TcpConfig, Wrong> {
        let at = |name: &str| key.clone().name(name);
        let mss = self.frames.payload(&mut tcp.mss, at("mss"))?;
        let stack = fill(&mut tcp.stack, Stack::Linux);
        let linux = stack == Stack::Linux;
        let (congestion, ecn) = congestion(tcp, stack, mss, key)?;
        let initial_window = fill(&mut tcp.initial_window, 10);
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
        let recovery = match fill(&mut tcp.recovery, if linux { Recovery::Rack } else { Recovery::Sack }) {
            Recovery::Sack => spec::Recovery::Sack,
            Recovery::Rack => spec::Recovery::Rack,
            Recovery::Newreno => spec::Recovery::NewReno,
        };
        let handshake = fill(&mut tcp.handshake, stack != Stack::Basic);
        let tail_probe = fill(&mut tcp.tail_probe, linux && recovery != spec::Recovery::NewReno);
        if tail_probe && recovery == spec::Recovery::NewReno {
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
        let timeouts = self.timeouts(tcp, stack, handshake, key)?;
        let pacing = fill(&mut tcp.pacing, false).then_some(spec::Pacing { most: None, slow_start_percent: 200, avoidance_percent: 120 });
        let mut congestion = congestion;
        if let CongestionControl::Cubic(cubic) = &mut congestion {
            cubic.paced = pacing.is_some();
        }
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
            estimator: match fill(&mut tcp.rtt_estimator, if linux { Estimator::Linux } else { Estimator::Rfc6298 }) {
                Estimator::Rfc6298 => spec::Estimator::Rfc6298,
                Estimator::Linux => spec::Estimator::Linux,
            },
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
    fn mptcp(&self, tcp: &mut Tcp, key: &Key) -> Result<spec::MptcpConfig, Wrong> {
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
        let most = self.frames.payload.saturating_sub(option);
        let mss = fill(&mut tcp.mss, Size(Bytes(most.into()))).0;
        if mss.0 == 0 || mss.0 > u64::from(most) {
            return Err(Wrong::at(
                key.clone().name("mss"),
                format!("\"{mss}\": write a size from 1B to {most}B ({}, less {option} B for MPTCP's option)", self.frames.why),
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
        let scheduler = match fill(&mut keys.scheduler, PathScheduler::LowestRtt) {
            PathScheduler::LowestRtt => spec::PathScheduler::LowestRtt,
            PathScheduler::RoundRobin => spec::PathScheduler::RoundRobin,
            PathScheduler::Redundant => spec::PathScheduler::Redundant,
        };
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
        let config = self.tcp(tcp, key)?;
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

    fn pfabric(&self, keys: &mut Pfabric, key: &Key) -> Result<spec::Pfabric, Wrong> {
        let at = |name: &str| key.clone().name(name);
        let estimated = fill(&mut keys.rto, Timeout::Fixed) == Timeout::Estimated;
        let min_rto = fill(&mut keys.min_rto, Duration(Span::from_us(if estimated { 200 } else { 45 }))).0;
        if min_rto == Span::ZERO || min_rto > Span::from_s(1) {
            return Err(Wrong::at(at("min_rto"), format!("\"{min_rto}\": write a time above 0 and up to 1s")));
        }
        let max_window = fill(&mut keys.max_window, 23);
        let initial_window = fill(&mut keys.initial_window, 12.min(max_window));
        if initial_window == 0 || initial_window > max_window {
            return Err(Wrong::at(at("initial_window"), format!("found {initial_window}: write 1 to max_window = {max_window}")));
        }
        let probe_after = fill(&mut keys.probe_after, if estimated { Or::NONE } else { Or::some(5) }).0;
        if probe_after == Some(0) {
            return Err(Wrong::at(at("probe_after"), "found 0: write at least 1, or \"off\""));
        }
        let congestion = match fill(&mut keys.congestion, PfabricCongestion::Newreno) {
            PfabricCongestion::Newreno if keys.dctcp.is_some() => return Err(meaningless(at("dctcp"), "congestion = \"newreno\"")),
            PfabricCongestion::Newreno => CongestionControl::NewReno,
            PfabricCongestion::Dctcp => CongestionControl::Dctcp(dctcp(keys.dctcp.get_or_insert_default(), &at("dctcp"))?),
        };
        let ecn = if matches!(congestion, CongestionControl::Dctcp(_)) { EcnMode::Dctcp } else { EcnMode::Off };
        // The receiver and what the two machines share: a TCP that finds losses by time-outs only.
        let mut plain = Tcp {
            stack: Some(Stack::Basic),
            mss: keys.mss,
            initial_window: Some(initial_window),
            max_window: Some(Or::some(max_window)),
            dupack_threshold: Some(Or::NONE),
            min_rto: Some(Duration(min_rto)),
            initial_rto: Some(Duration(min_rto)),
            min_rto_on_variance: Some(false),
            ..Tcp::default()
        };
        let tcp = self.tcp(&mut plain, key)?;
        keys.mss = plain.mss;
        Ok(spec::Pfabric {
            tcp: TcpConfig { congestion, ecn, ..tcp },
            fixed_timeout: !estimated,
            probe_after,
            ranked: fill(&mut keys.rank, if estimated { Rank::None } else { Rank::Remaining }) == Rank::Remaining,
            pooled: fill(&mut keys.connections, Connections::Own) == Connections::Pooled,
        })
    }

    fn timeouts(&self, tcp: &mut Tcp, stack: Stack, handshake: bool, key: &Key) -> Result<Timeouts, Wrong> {
        let at = |name: &str| key.clone().name(name);
        let positive = |span: Span, name: &str| match span {
            Span::ZERO => Err(Wrong::at(at(name), "\"0s\": write a time above 0")),
            long if long > Span::from_s(86_400) => Err(Wrong::at(at(name), format!("\"{long}\": a time-out is at most a day"))),
            _ => Ok(span),
        };
        let min = positive(fill(&mut tcp.min_rto, Duration(Span::from_ms(200))).0, "min_rto")?;
        let on_variance = fill(&mut tcp.min_rto_on_variance, stack != Stack::Ns3);
        // What one sample of an idle path gives: SRTT = R, RTTVAR = R/2 (RFC 6298 §2.2).
        let rtt = self.idle_rtt.0;
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

impl Frames {
    /// The payload of a full frame, from the document or its default.
    pub fn payload(&self, slot: &mut Option<Size>, key: Key) -> Result<u16, Wrong> {
        let bytes = fill(slot, Size(Bytes(self.payload.into()))).0;
        match u16::try_from(bytes.0) {
            Ok(payload) if payload > 0 && payload <= self.payload => Ok(payload),
            _ => Err(Wrong::at(key, format!("\"{bytes}\": write a size from 1B to {}B ({})", self.payload, self.why))),
        }
    }

    pub fn datagram(&self, datagram: &mut Datagram, key: &Key) -> Result<spec::Datagram, Wrong> {
        let rate = fill(&mut datagram.rate, Or::NONE).0.map(|speed| speed.0);
        if rate.is_some_and(|rate| rate.0 == 0) {
            return Err(Wrong::at(key.clone().name("rate"), "\"0bps\": write a rate above 0, or \"unlimited\""));
        }
        let payload = self.payload(&mut datagram.payload, key.clone().name("payload"))?;
        Ok(spec::Datagram { rate, payload, ecn_capable: fill(&mut datagram.ecn_capable, false) })
    }
}

fn congestion(tcp: &mut Tcp, stack: Stack, mss: u16, key: &Key) -> Result<(CongestionControl, EcnMode), Wrong> {
    let kind = fill(&mut tcp.congestion, if stack == Stack::Linux { Congestion::Cubic } else { Congestion::Newreno });
    let key_of = |name: &str| key.clone().name(name);
    let word = match kind {
        Congestion::Newreno => "newreno",
        Congestion::Dctcp => "dctcp",
        Congestion::D2tcp => "d2tcp",
        Congestion::Cubic => "cubic",
        Congestion::Htcp => "htcp",
        Congestion::Bbr => "bbr",
        Congestion::Bbr3 => "bbr3",
    };
    let others = [
        ("newreno", tcp.newreno.is_some() && kind != Congestion::Newreno),
        ("dctcp", tcp.dctcp.is_some() && kind != Congestion::Dctcp),
        ("d2tcp", tcp.d2tcp.is_some() && kind != Congestion::D2tcp),
        ("cubic", tcp.cubic.is_some() && kind != Congestion::Cubic),
        ("htcp", tcp.htcp.is_some() && kind != Congestion::Htcp),
        ("bbr", tcp.bbr.is_some() && kind != Congestion::Bbr),
        ("bbr3", tcp.bbr3.is_some() && kind != Congestion::Bbr3),
    ];
    if let Some((name, _)) = others.into_iter().find(|(_, given)| *given) {
        return Err(meaningless(key_of(name), &format!("congestion = \"{word}\"")));
    }
    let ecn = match kind {
        Congestion::Dctcp | Congestion::D2tcp => match fill(&mut tcp.ecn, Echo::Dctcp) {
            Echo::Dctcp => EcnMode::Dctcp,
            _ => return Err(Wrong::at(key_of("ecn"), format!("congestion = \"{word}\" needs ecn = \"dctcp\": leave it out"))),
        },
        _ => match fill(&mut tcp.ecn, Echo::Off) {
            Echo::Off => EcnMode::Off,
            Echo::Classic => EcnMode::Classic,
            Echo::Dctcp if kind == Congestion::Bbr3 => EcnMode::Dctcp,
            Echo::Dctcp => {
                return Err(Wrong::at(key_of("ecn"), "\"dctcp\" is for congestion = \"dctcp\" or \"bbr3\": write \"off\" or \"classic\""));
            }
        },
    };
    if matches!(kind, Congestion::Bbr | Congestion::Bbr3) && tcp.hystart_plusplus.is_some() {
        return Err(meaningless(key_of("hystart_plusplus"), &format!("congestion = \"{word}\"")));
    }
    let control = match kind {
        Congestion::Newreno => match fill(&mut tcp.newreno.get_or_insert_default().flavour, RenoFlavour::Linux) {
            RenoFlavour::Linux => CongestionControl::NewReno,
            RenoFlavour::Rfc5681 => CongestionControl::Rfc5681,
        },
        Congestion::Dctcp => CongestionControl::Dctcp(dctcp(tcp.dctcp.get_or_insert_with(Dctcp::default), &key_of("dctcp"))?),
        Congestion::D2tcp => CongestionControl::D2tcp(d2tcp(tcp.d2tcp.get_or_insert_default(), &key_of("d2tcp"))?),
        Congestion::Cubic => {
            if tcp.hystart_plusplus.is_some() {
                return Err(Wrong::at(key_of("hystart_plusplus"), "with congestion = \"cubic\" write cubic.hystart = \"plusplus\""));
            }
            let flavour = if stack == Stack::Ns3 { Flavour::Ns3 } else { Flavour::Linux };
            let config = cubic(tcp.cubic.get_or_insert_with(Cubic::default), flavour, mss, &key_of("cubic"))?;
            return Ok((CongestionControl::Cubic(config), ecn));
        }
        Congestion::Htcp => {
            let parameters = tcp.htcp.get_or_insert_with(Htcp::default);
            let rtt_scaling = fill(&mut parameters.rtt_scaling, true);
            let bandwidth_switch = fill(&mut parameters.bandwidth_switch, true);
            CongestionControl::Htcp(HtcpConfig { rtt_scaling, bandwidth_switch, tick: tick(&mut parameters.tick, &key_of("htcp"))? })
        }
        Congestion::Bbr => {
            let (parameters, key) = (tcp.bbr.get_or_insert_default(), key_of("bbr"));
            let flavour = fill(&mut parameters.flavour, if stack == Stack::Ns3 { Flavour::Ns3 } else { Flavour::Linux });
            if flavour == Flavour::Linux {
                return Ok((CongestionControl::Bbr(bbr(parameters, Span::from_s(10), &key)?), ecn));
            }
            if fill(&mut parameters.send_quantum, Or::some(1)).0 != Some(1) {
                return Err(Wrong::at(key.name("send_quantum"), "flavour = \"ns3\" has 1: write that or leave it out"));
            }
            return Ok((CongestionControl::Ns3Bbr(bbr(parameters, Span::from_s(10), &key)?), ecn));
        }
        Congestion::Bbr3 => {
            if tcp.bbr3.as_ref().is_some_and(|parameters| parameters.flavour.is_some()) {
                return Err(meaningless(key_of("bbr3").name("flavour"), "congestion = \"bbr3\""));
            }
            let BbrConfig { probe_rtt_interval, probe_rtt_time, send_quantum } = bbr(tcp.bbr3.get_or_insert_default(), Span::from_s(5), &key_of("bbr3"))?;
            let config = Bbr3Config { probe_rtt_interval, probe_rtt_time, send_quantum, ecn: ecn == EcnMode::Dctcp };
            return Ok((CongestionControl::Bbr3(config), ecn));
        }
    };
    let plusplus = fill(&mut tcp.hystart_plusplus, false);
    Ok((if plusplus { CongestionControl::PlusPlus(Box::new(control)) } else { control }, ecn))
}

fn dctcp(parameters: &mut Dctcp, key: &Key) -> Result<DctcpConfig, Wrong> {
    let gain = fill(&mut parameters.gain, 0.0625);
    let gain_shift = (0..=10u32).find(|shift| gain == 1.0 / f64::from(1u32 << shift));
    let gain_shift = gain_shift
        .ok_or_else(|| Wrong::at(key.clone().name("gain"), format!("found {gain}: write a power of two from 1 down to 1/1024, as in 0.0625 (1/16)")))?;
    let alpha = fill(&mut parameters.initial_alpha, 1.0);
    if !(0.0..=1.0).contains(&alpha) {
        return Err(Wrong::at(key.clone().name("initial_alpha"), format!("found {alpha}: write a number from 0 to 1")));
    }
    Ok(DctcpConfig { gain_shift, initial_alpha: (alpha * 1024.0 + 0.5) as u32 })
}

fn d2tcp(parameters: &mut D2tcp, key: &Key) -> Result<D2tcpConfig, Wrong> {
    let mut plain = Dctcp { gain: parameters.gain, initial_alpha: parameters.initial_alpha };
    let dctcp = dctcp(&mut plain, key)?;
    (parameters.gain, parameters.initial_alpha) = (plain.gain, plain.initial_alpha);
    let (least, most) = (fill(&mut parameters.least, 0.5), fill(&mut parameters.most, 2.0));
    if !(0.01..=1.0).contains(&least) {
        return Err(Wrong::at(key.clone().name("least"), format!("found {least}: write a number from 0.01 to 1")));
    }
    if !(1.0..=100.0).contains(&most) {
        return Err(Wrong::at(key.clone().name("most"), format!("found {most}: write a number from 1 to 100")));
    }
    let undated = match fill(&mut parameters.without_deadline, WithoutDeadline::Dctcp) {
        WithoutDeadline::Dctcp => Undated::Dctcp,
        WithoutDeadline::Halve => Undated::Halve,
    };
    Ok(D2tcpConfig { dctcp, least, most, undated })
}

fn cubic(parameters: &mut Cubic, default: Flavour, mss: u16, key: &Key) -> Result<CubicConfig, Wrong> {
    let c = fill(&mut parameters.c, 0.4);
    if !(0.01..=100.0).contains(&c) {
        return Err(Wrong::at(key.clone().name("c"), format!("found {c}: write a number from 0.01 to 100")));
    }
    let beta = fill(&mut parameters.beta, 0.7);
    if !(0.1..=0.99).contains(&beta) {
        return Err(Wrong::at(key.clone().name("beta"), format!("found {beta}: write a number from 0.1 to 0.99")));
    }
    let (flavour, hystart) = match fill(&mut parameters.flavour, default) {
        Flavour::Linux => (CubicFlavour::Linux, HyStart::Linux),
        Flavour::Ns3 => (CubicFlavour::Ns3, HyStart::Ns3),
    };
    let hystart = match fill(&mut parameters.hystart, hystart) {
        HyStart::Off => spec::HyStart::Off,
        HyStart::Linux => spec::HyStart::Linux,
        HyStart::Plusplus => spec::HyStart::PlusPlus,
        HyStart::Ns3 => spec::HyStart::Ns3,
    };
    let fast_convergence = fill(&mut parameters.fast_convergence, true);
    let tcp_friendly = fill(&mut parameters.tcp_friendly, true);
    if flavour == CubicFlavour::Ns3 && parameters.tick.is_some() {
        return Err(meaningless(key.clone().name("tick"), "flavour = \"ns3\""));
    }
    let tick = if flavour == CubicFlavour::Linux { tick(&mut parameters.tick, key)? } else { LINUX_TICK };
    Ok(CubicConfig { c, beta, fast_convergence, tcp_friendly, hystart, flavour, tick, mss, paced: false })
}

/// Linux's `tcp_rmem[1]` and `tcp_rmem[2]`, bytes.
const LINUX_RECEIVE_BUFFER: u64 = 128 << 10;
const LINUX_RECEIVE_BUFFER_MAX: u64 = 6 << 20;

/// With HZ = 250.
const LINUX_TICK: Span = Span::from_ms(4);

/// Linux's HZ is 100, 250 or 1000; any whole number of ticks per second will do.
fn tick(slot: &mut Option<Duration>, key: &Key) -> Result<Span, Wrong> {
    let tick = fill(slot, Duration(LINUX_TICK)).0;
    let second = Span::from_s(1).0;
    if tick < Span::from_us(100) || tick > Span::from_ms(10) || !second.is_multiple_of(tick.0) {
        return Err(Wrong::at(key.clone().name("tick"), format!("\"{tick}\": write a time from 100us to 10ms of which a second is a multiple, as in \"4ms\"")));
    }
    Ok(tick)
}

fn bbr(parameters: &mut Bbr, interval: Span, key: &Key) -> Result<BbrConfig, Wrong> {
    let interval = fill(&mut parameters.probe_rtt_interval, Duration(interval)).0;
    let time = fill(&mut parameters.probe_rtt_time, Duration(Span::from_ms(200))).0;
    if interval == Span::ZERO || interval > Span::from_s(86_400) {
        return Err(Wrong::at(key.clone().name("probe_rtt_interval"), format!("\"{interval}\": write a time above 0, at most a day")));
    }
    if time > interval {
        return Err(Wrong::at(key.clone().name("probe_rtt_time"), format!("\"{time}\" is longer than probe_rtt_interval = \"{interval}\"")));
    }
    let send_quantum = fill(&mut parameters.send_quantum, Or::NONE).0;
    if send_quantum.is_some_and(|segments| segments == 0 || segments > 127) {
        return Err(Wrong::at(key.clone().name("send_quantum"), "write 1 to 127 segments, or \"auto\""));
    }
    Ok(BbrConfig { probe_rtt_interval: interval, probe_rtt_time: time, send_quantum })
}

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
