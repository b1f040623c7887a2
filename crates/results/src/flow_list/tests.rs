use super::*;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int16Array, Int64Array, StringArray, UInt32Array, UInt64Array};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

fn read(columns: Vec<(&str, ArrayRef)>) -> Result<FlowColumns, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flows.parquet");
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    ParquetFlowLists.parquet(&path)
}

fn ints(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

#[test]
fn all_columns_of_any_width() {
    let class: DictionaryArray<Int32Type> = [Some("a"), None].into_iter().collect();
    let columns = read(vec![
        ("extra", ints(&[1, 2])),
        ("deadline_ns", Arc::new(Float64Array::from(vec![f64::NAN, 5_000.0]))),
        ("bytes", Arc::new(UInt64Array::from(vec![1, u64::MAX]))),
        ("src", Arc::new(Int16Array::from(vec![0, 1]))),
        ("dst", Arc::new(UInt32Array::from(vec![1, 0]))),
        ("start_ns", ints(&[0, 10])),
        ("id", ints(&[-3, 4])),
        ("class", Arc::new(class)),
    ])
    .unwrap();
    assert_eq!((columns.start_ns, columns.src, columns.dst), (vec![0, 10], HostColumn::Numbers(vec![0, 1]), HostColumn::Numbers(vec![1, 0])));
    assert_eq!((columns.bytes, columns.id), (vec![1, u64::MAX], Some(vec![-3, 4])));
    assert_eq!(columns.class, Some((vec![Some(0), None], vec!["a".to_owned()])));
    assert_eq!(columns.deadline_ns, Some(vec![None, Some(5_000)]));
}

#[test]
fn optional_columns_may_be_missing() {
    let rows: Vec<i64> = (0..3_000).collect();
    let columns = read(vec![("start_ns", ints(&rows)), ("src", ints(&rows)), ("dst", ints(&rows)), ("bytes", ints(&rows))]).unwrap();
    assert_eq!(columns.src, HostColumn::Numbers((0..3_000).collect()));
    assert!(columns.id.is_none() && columns.class.is_none() && columns.deadline_ns.is_none());
}

#[test]
fn errors_say_where() {
    let good = || vec![("start_ns", ints(&[0, 0])), ("src", ints(&[0, 0])), ("dst", ints(&[1, 1])), ("bytes", ints(&[1, 1]))];
    let with = |column: usize, name, array| {
        let mut columns = good();
        columns[column] = (name, array);
        read(columns).unwrap_err()
    };
    let cases: [(String, &str); 7] = [
        (
            with(1, "source", ints(&[0, 0])),
            "no column \"src\"; found: \"start_ns\", \"source\", \"dst\", \"bytes\"; a flow list has start_ns, src, dst, bytes and perhaps id, class, deadline_ns, dscp, priority",
        ),
        (with(0, "start_ns", ints(&[0, -7])), "row 2: start_ns is -7, which is negative"),
        (with(2, "dst", ints(&[1 << 32, 0])), "row 1: dst is 4294967296, which is too large"),
        (with(3, "bytes", Arc::new(Int64Array::from(vec![Some(1), None]))), "row 2: bytes is null"),
        (with(3, "bytes", Arc::new(Float64Array::from(vec![1.0, 2.5]))), "row 2: bytes is 2.5, not a whole number"),
        (with(1, "src", Arc::new(StringArray::from(vec![Some("a"), None]))), "row 2: src is null"),
        (with(1, "src", Arc::new(arrow_array::BooleanArray::from(vec![true, false]))), "column \"src\" has type Boolean (from row 1); allowed are"),
    ];
    for (error, says) in cases {
        assert!(error.contains(says), "{error}");
    }
    let mut classes = good();
    classes.push(("class", ints(&[1, 2])));
    assert!(read(classes).unwrap_err().contains("column \"class\" has type Int64 (from row 1); allowed are strings"));
    assert!(ParquetFlowLists.parquet(Path::new("/nowhere.parquet")).unwrap_err().contains("No such file"));
}

#[test]
fn rows_count_on_over_batches() {
    let mut rows: Vec<i64> = vec![1; 5_000];
    rows[4_321] = -1;
    let error = read(vec![("start_ns", ints(&rows)), ("src", ints(&rows)), ("dst", ints(&rows)), ("bytes", ints(&rows))]).unwrap_err();
    assert!(error.contains("row 4322: start_ns is -1"), "{error}");
}

#[test]
fn hosts_by_name() {
    let names = |names: &[&str]| Arc::new(StringArray::from(names.to_vec())) as ArrayRef;
    let columns = vec![("start_ns", ints(&[0, 1, 2])), ("src", names(&["a", "b", "a"])), ("dst", ints(&[0, 1, 2])), ("bytes", ints(&[1, 1, 1]))];
    let read = read(columns).unwrap();
    assert_eq!(read.src, HostColumn::Names(vec![0, 1, 0], vec!["a".into(), "b".into()]));
    assert_eq!(read.dst, HostColumn::Numbers(vec![0, 1, 2]));
}

#[test]
fn a_panic_is_an_answer() {
    assert_eq!(quiet::caught(|| 1), Some(1));
    assert_eq!(quiet::caught(|| -> u8 { panic!("seen by nobody") }), None);
}
