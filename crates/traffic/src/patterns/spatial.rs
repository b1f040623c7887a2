//! Rack-to-rack traffic matrices.

use crate::text::{shown, unreadable};
use crate::{Place, Racks, TrafficError};
use afflux_engine::random::Stream;
use std::io::Read;
use std::path::Path;

/// Traffic weights from rack (row) to rack (column): counts or shares of flows. Destinations within
/// a rack are uniform.
#[derive(Debug, Clone, PartialEq)]
pub struct SpatialMatrix {
    rows: Vec<Vec<f64>>,
}

impl SpatialMatrix {
    /// Creates a square matrix of weights that are not negative and not all zero.
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Self, TrafficError> {
        let wrong = |found: String| {
            Err(TrafficError::parameter(
                "matrix",
                found,
                "a square matrix of weights, none negative and not all 0",
            ))
        };
        let racks = rows.len();
        if let Some(row) = rows.iter().position(|row| row.len() != racks) {
            return wrong(format!("{} weights in row {row} of {racks} rows", rows[row].len()));
        }
        if let Some(weight) =
            rows.iter().flatten().find(|weight| !(**weight >= 0.0 && weight.is_finite()))
        {
            return wrong(format!("a weight of {weight}"));
        }
        if rows.iter().flatten().all(|weight| *weight == 0.0) {
            return wrong("no traffic".into());
        }
        Ok(SpatialMatrix { rows })
    }
    /// Reads Parsimon's form, `{"matrix": {"inner": [[…], …]}}`, or the bare rows; gzip or plain.
    pub fn read(file: &Path) -> Result<Self, TrafficError> {
        let mut text = Vec::new();
        crate::text::open(file)?
            .read_to_end(&mut text)
            .map_err(|error| unreadable(file, &error))?;
        Self::read_from(&text, file)
    }
    /// Reads a matrix as [`SpatialMatrix::read`] does, from the text of `file`.
    pub fn read_from(text: &[u8], file: &Path) -> Result<Self, TrafficError> {
        const FORM: &str = "{\"matrix\": {\"inner\": [[…], …]}} with a row of weights per rack";
        let value: serde_json::Value = serde_json::from_slice(text).map_err(|error| {
            TrafficError::input(
                Place::line(file, error.line().max(1) as u64),
                error.to_string(),
                FORM,
            )
        })?;
        let rows = value
            .pointer("/matrix/inner")
            .or_else(|| value.get("inner"))
            .or_else(|| value.get("matrix"))
            .unwrap_or(&value);
        let rows: Option<Vec<Vec<f64>>> = rows.as_array().and_then(|rows| {
            rows.iter()
                .map(|row| row.as_array()?.iter().map(serde_json::Value::as_f64).collect())
                .collect()
        });
        let rows = rows.ok_or_else(|| {
            TrafficError::input(Place::whole(file), shown(text.trim_ascii()), FORM)
        })?;
        Self::new(rows).map_err(|error| match error {
            TrafficError::Parameter { found, allowed, .. } => {
                TrafficError::input(Place::whole(file), found, allowed)
            }
            other => other,
        })
    }
    pub(super) fn check(&self, racks: &Racks) -> Result<(), TrafficError> {
        if self.rows.len() == racks.len() as usize {
            return Ok(());
        }
        Err(TrafficError::parameter(
            "matrix",
            format!("a matrix of {} racks", self.rows.len()),
            format!("one of {} racks", racks.len()),
        ))
    }
    /// Returns the rate of each host relative to the average: its rack's share of all traffic,
    /// spread over the rack's hosts. Sources in racks that send nothing get 0.
    pub fn weights(&self, racks: &Racks, sources: &[u32]) -> Result<Vec<f64>, TrafficError> {
        self.check(racks)?;
        let senders = racks.counts(sources);
        let sums: Vec<f64> = (0..racks.len()).map(|rack| self.row(racks, rack).sum()).collect();
        let total = self.total(racks, &senders);
        if total == 0.0 {
            return Err(TrafficError::parameter(
                "matrix",
                "no traffic from these sources",
                "weights for at least one of them",
            ));
        }
        let weight = |rack: usize| sums[rack] / total * sources.len() as f64 / senders[rack] as f64;
        Ok(sources.iter().map(|host| weight(racks.rack(*host) as usize)).collect())
    }
    /// Returns the share of all traffic from each rack (row) to each rack, for the load of links.
    /// `senders`: number of sources in each rack. A rack without sources sends nothing.
    pub(super) fn shares(&self, racks: &Racks, senders: &[usize]) -> Vec<Vec<f64>> {
        let total = self.total(racks, senders);
        let share = |weight: f64, senders: usize| if senders == 0 { 0.0 } else { weight / total };
        (0..racks.len())
            .zip(senders)
            .map(|(rack, senders)| {
                self.row(racks, rack).map(|weight| share(weight, *senders)).collect()
            })
            .collect()
    }
    /// Returns the sum of all weights of racks with sources.
    fn total(&self, racks: &Racks, senders: &[usize]) -> f64 {
        (0..racks.len())
            .zip(senders)
            .filter(|(_, senders)| **senders > 0)
            .map(|(rack, _)| self.row(racks, rack).sum::<f64>())
            .sum()
    }
    /// Returns a row of weights. A rack of one host sends nothing to itself.
    fn row<'a>(&'a self, racks: &'a Racks, from: u32) -> impl Iterator<Item = f64> + 'a {
        let alone = racks.of(from).len() == 1;
        self.rows[from as usize]
            .iter()
            .enumerate()
            .map(move |(to, weight)| if alone && to == from as usize { 0.0 } else { *weight })
    }
    /// Returns the racks that rack `from` sends to.
    pub(super) fn receivers(&self, racks: &Racks, from: u32) -> Vec<u32> {
        let weights = self.row(racks, from).enumerate();
        weights.filter(|(_, weight)| *weight > 0.0).map(|(to, _)| to as u32).collect()
    }
    /// Draws a destination rack; `None` if the rack sends nothing.
    pub(super) fn choose(&self, racks: &Racks, from: u32, stream: &mut Stream) -> Option<u32> {
        let sum: f64 = self.row(racks, from).sum();
        let mut rest = stream.next_f64() * sum;
        let mut last = None;
        for (to, weight) in self.row(racks, from).enumerate().filter(|(_, weight)| *weight > 0.0) {
            last = Some(to as u32);
            if rest < weight {
                break;
            }
            rest -= weight;
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_weights_and_shares() {
        let matrix =
            SpatialMatrix::read_from(br#"{"matrix":{"inner":[[1,3],[0,4]]}}"#, Path::new("m.json"))
                .unwrap();
        let racks = Racks::uniform(4, 2);
        assert_eq!(matrix.weights(&racks, &[0, 1, 2, 3]).unwrap(), [1.0; 4]);
        assert_eq!(matrix.shares(&racks, &[2, 2])[0], [1.0 / 8.0, 3.0 / 8.0]);
        // Without sources in rack 1, all traffic comes from rack 0.
        assert_eq!(matrix.shares(&racks, &[1, 0]), [[0.25, 0.75], [0.0, 0.0]]);
        let mut stream = Stream::new(1, 1, 1);
        let away = (0..4_000).filter(|_| matrix.choose(&racks, 0, &mut stream) == Some(1)).count();
        assert!((2_900..3_100).contains(&away), "{away}");
        // Racks of one host send nothing to themselves.
        let alone = Racks::uniform(2, 1);
        assert_eq!(matrix.choose(&alone, 0, &mut stream), Some(1));
        assert_eq!(matrix.choose(&alone, 1, &mut stream), None);
    }

    #[test]
    fn wrong_matrices() {
        for (text, says) in [
            ("[[1,2]]", "2 weights in row 0"),
            ("[[-1]]", "-1"),
            ("[[0]]", "no traffic"),
            ("{", "m.json:1"),
            ("{\"a\":1}", "found `{\\\"a\\\":1}`, expected"),
        ] {
            let error = SpatialMatrix::read_from(text.as_bytes(), Path::new("m.json"))
                .unwrap_err()
                .to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!(
            SpatialMatrix::new(vec![vec![1.0]])
                .unwrap()
                .weights(&Racks::uniform(4, 2), &[0])
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = SpatialMatrix::read_from(&text, Path::new("f"));
        }
    }
}
