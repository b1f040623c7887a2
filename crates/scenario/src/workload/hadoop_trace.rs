//! `kind = "hadoop_trace"`: Hadoop jobs of a trace.

use super::block::{Place, Workload, model};
use super::cluster::{self, Cluster, add};
use super::keys::FlowKeys;
use crate::validate::traffic::common::{self, Shared};
use crate::validate::traffic::context::TrafficContext;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Size, keys};
use afflux_net::Model;
use afflux_traffic::hadoop::{self, Framework, TraceOptions, Work};
use afflux_traffic::{Generated, Job, JobKind};

keys! {
    /// Hadoop jobs from a file of the Facebook traces of the SWIM project. Each line has job,
    /// submission in seconds, seconds since the previous submission, bytes of map input, shuffle
    /// and output, separated by tabs. All jobs share one cluster. Jobs without shuffle have no
    /// reducers.
    pub struct Keys as "HadoopTrace" => HadoopTrace {
        @flow: FlowKeys;
        /// Framework that runs the tasks.
        framework: Framework = "mapreduce";
        /// The file (`.gz` and `.xz` are read too); a relative path is relative to the scenario file.
        file: String = required;
        /// SHA-256 of the file, hexadecimal: another content is refused. Default: the digest of the file that is found.
        sha256: String = none;
        /// Factor on all sizes: the traced clusters had 600 and 3000 machines.
        size_scale: f64 = 1.0, check factor;
        /// Factor on all submission times.
        time_scale: f64 = 1.0, check factor;
        /// Number of jobs at the top of the file that are left out.
        skip: u64 = 0;
        /// Number of jobs to take. The first one starts with the block. Default: all.
        jobs: u64 = none;
        /// Shuffled bytes per reducer of a job.
        bytes_per_reducer: Size = "1GB";
        /// The machines and the configuration of Hadoop. Default: every key has its own default.
        cluster: Cluster = none;
    }
}

fn factor(factor: f64, key: Key) -> Result<f64, Wrong> {
    match factor {
        factor if factor > 0.0 && factor <= 1e6 => Ok(factor),
        factor => {
            let what = format!("found {factor}: write a number above 0, up to 1000000");
            Err(Wrong::at(key, what))
        }
    }
}

impl Workload for Keys {
    fn generate(
        &mut self,
        mut shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let Place { index, key, classes } = place;
        let at = |name: &str| key.clone().name(name);
        let block = self.resolve(key)?;
        let cluster = self.cluster.get_or_insert_default();
        let mut settings = cluster.settings(block.framework, &mut shared, key, classes, context)?;
        let path = context.inputs.identify(
            self.file.as_mut().expect("required"),
            &mut self.sha256,
            &at("file"),
        )?;
        let options = TraceOptions {
            size_scale: block.size_scale,
            time_scale: block.time_scale,
            skip: block.skip,
            most: block.jobs,
            bytes_per_reducer: block.bytes_per_reducer.0.max(1),
            block: settings.block,
            start: shared.start,
        };
        let read =
            hadoop::read_trace(&path, &options).map_err(|error| common::wrong(error, key))?;
        let mut given = Generated::default();
        for (place, (name, work)) in read.into_iter().enumerate() {
            given.jobs.push(Job::new(JobKind::Application, name, Some(work.submit)));
            settings.jobs.push(Work { job: place as u32, ..work });
        }
        if settings.jobs.is_empty() {
            return Err(Wrong::at(at("jobs"), format!("no job of {} is left", path.display())));
        }
        add(settings, index, shared.template.transport, key, ("file", Some(&path)), context)?;
        Ok(given)
    }
    fn jobs(&self) -> Option<JobKind> {
        Some(JobKind::Application)
    }
    fn classes(&self, own: &str) -> Vec<String> {
        cluster::classes(own).into()
    }
    fn ends_with_jobs(&self) -> bool {
        true
    }
    fn size_key(&self) -> &'static str {
        "file"
    }
    fn paths(&mut self) -> Vec<&mut String> {
        self.file.as_mut().into_iter().collect()
    }
}

pub const MODELS: &[Model] = &[model(
    "application",
    "hadoop trace",
    "Facebook 2009 and 2010, SWIM project (UC Berkeley)",
    "submission times, bytes of map input, shuffle and output of each job",
    "numbers of tasks are not in the trace: a map per block, a reducer per so many bytes; all jobs share one cluster, first come, first served",
)];
