//! NewReno: RFC 5681's window, RFC 6582's recovery (which lives in the transport).

use super::{Ack, Window};
use crate::Model;

#[derive(Debug, Clone, Copy)]
pub struct NewReno;

impl NewReno {
    #[inline(always)]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.may_grow && ack.acked > 0 {
            window.reno_increase(ack.acked);
        }
    }
    pub fn on_loss(&mut self, window: &Window) -> u32 {
        window.half()
    }
}

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "newreno",
    source: "RFC 5681, RFC 6582; counting of segments as in Linux tcp_cong.c",
    faithful: "slow start by segments acknowledged, one segment per window in congestion avoidance, halving on loss and on an ECN echo once per round trip",
    simplified: "the window is kept in whole segments",
};
