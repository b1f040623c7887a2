//! Result directories: Arrow schemas, Parquet, pcapng, summaries. No other crate uses Arrow, except
//! for the Python interface.
//!
//! ```text
//! let claim = afflux_results::claim(dir, replace)?;       // before the simulation: refuses what cannot work
//! let output = afflux_net::run(&scenario.plan, &progress)?;
//! let summary = afflux_results::write(claim, &scenario, &output, started, progress)?;
//! ```
//!
//! A directory gets its final name only when it is complete, which [`is_complete`] checks. Times
//! are picoseconds in [`Output`] and nanoseconds in all written files. [`times`] documents the
//! rounding.

mod columnar;
mod contents;
mod directory;
mod durable;
mod error;
pub mod fault;
mod flow_list;
mod hash;
mod pcapng;
mod process;
mod statistics;
pub mod summary;
pub mod tables;
#[cfg(test)]
mod testing;
pub mod times;

pub use arrow_array::RecordBatch;
pub use arrow_schema::SchemaRef;
pub use columnar::{Reader as ParquetReader, Unreadable, Writer as ParquetWriter};
pub use directory::{Claim, Replace, adopt, claim, clear, is_complete};
pub use error::ResultsError;
pub use flow_list::ParquetFlowLists;
pub use hash::{Hashes, hashes};
pub use process::{ProcessStart, set_build};
pub use summary::{Summary, summary};
pub use tables::{Kind, Table, Tables};

use afflux_net::Progress;
use afflux_net::record::Output;
use afflux_scenario::Scenario;

/// Writes a finished run into the directory of `claim`, and then gives the directory its final
/// name. The summary is written last, so that its processor time includes all other files.
///
/// # Errors
/// [`ResultsError::Cancelled`] if the run is cancelled while its files are being written (nothing
/// is left behind), and input and output errors. A result that fails one of its own checks (see
/// [`Summary::failed_checks`]) is written nevertheless.
pub fn write(
    claim: Claim,
    scenario: &Scenario,
    output: &Output,
    started: ProcessStart,
    progress: &Progress,
) -> Result<Summary, ResultsError> {
    write_with(claim, scenario, output, started, progress, &[])
}

