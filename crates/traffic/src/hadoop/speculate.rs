//! Speculative execution: selects the running task that gets a second attempt (DefaultSpeculator,
//! LegacyTaskRuntimeEstimator, StartEndTimesBase).

use super::draws::Task;
use afflux_units::{Span, Time};

/// Time until the next scan after a scan that has started no attempt
/// (`mapreduce.job.speculative.retry-after-no-speculate`), and after one that has
/// (`retry-after-speculate`).
pub const AFTER_NONE: Span = Span::from_s(1);
pub const AFTER_SPECULATION: Span = Span::from_s(15);

/// Share of the tasks of a kind that must have ended before one is speculated
/// (MINIMUM_COMPLETE_PROPORTION_TO_SPECULATE). At least one task must have ended.
const ENDED_SHARE: f64 = 0.05;
/// Largest number of tasks with two attempts at a time: the maximum of a fixed number
/// (`mapreduce.job.speculative.minimum-allowed-tasks`), a share of all tasks
/// (`speculative-cap-total-tasks`) and a share of the running tasks
/// (`speculative-cap-running-tasks`).
const LEAST_ALLOWED: f64 = 10.0;
const SHARE_OF_ALL: f64 = 0.01;
const SHARE_OF_RUNNING: f64 = 0.1;

/// Tasks of one kind, maps or reducers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tasks {
    pub all: usize,
    pub ended: usize,
    /// Mean time from the start to the end of the tasks that have ended.
    pub mean: Span,
}

/// A running task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Running {
    pub task: Task,
    /// Number of attempts that run or wait for a container.
    pub attempts: u32,
    /// Start of the first attempt, and share of its work that is done; 0 if it has reported nothing
    /// yet.
    pub begun: Time,
    pub share: f64,
}

/// Returns the task whose second attempt would gain the most time.
pub fn best(now: Time, tasks: Tasks, running: impl Iterator<Item = Running>) -> Option<Task> {
    if tasks.ended == 0 || (tasks.ended as f64) < ENDED_SHARE * tasks.all as f64 {
        return None;
    }
    let (mut count, mut twice) = (0, 0);
    let mut best: Option<(f64, Task)> = None;
    for Running { task, attempts, begun, share } in running {
        count += 1;
        if attempts > 1 {
            twice += 1;
            continue;
        }
        if share <= 0.0 {
            continue;
        }
        // The remaining share is assumed to take time in proportion to the share that is done.
        let left = (now - begun).as_seconds() * (1.0 / share - 1.0);
        let gain = left - tasks.mean.as_seconds();
        if gain > 0.0 && best.is_none_or(|(most, _)| gain > most) {
            best = Some((gain, task));
        }
    }
    let allowed =
        LEAST_ALLOWED.max(SHARE_OF_ALL * tasks.all as f64).max(SHARE_OF_RUNNING * count as f64);
    best.filter(|_| twice < allowed as u32).map(|(_, task)| task)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(100_000_000_000_000);

    fn running(map: u32, since_s: u64, share: f64) -> Running {
        Running {
            task: Task::Map(map),
            attempts: 1,
            begun: Time(NOW.0 - Span::from_s(since_s).0),
            share,
        }
    }

    fn tasks(ended: usize) -> Tasks {
        Tasks { all: 100, ended, mean: Span::from_s(10) }
    }

    #[test]
    fn a_task_is_speculated_whose_rest_takes_longer_than_a_new_attempt() {
        // The first task is half done after 10 s, so another 10 s remain, as long as a new attempt
        // takes. The second is half done after 11 s, so 11 s remain.
        assert_eq!(best(NOW, tasks(5), [running(0, 10, 0.5)].into_iter()), None);
        assert_eq!(best(NOW, tasks(5), [running(0, 11, 0.5)].into_iter()), Some(Task::Map(0)));
        // A map that reads counts as two thirds done, so it is speculated after twice the mean
        // time.
        assert_eq!(best(NOW, tasks(5), [running(0, 19, 2.0 / 3.0)].into_iter()), None);
        assert_eq!(
            best(NOW, tasks(5), [running(0, 21, 2.0 / 3.0)].into_iter()),
            Some(Task::Map(0))
        );
        // Without a report there is no estimate.
        assert_eq!(best(NOW, tasks(5), [running(0, 90, 0.0)].into_iter()), None);
    }

    #[test]
    fn the_task_that_gains_most_is_taken() {
        // The remaining times are 12 s, 30 s and 18 s.
        let some = [running(0, 12, 0.5), running(1, 10, 0.25), running(2, 6, 0.25)];
        assert_eq!(best(NOW, tasks(5), some.into_iter()), Some(Task::Map(1)));
    }

    #[test]
    fn a_twentieth_of_the_tasks_has_ended_before() {
        assert_eq!(best(NOW, tasks(4), [running(0, 50, 0.5)].into_iter()), None);
        let few = |ended| Tasks { all: 3, ended, mean: Span::from_s(10) };
        assert_eq!(best(NOW, few(0), [running(0, 50, 0.5)].into_iter()), None);
        assert_eq!(best(NOW, few(1), [running(0, 50, 0.5)].into_iter()), Some(Task::Map(0)));
    }

    #[test]
    fn ten_tasks_have_two_attempts_or_a_hundredth_of_all_or_a_tenth_of_those_that_run() {
        let found = |all: usize, others: u32, twice: u32| {
            let tasks = Tasks { all, ended: all / 2, mean: Span::from_s(10) };
            let speculated =
                (0..twice).map(|map| Running { attempts: 2, ..running(1_000 + map, 50, 0.5) });
            let good = (0..others).map(|map| running(1 + map, 1, 0.5));
            best(NOW, tasks, speculated.chain(good).chain([running(0, 50, 0.5)])).is_some()
        };
        assert!(found(100, 0, 9) && !found(100, 0, 10));
        assert!(found(1_200, 0, 11) && !found(1_200, 0, 12));
        // The limits are 13 and 14 tasks, a tenth of 140 and more running tasks.
        assert!(found(300, 126, 13) && !found(300, 125, 14));
    }
}
