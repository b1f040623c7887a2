//! Rules by which a source picks the destination of each flow.

use super::spatial::SpatialMatrix;
use crate::{Racks, TrafficError};
use afflux_engine::random::Stream;

/// Rule for destinations. No rule picks the source itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Destinations {
    /// Uniform over all other hosts: the HPCC and ConWeave generators, pFabric's scripts.
    Uniform,
    /// Uniform over the hosts of other racks.
    OtherRacks(Racks),
    /// A share of flows stays in the rack, and the others leave it. Destinations are uniform within
    /// each group.
    RackLocal { racks: Racks, share: f64 },
    /// A share of flows goes to one of the hot hosts, and the others go to any host. Destinations
    /// are uniform within each group.
    Hotspot { hosts: Vec<u32>, share: f64 },
    /// Weights from rack to rack, uniform within the rack (Parsimon's spatial matrices). The
    /// sources' weights must be set as well.
    Matrix { matrix: SpatialMatrix, racks: Racks },
    /// Each source has one destination (a permutation, a stride).
    Pairs(Vec<(u32, u32)>),
}

/// A rule that is prepared for its sorted candidates.
pub(super) struct Chooser<'a> {
    rule: &'a Destinations,
    candidates: &'a [u32],
    hot: Vec<u32>,
    pairs: std::collections::BTreeMap<u32, u32>,
}

impl<'a> Chooser<'a> {
    /// Prepares a rule, and checks that every source has a destination.
    pub fn new(
        rule: &'a Destinations,
        sources: &[u32],
        candidates: &'a [u32],
    ) -> Result<Self, TrafficError> {
        let mut chooser = Chooser { rule, candidates, hot: Vec::new(), pairs: Default::default() };
        let highest = sources.iter().chain(candidates).max().copied().unwrap_or(0);
        match rule {
            Destinations::OtherRacks(racks)
            | Destinations::RackLocal { racks, .. }
            | Destinations::Matrix { racks, .. }
                if highest >= racks.hosts() =>
            {
                return Err(TrafficError::parameter(
                    "destinations",
                    format!("host {highest}"),
                    format!("the {} hosts that stand in racks", racks.hosts()),
                ));
            }
            Destinations::RackLocal { share, .. } | Destinations::Hotspot { share, .. }
                if !(0.0..=1.0).contains(share) =>
            {
                return Err(TrafficError::parameter("share", share, "a number from 0 to 1"));
            }
            Destinations::Hotspot { hosts, .. } => {
                chooser.hot = super::sorted("hotspot", hosts, 1)?
            }
            Destinations::Matrix { matrix, racks } => matrix.check(racks)?,
            Destinations::Pairs(pairs) => chooser.pairs = pairs.iter().copied().collect(),
            _ => {}
        }
        match sources.iter().find(|source| !chooser.always(**source)) {
            Some(lost) => Err(TrafficError::parameter(
                "destinations",
                format!("none for host {lost}"),
                "at least one other host for every source",
            )),
            None => Ok(chooser),
        }
    }

    /// True if every draw gives `source` a destination.
    fn always(&self, source: u32) -> bool {
        let mut stream = Stream::new(0, 0, 0);
        if let Destinations::Matrix { matrix, racks } = self.rule {
            let receivers = matrix.receivers(racks, racks.rack(source));
            let mut has = |rack: u32| self.inside(racks.of(rack), source, &mut stream).is_some();
            return !receivers.is_empty() && receivers.into_iter().all(&mut has);
        }
        // The other rules fall back on any available host, so one draw shows whether there is one.
        self.choose(source, &mut stream).is_some()
    }

    /// Returns a destination for a flow of `source`; `None` if there is none.
    pub fn choose(&self, source: u32, stream: &mut Stream) -> Option<u32> {
        match self.rule {
            Destinations::Uniform => {
                without(self.candidates, span(self.candidates, source, source + 1), stream)
            }
            Destinations::OtherRacks(racks) => self.outside(racks, source, stream),
            Destinations::RackLocal { racks, share } => {
                let stays = stream.next_f64() < *share;
                // If a rack or the fabric has no other host, all flows go the other way.
                self.rack_local(racks, source, stays, stream)
                    .or_else(|| self.rack_local(racks, source, !stays, stream))
            }
            Destinations::Hotspot { share, .. } => {
                let to_hot = stream.next_f64() < *share;
                let hot = if to_hot {
                    without(&self.hot, span(&self.hot, source, source + 1), stream)
                } else {
                    None
                };
                hot.or_else(|| {
                    without(self.candidates, span(self.candidates, source, source + 1), stream)
                })
            }
            Destinations::Matrix { matrix, racks } => self.inside(
                racks.of(matrix.choose(racks, racks.rack(source), stream)?),
                source,
                stream,
            ),
            Destinations::Pairs(_) => self.pairs.get(&source).copied().filter(|dst| *dst != source),
        }
    }

