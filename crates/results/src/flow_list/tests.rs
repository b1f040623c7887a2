use super::*;
use crate::columnar::Writer;
use afflux_scenario::Reader as _;
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

fn read(columns: Vec<(&str, ArrayRef)>) -> Result<FlowColumns, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flows.parquet");
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let mut writer = Writer::new(File::create(&path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    ParquetFlowLists.parquet(&path, u64::MAX)
}

fn ints(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

/// Values of a column of a type that afflux itself does not write. A level of 0 is a null.
enum Values {
    Whole32(&'static [i32]),
    Whole64(&'static [i64]),
    Double(&'static [f64]),
    Text(&'static [&'static str], &'static [i16]),
}

/// Reads a file with one row group whose columns have the given schema.
fn foreign(schema: &str, columns: &[Values]) -> Result<FlowColumns, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flows.parquet");
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(File::create(&path).unwrap(), schema, Default::default())
            .unwrap();
    let mut group = writer.next_row_group().unwrap();
    for values in columns {
        let mut column = group.next_column().unwrap().unwrap();
        match values {
            Values::Whole32(values) => column.typed::<Int32Type>().write_batch(values, None, None),
            Values::Whole64(values) => column.typed::<Int64Type>().write_batch(values, None, None),
            Values::Double(values) => column.typed::<DoubleType>().write_batch(values, None, None),
            Values::Text(values, levels) => {
                let values: Vec<ByteArray> =
                    values.iter().map(|text| ByteArray::from(*text)).collect();
                column.typed::<ByteArrayType>().write_batch(&values, Some(levels), None)
            }
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    ParquetFlowLists.parquet(&path, u64::MAX)
}

#[test]
fn all_columns_of_any_width() {
    let schema = "message flows {
        required int64 extra;
        required double deadline_ns;
        required int64 bytes (INTEGER(64, false));
        required int32 src (INTEGER(16, true));
        required int32 dst (UINT_32);
        required int64 start_ns;
        required int64 id;
        optional binary class (ENUM);
    }";
    let columns = foreign(
        schema,
        &[
            Values::Whole64(&[1, 2]),
            Values::Double(&[f64::NAN, 5_000.0]),
            Values::Whole64(&[1, -1]),
            Values::Whole32(&[0, 1]),
            Values::Whole32(&[1, 0]),
            Values::Whole64(&[0, 10]),
            Values::Whole64(&[-3, 4]),
            Values::Text(&["a"], &[1, 0]),
        ],
    )
    .unwrap();
    assert_eq!(
        (columns.start_ns, columns.src, columns.dst),
        (vec![0, 10], HostColumn::Numbers(vec![0, 1]), HostColumn::Numbers(vec![1, 0]))
    );
    assert_eq!((columns.bytes, columns.id), (vec![1, u64::MAX], Some(vec![-3, 4])));
    assert_eq!(columns.class, Some((vec![Some(0), None], vec!["a".to_owned()])));
    assert_eq!(columns.deadline_ns, Some(vec![None, Some(5_000)]));
    assert_eq!(columns.others, ["extra"]);
}

#[test]
fn times_and_texts_of_other_kinds_are_refused() {
    let schema = |start: &str, src: &str| {
        format!(
            "message flows {{ required int64 start_ns {start}; optional binary src {src}; required int64 dst; required int64 bytes; }}"
        )
    };
    let values = [
        Values::Whole64(&[0]),
        Values::Text(&["a"], &[1]),
        Values::Whole64(&[1]),
        Values::Whole64(&[1]),
    ];
    let refused = |start, src| foreign(&schema(start, src), &values).unwrap_err();
    assert!(foreign(&schema("", "(STRING)"), &values).is_ok());
    assert!(
        refused("(TIMESTAMP(MICROS, true))", "(STRING)")
            .starts_with("column \"start_ns\" has type Timestamp")
    );
    assert!(refused("", "").contains(
        "column \"src\" has type BYTE_ARRAY; allowed are integers, floats, booleans and strings"
    ));
}

#[test]
fn optional_columns_may_be_missing() {
    let rows: Vec<i64> = (0..3_000).collect();
    let columns = read(vec![
        ("start_ns", ints(&rows)),
        ("src", ints(&rows)),
        ("dst", ints(&rows)),
        ("bytes", ints(&rows)),
    ])
    .unwrap();
    assert_eq!(columns.src, HostColumn::Numbers((0..3_000).collect()));
    assert!(columns.id.is_none() && columns.class.is_none() && columns.deadline_ns.is_none());
}

#[test]
fn errors_say_where() {
    let good = || {
        vec![
            ("start_ns", ints(&[0, 0])),
            ("src", ints(&[0, 0])),
            ("dst", ints(&[1, 1])),
            ("bytes", ints(&[1, 1])),
        ]
    };
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
        (
            with(3, "bytes", Arc::new(Float64Array::from(vec![1.0, 2.5]))),
            "row 2: bytes is 2.5, not a whole number",
        ),
        (with(1, "src", Arc::new(StringArray::from(vec![Some("a"), None]))), "row 2: src is null"),
        (
            with(1, "src", Arc::new(arrow_array::BooleanArray::from(vec![true, false]))),
            "column \"src\" has type Boolean (from row 1); allowed are",
        ),
    ];
    for (error, says) in cases {
        assert!(error.contains(says), "{error}");
    }
    let mut classes = good();
    classes.push(("class", ints(&[1, 2])));
    assert!(
        read(classes)
            .unwrap_err()
            .contains("column \"class\" has type Int64 (from row 1); allowed are strings")
    );
    assert!(
        ParquetFlowLists
            .parquet(Path::new("/nowhere.parquet"), 1_000)
            .unwrap_err()
            .contains("No such file")
    );
}

#[test]
fn rows_count_on_over_batches() {
    let mut rows: Vec<i64> = vec![1; 5_000];
    rows[4_321] = -1;
    let error = read(vec![
        ("start_ns", ints(&rows)),
        ("src", ints(&rows)),
        ("dst", ints(&rows)),
        ("bytes", ints(&rows)),
    ])
    .unwrap_err();
    assert!(error.contains("row 4322: start_ns is -1"), "{error}");
}

#[test]
fn hosts_by_name() {
    let names = |names: &[&str]| Arc::new(StringArray::from(names.to_vec())) as ArrayRef;
    let columns = vec![
        ("start_ns", ints(&[0, 1, 2])),
        ("src", names(&["a", "b", "a"])),
        ("dst", ints(&[0, 1, 2])),
        ("bytes", ints(&[1, 1, 1])),
    ];
    let read = read(columns).unwrap();
    assert_eq!(read.src, HostColumn::Names(vec![0, 1, 0], vec!["a".into(), "b".into()]));
    assert_eq!(read.dst, HostColumn::Numbers(vec![0, 1, 2]));
}

#[test]
fn a_column_twice_is_refused() {
    let schema = "message flows { required int64 start_ns; required int64 src; required int64 dst; required int64 bytes; required int64 bytes; }";
    let values = [&[0], &[0], &[1], &[1], &[2]].map(|values: &[i64; 1]| Values::Whole64(values));
    assert_eq!(
        foreign(schema, &values).unwrap_err(),
        "column \"bytes\" twice; a flow list has each column once"
    );
}

#[test]
fn a_text_that_is_longer_than_any_name_is_refused() {
    let names = Arc::new(StringArray::from(vec!["x".repeat(1 << 20).as_str(); 2])) as ArrayRef;
    let rows = vec![0i64; 2];
    let error = read(vec![
        ("start_ns", ints(&rows)),
        ("src", names),
        ("dst", ints(&rows)),
        ("bytes", ints(&rows)),
    ])
    .unwrap_err();
    assert_eq!(error, "row 1: src is a text of 1048576 bytes, longer than any name");
}

#[test]
fn a_panic_is_an_answer() {
    assert_eq!(catch_panic::caught(|| 1), Some(1));
    assert_eq!(catch_panic::caught(|| -> u8 { panic!("seen by nobody") }), None);
}
