//! A reducer: fetches its part of all outputs, merges them, works on them and writes its output.

use super::cluster::{Cluster, cpu};
use super::container::{Place, Progress};
use super::draws::{self, Task};
use super::job::Part;
use super::map::share;
use super::shuffle::Shuffle;
use std::sync::Arc;

/// Round trips to the name node before the output: TCP's handshake, its authentication, create, getServerDefaults (DFSOutputStream).
const OPEN: u32 = 4;

impl Cluster {
    pub async fn reduce(self: Arc<Self>, job: usize, progress: &Arc<Progress>, reduce: u32, place: Place) {
        let (s, task, Place { node, begun, .. }) = (&self.settings, Task::Reduce(reduce), place);
        let work = &s.jobs[job];
        let input = share(work.shuffle, work.reducers.into(), reduce.into());
        let output = share(work.output, work.reducers.into(), reduce.into());
        let mut rpc = self.stream(job, draws::RPC, task);
        let mut poll = self.stream(job, draws::POLL, task);
        let mut disks = self.stream(job, draws::DISK, task);
        let part = |phase, start, bytes_in, bytes_out| Part { phase, task: Some(reduce), node: Some(node), start, bytes_in, bytes_out };

        let reports = self.first_report(job, place, progress.master, s.umbilical_rpcs.1, &mut rpc).await;
        let mut files = Shuffle::new(&self, job, reduce, node).run(&self, progress, &mut poll, &mut rpc).await;
        progress.span("shuffle", begun, self.simulation.now());
        self.ended(job, part("shuffle", begun, input, input));

        let merging = self.simulation.now();
        // The last pass goes straight to the reduce function.
        while files > s.merge_factor {
            self.read_disk(node, input, &mut disks).await;
            self.write_disk(node, input, &mut disks).await;
            files = files.div_ceil(s.merge_factor);
        }
        self.ended(job, part("merge", merging, input, input));

        let reducing = self.simulation.now();
        let read = (input > 0).then(|| self.read_disk(node, input, &mut disks));
        let ends = reducing + cpu(s.reduce_cpu, input);
        let per_byte = if output > 0 { (s.reduce_cpu as u128 * input as u128 / output as u128) as u64 } else { 0 };
        let opening = s.task_rpcs.1.min(OPEN);
        self.open_files(job, place, opening, &mut rpc).await;
        self.clone().write_file(job, task, node, output, s.output_replication, per_byte).await;
        self.simulation.until(ends).await;
        if let Some(read) = read {
            read.await;
        }
        // fsync, complete, and the commit of the task's file.
        self.call(job, node, s.master, (s.task_rpcs.1 - opening).saturating_sub(s.committer.fewer_calls_of_task()), &mut rpc).await;
        self.call(job, node, progress.master, reports, &mut rpc).await;
        progress.span("reduce", merging, self.simulation.now());
        self.ended(job, part("reduce", reducing, input, output));
    }
}
