//! Random packet spraying: every frame takes a random next hop.

pub use super::oblivious::Oblivious as Spray;

use super::{About, Choice, Holding, PathContext, Policy, Role};
use crate::Model;
use crate::frame::Frame;
use afflux_config::keys;

keys! {
    /// No parameters.
    pub struct Keys as "Spray" => SprayConfig(_context: &PathContext<'_>) {}
}

impl Policy for Spray {
    type Config = SprayConfig;
    fn new(_: &SprayConfig, _: &[Option<u64>]) -> Self {
        Spray::start(false)
    }
    fn selects_path(&self, _: &Frame) -> bool {
        true
    }
    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        _: Role,
        hops: &[u16],
    ) -> Choice {
        Choice::Port(self.one_of(site.rack_of(frame.dst), hops, |n| site.below(n)))
    }
    fn oblivious(&mut self) -> Option<&mut Spray> {
        Some(self)
    }
}

pub const ABOUT: About = About { overtakes: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "spray",
    source: "random packet spraying",
    faithful: "every frame, acknowledgements too, draws a next hop uniformly from its switch's own stream",
    simplified: "-",
};
