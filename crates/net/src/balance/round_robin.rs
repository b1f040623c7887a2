//! Packet spraying in turn: every frame takes the next hop whose turn it is.

use super::oblivious::Oblivious;
use super::{About, Choice, Holding, PathContext, Policy, Role};
use crate::Model;
use crate::frame::Frame;
use afflux_config::keys;

keys! {
    /// No parameters.
    pub struct Keys as "RoundRobin" => RoundRobinConfig(_context: &PathContext<'_>) {}
}

pub struct RoundRobin(Oblivious);

impl Policy for RoundRobin {
    type Config = RoundRobinConfig;
    fn new(_: &RoundRobinConfig, _: &[Option<u64>]) -> Self {
        RoundRobin(Oblivious::start(true))
    }
    fn selects_path(&self, _: &Frame) -> bool {
        true
    }
    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        role: Role,
        hops: &[u16],
    ) -> Choice {
        self.0.choose(site, frame, role, hops)
    }
    fn oblivious(&mut self) -> Option<&mut Oblivious> {
        Some(&mut self.0)
    }
}

pub const ABOUT: About = About { overtakes: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "round_robin",
    source: "packet spraying in turn",
    faithful: "every frame, also acknowledgements; each switch goes round its next hops for each destination rack, starting at one drawn at random",
    simplified: "-",
};
