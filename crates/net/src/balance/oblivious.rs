//! Choice of next hops without any state of the network: at random or in turn.

/// Per-frame choice, at random or in turn.
pub struct Oblivious {
    in_turn: bool,
    /// Index of the next hop whose turn it is, by destination rack; `None` before the first frame.
    turns: Vec<Option<usize>>,
}

impl Oblivious {
    pub(super) fn start(in_turn: bool) -> Self {
        Oblivious { in_turn, turns: Vec::new() }
    }

    /// Selects one of the next hops towards a rack. `draw(n)` returns a random number below `n`.
    #[inline(always)]
    pub fn one_of(&mut self, rack: u32, hops: &[u16], draw: impl FnOnce(u64) -> u64) -> u16 {
        if let [only] = hops {
            return *only;
        }
        if !self.in_turn {
            return hops[draw(hops.len() as u64) as usize];
        }
        let rack = rack as usize;
        if rack >= self.turns.len() {
            self.turns.resize(rack + 1, None);
        }
        let turn = self.turns[rack].unwrap_or_else(|| draw(hops.len() as u64) as usize);
        // The division is needed only at the end of a round.
        let choice = if turn < hops.len() { turn } else { turn % hops.len() };
        self.turns[rack] = Some(choice + 1);
        hops[choice]
    }
}
