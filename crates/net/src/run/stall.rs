//! Ends a run without progress: frames wait in the network, and none has left it for `run.stall`.
//! Only pauses can block frames for so long, so only plans with flow control are checked.
//!
//! Progress is checked window by window. Only windows in which a frame enters or leaves the network
//! affect the check, so both engines see the same progress.

use crate::queue::flowcontrol::party::Party;
use crate::record::Ended;
use crate::world::World;
use afflux_engine::Windows;

pub struct Stall {
    windows: Windows,
    patience: u64,
    /// Number of frames that had left the network at the end of the latest window.
    absorbed: u64,
    /// True if the network held no frames then.
    empty: bool,
    /// Time in ps, at the start of a window, at which the run ends unless a frame leaves the
    /// network before.
    deadline: u64,
    ended: bool,
}

impl Stall {
    pub fn new(world: &World, windows: Windows) -> Option<Stall> {
        let patience = world.plan.run.stall?.0;
        let pauses = (0..world.plan.topology.nodes.len() as u32)
            .any(|node| Party::of(world.plan, node).pauses());
        pauses.then_some(Stall {
            windows,
            patience,
            absorbed: 0,
            empty: true,
            deadline: u64::MAX,
            ended: false,
        })
    }

    /// Checks for progress after a window that ended at `end`. `sent` and `absorbed` count the
    /// frames that have entered and left the network since the start. `next` is the start of the
    /// window with the next event.
    #[inline]
    pub fn check(&mut self, world: &World, end: u64, next: u64, (sent, absorbed): (u64, u64)) {
        if absorbed != self.absorbed || self.empty {
            self.deadline =
                self.windows.start(self.windows.of(end.saturating_add(self.patience)) + 1);
        }
        self.absorbed = absorbed;
        self.empty = sent == absorbed;
        // A run whose regular end comes before the deadline has not stalled.
        if !self.empty && next >= self.deadline && self.deadline <= world.until() && !self.ended {
            self.ended = true;
            world.stop_by(self.deadline - 1);
        }
    }

    pub fn ended(&self) -> Option<Ended> {
        self.ended.then_some(Ended::Stalled)
    }
}
