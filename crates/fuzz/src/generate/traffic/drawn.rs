//! Choices that blocks of traffic depend on, and sizes of flows.

use crate::choices::{Choices, Draw::*, Keys};
use crate::generate::facts::{Family, Named};
use crate::generate::topology::Fabric;
use std::path::Path;

/// Parts of the scenario that its traffic depends on.
pub struct Drawn<'a> {
    pub fabric: &'a Fabric,
    pub data: &'a Path,
    pub family: Family,
    /// The default transport, followed by the named ones.
    pub transports: &'a [Named],
    pub paused: &'a [u64],
    /// True if `run.until` is set, so that traffic may be endless.
    pub ends: bool,
}

impl Drawn<'_> {
    /// Returns the path of a file of `data`.
    pub fn file(&self, name: &str) -> String {
        self.data.join(name).display().to_string()
    }
}

/// Sets flow sizes with about this mean.
pub fn sizes(c: &mut Choices, keys: &mut Keys, around: &Drawn, mean: u64) {
    let mean = mean.clamp(1, 4_000_000);
    let mut table = Keys::default();
    match c.range(0, 9) {
        0..=4 => return keys.put("sizes", c.size(mean.div_ceil(3), mean)),
        5..=6 => {
            let least = c.range(1, mean);
            table.put("min", format!("{least}B"));
            table.put("max", format!("{}B", 2 * mean - least));
        }
        7..=8 => table.put("mean", format!("{mean}B")),
        _ if mean > 4_000 => {
            table.put("file", around.file("sizes.txt"));
            table.draw(c, &[(40, "whole_units", Flag(true))]);
        }
        _ => table.put("fixed", format!("{mean}B")),
    }
    keys.put("sizes", table);
}
