//! Check of a result directory that will be replaced. Only files that afflux wrote and that are
//! unchanged since are deleted.

use crate::durable::{digest, hex};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Name of the summary, the last file that a run writes.
pub(crate) const SUMMARY: &str = "summary.json";
/// File that points to results on shared storage. It is written after the summary.
const STORED: &str = "stored.url";
const OWN_DIGEST: &str = "summary_digest";

/// File names in a directory at one instant, and the state that distinguishes versions of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents(BTreeMap<OsString, State>);

/// Inode, size in bytes, and modification time of a file. Copies by hard links preserve all three.
#[derive(Debug, PartialEq, Eq)]
struct State {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Contents {
    /// Reads the directory. A missing directory counts as empty.
    pub fn of(dir: &Path) -> io::Result<Self> {
        let entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            entries => entries?,
        };
        let state = |entry: fs::DirEntry| {
            let found = entry.metadata()?;
            Ok((
                entry.file_name(),
                State {
                    inode: found.ino(),
                    bytes: found.len(),
                    modified: (found.mtime(), found.mtime_nsec()),
                },
            ))
        };
        entries.map(|entry| entry.and_then(state)).collect::<io::Result<_>>().map(Self)
    }

    /// Returns the names in `dir` that are new since, or whose file was replaced or changed.
    pub fn appeared(&self, dir: &Path) -> io::Result<Vec<String>> {
        let now = Self::of(dir)?;
        Ok(now
            .0
            .iter()
            .filter(|(name, state)| self.0.get(*name) != Some(state))
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect())
    }
}

/// Files in a result directory that `--force` refuses to delete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// Names that summary.json does not list.
    Unlisted(Vec<String>),
    /// A file whose SHA-256 differs from the one in summary.json.
    Changed(String),
}

/// Returns the first files in `dir` that do not match its summary.json. Also `None` if the summary
/// has no digests, as in results of versions before 0.2.
pub(crate) fn foreign(dir: &Path) -> io::Result<Option<Foreign>> {
    let text = match fs::read(dir.join(SUMMARY)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let Ok(Value::Object(summary)) = serde_json::from_slice(&text) else { return Ok(None) };
    let Some(Value::Object(digests)) = summary.get("digests") else { return Ok(None) };
    let listed = |name: &str| name == SUMMARY || name == STORED || digests.contains_key(name);
    let mut names: Vec<String> = fs::read_dir(dir)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort();
    let unlisted: Vec<String> = names.iter().filter(|name| !listed(name)).cloned().collect();
    if !unlisted.is_empty() {
        return Ok(Some(Foreign::Unlisted(unlisted)));
    }
    if !is_sealed(&text, &summary) {
        return Ok(Some(Foreign::Changed(SUMMARY.into())));
    }
    for name in names {
        if let Some(Value::String(right)) = digests.get(&name)
            && digest_of(&dir.join(&name))? != *right
        {
            return Ok(Some(Foreign::Changed(name)));
        }
    }
    Ok(None)
}

/// True if the summary matches its own digest. That digest is computed over the text with an empty
/// digest.
fn is_sealed(text: &[u8], summary: &Map<String, Value>) -> bool {
    let Some(Value::String(own)) = summary.get(OWN_DIGEST) else { return true };
    let text = String::from_utf8_lossy(text);
    digest(
        text.replacen(
            &format!("\"{OWN_DIGEST}\": \"{own}\""),
            &format!("\"{OWN_DIGEST}\": \"\""),
            1,
        )
        .as_bytes(),
    ) == *own
}

fn digest_of(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut piece) = (File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(hash.finalize())),
            count => hash.update(&piece[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(dir: &Path) {
        fs::write(dir.join("flows.parquet"), "flows").unwrap();
        let open = format!(
            "{{\"digests\": {{\"flows.parquet\": \"{}\"}}, \"summary_digest\": \"\"}}",
            digest(b"flows")
        );
        fs::write(
            dir.join(SUMMARY),
            open.replace("\"\"}", &format!("\"{}\"}}", digest(open.as_bytes()))),
        )
        .unwrap();
    }

    #[test]
    fn files_are_those_of_the_summary() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        assert_eq!(foreign(dir).unwrap(), None);
        sealed(dir);
        assert_eq!(foreign(dir).unwrap(), None);
        fs::write(dir.join("notes.txt"), "").unwrap();
        assert_eq!(foreign(dir).unwrap(), Some(Foreign::Unlisted(vec!["notes.txt".into()])));
        fs::remove_file(dir.join("notes.txt")).unwrap();
        fs::write(dir.join("flows.parquet"), "mine").unwrap();
        assert_eq!(foreign(dir).unwrap(), Some(Foreign::Changed("flows.parquet".into())));
        sealed(dir);
        let edited = fs::read_to_string(dir.join(SUMMARY)).unwrap().replacen('{', "{ ", 1);
        fs::write(dir.join(SUMMARY), edited).unwrap();
        assert_eq!(foreign(dir).unwrap(), Some(Foreign::Changed(SUMMARY.into())));
    }

    #[test]
    fn names_that_appeared() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("x");
        let none = Contents::of(&dir).unwrap();
        fs::create_dir(&dir).unwrap();
        assert_eq!(none.appeared(&dir).unwrap(), [""; 0]);
        fs::write(dir.join("a"), "a").unwrap();
        fs::write(dir.join("b"), "b").unwrap();
        assert_eq!(none.appeared(&dir).unwrap(), ["a", "b"]);
        let both = Contents::of(&dir).unwrap();
        fs::remove_file(dir.join("a")).unwrap();
        assert_eq!(both.appeared(&dir).unwrap(), [""; 0]);
        fs::write(dir.join("b"), "longer").unwrap();
        assert_eq!(both.appeared(&dir).unwrap(), ["b"]);
    }
}
