//! What applications have set down: timers, flows that are to start, tasks that are over.

use crate::spec::{FlowId, NodeId};
use afflux_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A part of a job that an application has carried out (or was at when the run ended).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRecord {
    /// Index into the scenario's job names.
    pub job: u32,
    pub phase: &'static str,
    /// `None`: the phase as a whole.
    pub task: Option<u32>,
    pub node: Option<NodeId>,
    pub start: Time,
    pub finish: Option<Time>,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// A timer: by its time, then in the order in which timers were set.
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
    /// The earliest event filed for timers, `u64::MAX` for none.
    filed: u64,
    done: Vec<bool>,
    /// Flows whose sources have still to be told.
    pub started: Vec<FlowId>,
    pub tasks: Vec<TaskRecord>,
}

impl Agenda {
    /// Of so many applications.
    pub(super) fn of(applications: usize) -> Self {
        let (timers, done) = (BinaryHeap::new(), vec![false; applications]);
        Agenda { timers, numbers: 0, filed: u64::MAX, done, started: Vec::new(), tasks: Vec::new() }
    }

    pub(super) fn set_timer(&mut self, at: u64, application: u16, token: u64) {
        self.numbers += 1;
        self.timers.push(Reverse(Timer { at, number: self.numbers, application, token }));
    }

    /// Takes back the timers of an application with this token, so that a run does not go on for the sake of one that nobody waits for.
    pub(super) fn cancel(&mut self, application: u16, token: u64) {
        self.timers.retain(|Reverse(timer)| timer.application != application || timer.token != token);
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

    /// When the next timer expires.
    pub fn next_timer(&self) -> Option<u64> {
        self.timers.peek().map(|timer| timer.0.at)
    }

    /// When an event is to be filed for the next timer, if there is none yet.
    pub fn next_to_file(&mut self) -> Option<u64> {
        let at = self.next_timer()?;
        (at < self.filed).then(|| {
            self.filed = at;
            at
        })
    }

    /// An event filed for timers has come at `now`.
    pub(super) fn unfile(&mut self, now: u64) {
        if self.filed <= now {
            self.filed = u64::MAX;
        }
    }

    /// The application of a timer that has expired by `now`, and its token.
    pub(super) fn expired(&mut self, now: u64) -> Option<(u16, u64)> {
        self.next_timer().filter(|&at| at <= now)?;
        self.timers.pop().map(|Reverse(Timer { application, token, .. })| (application, token))
    }
}
