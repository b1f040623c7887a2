//! A job from its submission to the client's last check.

use super::cluster::{Cluster, Kind, some_of};
use super::container::Progress;
use super::draws::{self, Task, draw};
use super::process::unless;
use super::speculate;
use afflux_engine::random::Stream;
use afflux_net::record::TaskRecord;
use afflux_units::{Span, Time};
use std::sync::Arc;

/// A part of a job that is recorded.
pub struct Part {
    pub phase: &'static str,
    pub task: Option<u32>,
    pub node: Option<u32>,
    pub start: Time,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

impl Cluster {
    /// Records a part that has just ended.
    pub fn ended(&self, job: usize, part: Part) {
        self.ended_at(job, part, self.simulation.now());
    }

    /// Records a part that ended at `finish`.
    pub fn ended_at(&self, job: usize, part: Part, finish: Time) {
        let finish = Some(finish);
        let Part { phase, task, node, start, bytes_in, bytes_out } = part;
        self.simulation.record(TaskRecord {
            job: self.settings.jobs[job].job,
            phase,
            task,
            node,
            start,
            finish,
            bytes_in,
            bytes_out,
        });
    }

    fn phase(&self, job: usize, phase: &'static str, start: Time) {
        self.ended(job, Part { phase, task: None, node: None, start, bytes_in: 0, bytes_out: 0 });
    }

    pub async fn job(self: Arc<Self>, job: usize) {
        let work = &self.settings.jobs[job];
        let mut stream = self.stream(job, draws::JOB, Task::Master);
        let mut rpc = self.stream(job, draws::RPC, Task::Master);
        self.simulation.until(work.submit).await;
        self.submit(job, &mut stream, &mut rpc).await;
        let submitted = self.simulation.now();
        self.phase(job, "submit", work.submit);

        let (giver, given) = self.simulation.signal();
        {
            let requests = &mut self.state().jobs[job];
            (requests.master, requests.master_given) = (true, Some(giver));
        }
        self.wake();
        given.await;
        let (node, _) = self.state().jobs[job].given.pop_front().expect("the master's container");
        let s = &self.settings;
        self.connect(job, s.master, node, s.launch_rpcs, &mut rpc).await;
        self.localize(job, node, s.localized_files.1).await;
        for range in [s.container_start, s.jvm_start, s.master_init] {
            self.simulation.sleep(draw(range, &mut stream)).await;
        }
        self.connect(job, node, s.master, s.master_rpcs, &mut rpc).await;
        self.phase(job, "master", submitted);

        let (giver, tasks) = self.simulation.signal();
        let progress = Progress::new(&self, job, node, giver);
        let started = self.simulation.now();
        drop(self.simulation.spawn(self.clone().hand_out(job, progress.clone())));
        if s.speculative != (false, false) {
            drop(self.simulation.spawn(self.clone().speculator(progress.clone())));
        }
        tasks.await;
        self.record_phases(job, &progress, started);

        let tasks_ended = self.simulation.now();
        let moved = s.committer.calls_of_job(work.committed()) as u32;
        self.call(job, node, s.master, s.commit_rpcs + moved, &mut rpc).await;
        self.phase(job, "commit", tasks_ended);
        let committed = self.simulation.now();
        if s.history > 0 {
            // TeraSort sets `dfs.replication` for all files that its job writes.
            let chain = some_of(&s.data, s.output_replication as usize, &mut stream);
            self.pipeline(job, node, &chain, s.history, s.transports.connect).await;
        }
        self.call(job, node, s.master, s.history_rpcs + 1, &mut rpc).await;
        if s.unregister > Span::ZERO {
            // finishApplicationMaster returns false until the final state is stored
            // (RMCommunicator.doUnregistration).
            self.simulation.sleep(s.unregister).await;
            self.call(job, node, s.master, 1, &mut rpc).await;
        }
        self.container_ended(node, Kind::Master);
        drop(self.simulation.spawn(self.clone().send_logs(job, progress.containers())));
        // The client checks at a fixed interval, counted from the submission.
        let poll = s.client_poll.0.max(1);
        let since = self.simulation.now().0 - submitted.0;
        self.simulation.until(Time(submitted.0 + since.div_ceil(poll) * poll)).await;
        self.call(job, s.client, s.master, 1, &mut rpc).await;
        self.phase(job, "end", committed);
        let input = work.maps.iter().sum();
        self.ended(
            job,
            Part {
                phase: "job",
                task: None,
                node: None,
                start: work.submit,
                bytes_in: input,
                bytes_out: work.output,
            },
        );
        self.state().running -= 1;
        self.wake();
        self.rest();
    }

