//! Hadoop: jobs of maps and reducers on a cluster of compute and data nodes. Every exchange over
//! the network is a flow.

mod cluster;
mod container;
mod disk;
mod draws;
mod job;
mod localize;
mod map;
mod process;
mod reduce;
mod settings;
mod shuffle;
mod speculate;
mod trace;
mod transfer;

pub use map::share;
pub use settings::{
    Classes, ClusterKeys, Committer, Disks, FetchFailure, Framework, Machines, Range, Settings,
    TaskCapacity, TaskWork, TransportChoice, Work,
};

pub use trace::{MOST_MAPS, TraceOptions, blocks, read_trace};

use afflux_net::app::{Application, Context, Program};
use afflux_net::spec::FlowId;
use afflux_units::Time;
use cluster::Cluster;
use process::Scheduler;
use std::sync::Arc;

/// The Hadoop cluster of a plan.
#[derive(Debug)]
pub struct Hadoop(pub Arc<Settings>);

impl Program for Hadoop {
    fn application(&self) -> Box<dyn Application> {
        Box::new(Running { settings: self.0.clone(), scheduler: Scheduler::default() })
    }

    fn hosts(&self) -> Vec<u32> {
        self.0.hosts()
    }

    fn expected_flows(&self) -> u64 {
        self.0.expected_flows()
    }
}

struct Running {
    settings: Arc<Settings>,
    scheduler: Scheduler,
}

impl Application for Running {
    fn begin(&mut self, context: &mut Context) {
        Cluster::begin(self.settings.clone(), self.scheduler.simulation.clone());
        self.scheduler.run(context);
    }
    fn on_timer(&mut self, context: &mut Context, token: u64) {
        self.scheduler.on_timer(context, token);
    }
    fn on_received(&mut self, context: &mut Context, flow: FlowId, read: Time) {
        self.scheduler.on_received(context, flow, read);
    }
}
