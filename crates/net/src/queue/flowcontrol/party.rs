//! Flow control between the two ends of a link.

use super::{Pause, PauseSetup, quanta, response_time};
use crate::spec::{Link, NodeId, NodeKind, PauseTime, Plan, Refresh};
use afflux_units::Span;

/// Flow control properties of a node that its neighbours need.
#[derive(Debug, Clone, Copy)]
pub struct Party {
    pub honours: bool,
    /// Pause time of the PAUSE frames that the node sends, whether it repeats them at half of that
    /// time, and the response time of the peer (`None`: the standard's). `None` if it sends no
    /// PAUSE frames.
    pub sends: Option<(PauseTime, bool, Option<Span>)>,
}

impl Party {
    pub fn of(plan: &Plan, node: NodeId) -> Party {
        let spec = &plan.topology.nodes[node as usize];
        match spec.kind {
            NodeKind::Host => {
                let host = &plan.hosts[spec.config as usize];
                Party {
                    honours: host.honours_pause,
                    sends: host.storm.map(|storm| (storm.pause, false, None)),
                }
            }
            NodeKind::Switch => {
                let switch = &plan.switches[spec.config as usize];
                let sends = switch
                    .pfc
                    .as_ref()
                    .map(|pfc| (pfc.pause, pfc.refresh == Refresh::AtHalf, pfc.response));
                Party { honours: switch.honours_pause, sends }
            }
        }
    }

    /// True if the node sends PAUSE frames.
    pub fn pauses(&self) -> bool {
        self.sends.is_some()
    }

    /// Returns the time in ps from the last bit of the node's PAUSE frame leaving over `link` to
    /// its effect at the peer.
    pub fn pause_delay(&self, link: &Link) -> Option<u64> {
        let (_, _, response) = self.sends?;
        Some(link.delay.0 + response.unwrap_or_else(|| response_time(link.rate)).0)
    }

    /// Returns the flow control state of the node's port to `peer`; `None` if neither end sends
    /// PAUSE frames.
    pub fn port(&self, peer: &Party, link: &Link) -> Option<Pause> {
        if self.sends.is_none() && peer.sends.is_none() {
            return None;
        }
        let quanta = match self.sends {
            None => 0,
            Some((PauseTime::Quanta(quanta), ..)) => quanta,
            Some((PauseTime::Time(time), ..)) => quanta(time.0, link.rate.0),
        };
        Some(Pause::new(PauseSetup {
            honours: self.honours,
            quanta,
            refresh: self.sends.is_some_and(|(_, repeats, _)| repeats),
            delay: self.pause_delay(link).unwrap_or(0),
            rate: link.rate.0,
        }))
    }
}
