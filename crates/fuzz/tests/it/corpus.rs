//! Replays all kept inputs through their readers: none may panic. Inputs that a fuzzer found are
//! added after the defect is fixed.

use afflux_fuzz::parsers::{TARGETS, target};
use std::fs;
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<PathBuf> =
        listed.map(|entry| entry.expect("a readable folder").path()).collect();
    found.sort();
    found
}

/// Runs one input. The panic message names the reader and the file, which the reader's own panic
/// does not.
fn replay(path: &Path, run: fn(&[u8])) {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let ended = std::panic::catch_unwind(|| run(&bytes));
    assert!(ended.is_ok(), "{} ends its reader", path.display());
}

#[test]
fn kept_inputs_are_read_or_refused() {
    for target in TARGETS {
        let inputs = entries(&corpus().join(target.name));
        assert!(inputs.len() > 1, "{} has no corpus", target.name);
        inputs.iter().for_each(|path| replay(path, target.run));
    }
}

#[test]
fn every_corpus_has_a_reader() {
    for folder in entries(&corpus()) {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        assert!(target(name).is_some(), "{} is the corpus of no reader", folder.display());
    }
}
