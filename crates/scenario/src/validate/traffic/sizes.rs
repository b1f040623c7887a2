//! Flow sizes: resolves words, files and tables into distributions.

use super::common;
use super::context::TrafficContext;
use crate::inputs::Inputs;
use crate::workload::hosts::{SizeTable, Sizes};
use afflux_config::Size;
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_traffic::{FileOptions, SizeDistribution};
use afflux_units::Bytes;
use std::path::Path;

/// Resolves the sizes of a key that is required or has been filled in.
pub fn required(
    slot: &mut Option<Sizes>,
    key: &Key,
    context: &mut TrafficContext,
) -> Result<SizeDistribution, Wrong> {
    distribution(slot.as_mut().expect("required"), key, context)
}

fn distribution(
    sizes: &mut Sizes,
    key: &Key,
    context: &mut TrafficContext,
) -> Result<SizeDistribution, Wrong> {
    if let Sizes::Text(text) = sizes {
        match text.parse::<Bytes>() {
            Ok(bytes) => {
                return SizeDistribution::fixed(bytes.0)
                    .map_err(|_| Wrong::at(key.clone(), "\"0B\": a flow has at least one byte"));
            }
            Err(error) if looks_like_size(text) => {
                return Err(Wrong::at(key.clone(), error.to_string().replace('`', "\"")));
            }
            Err(_) => {}
        }
        if !text.contains(['/', '.', '\\']) {
            let known = SizeDistribution::named(text);
            return known.map_err(|error| rename(common::wrong(error, key), key));
        }
        *sizes =
            Sizes::Table(SizeTable { file: Some(std::mem::take(text)), ..SizeTable::default() });
    }
    match sizes {
        Sizes::Table(table) => {
            let without_unit = table.unit.is_none();
            let read = from_table(table, key, context.inputs)?;
            let ranks = read.ranks();
            if without_unit && ranks.given {
                let what = "has three columns, as files of ns-2, whose sizes usually count packets, and is read as bytes: write unit = \"1460B\", or unit = \"1B\" if they are bytes";
                context.warnings.push(Wrong::at(key.clone(), what));
            }
            if let (Some(line), Some(file)) = (ranks.other, &table.file) {
                let file = Path::new(file);
                let what =
                    "the middle one of three columns is not 1, as in files of ns-2: it is left out";
                context.warnings.push(Wrong::input(key.clone(), file, Some(line as usize), what));
            }
            Ok(read)
        }
        Sizes::Text(_) => unreachable!("texts are names, sizes or files"),
    }
}

/// True for a number without a unit or with a unit of bytes or bits, known or not: no name of a
/// distribution and hardly that of a file.
fn looks_like_size(text: &str) -> bool {
    let number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+');
    let unit = text.trim().trim_start_matches(number).trim_start();
    let numeric = text.contains(|c: char| c.is_ascii_digit()) && unit.len() < text.trim().len();
    let of_bytes =
        unit.len() <= 3 && unit.ends_with(['B', 'b']) && unit.chars().all(char::is_alphabetic);
    numeric && (unit.is_empty() || of_bytes)
}

fn from_table(
    table: &mut SizeTable,
    key: &Key,
    inputs: &Inputs,
) -> Result<SizeDistribution, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let forms = [
        table.file.is_some(),
        table.fixed.is_some(),
        table.min.is_some() || table.max.is_some(),
        table.mean.is_some(),
    ];
    if forms.iter().filter(|given| **given).count() != 1 {
        return Err(Wrong::at(key.clone(), "write one of file, fixed, min with max, or mean"));
    }
    if table.file.is_none() {
        for (name, given) in [
            ("sha256", table.sha256.is_some()),
            ("unit", table.unit.is_some()),
            ("whole_units", table.whole_units.is_some()),
        ] {
            if given {
                return Err(meaningless(at(name), "sizes that are not from a file"));
            }
        }
    }
    if let Some(file) = &mut table.file {
        let path = inputs.identify(file, &mut table.sha256, &at("file"))?;
        let options = FileOptions {
            unit_bytes: fill(&mut table.unit, Size(Bytes(1))).0.0,
            whole_units: fill(&mut table.whole_units, false),
        };
        return SizeDistribution::read(&path, &options).map_err(|error| common::wrong(error, key));
    }
    let made = match (table.fixed, table.min, table.max, table.mean) {
        (Some(Size(bytes)), ..) => SizeDistribution::fixed(bytes.0),
        (_, Some(Size(min)), Some(Size(max)), _) => SizeDistribution::uniform(min.0, max.0),
        (_, _, _, Some(Size(mean))) => SizeDistribution::exponential(mean.0 as f64),
        _ => return Err(Wrong::at(key.clone(), "min needs max: write both")),
    };
    made.map_err(|error| rename(common::wrong(error, key), key))
}

/// Sets the key of an error, which the traffic crate does not know.
fn rename(mut wrong: Wrong, key: &Key) -> Wrong {
    wrong.key = key.clone();
    wrong
}
