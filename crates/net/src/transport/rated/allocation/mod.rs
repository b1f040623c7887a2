//! Rate allocation of links: the state that links keep of flows, and the rates that they grant.
//! Pure state machines.

pub mod d3;
mod header;
pub mod pdq;

pub use header::{Header, Scheme, Seen, What};

use crate::spec::{NodeId, Plan, TransportConfig};

/// Rate allocation of one direction of a link.
#[derive(Debug, Default)]
pub struct Link {
    pdq: Option<pdq::Link>,
    d3: Option<d3::Link>,
}

impl Link {
    /// Creates the allocation for a link that leaves `node` and has a rate of `line` bits per
    /// second.
    pub fn of(plan: &Plan, node: NodeId, line: u64) -> Link {
        let mut link = Link::default();
        for transport in &plan.transports {
            match transport {
                TransportConfig::Pdq(config) => link.pdq = Some(pdq::Link::new(node, line, config)),
                TransportConfig::D3(config) => link.d3 = Some(d3::Link::new(line, config)),
                _ => {}
            }
        }
        link
    }

    /// Processes the header of a frame of `flow` that is about to join the queue of this link.
    pub fn on_forward(&mut self, seen: &Seen, flow: u32, header: &mut Header) {
        match &mut header.scheme {
            Scheme::Pdq(pdq) => self.pdq.as_mut().expect("it is among the transports").on_forward(
                seen,
                flow,
                header.what,
                pdq,
            ),
            Scheme::D3(d3) => self.d3.as_mut().expect("it is among the transports").on_forward(
                seen,
                flow,
                header.what,
                d3,
            ),
            Scheme::None => {}
        }
    }

    /// Processes the header of an answer to a frame that used this link.
    pub fn on_answer(&mut self, flow: u32, header: &mut Header) {
        if let Scheme::Pdq(pdq) = &mut header.scheme {
            self.pdq.as_mut().expect("it is among the transports").on_answer(flow, pdq);
        }
    }
}
