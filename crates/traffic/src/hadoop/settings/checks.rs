//! Checks of the keys of a cluster.

use afflux_config::tree::{Key, Wrong};
use afflux_config::{Between, Duration, Off, Or, Size, Speed};
use afflux_units::{Bytes, Rate, Span};

/// A time that is drawn uniformly, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub least: Span,
    pub most: Span,
}

/// Longest time of keys that have a limit.
pub const DAY: Span = Span::from_s(86_400);

/// Multiplies a processor time on compute nodes, of which only a share is available.
pub fn longer(time: u64, share: f64) -> u64 {
    (time as f64 / share).round() as u64
}

/// Returns a time per megabyte as picoseconds per byte.
pub fn per_byte(Duration(time): Duration, share: f64, key: Key) -> Result<u64, Wrong> {
    if (Span::from_us(10)..=Span::from_s(60)).contains(&time) {
        return Ok(longer(time.0 / 1_000_000, share));
    }
    Err(Wrong::at(key, format!("\"{time}\": write \"10us\" to \"60s\" per megabyte")))
}

pub fn at_least_1_mbps(Speed(rate): Speed, key: Key) -> Result<Rate, Wrong> {
    if rate < Rate::from_mbps(1) {
        return Err(Wrong::at(key, format!("\"{rate}\": write at least \"1Mbps\"")));
    }
    Ok(rate)
}

pub fn range(Between(least, most): Between, _: Key) -> Result<Range, Wrong> {
    Ok(Range { least, most })
}

pub fn positive(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    if time > Span::ZERO && time <= DAY {
        return Ok(time);
    }
    Err(Wrong::at(key, format!("\"{time}\": write a time above 0, up to 24h")))
}

pub fn timeout(time: Or<Off, Duration>, key: Key) -> Result<Option<Span>, Wrong> {
    let or_off = |wrong: Wrong| Wrong::at(key.clone(), format!("{}, or \"off\"", wrong.message));
    time.0.map(|time| positive(time, key.clone()).map_err(or_off)).transpose()
}

pub fn count<const LEAST: u32>(count: u32, key: Key) -> Result<u32, Wrong> {
    if (LEAST..=1_000_000).contains(&count) {
        return Ok(count);
    }
    Err(Wrong::at(key, format!("found {count}: write a whole number from {LEAST} to 1000000")))
}

pub fn counts(numbers: [u32; 2], key: Key) -> Result<(u32, u32), Wrong> {
    Ok((count::<0>(numbers[0], key.clone())?, count::<0>(numbers[1], key)?))
}

/// Checks a number of replicas, which are on different data nodes.
pub fn replicas(number: u32, nodes: &[u32], key: Key) -> Result<u32, Wrong> {
    match count::<1>(number, key.clone())? {
        number if number as usize > nodes.len() => {
            Err(Wrong::at(key, format!("found {number}: there are {} data nodes", nodes.len())))
        }
        number => Ok(number),
    }
}

pub fn size<const LEAST: u64>(Size(Bytes(bytes)): Size, key: Key) -> Result<u64, Wrong> {
    if (LEAST..=1 << 50).contains(&bytes) {
        return Ok(bytes);
    }
    Err(Wrong::at(key, format!("\"{bytes}B\": write a size from {LEAST}B to 1024TiB")))
}
