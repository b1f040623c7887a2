//! Paths from one ToR to another: which of them are busy, and the choice among them.

/// Result of a choice of path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// First of the two drawn paths that is not busy; `None` if both are busy.
    pub good: Option<u32>,
    /// First path drawn.
    pub first: u32,
}

/// All shortest paths from a ToR to another, by their place in [`crate::paths`].
#[derive(Default)]
pub struct Known {
    /// Time in ps until which a busy path is avoided.
    busy_until: Vec<u64>,
    /// Propagation delay in ps in both directions.
    round_trips: Vec<u64>,
}

impl Known {
    pub fn new(round_trips: Vec<u64>) -> Self {
        Known { busy_until: vec![0; round_trips.len()], round_trips }
    }

    pub fn count(&self) -> u64 {
        self.round_trips.len() as u64
    }

    /// Chooses among two paths that were drawn from all, with replacement. The first that is not
    /// busy is good.
    pub fn choose(&self, now: u64, paths: &[u32], [first, second]: [u64; 2]) -> Draw {
        let is_free = |place: &u64| self.busy_until[*place as usize] <= now;
        let good = Some(first).filter(is_free).or(Some(second).filter(is_free));
        Draw { good: good.map(|place| paths[place as usize]), first: paths[first as usize] }
    }

    /// Notes a NOTIFY for the path at `place`.
    pub fn note_busy(&mut self, until: u64, place: usize) {
        self.busy_until[place] = until;
    }

    pub fn round_trip(&self, place: usize) -> u64 {
        self.round_trips[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_engine::random::Stream;

    fn draw(known: &Known, now: u64, stream: &mut Stream) -> Draw {
        let paths: Vec<u32> = (0..known.count() as u32).collect();
        known.choose(now, &paths, [(); 2].map(|()| stream.below(known.count())))
    }

    #[test]
    fn a_busy_path_is_taken_by_nobody_until_its_time_is_over() {
        let mut stream = Stream::new(1, 2, 3);
        let mut known = Known::new(vec![0; 4]);
        assert!(
            (0..100)
                .map(|_| draw(&known, 0, &mut stream))
                .all(|draw| draw.good == Some(draw.first))
        );
        known.note_busy(116, 2);
        let while_busy: Vec<Draw> = (0..4_000).map(|_| draw(&known, 115, &mut stream)).collect();
        assert!(while_busy.iter().all(|d| d.good != Some(2)));
        // One draw in sixteen picks the busy path twice. Then no path is good.
        let none = while_busy.iter().filter(|d| d.good.is_none()).count();
        assert!((180..320).contains(&none), "{none}");
        assert!(while_busy.iter().all(|d| d.good.is_some() || d.first == 2));
        let after = (0..100).map(|_| draw(&known, 116, &mut stream)).any(|d| d.good == Some(2));
        assert!(after, "`invalid_time > now` is busy: at its end it is not");
    }

    #[test]
    fn none_when_all_are_busy() {
        let mut stream = Stream::new(1, 2, 3);
        let mut known = Known::new(vec![0; 8]);
        (0..8).for_each(|place| known.note_busy(1, place));
        assert!((0..100).all(|_| draw(&known, 0, &mut stream).good.is_none()));
    }
}
