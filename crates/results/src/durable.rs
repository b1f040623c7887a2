//! Operations that change the disk: files with digests, locks, renames. Each change is announced to
//! [`fault`].

use crate::fault::{self, Step, step};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Interval between two attempts to take a lock.
const ASK: Duration = Duration::from_millis(20);

/// Returns a digest in hexadecimal.
pub fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the SHA-256 of these bytes in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes))
}

/// A file that is being written. Its digest is computed at the same time.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    path: PathBuf,
    digest: Sha256,
    /// True if the next write is the second half of a write that was split for a requested fault.
    rest: bool,
}

impl NewFile {
    pub fn create(path: &Path) -> io::Result<Self> {
        step(Step::Write, "create", path)?;
        Ok(Self {
            file: File::create(path)?,
            path: path.into(),
            digest: Sha256::new(),
            rest: false,
        })
    }

    /// Synchronises the file to disk and returns its SHA-256.
    pub fn finish(self) -> io::Result<String> {
        step(Step::Write, "synchronise", &self.path)?;
        self.file.sync_all()?;
        Ok(hex(self.digest.finalize()))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut bytes = bytes;
        if fault::is_armed() {
            step(Step::Write, "write", &self.path)?;
            bytes = if self.rest { bytes } else { &bytes[..bytes.len().div_ceil(2)] };
            self.rest = !self.rest;
        }
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Creates a directory and its missing parents.
pub fn make_dirs(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(parent) = dir.parent() {
        make_dirs(parent)?;
    }
    match make_dir(dir) {
        // Another process created the directory in the meantime.
        Err(_) if dir.is_dir() => Ok(()),
        Ok(()) => synchronise(dir.parent().unwrap_or(dir)),
        error => error,
    }
}

pub fn make_dir(dir: &Path) -> io::Result<()> {
    step(Step::Write, "make", dir)?;
    fs::create_dir(dir)
}

/// Synchronises a directory, so that added and removed names are permanent.
pub fn synchronise(dir: &Path) -> io::Result<()> {
    step(Step::Write, "synchronise", dir)?;
    File::open(dir)?.sync_all()
}

pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step(Step::Write, "rename", to)?;
    fs::rename(from, to)
}

/// Swaps two directories atomically. Some file systems do not support this.
pub fn swap(one: &Path, other: &Path) -> io::Result<()> {
    step(Step::Write, "swap", other)?;
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Removes a directory with all its content. A missing directory is not an error.
pub fn remove_all(dir: &Path) -> io::Result<()> {
    step(Step::Remove, "remove", dir)?;
    if fault::is_armed() && dir.is_dir() {
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            step(Step::Remove, "remove", &path)?;
            if path.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
        }
    }
    let removed = if dir.is_dir() { fs::remove_dir_all(dir) } else { fs::remove_file(dir) };
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Returns a unique part of a temporary name.
pub fn unique() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// An exclusive lock, held by means of a lock file. It ends with the process, for whatever reason
/// the process ends. The file that a killed process leaves is not locked, and the next holder
/// removes it.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// The file is locked as long as it is open.
    _file: File,
}

impl Lock {
    /// Takes the lock. `None` if another process holds it for longer than `patience`.
    pub fn take(path: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let until = Instant::now() + patience;
        loop {
            // Opening a file that a killed writer left works even on a full disk.
            let room = if path.exists() { Step::Remove } else { Step::Write };
            step(room, "lock", path)?;
            let file = File::options().create(true).truncate(false).write(true).open(path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // The previous holder may have removed the file after it was opened here. Then the
                // lock is worthless.
                Ok(()) if is_at(&file, path)? => {
                    return Ok(Some(Self { path: path.into(), _file: file }));
                }
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() >= until => return Ok(None),
                Err(rustix::io::Errno::WOULDBLOCK) => sleep(ASK),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Errors are ignored: a file that cannot be removed is not locked.
        let _ = step(Step::Remove, "unlock", &self.path).and_then(|()| fs::remove_file(&self.path));
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_digested_as_they_are_written() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("abc");
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"a").unwrap();
        file.write_all(b"bc").unwrap();
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            file.finish().unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            digest(&fs::read(&path).unwrap()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_lock_has_one_holder_and_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".x.lock");
        fs::write(&path, "").unwrap(); // A killed process left it.
        let held = Lock::take(&path, Duration::ZERO).unwrap().unwrap();
        assert!(Lock::take(&path, Duration::from_millis(30)).unwrap().is_none());
        drop(held);
        assert!(!path.exists());
    }

    #[test]
    fn locks_pass_from_one_to_the_next() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".x.lock");
        let inside = std::sync::Mutex::new(());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _lock = Lock::take(&path, Duration::from_secs(60)).unwrap().unwrap();
                        assert!(inside.try_lock().is_ok());
                    }
                });
            }
        });
        assert!(!path.exists());
    }

    #[test]
    fn removing_what_is_not_there_is_done() {
        let root = tempfile::tempdir().unwrap();
        remove_all(&root.path().join("x")).unwrap();
        make_dirs(&root.path().join("a/b/c")).unwrap();
        make_dirs(&root.path().join("a/b/c")).unwrap();
        fs::write(root.path().join("a/file"), "").unwrap();
        assert!(make_dirs(&root.path().join("a/file/b")).is_err());
        remove_all(&root.path().join("a")).unwrap();
        assert!(fs::read_dir(root.path()).unwrap().next().is_none());
    }
}
