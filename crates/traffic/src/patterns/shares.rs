//! Mean shares of a pattern's traffic between hosts and racks, for the load of the most loaded
//! link.

use super::destinations::Chooser;
use super::random::Random;
use super::sorted;
use crate::{Racks, TrafficError};

/// Shares of all the block's bytes. Each field adds up to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// Share of each source host.
    pub from_host: Vec<f64>,
    /// Share of each destination host.
    pub to_host: Vec<f64>,
    /// Share from rack to rack, as `racks[from][to]`.
    pub racks: Vec<Vec<f64>>,
}

impl Shares {
    /// Returns the share that leaves `rack`.
    pub fn leaving(&self, rack: u32) -> f64 {
        let rack = rack as usize;
        self.racks[rack]
            .iter()
            .enumerate()
            .filter(|(to, _)| *to != rack)
            .map(|(_, share)| share)
            .sum()
    }
    /// Returns the share that enters `rack` from other racks.
    pub fn entering(&self, rack: u32) -> f64 {
        let rack = rack as usize;
        self.racks
            .iter()
            .enumerate()
            .filter(|(from, _)| *from != rack)
            .map(|(_, row)| row[rack])
            .sum()
    }
}

impl Random {
    /// Returns the expected shares. Sizes do not matter, and neither do rates except for their
    /// proportions.
    pub fn shares(&self, racks: &Racks) -> Result<Shares, TrafficError> {
        let rates = self.rates()?;
        let destinations = sorted("destinations", &self.destinations, 1)?;
        let sources: Vec<u32> = rates.iter().map(|(source, _)| *source).collect();
        let hot = if let crate::Destinations::Hotspot { hosts, .. } = &self.choice {
            hosts.as_slice()
        } else {
            &[]
        };
        if let Some(host) =
            sources.iter().chain(&destinations).chain(hot).find(|host| **host >= racks.hosts())
        {
            return Err(TrafficError::parameter(
                "hosts",
                host,
                format!("the {} hosts that stand in racks", racks.hosts()),
            ));
        }
        let chooser = Chooser::new(&self.choice, &sources, &destinations)?;
        let rack_of: Vec<usize> =
            (0..racks.len()).flat_map(|rack| racks.of(rack).map(move |_| rack as usize)).collect();
        let hosts = racks.hosts() as usize;
        let total: f64 = rates.iter().map(|(_, rate)| rate).sum();
        let mut shares = Shares {
            from_host: vec![0.0; hosts],
            to_host: vec![0.0; hosts],
            racks: vec![vec![0.0; racks.len() as usize]; racks.len() as usize],
        };
        for (source, rate) in rates {
            let part = rate / total;
            shares.from_host[source as usize] = part;
            let row = &mut shares.racks[rack_of[source as usize]];
            chooser.probabilities(source, &mut |dst, probability| {
                shares.to_host[dst as usize] += part * probability;
                row[rack_of[dst as usize]] += part * probability;
            });
        }
        Ok(shares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Destinations, Draws, SizeDistribution, SpatialMatrix, Stop, Template};
    use afflux_units::Time;

    fn random(choice: Destinations, hosts: u32) -> Random {
        Random {
            sources: (0..hosts).collect(),
            destinations: (0..hosts).collect(),
            choice,
            sizes: SizeDistribution::fixed(1).unwrap(),
            arrivals: Arrivals::Poisson,
            flows_per_second: 1e6,
            weights: None,
            start: Time::ZERO,
            stop: Stop::flows(40_000),
        }
    }

    #[test]
    fn uniform_traffic_of_the_conweave_fabric() {
        // In 8 racks of 16 hosts, 112 of 127 destinations are in other racks.
        let shares = random(Destinations::Uniform, 128).shares(&Racks::uniform(128, 16)).unwrap();
        assert!((shares.leaving(3) - 112.0 / 127.0 / 8.0).abs() < 1e-12);
        assert!((shares.entering(3) - shares.leaving(3)).abs() < 1e-12);
        assert!((shares.to_host[9] - 1.0 / 128.0).abs() < 1e-12);
    }

    #[test]
    fn shares_are_what_is_drawn() {
        let racks = Racks::new(&[1, 3, 4]);
        let matrix =
            SpatialMatrix::new(vec![vec![5.0, 1.0, 2.0], vec![1.0, 1.0, 0.0], vec![0.5, 3.0, 2.0]])
                .unwrap();
        let rules = [
            Destinations::Uniform,
            Destinations::OtherRacks(racks.clone()),
            Destinations::RackLocal { racks: racks.clone(), share: 0.7 },
            Destinations::Hotspot { hosts: vec![0, 5], share: 0.4 },
            Destinations::Matrix { matrix: matrix.clone(), racks: racks.clone() },
            Destinations::Pairs((0..8).map(|host| (host, (host + 3) % 8)).collect()),
        ];
        for rule in rules {
            let mut random = random(rule.clone(), 8);
            if let Destinations::Matrix { .. } = rule {
                random.weights = Some(matrix.weights(&racks, &random.sources).unwrap());
            }
            let shares = random.shares(&racks).unwrap();
            let flows = random.generate(&Template::default(), &Draws::new(1, "")).unwrap().flows;
            let drawn = |count: usize| count as f64 / flows.len() as f64;
            for host in 0..8 {
                let from = drawn(flows.iter().filter(|flow| flow.src == host).count());
                let to = drawn(flows.iter().filter(|flow| flow.dst == host).count());
                assert!(
                    (from - shares.from_host[host as usize]).abs() < 0.01,
                    "{rule:?} from {host}: {from}"
                );
                assert!(
                    (to - shares.to_host[host as usize]).abs() < 0.01,
                    "{rule:?} to {host}: {to}"
                );
            }
            assert!((shares.racks.iter().flatten().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!((shares.to_host.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
