//! Reads the clocks of the machine.

/// Returns the processor time of the calling thread in seconds.
pub fn thread_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
