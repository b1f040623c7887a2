//! Sorts the entries of a window into the order in which their nodes handle them. Two counting
//! sorts cover all nodes at once: the first by cells of time, the second by node, which keeps the
//! order of time. The few entries of a node that share a cell are sorted last.

use crate::frame::{Frame, Rank, Ties};
use crate::shard::{Node, Shard};
use afflux_engine::{WindowLog, Windows};

pub struct Sorter {
    /// Node of each port, then of each node's pseudo port.
    node_of_port: Vec<u32>,
    /// Number of bits of a time within a window.
    time_bits: u32,
    /// Next free place in `by_time`, per cell of time.
    cells: Box<[u32; CELLS]>,
    /// Places of the entries in the log, ordered by cell.
    by_time: Vec<u32>,
    /// Entries ordered by node; end of each node's entries so far; number of entries of each node;
    /// nodes that have entries.
    entries: Vec<Frame>,
    next: Vec<u32>,
    count: Vec<u32>,
    pub active: Vec<u32>,
    /// Bit set of the nodes in `active`, used while entries are counted.
    present: Vec<u64>,
    /// Number of entries in the window.
    pub taken: usize,
    /// Width of a cell as a power of two: entries with equal `offset >> shift` share a cell.
    shift: u32,
    /// True if the state of nodes is prefetched. This pays only if the state of all nodes does not
    /// fit into the cache.
    ahead: bool,
    /// True if the plan has queue pairs. Those of thousands of slow flows stay open and do not fit
    /// into the cache.
    pairs: bool,
    /// True if balancers write metadata on frames, so that many frames have some.
    tagged: bool,
    ties: Ties,
}

/// Number of cells per entry of a node with an average number of entries (judged by the number of
/// nodes in the previous window), so that two entries of a node rarely share a cell.
const CELLS_PER_ENTRY: usize = 32;
/// Largest number of cells. All of them fit into the first-level cache.
const CELLS: usize = 1 << 12;

/// Largest number of entries of a window that are ordered by insertion. Counting sorts cost the
/// same for one entry as for dozens, and on slow links most windows have one or two.
const FEW: usize = 8;

