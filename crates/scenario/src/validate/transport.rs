//! `[host.transport]` and `[host.transports.NAME]`.

use super::hosts::Frames;
use super::{fill, meaningless};
use crate::document::{Bbr, Congestion, Datagram, Dctcp, DelayedAck, Duration, Echo, Host, Or, Recovery, Size, Tcp, Transport};
use crate::spelling;
use crate::topology::Facts;
use crate::tree::{Key, Wrong};
use afflux_net::spec::{self, Bbr3Config, BbrConfig, CongestionControl, DctcpConfig, EcnMode, TcpConfig, TransportConfig};
use afflux_units::{Bytes, Span};

/// Transports by name; `"default"` is the first.
pub struct Transports {
    names: Vec<String>,
    pub configs: Vec<TransportConfig>,
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
    /// The index of `config`, which is added if it is new.
    pub fn add(&mut self, config: TransportConfig) -> u16 {
        let index = self.configs.iter().position(|known| *known == config).unwrap_or_else(|| {
            self.configs.push(config);
            self.configs.len() - 1
        });
        index as u16
    }
}

pub fn check(host: &mut Host, frames: &Frames, facts: &Facts) -> Result<Transports, Wrong> {
    let idle_rtt = idle_round_trip(host, frames, facts);
    let around = Around { frames, idle_rtt };
    let mut transports = Transports { names: vec!["default".into()], configs: Vec::new() };
    let default = host.transport.get_or_insert_with(|| Transport::Tcp(Tcp::default()));
    transports.configs.push(around.build(default, &Key::from("host.transport"))?);
    let key = Key::from("host.transports");
    for (name, transport) in &mut host.transports {
        let key = key.clone().name(name);
        if name == "default" {
            return Err(Wrong::at(key, "the transport \"default\" is [host.transport]: choose another name"));
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
}

impl Around<'_> {
    fn build(&self, transport: &mut Transport, key: &Key) -> Result<TransportConfig, Wrong> {
        match transport {
            Transport::Tcp(tcp) => self.tcp(tcp, key).map(TransportConfig::Tcp),
            Transport::Datagram(datagram) => self.frames.datagram(datagram, key).map(TransportConfig::Datagram),
        }
    }

    fn tcp(&self, tcp: &mut Tcp, key: &Key) -> Result<TcpConfig, Wrong> {
        let at = |name: &str| key.clone().name(name);
        let (congestion, ecn) = congestion(tcp, key)?;
        let mss = self.frames.payload(&mut tcp.mss, at("mss"))?;
        let initial_window = fill(&mut tcp.initial_window, 10);
        if initial_window == 0 {
            return Err(Wrong::at(at("initial_window"), "found 0: write at least 1 segment"));
        }
        let max_window = fill(&mut tcp.max_window, Or::NONE).0;
        if let Some(most) = max_window.filter(|most| *most < initial_window) {
            return Err(Wrong::at(at("max_window"), format!("{most} is less than initial_window = {initial_window}")));
        }
        let receive_window = fill(&mut tcp.receive_window, Or::NONE).0.map(|Size(bytes)| bytes);
        if let Some(window) = receive_window.filter(|window| window.0 < u64::from(mss)) {
            return Err(Wrong::at(at("receive_window"), format!("\"{window}\" does not hold a segment of {mss} B")));
        }
        let dupack_threshold = fill(&mut tcp.dupack_threshold, Or::some(3)).0;
        if dupack_threshold == Some(0) {
            return Err(Wrong::at(at("dupack_threshold"), "found 0: write at least 1, or \"off\""));
        }
        let mut delayed = fill(&mut tcp.delayed_ack, Or::NONE);
        let delayed_ack = match &mut delayed.0 {
            Some(delayed) => Some(delayed_ack(delayed, &at("delayed_ack"))?),
            None => None,
        };
        tcp.delayed_ack = Some(delayed);
        let timeouts = self.timeouts(tcp, key)?;
        Ok(TcpConfig {
            congestion,
            mss,
            initial_window,
            max_window,
            receive_window,
            recovery: match fill(&mut tcp.recovery, Recovery::Sack) {
                Recovery::Sack => spec::Recovery::Sack,
                Recovery::Newreno => spec::Recovery::NewReno,
            },
            dupack_threshold,
            delayed_ack,
            min_rto: timeouts.min,
            min_rto_on_variance: timeouts.on_variance,
            initial_rto: timeouts.initial,
            max_rto: timeouts.max,
            ecn,
        })
    }

    fn timeouts(&self, tcp: &mut Tcp, key: &Key) -> Result<Timeouts, Wrong> {
        let at = |name: &str| key.clone().name(name);
        let positive = |span: Span, name: &str| match span {
            Span::ZERO => Err(Wrong::at(at(name), "\"0s\": write a time above 0")),
            long if long > Span::from_s(86_400) => Err(Wrong::at(at(name), format!("\"{long}\": a time-out is at most a day"))),
            _ => Ok(span),
        };
        let min = positive(fill(&mut tcp.min_rto, Duration(Span::from_ms(200))).0, "min_rto")?;
        let on_variance = fill(&mut tcp.min_rto_on_variance, true);
        // What one sample of an idle path gives: SRTT = R, RTTVAR = R/2 (RFC 6298 §2.2).
        let rtt = self.idle_rtt.0;
        let sampled = if on_variance { rtt.saturating_add(min.0.max(rtt.saturating_mul(2))) } else { min.0.max(rtt.saturating_mul(3)) };
        let sampled = Span(sampled.min(Span::from_s(86_400).0));
        let initial = positive(fill(&mut tcp.initial_rto, Duration(sampled)).0, "initial_rto")?;
        let floor = Span(min.0.max(initial.0));
        let max = positive(fill(&mut tcp.max_rto, Duration(Span(floor.0.max(Span::from_s(120).0)))).0, "max_rto")?;
        if max < floor {
            return Err(Wrong::at(at("max_rto"), format!("\"{max}\" is less than min_rto = \"{min}\" or initial_rto = \"{initial}\"")));
        }
        Ok(Timeouts { min, on_variance, initial, max })
    }
}

struct Timeouts {
    min: Span,
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

fn congestion(tcp: &mut Tcp, key: &Key) -> Result<(CongestionControl, EcnMode), Wrong> {
    let kind = fill(&mut tcp.congestion, Congestion::Newreno);
    let key_of = |name: &str| key.clone().name(name);
    let word = match kind {
        Congestion::Newreno => "newreno",
        Congestion::Dctcp => "dctcp",
        Congestion::Bbr => "bbr",
        Congestion::Bbr3 => "bbr3",
    };
    for (table, there) in [("dctcp", tcp.dctcp.is_some()), ("bbr", tcp.bbr.is_some()), ("bbr3", tcp.bbr3.is_some())] {
        if there && table != word {
            return Err(meaningless(key_of(table), &format!("congestion = \"{word}\"")));
        }
    }
    match kind {
        Congestion::Newreno => {
            let ecn = match fill(&mut tcp.ecn, Echo::Off) {
                Echo::Off => EcnMode::Off,
                Echo::Classic => EcnMode::Classic,
                Echo::Dctcp => return Err(Wrong::at(key_of("ecn"), "\"dctcp\" is for congestion = \"dctcp\": write \"off\" or \"classic\"")),
            };
            Ok((CongestionControl::NewReno, ecn))
        }
        Congestion::Dctcp => {
            let key = key_of("dctcp");
            let parameters = tcp.dctcp.get_or_insert_with(Dctcp::default);
            let gain = fill(&mut parameters.gain, 0.0625);
            let gain_shift = (0..=10u32).find(|shift| gain == 1.0 / f64::from(1u32 << shift));
            let gain_shift = gain_shift
                .ok_or_else(|| Wrong::at(key.clone().name("gain"), format!("found {gain}: write a power of two from 1 down to 1/1024, as in 0.0625 (1/16)")))?;
            let alpha = fill(&mut parameters.initial_alpha, 1.0);
            if !(0.0..=1.0).contains(&alpha) {
                return Err(Wrong::at(key.name("initial_alpha"), format!("found {alpha}: write a number from 0 to 1")));
            }
            if fill(&mut tcp.ecn, Echo::Dctcp) != Echo::Dctcp {
                return Err(Wrong::at(key_of("ecn"), "congestion = \"dctcp\" needs ecn = \"dctcp\": leave it out"));
            }
            Ok((CongestionControl::Dctcp(DctcpConfig { gain_shift, initial_alpha: (alpha * 1024.0 + 0.5) as u32 }), EcnMode::Dctcp))
        }
        Congestion::Bbr => {
            let config = bbr(tcp.bbr.get_or_insert_default(), Span::from_s(10), &key_of("bbr"))?;
            let ecn = match fill(&mut tcp.ecn, Echo::Off) {
                Echo::Off => EcnMode::Off,
                Echo::Classic => EcnMode::Classic,
                Echo::Dctcp => return Err(Wrong::at(key_of("ecn"), "congestion = \"bbr\" does not react to marks: write \"off\" or \"classic\"")),
            };
            Ok((CongestionControl::Bbr(config), ecn))
        }
        Congestion::Bbr3 => {
            let config = bbr(tcp.bbr3.get_or_insert_default(), Span::from_s(5), &key_of("bbr3"))?;
            let BbrConfig { probe_rtt_interval, probe_rtt_time, send_quantum } = config;
            let ecn = match fill(&mut tcp.ecn, Echo::Off) {
                Echo::Off => EcnMode::Off,
                Echo::Classic => EcnMode::Classic,
                Echo::Dctcp => EcnMode::Dctcp,
            };
            let config = Bbr3Config { probe_rtt_interval, probe_rtt_time, send_quantum, ecn: ecn == EcnMode::Dctcp };
            Ok((CongestionControl::Bbr3(config), ecn))
        }
    }
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

fn delayed_ack(delayed: &mut DelayedAck, key: &Key) -> Result<spec::DelayedAck, Wrong> {
    let segments = fill(&mut delayed.segments, 2);
    if segments == 0 {
        return Err(Wrong::at(key.clone().name("segments"), "found 0: write at least 1 segment"));
    }
    let timeout = fill(&mut delayed.timeout, Duration(Span::from_ms(40))).0;
    if timeout == Span::ZERO {
        return Err(Wrong::at(key.clone().name("timeout"), "\"0s\": write a time above 0"));
    }
    Ok(spec::DelayedAck { segments, timeout })
}
