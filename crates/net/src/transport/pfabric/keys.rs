//! The settings.

use crate::congestion::newreno::{NewrenoConfig, RenoFlavour};
use crate::congestion::{Flavour, Sender, dctcp};
use crate::spec::{CongestionControl, EcnMode, TcpConfig};
use crate::transport::around::Around;
use afflux_config::keys::meaningless;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Off, Or, Size, keys, words};
use afflux_units::Span;

words! {
    /// How the window reacts.
    pub enum PfabricCongestion {
        /// Slow start and congestion avoidance; a time-out leaves one segment.
        Newreno,
        /// As `"newreno"`; in addition marks reduce the window by the marked share.
        Dctcp,
    }
    /// A time-out.
    pub enum Timeout {
        /// A constant.
        Fixed,
        /// RFC 6298, with exponential back-off.
        Estimated,
    }
    /// Rank that data frames carry.
    pub enum Rank {
        /// The bytes of the flow that are neither acknowledged nor SACKed.
        Remaining,
        /// Nothing.
        None,
    }
    /// Connections.
    pub enum Connections {
        /// Every flow has one, open from the start.
        Own,
        /// Each pair of hosts has one, open from the start; a flow that finds it busy opens another with a handshake. Connections stay open and keep their
        /// slow start threshold, as in the authors' ns-2.
        Pooled,
    }
}

keys! {
    /// pFabric's minimal transport (Alizadeh et al. 2013, as in the authors' ns-2). With `rto = "estimated"` and `rank = "none"` it is the TCP
    /// they compare with, with `congestion = "dctcp"` in addition their DCTCP.
    pub struct Keys as "Pfabric" => Settings(around: &Around<'_>) of written {
        /// How the window reacts.
        congestion: PfabricCongestion = "newreno";
        /// Payload of a full segment.
        mss: Size as u16 = (around.full()) "`mtu` less the profile's headers", check |size, at| around.payload(size, at);
        /// Initial window in segments.
        initial_window: u32 = (written.max_window.map_or(12, |most| most.min(12))) "12, at most `max_window`" from "the study's: a round trip at 10 Gbps",
            check |window, at| match written.max_window {
                Some(most) if window == 0 || window > most => Err(Wrong::at(at, format!("found {window}: write 1 to max_window = {most}"))),
                _ => Ok(window),
            };
        /// Largest window in segments.
        max_window: u32 = 23 from "one less than the queues of the study hold";
        /// The time-out.
        rto: Timeout = "fixed";
        /// The fixed time-out, or the floor of the estimated one.
        min_rto: Duration = (Duration(Span::from_us(if rto == Timeout::Fixed { 45 } else { 200 }))) "`\"45us\"`; with `rto = \"estimated\"` `\"200us\"`" from "the study's",
            check |Duration(time), at| if time > Span::ZERO && time <= Span::from_s(1) { Ok(time) } else {
                Err(Wrong::at(at, format!("\"{time}\": write a time above 0 and up to 1s")))
            };
        /// Number of consecutive time-outs after which the sender sends frames without data, until it receives an answer.
        probe_after: Or<Off, u32> = (if rto == Timeout::Fixed { Or::some(5) } else { Or::NONE }) "5, `\"off\"` with `rto = \"estimated\"`",
            check |times, at| if times.0 == Some(0) { Err(Wrong::at(at, "found 0: write at least 1, or \"off\"")) } else { Ok(times.0) };
        /// Rank that data frames carry, for `scheduling = "pfabric"`.
        rank: Rank = (if rto == Timeout::Fixed { Rank::Remaining } else { Rank::None }) "`\"remaining\"`, `\"none\"` with `rto = \"estimated\"`";
        /// Connections.
        connections: Connections = "own";
        /// Parameters of DCTCP. Default: every key has its own default.
        dctcp: dctcp::Keys = none;
    }
}

/// pFabric's minimal transport, or ns-2's TCP without fast retransmit that it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Segments, initial and largest window, least time-out, NewReno or DCTCP, and the receiver. Connections are open.
    pub tcp: TcpConfig,
    /// The time-out is always `tcp.min_rto`, without estimation and back-off.
    pub fixed_timeout: bool,
    /// After so many time-outs in a row during which nothing came, only probes are sent until something does.
    pub probe_after: Option<u32>,
    /// Data say how much of their flow remains.
    pub ranked: bool,
    /// One open connection for each pair of hosts, on which flows follow each other; one that finds it busy opens another with a handshake.
    /// Otherwise every flow has an open connection of its own.
    pub pooled: bool,
}

impl Keys {
    pub fn config(&mut self, key: &Key, around: &Around) -> Result<Config, Wrong> {
        let keys = self.resolve(key, around)?;
        let at = || key.clone().name("dctcp");
        let (congestion, ecn) = match keys.congestion {
            PfabricCongestion::Newreno if self.dctcp.is_some() => return Err(meaningless(at(), "congestion = \"newreno\"")),
            PfabricCongestion::Newreno => (CongestionControl::Newreno(NewrenoConfig { flavour: RenoFlavour::Linux }), EcnMode::Off),
            PfabricCongestion::Dctcp => {
                let sender = Sender { flavour: Flavour::Linux, mss: around.payload, paced: false, ecn: EcnMode::Off };
                (CongestionControl::Dctcp(self.dctcp.get_or_insert_default().resolve(&at(), &sender)?), EcnMode::Dctcp)
            }
        };
        // The receiver and what the two machines share: a TCP that finds losses by time-outs only.
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
            ranked: keys.rank == Rank::Remaining,
            pooled: keys.connections == Connections::Pooled,
        })
    }
}
