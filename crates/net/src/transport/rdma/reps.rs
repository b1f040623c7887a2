//! REPS (recycled entropies): each frame has its own hash, and hashes of frames that arrived
//! unmarked are used again.

use afflux_config::keys::at_most_a_second;
use afflux_config::tree::Wrong;
use afflux_config::{Duration, Off, Or, keys};
use afflux_engine::random::Stream;
use afflux_units::Span;

keys! {
    /// REPS: recycled entropy values.
    pub struct RepsKeys as "Reps" => RepsConfig {
        /// Number of entropy values that a sender keeps, 1 to 255.
        cache: u8 = 8 from "uet-htsim", check |entropies, at| match entropies {
            0 => Err(Wrong::at(at, "found 0: write a number from 1 to 255")),
            _ => Ok(entropies),
        };
        /// Time for which the kept values are used in turn after a time-out, or `"off"`. uet-htsim
        /// freezes for 10 ms where switches trim, because a time-out then means a failure.
        freeze: Or<Off, Duration> as Option<Span> = "off",
            check |freeze, at| freeze.0.map(|time| at_most_a_second(time, at)).transpose();
        /// Number of frames that draw new values after such a time.
        explore: u8 = 16 from "uet-htsim";
    }
}

pub struct Reps {
    /// Ring of entropy values. The value that was acknowledged last stands before `head`.
    kept: Vec<u32>,
    head: usize,
    /// Number of kept values that have not been used again. These are the newest ones.
    fresh: usize,
    /// Time in ps until which the kept values are used in turn; 0 for not at all.
    frozen_until: u64,
    turn: usize,
    /// Number of frames that still draw new values.
    explore: u8,
    stream: Stream,
}

impl Reps {
    pub fn new(stream: Stream) -> Self {
        Reps { kept: Vec::new(), head: 0, fresh: 0, frozen_until: 0, turn: 0, explore: 0, stream }
    }

    /// Returns the entropy value of the next frame.
    pub fn next(&mut self, now: u64, config: &RepsConfig) -> u32 {
        if self.frozen_until != 0 {
            if now < self.frozen_until && !self.kept.is_empty() {
                self.turn = (self.turn + 1) % self.kept.len();
                return self.kept[self.turn];
            }
            if now >= self.frozen_until {
                self.kept.clear();
                (self.head, self.fresh, self.frozen_until, self.explore) =
                    (0, 0, 0, config.explore);
            }
        }
        if self.explore > 0 {
            self.explore -= 1;
        } else if self.fresh > 0 {
            let at = (self.head + self.kept.len() - self.fresh) % self.kept.len();
            self.fresh -= 1;
            return self.kept[at];
        }
        self.stream.next_u64() as u32
    }

    /// Processes the acknowledgement of a frame with this entropy value.
    pub fn on_ack(&mut self, entropy: u32, marked: bool, config: &RepsConfig) {
        if marked || self.frozen_until != 0 {
            return;
        }
        if self.kept.len() < config.cache as usize {
            self.kept.push(entropy);
            self.head = 0;
        } else {
            self.kept[self.head] = entropy;
            self.head = (self.head + 1) % self.kept.len();
        }
        self.fresh = (self.fresh + 1).min(self.kept.len());
    }

    pub fn on_timeout(&mut self, now: u64, config: &RepsConfig) {
        if let Some(freeze) = config.freeze
            && self.frozen_until == 0
            && self.explore == 0
        {
            (self.frozen_until, self.turn) = (now + freeze.0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: RepsConfig = RepsConfig { cache: 3, freeze: Some(Span::from_us(10)), explore: 2 };

    fn reps() -> Reps {
        Reps::new(Stream::new(1, 2, 3))
    }

    #[test]
    fn the_oldest_fresh_one_is_used_once() {
        let mut reps = reps();
        for entropy in [10, 11] {
            reps.on_ack(entropy, false, &CONFIG);
        }
        reps.on_ack(12, true, &CONFIG);
        assert_eq!([reps.next(0, &CONFIG), reps.next(0, &CONFIG)], [10, 11]);
        let drawn = reps.next(0, &CONFIG);
        assert!(![10, 11, 12].contains(&drawn), "none is fresh: {drawn}");
        reps.on_ack(13, false, &CONFIG);
        assert_eq!(reps.next(0, &CONFIG), 13);
    }

    #[test]
    fn of_more_than_it_keeps_the_oldest_go() {
        let mut reps = reps();
        for entropy in 10..15 {
            reps.on_ack(entropy, false, &CONFIG);
        }
        assert_eq!([(); 3].map(|()| reps.next(0, &CONFIG)), [12, 13, 14]);
        // Used values are overwritten first.
        reps.on_ack(20, false, &CONFIG);
        assert_eq!(reps.next(0, &CONFIG), 20);
    }

    #[test]
    fn a_timeout_freezes_it_for_a_while() {
        let mut reps = reps();
        for entropy in 10..13 {
            reps.on_ack(entropy, false, &CONFIG);
        }
        reps.on_timeout(5, &CONFIG);
        let frozen: Vec<u32> = (0..6).map(|_| reps.next(6, &CONFIG)).collect();
        assert_eq!(frozen[..3], frozen[3..], "in turn");
        assert!(frozen.iter().all(|entropy| (10..13).contains(entropy)));
        reps.on_ack(20, false, &CONFIG);
        assert!((10..13).contains(&reps.next(7, &CONFIG)), "nothing is kept meanwhile");
        // After the freeze REPS starts again, with two draws.
        let end = 5 + Span::from_us(10).0;
        assert!(reps.next(end, &CONFIG) > 20);
        reps.on_ack(30, false, &CONFIG);
        assert!(reps.next(end, &CONFIG) != 30);
        assert_eq!(reps.next(end, &CONFIG), 30);
    }

    #[test]
    fn without_freezing_a_timeout_changes_nothing() {
        let config = RepsConfig { freeze: None, ..CONFIG };
        let mut reps = reps();
        reps.on_ack(10, false, &config);
        reps.on_timeout(5, &config);
        assert_eq!(reps.next(6, &config), 10);
        assert_ne!(reps.next(6, &config), 10);
    }
}
