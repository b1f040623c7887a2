//! Runs the applications with their timers, in the shard of their home.

use super::agenda::Agenda;
use super::{Application, Applications, Context, Flows};
use crate::spec::FlowId;
use afflux_units::Time;

pub struct Runtime {
    applications: Vec<Box<dyn Application>>,
    latency: u64,
    pub agenda: Agenda,
}

/// Notification for applications.
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
    pub fn new(Applications { programs, latency, .. }: &Applications) -> Self {
        let applications = programs.iter().map(|program| program.application()).collect();
        Runtime { applications, latency: latency.0, agenda: Agenda::of(programs.len()) }
    }

    /// Notifies the applications. Returns false if no timer had expired.
    pub fn tell(&mut self, now: u64, due: Due, flows: &Flows) -> bool {
        let mut told = true;
        match due {
            Due::Begin => (0..self.applications.len() as u16).for_each(|index| {
                self.call(now, index, flows, |application, context| application.begin(context))
            }),
            Due::Received { flow, read } => {
                self.call(now, flows.application(flow), flows, |application, context| {
                    application.on_received(context, flow, read)
                });
            }
            Due::Timers => {
                told = false;
                self.agenda.unfile(now);
                while let Some((application, token)) = self.agenda.expired(now) {
                    self.call(now, application, flows, |application, context| {
                        application.on_timer(context, token)
                    });
                    told = true;
                }
            }
        }
        told
    }

    fn call(
        &mut self,
        now: u64,
        index: u16,
        flows: &Flows,
        tell: impl FnOnce(&mut dyn Application, &mut Context),
    ) {
        tell(
            self.applications[index as usize].as_mut(),
            &mut Context { now, index, latency: self.latency, flows, agenda: &mut self.agenda },
        );
    }
}
