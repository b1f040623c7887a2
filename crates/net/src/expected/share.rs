//! Computes max-min fair shares: the rates that links give to flows, each limited by the rate that
//! the flow can use.

/// Number of rounds after which all remaining flows get their share so far.
const ROUNDS: usize = 12;
/// Minimum fraction of a link that acknowledgements leave to data.
const LEAST_PART: f64 = 0.05;

/// Demand of a flow or subflow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demand {
    /// First link, and number of links, in the list of all paths.
    pub first: u32,
    pub links: u32,
    /// Bytes on a link per byte of payload: of data (`forth`), and of the replies in the other
    /// direction (`back`).
    pub forth: f64,
    pub back: f64,
    /// Maximum payload per second that the flow can use.
    pub most: f64,
    /// Payload per second that the flow gets, and the link that limits it, if there is one.
    pub rate: f64,
    pub limit: Option<u32>,
    pub is_final: bool,
}

impl Demand {
    /// Returns the links of the flow in the list of all paths.
    pub fn path<'a>(&self, paths: &'a [u32]) -> &'a [u32] {
        &paths[self.first as usize..(self.first + self.links) as usize]
    }
}

/// Links by number. Links `0..directed` are directions of real links, and `n ^ 1` is the opposite
/// direction of `n`. All other links are bundles.
pub struct Links {
    directed: usize,
    /// Capacity of each link in bytes per second.
    pub capacity: Vec<f64>,
    /// Part of the capacity that acknowledgements took when the rates were last set.
    answers: Vec<f64>,
    answered: Vec<u32>,
    /// Working state of [`Self::share`] per link: the capacity left, and of the flows without a
    /// final rate their number, their total weight, and how many of them have no tighter link.
    left: Vec<f64>,
    open: Vec<u32>,
    weight: Vec<f64>,
    tightest: Vec<u32>,
    /// Number of calls of [`Self::share`], and the last call in which each link was used.
    round: u32,
    used: Vec<u32>,
}

impl Links {
    pub fn new(capacity: Vec<f64>, directed: usize) -> Self {
        let count = capacity.len();
        Links {
            directed,
            capacity,
            answers: vec![0.0; count],
            answered: Vec::new(),
            left: vec![0.0; count],
            open: vec![0; count],
            weight: vec![0.0; count],
            tightest: vec![0; count],
            round: 0,
            used: vec![0; count],
        }
    }

    /// Returns the bytes per second that a link had left when rates were last set. It is the full
    /// capacity of an unused link.
    pub fn spare(&self, link: u32) -> f64 {
        if self.used[link as usize] == self.round {
            self.left[link as usize]
        } else {
            self.capacity[link as usize]
        }
    }

    /// Sets the rates of `demands`. Returns the number of link visits.
    pub fn share(&mut self, demands: &mut [Demand], paths: &[u32]) -> u64 {
        let mut used: Vec<u32> = Vec::new();
        self.round = self.round.wrapping_add(1);
        for demand in demands.iter_mut() {
            demand.is_final = false;
            for &link in demand.path(paths) {
                let l = link as usize;
                if self.open[l] == 0 {
                    used.push(link);
                    self.used[l] = self.round;
                    self.weight[l] = 0.0;
                    self.left[l] =
                        (self.capacity[l] - self.answers[l]).max(LEAST_PART * self.capacity[l]);
                }
                self.open[l] += 1;
                self.weight[l] += demand.forth;
            }
        }
        let mut looks = 0;
        let mut open: Vec<u32> = (0..demands.len() as u32).collect();
        for round in 1..=ROUNDS {
            used.iter().for_each(|link| self.tightest[*link as usize] = 0);
            for &number in &open {
                let demand = &mut demands[number as usize];
                let (mut share, mut tight) = (f64::INFINITY, None);
                for &link in demand.path(paths) {
                    let fair = self.left[link as usize] / self.weight[link as usize];
                    if fair < share {
                        (share, tight) = (fair, Some(link));
                    }
                }
                looks += u64::from(demand.links);
                (demand.rate, demand.limit) =
                    if demand.most <= share { (demand.most, None) } else { (share, tight) };
                if let Some(link) = demand.limit {
                    self.tightest[link as usize] += 1;
                }
            }
            // A flow has its final rate if it needs no more. All flows of a link have their final
            // rates if none of them has a tighter link.
            for &number in &open {
                let demand = &mut demands[number as usize];
                let last = |link: u32| self.tightest[link as usize] == self.open[link as usize];
                demand.is_final = round == ROUNDS || demand.limit.is_none_or(last);
            }
            open.retain(|&number| {
                let demand = &demands[number as usize];
                if demand.is_final {
                    for &link in demand.path(paths) {
                        let l = link as usize;
                        self.open[l] -= 1;
                        self.weight[l] -= demand.forth;
                        self.left[l] = (self.left[l] - demand.rate * demand.forth).max(0.0);
                    }
                }
                !demand.is_final
            });
            if open.is_empty() {
                break;
            }
        }
        self.answered.drain(..).for_each(|link| self.answers[link as usize] = 0.0);
        for demand in demands.iter().filter(|demand| demand.back > 0.0) {
            for link in demand
                .path(paths)
                .iter()
                .filter(|link| (**link as usize) < self.directed)
                .map(|link| link ^ 1)
            {
                if self.answers[link as usize] == 0.0 {
                    self.answered.push(link);
                }
                self.answers[link as usize] += demand.rate * demand.back;
            }
        }
        looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(capacity: &[f64], flows: &[(&[u32], f64)]) -> Vec<f64> {
        let mut paths = Vec::new();
        let mut demands: Vec<Demand> = flows
            .iter()
            .map(|(links, most)| {
                let first = paths.len() as u32;
                paths.extend_from_slice(links);
                Demand {
                    first,
                    links: links.len() as u32,
                    forth: 1.0,
                    most: *most,
                    ..Demand::default()
                }
            })
            .collect();
        Links::new(capacity.to_vec(), 0).share(&mut demands, &paths);
        demands.iter().map(|demand| demand.rate).collect()
    }

    #[test]
    fn shares_are_max_min_fair() {
        let all = f64::INFINITY;
        // Bertsekas and Gallager, Data Networks, §6.5.2: capacity that one flow cannot use because
        // of another link goes to the other flows.
        let third = 1.0 / 3.0;
        let found = rates(&[1.0, 1.0], &[(&[0], all), (&[0, 1], all), (&[1], all), (&[1], all)]);
        assert!(
            found
                .iter()
                .zip([2.0 * third, third, third, third])
                .all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?}"
        );
        assert_eq!(rates(&[3.0], &[(&[0], 0.5), (&[0], all), (&[0], all)]), [0.5, 1.25, 1.25]);
        assert_eq!(rates(&[3.0], &[(&[0], 0.5), (&[], 7.0)]), [0.5, 7.0]);
    }

    #[test]
    fn acknowledgements_take_their_part() {
        let mut links = Links::new(vec![10.0, 10.0], 2);
        let there = Demand {
            first: 0,
            links: 1,
            forth: 1.0,
            back: 0.1,
            most: f64::INFINITY,
            ..Demand::default()
        };
        let mut demands = [there, Demand { first: 1, ..there }];
        for _ in 0..60 {
            links.share(&mut demands, &[0, 1]);
        }
        assert!((demands[0].rate - 10.0 / 1.1).abs() < 1e-6, "{}", demands[0].rate);
    }
}
