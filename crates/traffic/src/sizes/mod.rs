//! Flow-size distributions.

mod file;
mod named;
mod table;

pub use file::FileOptions;
pub use table::Ranks;

use crate::TrafficError;
use std::path::Path;
use table::Table;

/// Distribution of the sizes of flows in bytes. Sampling takes a uniform number and inverts the
/// distribution function, so the same draws give comparable flows under every distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeDistribution {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Table(Table),
    Fixed(u64),
    /// Uniform distribution, both ends included.
    Uniform {
        min: u64,
        max: u64,
    },
    Exponential {
        mean: f64,
    },
}

/// Number of parts into which each piece of a table is cut for an expectation without a closed
/// form.
const PARTS: usize = 65_536;

impl SizeDistribution {
    /// Returns a built-in distribution. Letter case does not matter; see
    /// [`SizeDistribution::names`].
    pub fn named(name: &str) -> Result<Self, TrafficError> {
        named::find(name).map(|(name, table)| Self::table(name, table))
    }
    /// Returns the names that [`SizeDistribution::named`] knows.
    pub fn names() -> Vec<&'static str> {
        named::names()
    }
    /// Reads a distribution file. It has two columns, size and cumulative probability (fraction or
    /// percent), separated by a comma or blanks, or three columns, `size 1 cumulative` (ns-2). A
    /// header `size_bytes,cdf`, blank lines and `#` comments are allowed.
    pub fn read(file: &Path, options: &FileOptions) -> Result<Self, TrafficError> {
        let name = file
            .file_stem()
            .map_or_else(|| "file".to_string(), |stem| stem.to_string_lossy().into_owned());
        Ok(Self::table(&name, file::read(crate::text::open(file)?, file, options)?))
    }
    /// Reads a distribution from the text of `file`.
    pub fn read_from(
        text: &[u8],
        file: &Path,
        options: &FileOptions,
    ) -> Result<Self, TrafficError> {
        Ok(Self::table("file", file::read(text, file, options)?))
    }
    /// Returns the distribution in which every flow has `bytes`.
    pub fn fixed(bytes: u64) -> Result<Self, TrafficError> {
        if bytes == 0 {
            return Err(TrafficError::parameter("size", "0 bytes", "at least one byte"));
        }
        Ok(SizeDistribution { name: "fixed".into(), kind: Kind::Fixed(bytes) })
    }
    /// Returns the uniform distribution over whole bytes, both ends included.
    pub fn uniform(min: u64, max: u64) -> Result<Self, TrafficError> {
        if min == 0 || max < min || max > table::LARGEST_BYTES as u64 {
            return Err(TrafficError::parameter(
                "size",
                format!("{min} to {max} bytes"),
                "a smallest size of at least one byte, not above the largest",
            ));
        }
        Ok(SizeDistribution { name: "uniform".into(), kind: Kind::Uniform { min, max } })
    }
    /// Returns the exponential distribution with mean `mean_bytes`, rounded to whole bytes, at
    /// least one.
    pub fn exponential(mean_bytes: f64) -> Result<Self, TrafficError> {
        if !(1.0..=table::LARGEST_BYTES).contains(&mean_bytes) {
            return Err(TrafficError::parameter(
                "size",
                format!("a mean of {mean_bytes} bytes"),
                "a mean of at least one byte",
            ));
        }
        Ok(SizeDistribution {
            name: "exponential".into(),
            kind: Kind::Exponential { mean: mean_bytes },
        })
    }
    fn table(name: &str, table: Table) -> Self {
        SizeDistribution { name: name.to_string(), kind: Kind::Table(table) }
    }

    /// Returns the middle column of a file with three columns. Such files come from ns-2, and their
    /// sizes usually count packets.
    pub fn ranks(&self) -> Ranks {
        if let Kind::Table(table) = &self.kind { table.ranks() } else { Ranks::default() }
    }
    /// Returns the name for results and messages.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Returns the size for a uniform draw `u` in [0, 1): whole bytes, at least one.
    pub fn sample(&self, u: f64) -> u64 {
        match &self.kind {
            Kind::Table(table) => table.sample(u),
            Kind::Fixed(bytes) => *bytes,
            // Below 2^53 bytes the product is exact enough never to exceed `max`.
            Kind::Uniform { min, max } => (min + (u * (max - min + 1) as f64) as u64).min(*max),
            Kind::Exponential { mean } => (-libm::log(1.0 - u) * mean + 0.5).max(1.0) as u64,
        }
    }
    /// Returns the mean in bytes of the distribution function itself, by exact integration of its
    /// straight pieces. Drawn sizes are rounded to bytes, or up to whole packets
    /// ([`SizeDistribution::mean_drawn`]).
    pub fn mean(&self) -> f64 {
        match &self.kind {
            Kind::Table(table) => table.mean(),
            Kind::Fixed(bytes) => *bytes as f64,
            Kind::Uniform { min, max } => (*min as f64 + *max as f64) / 2.0,
            Kind::Exponential { mean } => *mean,
        }
    }
    /// Returns the mean of the drawn sizes in bytes. If sizes are rounded up, it is above
    /// [`SizeDistribution::mean`] by about half a packet.
    pub fn mean_drawn(&self) -> f64 {
        match &self.kind {
            Kind::Table(table) if table.whole_units() => self.expect(|bytes| bytes as f64),
            _ => self.mean(),
        }
    }
    /// Returns the size in bytes that a share `p` of flows does not exceed, before rounding.
    pub fn quantile(&self, p: f64) -> f64 {
        let p = p.clamp(0.0, 1.0);
        match &self.kind {
            Kind::Table(table) => table.quantile(p),
            Kind::Exponential { mean } => -libm::log(1.0 - p) * mean,
            _ => self.sample(p) as f64,
        }
    }
    /// Returns the mean of `cost` over drawn sizes, to about one part in a million for costs like
    /// headers and padding.
    pub fn expect(&self, cost: impl Fn(u64) -> f64) -> f64 {
        let over = |from: f64, to: f64, parts: usize| {
            let step = (to - from) / parts as f64;
            (0..parts).map(|part| cost(self.sample(from + (part as f64 + 0.5) * step))).sum::<f64>()
                * step
        };
        match &self.kind {
            Kind::Table(table) => {
                let pieces = table.pieces();
                let parts = (PARTS / pieces.len().max(1)).max(64);
                pieces
                    .into_iter()
                    .map(|(from, to, flat)| over(from, to, if flat { 1 } else { parts }))
                    .sum()
            }
            Kind::Fixed(bytes) => cost(*bytes),
            _ => over(0.0, 1.0, 16 * PARTS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_kinds() {
        let fixed = SizeDistribution::fixed(5).unwrap();
        assert_eq!((fixed.sample(0.0), fixed.sample(0.999), fixed.mean()), (5, 5, 5.0));
        let uniform = SizeDistribution::uniform(10, 19).unwrap();
        assert_eq!(
            (uniform.sample(0.0), uniform.sample(0.999_999), uniform.mean()),
            (10, 19, 14.5)
        );
        assert!((uniform.expect(|bytes| bytes as f64) - 14.5).abs() < 1e-3);
        let exponential = SizeDistribution::exponential(10_000.0).unwrap();
        assert_eq!(exponential.sample(0.0), 1);
        assert!((exponential.expect(|bytes| bytes as f64) / 10_000.0 - 1.0).abs() < 1e-4);
        assert!(
            SizeDistribution::fixed(0).is_err()
                && SizeDistribution::uniform(5, 4).is_err()
                && SizeDistribution::exponential(f64::NAN).is_err()
        );
    }
}
