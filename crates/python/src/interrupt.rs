//! Worker threads whose caller keeps handling signals.

use crate::errors::Failure;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval at which the caller checks for signals.
pub const POLL: Duration = Duration::from_millis(50);
/// Stack size of a worker thread in bytes, as large as a main thread usually has.
const STACK: usize = 8 << 20;

/// Runs `work` on its own thread while the calling thread handles signals, and returns its result.
/// If a signal handler raises an exception (for example on Ctrl-C), the thread is abandoned, so
/// `work` must not change anything outside.
pub fn run_interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let mut receive = spawned(move || Ok(work()))?;
    loop {
        if let Some(answer) = received(py, &mut receive) {
            return answer.map_err(|failure| failure.into_py(py));
        }
        py.check_signals()?;
    }
}

/// Receiving end of a channel for the result of some work.
pub type Answer<T> = Receiver<std::result::Result<T, Failure>>;

/// Starts `work` on its own thread.
pub fn spawned<T: Send + 'static>(
    work: impl FnOnce() -> std::result::Result<T, Failure> + Send + 'static,
) -> PyResult<Answer<T>> {
    let (send, receive) = channel();
    thread::Builder::new().name("afflux".into()).stack_size(STACK).spawn(move || {
        // The caller may have stopped waiting, so a send error is ignored.
        let _ = send.send(guarded(work));
    })?;
    Ok(receive)
}

/// Waits up to [`POLL`] for the result. `None` if there is none yet.
pub fn received<T: Send>(
    py: Python<'_>,
    receive: &mut Answer<T>,
) -> Option<std::result::Result<T, Failure>> {
    // The closure moves the reference in, because borrowed data must be exclusive there.
    match py.detach(move || receive.recv_timeout(POLL)) {
        Ok(answer) => Some(answer),
        Err(RecvTimeoutError::Disconnected) => {
            Some(Err(Failure::Panic("the working thread is gone".into())))
        }
        Err(RecvTimeoutError::Timeout) => None,
    }
}

/// Runs `work` and turns a panic into a failure. A panic is a defect of afflux and must not end the
/// interpreter.
pub fn guarded<T>(
    work: impl FnOnce() -> std::result::Result<T, Failure>,
) -> std::result::Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::Panic(message.unwrap_or("panic").into()))
    })
}
