use crate::{FileOptions, SizeDistribution, TrafficError};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn read(text: &str) -> Result<SizeDistribution, TrafficError> {
    SizeDistribution::read_from(text.as_bytes(), Path::new("sizes.csv"), &FileOptions::default())
}

#[test]
fn accepted_forms_are_the_same_distribution() {
    let forms = [
        "size_bytes,cdf\n0,0\n100,0.5\n200,1\n",
        "0 0\n100 50\n200 100",
        "# comment\r\n\r\n0\t0\r\n100 \t 50\r\n200 100.0000001\r\n",
        "0 1 0\n100 1 0.5\n200 1 1\n",
        "0, 1, 0\n100, 1, 0.5\n200, 1, 1\n",
        "Size(bytes), cumulative\n0,0\n100,.5\n200,1e0\n",
    ];
    for form in forms {
        let sizes = read(form).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert!((sizes.mean() - 100.0).abs() < 1e-6, "{form}");
        assert_eq!(sizes.sample(0.75), 150, "{form}");
    }
}

#[test]
fn jumps_gaps_and_packets() {
    assert_eq!(read("70 0.5\n70 0.6\n100 0.6\n200 1").unwrap().sample(0.0), 70);
    let packets = FileOptions { unit_bytes: 1_460, whole_units: true };
    let sizes = SizeDistribution::read_from(b"1 1 0.5\n2 1 1\n", Path::new("f"), &packets).unwrap();
    assert_eq!((sizes.sample(0.0), sizes.sample(0.6)), (1_460, 2_920));
}

#[test]
fn ranks_other_than_1_are_known() {
    let ranks = |text: &str| read(text).unwrap().ranks();
    assert_eq!((ranks("0 0\n9 1\n").given, ranks("0 1 0\n9 1 1\n").given), (false, true));
    assert_eq!((ranks("0 1 0\n9 1.0 1\n").other, ranks("0 1 0\n\n9 2 1\n").other), (None, Some(3)));
}

#[test]
fn errors_name_line_and_cure() {
    for (text, line, says) in [
        ("", None, "no points"),
        ("0 0\n100 0.5\n", Some(2), "1 (shares) or 100 (percent)"),
        ("0 0\n100 0.7\n200 0.6\n300 1", Some(3), "cumulative values that never decrease"),
        ("0 0\n100 0.5\n50 1", Some(3), "sizes that never decrease"),
        ("-1 0\n100 1", Some(1), "not negative"),
        ("0 -0.1\n100 1", Some(1), "from 0 to 1"),
        ("0 0\n100 120\n", Some(2), "from 0 to 1"),
        ("0 0\n100\n", Some(2), "two numbers"),
        ("0 0\n100 x\n", Some(2), "two numbers"),
        ("0 0\n100 nan\n", Some(2), "two numbers"),
        ("0 0\n100 1 1\n", Some(2), "two numbers"),
        ("start,end\n0,0\n1,1", Some(1), "size_bytes,cdf"),
        ("0 0\n1e30 1", Some(2), "petabyte"),
        (
            "size_kB,cdf\n0,0\n9,1",
            Some(1),
            "found the header `size_kB,cdf`, expected sizes in bytes",
        ),
        ("size,percent\n0,0\n9,1", Some(1), "100 at the end"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.line(), line, "{text}: {error}");
        assert!(
            error.to_string().contains(says) && error.to_string().contains("sizes.csv"),
            "{text}: {error}"
        );
    }
    assert!(
        SizeDistribution::read(Path::new("/nonexistent"), &FileOptions::default())
            .unwrap_err()
            .to_string()
            .contains("/nonexistent")
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(text in prop::collection::vec(prop::sample::select(&b"0159 .,\n-e#\xffx"[..]), 0..80)) {
        if let Ok(sizes) = SizeDistribution::read_from(&text, Path::new("f"), &FileOptions::default()) {
            prop_assert!(sizes.sample(0.5) >= 1);
            prop_assert!(sizes.mean().is_finite());
        }
    }
}

/// Tests a file in which half the flows have up to 1,000 bytes, and half 1,000 to 20,000.
#[test]
fn a_made_up_file_has_its_mean_and_quantiles() {
    let sizes = read("size_bytes,cdf\n0,0\n1000,0.5\n20000,1\n").unwrap();
    for (ours, exact) in [
        (sizes.mean(), 5_500.0),
        (sizes.quantile(0.5), 1_000.0),
        (sizes.quantile(0.9), 16_200.0),
        (sizes.quantile(0.99), 19_620.0),
    ] {
        assert!((ours - exact).abs() <= 1.0, "{ours} {exact}");
    }
}

/// Tests the published distribution files next to the checkout, if they are there.
#[test]
fn published_files_have_their_published_means() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/workloads");
    let Ok(means) = std::fs::read_to_string(folder.join("means.csv")) else {
        println!("SKIPPED: no published distributions in {}", folder.display());
        return;
    };
    let mut read = 0;
    for row in means.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let sizes =
            SizeDistribution::read(&folder.join(fields[0]), &FileOptions::default()).unwrap();
        for (ours, published) in [
            (sizes.mean(), fields[2]),
            (sizes.quantile(0.5), fields[3]),
            (sizes.quantile(0.9), fields[4]),
            (sizes.quantile(0.99), fields[5]),
        ] {
            let published: f64 = published.parse().unwrap();
            // Published values have one decimal (means) or none.
            assert!(
                (ours - published).abs() <= 0.001 * published + 0.6,
                "{}: {ours} {published}",
                fields[0]
            );
        }
        read += 1;
    }
    let files = std::fs::read_dir(&folder)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "csv"))
        .count();
    assert_eq!(read, files - 1, "every file but means.csv");
}
