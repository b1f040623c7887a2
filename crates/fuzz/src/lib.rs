//! Random scenarios, and the invariants of their runs: both engines and any number of threads give
//! the same results, and no check fails. This crate is a tool of the repository and not part of the
//! product. `make fuzz` runs it for hours, `make test` for seconds.

pub mod choices;
pub mod coverage;
pub mod examine;
pub mod generate;
pub mod parsers;
pub mod schema;
pub mod shrink;

use std::path::{Path, PathBuf};

/// Returns the folder of the files that scenarios refer to.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}
