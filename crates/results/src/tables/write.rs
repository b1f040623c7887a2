//! Tables as Parquet files, a batch at a time.

use super::{Kind, Tables, ranges};
use crate::ResultsError;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Rows per row group: what is held in memory, encoded, while writing, and what a reader can skip.
const ROW_GROUP_ROWS: usize = 1 << 18;

impl Tables<'_> {
    pub(crate) fn write_parquet(&self, kind: Kind, path: &Path) -> Result<(), ResultsError> {
        let failed = |source: ParquetError| ResultsError::Parquet { path: path.to_path_buf(), source };
        let source = self.source(kind);
        let schema = source.batch(0..0)?.schema();
        let file = File::create(path).map_err(ResultsError::io(path))?;
        let mut writer = ArrowWriter::try_new(BufWriter::new(file), schema, Some(properties())).map_err(failed)?;
        for rows in ranges(source.rows()) {
            writer.write(&source.batch(rows)?).map_err(failed)?;
        }
        let file = writer.into_inner().map_err(failed)?.into_inner().map_err(|e| ResultsError::io(path)(e.into_error()))?;
        file.sync_all().map_err(ResultsError::io(path))
    }
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build()
}
