//! Jobs of the Facebook traces (SWIM, UC Berkeley): per line job, submission in seconds, seconds since the one before, bytes of map input, shuffle
//! and output.

use super::settings::Work;
use crate::TrafficError;
use crate::text::{Lines, decimal, shown, whole, words};
use afflux_units::Time;
use std::path::Path;

#[derive(Debug, Clone, Copy)]
pub struct TraceOptions {
    pub size_scale: f64,
    pub time_scale: f64,
    /// Jobs from the top that are left out, and at most so many of the others.
    pub skip: u64,
    pub most: Option<u64>,
    pub bytes_per_reducer: u64,
    pub block: u64,
    /// The first job's submission.
    pub start: Time,
}

const PS_PER_SECOND: u64 = 1_000_000_000_000;
/// Later submissions are taken for a mistake.
const LATEST_S: f64 = 100.0 * 86_400.0;

/// Input of each map of a file.
pub fn blocks(bytes: u64, block: u64) -> impl Iterator<Item = u64> {
    (0..bytes.div_ceil(block)).map(move |index| block.min(bytes - index * block))
}

/// Names of jobs, and what they are.
pub fn read_trace(file: &Path, options: &TraceOptions) -> Result<Vec<(String, Work)>, TrafficError> {
    let mut lines = Lines::new(crate::text::open(file)?, file);
    let mut jobs: Vec<(String, Work)> = Vec::new();
    let (mut skipped, mut first) = (0, None);
    while options.most.is_none_or(|most| (jobs.len() as u64) < most) {
        let Some(line) = lines.next_filled()? else { break };
        let fields: Vec<&[u8]> = words(line).collect();
        let parsed = match fields.as_slice() {
            [name, submit, _, input, shuffle, output] => {
                let field = |text: &[u8], expected: &'static str| whole(text).ok_or((shown(text), expected));
                decimal(submit, 1_000).ok_or((shown(submit), "seconds")).and_then(|submit_ms| {
                    let sizes = [field(input, "bytes of map input")?, field(shuffle, "bytes of shuffle")?, field(output, "bytes of output")?];
                    Ok((String::from_utf8_lossy(name).into_owned(), submit_ms, sizes))
                })
            }
            other => Err((format!("{} fields", other.len()), "6: job, submission and gap in seconds, bytes of map input, shuffle and output")),
        };
        let (name, submit_ms, sizes) = parsed.map_err(|(found, expected)| TrafficError::input(lines.place(), found, expected))?;
        if let Some(expected) = crate::names::wrong(&name) {
            return Err(TrafficError::input(lines.place(), shown(name.as_bytes()), expected));
        }
        if skipped < options.skip {
            skipped += 1;
            continue;
        }
        let since = submit_ms.checked_sub(*first.get_or_insert(submit_ms));
        let since = since.ok_or_else(|| TrafficError::input(lines.place(), format!("a submission at {submit_ms} ms"), "jobs in the order of submission"))?;
        let seconds = since as f64 / 1e3 * options.time_scale;
        if seconds > LATEST_S {
            return Err(TrafficError::input(lines.place(), format!("a submission after {seconds} s"), "at most 100 days"));
        }
        let [input, shuffle, output] = sizes.map(|bytes| (bytes as f64 * options.size_scale) as u64);
        let submit = Time(options.start.0 + (seconds * PS_PER_SECOND as f64) as u64);
        // A job without input still runs one map.
        let maps: Vec<u64> = if input == 0 { vec![0] } else { blocks(input, options.block).collect() };
        let reducers = shuffle.div_ceil(options.bytes_per_reducer) as u32;
        jobs.push((name, Work { job: 0, submit, maps, shuffle, output, reducers }));
    }
    Ok(jobs)
}
