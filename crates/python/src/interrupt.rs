//! Work on threads of its own, while the calling thread looks for signals.

use crate::errors::Failure;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The interval at which a run looks for signals.
pub const POLL: Duration = Duration::from_millis(50);
/// Bytes of a thread's stack; as large as a main thread's usually is.
const STACK: usize = 8 << 20;

/// Does `work` on a thread of its own while this one handles signals, and returns its result. If a handler raises, as for Ctrl-C, the thread is left
/// alone: `work` must not change anything outside.
pub fn run_interruptible<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let mut receive = spawned(move || Ok(work()))?;
    loop {
        if let Some(answer) = received(py, &mut receive) {
            return answer.map_err(|failure| failure.into_py(py));
        }
        py.check_signals()?;
    }
}

/// The end of a channel at which the result of some work arrives.
pub type Answer<T> = Receiver<std::result::Result<T, Failure>>;

/// Starts `work` on a thread of its own.
pub fn spawned<T: Send + 'static>(work: impl FnOnce() -> std::result::Result<T, Failure> + Send + 'static) -> PyResult<Answer<T>> {
    let (send, receive) = channel();
    thread::Builder::new().name("afflux".into()).stack_size(STACK).spawn(move || {
        // The caller may have stopped waiting.
        let _ = send.send(guarded(work));
    })?;
    Ok(receive)
}

/// Waits a little while for the answer; `None` if there is none yet.
pub fn received<T: Send>(py: Python<'_>, receive: &mut Answer<T>) -> Option<std::result::Result<T, Failure>> {
    // Moved in: what is borrowed there must be exclusive.
    match py.detach(move || receive.recv_timeout(POLL)) {
        Ok(answer) => Some(answer),
        Err(RecvTimeoutError::Disconnected) => Some(Err(Failure::Panic("the working thread is gone".into()))),
        Err(RecvTimeoutError::Timeout) => None,
    }
}

/// Does `work`, and turns a panic into a failure. A panic is a defect of ours; it must not take the interpreter with it.
pub fn guarded<T>(work: impl FnOnce() -> std::result::Result<T, Failure>) -> std::result::Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::Panic(message.unwrap_or("panic").into()))
    })
}
