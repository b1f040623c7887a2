//! The end of a run in which nothing moves any more: frames wait in the network, and for `run.stall` none has left it. Only pauses can hold frames so
//! long, so only plans with flow control are looked at.
//!
//! Progress is seen window by window, in the same windows by both engines: only those count in which a frame enters or leaves the network.

use crate::queue::flowcontrol::Party;
use crate::record::Ended;
use crate::world::World;
use afflux_engine::Windows;

pub struct Stall {
    windows: Windows,
    patience: u64,
    /// Frames that have left the network, at the end of the latest window.
    absorbed: u64,
    /// There were none in it.
    empty: bool,
    /// The run ends here, at the start of a window, unless a frame leaves the network before.
    deadline: u64,
    ended: bool,
}

impl Stall {
    pub fn new(world: &World, windows: Windows) -> Option<Stall> {
        let patience = world.plan.run.stall?.0;
        let pauses = (0..world.plan.topology.nodes.len() as u32).any(|node| Party::of(world.plan, node).pauses());
        pauses.then_some(Stall { windows, patience, absorbed: 0, empty: true, deadline: u64::MAX, ended: false })
    }

    /// The latest window has ended at `end`, with so many frames sent into the network and gone from it since the start; something happens next in
    /// the window that starts at `next`.
    #[inline]
    pub fn check(&mut self, world: &World, end: u64, next: u64, (sent, absorbed): (u64, u64)) {
        if absorbed != self.absorbed || self.empty {
            self.deadline = self.windows.start(self.windows.of(end.saturating_add(self.patience)) + 1);
        }
        self.absorbed = absorbed;
        self.empty = sent == absorbed;
        // One that is to end before has not stalled, whatever would come later.
        if !self.empty && next >= self.deadline && self.deadline <= world.until() && !self.ended {
            self.ended = true;
            world.stop_by(self.deadline - 1);
        }
    }

    pub fn ended(&self) -> Option<Ended> {
        self.ended.then_some(Ended::Stalled)
    }
}
