//! A map: reads a block, processes it, spills and merges its output.

use super::cluster::{Cluster, cpu};
use super::container::{Place, Progress};
use super::draws::{self, Attempt, Task};
use super::job::Part;
use super::settings::CHECKSUM;
use afflux_units::Span;
use std::sync::Arc;

/// Share of the map phase in a map's progress; the rest is the sort (MapTask).
const MAP_PHASE: f64 = 2.0 / 3.0;

impl Cluster {
    /// Runs an attempt of a map. Returns whether it is the first attempt of its map to end.
    pub async fn map(
        self: &Arc<Self>,
        job: usize,
        progress: &Arc<Progress>,
        map: u32,
        place: Place,
    ) -> bool {
        let (s, Place { node, begun, attempt, .. }) = (&self.settings, place);
        let of = Attempt { task: Task::Map(map), number: attempt };
        let work = &s.jobs[job];
        let input = work.maps[map as usize];
        let output = self.map_output(job);
        let mut rpc = self.stream(job, draws::RPC, of);
        let mut disks = self.stream(job, draws::DISK, of);
        let mut short = self.stream(job, draws::SHORT, of);
        let reports =
            self.first_report(job, place, progress.master, s.umbilical_rpcs.0, &mut rpc).await;
        // The model knows only the end of a transfer, so the map phase counts as done from the
        // beginning.
        progress.report(of, MAP_PHASE);
        // The last call asks whether there is anything to commit (Task.done, needsTaskCommit).
        let last = s.task_rpcs.0.min(1);
        self.open_files(job, place, s.task_rpcs.0 - last, &mut rpc).await;
        // The first short read is the map's own part of job.split.
        let before = s.task_reads.min(1);
        self.short_reads(job, node, before, &mut short, &mut rpc).await;
        let spills = if work.reducers == 0 { 1 } else { self.spills(output) };
        let early: Vec<_> = (1..if s.early_spills { spills } else { 1 })
            .map(|index| self.write_disk(node, share(output, spills, index), &mut disks))
            .collect();
        self.read_block(job, map, attempt, node, input).await;
        // The end of the last record is in the next block (LineReader, TeraInputFormat: 2^27 is no
        // multiple of 100).
        self.short_reads(job, node, s.task_reads - before, &mut short, &mut rpc).await;
        let written = if work.reducers == 0 {
            share(work.output, work.maps.len() as u64, map.into())
        } else {
            output
        };
        if work.reducers == 0 {
            self.clone().write_file(job, of, node, written, s.output_replication, 0).await;
        } else {
            for written in early {
                written.await;
            }
            self.spill_rest(node, output, spills, &mut disks).await;
        }
        self.call(job, node, s.master, last, &mut rpc).await;
        self.call(job, node, progress.master, reports, &mut rpc).await;
        if !progress.first_to_end(self, of) {
            return false;
        }
        progress.span("map", begun, self.simulation.now());
        self.ended(
            job,
            Part {
                phase: "map",
                task: Some(map),
                node: Some(node),
                start: begun,
                bytes_in: input,
                bytes_out: written,
            },
        );
        true
    }

    /// Returns the bytes that each map of a job outputs.
    pub fn map_output(&self, job: usize) -> u64 {
        let work = &self.settings.jobs[job];
        work.shuffle.div_ceil(work.maps.len().max(1) as u64)
    }

    /// Reads a block from a data node that holds it, from this node if it is one. The network, the
    /// data node's disk and the map process the block at the same time.
    async fn read_block(
        self: &Arc<Self>,
        job: usize,
        map: u32,
        attempt: u32,
        node: u32,
        bytes: u64,
    ) {
        let s = &self.settings;
        if bytes == 0 {
            return;
        }
        let mut stream =
            self.stream(job, draws::READ, Attempt { task: Task::Map(map), number: attempt });
        let replicas = self.replicas(job, map);
        let from = if replicas.contains(&node) {
            node
        } else {
            replicas[stream.below(replicas.len() as u64) as usize]
        };
        let disk =
            (stream.next_f64() >= s.block_cached).then(|| self.read_disk(from, bytes, &mut stream));
        if from == node {
            self.simulation.sleep(cpu(s.map_cpu, bytes)).await;
        } else {
            let wire = bytes + bytes * CHECKSUM / 512;
            // The reading node opens the connection (BlockReaderFactory, DataXceiver). Its request
            // goes to the data node, and the block comes back.
            self.over_new(job, node, from, s.rpc).await;
            let worked = self
                .send(
                    job,
                    from,
                    node,
                    wire,
                    (s.transports.read, s.transports.classes.read),
                    Span::ZERO,
                )
                .await;
            self.simulation.until(worked).await;
        }
        if let Some(disk) = disk {
            disk.await;
        }
    }

    /// Returns the number of spills of a map's output. All but the last are written while the map
    /// works.
    fn spills(&self, output: u64) -> u64 {
        let s = &self.settings;
        let at = (s.sort_buffer as f64 * s.spill_share) as u64;
        let taken = (output as f64 * s.sort_overhead) as u64;
        taken.div_ceil(at.max(1)).max(1)
    }

    /// Writes the last spill of a map's output, and merges several spills.
    async fn spill_rest(
        &self,
        node: u32,
        output: u64,
        spills: u64,
        disks: &mut afflux_engine::random::Stream,
    ) {
        let s = &self.settings;
        self.write_disk(node, output / spills, disks).await;
        let mut runs = spills;
        while runs > 1 {
            // A merge no wider than its factor reads and writes the whole output once.
            self.read_disk(node, output, disks).await;
            self.write_disk(node, output, disks).await;
            runs = runs.div_ceil(s.merge_factor.max(2).into());
        }
    }
}

/// Returns the size of part `index` of `parts` nearly equal parts.
pub fn share(total: u64, parts: u64, index: u64) -> u64 {
    total / parts + u64::from(index < total % parts)
}
