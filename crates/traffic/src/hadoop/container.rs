//! The tasks of a job as its master sees them, and the containers in which they run.

use super::cluster::{Cluster, Kind};
use super::draws::{self, Attempt, Task, draw};
use super::process::{Giver, Signal, unless};
use super::settings::TaskCapacity;
use super::speculate::{self, Running};
use afflux_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// Number of threads that start containers, in addition to one per node (ContainerLauncherImpl,
/// `INITIAL_POOL_SIZE`).
const LAUNCHERS: usize = 10;

/// Interval at which Tez looks for work for idle containers
/// (`tez.am.container.reuse.locality.delay-allocation-millis`).
const IDLE_LOOK: Span = Span::from_ms(250);

/// Node of a task's container, start of the task, and whether it is the first task in its
/// container.
#[derive(Clone, Copy)]
pub struct Place {
    pub node: u32,
    pub begun: Time,
    pub first: bool,
    /// Number of the task's attempt.
    pub attempt: u32,
}

/// A running attempt of a task that may get another attempt.
struct Open {
    of: Attempt,
    /// Start of the attempt's container.
    begun: Time,
    /// Share of the attempt's work that is done; 0 before its first report.
    share: f64,
    /// Signal that ends the attempt.
    kill: Giver,
}

/// State of the speculator for the tasks of one kind.
#[derive(Default)]
struct Speculated {
    /// Tasks whose second attempt has no container yet, in the order in which they get one.
    waiting: VecDeque<Task>,
    /// Tasks that have been given a second attempt (`twice`), and tasks that have ended (`ended`).
    twice: BTreeSet<Task>,
    ended: BTreeSet<Task>,
    /// Running attempts of each task.
    open: BTreeMap<Task, Vec<Open>>,
    /// Sum in ps of the times from start to end of all tasks that have ended.
    taken: u128,
}

pub struct Progress {
    job: usize,
    /// Node of the job's master.
    pub master: u32,
    state: Mutex<Tasks>,
}

#[derive(Default)]
struct Tasks {
    /// Maps without a container, and number of reducers that have a container (`next_reducer`).
    maps: Vec<u32>,
    next_reducer: u32,
    reducers: u32,
    /// Maps that have ended, each with its node, in the order in which they ended.
    outputs: Vec<(u32, u32)>,
    maps_left: u32,
    reducers_left: u32,
    /// Signals that are given when all tasks have ended.
    ends: Vec<Giver>,
    /// State of the speculator for maps and for reducers.
    speculated: [Speculated; 2],
    containers: BTreeMap<u32, u64>,
    spans: BTreeMap<&'static str, (Time, Time)>,
    /// Number of busy launcher threads of the master, and starts that wait for a thread.
    launching: usize,
    launches: VecDeque<Giver>,
}

