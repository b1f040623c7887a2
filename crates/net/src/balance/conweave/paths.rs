//! Which paths to a ToR are busy, and the choice among them.

use super::NEVER;
use afflux_engine::random::Stream;

/// What a choice of path says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// One that is not busy, if either of the two drawn is not.
    pub good: Option<u16>,
    /// The first one drawn.
    pub first: u16,
}

/// Two paths are drawn out of all, with replacement; the first that is not busy is good. `busy_until` by path, to the ToR in question.
pub fn draw(now: u64, busy_until: &[u64], stream: &mut Stream) -> Draw {
    let count = busy_until.len() as u64;
    let [first, second] = [(); 2].map(|()| stream.below(count) as u16);
    let is_free = |path: &u16| busy_until[*path as usize] <= now;
    Draw { good: Some(first).filter(is_free).or(Some(second).filter(is_free)), first }
}

/// A NOTIFY of this path has come.
pub fn note_busy(now: u64, path_busy: u64, busy_until: &mut u64) {
    *busy_until = now.saturating_add(path_busy).min(NEVER);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_draws_are_uniform_and_the_first_good_one_is_taken() {
        let mut stream = Stream::new(1, 2, 3);
        let mut taken = [0u32; 8];
        for _ in 0..80_000 {
            let draw = draw(5, &[0; 8], &mut stream);
            assert_eq!(draw.good, Some(draw.first));
            taken[draw.first as usize] += 1;
        }
        assert!(taken.iter().all(|&n| (9_500..10_500).contains(&n)), "{taken:?}");
    }

    #[test]
    fn a_busy_path_is_taken_by_nobody_until_its_time_is_over() {
        let mut stream = Stream::new(1, 2, 3);
        let mut busy = [0u64; 4];
        note_busy(100, 16, &mut busy[2]);
        let draws = |now, busy: &[u64], stream: &mut Stream| -> Vec<Draw> { (0..4_000).map(|_| draw(now, busy, stream)).collect() };
        let while_busy = draws(115, &busy, &mut stream);
        assert!(while_busy.iter().all(|d| d.good != Some(2)));
        // One draw in sixteen finds the busy path twice: then there is none.
        let none = while_busy.iter().filter(|d| d.good.is_none()).count();
        assert!((180..320).contains(&none), "{none}");
        assert!(while_busy.iter().all(|d| d.good.is_some() || d.first == 2));
        assert!(draws(116, &busy, &mut stream).iter().any(|d| d.good == Some(2)), "`invalid_time > now` is busy: at its end it is not");
    }

    #[test]
    fn none_when_all_are_busy() {
        let mut stream = Stream::new(1, 2, 3);
        assert!((0..100).all(|_| draw(0, &[1; 8], &mut stream).good.is_none()));
    }
}
