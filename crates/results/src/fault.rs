//! Injected faults for tests (docs/dev/faults.md): at a chosen step of writing, the process is
//! killed or interrupted, or finds the disk full.
//!
//! Every function here and in Python's `afflux.files.durable` that changes the disk announces it
//! with [`step`]. The environment variable `AFFLUX_FAULT` selects the fault and the step. Without
//! it, a step costs one read of a cell that is set once.

use rustix::process::{Signal, getpid, kill_process};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const VARIABLE: &str = "AFFLUX_FAULT";

/// Kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The step needs space on the disk: create, write, synchronise, rename.
    Write,
    /// The step needs no space: remove, or open an existing file.
    Remove,
}

#[derive(Debug)]
enum Fault {
    /// `KILL@n`, `INT@n`, `TERM@n`: the process gets the signal before step n.
    Signal(Signal, u64),
    /// `FULL@n`: from step n on the disk is full.
    Full(u64),
    /// `TRACE@file`: one line per step is appended to the file.
    Trace(PathBuf),
}

static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
static STEPS: AtomicU64 = AtomicU64::new(0);

/// Announces a change on disk.
///
/// # Errors
/// Only the requested error: no space left on the device.
#[inline]
pub fn step(kind: Step, what: &str, path: &Path) -> io::Result<()> {
    match FAULT.get_or_init(requested) {
        None => Ok(()),
        Some(fault) => fault.meet(STEPS.fetch_add(1, Ordering::Relaxed) + 1, kind, what, path),
    }
}

/// True if a fault is requested. Each write is then split into two halves with a step between them.
pub fn is_armed() -> bool {
    FAULT.get_or_init(requested).is_some()
}

fn requested() -> Option<Fault> {
    let text = std::env::var(VARIABLE).ok()?;
    let fault = parsed(&text);
    if fault.is_none() {
        // Abort, because a test with a mistyped variable must not pass.
        eprintln!("{VARIABLE}={text}: expected KILL@n, INT@n, TERM@n, FULL@n or TRACE@file");
        std::process::abort();
    }
    fault
}

fn parsed(text: &str) -> Option<Fault> {
    let (what, place) = text.split_once('@')?;
    Some(match what {
        "TRACE" => Fault::Trace(place.into()),
        "FULL" => Fault::Full(place.parse().ok()?),
        "KILL" => Fault::Signal(Signal::KILL, place.parse().ok()?),
        "INT" => Fault::Signal(Signal::INT, place.parse().ok()?),
        "TERM" => Fault::Signal(Signal::TERM, place.parse().ok()?),
        _ => return None,
    })
}

impl Fault {
    fn meet(&self, number: u64, kind: Step, what: &str, path: &Path) -> io::Result<()> {
        match self {
            Self::Signal(signal, at) if number == *at => {
                kill_process(getpid(), *signal)?;
                if *signal == Signal::KILL {
                    // The signal may take an instant to arrive.
                    loop {
                        std::thread::park();
                    }
                }
            }
            Self::Full(at) if number >= *at && kind == Step::Write => {
                return Err(io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error()));
            }
            Self::Trace(file) => File::options()
                .create(true)
                .append(true)
                .open(file)?
                .write_all(format!("{what} {}\n", path.display()).as_bytes())?,
            Self::Signal(..) | Self::Full(_) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        assert!(matches!(parsed("KILL@3"), Some(Fault::Signal(Signal::KILL, 3))));
        assert!(matches!(parsed("FULL@1"), Some(Fault::Full(1))));
        assert!(matches!(parsed("TRACE@/tmp/x"), Some(Fault::Trace(_))));
        assert!(
            parsed("KILL").is_none() && parsed("KILL@x").is_none() && parsed("HUP@3").is_none()
        );
    }

    #[test]
    fn a_full_disk_stays_full_and_lets_go() {
        let fault = Fault::Full(3);
        let path = Path::new("x");
        assert!(fault.meet(2, Step::Write, "write", path).is_ok());
        assert_eq!(
            fault.meet(3, Step::Write, "write", path).unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        assert!(fault.meet(4, Step::Write, "rename", path).is_err());
        assert!(fault.meet(4, Step::Remove, "remove", path).is_ok());
    }

    #[test]
    fn nothing_is_requested_here() {
        assert!(!is_armed() && step(Step::Write, "write", Path::new("x")).is_ok());
    }
}
