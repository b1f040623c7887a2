//! Root file system of a guest: a cpio archive (format "newc") in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;
/// Loader of programs for x86-64, for shared libraries, which do not name theirs.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

#[derive(Debug, Clone)]
struct Entry {
    mode: u32,
    content: Vec<u8>,
    device: (u32, u32),
}

/// A file of the machine that could not be added.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct Missing {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Entries of an archive, by path without the leading slash. Equal entries give equal bytes.
#[derive(Debug, Clone, Default)]
pub struct Initramfs(BTreeMap<String, Entry>);

impl Initramfs {
    pub fn new() -> Initramfs {
        let mut made = Initramfs::default();
        for dir in ["dev", "proc", "sys", "tmp", "root", "bin", "etc", "results"] {
            made.directory(dir);
        }
        let entry = Entry { mode: CHARACTER | 0o600, content: Vec::new(), device: (5, 1) };
        made.0.insert("dev/console".into(), entry);
        made
    }

    fn put(&mut self, path: &str, mode: u32, content: Vec<u8>) {
        let path = path.trim_matches('/');
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent);
        }
        self.0.insert(path.to_string(), Entry { mode, content, device: (0, 0) });
    }

    fn directory(&mut self, path: &str) {
        if !path.is_empty() && !self.0.contains_key(path) {
            self.put(path, DIRECTORY | 0o755, Vec::new());
        }
    }

    /// Adds a file that the guest may execute.
    pub fn file(&mut self, path: &str, content: Vec<u8>) {
        self.put(path, REGULAR | 0o755, content);
    }

    pub fn symlink(&mut self, path: &str, target: &str) {
        self.put(path, SYMLINK | 0o777, target.as_bytes().to_vec());
    }

    /// Adds a file of the machine as `to`, with the shared libraries that it needs, or a directory
    /// with everything in it.
    pub fn add(&mut self, from: &Path, to: &str) -> Result<(), Missing> {
        let missing = |source| Missing { path: from.to_path_buf(), source };
        if from.is_dir() {
            self.directory(to.trim_matches('/'));
            let entries = std::fs::read_dir(from).map_err(missing)?;
            let mut entries: Vec<PathBuf> = entries
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<io::Result<_>>()
                .map_err(missing)?;
            entries.sort();
            for entry in entries {
                let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if name != "__pycache__" {
                    self.add(&entry, &format!("{to}/{name}"))?;
                }
            }
            return Ok(());
        }
        let content = std::fs::read(from).map_err(missing)?;
        if let Some(loader) = loader_of(&content) {
            for library in libraries(&loader, from).map_err(missing)? {
                let path = library.to_string_lossy().into_owned();
                if !self.0.contains_key(path.trim_start_matches('/')) {
                    let content = std::fs::read(&library)
                        .map_err(|source| Missing { path: library.clone(), source })?;
                    self.file(&path, content);
                }
            }
        }
        self.file(to, content);
        Ok(())
    }

    /// Returns the archive.
    pub fn finish(&self) -> Vec<u8> {
        let mut archive = Vec::new();
        let end = Entry { mode: 0, content: Vec::new(), device: (0, 0) };
        let last = ("TRAILER!!!".to_string(), end);
        let all = self.0.iter().chain(std::iter::once((&last.0, &last.1)));
        for (number, (path, entry)) in (1u32..).zip(all) {
            archive.extend_from_slice(b"070701");
            let fields = [
                number,
                entry.mode,
                0,
                0,
                1,
                0,
                entry.content.len() as u32,
                0,
                0,
                entry.device.0,
                entry.device.1,
                path.len() as u32 + 1,
                0,
            ];
            for field in fields {
                archive.extend_from_slice(format!("{field:08x}").as_bytes());
            }
            archive.extend_from_slice(path.as_bytes());
            archive.push(0);
            archive.resize(archive.len().next_multiple_of(4), 0);
            archive.extend_from_slice(&entry.content);
            archive.resize(archive.len().next_multiple_of(4), 0);
        }
        archive
    }
}

/// Returns the loader that an ELF file names in its program headers, or the usual one for a shared
/// library. `None`: not an ELF file, or linked statically.
fn loader_of(file: &[u8]) -> Option<String> {
    /// Types of program headers: loader, and dynamic section.
    const INTERPRETER: u64 = 3;
    const DYNAMIC: u64 = 2;
    let number = |at: usize, bytes: usize| {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(file.get(at..at + bytes)?);
        Some(u64::from_le_bytes(value))
    };
    // 64 bits, little endian.
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let mut dynamic = false;
    for header in (0..count).map(|index| (first + index * size) as usize) {
        match number(header, 4)? {
            INTERPRETER => {
                let (from, bytes) = (number(header + 8, 8)? as usize, number(header + 32, 8)?);
                let name = file.get(from..from + (bytes as usize).saturating_sub(1))?;
                return String::from_utf8(name.to_vec()).ok();
            }
            DYNAMIC => dynamic = true,
            _ => {}
        }
    }
    dynamic.then(|| LOADER.to_string())
}

/// Returns the loader and the shared libraries that a program needs, in order of their paths.
fn libraries(loader: &str, program: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let output = Command::new(loader).arg("--list").arg(program).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if let Some(line) = text.lines().find(|line| line.contains("not found")) {
        return Err(io::Error::other(format!("needs a library that is {}", line.trim())));
    }
    let mut found = BTreeSet::from([PathBuf::from(loader)]);
    for word in text.split_whitespace().filter(|word| word.starts_with('/')) {
        found.insert(PathBuf::from(word));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_parents_before_children_and_ends() {
        let mut tree = Initramfs::new();
        tree.file("/opt/a/program", b"hello".to_vec());
        tree.symlink("bin/sh", "busybox");
        let archive = tree.finish();
        let text = String::from_utf8_lossy(&archive).into_owned();
        let place = |name: &str| text.find(name).unwrap_or_else(|| panic!("{name}"));
        assert!(place("opt\0") < place("opt/a\0") && place("opt/a\0") < place("opt/a/program\0"));
        assert!(
            text.ends_with("TRAILER!!!\0") || text.trim_end_matches('\0').ends_with("TRAILER!!!")
        );
        assert_eq!(archive.len() % 4, 0);
        assert_eq!(archive, tree.clone().finish(), "equal entries, equal bytes");
    }

    #[test]
    fn a_program_brings_its_libraries() {
        let shell = Path::new("/bin/sh");
        let Some(loader) = loader_of(&std::fs::read(shell).unwrap()) else { return };
        let found = libraries(&loader, shell).unwrap();
        assert!(found.iter().any(|path| path.to_string_lossy().contains("libc.so")), "{found:?}");
        let mut tree = Initramfs::new();
        tree.add(shell, "/bin/shell").unwrap();
        assert!(tree.0.keys().any(|path| path.contains("libc.so")), "{:?}", tree.0.keys());
        assert_eq!(loader_of(b"#!/bin/sh"), None);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Initramfs::new().add(Path::new("/nowhere/x"), "/x").unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/x: "), "{error}");
    }
}
