//! Result directories appear under their name only when they are complete.
//!
//! A run writes into `.<name>.partial-<pid>` beside the directory it is to become, and keeps a lock on a file in there.
//! A run that is killed leaves that, recognisably unfinished, and unlocked; the next run for the same name removes it.

use crate::ResultsError;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const LOCK: &str = ".lock";
/// Written last.
const SUMMARY: &str = "summary.json";

/// The right to write a result directory. Dropped before it is completed, it leaves nothing behind.
#[derive(Debug)]
pub struct Claim {
    dir: PathBuf,
    partial: PathBuf,
    /// Replace a result that is there.
    force: bool,
    /// Locked as long as this exists.
    _lock: File,
}

/// Is this a finished result directory?
pub fn is_complete(dir: &Path) -> bool {
    dir.join(SUMMARY).is_file()
}

/// Checks, before the simulation, that results can be written to `dir`, and reserves it. `force` replaces results that
/// are there, once the new ones are complete, but nothing that is not a result directory (or empty).
///
/// # Errors
/// [`ResultsError::Exists`], [`NotAResult`](ResultsError::NotAResult), [`Busy`](ResultsError::Busy) when another run is
/// writing it, [`Name`](ResultsError::Name) for `/` or `..`, and what the file system says.
pub fn claim(dir: &Path, force: bool) -> Result<Claim, ResultsError> {
    let absolute = std::path::absolute(dir).map_err(ResultsError::io(dir))?;
    // What a symbolic link points to is replaced, not the link.
    let absolute = absolute.canonicalize().unwrap_or(absolute);
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else { return Err(ResultsError::Name(dir.to_path_buf())) };
    if fs::symlink_metadata(&absolute).is_ok() {
        if !force {
            return Err(ResultsError::Exists(dir.to_path_buf()));
        }
        if !is_complete(&absolute) && !is_empty(&absolute) {
            return Err(ResultsError::NotAResult(dir.to_path_buf()));
        }
    }
    fs::create_dir_all(parent).map_err(ResultsError::io(parent))?;
    let parent = parent.canonicalize().map_err(ResultsError::io(parent))?;
    let prefix = format!(".{}.partial-", name.to_string_lossy());
    remove_stale(&parent, &prefix, dir)?;
    let partial = parent.join(format!("{prefix}{}", std::process::id()));
    fs::create_dir(&partial).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => ResultsError::Busy { dir: dir.to_path_buf(), partial: partial.clone() },
        _ => ResultsError::Io { path: partial.clone(), source },
    })?;
    let path = partial.join(LOCK);
    let lock = File::create(&path).map_err(ResultsError::io(&path))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|e| ResultsError::Io { path, source: e.into() })?;
    Ok(Claim { dir: parent.join(name), partial, force, _lock: lock })
}

impl Claim {
    /// Where the results will be.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where `file` is to be written now.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.partial.join(file)
    }

    pub(crate) fn text(&self, file: &str, text: &str) -> Result<(), ResultsError> {
        let path = self.path(file);
        let mut out = File::create(&path).map_err(ResultsError::io(&path))?;
        out.write_all(text.as_bytes()).and_then(|()| out.sync_all()).map_err(ResultsError::io(&path))
    }

    /// Gives the directory its name. Its files have been synchronised by whoever wrote them.
    pub(crate) fn complete(self) -> Result<(), ResultsError> {
        let lock = self.path(LOCK);
        fs::remove_file(&lock).map_err(ResultsError::io(&lock))?;
        synchronise(&self.partial)?;
        let exists = fs::symlink_metadata(&self.dir).is_ok();
        if exists && !self.force {
            return Err(ResultsError::Exists(self.dir.clone()));
        }
        if exists { exchange(&self.partial, &self.dir) } else { fs::rename(&self.partial, &self.dir) }.map_err(ResultsError::io(&self.dir))?;
        synchronise(self.dir.parent().unwrap_or(&self.dir))
        // What was there before now has the partial name, and goes with the claim.
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Nothing to tell anybody: what cannot be removed is found by the next run.
        let _ = fs::remove_dir_all(&self.partial);
    }
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

fn synchronise(dir: &Path) -> Result<(), ResultsError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(ResultsError::io(dir))
}

/// Swaps two directories: at once where the file system can, so that there is no moment without results.
fn exchange(new: &Path, old: &Path) -> std::io::Result<()> {
    if renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    let aside = new.with_extension("old");
    fs::rename(old, &aside)?;
    fs::rename(new, old)?;
    fs::rename(&aside, new)
}

/// Removes what killed runs left, and finds out whether another run is at work.
fn remove_stale(parent: &Path, prefix: &str, dir: &Path) -> Result<(), ResultsError> {
    for entry in fs::read_dir(parent).map_err(ResultsError::io(parent))?.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.strip_prefix(prefix)?.parse().ok()) else { continue };
        let partial = entry.path();
        if in_use(&partial, pid) {
            return Err(ResultsError::Busy { dir: dir.to_path_buf(), partial });
        }
        fs::remove_dir_all(&partial).or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(e) }).map_err(ResultsError::io(&partial))?;
    }
    Ok(())
}

/// The lock tells, across containers and machines; a directory without one belongs to a process that is just
/// making or finishing it, if there is such a process.
fn in_use(partial: &Path, pid: i32) -> bool {
    match File::open(partial.join(LOCK)) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockShared).is_err(),
        Err(_) => rustix::process::Pid::from_raw(pid).is_some_and(|pid| !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))),
    }
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
