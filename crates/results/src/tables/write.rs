//! Tables as Parquet files, a batch at a time.

use super::{Kind, Tables, ranges};
use crate::directory::Unwritten;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::io::Write;

/// Rows per row group: what is held in memory, encoded, while writing, and what a reader can skip.
const ROW_GROUP_ROWS: usize = 1 << 18;

impl Tables<'_> {
    pub(crate) fn write_parquet(&self, kind: Kind, file: &mut (impl Write + Send)) -> Result<(), Unwritten> {
        let source = self.source(kind);
        let schema = source.batch(0..0)?.schema();
        let mut writer = ArrowWriter::try_new(file, schema, Some(properties()))?;
        for rows in ranges(source.rows()) {
            writer.write(&source.batch(rows)?)?;
        }
        writer.close()?;
        Ok(())
    }
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build()
}
