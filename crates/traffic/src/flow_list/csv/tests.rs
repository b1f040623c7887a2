use super::*;
use crate::{LocalFlows, Template};
use afflux_net::spec::Start;
use afflux_units::{Span, Time};
use proptest::prelude::*;
use std::io::Write;

fn read(text: &str) -> Result<Generated, TrafficError> {
    read_csv_from(
        text.as_bytes(),
        Path::new("flows.csv"),
        &FlowListOptions::new(4),
        &mut Classes::default(),
    )
}

#[test]
fn reads_any_order_of_columns() {
    let mut classes = Classes::default();
    let text = "\u{feff}bytes,dst,src,class,start_ns,deadline_ns,id\r\n500,1,0,query,20,,7\r\n600,2,3,,10,1000,-5\r\n\r\n";
    let given =
        read_csv_from(text.as_bytes(), Path::new("f"), &FlowListOptions::new(4), &mut classes)
            .unwrap();
    assert_eq!(
        given
            .flows
            .iter()
            .map(|flow| (flow.id, flow.src, flow.dst, flow.bytes, flow.class))
            .collect::<Vec<_>>(),
        [(-5, 3, 2, 600, 0), (7, 0, 1, 500, 1)]
    );
    assert_eq!(given.flows[0].start, Start::At(Time::from_ns(10)));
    assert_eq!((given.flows[0].deadline, given.flows[1].deadline), (Some(Span::from_us(1)), None));
    assert_eq!(classes.names(), ["default", "query"]);
    assert!(given.own_ids);
}

#[test]
fn equal_starts_keep_their_order_and_get_running_numbers() {
    let given = read("start_ns,src,dst,bytes\n5,0,1,1\n5,0,1,2\n0,0,1,3\n").unwrap();
    assert_eq!(
        given.flows.iter().map(|flow| (flow.id, flow.bytes)).collect::<Vec<_>>(),
        [(0, 3), (1, 1), (2, 2)]
    );
    assert!(!given.own_ids);
}

#[test]
fn columns_of_other_tools_are_left_out_with_a_note() {
    let text = "start_ns,src,dst,bytes,fct_ns,normalized\n5,0,1,100,17,1.5\n";
    let given = read(text).unwrap();
    assert_eq!(given.flows[0].bytes, 100);
    assert!(
        given.notes[0].contains("columns fct_ns, normalized are not part of a flow list"),
        "{:?}",
        given.notes
    );
}

