//! The fetches of a reducer: the map outputs that are ready on each host, and the threads that
//! fetch them.

use super::cluster::Cluster;
use super::container::Progress;
use super::draws::{self, Attempt, draw};
use super::process::{Giver, Signal, unless};
use afflux_engine::random::Stream;
use afflux_units::Span;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// Share of the copies in a reducer's progress (ReduceTask).
pub const COPY_PHASE: f64 = 1.0 / 3.0;

pub struct Shuffle {
    job: usize,
    progress: Arc<Progress>,
    of: Attempt,
    node: u32,
    segment: u64,
    state: Mutex<Fetching>,
}

struct Fetching {
    /// For each host, the outputs that are ready and not fetched yet, and whether the host is busy:
    /// a thread fetches from it, or it is left alone after a failure.
    hosts: BTreeMap<u32, (VecDeque<u32>, bool)>,
    /// Number of outputs that no thread has taken.
    unclaimed: u32,
    stream: Stream,
    /// Bytes in memory, bytes reserved for outputs that are being fetched, bytes that are being
    /// merged, and number of outputs in memory.
    memory: u64,
    reserved: u64,
    merging: u64,
    outputs: u32,
    /// Number of files on disk, and number of files that are being written.
    files: u32,
    writing: u32,
    waiting: Vec<Giver>,
    /// Number of failed fetches of each output.
    failures: BTreeMap<u32, u32>,
    /// Hosts that are left alone after a failure, each with the signal that ends the penalty early.
    penalties: BTreeMap<u32, Giver>,
    /// Number of outputs that have arrived.
    fetched: u32,
    /// Whether the reducer has all outputs, or has been killed.
    over: bool,
}

/// Outputs that a thread fetches from one host.
struct Fetch {
    host: u32,
    outputs: Vec<u32>,
    service: Span,
}

/// Guard whose drop ends the threads and penalties of a reducer that has all outputs or is killed.
struct Kill<'a>(&'a Shuffle, &'a Cluster);

impl Drop for Kill<'_> {
    fn drop(&mut self) {
        let Kill(shuffle, cluster) = self;
        let penalties = {
            let mut state = shuffle.state();
            (state.over, state.unclaimed) = (true, 0);
            std::mem::take(&mut state.penalties)
        };
        penalties.into_values().for_each(|giver| cluster.simulation.give(giver));
        shuffle.notify(cluster);
    }
}

