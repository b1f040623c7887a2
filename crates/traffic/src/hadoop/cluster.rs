//! The resource manager: assigns containers to compute nodes at the nodes' heartbeats.

use super::disk::Disk;
use super::draws::{self, Attempt, Task};
use super::process::{Giver, Simulation};
use super::settings::{Disks, Settings, TaskCapacity};
use afflux_engine::random::Stream;
use afflux_units::{Span, Time};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// Purpose of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Master,
    Map,
    Reduce,
}

pub struct Cluster {
    pub settings: Arc<Settings>,
    pub simulation: Simulation,
    disks: FxHashMap<u32, Vec<Disk>>,
    state: Mutex<State>,
}

#[derive(Default)]
pub struct State {
    /// Free and returned capacity of each compute node.
    nodes: Vec<Free>,
    /// Requests of each job, in order of submission.
    pub jobs: Vec<Requests>,
    /// Number of jobs that have not ended.
    pub running: usize,
    /// Number of jobs that have not ended, plus log uploads that have not ended.
    pub busy: usize,
    /// State of the files that each node fetches for each job.
    pub localized: BTreeMap<(usize, u32), Localized>,
    /// Signals that wake the nodes' heartbeats, which stop while no job requests containers.
    asleep: Vec<Giver>,
}

/// Files of a job on a node.
pub enum Localized {
    /// The node fetches the files; these containers wait for them.
    UnderWay(Vec<Giver>),
    Here,
}

#[derive(Debug, Clone, Copy)]
struct Free {
    map: u64,
    reduce: u64,
    /// Capacity that containers have returned since the node's last heartbeat.
    returned: (u64, u64),
}

/// Containers that a job's master has requested, and containers that it has been given.
#[derive(Default)]
pub struct Requests {
    pub master: bool,
    pub maps: u32,
    pub reducers: u32,
    pub given: VecDeque<(u32, Kind)>,
    pub master_given: Option<Giver>,
}

