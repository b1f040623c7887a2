//! What a job's master knows of its tasks, and the containers in which they run.

use super::cluster::{Cluster, Kind};
use super::draws::{self, Task, draw};
use super::process::{Giver, Signal};
use super::settings::{Framework, Room};
use afflux_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// Threads that start containers: this many more than there are nodes (ContainerLauncherImpl, `INITIAL_POOL_SIZE`).
const LAUNCHERS: usize = 10;

/// How often Tez looks for work for idle containers (`tez.am.container.reuse.locality.delay-allocation-millis`).
const IDLE_LOOK: Span = Span::from_ms(250);

/// Where a task runs, since when, and whether its container has run none before.
#[derive(Clone, Copy)]
pub struct Place {
    pub node: u32,
    pub begun: Time,
    pub first: bool,
}

pub struct Progress {
    job: usize,
    /// The node of the job's master.
    pub master: u32,
    state: Mutex<Tasks>,
}

#[derive(Default)]
struct Tasks {
    /// Maps that have no container yet, and how many reducers have one.
    maps: Vec<u32>,
    next_reducer: u32,
    reducers: u32,
    /// Where the maps ran that have ended, in that order.
    outputs: Vec<(u32, u32)>,
    maps_left: u32,
    reducers_left: u32,
    /// Told when all has ended.
    end: Option<Giver>,
    containers: BTreeMap<u32, u64>,
    spans: BTreeMap<&'static str, (Time, Time)>,
    /// Threads of the master that start containers, and starts that wait for one.
    launching: usize,
    launches: VecDeque<Giver>,
}

impl Progress {
    pub fn new(cluster: &Cluster, job: usize, master: u32, end: Giver) -> Arc<Self> {
        let work = &cluster.settings.jobs[job];
        let maps = work.maps.len() as u32;
        // Taken from the end.
        let tasks = Tasks {
            maps: (0..maps).rev().collect(),
            reducers: work.reducers,
            maps_left: maps,
            reducers_left: work.reducers,
            end: Some(end),
            containers: BTreeMap::from([(master, 1)]),
            ..Tasks::default()
        };
        Arc::new(Progress { job, master, state: Mutex::new(tasks) })
    }

    fn state(&self) -> MutexGuard<'_, Tasks> {
        self.state.lock().expect("no process panics")
    }

    pub fn ended(&self) -> bool {
        let state = self.state();
        state.maps_left == 0 && state.reducers_left == 0
    }

    /// So many maps and reducers are to be asked for.
    pub fn wanted(&self, cluster: &Cluster) -> (u32, u32) {
        let state = self.state();
        let all = cluster.settings.jobs[self.job].maps.len() as f64;
        let ended = state.outputs.len() as f64 / all.max(1.0);
        let (first, last) = cluster.settings.slow_start;
        let reducers = state.reducers as f64;
        let mut allowed = if state.outputs.is_empty() && all > 0.0 || ended < first {
            0.0
        } else if ended >= last {
            reducers
        } else {
            reducers * (ended - first) / (last - first)
        };
        if !state.maps.is_empty() {
            allowed = allowed.min(cluster.settings.ramp_up * cluster.capacity(Kind::Reduce) as f64);
        }
        (state.maps.len() as u32, (allowed as u32).saturating_sub(state.next_reducer))
    }

    /// A task has ended.
    fn one_less(&self, cluster: &Cluster, task: Task, node: u32) {
        let end = {
            let mut state = self.state();
            match task {
                Task::Map(map) => {
                    state.outputs.push((map, node));
                    state.maps_left -= 1;
                }
                _ => state.reducers_left -= 1,
            }
            if state.maps_left == 0 && state.reducers_left == 0 { state.end.take() } else { None }
        };
        if let Some(end) = end {
            cluster.simulation.give(end);
        }
    }

    /// The next task for a container of this kind on `node`: the first map whose block is there, or the first of all.
    pub fn take(&self, cluster: &Cluster, node: u32, kind: Kind) -> Option<Task> {
        let mut state = self.state();
        match kind {
            Kind::Master => None,
            Kind::Map => {
                let here = if cluster.is_data_node(node) {
                    (0..state.maps.len()).rev().find(|&place| cluster.replicas(self.job, state.maps[place]).contains(&node))
                } else {
                    None
                };
                match here {
                    Some(place) => Some(Task::Map(state.maps.remove(place))),
                    None => state.maps.pop().map(Task::Map),
                }
            }
            Kind::Reduce => (state.next_reducer < state.reducers).then(|| {
                state.next_reducer += 1;
                Task::Reduce(state.next_reducer - 1)
            }),
        }
    }

    /// Map outputs that have become known since `seen` of them were.
    pub fn outputs_since(&self, seen: usize) -> Vec<(u32, u32)> {
        self.state().outputs[seen..].to_vec()
    }

    pub fn span(&self, phase: &'static str, start: Time, finish: Time) {
        let mut state = self.state();
        let span = state.spans.entry(phase).or_insert((start, finish));
        *span = (span.0.min(start), span.1.max(finish));
    }

    pub fn spans(&self) -> Vec<(&'static str, (Time, Time))> {
        self.state().spans.iter().map(|(phase, span)| (*phase, *span)).collect()
    }

    /// Containers per node.
    pub fn containers(&self) -> Vec<(u32, u64)> {
        self.state().containers.iter().map(|(node, count)| (*node, *count)).collect()
    }

    /// Gets a thread to start a container; `Some`: once there is one.
    fn launcher(&self, cluster: &Cluster) -> Option<Signal> {
        let mut state = self.state();
        if state.launching < cluster.settings.compute.len() + LAUNCHERS {
            state.launching += 1;
            return None;
        }
        let (giver, signal) = cluster.simulation.signal();
        state.launches.push_back(giver);
        Some(signal)
    }

    /// The thread goes on to the next start.
    fn launched(&self, cluster: &Cluster) {
        let next = {
            let mut state = self.state();
            let next = state.launches.pop_front();
            state.launching -= usize::from(next.is_none());
            next
        };
        if let Some(next) = next {
            cluster.simulation.give(next);
        }
    }

    fn count(&self, node: u32) {
        *self.state().containers.entry(node).or_default() += 1;
    }
}

