//! Errors of writing results.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error("{} exists; choose another directory with -o, or --force to replace it", .0.display())]
    Exists(PathBuf),
    #[error("{} is not a result directory (it has no summary.json); --force replaces only results", .0.display())]
    NotAResult(PathBuf),
    #[error("{} holds files that are not part of its result ({}): move them, or choose another directory", .dir.display(), list(.names))]
    Unlisted { dir: PathBuf, names: Vec<String> },
    #[error("{} is not the file that afflux wrote (summary.json has another SHA-256): --force does not delete it; move it, or choose another directory", .0.display())]
    Changed(PathBuf),
    #[error(
        "{} was not replaced, because files in it appeared or changed during the run ({}): they are as they were, and the new result is in {}",
        .dir.display(), list(.names), .result.display()
    )]
    Appeared { dir: PathBuf, names: Vec<String>, result: PathBuf },
    #[error("{} is being written by another run: wait for its end, or choose another directory with -o", .0.display())]
    Busy(PathBuf),
    #[error("{} cannot be the name of a result directory", .0.display())]
    Name(PathBuf),
    #[error("{} cannot be made: a part of its path is a file; choose another directory with -o", .0.display())]
    InFile(PathBuf),
    #[error("the run was cancelled; nothing was written")]
    Cancelled,
    #[error("{} cannot be written: {}", .path.display(), cause(.source))]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{} cannot be written: {source}", .path.display())]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
    #[error("{table}: {source}")]
    Arrow { table: &'static str, source: arrow_schema::ArrowError },
}

impl ResultsError {
    /// Returns a function for `map_err` that adds the file name.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}

/// Formats names for a message.
fn list(names: &[String]) -> String {
    const MOST: usize = 3;
    let shown: Vec<String> =
        names.iter().take(MOST).map(|name| name.escape_debug().collect()).collect();
    format!("{}{}", shown.join(", "), if names.len() > MOST { ", …" } else { "" })
}

/// Returns the system's error text without its number.
fn cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}