    /// Runs the client: its own start, samples of the input, upload of the files that the tasks
    /// need, calls.
    async fn submit(&self, job: usize, stream: &mut Stream, rpc: &mut Stream) {
        let s = &self.settings;
        self.simulation.sleep(draw(s.client_start, stream)).await;
        let (client, transports) = (s.client, s.transports);
        let mut samples = Vec::new();
        for _ in 0..s.samples {
            let data = s.data[stream.below(s.data.len() as u64) as usize];
            if data != client && s.sample > 0 {
                samples.push(self.send(
                    job,
                    data,
                    client,
                    s.sample,
                    (transports.connect, transports.classes.read),
                    Span::ZERO,
                ));
            }
        }
        for sample in samples {
            sample.await;
        }
        if s.resources > 0 {
            let chain = some_of(&s.data, s.submit_replication as usize, stream);
            self.pipeline(job, client, &chain, s.resources, transports.connect).await;
        }
        self.call(job, client, s.master, s.submit_rpcs, rpc).await;
    }

    /// Runs the heartbeats of the job's master. At each of them it requests containers and starts
    /// tasks in the containers that it has been given, until all tasks have ended.
    async fn hand_out(self: Arc<Self>, job: usize, progress: Arc<Progress>) {
        let mut rpc = self.stream(job, draws::HEARTBEAT, Task::Master);
        let period = self.settings.master_heartbeat;
        // Tez requests containers at once; MapReduce sleeps before each heartbeat
        // (RMCommunicator.AllocatorRunnable).
        let mut wait = if self.settings.tez { Span::ZERO } else { period };
        loop {
            self.simulation.sleep(wait).await;
            wait = period;
            if progress.ended() {
                break;
            }
            self.call(job, progress.master, self.settings.master, 1, &mut rpc).await;
            let given = std::mem::take(&mut self.state().jobs[job].given);
            for (node, kind) in given {
                match progress.take(&self, node, kind) {
                    Some(attempt) => drop(self.simulation.spawn(self.clone().container(
                        job,
                        progress.clone(),
                        node,
                        kind,
                        attempt,
                    ))),
                    None => self.release(node, kind),
                }
            }
            self.ask(job, &progress);
        }
        let left = {
            let requests = &mut self.state().jobs[job];
            (requests.maps, requests.reducers) = (0, 0);
            std::mem::take(&mut requests.given)
        };
        left.into_iter().for_each(|(node, kind)| self.release(node, kind));
    }

    /// Requests containers for all maps, and for as many reducers as may start.
    fn ask(&self, job: usize, progress: &Progress) {
        let (maps, reducers) = progress.wanted(self);
        {
            let requests = &mut self.state().jobs[job];
            (requests.maps, requests.reducers) = (maps, reducers);
        }
        self.wake();
    }

    /// Starts further attempts of slow tasks until all tasks have ended (DefaultSpeculator). The
    /// master's next heartbeat requests containers for them.
    async fn speculator(self: Arc<Self>, progress: Arc<Progress>) {
        let Some(end) = progress.end(&self) else { return };
        let scans = async {
            while !progress.ended() {
                let wait = if progress.speculate(&self) {
                    speculate::AFTER_SPECULATION
                } else {
                    speculate::AFTER_NONE
                };
                self.simulation.sleep(wait).await;
            }
        };
        unless(end, scans).await;
    }

    fn record_phases(&self, job: usize, progress: &Progress, started: Time) {
        let job = self.settings.jobs[job].job;
        for (phase, (start, finish)) in progress.spans() {
            let start = start.max(started);
            self.simulation.record(TaskRecord {
                job,
                phase,
                task: None,
                node: None,
                start,
                finish: Some(finish),
                bytes_in: 0,
                bytes_out: 0,
            });
        }
    }

    /// Sends the logs of each node's containers to a randomly drawn data node.
    async fn send_logs(self: Arc<Self>, job: usize, containers: Vec<(u32, u64)>) {
        self.state().busy += 1;
        let mut logs = Vec::new();
        for (node, count) in containers {
            let hosts = &self.settings.log_hosts;
            let mut stream = self.node_stream(draws::LOG ^ job as u64, node);
            let to = hosts[stream.below(hosts.len() as u64) as usize];
            if to != node && self.settings.log > 0 {
                logs.push(self.send(
                    job,
                    node,
                    to,
                    count * self.settings.log,
                    (self.settings.transports.connect, self.settings.transports.classes.log),
                    Span::ZERO,
                ));
            }
        }
        for log in logs {
            log.await;
        }
        self.rest();
    }

    /// Counts down after a job has ended, or after its logs have been sent. Reports the cluster as
    /// done when no job and no upload is left.
    fn rest(&self) {
        let mut state = self.state();
        state.busy -= 1;
        if state.busy == 0 {
            self.simulation.done();
        }
    }
}
