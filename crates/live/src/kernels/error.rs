//! Reasons why kernels do not run.

use afflux_kernel::{Failed, Missing};
use afflux_net::RunError;
use std::io;
use std::path::PathBuf;

/// Number of lines of a console in messages.
const LINES: usize = 12;

#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error(
        "there is no kernel {version} in {}: build it once with  afflux kernel build {version}", dir.display()
    )]
    NoImage { version: String, dir: PathBuf },
    #[error("{host}: host.kernel files: {source}")]
    File { host: String, source: Missing },
    /// A guest did not start: reason, and the last lines of its console.
    #[error("{0}")]
    Start(String),
    #[error("the run was cancelled")]
    Cancelled,
    #[error("{0}")]
    Run(#[from] RunError),
    #[error("{0}")]
    System(#[from] io::Error),
}

impl KernelError {
    pub(super) fn start(failed: &Failed) -> KernelError {
        let Failed { name, failure, console } = failed;
        KernelError::Start(format!("{name}: {failure}{}", tail(console)))
    }
}

/// Returns the last lines of a console, for the end of a message.
pub fn tail(console: &str) -> String {
    let lines: Vec<&str> = console.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return String::new();
    }
    // Lines after a panic are a trace of functions of the kernel.
    let panic = lines.iter().position(|line| line.contains("Kernel panic"));
    let lines = &lines[..panic.map_or(lines.len(), |place| place + 1)];
    let last = &lines[lines.len().saturating_sub(LINES)..];
    format!("; its console ends with\n  {}", last.join("\n  "))
}
