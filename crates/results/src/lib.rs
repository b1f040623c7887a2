//! Result directories: Arrow schemas, Parquet, pcapng, summaries. The only crate that sees Arrow.
