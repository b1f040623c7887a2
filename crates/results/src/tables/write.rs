//! Tables as Parquet files, a batch at a time.

use super::{Kind, Tables, in_steps};
use crate::columnar::Writer;
use crate::directory::Unwritten;
use std::io::Write;

/// Rows per row group: what is in memory, as Arrow and encoded, while a table is written, and what a reader can skip.
const ROW_GROUP_ROWS: usize = 1 << 15;

impl Tables<'_> {
    pub(crate) fn write_parquet(&self, kind: Kind, file: &mut (impl Write + Send)) -> Result<(), Unwritten> {
        let source = self.source(kind);
        let mut writer = Writer::new(file, &source.batch(0..0)?.schema())?;
        for rows in in_steps(source.rows(), ROW_GROUP_ROWS) {
            writer.write(&source.batch(rows)?)?;
        }
        writer.close()?;
        Ok(())
    }
}
