//! The applications of a run with their timers, in the shard of their home.

use super::{Application, Context, Flows};
use crate::record::TaskRecord;
use crate::spec::{FlowId, Plan};
use afflux_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A timer: by its time, then in the order in which timers were set.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    at: u64,
    number: u64,
    application: u16,
    token: u64,
}

pub struct Runtime {
    applications: Vec<Box<dyn Application>>,
    timers: BinaryHeap<Reverse<Timer>>,
    numbers: u64,
    /// The earliest event filed for timers, `u64::MAX` for none.
    filed: u64,
    latency: u64,
    done: Vec<bool>,
    /// Flows whose sources have still to be told.
    pub started: Vec<FlowId>,
    pub tasks: Vec<TaskRecord>,
}

/// What is to be told to applications.
#[derive(Debug, Clone, Copy)]
pub enum Due {
    /// The run begins.
    Begin,
    /// Timers may have expired.
    Timers,
    Received {
        flow: FlowId,
        read: Time,
    },
}

impl Runtime {
    pub fn new(plan: &Plan) -> Option<Self> {
        let applications = plan.applications.as_ref()?;
        let programs = &applications.programs;
        Some(Runtime {
            applications: programs.iter().map(|program| program.application()).collect(),
            timers: BinaryHeap::new(),
            numbers: 0,
            filed: u64::MAX,
            latency: applications.latency.0,
            done: vec![false; programs.len()],
            started: Vec::new(),
            tasks: Vec::new(),
        })
    }

    pub(super) fn set_timer(&mut self, at: u64, application: u16, token: u64) {
        self.numbers += 1;
        self.timers.push(Reverse(Timer { at, number: self.numbers, application, token }));
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

    /// Calls the applications; false if nothing was due after all.
    pub fn tell(&mut self, now: u64, due: Due, flows: &Flows) -> bool {
        let mut told = true;
        match due {
            Due::Begin => (0..self.applications.len() as u16).for_each(|index| self.call(now, index, flows, |application, context| application.begin(context))),
            Due::Received { flow, read } => {
                self.call(now, flows.application(flow), flows, |application, context| application.on_received(context, flow, read));
            }
            Due::Timers => {
                told = false;
                if self.filed <= now {
                    self.filed = u64::MAX;
                }
                while self.timers.peek().is_some_and(|timer| timer.0.at <= now) {
                    let Timer { application, token, .. } = self.timers.pop().expect("looked at").0;
                    self.call(now, application, flows, |application, context| application.on_timer(context, token));
                    told = true;
                }
            }
        }
        told
    }

    fn call(&mut self, now: u64, index: u16, flows: &Flows, tell: impl FnOnce(&mut dyn Application, &mut Context)) {
        let mut application = std::mem::replace(&mut self.applications[index as usize], Box::new(Away));
        tell(application.as_mut(), &mut Context { now, index, latency: self.latency, flows, runtime: self });
        self.applications[index as usize] = application;
    }
}

/// Stands where an application is while it is called.
struct Away;

impl Application for Away {
    fn begin(&mut self, _: &mut Context) {}
    fn on_timer(&mut self, _: &mut Context, _: u64) {}
    fn on_received(&mut self, _: &mut Context, _: FlowId, _: Time) {}
}