impl Shuffle {
    pub fn new(
        cluster: &Cluster,
        job: usize,
        progress: &Arc<Progress>,
        of: Attempt,
        node: u32,
    ) -> Arc<Self> {
        let work = &cluster.settings.jobs[job];
        let state = Fetching {
            hosts: BTreeMap::new(),
            unclaimed: work.maps.len() as u32,
            stream: cluster.stream(job, draws::FETCH, of),
            memory: 0,
            reserved: 0,
            merging: 0,
            outputs: 0,
            files: 0,
            writing: 0,
            waiting: Vec::new(),
            failures: BTreeMap::new(),
            penalties: BTreeMap::new(),
            fetched: 0,
            over: false,
        };
        let segment = cluster.map_output(job).div_ceil(work.reducers.into());
        Arc::new(Shuffle {
            job,
            progress: progress.clone(),
            of,
            node,
            segment,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, Fetching> {
        self.state.lock().expect("no process panics")
    }

    fn notify(&self, cluster: &Cluster) {
        let waiting = std::mem::take(&mut self.state().waiting);
        waiting.into_iter().for_each(|giver| cluster.simulation.give(giver));
    }

    fn change(&self, cluster: &Cluster) -> Signal {
        let (giver, signal) = cluster.simulation.signal();
        self.state().waiting.push(giver);
        signal
    }

    /// Requests new outputs at an interval, and fetches them until all are here. Returns the number
    /// of files on disk.
    pub async fn run(
        self: Arc<Self>,
        cluster: &Arc<Cluster>,
        poll: &mut Stream,
        rpc: &mut Stream,
    ) -> u32 {
        let (s, progress) = (&cluster.settings, &self.progress);
        let _kill = Kill(&self, cluster);
        let threads: Vec<Signal> = (0..s.parallel_copies)
            .map(|_| cluster.simulation.spawn(self.clone().fetcher(cluster.clone())))
            .collect();
        let all = s.jobs[self.job].maps.len();
        let mut seen = 0;
        let mut wait = Span(poll.below(s.event_poll.0.max(1)));
        while seen < all {
            cluster.simulation.sleep(wait).await;
            cluster.call(self.job, self.node, progress.master, 1, rpc).await;
            let new = progress.outputs_since(seen);
            seen += new.len();
            {
                let mut state = self.state();
                for (map, host) in new {
                    state.hosts.entry(host).or_default().0.push_back(map);
                }
            }
            self.notify(cluster);
            wait = s.event_poll;
        }
        for thread in threads {
            thread.await;
        }
        // Outputs that are still in memory are written to disk (reduce.input.buffer.percent is 0).
        while self.state().writing > 0 {
            self.change(cluster).await;
        }
        let (left, files) = {
            let state = self.state();
            (state.memory, state.files)
        };
        if left > 0 {
            let disk = {
                let mut state = self.state();
                cluster.write_disk(self.node, left, &mut state.stream)
            };
            disk.await;
        }
        files + u32::from(left > 0)
    }

    /// Runs a thread. It picks hosts at random among those that have outputs and that no other
    /// thread fetches from.
    async fn fetcher(self: Arc<Self>, cluster: Arc<Cluster>) {
        loop {
            if self.state().unclaimed == 0 {
                return self.notify(&cluster);
            }
            match self.pick(&cluster) {
                Some(fetch) => self.fetch(&cluster, fetch).await,
                None => {
                    self.change(&cluster).await;
                }
            }
        }
    }

    fn pick(&self, cluster: &Cluster) -> Option<Fetch> {
        let s = &cluster.settings;
        let mut guard = self.state();
        let state = &mut *guard;
        // If memory is full, a merge must free some first.
        let taken = state.memory + state.reserved + state.merging;
        let capacity = if self.in_memory(cluster) {
            s.shuffle_memory.saturating_sub(taken) / self.segment.max(1)
        } else {
            u64::MAX
        };
        if capacity == 0 {
            return None;
        }
        let ready: Vec<u32> = state
            .hosts
            .iter()
            .filter(|(_, (outputs, busy))| !busy && !outputs.is_empty())
            .map(|(host, _)| *host)
            .collect();
        if ready.is_empty() {
            return None;
        }
        let host = ready[state.stream.below(ready.len() as u64) as usize];
        let (outputs, busy) = state.hosts.get_mut(&host).expect("listed");
        let count = outputs
            .len()
            .min(s.maps_per_fetch as usize)
            .min(usize::try_from(capacity).unwrap_or(usize::MAX));
        let outputs = outputs.drain(..count).collect();
        *busy = true;
        state.unclaimed -= count as u32;
        if self.in_memory(cluster) {
            state.reserved += self.segment * count as u64;
        }
        Some(Fetch { host, outputs, service: draw(s.fetch_service, &mut state.stream) })
    }

    fn in_memory(&self, cluster: &Cluster) -> bool {
        self.segment as f64
            <= cluster.settings.single_share * cluster.settings.shuffle_memory as f64
    }

    async fn fetch(self: &Arc<Self>, cluster: &Arc<Cluster>, fetch: Fetch) {
        let (s, host) = (&cluster.settings, fetch.host);
        let failure = &s.fetch_failure;
        // Hadoop gives up the reducer at this point. The model has no further attempts of failed
        // tasks.
        let last = self.failed_so_far(&fetch) >= failure.most_failures(s.jobs[self.job].maps.len());
        let [connect, read] = [failure.connect_timeout, failure.read_timeout]
            .map(|timeout| timeout.filter(|_| !last));
        if host != self.node {
            let request = cluster.over_new(self.job, self.node, host, s.request);
            if cluster.simulation.within(connect, request).await.is_none() {
                return self.failed(cluster, fetch);
            }
        }
        let answer = self.answer(cluster, &fetch);
        if cluster.simulation.within(read, answer).await.is_none() {
            return self.failed(cluster, fetch);
        }
        self.arrived(cluster, fetch);
    }

    /// Runs the host's answer to a request until all of the outputs have arrived.
    async fn answer(&self, cluster: &Arc<Cluster>, fetch: &Fetch) {
        let (s, Fetch { host, outputs, service }) = (&cluster.settings, fetch);
        let (host, outputs) = (*host, outputs.len() as u64);
        let (transports, bytes) = (s.transports, self.segment * outputs);
        cluster.simulation.sleep(*service).await;
        let disk = {
            let mut state = self.state();
            let cached = state.stream.next_f64() < s.output_cached;
            (!cached && bytes > 0).then(|| cluster.read_disk(host, bytes, &mut state.stream))
        };
        if let Some(disk) = disk {
            disk.await;
        }
        if host != self.node {
            let wire = bytes + s.segment_header * outputs;
            cluster
                .send(
                    self.job,
                    host,
                    self.node,
                    wire.max(1),
                    (transports.answer, transports.classes.fetch),
                    Span::ZERO,
                )
                .await;
        }
    }

    /// Returns the largest number of failures among the outputs of a fetch.
    fn failed_so_far(&self, fetch: &Fetch) -> u32 {
        let state = self.state();
        fetch.outputs.iter().filter_map(|map| state.failures.get(map)).max().copied().unwrap_or(0)
    }

    /// Handles a time-out: the outputs must be fetched again, and their host is left alone for a
    /// while.
    fn failed(self: &Arc<Self>, cluster: &Arc<Cluster>, fetch: Fetch) {
        let in_memory = self.in_memory(cluster);
        let delay = {
            let mut guard = self.state();
            let state = &mut *guard;
            if state.over {
                return;
            }
            if in_memory {
                state.reserved -= self.segment * fetch.outputs.len() as u64;
            }
            state.unclaimed += fetch.outputs.len() as u32;
            // Each failed output has its own penalty, and the host is free after the shortest one
            // (ShuffleSchedulerImpl.Referee).
            let failures = fetch.outputs.iter().map(|map| {
                let count = state.failures.entry(*map).or_default();
                *count += 1;
                *count
            });
            let fewest = failures.min().unwrap_or(1);
            state.hosts.get_mut(&fetch.host).expect("fetched from").0.extend(fetch.outputs);
            cluster.settings.fetch_failure.delay(fewest)
        };
        drop(cluster.simulation.spawn(self.clone().penalty(cluster.clone(), fetch.host, delay)));
        // The fetch has released its reserved memory. A merge starts if the free memory is still
        // too small.
        self.merge_if_full(cluster);
        self.notify(cluster);
    }

    async fn penalty(self: Arc<Self>, cluster: Arc<Cluster>, host: u32, delay: Span) {
        let (giver, end) = cluster.simulation.signal();
        if self.state().over {
            return;
        }
        self.state().penalties.insert(host, giver);
        if unless(end, cluster.simulation.sleep(delay)).await.is_none() {
            return;
        }
        {
            let mut state = self.state();
            state.penalties.remove(&host);
            state.hosts.get_mut(&host).expect("fetched from").1 = false;
        }
        self.notify(&cluster);
    }

    fn arrived(self: &Arc<Self>, cluster: &Arc<Cluster>, fetch: Fetch) {
        let (host, outputs) = (fetch.host, fetch.outputs.len() as u32);
        let (in_memory, bytes) = (self.in_memory(cluster), self.segment * u64::from(outputs));
        {
            let mut state = self.state();
            if state.over {
                return;
            }
            for map in &fetch.outputs {
                state.failures.remove(map);
            }
            state.fetched += outputs;
            let all = cluster.settings.jobs[self.job].maps.len();
            self.progress.report(self.of, COPY_PHASE * f64::from(state.fetched) / all as f64);
            state.hosts.get_mut(&host).expect("fetched from").1 = false;
            if in_memory {
                state.reserved -= bytes;
                state.memory += bytes;
                state.outputs += outputs;
            } else {
                state.writing += 1;
            }
        }
        if in_memory {
            self.merge_if_full(cluster);
        } else {
            drop(cluster.simulation.spawn(self.clone().to_disk(cluster.clone(), bytes, false)));
        }
        self.notify(cluster);
    }

    /// Starts a merge if none is running and memory is full enough, or cannot take another output.
    fn merge_if_full(self: &Arc<Self>, cluster: &Arc<Cluster>) {
        let s = &cluster.settings;
        let merging = {
            let mut state = self.state();
            let no_room = state.memory + state.reserved + self.segment > s.shuffle_memory
                && state.reserved == 0;
            let full = state.memory as f64 >= s.merge_share * s.shuffle_memory as f64
                || state.outputs >= s.merge_outputs
                || no_room;
            if !full || state.merging > 0 || state.memory == 0 {
                return;
            }
            state.outputs = 0;
            state.writing += 1;
            state.merging = std::mem::take(&mut state.memory);
            state.merging
        };
        drop(cluster.simulation.spawn(self.clone().to_disk(cluster.clone(), merging, true)));
    }

    /// Writes a file from outputs in memory, or from one output that is too large for memory.
    async fn to_disk(self: Arc<Self>, cluster: Arc<Cluster>, bytes: u64, from_memory: bool) {
        let disk = {
            let mut state = self.state();
            cluster.write_disk(self.node, bytes, &mut state.stream)
        };
        disk.await;
        {
            let mut state = self.state();
            state.files += 1;
            state.writing -= 1;
            if from_memory {
                state.merging = 0;
            }
        }
        self.merge_if_full(&cluster);
        self.notify(&cluster);
    }
}
