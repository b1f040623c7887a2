//! Fetches the files that a job's tasks need on a node. Each file is fetched once per node and job,
//! one after the other (ResourceLocalizationService).

use super::cluster::{Cluster, Localized};
use super::draws;

/// Round trips before the first file: TCP's handshake, its authentication, getServerDefaults.
const OPEN: u32 = 3;
/// Calls to the name node for each file: its state, and the places of its blocks.
const FIND: u32 = 2;
/// Number of files that the client uploaded as `resources`: the job's jar and its configuration.
/// The other files list the maps.
const UPLOADED: u32 = 2;
/// Bytes of each map in a list of maps (JobSplitWriter).
const BYTES_PER_MAP: u64 = 100;

impl Cluster {
    /// Provides `files` files for a container on its node: fetches them, or waits for the container
    /// that is fetching them.
    pub async fn localize(&self, job: usize, node: u32, files: u32) {
        let wait = {
            let mut state = self.state();
            match state.localized.get_mut(&(job, node)) {
                Some(Localized::Here) => return,
                Some(Localized::UnderWay(waiting)) => {
                    let (giver, signal) = self.simulation.signal();
                    waiting.push(giver);
                    Some(signal)
                }
                None => {
                    state.localized.insert((job, node), Localized::UnderWay(Vec::new()));
                    None
                }
            }
        };
        if let Some(wait) = wait {
            wait.await;
            return;
        }
        self.fetch_files(job, node, files).await;
        let before = self.state().localized.insert((job, node), Localized::Here);
        if let Some(Localized::UnderWay(waiting)) = before {
            waiting.into_iter().for_each(|giver| self.simulation.give(giver));
        }
    }

    async fn fetch_files(&self, job: usize, node: u32, files: u32) {
        let s = &self.settings;
        if files == 0 {
            return;
        }
        let mut stream = s.draws.stream(draws::LOCALIZE, (job as u64 + 1) << 34 | u64::from(node));
        self.connect(job, node, s.master, OPEN, &mut stream).await;
        for file in 0..files {
            self.call(job, node, s.master, FIND, &mut stream).await;
            let bytes = if file < UPLOADED {
                s.resources / u64::from(UPLOADED.min(files))
            } else {
                BYTES_PER_MAP * s.jobs[job].maps.len() as u64
            };
            let data = s.data[stream.below(s.data.len() as u64) as usize];
            self.short_read(job, node, data, bytes, &mut stream).await;
        }
    }
}
