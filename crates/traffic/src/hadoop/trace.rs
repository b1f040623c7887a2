//! Jobs of the Facebook traces (SWIM, UC Berkeley). Each line has job, submission in seconds,
//! seconds since the previous submission, bytes of map input, shuffle and output.

use super::settings::Work;
use crate::TrafficError;
use crate::text::{Lines, decimal, shown, whole, words};
use afflux_units::Time;
use std::path::Path;

#[derive(Debug, Clone, Copy)]
pub struct TraceOptions {
    pub size_scale: f64,
    pub time_scale: f64,
    /// Number of jobs at the top of the file that are left out, and largest number of jobs to take
    /// after them.
    pub skip: u64,
    pub most: Option<u64>,
    pub bytes_per_reducer: u64,
    pub block: u64,
    /// Submission of the first job.
    pub start: Time,
}

/// Largest number of maps of one job, and of all jobs of a trace. A larger number is taken for a
/// mistake in a size.
pub const MOST_MAPS: u64 = 1_000_000;
const MOST_REDUCERS: u64 = 100_000;

const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// Returns the input of each map of a file in bytes.
pub fn blocks(bytes: u64, block: u64) -> impl Iterator<Item = u64> {
    (0..bytes.div_ceil(block)).map(move |index| block.min(bytes - index * block))
}

/// Reads a trace. Returns the names of its jobs, and the jobs.
pub fn read_trace(
    file: &Path,
    options: &TraceOptions,
) -> Result<Vec<(String, Work)>, TrafficError> {
    let mut lines = Lines::new(crate::text::open(file)?, file);
    let mut jobs: Vec<(String, Work)> = Vec::new();
    let (mut skipped, mut first, mut all) = (0, None, 0);
    while options.most.is_none_or(|most| (jobs.len() as u64) < most) {
        let Some(line) = lines.next_filled()? else { break };
        let fields: Vec<&[u8]> = words(line).collect();
        let parsed = match fields.as_slice() {
            [name, submit, _, input, shuffle, output] => {
                let field = |text: &[u8], expected: &'static str| {
                    whole(text).ok_or((shown(text), expected))
                };
                decimal(submit, 1_000).ok_or((shown(submit), "seconds")).and_then(|submit_ms| {
                    let sizes = [
                        field(input, "bytes of map input")?,
                        field(shuffle, "bytes of shuffle")?,
                        field(output, "bytes of output")?,
                    ];
                    Ok((String::from_utf8_lossy(name).into_owned(), submit_ms, sizes))
                })
            }
            other => Err((
                format!("{} fields", other.len()),
                "6: job, submission and gap in seconds, bytes of map input, shuffle and output",
            )),
        };
        let (name, submit_ms, sizes) = parsed
            .map_err(|(found, expected)| TrafficError::input(lines.place(), found, expected))?;
        if let Some(expected) = crate::names::wrong(&name) {
            return Err(TrafficError::input(lines.place(), shown(name.as_bytes()), expected));
        }
        if skipped < options.skip {
            skipped += 1;
            continue;
        }
        let since = submit_ms.checked_sub(*first.get_or_insert(submit_ms));
        let since = since.ok_or_else(|| {
            TrafficError::input(
                lines.place(),
                format!("a submission at {submit_ms} ms"),
                "jobs in the order of submission",
            )
        })?;
        let seconds = since as f64 / 1e3 * options.time_scale;
        let submit = options.start.0 as f64 + seconds * PS_PER_SECOND as f64;
        if submit > Time::LATEST.0 as f64 {
            return Err(TrafficError::input(
                lines.place(),
                format!("a submission after {seconds} s"),
                "submissions within 160 h, the latest time of a run (`time_scale` shortens the time between jobs)",
            ));
        }
        let [input, shuffle, output] =
            sizes.map(|bytes| (bytes as f64 * options.size_scale) as u64);
        let submit = Time(options.start.0 + (seconds * PS_PER_SECOND as f64) as u64);
        let reducers = shuffle.div_ceil(options.bytes_per_reducer);
        all += input.div_ceil(options.block).max(1);
        for (count, most, what) in
            [(all, MOST_MAPS, "maps so far"), (reducers, MOST_REDUCERS, "reducers")]
        {
            if count > most {
                let expected = format!(
                    "at most {most}: fewer jobs, a smaller `size_scale`, larger blocks or more bytes per reducer"
                );
                return Err(TrafficError::input(
                    lines.place(),
                    format!("{count} {what}"),
                    expected,
                ));
            }
        }
        // A job without input still runs one map.
        let maps: Vec<u64> =
            if input == 0 { vec![0] } else { blocks(input, options.block).collect() };
        jobs.push((
            name,
            Work { job: 0, submit, maps, shuffle, output, reducers: reducers as u32 },
        ));
    }
    Ok(jobs)
}
