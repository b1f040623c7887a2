//! Brings a window's entries into the order in which their nodes deal with them. All nodes together first: a counting sort by cells of
//! time, then one by node, which keeps that order. The few entries of a node that fell into one cell are ordered last.

use crate::frame::{Frame, Rank, Ties};
use crate::shard::{Node, Shard};
use afflux_engine::{WindowLog, Windows};

pub struct Sorter {
    /// Node of each port, then of each node's pseudo port.
    node_of_port: Vec<u32>,
    /// Bits of a time within a window.
    time_bits: u32,
    /// Per cell of time: where its next entry goes.
    cells: Box<[u32; CELLS]>,
    /// Places in the log, by cell.
    by_time: Vec<u32>,
    /// Entries by node, and the nodes that have any.
    entries: Vec<Frame>,
    next: Vec<u32>,
    count: Vec<u32>,
    pub active: Vec<u32>,
    /// A bit for each of them, while they are counted.
    present: Vec<u64>,
    /// Entries of the window.
    pub taken: usize,
    /// Times in one cell are equal but for so many bits.
    shift: u32,
    /// The state of a node is loaded ahead: worth its instructions where the state of all nodes does not fit the cache.
    ahead: bool,
    /// Queue pairs of thousands of flows, open for as long as they are slow, do not fit the cache.
    pairs: bool,
    /// Balancers write on frames: many carry something.
    tagged: bool,
    ties: Ties,
}

/// For each entry that a node has on average (going by the nodes of the window before): hardly any two of them share one.
const CELLS_PER_ENTRY: usize = 64;
/// All of them stay in the first cache.
const CELLS: usize = 1 << 12;

/// Ports beyond this are more than a core's caches hold with all that goes with them (measured: loading ahead gains 8 % at k = 32, and costs
/// as much in smaller fabrics).
const PORTS_IN_CACHE: usize = 12_000;

impl Sorter {
    pub fn new(shard: &Shard, windows: Windows) -> Self {
        let nodes = shard.nodes.len();
        let mut node_of_port: Vec<u32> = shard.ports.iter().map(|p| p.node).collect();
        node_of_port.extend(0..nodes as u32);
        Sorter {
            node_of_port,
            time_bits: u64::BITS - (windows.length() - 1).leading_zeros(),
            cells: Box::new([0; CELLS]),
            by_time: Vec::new(),
            entries: Vec::new(),
            next: vec![0; nodes],
            count: vec![0; nodes],
            active: Vec::new(),
            present: vec![0; nodes.div_ceil(64)],
            taken: 0,
            shift: 0,
            ahead: shard.ports.len() > PORTS_IN_CACHE,
            pairs: shard.world.plan.has_queue_pairs(),
            tagged: shard.nodes.iter().any(Node::reads_tags),
            ties: shard.world.ties,
        }
    }

