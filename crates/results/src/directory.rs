//! Result directories, which appear under their final name only when they are complete.
//!
//! The writer of the directory `x` holds the lock `.x.lock` next to it. It writes into
//! `.x.partial-<unique>`, and renames this directory when it is complete. So there is only one
//! writer at a time. While the lock is free, any such file was left by a killed process.

use crate::ResultsError;
use crate::contents::{Contents, Foreign, SUMMARY, foreign};
use crate::durable::{self, Lock, NewFile};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait of a claim for the lock. A killed writer may take this long to disappear.
const PATIENCE: Duration = Duration::from_secs(3);

/// Existing results that a new result may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    Nothing,
    /// Results whose files are unchanged since afflux wrote them.
    Intact,
    /// Also damaged results, which a batch repairs.
    Damaged,
}

impl Replace {
    /// Returns the setting for the option `--force`.
    pub fn forced(force: bool) -> Self {
        if force { Self::Intact } else { Self::Nothing }
    }
}

/// Exclusive right to write a result directory. A claim that is dropped before completion leaves
/// nothing behind.
#[derive(Debug)]
pub struct Claim {
    /// Path as given by the user, for messages.
    asked: PathBuf,
    place: Place,
    partial: PathBuf,
    replace: Replace,
    /// Content of the directory at the time of the claim. Files that appear later are not deleted.
    there: Contents,
    /// SHA-256 of the files written so far, by name.
    digests: BTreeMap<String, String>,
    /// Last field, so that the lock is released last.
    _lock: Lock,
}

/// Path of a result directory, and the names next to it that its writers use.
#[derive(Debug)]
struct Place {
    parent: PathBuf,
    name: OsString,
}

/// True if `dir` is a finished result directory.
pub fn is_complete(dir: &Path) -> bool {
    dir.join(SUMMARY).is_file()
}

/// Checks before the simulation that results can be written to `dir`, and reserves it. If `replace`
/// allows it, existing results are replaced once the new ones are complete. A directory that is
/// neither a result nor empty is never replaced, and neither is a result with files that afflux did
/// not write.
///
/// # Errors
/// [`ResultsError::Exists`], [`NotAResult`](ResultsError::NotAResult),
/// [`Unlisted`](ResultsError::Unlisted) and [`Changed`](ResultsError::Changed) for existing files,
/// [`Busy`](ResultsError::Busy) if another run is writing to `dir`, [`Name`](ResultsError::Name)
/// for `/` or `..`, [`InFile`](ResultsError::InFile) for a path below a file, and errors of the
/// file system.
pub fn claim(dir: &Path, replace: Replace) -> Result<Claim, ResultsError> {
    let mut place = Place::of(dir)?;
    refuse_what_is_there(dir, &place, replace)?;
    durable::make_dirs(&place.parent).map_err(|error| match error.kind() {
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            ResultsError::InFile(dir.to_path_buf())
        }
        _ => ResultsError::io(dir)(error),
    })?;
    place.parent = place.parent.canonicalize().map_err(ResultsError::io(dir))?;
    let lock = Lock::take(&place.lock(), PATIENCE)
        .map_err(ResultsError::io(dir))?
        .ok_or_else(|| ResultsError::Busy(dir.to_path_buf()))?;
    // Another writer may have finished during the wait for the lock.
    refuse_what_is_there(dir, &place, replace)?;
    let there = claimed(dir, &place, replace)?;
    place.clear().map_err(ResultsError::io(dir))?;
    let partial = place.sibling(&format!("{PARTIAL}{}", durable::unique()));
    durable::make_dir(&partial).map_err(ResultsError::io(dir))?;
    Ok(Claim {
        asked: dir.to_path_buf(),
        place,
        partial,
        replace,
        there,
        digests: BTreeMap::new(),
        _lock: lock,
    })
}

/// Removes files that killed writers of the result directory `dir` left next to it. Does nothing
/// while a writer is active.
///
/// # Errors
/// Errors of the file system.
pub fn clear(dir: &Path) -> Result<(), ResultsError> {
    let place = Place::of(dir)?;
    match Lock::take(&place.lock(), Duration::ZERO).map_err(ResultsError::io(dir))? {
        Some(_lock) => place.clear().map_err(ResultsError::io(dir)),
        None => Ok(()),
    }
}

/// Writes a result that another machine produced, from its files by name and content. Replaces an
/// existing result.
///
/// # Errors
/// The errors of [`claim`] and [`write`](crate::write).
pub fn adopt(files: &[(String, Vec<u8>)], dir: &Path) -> Result<(), ResultsError> {
    let mut claim = claim(dir, Replace::Damaged)?;
    for (name, content) in files {
        claim.write(name, |file| std::io::Write::write_all(file, content))?;
    }
    claim.complete()
}

