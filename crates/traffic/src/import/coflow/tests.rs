use super::*;
use proptest::prelude::*;
use std::path::PathBuf;

fn parse(text: &[u8], options: &CoflowOptions) -> Result<Generated, TrafficError> {
    read_from(text, Path::new("trace.txt"), options, &Template::default(), &Draws::new(1, "trace"))
}

const SMALL: &[u8] = b"4 2\n7 100 2 0 1 2 1:3.0 2:1.0\n9 250.5 1 3 1 0:0\n";

#[test]
fn each_reducer_fetches_equal_parts_from_every_mapper() {
    let given = parse(SMALL, &CoflowOptions::new(4, 4)).unwrap();
    let flows: Vec<_> =
        given.flows.iter().map(|flow| (flow.src, flow.dst, flow.bytes, flow.job)).collect();
    assert_eq!(flows, [(0, 1, 1_500_000, 0), (0, 2, 500_000, 0), (1, 2, 500_000, 0), (3, 0, 1, 1)]);
    assert_eq!(
        given.jobs,
        [
            Job::new(JobKind::Coflow, "coflow7", Some(Time::from_ns(100_000_000))),
            Job::new(JobKind::Coflow, "coflow9", Some(Time::from_ns(250_500_000)))
        ]
    );
    assert!(given.notes[1].contains("1 flows"), "{:?}", given.notes);
}

#[test]
fn scales_and_limits() {
    let options = CoflowOptions {
        size_scale: 0.001,
        time_scale: 0.01,
        most_coflows: Some(1),
        megabyte_bytes: 1 << 20,
        ..CoflowOptions::new(4, 4)
    };
    let given = parse(SMALL, &options).unwrap();
    assert_eq!((given.flows.len(), given.flows[0].bytes, given.jobs.len()), (3, 1_573, 1));
    assert_eq!(given.flows[0].start, Start::At(Time::from_ns(1_000_000)));
    assert!(parse(SMALL, &CoflowOptions { size_scale: 0.0, ..options }).is_err());
}

#[test]
fn placements() {
    let modulo = parse(SMALL, &CoflowOptions::new(3, 4)).unwrap();
    assert!(modulo.flows.iter().all(|flow| flow.src < 3 && flow.dst < 3));
    assert!(
        parse(
            SMALL,
            &CoflowOptions { placement: Placement::Host { hosts: 3 }, ..CoflowOptions::new(4, 4) }
        )
        .unwrap_err()
        .to_string()
        .contains("4 ports")
    );
    let racks = Racks::uniform(40, 10);
    let placed = parse(
        SMALL,
        &CoflowOptions { placement: Placement::Rack(racks.clone()), ..CoflowOptions::new(4, 4) },
    )
    .unwrap();
    assert_eq!(racks.rack(placed.flows[0].src), 0);
    // A reducer runs on one host, whichever mapper it fetches from.
    let into_rack_2: Vec<u32> =
        placed.flows.iter().filter(|flow| racks.rack(flow.dst) == 2).map(|flow| flow.dst).collect();
    assert!(into_rack_2.len() == 2 && into_rack_2[0] == into_rack_2[1]);
}

#[test]
fn errors_name_the_line() {
    for (text, line, says) in [
        ("", 1, "found an empty file, expected `ports coflows`"),
        ("4\n", 1, "found `4`, expected `ports coflows`"),
        ("4 1\n1 0 1 4 1 0:1", 2, "`4`, expected a location from 0 to 3"),
        ("4 1\n1 0 2 0 1 0:1", 2, "`0:1`, expected the number of reducers"),
        ("4 1\n1 0 1 0 2 1:1", 2, "end of the line"),
        ("4 1\n1 0 1 0 1 1", 2, "location:MB"),
        ("4 1\n1 0 1 0 1 1:-1", 2, "not negative"),
        ("4 1\n1 -5 1 0 1 1:1", 2, "milliseconds"),
        ("4 1\n1 0 1 0 1 1:1 7", 2, "expected the end"),
        ("4 1\n1 0 1 0 1 1:1\n2 0 1 0 1 1:1", 3, "1 coflows, as line 1 says"),
    ] {
        let error = parse(text.as_bytes(), &CoflowOptions::new(4, 4)).unwrap_err();
        assert_eq!(error.line(), Some(line), "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
    assert!(
        parse(b"4 2\n1 0 1 0 1 1:1", &CoflowOptions::new(4, 4))
            .unwrap_err()
            .to_string()
            .contains("found 1 coflows, expected 2")
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(text in "4 [1-3]\n[0-9 :.\n-]{0,60}") {
        if let Ok(given) = parse(text.as_bytes(), &CoflowOptions::new(4, 4)) {
            prop_assert!(given.flows.iter().all(|flow| flow.src != flow.dst && flow.bytes > 0));
        }
    }
    #[test]
    fn noise_is_refused(text in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = parse(&text, &CoflowOptions::new(4, 4));
    }
}

/// Tests that the flows of a made-up trace have its volume with every placement of hosts.
#[test]
fn the_volume_of_a_trace_stays() {
    let text = b"4 2\n1 0 2 0 1 2 2:3.0 3:1.0\n2 10 1 3 1 1:5.0\n";
    let spread = CoflowOptions {
        placement: Placement::Rack(Racks::uniform(40, 10)),
        ..CoflowOptions::new(40, 4)
    };
    for options in [CoflowOptions::new(4, 4), spread] {
        let given = parse(text, &options).unwrap();
        assert_eq!((given.jobs.len(), given.flows.len()), (2, 5));
        assert_eq!(given.flows.iter().map(|flow| flow.bytes).sum::<u64>(), 9_000_000);
    }
}

/// Tests the published trace, if it is there: 526 coflows, 706,397 pairs of mapper and reducer,
/// 35.53 TB.
#[test]
fn the_published_trace() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/traces/FB2010-1Hr-150-0.txt");
    if !file.exists() {
        println!("SKIPPED: no coflow trace at {}", file.display());
        return;
    }
    assert_eq!(ports(&file).unwrap(), 150);
    let given =
        read(&file, &CoflowOptions::new(150, 150), &Template::default(), &Draws::new(1, ""))
            .unwrap();
    // 4,911 pairs have both ends in one rack.
    assert_eq!((given.jobs.len(), given.flows.len()), (526, 706_397 - 4_911));
    assert!(given.notes[1].contains("4911 flows"), "{:?}", given.notes);
    // If the tasks are spread over many hosts, nearly every pair is between different hosts, and
    // the volume is the published one.
    let spread = CoflowOptions {
        placement: Placement::Rack(Racks::uniform(3_000, 20)),
        ..CoflowOptions::new(3_000, 150)
    };
    let given = read(&file, &spread, &Template::default(), &Draws::new(1, "")).unwrap();
    let bytes: u64 = given.flows.iter().map(|flow| flow.bytes).sum();
    assert!((bytes as f64 / 35.533_534e12 - 1.0).abs() < 0.01, "{bytes}");
}
