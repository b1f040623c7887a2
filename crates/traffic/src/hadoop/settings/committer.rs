//! Calls by which the output of tasks becomes the output of a job.

use afflux_config::words;

words! {
    /// How the output of the tasks becomes the output of the job:
    pub enum Committer {
        /// A task's commit renames the directory of its attempt. The commit of the job lists these
        /// directories and moves the file of each with four calls, one after the other: state of
        /// the output directory, list, state of the new file, rename
        /// (`FileOutputCommitter.mergePaths`).
        V1,
        /// A task's commit moves the task's own file, at the same time as other tasks.
        V2,
    }
}

/// Number of directory entries that the name node lists per call (`dfs.ls.limit`).
const LISTED: u64 = 1_000;
/// Number of calls that move the output of a task, a directory with one file: state of the output
/// directory, list of the task's directory, state of the new file, rename
/// (FileOutputCommitter.mergePaths).
const CALLS_PER_OUTPUT: u64 = 4;
/// Number of calls by which a task's commit in version 2, which moves the file, exceeds that in
/// version 1 (state of the attempt's directory, check for an earlier commit, rename).
const FEWER_CALLS: u32 = 2;

impl Committer {
    /// Returns the number of calls of a task's commit that version 2 has and this version does not
    /// have.
    pub fn fewer_calls_of_task(self) -> u32 {
        match self {
            Committer::V1 => FEWER_CALLS,
            Committer::V2 => 0,
        }
    }

    /// Returns the number of calls of a job's commit in addition to those of both versions, if
    /// `tasks` tasks have written output. The master makes them one after the other.
    pub fn calls_of_job(self, tasks: u64) -> u64 {
        match self {
            // The list contains the tasks' directories and the directory of attempts that have not
            // been committed.
            Committer::V1 => (tasks + 1).div_ceil(LISTED) + CALLS_PER_OUTPUT * tasks,
            Committer::V2 => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_of_a_job_of_version_1_has_four_calls_for_each_task_and_one_for_each_thousand_in_the_list()
     {
        assert_eq!(
            [1, 56, 999, 1_000].map(|tasks| Committer::V1.calls_of_job(tasks)),
            [1 + 4, 1 + 224, 1 + 3_996, 2 + 4_000]
        );
        assert_eq!(Committer::V2.calls_of_job(1_000), 0);
        assert_eq!([Committer::V1, Committer::V2].map(Committer::fewer_calls_of_task), [2, 0]);
    }
}
