//! Parquet files of flat columns, read and written as Arrow. This module uses the typed columns of
//! the `parquet` crate. The crate's own conversion from Arrow also handles nested and many more
//! types, and would take a fifth of the compile time of afflux.

mod read;
mod write;

pub use read::{DAMAGED, Reader, Unreadable};
pub use write::Writer;
