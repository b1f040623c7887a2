//! Keeps the pending work of applications: timers, flows to be started, and finished tasks.

use crate::spec::{FlowId, NodeId};
use afflux_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A part of a job that an application has finished (or was working on when the run ended).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRecord {
    /// Index into the scenario's job names.
    pub job: u32,
    pub phase: &'static str,
    /// Number of the task; `None` for the phase as a whole.
    pub task: Option<u32>,
    pub node: Option<NodeId>,
    pub start: Time,
    pub finish: Option<Time>,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// A timer. Timers are ordered by time, then by the order in which they were set.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    at: u64,
    number: u64,
    application: u16,
    token: u64,
}

pub struct Agenda {
    timers: BinaryHeap<Reverse<Timer>>,
    numbers: u64,
    /// Time in ps of the earliest event that was filed for timers; `u64::MAX` for none.
    filed: u64,
    done: Vec<bool>,
    /// Flows whose sources have not been notified yet.
    pub started: Vec<FlowId>,
    pub tasks: Vec<TaskRecord>,
}

impl Agenda {
    /// Returns an empty agenda for this number of applications.
    pub(super) fn of(applications: usize) -> Self {
        let (timers, done) = (BinaryHeap::new(), vec![false; applications]);
        Agenda { timers, numbers: 0, filed: u64::MAX, done, started: Vec::new(), tasks: Vec::new() }
    }

    pub(super) fn set_timer(&mut self, at: u64, application: u16, token: u64) {
        self.numbers += 1;
        self.timers.push(Reverse(Timer { at, number: self.numbers, application, token }));
    }

    /// Removes the timers of an application with this token, so that a run does not continue only
    /// for a timer that is no longer needed.
    pub(super) fn cancel(&mut self, application: u16, token: u64) {
        self.timers
            .retain(|Reverse(timer)| timer.application != application || timer.token != token);
    }

    pub(super) fn done(&mut self, application: u16) {
        self.done[application as usize] = true;
    }

    pub fn all_done(&self) -> bool {
        self.done.iter().all(|done| *done)
    }

    pub fn timers(&self) -> usize {
        self.timers.len()
    }

    /// Returns the time of the next timer.
    pub fn next_timer(&self) -> Option<u64> {
        self.timers.peek().map(|timer| timer.0.at)
    }

    /// Returns the time at which an event must be filed for the next timer, if there is no such
    /// event yet.
    pub fn next_to_file(&mut self) -> Option<u64> {
        let at = self.next_timer()?;
        (at < self.filed).then(|| {
            self.filed = at;
            at
        })
    }

    /// Registers that an event filed for timers has occurred at `now`.
    pub(super) fn unfile(&mut self, now: u64) {
        if self.filed <= now {
            self.filed = u64::MAX;
        }
    }

    /// Removes a timer that has expired by `now`. Returns its application and its token.
    pub(super) fn expired(&mut self, now: u64) -> Option<(u16, u64)> {
        self.next_timer().filter(|&at| at <= now)?;
        self.timers.pop().map(|Reverse(Timer { application, token, .. })| (application, token))
    }
}
