//! Brings a window's entries into the order in which their nodes deal with them: a counting sort by node, then small keys per
//! node.

use crate::frame::{Frame, Rank};
use crate::shard::Shard;
use afflux_engine::WindowLog;

pub struct Sorter {
    /// Node of each port, then of each node's pseudo port.
    node_of_port: Vec<u32>,
    /// Entries by node, and the nodes that have any.
    entries: Vec<Frame>,
    first: Vec<u32>,
    count: Vec<u32>,
    pub active: Vec<u32>,
    /// Entries of the window.
    pub taken: usize,
    /// Two, so that one node can be prepared while another is under way.
    orders: [Order; 2],
    /// What a node needs is loaded ahead: worth its instructions where everything together does not fit the cache.
    ahead: bool,
}

/// The order of one node's entries.
#[derive(Default)]
struct Order {
    /// Time, class, port, index.
    keys: Vec<u64>,
    /// The node has more than a key can number: its entries were put in order themselves.
    wide: bool,
}

/// Ports beyond this are more than a core's caches hold with all that goes with them (measured: loading ahead gains 8 % at k = 32, and costs
/// as much in smaller fabrics).
const PORTS_IN_CACHE: usize = 12_000;

impl Sorter {
    pub fn new(shard: &Shard) -> Self {
        let nodes = shard.nodes.len();
        let mut node_of_port: Vec<u32> = shard.ports.iter().map(|p| p.node).collect();
        node_of_port.extend(0..nodes as u32);
        Sorter {
            node_of_port,
            entries: Vec::new(),
            first: vec![0; nodes],
            count: vec![0; nodes],
            active: Vec::new(),
            taken: 0,
            orders: Default::default(),
            ahead: shard.ports.len() > PORTS_IN_CACHE,
        }
    }

    /// Takes the log of the current window.
    pub fn collect(&mut self, log: &mut WindowLog<Frame>) {
        for &node in &self.active {
            self.count[node as usize] = 0;
        }
        self.active.clear();
        let mut total = 0;
        for piece in log.pieces() {
            total += piece.len();
            for frame in piece {
                let node = self.node_of_port[frame.port as usize];
                let count = &mut self.count[node as usize];
                if *count == 0 {
                    self.active.push(node);
                }
                *count += 1;
            }
        }
        // Nodes in ascending order: what is next to each other in memory is used one after the other.
        if self.active.len() * 8 > self.count.len() {
            self.active.clear();
            self.active.extend((0..self.count.len() as u32).filter(|&n| self.count[n as usize] > 0));
        } else {
            self.active.sort_unstable();
        }
        self.taken = total;
        let mut next = 0;
        for &node in &self.active {
            self.first[node as usize] = next;
            next += self.count[node as usize];
        }
        if self.entries.len() < total {
            self.entries.resize(total.next_power_of_two(), Frame::default());
        }
        for piece in log.pieces() {
            for frame in piece {
                let at = &mut self.first[self.node_of_port[frame.port as usize] as usize];
                self.entries[*at as usize] = *frame;
                *at += 1;
            }
        }
        for &node in &self.active {
            self.first[node as usize] -= self.count[node as usize];
        }
        log.clear();
    }

    fn entries_of(&self, node: u32) -> &[Frame] {
        let first = self.first[node as usize] as usize;
        &self.entries[first..first + self.count[node as usize] as usize]
    }

    /// Orders the entries of `node` by time, class and port; events at one moment by rank.
    pub fn sort(&mut self, node: u32, turn: usize, shard: &Shard) {
        let mut order = std::mem::take(&mut self.orders[turn]);
        let entries = self.entries_of(node);
        if self.ahead {
            entries.iter().for_each(|frame| shard.prefetch(node, frame));
        }
        order.keys.clear();
        order.wide = false;
        // A key has room for 2^16 entries and 2^13 ports.
        if entries.len() > u16::MAX as usize || shard.nodes[node as usize].ports > 1 << 13 {
            let (first, count) = (self.first[node as usize] as usize, entries.len());
            self.entries[first..first + count].sort_unstable_by_key(|frame| (frame.offset, Rank::of(frame)));
            order.keys.resize(count, 0);
            order.wide = true;
        } else {
            let first_port = shard.nodes[node as usize].first_port;
            let mut events = 0;
            order.keys.extend(entries.iter().enumerate().map(|(i, frame)| {
                let event = frame.kind() == Frame::EVENT;
                events += event as u32;
                let port = if event { 0 } else { frame.port - first_port };
                (frame.offset as u64) << 32 | (Rank::class(frame) as u64) << 29 | (port as u64) << 16 | i as u64
            }));
            order.keys.sort_unstable();
            if events > 1 {
                order_ties(&mut order.keys, entries);
            }
        }
        self.orders[turn] = order;
    }

    /// The entries of `node` in the order that [`Self::sort`] found.
    #[inline(always)]
    pub fn for_each(&self, node: u32, turn: usize, mut deal: impl FnMut(&Frame)) {
        let entries = self.entries_of(node);
        let order = &self.orders[turn];
        // One place of call, so that all of what a node does is inlined here.
        for (i, &key) in order.keys.iter().enumerate() {
            let index = if order.wide { i } else { (key & 0xffff) as usize };
            deal(&entries[index]);
        }
    }
}

/// Events of one node at one moment have equal keys but for their index: their rank decides.
#[cold]
fn order_ties(keys: &mut [u64], entries: &[Frame]) {
    for tied in keys.chunk_by_mut(|a, b| a >> 16 == b >> 16).filter(|tied| tied.len() > 1) {
        tied.sort_unstable_by_key(|&key| Rank::of(&entries[(key & 0xffff) as usize]));
    }
}