/// Number of ports above which the state of ports and nodes exceeds the caches of a core. Measured:
/// prefetching gains 8 % at k = 32, and costs as much in smaller fabrics.
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

    /// Takes all entries from the log of the current window. Out of line: inlined, it costs 5 % more
    /// instructions.
    #[inline(never)]
    pub fn collect(&mut self, log: &mut WindowLog<Frame>) {
        self.taken = log.pieces().map(|(_, piece)| piece.len()).sum();
        if self.taken <= FEW {
            return self.collect_few(log);
        }
        let cells = (self.taken / self.active.len().max(1) * CELLS_PER_ENTRY)
            .next_power_of_two()
            .min(CELLS);
        self.shift = self.time_bits.saturating_sub(cells.ilog2());
        self.cells[..cells].fill(0);
        for &node in &self.active {
            self.count[node as usize] = 0;
        }
        self.active.clear();
        if self.entries.len() < self.taken {
            let room = self.taken.next_power_of_two();
            self.entries.resize(room, Frame::default());
            self.by_time.resize(room, 0);
        }
        // Nodes are processed in ascending order, so that neighbours in memory are used one after
        // the other. If there are many entries, a scan of all nodes costs less than to note the
        // node of each entry.
        if self.taken > self.count.len() {
            self.count::<false>(log);
            let counted = (0..).zip(&self.count).filter(|(_, count)| **count > 0);
            self.active.extend(counted.map(|(node, _)| node));
        } else {
            self.count::<true>(log);
            for (word, bits) in self.present.iter_mut().enumerate() {
                let mut left = std::mem::take(bits);
                while left != 0 {
                    self.active.push(word as u32 * 64 + left.trailing_zeros());
                    left &= left - 1;
                }
            }
        }
        self.place_nodes();
        self.order_by_time(log, cells);
        self.order_by_node(log);
        log.clear();
    }

    /// Counts the entries of each node and of each cell. `NOTE`: notes the nodes in `present`.
    #[inline(always)]
    fn count<const NOTE: bool>(&mut self, log: &WindowLog<Frame>) {
        let Sorter { node_of_port, count, cells, shift, present, .. } = self;
        for (_, piece) in log.pieces() {
            for frame in piece {
                let node = node_of_port[frame.port as usize];
                count[node as usize] += 1;
                cells[(frame.offset >> *shift) as usize % CELLS] += 1;
                if NOTE {
                    present[node as usize / 64] |= 1 << (node % 64);
                }
            }
        }
    }

    /// Sets the place of each node's first entry.
    fn place_nodes(&mut self) {
        let mut first = 0;
        for &node in &self.active {
            self.next[node as usize] = first;
            first += self.count[node as usize];
        }
        assert_eq!(first as usize, self.taken, "the places of all nodes are those of all entries");
    }

    /// Lists the places of the entries in the order of their cells.
    #[inline(always)]
    fn order_by_time(&mut self, log: &WindowLog<Frame>, cells: usize) {
        let mut next = 0;
        for cell in &mut self.cells[..cells] {
            (*cell, next) = (next, next + *cell);
        }
        assert_eq!(next as usize, self.taken, "the places of all cells are those of all entries");
        let Sorter { cells, by_time, shift, .. } = self;
        for (first, piece) in log.pieces() {
            for (place, frame) in (first..).zip(piece) {
                let at = &mut cells[(frame.offset >> *shift) as usize % CELLS];
                // SAFETY: `count` has counted the entries of each cell, so the places of a cell end
                // where those of the next one begin, and the last ones at the number of entries,
                // for which there is room.
                #[allow(unsafe_code)]
                unsafe {
                    *by_time.get_unchecked_mut(*at as usize) = place;
                }
                *at += 1;
            }
        }
    }

    /// Copies the entries, ordered by node. Those of a node keep the order of their cells.
    #[inline(always)]
    fn order_by_node(&mut self, log: &WindowLog<Frame>) {
        let Sorter { node_of_port, next, by_time, entries, taken, .. } = self;
        let places = log.places();
        for &place in &by_time[..*taken] {
            // SAFETY: `order_by_time` has set these elements to places of the log's entries.
            // `count` has looked up the node of each entry with all checks, and counted the entries
            // of each node, so the places of a node end where those of the next one begin, and the
            // last ones at the number of entries, for which there is room.
            #[allow(unsafe_code)]
            unsafe {
                let frame = places.get_unchecked(place as usize);
                let node = *node_of_port.get_unchecked(frame.port as usize);
                let at = next.get_unchecked_mut(node as usize);
                *entries.get_unchecked_mut(*at as usize) = *frame;
                *at += 1;
            }
        }
    }

    /// Takes at most [`FEW`] entries from the log of the current window.
    #[inline(never)]
    fn collect_few(&mut self, log: &mut WindowLog<Frame>) {
        for &node in &self.active {
            self.count[node as usize] = 0;
        }
        self.active.clear();
        if self.entries.len() < FEW {
            self.entries.resize(FEW, Frame::default());
            self.by_time.resize(FEW, 0);
        }
        // Entries of equal time share a cell, and no others do.
        self.shift = 0;
        let mut keys = [0; FEW];
        let mut taken = 0;
        for (_, piece) in log.pieces() {
            for frame in piece {
                let node = self.node_of_port[frame.port as usize];
                let key = (node as u64) << u32::BITS | frame.offset as u64;
                let mut place = taken;
                while place > 0 && keys[place - 1] > key {
                    keys[place] = keys[place - 1];
                    self.entries[place] = self.entries[place - 1];
                    place -= 1;
                }
                keys[place] = key;
                self.entries[place] = *frame;
                taken += 1;
            }
        }
        for (place, key) in (1..).zip(&keys[..taken]) {
            let node = (key >> u32::BITS) as u32;
            if self.active.last() != Some(&node) {
                self.active.push(node);
            }
            self.count[node as usize] += 1;
            self.next[node as usize] = place;
        }
        log.clear();
    }

    fn range(&self, node: u32) -> std::ops::Range<usize> {
        let end = self.next[node as usize] as usize;
        end - self.count[node as usize] as usize..end
    }

    /// Sorts the entries of `node` by time, and entries of the same time by rank.
    #[inline(always)]
    pub fn sort(&mut self, node: u32, shard: &Shard) {
        let range = self.range(node);
        let entries = &mut self.entries[range];
        if self.ahead {
            entries.iter().for_each(|frame| shard.prefetch(node, frame));
        } else if self.pairs && shard.nodes[node as usize].host {
            entries.iter().for_each(|frame| shard.prefetch_half(frame));
        }
        if self.tagged {
            entries
                .iter()
                .filter(|frame| frame.has(Frame::EXTRA))
                .for_each(|frame| shard.prefetch_extra(frame));
        }
        let mut left = entries;
        while let Some(place) = left.windows(2).position(|pair| pair[1].offset <= pair[0].offset) {
            let end = order_cell(left, place + 1, self.shift, self.ties);
            left = &mut left[end..];
        }
    }

    /// Returns the entries of `node`, in the order made by [`Self::sort`].
    #[inline(always)]
    pub fn entries(&self, node: u32) -> &[Frame] {
        &self.entries[self.range(node)]
    }
}

