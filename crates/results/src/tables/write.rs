//! Writer of tables to Parquet files. Each batch becomes a row group.

use super::{Kind, Tables, ranges};
use crate::columnar::Writer;
use crate::directory::Unwritten;
use std::io::Write;

impl Tables<'_> {
    pub(crate) fn write_parquet(
        &self,
        kind: Kind,
        file: &mut (impl Write + Send),
    ) -> Result<(), Unwritten> {
        let source = self.source(kind);
        let mut writer = Writer::new(file, &source.batch(0..0)?.schema())?;
        for rows in ranges(source.rows()) {
            writer.write(&source.batch(rows)?)?;
        }
        writer.close()?;
        Ok(())
    }
}
