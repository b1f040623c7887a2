//! Defines the errors that prevent a result.

use crate::paths::NoPaths;

/// Reason for which a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("host {from} cannot reach host {to}: no path")]
    Unreachable { from: u32, to: u32 },
    #[error("frames cannot be pinned to paths here: {0}")]
    NoPaths(#[from] NoPaths),
    #[error("the run was cancelled; nothing was written")]
    Cancelled,
}
