//! Applications: they create flows while a run is under way, in answer to time and to flows that have arrived.
//!
//! All applications of a plan live on one node, their home, and so in one shard: they are called in the order of events there, and whatever
//! they do elsewhere goes by messages that take [`Applications::latency`], which bounds the lookahead. So results depend neither on the
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

/// What a plan holds of an application: the state of a run is made from it.
pub trait Program: fmt::Debug + Send + Sync {
    /// At its beginning.
    fn application(&self) -> Box<dyn Application>;
    /// Between which flows may be started.
    fn hosts(&self) -> Vec<u32>;
    /// How many flows it will start, roughly: for estimates of memory.
    fn expected_flows(&self) -> u64;
    /// Payload that they carry together, roughly, for estimates of time; `None`: not known.
    fn expected_bytes(&self) -> Option<u64> {
        None
    }
}

/// The applications of a plan.
#[derive(Debug, Clone)]
pub struct Applications {
    /// The node they live on.
    pub home: u32,
    /// How long after its last byte has arrived an application hears of a flow's end, and the least time in which it can start one.
    pub latency: afflux_units::Span,
    pub programs: Vec<Arc<dyn Program>>,
}

/// An application at work.
pub trait Application: Send {
    /// The run begins.
    fn begin(&mut self, context: &mut Context);
    /// A timer has expired.
    fn on_timer(&mut self, context: &mut Context, token: u64);
    /// All of a flow has arrived at its destination (`latency` ago), where it has been read by `read`: later than it arrived if the transport
    /// has a reader that takes its time.
    fn on_received(&mut self, context: &mut Context, flow: FlowId, read: Time);
}

/// What an application can do.
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

    /// Calls [`Application::on_timer`] at `at`, or now if that has passed; timers of one moment in the order in which they were set.
    pub fn timer(&mut self, at: Time, token: u64) {
        self.agenda.set_timer(at.0.max(self.now), self.index, token);
    }

    /// Takes back the timers with this token that have not expired. It looks at every timer of the run.
    pub fn cancel_timer(&mut self, token: u64) {
        self.agenda.cancel(self.index, token);
    }

    /// Starts a flow at `at`, at the earliest after the latency.
    pub fn start_flow(&mut self, flow: NewFlow, at: Time) -> FlowId {
        let at = at.0.max(self.now + self.latency);
        assert!(flow.src != flow.dst && flow.bytes > 0, "a flow goes from one host to another and has bytes");
        let id = self.flows.push(flow, Time(at), self.index);
        self.agenda.started.push(id);
        id
    }

    /// Writes down what has become of a task.
    pub fn record(&mut self, task: TaskRecord) {
        self.agenda.tasks.push(task);
    }

    /// This application has done what it had to do; with [`crate::spec::RunConfig::until_done`] the run ends when all have said so.
    pub fn done(&mut self) {
        self.agenda.done(self.index);
    }
}
