//! Settings of pFabric's transport.

use crate::congestion::newreno::{NewrenoConfig, RenoFlavour};
use crate::congestion::{Flavour, Sender, dctcp};
use crate::spec::{CongestionControl, EcnMode, TcpConfig};
use crate::transport::key_context::KeyContext;
use afflux_config::keys::meaningless;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Off, Or, Size, keys, words};
use afflux_units::Span;

words! {
    /// Reaction of the window to congestion.
    pub enum PfabricCongestion {
        /// Slow start and congestion avoidance. A time-out leaves a window of one segment.
        Newreno,
        /// Like `"newreno"`, but marks also reduce the window, by half of the estimated share of
        /// marked segments.
        Dctcp,
        /// No reaction: the window stays at `initial_window`. This is pFabric without rate control.
        None,
    }
    /// Retransmission time-out.
    pub enum Timeout {
        /// Constant time-out.
        Fixed,
        /// Estimated by RFC 6298, with exponential back-off.
        Estimated,
    }
    /// Rank that data frames carry.
    pub enum Rank {
        /// Bytes of the flow that are neither acknowledged nor SACKed.
        Remaining,
        /// No rank.
        None,
    }
    /// Connections between two hosts.
    pub enum Connections {
        /// Every flow has its own connection, open from the start.
        Own,
        /// Each pair of hosts has one connection, open from the start. A flow that finds it busy
        /// opens another one with a handshake. Connections stay open and keep their slow start
        /// threshold, as in the authors' ns-2.
        Pooled,
    }
}

keys! {
    /// pFabric's minimal transport (Alizadeh et al. 2013, as in the authors' ns-2). With
    /// `rto = "estimated"` and `rank = "none"` it is the TCP that the authors compare with. With
    /// `congestion = "dctcp"` in addition it is their DCTCP.
    pub struct Keys as "Pfabric" => Settings(context: &KeyContext<'_>) of written {
        /// Reaction of the window to congestion.
        congestion: PfabricCongestion = "newreno";
        /// Payload of a full segment.
        mss: Size as u16 = (context.full()) "`mtu` less the profile's headers", check |size, at| context.payload(size, at);
        /// Initial window in segments.
        initial_window: u32 = (written.max_window.map_or(12, |most| most.min(12))) "12, at most `max_window`" from "the study's: a round trip at 10 Gbps",
            check |window, at| match written.max_window {
                Some(most) if window == 0 || window > most => Err(Wrong::at(at, format!("found {window}: write 1 to max_window = {most}"))),
                _ => Ok(window),
            };
        /// Largest window in segments.
        max_window: u32 = 23 from "one less than the queues of the study hold";
        /// Kind of retransmission time-out.
        rto: Timeout = "fixed";
        /// Fixed time-out, or lower bound of the estimated one.
        min_rto: Duration = (Duration(Span::from_us(if rto == Timeout::Fixed { 45 } else { 200 }))) "`\"45us\"`; with `rto = \"estimated\"` `\"200us\"`" from "the study's",
            check |Duration(time), at| if time > Span::ZERO && time <= Span::from_s(1) { Ok(time) } else {
                Err(Wrong::at(at, format!("\"{time}\": write a time above 0 and up to 1s")))
            };
        /// Number of consecutive time-outs after which the sender sends frames without data, until it receives an answer.
        probe_after: Or<Off, u32> = (if rto == Timeout::Fixed { Or::some(5) } else { Or::NONE }) "5, `\"off\"` with `rto = \"estimated\"`",
            check |times, at| if times.0 == Some(0) { Err(Wrong::at(at, "found 0: write at least 1, or \"off\"")) } else { Ok(times.0) };
        /// Rank that data frames carry, for `scheduling = "pfabric"`.
        rank: Rank = (if rto == Timeout::Fixed { Rank::Remaining } else { Rank::None }) "`\"remaining\"`, `\"none\"` with `rto = \"estimated\"`";
        /// Connections between two hosts.
        connections: Connections = "own";
        /// Parameters of DCTCP. Default: every key has its own default.
        dctcp: dctcp::Keys = none;
    }
}

/// Settings of pFabric's minimal transport, or of ns-2's TCP without fast retransmit that it is
/// derived from.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// TCP settings: segment size, initial and largest window, smallest time-out, NewReno or DCTCP,
    /// and the receiver. Connections are open from the start.
    pub tcp: TcpConfig,
    /// True if the time-out is always `tcp.min_rto`, without estimation and back-off.
    pub fixed_timeout: bool,
    /// Number of consecutive time-outs without an answer after which the sender only sends probes,
    /// until an answer arrives.
    pub probe_after: Option<u32>,
    /// True if the window never changes.
    pub constant_window: bool,
    /// True if data frames carry the remaining size of their flow.
    pub ranked: bool,
    /// True if each pair of hosts has one open connection for its consecutive flows. A flow that
    /// finds it busy opens another one with a handshake. Otherwise every flow has its own open
    /// connection.
    pub pooled: bool,
}

impl Keys {
    pub fn config(&mut self, key: &Key, context: &KeyContext) -> Result<Config, Wrong> {
        let keys = self.resolve(key, context)?;
        let at = || key.clone().name("dctcp");
        let (congestion, ecn) = match keys.congestion {
            PfabricCongestion::Newreno if self.dctcp.is_some() => {
                return Err(meaningless(at(), "congestion = \"newreno\""));
            }
            PfabricCongestion::None if self.dctcp.is_some() => {
                return Err(meaningless(at(), "congestion = \"none\""));
            }
            PfabricCongestion::Newreno | PfabricCongestion::None => (
                CongestionControl::Newreno(NewrenoConfig { flavour: RenoFlavour::Linux }),
                EcnMode::Off,
            ),
            PfabricCongestion::Dctcp => {
                let sender = Sender {
                    flavour: Flavour::Linux,
                    mss: context.payload,
                    paced: false,
                    ecn: EcnMode::Off,
                };
                (
                    CongestionControl::Dctcp(
                        self.dctcp.get_or_insert_default().resolve(&at(), &sender)?,
                    ),
                    EcnMode::Dctcp,
                )
            }
        };
        // Settings of the receiver and of the common parts: a TCP that detects losses by time-outs
        // only.
        let tcp = TcpConfig {
            initial_window: keys.initial_window,
            max_window: Some(keys.max_window),
            dupack_threshold: None,
            min_rto: keys.min_rto,
            initial_rto: keys.min_rto,
            ecn,
            ..TcpConfig::basic(congestion, keys.mss)
        };
        Ok(Config {
            tcp,
            fixed_timeout: keys.rto == Timeout::Fixed,
            probe_after: keys.probe_after,
            constant_window: keys.congestion == PfabricCongestion::None,
            ranked: keys.rank == Rank::Remaining,
            pooled: keys.connections == Connections::Pooled,
        })
    }
}