#[test]
fn errors_name_place_found_and_allowed() {
    let head = "start_ns,src,dst,bytes\n";
    for (text, line, says) in [
        ("".to_string(), None, "empty file"),
        (head.to_string(), None, "without rows"),
        ("start_ns,src,dst\n1,0,1\n".to_string(), Some(1), "no column `bytes`"),
        (
            "start_ns,src,dst,byte\n".to_string(),
            Some(1),
            "unknown column `byte`, expected a header with `start_ns,src,dst,bytes` and optionally `id,class,deadline_ns,dscp,priority` (did you mean `bytes`?)",
        ),
        ("start_ns,src,dst,bytes,deadline\n".to_string(), Some(1), "unknown column `deadline`"),
        ("start_ns,src,dst,bytes,src\n".to_string(), Some(1), "column `src` twice"),
        ("0,0,1,5\n".to_string(), Some(1), "row of numbers"),
        (format!("{head}1,0,1,5\n2,0,1\n"), Some(3), "3 fields in `2,0,1`"),
        (format!("{head}1,0,1,5,6\n"), Some(2), "5 fields"),
        (
            format!("{head}1,0,1,-5\n"),
            Some(2),
            "column `bytes`: found `-5`, expected a whole number of bytes, at least one",
        ),
        (format!("{head}1,0,1,0\n"), Some(2), "column `bytes`: found 0"),
        (format!("{head}1,0,1,1.5\n"), Some(2), "column `bytes`: found `1.5`"),
        (format!("{head}1,0,1,99999999999999999999\n"), Some(2), "column `bytes`"),
        (
            format!("{head}1,0,4,5\n"),
            Some(2),
            "column `dst`: found host 4, expected a host from 0 to 3",
        ),
        (format!("{head}1,x,1,5\n"), Some(2), "column `src`: found `x`"),
        (format!("{head}1,,1,5\n"), Some(2), "column `src`: found nothing"),
        (format!("{head}1,1,1,5\n"), Some(2), "column `dst`: found host 1, the source itself"),
        (format!("{head}18446744073709552,0,1,5\n"), Some(2), "160 h"),
        (
            "start_ns,src,dst,bytes,id\n1,0,1,5,3\n2,0,1,5,3\n".to_string(),
            Some(3),
            "column `id`: found 3 a second time",
        ),
        (
            "start_ns,src,dst,bytes,deadline_ns\n1,0,1,5,0\n".to_string(),
            Some(2),
            "column `deadline_ns`",
        ),
    ] {
        let error = read(&text).unwrap_err();
        assert_eq!(error.line(), line, "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
        assert!(error.to_string().starts_with("flows.csv"), "{error}");
    }
}

#[test]
fn local_flows() {
    let with = |local| {
        let options = FlowListOptions { local, ..FlowListOptions::new(4) };
        read_csv_from(
            &b"start_ns,src,dst,bytes\n3,1,1,5\n1,0,1,5\n"[..],
            Path::new("f"),
            &options,
            &mut Classes::default(),
        )
    };
    let kept = with(LocalFlows::Instant).unwrap();
    assert_eq!((kept.flows.len(), kept.local.len(), kept.local[0].id), (1, 1, 1));
    let left_out = with(LocalFlows::Drop).unwrap();
    assert_eq!((left_out.flows.len(), left_out.local.len()), (1, 0));
    assert!(left_out.notes[0].contains("1 flows"));
    assert!(with(LocalFlows::Refuse).unwrap_err().to_string().contains("instant"));
}

#[test]
fn gzip_is_recognised_and_a_broken_one_is_an_error() {
    let folder = std::env::temp_dir().join(format!("afflux-traffic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("flows.csv.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"start_ns,src,dst,bytes\n1,0,1,5\n").unwrap();
    let packed = encoder.finish().unwrap();
    std::fs::write(&path, &packed).unwrap();
    let options = FlowListOptions::new(2);
    assert_eq!(read_csv(&path, &options, &mut Classes::default()).unwrap().flows.len(), 1);
    std::fs::write(&path, &packed[..packed.len() - 9]).unwrap();
    assert!(matches!(
        read_csv(&path, &options, &mut Classes::default()),
        Err(TrafficError::Unreadable { .. })
    ));
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_csv_from(&text[..], Path::new("f"), &FlowListOptions::new(4), &mut Classes::default());
    }

    #[test]
    fn any_rows_are_read_or_refused(text in "[0-9,\"\n-]{0,80}") {
        let text = format!("start_ns,src,dst,bytes,id,class,deadline_ns\n{text}");
        if let Ok(given) = read(&text) {
            prop_assert!(given.flows.iter().all(|flow| flow.src < 4 && flow.dst < 4 && flow.src != flow.dst && flow.bytes > 0));
        }
    }

    #[test]
    fn written_lists_come_back(rows in prop::collection::vec((0..1_000_000u64, 0..4u32, 1..4u32, 1..1_000_000u64), 1..40)) {
        let mut text = "start_ns,src,dst,bytes,id\n".to_string();
        for (id, (start, src, by, bytes)) in rows.iter().enumerate() {
            text += &format!("{start},{src},{},{bytes},{id}\n", (src + by) % 4);
        }
        let given = read(&text).unwrap();
        prop_assert_eq!(given.flows.len(), rows.len());
        for pair in given.flows.windows(2) {
            let (Start::At(a), Start::At(b)) = (pair[0].start, pair[1].start) else { unreachable!() };
            prop_assert!(a < b || a == b && pair[0].id < pair[1].id);
        }
        for flow in &given.flows {
            let row = rows[flow.id as usize];
            prop_assert_eq!((flow.start, flow.src, flow.bytes), (Start::At(Time::from_ns(row.0)), row.1, row.3));
        }
    }
}

struct Lab;

impl crate::names::HostNames for Lab {
    fn find(&self, text: &str) -> Option<u32> {
        [("db1", 0), ("10.0.0.2", 1), ("=web", 2)]
            .into_iter()
            .find(|(name, _)| *name == text)
            .map(|(_, host)| host)
    }
    fn nearest(&self, text: &str) -> Option<String> {
        text.starts_with("db").then(|| "db1".to_string())
    }
}

fn in_lab(text: &str) -> Result<Generated, TrafficError> {
    read_csv_from(
        text.as_bytes(),
        Path::new("flows.csv"),
        &FlowListOptions { names: &Lab, ..FlowListOptions::new(4) },
        &mut Classes::default(),
    )
}

#[test]
fn hosts_by_name_and_address() {
    let given =
        in_lab("start_ns,src,dst,bytes\n0,db1,10.0.0.2,5\n1,\"db1\",3,5\n2,'=web,1,5\n").unwrap();
    assert_eq!(
        given.flows.iter().map(|flow| (flow.src, flow.dst)).collect::<Vec<_>>(),
        [(0, 1), (0, 3), (2, 1)]
    );
    let error = in_lab("start_ns,src,dst,bytes\n0,0,1,5\n0,db9,1,5\n").unwrap_err();
    let says = "flows.csv:3, column `src`: found `db9`, expected a host's number, from 0 in rack order, or its name or address in the topology (did you mean `db1`?)";
    assert_eq!(error.to_string(), says);
}

#[test]
fn quotes_hold_commas_and_quotes_but_no_line_ends() {
    let mut classes = Classes::default();
    let text = "start_ns,src,dst,bytes,class\n0,0,1,5,\"a,b\"\n1,0,1,5, \"say \"\"x\"\"\" \n2,0,1,5,'-x\n3,0,1,5,''=y\n4,0,1,5,'z\n5,0,1,5,-3\n";
    read_csv_from(text.as_bytes(), Path::new("f"), &FlowListOptions::new(4), &mut classes).unwrap();
    assert_eq!(classes.names(), ["default", "a,b", "say \"x\"", "-x", "'=y", "'z", "-3"]);
    for (row, says) in [
        ("0,0,1,5,\"x\n9,0,2,1,y\"", "quotes end on its line"),
        ("0,0,1,5,\"x\"y", "a comma after the quotes"),
        ("0,0,1,5,\u{1b}[31m", "without control characters"),
        ("0,0,1,5,\u{202e}abc", "without control characters"),
    ] {
        let error = read(&format!("start_ns,src,dst,bytes,class\n{row}\n")).unwrap_err();
        assert_eq!(error.line(), Some(2), "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(!error.to_string().contains('\u{1b}'), "{error}");
    }
}

#[test]
fn dscp_and_priority_and_what_the_user_says() {
    let mut map = [1; 64];
    map[46] = 5;
    let text =
        "start_ns,src,dst,bytes,class,dscp,priority\n0,0,1,5,tcp,46,\n1,0,1,5,tcp,,6\n2,0,1,5,,,\n";
    let with = |own| {
        let template = Template { class: 0, priority: 3, ..Template::default() };
        let options = FlowListOptions {
            priority_of_dscp: &map,
            own_class: own,
            own_priority: own,
            template,
            ..FlowListOptions::new(4)
        };
        read_csv_from(text.as_bytes(), Path::new("f"), &options, &mut Classes::default()).unwrap()
    };
    assert_eq!(
        with(false).flows.iter().map(|flow| (flow.class, flow.priority)).collect::<Vec<_>>(),
        [(1, 5), (1, 6), (0, 3)]
    );
    let own = with(true);
    assert!(own.flows.iter().all(|flow| (flow.class, flow.priority) == (0, 3)));
    assert_eq!(own.notes.len(), 2, "{:?}", own.notes);
    for (row, says) in [
        ("0,0,1,5,,64,", "a DSCP from 0 to 63"),
        ("0,0,1,5,,,8", "0 (lowest) to 7"),
        ("0,0,1,5,,x,", "column `dscp`"),
    ] {
        let error =
            read(&format!("start_ns,src,dst,bytes,class,dscp,priority\n{row}\n")).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn compressed_files_do_not_grow_without_bounds() {
    let folder = std::env::temp_dir().join(format!("afflux-unpacked-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("bomb.csv.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..40 {
        encoder.write_all(&vec![b'\n'; 1 << 20]).unwrap();
    }
    std::fs::write(&path, encoder.finish().unwrap()).unwrap();
    let error = read_csv(&path, &FlowListOptions::new(2), &mut Classes::default()).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        error.to_string().contains("more than 17 MB come out of it")
            && error.to_string().contains("AFFLUX_MAX_UNPACKED=4GB"),
        "{error}"
    );
}