impl Progress {
    pub fn new(cluster: &Cluster, job: usize, master: u32, end: Giver) -> Arc<Self> {
        let work = &cluster.settings.jobs[job];
        let maps = work.maps.len() as u32;
        // Maps are taken from the end, so the first map is last.
        let tasks = Tasks {
            maps: (0..maps).rev().collect(),
            reducers: work.reducers,
            maps_left: maps,
            reducers_left: work.reducers,
            ends: vec![end],
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

    /// Returns a signal that is given when all tasks have ended; `None` if all have ended already.
    pub fn end(&self, cluster: &Cluster) -> Option<Signal> {
        if self.ended() {
            return None;
        }
        let (giver, signal) = cluster.simulation.signal();
        self.state().ends.push(giver);
        Some(signal)
    }

    /// Returns the numbers of maps and of reducers for which the master should request containers.
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
        let [again, reducers_again] =
            [0, 1].map(|kind| state.speculated[kind].waiting.len() as u32);
        (
            state.maps.len() as u32 + again,
            (allowed as u32).saturating_sub(state.next_reducer) + reducers_again,
        )
    }

    /// Registers an attempt whose container has been started. Returns the signal that ends the
    /// attempt when another attempt of its task has ended. Returns `None` if tasks of this kind
    /// have only one attempt.
    fn opens(&self, cluster: &Cluster, of: Attempt) -> Option<Signal> {
        let kind = kind_of(cluster, of.task)?;
        let (kill, signal) = cluster.simulation.signal();
        let too_late = {
            let kind = &mut self.state().speculated[kind];
            if kind.ended.contains(&of.task) {
                Some(kill)
            } else {
                kind.open.entry(of.task).or_default().push(Open {
                    of,
                    begun: cluster.simulation.now(),
                    share: 0.0,
                    kill,
                });
                None
            }
        };
        too_late.into_iter().for_each(|kill| cluster.simulation.give(kill));
        Some(signal)
    }

    /// Records the share of its work that an attempt has done.
    pub fn report(&self, of: Attempt, share: f64) {
        for kind in &mut self.state().speculated {
            kind.open
                .get_mut(&of.task)
                .into_iter()
                .flatten()
                .filter(|open| open.of == of)
                .for_each(|open| open.share = share);
        }
    }

    /// Ends an attempt that has done all of its work. Returns whether it is the first attempt of
    /// its task to end, and kills the others in this case.
    pub fn first_to_end(&self, cluster: &Cluster, of: Attempt) -> bool {
        let Some(kind) = kind_of(cluster, of.task) else { return true };
        let others = {
            let kind = &mut self.state().speculated[kind];
            if !kind.ended.insert(of.task) {
                return false;
            }
            kind.waiting.retain(|task| *task != of.task);
            let mut attempts = kind.open.remove(&of.task).unwrap_or_default();
            if let Some(place) = attempts.iter().position(|open| open.of == of) {
                kind.taken +=
                    u128::from((cluster.simulation.now() - attempts.remove(place).begun).0);
            }
            attempts
        };
        others.into_iter().for_each(|open| cluster.simulation.give(open.kill));
        true
    }

    /// Scans once for slow maps and once for slow reducers. Returns true if a task gets a second
    /// attempt. No task of a kind gets one while a first attempt of this kind waits for a
    /// container.
    pub fn speculate(&self, cluster: &Cluster) -> bool {
        let now = cluster.simulation.now();
        let mut state = self.state();
        let (maps, reducers) =
            (cluster.settings.jobs[self.job].maps.len(), state.reducers as usize);
        let (maps_wait, reducers_wait) =
            (!state.maps.is_empty(), state.next_reducer < state.reducers);
        let mut any = false;
        for (kind, (all, first_wait)) in
            state.speculated.iter_mut().zip([(maps, maps_wait), (reducers, reducers_wait)])
        {
            if first_wait || !kind.waiting.is_empty() {
                continue;
            }
            let ended = kind.ended.len();
            let tasks = speculate::Tasks {
                all,
                ended,
                mean: Span((kind.taken / ended.max(1) as u128) as u64),
            };
            let running = kind.open.iter().map(|(task, attempts)| Running {
                task: *task,
                attempts: 1 + u32::from(kind.twice.contains(task)),
                begun: attempts[0].begun,
                share: attempts[0].share,
            });
            if let Some(task) = speculate::best(now, tasks, running) {
                kind.twice.insert(task);
                kind.waiting.push_back(task);
                any = true;
            }
        }
        any
    }

    /// Records that a task has ended.
    fn one_less(&self, cluster: &Cluster, task: Task, node: u32) {
        let ends = {
            let mut state = self.state();
            match task {
                Task::Map(map) => {
                    state.outputs.push((map, node));
                    state.maps_left -= 1;
                }
                _ => state.reducers_left -= 1,
            }
            if state.maps_left == 0 && state.reducers_left == 0 {
                std::mem::take(&mut state.ends)
            } else {
                Vec::new()
            }
        };
        ends.into_iter().for_each(|end| cluster.simulation.give(end));
    }

    /// Returns the next task for a container of this kind on `node`: the first map whose block is
    /// on the node, otherwise the first of all. If all tasks have a container, it is a second
    /// attempt.
    pub fn take(&self, cluster: &Cluster, node: u32, kind: Kind) -> Option<Attempt> {
        let mut state = self.state();
        let first = match kind {
            Kind::Master => None,
            Kind::Map => {
                let here = if cluster.is_data_node(node) {
                    (0..state.maps.len()).rev().find(|&place| {
                        cluster.replicas(self.job, state.maps[place]).contains(&node)
                    })
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
        };
        let again = |task| Attempt { task, number: 1 };
        first.map(Attempt::from).or_else(|| {
            state.speculated[usize::from(kind == Kind::Reduce)].waiting.pop_front().map(again)
        })
    }

    /// Returns the map outputs that have become known after the first `seen` ones.
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

    /// Returns the number of containers on each node.
    pub fn containers(&self) -> Vec<(u32, u64)> {
        self.state().containers.iter().map(|(node, count)| (*node, *count)).collect()
    }

    /// Takes a thread that starts a container. If all threads are busy, returns a signal that is
    /// given when one is free.
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

    /// Passes the thread on to the next waiting start, or frees it.
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

/// Returns the index of a task's kind in `Tasks::speculated`; `None` if tasks of this kind have
/// only one attempt.
fn kind_of(cluster: &Cluster, task: Task) -> Option<usize> {
    let (maps, reducers) = cluster.settings.speculative;
    match task {
        Task::Map(_) => maps.then_some(0),
        Task::Reduce(_) => reducers.then_some(1),
        Task::Master => None,
    }
}

impl Cluster {
    /// Runs a container from its start to its end.
    pub async fn container(
        self: Arc<Self>,
        job: usize,
        progress: Arc<Progress>,
        node: u32,
        kind: Kind,
        mut of: Attempt,
    ) {
        progress.count(node);
        let mut stream = self.stream(job, draws::START, of);
        let mut begun = self.simulation.now();
        let mut rpc = self.stream(job, draws::LAUNCH, of);
        if let Some(thread) = progress.launcher(&self) {
            thread.await;
        }
        self.connect(job, progress.master, node, self.settings.launch_rpcs, &mut rpc).await;
        progress.launched(&self);
        let mut kill = progress.opens(&self, of);
        self.localize(job, node, self.settings.localized_files.0).await;
        self.simulation.sleep(draw(self.settings.container_start, &mut stream)).await;
        self.simulation.sleep(draw(self.settings.jvm_start, &mut stream)).await;
        let mut first = true;
        loop {
            let place = Place { node, begun, first, attempt: of.number };
            let work = async {
                match of.task {
                    Task::Map(map) => self.map(job, &progress, map, place).await,
                    Task::Reduce(reduce) => {
                        self.clone().reduce(job, &progress, reduce, place).await
                    }
                    Task::Master => unreachable!("the master is no task"),
                }
            };
            let first_to_end = match kill.take() {
                Some(kill) => unless(kill, work).await == Some(true),
                None => work.await,
            };
            if first_to_end {
                progress.one_less(&self, of.task, node);
            } else {
                // The master stops the container (ContainerLauncherImpl).
                self.connect(job, progress.master, node, self.settings.launch_rpcs, &mut rpc).await;
            }
            let (Some(next_task), Some(idle_release)) =
                (self.settings.next_task, self.settings.idle_release)
            else {
                break;
            };
            let release = self.simulation.now() + draw(idle_release, &mut stream);
            let Some((next, since)) = self.next_task(&progress, node, kind, release).await else {
                break;
            };
            (of, begun, first) = (next, since, false);
            stream = self.stream(job, draws::START, of);
            self.simulation.sleep(draw(next_task, &mut stream)).await;
        }
        self.container_ended(node, kind);
    }

    /// Finds another task for a container that has become free: of its kind, or of the other kind
    /// if both have containers of one size. Repeats the search at an interval until the container
    /// is given back.
    async fn next_task(
        &self,
        progress: &Progress,
        node: u32,
        kind: Kind,
        release: Time,
    ) -> Option<(Attempt, Time)> {
        let alike = matches!(self.settings.capacity, TaskCapacity::Memory { map, reduce, .. } if map == reduce);
        loop {
            let now = self.simulation.now();
            let maps = if alike || kind == Kind::Map {
                progress.take(self, node, Kind::Map)
            } else {
                None
            };
            let reducer = || (alike || kind == Kind::Reduce) && progress.wanted(self).1 > 0;
            if let Some(task) = maps
                .or_else(|| if reducer() { progress.take(self, node, Kind::Reduce) } else { None })
            {
                return Some((task, now));
            }
            if progress.ended() || now >= release {
                return None;
            }
            self.simulation.until((now + IDLE_LOOK).min(release)).await;
        }
    }
}