    fn rack_local(
        &self,
        racks: &Racks,
        source: u32,
        stays: bool,
        stream: &mut Stream,
    ) -> Option<u32> {
        if stays {
            self.inside(racks.of(racks.rack(source)), source, stream)
        } else {
            self.outside(racks, source, stream)
        }
    }

    fn outside(&self, racks: &Racks, source: u32, stream: &mut Stream) -> Option<u32> {
        let own = racks.of(racks.rack(source));
        without(self.candidates, span(self.candidates, own.start, own.end), stream)
    }

    fn inside(&self, rack: std::ops::Range<u32>, source: u32, stream: &mut Stream) -> Option<u32> {
        let (from, to) = span(self.candidates, rack.start, rack.end);
        let within = &self.candidates[from..to];
        without(within, span(within, source, source + 1), stream)
    }
}

/// Returns the positions of the hosts `from..to` in sorted `hosts`.
fn span(hosts: &[u32], from: u32, to: u32) -> (usize, usize) {
    (hosts.partition_point(|host| *host < from), hosts.partition_point(|host| *host < to))
}

/// Draws uniformly from `hosts` without the positions `cut`.
fn without(hosts: &[u32], cut: (usize, usize), stream: &mut Stream) -> Option<u32> {
    let left = hosts.len() - (cut.1 - cut.0);
    if left == 0 {
        return None;
    }
    let position = stream.below(left as u64) as usize;
    Some(hosts[if position < cut.0 { position } else { position + cut.1 - cut.0 }])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts how often `source` chooses each of `hosts` hosts.
    fn counts(rule: Destinations, source: u32, hosts: u32, draws: u32) -> Vec<u32> {
        let all: Vec<u32> = (0..hosts).collect();
        let chooser = Chooser::new(&rule, &all, &all).unwrap();
        let mut stream = Stream::new(1, 2, 3);
        let mut counts = vec![0; hosts as usize];
        for _ in 0..draws {
            counts[chooser.choose(source, &mut stream).unwrap() as usize] += 1;
        }
        counts
    }

    #[test]
    fn uniform_over_others() {
        let counts = counts(Destinations::Uniform, 2, 5, 40_000);
        assert_eq!(counts[2], 0);
        assert!(
            [0, 1, 3, 4].iter().all(|host| (9_600..10_400).contains(&counts[*host])),
            "{counts:?}"
        );
    }

    #[test]
    fn racks() {
        let racks = Racks::uniform(6, 2);
        let other = counts(Destinations::OtherRacks(racks.clone()), 2, 6, 4_000);
        assert_eq!((other[2], other[3]), (0, 0));
        assert!(other[0] > 900 && other[5] > 900);
        let local = counts(Destinations::RackLocal { racks, share: 0.75 }, 2, 6, 4_000);
        assert!((2_900..3_100).contains(&local[3]), "{local:?}");
    }

    #[test]
    fn hot_hosts() {
        let hot = counts(Destinations::Hotspot { hosts: vec![4], share: 0.5 }, 0, 6, 10_000);
        assert!((5_800..6_200).contains(&hot[4]), "{hot:?}");
    }

    #[test]
    fn everybody_needs_a_destination() {
        let racks = Racks::uniform(2, 2);
        assert!(Chooser::new(&Destinations::OtherRacks(racks.clone()), &[0, 1], &[0, 1]).is_err());
        assert!(Chooser::new(&Destinations::OtherRacks(racks), &[0, 2], &[0, 2]).is_err());
        assert!(Chooser::new(&Destinations::Pairs(vec![(0, 1)]), &[0, 1], &[0, 1]).is_err());
        assert!(Chooser::new(&Destinations::Uniform, &[0], &[0]).is_err());
        let matrix = SpatialMatrix::new(vec![vec![1.0, 1e-9], vec![1.0, 0.0]]).unwrap();
        let rule = Destinations::Matrix { matrix, racks: Racks::uniform(4, 2) };
        assert!(Chooser::new(&rule, &[0, 2], &[0, 1, 2]).is_ok());
        assert!(Chooser::new(&rule, &[0, 2], &[0, 2]).is_err());
        assert!(Chooser::new(&Destinations::Uniform, &[0, 1], &[1, 2]).is_ok());
    }
}