impl Cluster {
    pub fn begin(settings: Arc<Settings>, simulation: Simulation) {
        let mut disks = FxHashMap::default();
        for (nodes, kind) in
            [(&settings.data, settings.data_disks), (&settings.compute, settings.compute_disks)]
        {
            for node in nodes {
                disks.insert(*node, (0..kind.count).map(|_| Disk::new(&simulation)).collect());
            }
        }
        let (map, reduce) = match settings.capacity {
            TaskCapacity::Slots { map, reduce } => (map.into(), reduce.into()),
            TaskCapacity::Memory { node, .. } => (node, 0),
        };
        let state = State {
            nodes: vec![Free { map, reduce, returned: (0, 0) }; settings.compute.len()],
            jobs: settings.jobs.iter().map(|_| Requests::default()).collect(),
            running: settings.jobs.len(),
            busy: settings.jobs.len(),
            localized: BTreeMap::new(),
            asleep: Vec::new(),
        };
        let cluster = Arc::new(Cluster { settings, simulation, disks, state: Mutex::new(state) });
        for index in 0..cluster.settings.compute.len() {
            drop(cluster.simulation.spawn(cluster.clone().heartbeats(index)));
        }
        for job in 0..cluster.settings.jobs.len() {
            drop(cluster.simulation.spawn(cluster.clone().job(job)));
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no process panics")
    }

    /// Returns the random stream for one purpose of a job's task, or of an attempt of the task.
    pub fn stream(&self, job: usize, purpose: u64, of: impl Into<Attempt>) -> Stream {
        self.settings.draws.stream(purpose, (job as u64 + 1) << 34 | of.into().entity())
    }

    /// Returns the random stream for one purpose of a node.
    pub fn node_stream(&self, purpose: u64, node: u32) -> Stream {
        self.settings.draws.stream(purpose, node.into())
    }

    /// Runs a node's heartbeats until all jobs have ended.
    async fn heartbeats(self: Arc<Self>, index: usize) {
        let (node, period) = (self.settings.compute[index], self.settings.node_heartbeat.0);
        let mut next = self.node_stream(draws::HEARTBEAT, node).below(period);
        loop {
            let wanted = {
                let mut state = self.state();
                if state.running == 0 {
                    return;
                }
                let idle =
                    state.jobs.iter().all(|job| !job.master && job.maps == 0 && job.reducers == 0);
                idle.then(|| {
                    let (giver, signal) = self.simulation.signal();
                    state.asleep.push(giver);
                    signal
                })
            };
            if let Some(signal) = wanted {
                signal.await;
                continue;
            }
            let now = self.simulation.now().0;
            if next < now {
                next += (now - next).div_ceil(period) * period;
            }
            self.simulation.until(Time(next)).await;
            next += period;
            self.assign(index);
        }
    }

    /// Wakes the heartbeats of all nodes, because containers are requested or all jobs have ended.
    pub fn wake(&self) {
        let asleep = std::mem::take(&mut self.state().asleep);
        asleep.into_iter().for_each(|giver| self.simulation.give(giver));
    }

    /// Returns the capacity that a container takes from the node's two pools (`map` and `reduce`).
    fn needs(&self, kind: Kind) -> (u64, u64) {
        match (self.settings.capacity, kind) {
            (TaskCapacity::Slots { .. }, Kind::Master) => (0, 0),
            (TaskCapacity::Slots { .. }, Kind::Map) => (1, 0),
            (TaskCapacity::Slots { .. }, Kind::Reduce) => (0, 1),
            (TaskCapacity::Memory { master, .. }, Kind::Master) => (master, 0),
            (TaskCapacity::Memory { map, .. }, Kind::Map) => (map, 0),
            (TaskCapacity::Memory { reduce, .. }, Kind::Reduce) => (reduce, 0),
        }
    }

    /// Returns the number of containers that fit into the whole cluster.
    pub fn capacity(&self, kind: Kind) -> u64 {
        let nodes = self.settings.compute.len() as u64;
        match (self.settings.capacity, kind) {
            (TaskCapacity::Slots { map, reduce }, kind) => {
                nodes * u64::from(if kind == Kind::Map { map } else { reduce })
            }
            (TaskCapacity::Memory { node, map, reduce, .. }, kind) => {
                nodes * (node / if kind == Kind::Map { map } else { reduce })
            }
        }
    }

    /// Handles a node's heartbeat. Returned capacity becomes free, and is assigned to the jobs in
    /// the order of their submission: masters before reducers, reducers before maps. A heartbeat is
    /// not a flow: its request crosses no queue that matters, and nothing waits for the answer.
    fn assign(&self, index: usize) {
        let node = self.settings.compute[index];
        let mut masters = Vec::new();
        let mut guard = self.state();
        let State { nodes, jobs, .. } = &mut *guard;
        let free = &mut nodes[index];
        free.map += free.returned.0;
        free.reduce += free.returned.1;
        free.returned = (0, 0);
        // RegularContainerAllocator limits the containers on nodes that the request did not name.
        let mut left = self.settings.containers_per_heartbeat;
        let holds_blocks = self.is_data_node(node);
        let mut take = |kind: Kind| {
            let (map, reduce) = self.needs(kind);
            let named = kind == Kind::Map && holds_blocks;
            let fits = free.map >= map && free.reduce >= reduce && (named || left > 0);
            if fits {
                free.map -= map;
                free.reduce -= reduce;
                left -= u32::from(!named);
            }
            fits
        };
        for job in jobs.iter_mut() {
            if job.master && take(Kind::Master) {
                job.master = false;
                job.given.push_back((node, Kind::Master));
                masters.extend(job.master_given.take());
            }
            while job.reducers > 0 && take(Kind::Reduce) {
                job.reducers -= 1;
                job.given.push_back((node, Kind::Reduce));
            }
            while job.maps > 0 && take(Kind::Map) {
                job.maps -= 1;
                job.given.push_back((node, Kind::Map));
            }
        }
        drop(guard);
        masters.into_iter().for_each(|giver| self.simulation.give(giver));
    }

    /// Ends a container. The node reports this at once, with a heartbeat out of turn
    /// (ContainerImpl.ContainerDoneTransition).
    pub fn container_ended(&self, node: u32, kind: Kind) {
        self.release(node, kind);
        self.assign(self.index(node));
    }

    fn index(&self, node: u32) -> usize {
        self.settings.compute.iter().position(|compute| *compute == node).expect("a compute node")
    }

    /// Returns unused capacity, which can be assigned at the node's next heartbeat.
    pub fn release(&self, node: u32, kind: Kind) {
        let index = self.index(node);
        let (map, reduce) = self.needs(kind);
        let returned = &mut self.state().nodes[index].returned;
        returned.0 += map;
        returned.1 += reduce;
    }

    pub fn is_data_node(&self, node: u32) -> bool {
        self.settings.data.contains(&node)
    }

    fn disks_of(&self, node: u32) -> Disks {
        if self.is_data_node(node) { self.settings.data_disks } else { self.settings.compute_disks }
    }

    /// Returns a randomly drawn disk of a node.
    fn disk(&self, node: u32, stream: &mut Stream) -> &Disk {
        let disks = &self.disks[&node];
        &disks[stream.below(disks.len() as u64) as usize]
    }

    pub fn read_disk(&self, node: u32, bytes: u64, stream: &mut Stream) -> super::process::Signal {
        let disks = self.disks_of(node);
        self.disk(node, stream).request(disks.seek + disks.read.serialize(bytes))
    }

    pub fn write_disk(&self, node: u32, bytes: u64, stream: &mut Stream) -> super::process::Signal {
        let disks = self.disks_of(node);
        self.disk(node, stream).request(disks.seek + disks.write.serialize(bytes))
    }

    /// Returns the data nodes that hold a map's block, in the order in which they were drawn.
    pub fn replicas(&self, job: usize, map: u32) -> Vec<u32> {
        let mut stream = self.stream(job, draws::REPLICAS, Task::Map(map));
        some_of(&self.settings.data, self.settings.input_replication as usize, &mut stream)
    }
}

/// Draws `count` of `all` without replacement, or all of them if there are fewer.
pub fn some_of(all: &[u32], count: usize, stream: &mut Stream) -> Vec<u32> {
    let mut all = all.to_vec();
    let count = count.min(all.len());
    for place in 0..count {
        let other = place + stream.below((all.len() - place) as u64) as usize;
        all.swap(place, other);
    }
    all.truncate(count);
    all
}

/// Returns the processor time of `bytes` bytes.
pub fn cpu(ps_per_byte: u64, bytes: u64) -> Span {
    Span(ps_per_byte * bytes)
}