fn refuse_what_is_there(dir: &Path, place: &Place, replace: Replace) -> Result<(), ResultsError> {
    let there = place.dir();
    if fs::symlink_metadata(&there).is_err() {
        return Ok(());
    }
    match replace {
        Replace::Nothing => Err(ResultsError::Exists(dir.to_path_buf())),
        _ if is_complete(&there) || is_empty(&there) => Ok(()),
        _ => Err(ResultsError::NotAResult(dir.to_path_buf())),
    }
}

/// Returns the content of the directory, which may then be deleted. It is read before the digests
/// are compared, so that a file that changes in between counts as changed.
fn claimed(dir: &Path, place: &Place, replace: Replace) -> Result<Contents, ResultsError> {
    let path = place.dir();
    let there = Contents::of(&path).map_err(ResultsError::io(dir))?;
    if replace == Replace::Intact {
        match foreign(&path).map_err(ResultsError::io(dir))? {
            None => {}
            Some(Foreign::Unlisted(names)) => {
                return Err(ResultsError::Unlisted { dir: dir.to_path_buf(), names });
            }
            Some(Foreign::Changed(name)) => return Err(ResultsError::Changed(dir.join(name))),
        }
    }
    Ok(there)
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

const PARTIAL: &str = "partial-";
const OLD: &str = "old-";

impl Place {
    fn of(dir: &Path) -> Result<Self, ResultsError> {
        let absolute = std::path::absolute(dir).map_err(ResultsError::io(dir))?;
        // A symbolic link is resolved, so that its target is replaced and not the link.
        let absolute = absolute.canonicalize().unwrap_or(absolute);
        let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            return Err(ResultsError::Name(dir.to_path_buf()));
        };
        // Two paths to one directory must use the same lock.
        let parent = parent.canonicalize().unwrap_or_else(|_| parent.to_path_buf());
        Ok(Self { parent, name: name.to_os_string() })
    }

    fn dir(&self) -> PathBuf {
        self.parent.join(&self.name)
    }

    fn lock(&self) -> PathBuf {
        self.sibling("lock")
    }

    fn sibling(&self, what: &str) -> PathBuf {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(".");
        name.push(what);
        self.parent.join(name)
    }

    /// Removes leftovers of killed writers. The caller must hold the lock.
    fn clear(&self) -> std::io::Result<()> {
        for entry in fs::read_dir(&self.parent)? {
            let entry = entry?;
            let name = entry.file_name();
            let rest = name.as_encoded_bytes().strip_prefix(b".").and_then(|name| {
                name.strip_prefix(self.name.as_encoded_bytes())?.strip_prefix(b".")
            });
            let is = |what: &str| rest.is_some_and(|rest| rest.starts_with(what.as_bytes()));
            if is(OLD) && fs::symlink_metadata(self.dir()).is_err() {
                // The writer was killed between two renames, so the old result is the only one.
                durable::rename(&entry.path(), &self.dir())?;
            } else if is(OLD) || is(PARTIAL) {
                durable::remove_all(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Gives `new` the name of the old directory. If the file system supports it, this is one
    /// atomic swap, so that there is no instant without results. Afterwards the old content is
    /// compared with `known`, and deleted only if it is unchanged. If it has other files, the old
    /// directory gets its name back.
    fn replace(&self, new: &Path, known: &Contents) -> std::io::Result<Replaced> {
        if durable::swap(new, &self.dir()).is_ok() {
            // The old directory now has the partial name, so dropping the claim deletes it.
            let appeared = known.appeared(new).unwrap_or_else(|error| vec![error.to_string()]);
            if appeared.is_empty() {
                return Ok(Replaced::Done);
            }
            return Ok(match durable::swap(new, &self.dir()) {
                Ok(()) => Replaced::Refused(appeared),
                Err(error) => Replaced::Stuck(error),
            });
        }
        let old = self.sibling(&format!("{OLD}{}", durable::unique()));
        durable::rename(&self.dir(), &old)?;
        let outcome = known.appeared(&old).and_then(|appeared| match appeared.is_empty() {
            true => durable::rename(new, &self.dir()).map(|()| Replaced::Done),
            false => Ok(Replaced::Refused(appeared)),
        });
        match outcome {
            Ok(Replaced::Done) => durable::remove_all(&old)?,
            _ => fs::rename(&old, self.dir())?,
        }
        outcome
    }

    /// Returns another name next to the directory, for a result that cannot get its intended name.
    fn other(&self) -> PathBuf {
        let mut name = self.name.clone();
        name.push(format!(".new-{}", durable::unique()));
        self.parent.join(name)
    }
}

impl Claim {
    /// Returns the final path of the results.
    pub fn dir(&self) -> PathBuf {
        self.place.dir()
    }

    /// Returns the SHA-256 of the files written so far, by name.
    pub(crate) fn digests(&self) -> BTreeMap<String, String> {
        self.digests.clone()
    }

    /// Writes a file and stores its digest.
    pub(crate) fn write<E>(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut NewFile) -> Result<(), E>,
    ) -> Result<(), ResultsError>
    where
        E: Into<Unwritten>,
    {
        let shown = self.asked.join(name);
        let mut file =
            NewFile::create(&self.partial.join(name)).map_err(ResultsError::io(&shown))?;
        fill(&mut file).map_err(|error| error.into().of(&shown))?;
        let digest = file.finish().map_err(ResultsError::io(&shown))?;
        self.digests.insert(name.into(), digest);
        Ok(())
    }

    pub(crate) fn text(&mut self, name: &str, text: &str) -> Result<(), ResultsError> {
        self.write(name, |file| std::io::Write::write_all(file, text.as_bytes()))
    }

    /// Gives the directory its final name. Its files are already synchronised to disk.
    pub(crate) fn complete(self) -> Result<(), ResultsError> {
        let dir = self.dir();
        let exists = fs::symlink_metadata(&dir).is_ok();
        if exists && self.replace == Replace::Nothing {
            // Another program, which does not use the lock, created the directory.
            return Err(ResultsError::Exists(self.asked.clone()));
        }
        let asked = self.asked.clone();
        match self.rename(exists).map_err(ResultsError::io(&asked))? {
            None => Ok(()),
            Some((names, result)) => Err(ResultsError::Appeared { dir: asked, names, result }),
        }
    }

    /// Gives the new directory its final name. If other files appeared in the old directory, uses
    /// another name and returns the new files and that name.
    fn rename(mut self, exists: bool) -> std::io::Result<Option<(Vec<String>, PathBuf)>> {
        durable::synchronise(&self.partial)?;
        let replaced = if exists {
            self.place.replace(&self.partial, &self.there)?
        } else {
            durable::rename(&self.partial, &self.dir()).map(|()| Replaced::Done)?
        };
        let refused = match replaced {
            Replaced::Done => None,
            // The run may have taken hours, so its result is kept in spite of the refusal.
            Replaced::Refused(names) => {
                let other = self.place.other();
                durable::rename(&self.partial, &other)?;
                Some((names, other))
            }
            Replaced::Stuck(error) => {
                let other = self.place.other();
                fs::rename(std::mem::take(&mut self.partial), &other)?;
                return Err(std::io::Error::new(
                    error.kind(),
                    format!("{error}; its former files are in {}", other.display()),
                ));
            }
        };
        durable::synchronise(&self.place.parent)?;
        Ok(refused)
    }
}

/// Outcome of the replacement of a directory.
enum Replaced {
    Done,
    /// Files appeared in the old directory, which is unchanged.
    Refused(Vec<String>),
    /// Files appeared in the old directory, and it could not get its name back. It has the partial
    /// name.
    Stuck(std::io::Error),
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Errors are ignored: the next run finds and removes the leftovers.
        if !self.partial.as_os_str().is_empty() {
            let _ = durable::remove_all(&self.partial);
        }
    }
}

/// Reason why a file could not be written.
#[derive(Debug)]
pub(crate) enum Unwritten {
    Io(std::io::Error),
    Parquet(parquet::errors::ParquetError),
    Other(ResultsError),
}

impl Unwritten {
    fn of(self, path: &Path) -> ResultsError {
        match self {
            Self::Io(error) => ResultsError::io(path)(error),
            Self::Parquet(parquet::errors::ParquetError::External(error)) => {
                match error.downcast::<std::io::Error>() {
                    Ok(error) => ResultsError::io(path)(*error),
                    Err(error) => ResultsError::Parquet {
                        path: path.into(),
                        source: parquet::errors::ParquetError::External(error),
                    },
                }
            }
            Self::Parquet(source) => ResultsError::Parquet { path: path.into(), source },
            Self::Other(error) => error,
        }
    }
}

impl From<std::io::Error> for Unwritten {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<parquet::errors::ParquetError> for Unwritten {
    fn from(error: parquet::errors::ParquetError) -> Self {
        Self::Parquet(error)
    }
}

impl From<ResultsError> for Unwritten {
    fn from(error: ResultsError) -> Self {
        Self::Other(error)
    }
}

#[cfg(test)]
mod tests;
