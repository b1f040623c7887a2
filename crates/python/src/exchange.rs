//! Conversion of flow lists and fabrics from and to the formats of other tools.

use crate::errors::ScenarioError;
use crate::interrupt::run_interruptible;
use crate::table::Table;
use afflux_net::spec::Start;
use afflux_results::ParquetWriter;
use afflux_traffic::{
    Generated, HpccOptions, LocalFlows, MatrixOptions, Template, TrafficError, capture, hpcc,
    matrix,
};
use afflux_units::Span;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// Returns a table of named columns that may contain nulls.
fn table(columns: Vec<(&str, ArrayRef)>) -> PyResult<Table> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    );
    let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Table::new(batch.schema(), vec![batch]))
}

fn longs(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(
        values.map(|value| i64::try_from(value).unwrap_or(i64::MAX)),
    ))
}

fn hosts(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values.map(|host| host as i32)))
}

fn refused(py: Python<'_>, error: TrafficError) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    let value = exception.value(py);
    let set = value
        .setattr("file", error.file())
        .and(value.setattr("line", error.line()))
        .and(value.setattr("key", error.key()));
    set.err().unwrap_or(exception)
}

/// Note on skipped frames: kind of the frames that belong to no flow, description of the omission,
/// count, and numbers of the first frames.
type CaptureNote = (Option<String>, Option<String>, u64, Vec<u64>);

/// Reads a capture. Returns the flows (`start_ns,src,dst,bytes,class,dscp`; hosts are indices of
/// the next element), the hosts' addresses, the start of the capture (ns since 1970), the number of
/// frames, the number of frames with payload of flows, notes on other frames and on headers, and
/// whether the file ends within a frame.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn read_capture(
    py: Python<'_>,
    path: PathBuf,
    gap_ns: u64,
) -> PyResult<(Table, Vec<String>, u64, u64, u64, Vec<CaptureNote>, bool)> {
    let captured = run_interruptible(py, move || capture::read(&path, gap_ns))?
        .map_err(|error| refused(py, error))?;
    let flows = &captured.flows;
    let class = |kind: capture::Kind| match kind {
        capture::Kind::Tcp => "tcp",
        capture::Kind::Udp => "udp",
        capture::Kind::Rdma => "rdma",
    };
    let table = table(vec![
        ("start_ns", longs(flows.iter().map(|flow| flow.start_ns))),
        ("src", hosts(flows.iter().map(|flow| flow.src))),
        ("dst", hosts(flows.iter().map(|flow| flow.dst))),
        ("bytes", longs(flows.iter().map(|flow| flow.bytes))),
        (
            "class",
            Arc::new(StringArray::from_iter_values(flows.iter().map(|flow| class(flow.kind)))),
        ),
        ("dscp", Arc::new(Int32Array::from_iter_values(flows.iter().map(|flow| flow.dscp.into())))),
    ])?;
    let addresses = captured.hosts.iter().map(ToString::to_string).collect();
    let noted = captured
        .noted
        .into_iter()
        .map(|noted| (noted.reason, noted.sentence, noted.count, noted.first))
        .collect();
    Ok((table, addresses, captured.origin_ns, captured.frames, captured.used, noted, captured.cut))
}

/// Reads a flow file of HPCC or ConWeave (`"hpcc"`) or a connection matrix of htsim (`"htsim"`).
/// Returns the table `id,start_ns,src,dst,bytes`, with `priority` if the flows differ in it, and
/// notes.
#[pyfunction]
pub fn read_flows(
    py: Python<'_>,
    path: PathBuf,
    format: &str,
    origin_ns: u64,
) -> PyResult<(Table, Vec<String>)> {
    // The number of hosts is unknown here.
    let hosts_most = i32::MAX as u32;
    let origin = Span(origin_ns.saturating_mul(1_000));
    let template = Template::default();
    let is_hpcc = format == "hpcc";
    let read = move || -> Result<Generated, TrafficError> {
        match is_hpcc {
            true => hpcc::read(
                &path,
                &HpccOptions {
                    hosts: hosts_most,
                    origin,
                    local: LocalFlows::Drop,
                    most: u64::MAX,
                    own_priority: false,
                },
                &template,
            ),
            false => matrix::read(
                &path,
                &MatrixOptions { hosts: hosts_most, local: LocalFlows::Drop, most: u64::MAX },
                &template,
            ),
        }
    };
    let given = run_interruptible(py, read)?.map_err(|error| refused(py, error))?;
    let flows = &given.flows;
    let start = |start: &Start| match start {
        Start::At(time) => time.round_ns(),
        Start::After { .. } => 0,
    };
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(flows.iter().map(|flow| flow.id)))),
        ("start_ns", longs(flows.iter().map(|flow| start(&flow.start)))),
        ("src", hosts(flows.iter().map(|flow| flow.src))),
        ("dst", hosts(flows.iter().map(|flow| flow.dst))),
        ("bytes", longs(flows.iter().map(|flow| flow.bytes))),
    ];
    if flows.iter().any(|flow| flow.priority != template.priority) {
        columns.push((
            "priority",
            Arc::new(Int32Array::from_iter_values(flows.iter().map(|flow| flow.priority.into()))),
        ));
    }
    Ok((table(columns)?, given.notes.clone()))
}

