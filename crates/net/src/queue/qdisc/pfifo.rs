//! Linux's pfifo: first in, first out, up to a number of frames.

use crate::Model;
use crate::frame::Frame;
use crate::queue::aqm::{About, Policy, Site};
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use crate::spec::Limit;
use afflux_config::keys;
use afflux_engine::random::Stream;
use std::collections::VecDeque;

keys! {
    /// Parameters of pfifo.
    pub struct Keys as "Pfifo" => PfifoConfig {
        /// Most frames that are held. Further frames are dropped. Linux counts a buffer of
        /// segmentation offload, up to 64 KB, as one packet, so the same memory is a larger number
        /// here.
        limit: u32 = 1000 from "the kernel's default `txqueuelen`", in 1 to 1_000_000_000 as "a whole number from 1 to 1000000000";
    }
}

pub struct Pfifo {
    limit: u32,
}

impl Policy for Pfifo {
    type Config = PfifoConfig;
    fn new(config: &PfifoConfig, _: Site, _: &mut Stream) -> Self {
        Pfifo { limit: config.limit }
    }
    fn about(config: &PfifoConfig) -> About {
        About { limit: Some(Limit::Packets(config.limit)), ..About::of(MODEL) }
    }
    fn push(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        waiting: Waiting,
        _: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
        if frames.len() >= self.limit as usize {
            return vec![(waiting.frame, Verdict::Drop(Reason::Buffer))];
        }
        frames.push_back(waiting);
        Vec::new()
    }
    fn pull(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        _: u64,
        _: u64,
    ) -> Option<(Waiting, Verdict)> {
        frames.pop_front().map(|waiting| (waiting, Verdict::Admit))
    }
}

pub const MODEL: Model = Model {
    kind: "queueing discipline of hosts",
    name: "pfifo",
    source: "Linux sch_fifo.c",
    faithful: "one queue, first in, first out; what comes to a full one is dropped",
    simplified: "without the three bands of pfifo_fast, into which the type of service sorts",
};