/// Writes a finished run like [`write`], with additional files given by name and content.
///
/// # Errors
/// The errors of [`write`].
pub fn write_with(
    mut claim: Claim,
    scenario: &Scenario,
    output: &Output,
    started: ProcessStart,
    progress: &Progress,
    further: &[(&str, &[u8])],
) -> Result<Summary, ResultsError> {
    let unless_cancelled =
        || if progress.cancelled() { Err(ResultsError::Cancelled) } else { Ok(()) };
    unless_cancelled()?;
    claim.text("scenario.toml", &scenario.resolved)?;
    let tables = Tables::new(scenario, output);
    for kind in tables.recorded() {
        claim
            .write(&format!("{}.parquet", kind.name()), |file| tables.write_parquet(kind, file))?;
        unless_cancelled()?;
    }
    for (name, capture) in pcapng::files(scenario, output) {
        claim.write(&name, |file| capture.write(file))?;
        unless_cancelled()?;
    }
    for (name, content) in further {
        claim.write(name, |file| std::io::Write::write_all(file, content))?;
    }
    let summary = summary(scenario, output, &started).sealed(claim.digests());
    claim.text(contents::SUMMARY, &summary.to_json())?;
    unless_cancelled()?;
    claim.complete()?;
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finished_flow, run};

    fn digest_of(path: &std::path::Path) -> String {
        durable::digest(&std::fs::read(path).unwrap())
    }

    fn read(dir: &std::path::Path, kind: Kind) -> Vec<RecordBatch> {
        let reader = ParquetReader::new(
            std::fs::File::open(dir.join(format!("{}.parquet", kind.name()))).unwrap(),
        )
        .unwrap();
        let (_, batches) = reader.batches(&reader.names(), 1 << 16, u64::MAX).unwrap();
        batches.collect::<Result<_, _>>().unwrap()
    }

    fn names(dir: &std::path::Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_whole_directory() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("small-3");
        let (mut scenario, mut output) = run();
        scenario.plan.record.captures = vec![afflux_net::spec::Capture { link: 4, reverse: true }];
        output.captures = vec![Vec::new()];
        let summary = write(
            claim(&dir, Replace::Nothing).unwrap(),
            &scenario,
            &output,
            ProcessStart::now(),
            &Progress::default(),
        )
        .unwrap();
        let files = [
            "flows.parquet",
            "jobs.parquet",
            "links.parquet",
            "ports.parquet",
            "scenario.toml",
            "spine0-leaf0.pcapng",
            "summary.json",
        ];
        assert_eq!(names(&dir), files);
        assert_eq!(std::fs::read_to_string(dir.join("scenario.toml")).unwrap(), scenario.resolved);
        let text = std::fs::read_to_string(dir.join("summary.json")).unwrap();
        assert_eq!(text, summary.to_json());
        // The summary has the digests of all other files, and its own digest, computed with an
        // empty value in its place.
        let digests: Vec<_> = files
            .iter()
            .filter(|name| **name != "summary.json")
            .map(|name| (name.to_string(), digest_of(&dir.join(name))))
            .collect();
        assert_eq!(summary.digests.clone().into_iter().collect::<Vec<_>>(), digests);
        let own = summary.summary_digest.unwrap();
        assert_eq!(durable::digest(text.replace(&own, "").as_bytes()), own);
        for kind in [Kind::Flows, Kind::Ports, Kind::Links, Kind::Jobs] {
            assert_eq!(
                read(&dir, kind),
                Tables::new(&scenario, &output).get(kind).unwrap().batches,
                "{}",
                kind.name()
            );
        }
    }

    #[test]
    fn a_failed_check_marks_the_flow_and_the_run_and_loses_nothing() {
        use arrow_array::{Array, Int64Array};
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("x");
        let (scenario, mut output) = run();
        output.flows[1] = afflux_net::record::FlowRecord {
            bytes_received: 5_000_000,
            ..finished_flow(2_000_499, 5_000_000_001)
        };
        output.flows[0].split.pacing += 1;
        output.counters.delivered_bytes -= 1;
        write(
            claim(&dir, Replace::Nothing).unwrap(),
            &scenario,
            &output,
            ProcessStart::now(),
            &Progress::default(),
        )
        .unwrap();
        let summary: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(dir.join("summary.json")).unwrap())
                .unwrap();
        let failed = summary["failed_checks"].as_array().unwrap();
        assert_eq!((failed.len(), &summary["failed_checks_total"]), (2, &2.into()));
        assert_eq!(
            (&failed[0]["flow"], &failed[0]["check"]),
            (&serde_json::Value::Null, &"conservation".into())
        );
        assert_eq!(
            (failed[1]["flow"].as_i64(), &failed[1]["check"]),
            (Some(scenario.plan.flows[0].id), &"split".into())
        );
        assert!(
            failed[1]["detail"].as_str().unwrap().starts_with("the parts add up to "),
            "{failed:?}"
        );
        assert_eq!(summary["conservation"]["holds"], false);
        let rows = read(&dir, Kind::Flows).remove(0);
        let nulls = |name: &str| {
            let column =
                rows.column_by_name(name).unwrap().as_any().downcast_ref::<Int64Array>().unwrap();
            (0..rows.num_rows()).map(|row| column.is_null(row)).collect::<Vec<_>>()
        };
        let finished = nulls("fct_ns");
        assert!(
            !finished[0] && finished.iter().filter(|unfinished| !**unfinished).count() > 1,
            "others keep theirs"
        );
        for part in ["propagation_ns", "serialization_ns", "queueing_ns", "window_ns"] {
            assert_eq!(nulls(part), [&[true], &finished[1..]].concat(), "{part}");
        }
    }

    #[test]
    fn cancelled_runs_leave_nothing() {
        let root = tempfile::tempdir().unwrap();
        let (scenario, output) = run();
        let progress = Progress::default();
        progress.cancel();
        let error = write(
            claim(&root.path().join("x"), Replace::Nothing).unwrap(),
            &scenario,
            &output,
            ProcessStart::now(),
            &progress,
        )
        .unwrap_err();
        assert!(matches!(error, ResultsError::Cancelled), "{error}");
        assert!(names(root.path()).is_empty());
    }
}
