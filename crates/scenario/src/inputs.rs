//! Files that a scenario names. Each is identified by its SHA-256, and is read from its path or
//! from a store of files by SHA-256.

use afflux_config::tree::{Key, Wrong};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest size in bytes of a file that is read whole into memory, such as the scenario.
pub(crate) const LONGEST_BYTES: u64 = 64 << 20;

pub struct Inputs {
    /// Directory that relative paths start from: that of the scenario.
    beside: PathBuf,
    /// Directory that holds every input under its SHA-256. If it is set, no path that the scenario
    /// names is read.
    store: Option<PathBuf>,
}

impl Inputs {
    pub fn of(scenario: &Path, store: Option<&Path>) -> Self {
        Inputs {
            beside: scenario.parent().unwrap_or(Path::new("")).to_path_buf(),
            store: store.map(Path::to_path_buf),
        }
    }

    /// Returns the absolute path of a file or directory that the scenario names.
    pub fn absolute(&self, file: &str) -> PathBuf {
        let path = self.beside.join(file);
        std::path::absolute(&path).unwrap_or(path)
    }

    /// Finds a file and checks its SHA-256 against the written one. Replaces the path by the
    /// absolute path, and writes the SHA-256.
    pub fn identify(
        &self,
        file: &mut String,
        sha256: &mut Option<String>,
        key: &Key,
    ) -> Result<PathBuf, Wrong> {
        let path = self.find(file, sha256.as_deref(), key)?;
        let found = hash(&path).map_err(|error| unreadable(&path, key, &error))?;
        self.check(&path, found, file, sha256, key)
    }

    /// Finds, checks and identifies a file as [`Inputs::identify`] does, and returns its content.
    /// The returned path is that of the author, for messages.
    pub fn read(
        &self,
        file: &mut String,
        sha256: &mut Option<String>,
        key: &Key,
    ) -> Result<(PathBuf, Vec<u8>), Wrong> {
        let path = self.find(file, sha256.as_deref(), key)?;
        let mut bytes = Vec::new();
        let read =
            open(&path).and_then(|file| file.take(LONGEST_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|error| unreadable(&path, key, &error))?;
        if bytes.len() as u64 > LONGEST_BYTES {
            return Err(Wrong::input(
                key.clone(),
                &path,
                None,
                format!("is too long: at most {} MiB of such a file are read", LONGEST_BYTES >> 20),
            ));
        }
        let of_author = self.beside.join(&*file);
        self.check(&path, hexadecimal(&Sha256::digest(&bytes)), file, sha256, key)?;
        Ok((of_author, bytes))
    }

    fn find(&self, file: &str, sha256: Option<&str>, key: &Key) -> Result<PathBuf, Wrong> {
        match (&self.store, sha256) {
            (None, _) => Ok(self.beside.join(file)),
            (Some(store), Some(digest)) => Ok(store.join(digest)),
            (Some(_), None) => Err(Wrong::at(
                key.clone(),
                "has no SHA-256 beside it: inputs are in a store, under their SHA-256",
            )),
        }
    }

    fn check(
        &self,
        path: &Path,
        found: String,
        file: &mut String,
        sha256: &mut Option<String>,
        key: &Key,
    ) -> Result<PathBuf, Wrong> {
        if let Some(written) =
            sha256.as_deref().filter(|written| !written.eq_ignore_ascii_case(&found))
        {
            let message = format!(
                "the file is not the one of this scenario: its SHA-256 is {found}, the scenario says {written}"
            );
            return Err(Wrong::input(key.clone(), path, None, message));
        }
        // The scenario keeps the path of its author, even if the content was read from a store.
        let absolute = std::path::absolute(self.beside.join(&*file))
            .map_err(|error| unreadable(path, key, &error))?;
        *file = absolute.to_string_lossy().into_owned();
        *sha256 = Some(found);
        Ok(path.to_path_buf())
    }
}

fn unreadable(path: &Path, key: &Key, error: &std::io::Error) -> Wrong {
    Wrong::input(key.clone(), path, None, format!("cannot be read: {error}"))
}

/// Opens a file that a scenario names. Refuses pipes, because a file is read twice, and devices,
/// because a device may have no end.
fn open(path: &Path) -> std::io::Result<File> {
    match std::fs::metadata(path)? {
        found if found.is_file() => File::open(path),
        found if found.is_dir() => Err(std::io::Error::other("it is a directory")),
        _ => Err(std::io::Error::other("it is a pipe or a device, not a file")),
    }
}

fn hash(path: &Path) -> std::io::Result<String> {
    let mut file = open(path)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hexadecimal(&hash.finalize())),
            count => hash.update(&piece[..count]),
        }
    }
}

/// Returns the text of a file, or the line (from 1) of the first byte that is not UTF-8 and a
/// message.
pub fn text_of(bytes: Vec<u8>) -> Result<String, (usize, String)> {
    String::from_utf8(bytes).map_err(|error| {
        let (good, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        (
            line,
            format!(
                "found the byte {:02x}, which is not UTF-8: save the file as text in UTF-8",
                rest[0]
            ),
        )
    })
}

/// Returns the SHA-256 of a text in hexadecimal.
pub fn hash_of(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