    /// Takes the log of the current window.
    pub fn collect(&mut self, log: &mut WindowLog<Frame>) {
        self.taken = log.pieces().map(|(_, piece)| piece.len()).sum();
        let cells = (self.taken / self.active.len().max(1) * CELLS_PER_ENTRY).next_power_of_two().min(CELLS);
        for &node in &self.active {
            self.count[node as usize] = 0;
        }
        self.active.clear();
        self.shift = self.time_bits.saturating_sub(cells.ilog2());
        self.cells[..cells].fill(0);
        for (_, piece) in log.pieces() {
            for frame in piece {
                let node = self.node_of_port[frame.port as usize];
                self.count[node as usize] += 1;
                self.present[node as usize / 64] |= 1 << (node % 64);
                self.cells[(frame.offset >> self.shift) as usize % CELLS] += 1;
            }
        }
        let mut next = 0;
        for cell in &mut self.cells[..cells] {
            (*cell, next) = (next, next + *cell);
        }
        if self.entries.len() < self.taken {
            let room = self.taken.next_power_of_two();
            self.entries.resize(room, Frame::default());
            self.by_time.resize(room, 0);
        }
        for (first, piece) in log.pieces() {
            for (place, frame) in (first..).zip(piece) {
                let at = &mut self.cells[(frame.offset >> self.shift) as usize % CELLS];
                self.by_time[*at as usize] = place;
                *at += 1;
            }
        }
        // Nodes in ascending order: what is next to each other in memory is used one after the other.
        for (word, bits) in self.present.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                self.active.push(word as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        let mut next = 0;
        for &node in &self.active {
            self.next[node as usize] = next;
            next += self.count[node as usize];
        }
        let places = log.places();
        for &place in &self.by_time[..self.taken] {
            let frame = &places[place as usize];
            let at = &mut self.next[self.node_of_port[frame.port as usize] as usize];
            self.entries[*at as usize] = *frame;
            *at += 1;
        }
        log.clear();
    }

    fn range(&self, node: u32) -> std::ops::Range<usize> {
        let end = self.next[node as usize] as usize;
        end - self.count[node as usize] as usize..end
    }

    /// Orders the entries of `node` by time, those of one moment by rank.
    pub fn sort(&mut self, node: u32, shard: &Shard) {
        let range = self.range(node);
        let entries = &mut self.entries[range];
        if self.ahead {
            entries.iter().for_each(|frame| shard.prefetch(node, frame));
        } else if self.pairs && shard.nodes[node as usize].host {
            entries.iter().for_each(|frame| shard.prefetch_half(frame));
        }
        if self.tagged {
            entries.iter().filter(|frame| frame.has(Frame::EXTRA)).for_each(|frame| shard.prefetch_extra(frame));
        }
        let mut left = entries;
        while let Some(place) = left.windows(2).position(|pair| pair[1].offset <= pair[0].offset) {
            let end = order_cell(left, place + 1, self.shift, self.ties);
            left = &mut left[end..];
        }
    }

    /// The entries of `node`, in the order that [`Self::sort`] has made.
    #[inline(always)]
    pub fn entries(&self, node: u32) -> &[Frame] {
        &self.entries[self.range(node)]
    }
}

/// Orders the entries that share a cell of time with entry `i`, which may have to come before the one in front of it. Returns where the next cell begins.
#[inline(never)]
fn order_cell(entries: &mut [Frame], i: usize, shift: u32, ties: Ties) -> usize {
    let cell = entries[i].offset >> shift;
    let first = entries[..i].iter().rposition(|frame| frame.offset >> shift != cell).map_or(0, |before| before + 1);
    let end = entries[i..].iter().position(|frame| frame.offset >> shift != cell).map_or(entries.len(), |beyond| i + beyond);
    order_entries(&mut entries[first..end], ties);
    end
}

/// A cell with more entries than this is ordered without keys.
const KEYS: usize = 32;
/// A key's last bits are the place where its entry stands.
const PLACE_BITS: u32 = KEYS.ilog2();

/// Orders entries of one cell by time, those of one moment by rank.
fn order_entries(entries: &mut [Frame], ties: Ties) {
    let order = |a: &Frame, b: &Frame| a.offset.cmp(&b.offset).then_with(|| Rank::of(a, ties).cmp(&Rank::of(b, ties)));
    if let [one, other] = entries {
        if order(one, other).is_gt() {
            std::mem::swap(one, other);
        }
        return;
    }
    if entries.len() > KEYS {
        return entries.sort_unstable_by(order);
    }
    let mut keys = [0; KEYS];
    for (place, (key, frame)) in keys.iter_mut().zip(entries.iter()).enumerate() {
        *key = (frame.offset as u64) << PLACE_BITS | place as u64;
    }
    let keys = &mut keys[..entries.len()];
    keys.sort_unstable();
    // A rank costs a hash: it is computed once, and only where moments are equal.
    for moment in keys.chunk_by_mut(|one, next| one >> PLACE_BITS == next >> PLACE_BITS).filter(|moment| moment.len() > 1) {
        for key in moment.iter_mut() {
            let place = *key % KEYS as u64;
            *key = Rank::of(&entries[place as usize], ties).number() << PLACE_BITS | place;
        }
        moment.sort_unstable();
    }
    let came_from = |place: usize| keys[place] as usize % KEYS;
    for place in 0..entries.len() {
        // An entry that came from an earlier place has been swapped away from there: the keys tell where to.
        let mut from = came_from(place);
        while from < place {
            from = came_from(from);
        }
        entries.swap(place, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_engine::random::Stream;

    #[test]
    fn entries_of_a_cell_go_by_time_and_rank() {
        let mut stream = Stream::new(7, 1, 1);
        let ties = Ties::new(3);
        for case in 0..2_000 {
            let shift = [4, 12, 20, 30][case % 4];
            let (count, cell) = (1 + stream.below(40) as usize, stream.below(3) as u32);
            let mut entries: Vec<Frame> = (0..count as u32)
                .map(|port| {
                    let kind = [Frame::DATA, Frame::CONTROL, Frame::PAUSE, Frame::EVENT][stream.below(4) as usize];
                    let offset = (cell << shift) + stream.below(if case % 3 == 0 { 1 } else { 1 << shift }) as u32;
                    Frame { port, offset, flow: stream.below(4) as u32, seq: stream.below(16) as u32, flags: kind, ..Frame::default() }
                })
                .collect();
            let mut expected = entries.clone();
            expected.sort_by_key(|frame| (frame.offset, Rank::of(frame, ties), frame.port));
            order_entries(&mut entries, ties);
            let shown = |frames: &[Frame]| frames.iter().map(|frame| (frame.offset, Rank::of(frame, ties))).collect::<Vec<_>>();
            assert_eq!(shown(&entries), shown(&expected));
        }
    }
}
