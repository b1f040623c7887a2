//! Congestion controls supplied by the caller of the simulator. The Python interface does this for
//! prototypes.

use super::{About, Ack, Controller, Opening, Parameters, State, Window};
use crate::Model;
use std::fmt::Debug;
use std::sync::Arc;

/// Congestion control of one connection.
pub trait Algorithm: Debug + Send + Sync {
    /// Handles every acknowledgement. Its changes to the window count only outside of reductions
    /// and recovery.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);
    /// Returns the slow start threshold after a loss.
    fn on_loss(&mut self, window: &Window, now: u64) -> u32;
    /// Returns the slow start threshold after an ECN echo.
    fn on_ecn(&mut self, window: &Window, now: u64) -> u32;
    /// Returns the slow start threshold after a time-out, which leaves a window of one segment.
    fn on_timeout(&mut self, window: &Window, now: u64) -> u32;
    /// Returns the pacing rate in bit/s of payload, where the transport paces. `None`: paced by the
    /// window.
    fn pacing_rate(&self) -> Option<u64>;
    fn copy(&self) -> Box<dyn Algorithm>;
}

/// Creates the algorithm of each connection.
pub trait Factory: Debug + Send + Sync {
    fn make(&self, mss: u32, initial_window: u32) -> Box<dyn Algorithm>;
}

/// Factory in a plan. Two are equal if they are the same object.
#[derive(Debug, Clone)]
pub struct Foreign(pub Arc<dyn Factory>);

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Debug)]
pub struct External(Box<dyn Algorithm>);

impl Clone for External {
    fn clone(&self) -> Self {
        External(self.0.copy())
    }
}

impl External {
    pub fn new(factory: &Foreign, mss: u32, initial_window: u32) -> Self {
        External(factory.0.make(mss, initial_window))
    }
}

impl Controller for External {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let mut wanted = *window;
        self.0.on_ack(&mut wanted, ack);
        if matches!(ack.state, State::Open | State::Loss) {
            *window = Window {
                cwnd: wanted.cwnd.clamp(1, window.limit),
                ssthresh: wanted.ssthresh.max(2),
                limit: window.limit,
                ..wanted
            };
        }
    }

    fn on_loss(&mut self, window: &Window, now: u64) -> u32 {
        self.0.on_loss(window, now).max(2)
    }

    fn on_ecn(&mut self, window: &Window, now: u64) -> u32 {
        self.0.on_ecn(window, now).max(2)
    }

    fn on_timeout(&mut self, window: &Window, now: u64) -> u32 {
        self.0.on_timeout(window, now).max(2)
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.0.pacing_rate()
    }
}

impl Foreign {
    pub fn start<C: From<Box<External>>>(&self, Opening { mss, initial_window, .. }: Opening) -> C {
        Box::new(External::new(self, mss, initial_window)).into()
    }
}

impl Parameters for Foreign {
    fn about(&self) -> About {
        About::of(MODEL)
    }
}

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "python",
    source: "a class of yours: Scenario.run(congestion=…) in Python",
    faithful: "the class sets window, slow start threshold and pacing rate; the transport detects losses and runs recovery and timers, as for every \
               congestion control",
    simplified: "for prototypes: about ten microseconds for each acknowledgement, on one thread, and without the guarantee that results repeat",
};
