//! Random scenarios, and what must hold of any run: both engines and any number of threads give the same results, and no check fails. A tool of the
//! repository, no part of the product: `make fuzz` runs it for hours, `make test` for seconds.

pub mod choices;
pub mod coverage;
pub mod examine;
pub mod generate;
pub mod parsers;
pub mod schema;
pub mod shrink;

use std::path::{Path, PathBuf};

/// Where the files are that scenarios name.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}
