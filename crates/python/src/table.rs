//! Arrow tables over the PyCapsule interface, and their columns as Python lists for users without
//! Arrow.

use crate::errors::RunError;
use crate::interrupt::run_interruptible;
use afflux_results::{ParquetReader, RecordBatch, SchemaRef, Unreadable};
use afflux_traffic::{MAX_UNPACKED, most_of};
use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatchIterator};
use arrow_schema::DataType;
use pyo3::exceptions::{PyFileNotFoundError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use std::ffi::CStr;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Names that the Arrow PyCapsule interface prescribes.
const SCHEMA_CAPSULE: &CStr = c"arrow_schema";
const STREAM_CAPSULE: &CStr = c"arrow_array_stream";

/// Rows per batch when a file is read.
const BATCH_ROWS: usize = 1 << 16;

/// Limit on the expanded size of a table in bytes. It is generous, because real tables compress
/// well: time series repeat values.
const TABLE_BYTES: u64 = 2_000_000_000;

/// An Arrow table: `pyarrow.table(t)`, `polars.DataFrame(t)`, DuckDB and pandas take it without a copy.
#[pyclass(frozen, module = "afflux._core")]
pub struct Table {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

impl Table {
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn column_names(&self) -> Vec<&String> {
        self.schema.fields().iter().map(|field| field.name()).collect()
    }

    /// Returns a column as a list. Nulls are `None`.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let index =
            self.schema.index_of(name).map_err(|_| PyKeyError::new_err(name.to_string()))?;
        let list = PyList::empty(py);
        for batch in &self.batches {
            append(&list, batch.column(index))?;
        }
        Ok(list)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        self.column(py, name)
    }

    fn __contains__(&self, name: &str) -> bool {
        self.schema.index_of(name).is_ok()
    }

    fn __repr__(&self) -> String {
        format!(
            "<Table {} rows: {}>",
            self.__len__(),
            self.column_names().into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        )
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref())
            .map_err(|error| PyTypeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA_CAPSULE)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface permits a producer to ignore the requested types.
        let _ = requested_schema;
        let batches =
            RecordBatchIterator::new(self.batches.clone().into_iter().map(Ok), self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM_CAPSULE)
    }
}

fn append(list: &Bound<'_, PyList>, array: &dyn Array) -> PyResult<()> {
    match array.data_type() {
        DataType::Int32 => {
            array.as_primitive::<Int32Type>().iter().try_for_each(|value| list.append(value))
        }
        DataType::Int64 => {
            array.as_primitive::<Int64Type>().iter().try_for_each(|value| list.append(value))
        }
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().iter().try_for_each(|value| list.append(value))
        }
        DataType::Utf8 => array.as_string::<i32>().iter().try_for_each(|value| list.append(value)),
        DataType::Boolean => array.as_boolean().iter().try_for_each(|value| list.append(value)),
        other => Err(PyTypeError::new_err(format!(
            "columns of type {other} are for Arrow libraries: pyarrow.table(table)"
        ))),
    }
}

/// Reads a whole Parquet file, up to a limit on its expanded size.
#[pyfunction]
pub fn read_parquet(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    if !path.is_file() {
        return Err(PyFileNotFoundError::new_err(format!("{}: no such file", path.display())));
    }
    let shown = path.display().to_string();
    run_interruptible(py, move || read(&path))?
        .map_err(|message| RunError::new_err(format!("{shown}: {message}")))
}

fn read(path: &Path) -> Result<Table, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let packed = file.metadata().map_err(|error| error.to_string())?.len();
    let words = |error: Unreadable| match error {
        Unreadable::TooMuch(_) => {
            format!("{error}: if it is right, set {MAX_UNPACKED} as in {MAX_UNPACKED}=8GB")
        }
        other => other.to_string(),
    };
    let reader = ParquetReader::new(file).map_err(words)?;
    let (schema, batches) =
        reader.batches(&reader.names(), BATCH_ROWS, most_of(packed, TABLE_BYTES)).map_err(words)?;
    let batches = batches.collect::<Result<_, _>>().map_err(words)?;
    Ok(Table::new(schema, batches))
}
