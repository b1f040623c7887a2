//! Defines applications, which create flows during a run in response to timers and to flows that
//! have arrived.
//!
//! All applications of a plan run on one node, their home, and so in one shard. They are called in
//! the order of the events there. Their actions on other nodes travel as messages that take
//! [`Applications::latency`], which bounds the lookahead. Therefore results depend neither on the
//! engine nor on the number of threads.

mod agenda;
mod flows;
mod runtime;

pub use agenda::TaskRecord;
pub(crate) use flows::Flows;
pub use flows::NewFlow;
pub(crate) use runtime::{Due, Runtime};

use crate::spec::FlowId;
use afflux_units::Time;
use agenda::Agenda;
use std::fmt;
use std::sync::Arc;

/// Description of an application in a plan. Each run creates its application from it.
pub trait Program: fmt::Debug + Send + Sync {
    /// Returns the application in its initial state.
    fn application(&self) -> Box<dyn Application>;
    /// Returns the hosts between which flows may be started.
    fn hosts(&self) -> Vec<u32>;
    /// Returns the approximate number of flows that the application will start, for estimates of
    /// memory.
    fn expected_flows(&self) -> u64;
}

/// The applications of a plan.
#[derive(Debug, Clone)]
pub struct Applications {
    /// Node on which the applications run.
    pub home: u32,
    /// Time from the arrival of a flow's last byte until the application is notified, and minimum
    /// time in which an application can start a flow.
    pub latency: afflux_units::Span,
    pub programs: Vec<Arc<dyn Program>>,
}

/// A running application.
pub trait Application: Send {
    /// Called when the run begins.
    fn begin(&mut self, context: &mut Context);
    /// Called when a timer has expired.
    fn on_timer(&mut self, context: &mut Context, token: u64);
    /// Called when all data of a flow have arrived at its destination (`latency` ago). `read` is
    /// the time at which they have been read. It is later than the arrival if the transport has a
    /// slow reader.
    fn on_received(&mut self, context: &mut Context, flow: FlowId, read: Time);
}

/// Interface through which an application acts.
pub struct Context<'a> {
    pub(crate) now: u64,
    pub(crate) index: u16,
    pub(crate) latency: u64,
    pub(crate) flows: &'a Flows,
    pub(crate) agenda: &'a mut Agenda,
}

impl Context<'_> {
    pub fn now(&self) -> Time {
        Time(self.now)
    }

    /// Calls [`Application::on_timer`] at `at`, or now if `at` has passed. Timers of the same time
    /// expire in the order in which they were set.
    pub fn timer(&mut self, at: Time, token: u64) {
        self.agenda.set_timer(at.0.max(self.now), self.index, token);
    }

    /// Cancels the timers with this token that have not expired. The cost is proportional to the
    /// number of all timers of the run.
    pub fn cancel_timer(&mut self, token: u64) {
        self.agenda.cancel(self.index, token);
    }

    /// Starts a flow at `at`, but not earlier than after the latency.
    pub fn start_flow(&mut self, flow: NewFlow, at: Time) -> FlowId {
        let at = at.0.max(self.now + self.latency);
        assert!(
            flow.src != flow.dst && flow.bytes > 0,
            "a flow goes from one host to another and has bytes"
        );
        let id = self.flows.push(flow, Time(at), self.index);
        self.agenda.started.push(id);
        id
    }

    /// Records a task.
    pub fn record(&mut self, task: TaskRecord) {
        self.agenda.tasks.push(task);
    }

    /// Declares this application finished. With [`crate::spec::RunConfig::until_done`] the run ends
    /// when all applications have finished.
    pub fn done(&mut self) {
        self.agenda.done(self.index);
    }
}
