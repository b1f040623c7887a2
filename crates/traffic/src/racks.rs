//! Racks and the hosts in them.

use std::ops::Range;

/// Racks of a fabric. Hosts are numbered in rack order, so a rack is a range of host numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Racks {
    /// Number of the first host of each rack, followed by the number of hosts.
    bounds: Vec<u32>,
}

impl Racks {
    /// Creates racks with these numbers of hosts. Empty racks are left out.
    pub fn new(sizes: &[u32]) -> Self {
        let mut bounds = vec![0];
        for size in sizes.iter().filter(|size| **size > 0) {
            bounds.push(bounds[bounds.len() - 1] + size);
        }
        Racks { bounds }
    }
    /// Creates racks of `per_rack` hosts. The last one may be smaller.
    pub fn uniform(hosts: u32, per_rack: u32) -> Self {
        let per_rack = per_rack.max(1);
        let mut sizes = vec![per_rack; (hosts / per_rack) as usize];
        sizes.push(hosts % per_rack);
        Racks::new(&sizes)
    }
    pub fn len(&self) -> u32 {
        self.bounds.len() as u32 - 1
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the number of hosts.
    pub fn hosts(&self) -> u32 {
        self.bounds[self.bounds.len() - 1]
    }
    /// Returns the hosts of `rack`, which must exist.
    pub fn of(&self, rack: u32) -> Range<u32> {
        self.bounds[rack as usize]..self.bounds[rack as usize + 1]
    }
    /// Returns the rack of `host`, which must exist.
    pub fn rack(&self, host: u32) -> u32 {
        assert!(host < self.hosts(), "host {host} of {}", self.hosts());
        self.bounds.partition_point(|first| *first <= host) as u32 - 1
    }
    /// Returns the number of these hosts in each rack.
    pub fn counts(&self, hosts: &[u32]) -> Vec<usize> {
        let mut counts = vec![0; self.len() as usize];
        hosts.iter().for_each(|host| counts[self.rack(*host) as usize] += 1);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let racks = Racks::uniform(10, 4);
        assert_eq!((racks.len(), racks.hosts()), (3, 10));
        assert_eq!((racks.rack(3), racks.rack(4), racks.rack(9)), (0, 1, 2));
        assert_eq!(racks.of(2), 8..10);
        assert_eq!(racks.counts(&[0, 9, 3, 8]), [2, 0, 2]);
        assert_eq!(Racks::new(&[7, 0, 14]).rack(7), 1);
    }
}