/// Writes a table as a Parquet file.
#[pyfunction]
pub fn write_parquet(py: Python<'_>, table: &Table, path: PathBuf) -> PyResult<()> {
    let write = || -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let mut writer = ParquetWriter::new(File::create(&path)?, &table.schema)?;
        for batch in &table.batches {
            writer.write(batch)?;
        }
        writer.close()?;
        Ok(())
    };
    py.detach(write).map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
}

/// Returns why this text cannot be a name, as the end of a message "expected …". `None` if it is
/// valid.
#[pyfunction]
pub fn wrong_name(name: &str) -> Option<String> {
    afflux_traffic::names::wrong(name)
}

/// Returns the limit on the unpacked size in bytes of a compressed file of `packed` bytes, and the
/// error text for larger content.
#[pyfunction]
pub fn most_unpacked(packed: u64) -> (u64, String) {
    let most = afflux_traffic::most_unpacked(packed);
    (most, afflux_traffic::too_much_unpacked(most))
}

/// Column of any table: texts, booleans, integers or floats, with `None` for nulls. A column that
/// holds only `None` becomes a text column.
#[derive(FromPyObject)]
pub enum Column {
    Texts(Vec<Option<String>>),
    Booleans(Vec<Option<bool>>),
    Integers(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
}

impl Column {
    fn array(self) -> ArrayRef {
        match self {
            Column::Texts(values) => Arc::new(StringArray::from(values)),
            Column::Booleans(values) => Arc::new(BooleanArray::from(values)),
            Column::Integers(values) => Arc::new(Int64Array::from(values)),
            Column::Numbers(values) => Arc::new(Float64Array::from(values)),
        }
    }
}

/// Returns a table of these named columns.
#[pyfunction]
pub fn table_of(columns: Vec<(String, Column)>) -> PyResult<Table> {
    let columns: Vec<(String, ArrayRef)> =
        columns.into_iter().map(|(name, column)| (name, column.array())).collect();
    table(columns.iter().map(|(name, array)| (name.as_str(), array.clone())).collect())
}

/// Column of hosts, given by numbers or by names.
#[derive(FromPyObject)]
pub enum HostColumn {
    Numbers(Vec<i32>),
    Names(Vec<String>),
}

impl HostColumn {
    fn array(self) -> ArrayRef {
        match self {
            HostColumn::Numbers(hosts) => Arc::new(Int32Array::from(hosts)),
            HostColumn::Names(names) => Arc::new(StringArray::from(names)),
        }
    }
}

/// Returns a flow list as a table. `classes`, `deadlines_ns`, `dscps` and `priorities` are
/// optional, and hold `None` for flows without a value.
#[pyfunction]
#[pyo3(signature = (start_ns, src, dst, bytes, classes=None, deadlines_ns=None, ids=None, dscps=None, priorities=None))]
#[allow(clippy::too_many_arguments)]
pub fn flow_table(
    start_ns: Vec<i64>,
    src: HostColumn,
    dst: HostColumn,
    bytes: Vec<i64>,
    classes: Option<Vec<Option<String>>>,
    deadlines_ns: Option<Vec<Option<i64>>>,
    ids: Option<Vec<i64>>,
    dscps: Option<Vec<Option<i32>>>,
    priorities: Option<Vec<Option<i32>>>,
) -> PyResult<Table> {
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    if let Some(ids) = ids {
        columns.push(("id", Arc::new(Int64Array::from(ids))));
    }
    columns.extend([
        ("start_ns", Arc::new(Int64Array::from(start_ns)) as ArrayRef),
        ("src", src.array()),
        ("dst", dst.array()),
        ("bytes", Arc::new(Int64Array::from(bytes))),
    ]);
    if let Some(classes) = classes {
        columns.push(("class", Arc::new(StringArray::from(classes))));
    }
    if let Some(deadlines) = deadlines_ns {
        columns.push(("deadline_ns", Arc::new(Int64Array::from(deadlines))));
    }
    for (name, values) in [("dscp", dscps), ("priority", priorities)] {
        if let Some(values) = values {
            columns.push((name, Arc::new(Int32Array::from(values))));
        }
    }
    table(columns)
}

/// Returns the flows whose start time is known before the run, and the number of flows that start
/// after others end.
pub fn planned(scenario: &afflux_scenario::Scenario) -> PyResult<(Table, usize)> {
    let flows = || {
        scenario.plan.flows.iter().filter_map(|flow| {
            if let Start::At(time) = flow.start { Some((flow, time.round_ns())) } else { None }
        })
    };
    let deadlines =
        flows().map(|(flow, _)| flow.deadline.map(|deadline| (deadline.0 / 1_000) as i64));
    let table = table(vec![
        ("id", Arc::new(Int64Array::from_iter_values(flows().map(|(flow, _)| flow.id)))),
        ("start_ns", longs(flows().map(|(_, start)| start))),
        ("src", hosts(flows().map(|(flow, _)| flow.src))),
        ("dst", hosts(flows().map(|(flow, _)| flow.dst))),
        ("bytes", longs(flows().map(|(flow, _)| flow.bytes))),
        (
            "class",
            Arc::new(StringArray::from_iter_values(
                flows().map(|(flow, _)| &scenario.classes[flow.class as usize]),
            )),
        ),
        ("deadline_ns", Arc::new(Int64Array::from_iter(deadlines))),
        (
            "priority",
            Arc::new(Int32Array::from_iter_values(flows().map(|(flow, _)| flow.priority.into()))),
        ),
    ])?;
    Ok((table, scenario.plan.flows.len() - flows().count()))
}
