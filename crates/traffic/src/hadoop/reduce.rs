//! A reducer: fetches its part of all map outputs, merges them, processes them and writes its
//! output.

use super::cluster::{Cluster, cpu};
use super::container::{Place, Progress};
use super::draws::{self, Attempt, Task};
use super::job::Part;
use super::map::share;
use super::shuffle::{self, Shuffle};
use std::sync::Arc;

/// Round trips to the name node before the output: TCP's handshake, its authentication, create,
/// getServerDefaults (DFSOutputStream).
const OPEN: u32 = 4;

/// Share of the sort phase in a reducer's progress (ReduceTask).
const SORT_PHASE: f64 = 1.0 / 3.0;

impl Cluster {
    /// Runs an attempt of a reducer. Returns whether it is the first attempt of its reducer to end.
    pub async fn reduce(
        self: Arc<Self>,
        job: usize,
        progress: &Arc<Progress>,
        reduce: u32,
        place: Place,
    ) -> bool {
        let (s, Place { node, begun, attempt, .. }) = (&self.settings, place);
        let of = Attempt { task: Task::Reduce(reduce), number: attempt };
        let work = &s.jobs[job];
        let input = share(work.shuffle, work.reducers.into(), reduce.into());
        let output = share(work.output, work.reducers.into(), reduce.into());
        let mut rpc = self.stream(job, draws::RPC, of);
        let mut poll = self.stream(job, draws::POLL, of);
        let mut disks = self.stream(job, draws::DISK, of);
        let part = |phase, start, bytes_in, bytes_out| Part {
            phase,
            task: Some(reduce),
            node: Some(node),
            start,
            bytes_in,
            bytes_out,
        };

        let reports =
            self.first_report(job, place, progress.master, s.umbilical_rpcs.1, &mut rpc).await;
        let mut files =
            Shuffle::new(&self, job, progress, of, node).run(&self, &mut poll, &mut rpc).await;
        let shuffled = self.simulation.now();
        // If another attempt is possible, this attempt is recorded only if it ends first.
        let alone = !s.speculative.1;
        if alone {
            progress.span("shuffle", begun, shuffled);
            self.ended(job, part("shuffle", begun, input, input));
        }

        let merging = self.simulation.now();
        // The last pass of the merge goes directly to the reduce function.
        while files > s.merge_factor {
            self.read_disk(node, input, &mut disks).await;
            self.write_disk(node, input, &mut disks).await;
            files = files.div_ceil(s.merge_factor);
        }
        if alone {
            self.ended(job, part("merge", merging, input, input));
        }
        progress.report(of, shuffle::COPY_PHASE + SORT_PHASE);

        let reducing = self.simulation.now();
        let read = (input > 0).then(|| self.read_disk(node, input, &mut disks));
        let ends = reducing + cpu(s.reduce_cpu, input);
        let per_byte = if output > 0 {
            (s.reduce_cpu as u128 * input as u128 / output as u128) as u64
        } else {
            0
        };
        let opening = s.task_rpcs.1.min(OPEN);
        self.open_files(job, place, opening, &mut rpc).await;
        self.clone().write_file(job, of, node, output, s.output_replication, per_byte).await;
        self.simulation.until(ends).await;
        if let Some(read) = read {
            read.await;
        }
        // These calls are fsync, complete, and the commit of the task's file.
        self.call(
            job,
            node,
            s.master,
            (s.task_rpcs.1 - opening).saturating_sub(s.committer.fewer_calls_of_task()),
            &mut rpc,
        )
        .await;
        self.call(job, node, progress.master, reports, &mut rpc).await;
        if !progress.first_to_end(&self, of) {
            return false;
        }
        if !alone {
            progress.span("shuffle", begun, shuffled);
            self.ended_at(job, part("shuffle", begun, input, input), shuffled);
            self.ended_at(job, part("merge", merging, input, input), reducing);
        }
        progress.span("reduce", merging, self.simulation.now());
        self.ended(job, part("reduce", reducing, input, output));
        true
    }
}
