//! Cost of a run: wall time, processor time, and the build of the program.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static BUILD: OnceLock<&str> = OnceLock::new();

/// Sets `build` of the summaries that this process writes: version and commit. Only the first call
/// has an effect.
///
/// The program at the end of the crate graph calls it. If this crate knew the commit itself, each
/// commit would recompile it.
pub fn set_build(build: &'static str) {
    let _ = BUILD.set(build);
}

/// Returns the build, or the bare version if the program has not set it.
pub(crate) fn build() -> &'static str {
    BUILD.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// Start of a run's clocks: `wall_s` and `cpu_s` of the summary are counted from here.
#[derive(Debug, Clone, Copy)]
pub struct ProcessStart {
    wall: Instant,
    /// Wall time that had passed before `wall` and counts.
    earlier: Duration,
    /// Processor time of the process before the start, which does not count.
    cpu: Duration,
}

impl ProcessStart {
    /// Starts now, for one of several runs in a process.
    pub fn now() -> Self {
        Self { wall: Instant::now(), earlier: Duration::ZERO, cpu: processor_time() }
    }

    /// Starts with the process, including the time to load the program, for a process that does a
    /// single run.
    pub fn of_process() -> Self {
        Self { wall: Instant::now(), earlier: age().unwrap_or_default(), cpu: Duration::ZERO }
    }

    /// Returns the wall-clock time since the start.
    pub fn wall(&self) -> Duration {
        self.earlier + self.wall.elapsed()
    }

    /// Returns the user and system time of all threads of the process since the start.
    pub fn cpu(&self) -> Duration {
        processor_time().saturating_sub(self.cpu)
    }
}

fn processor_time() -> Duration {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(t.tv_sec.unsigned_abs(), u32::try_from(t.tv_nsec).unwrap_or(0))
}

/// Returns the age of the process with a resolution of a clock tick (10 ms). Linux only.
#[cfg(target_os = "linux")]
fn age() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // proc_pid_stat(5): field 2 is the name in parentheses, which may hold anything; field 22 is the start in ticks since boot.
    let ticks: u64 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()?;
    let start = Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second());
    let t = clock_gettime(ClockId::Boottime);
    Duration::new(t.tv_sec.unsigned_abs(), u32::try_from(t.tv_nsec).ok()?).checked_sub(start)
}
#[cfg(not(target_os = "linux"))]
fn age() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_is_set_once() {
        assert_eq!(build(), env!("CARGO_PKG_VERSION"));
        set_build(concat!(env!("CARGO_PKG_VERSION"), "+g1234abc"));
        set_build("another");
        assert_eq!(build(), concat!(env!("CARGO_PKG_VERSION"), "+g1234abc"));
    }

    #[test]
    fn clocks_advance() {
        let (process, now) = (ProcessStart::of_process(), ProcessStart::now());
        let mut x = 1u64;
        while now.cpu() < Duration::from_millis(2) {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(process.cpu() >= now.cpu());
        assert!(now.wall() < Duration::from_secs(600));
        #[cfg(target_os = "linux")]
        {
            assert!(process.wall() < Duration::from_secs(3_600), "{:?}", process.wall());
        }
    }
}