impl Cluster {
    /// A container from its start to its end.
    pub async fn container(self: Arc<Self>, job: usize, progress: Arc<Progress>, node: u32, kind: Kind, mut task: Task) {
        progress.count(node);
        let mut stream = self.stream(job, draws::START, task);
        let mut begun = self.simulation.now();
        let mut rpc = self.stream(job, draws::LAUNCH, task);
        if let Some(thread) = progress.launcher(&self) {
            thread.await;
        }
        self.connect(job, progress.master, node, self.settings.launch_rpcs, &mut rpc).await;
        progress.launched(&self);
        self.localize(job, node, self.settings.localized_files.0).await;
        self.simulation.sleep(draw(self.settings.container_start, &mut stream)).await;
        self.simulation.sleep(draw(self.settings.jvm_start, &mut stream)).await;
        let mut first = true;
        loop {
            match task {
                Task::Map(map) => self.map(job, &progress, map, Place { node, begun, first }).await,
                Task::Reduce(reduce) => self.clone().reduce(job, &progress, reduce, Place { node, begun, first }).await,
                Task::Master => unreachable!("the master is no task"),
            }
            progress.one_less(&self, task, node);
            let Framework::Tez { next_task, idle_release } = self.settings.framework else { break };
            let release = self.simulation.now() + draw(idle_release, &mut stream);
            let Some((next, since)) = self.next_task(&progress, node, kind, release).await else { break };
            (task, begun, first) = (next, since, false);
            stream = self.stream(job, draws::START, task);
            self.simulation.sleep(draw(next_task, &mut stream)).await;
        }
        self.container_ended(node, kind);
    }

    /// Another task for a container that has become free: of its kind, or of the other if they are of one size. It is looked for again every so
    /// often until the container is given back.
    async fn next_task(&self, progress: &Progress, node: u32, kind: Kind, release: Time) -> Option<(Task, Time)> {
        let alike = matches!(self.settings.room, Room::Memory { map, reduce, .. } if map == reduce);
        loop {
            let now = self.simulation.now();
            let maps = if alike || kind == Kind::Map { progress.take(self, node, Kind::Map) } else { None };
            let reducer = || (alike || kind == Kind::Reduce) && progress.wanted(self).1 > 0;
            if let Some(task) = maps.or_else(|| if reducer() { progress.take(self, node, Kind::Reduce) } else { None }) {
                return Some((task, now));
            }
            if progress.ended() || now >= release {
                return None;
            }
            self.simulation.until((now + IDLE_LOOK).min(release)).await;
        }
    }
}
