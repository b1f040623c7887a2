//! What can go wrong when results are written.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error("{} exists; choose another directory with -o, or --force to replace it", .0.display())]
    Exists(PathBuf),
    #[error("{} is not a result directory (it has no summary.json); --force replaces only results", .0.display())]
    NotAResult(PathBuf),
    #[error("{} is being written by another run ({} is locked)", .dir.display(), .partial.display())]
    Busy { dir: PathBuf, partial: PathBuf },
    #[error("{} cannot be the name of a result directory", .0.display())]
    Name(PathBuf),
    #[error("the run was cancelled; nothing was written")]
    Cancelled,
    #[error("{}: {source}", .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", .path.display())]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
    #[error("{table}: {source}")]
    Arrow { table: &'static str, source: arrow_schema::ArrowError },
}

impl ResultsError {
    /// Does the user have to choose differently (exit 2), as opposed to a failure while running (exit 1)?
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Exists(_) | Self::NotAResult(_) | Self::Name(_))
    }

    /// For `map_err`: names the file.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}