/// Sorts the entries that share a cell of time with entry `i`, which may belong before its
/// predecessor. Returns the index at which the next cell begins.
#[inline(never)]
fn order_cell(entries: &mut [Frame], i: usize, shift: u32, ties: Ties) -> usize {
    let cell = entries[i].offset >> shift;
    let first = entries[..i]
        .iter()
        .rposition(|frame| frame.offset >> shift != cell)
        .map_or(0, |before| before + 1);
    let end = entries[i..]
        .iter()
        .position(|frame| frame.offset >> shift != cell)
        .map_or(entries.len(), |beyond| i + beyond);
    order_entries(&mut entries[first..end], ties);
    end
}

/// Largest number of entries in a cell that is sorted with keys.
const KEYS: usize = 32;
/// Number of low bits of a key that hold the index of its entry.
const PLACE_BITS: u32 = KEYS.ilog2();

/// Sorts entries of one cell by time, and entries of the same time by rank.
fn order_entries(entries: &mut [Frame], ties: Ties) {
    let order = |a: &Frame, b: &Frame| {
        a.offset.cmp(&b.offset).then_with(|| Rank::of(a, ties).cmp(&Rank::of(b, ties)))
    };
    if let [one, other] = entries {
        if order(one, other).is_gt() {
            std::mem::swap(one, other);
        }
        return;
    }
    if entries.len() <= INSERTED {
        insert_entries(entries, ties);
    } else if entries.len() <= KEYS {
        order_by_keys(entries, ties);
    } else {
        entries.sort_unstable_by(order);
    }
}

/// Largest number of entries in a cell that is sorted by insertion.
const INSERTED: usize = 8;

/// Sorts at most [`INSERTED`] entries by time and rank.
fn insert_entries(entries: &mut [Frame], ties: Ties) {
    let mut keys = [(0, Rank::FIRST); INSERTED];
    for i in 0..entries.len().min(INSERTED) {
        let frame = entries[i];
        let key = (frame.offset, Rank::of(&frame, ties));
        let mut place = i;
        while place > 0 && keys[place - 1] > key {
            keys[place] = keys[place - 1];
            entries[place] = entries[place - 1];
            place -= 1;
        }
        keys[place] = key;
        if place < i {
            entries[place] = frame;
        }
    }
}

/// Sorts at most [`KEYS`] entries by time and rank.
#[inline(never)]
fn order_by_keys(entries: &mut [Frame], ties: Ties) {
    let mut keys = [0; KEYS];
    for (place, (key, frame)) in keys.iter_mut().zip(entries.iter()).enumerate() {
        *key = (frame.offset as u64) << PLACE_BITS | place as u64;
    }
    let keys = &mut keys[..entries.len()];
    keys.sort_unstable();
    // Computing a rank costs a hash, so it is computed once per entry and only for entries of equal
    // time.
    for moment in keys
        .chunk_by_mut(|one, next| one >> PLACE_BITS == next >> PLACE_BITS)
        .filter(|moment| moment.len() > 1)
    {
        for key in moment.iter_mut() {
            let place = *key % KEYS as u64;
            *key = Rank::of(&entries[place as usize], ties).number() << PLACE_BITS | place;
        }
        moment.sort_unstable();
    }
    let came_from = |place: usize| keys[place] as usize % KEYS;
    for place in 0..entries.len() {
        // If the entry came from an earlier place, it has been swapped away from there. Follow the
        // keys to its present place.
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
                    let kind = [Frame::DATA, Frame::CONTROL, Frame::PAUSE, Frame::EVENT]
                        [stream.below(4) as usize];
                    let offset = (cell << shift)
                        + stream.below(if case % 3 == 0 { 1 } else { 1 << shift }) as u32;
                    Frame {
                        port,
                        offset,
                        flow: stream.below(4) as u32,
                        seq: stream.below(16) as u32,
                        flags: kind,
                        ..Frame::default()
                    }
                })
                .collect();
            let mut expected = entries.clone();
            expected.sort_by_key(|frame| (frame.offset, Rank::of(frame, ties), frame.port));
            order_entries(&mut entries, ties);
            let shown = |frames: &[Frame]| {
                frames.iter().map(|frame| (frame.offset, Rank::of(frame, ties))).collect::<Vec<_>>()
            };
            assert_eq!(shown(&entries), shown(&expected));
        }
    }
}
