//! Parquet files of flat columns, to and from Arrow. With the typed columns of the `parquet` crate: its own conversion from Arrow handles nested and many
//! more types, and takes a fifth of the time in which afflux compiles.

mod read;
mod write;

pub use read::{DAMAGED, Reader, Unreadable};
pub use write::Writer;
