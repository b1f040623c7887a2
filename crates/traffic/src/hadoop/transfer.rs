//! Exchanges over the network: remote procedure calls, blocks to data nodes.

use super::cluster::{Cluster, cpu, some_of};
use super::container::Place;
use super::draws::{self, Attempt, draw};
use super::process::Signal;
use afflux_engine::random::Stream;
use afflux_net::app::NewFlow;
use afflux_units::Span;
use std::sync::Arc;

/// Round trips until a task knows what it is to do: TCP's handshake, two for the token (SASL), getTask.
const GREETING: u32 = 4;

impl Cluster {
    /// A flow by a transport, of a class, that starts after a while.
    pub fn send(&self, job: usize, from: u32, to: u32, bytes: u64, (transport, class): (u16, u16), after: Span) -> Signal {
        let flow = NewFlow { src: from, dst: to, bytes, transport, class, priority: self.settings.ways.priority, job: self.settings.jobs[job].job };
        self.simulation.flow(flow, self.simulation.now() + after)
    }

    /// So many calls one after the other, over a connection that is open: a request, the server's work, the answer.
    pub async fn call(&self, job: usize, from: u32, to: u32, calls: u32, stream: &mut Stream) {
        let ways = self.settings.ways;
        for _ in 0..calls {
            let service = draw(self.settings.rpc_service, stream);
            if from == to {
                self.simulation.sleep(service).await;
                continue;
            }
            self.send(job, from, to, self.settings.rpc, (ways.answer, ways.classes.rpc), Span::ZERO).await;
            self.send(job, to, from, self.settings.rpc, (ways.answer, ways.classes.rpc), service).await;
        }
    }

    /// A new connection: so many round trips, of which the first is TCP's handshake. Authentication is a round trip like a call.
    pub async fn connect(&self, job: usize, from: u32, to: u32, round_trips: u32, stream: &mut Stream) {
        if from == to || round_trips < 2 {
            return self.call(job, from, to, round_trips, stream).await;
        }
        let service = draw(self.settings.rpc_service, stream);
        self.answered(job, (from, to), self.settings.rpc, service).await;
        self.call(job, from, to, round_trips - 2, stream).await;
    }

    /// Over a new connection: a request, and after a while an answer of so many bytes.
    async fn answered(&self, job: usize, (from, to): (u32, u32), bytes: u64, service: Span) {
        let ways = self.settings.ways;
        self.send(job, from, to, self.settings.rpc, (ways.connect, ways.classes.rpc), Span::ZERO).await;
        self.send(job, to, from, bytes, (ways.answer, ways.classes.rpc), service).await;
    }

    /// A file or a part of one from a data node.
    pub async fn short_read(&self, job: usize, node: u32, from: u32, bytes: u64, rpc: &mut Stream) {
        let service = draw(self.settings.rpc_service, rpc);
        if from == node || bytes == 0 {
            return self.simulation.sleep(service).await;
        }
        self.answered(job, (node, from), bytes, service).await;
    }

    /// So many, each of a few bytes, from drawn data nodes.
    pub async fn short_reads(&self, job: usize, node: u32, reads: u32, stream: &mut Stream, rpc: &mut Stream) {
        for _ in 0..reads {
            let data = self.settings.data[stream.below(self.settings.data.len() as u64) as usize];
            self.short_read(job, node, data, self.settings.rpc, rpc).await;
        }
    }

    /// A task connects to its job's master and asks what it is to do; a container that is used again has its connection. Returns the calls that are
    /// left for the end of the task, of `all` round trips in a new container.
    pub async fn first_report(&self, job: usize, place: Place, master: u32, all: u32, rpc: &mut Stream) -> u32 {
        let first = all.min(GREETING);
        if place.first {
            self.connect(job, place.node, master, first, rpc).await;
        } else {
            self.call(job, place.node, master, first.min(1), rpc).await;
        }
        all - first
    }

    /// A task's first round trips to the name node; a container that is used again needs neither handshake nor authentication.
    pub async fn open_files(&self, job: usize, place: Place, round_trips: u32, rpc: &mut Stream) {
        if place.first {
            self.connect(job, place.node, self.settings.master, round_trips, rpc).await;
        } else {
            self.call(job, place.node, self.settings.master, round_trips.saturating_sub(2), rpc).await;
        }
    }

    /// A file to `replication` data nodes, block by block. Producing a byte takes `ps_per_byte`; the first replica is local on a data node.
    pub async fn write_file(self: Arc<Self>, job: usize, of: Attempt, node: u32, bytes: u64, replication: u32, ps_per_byte: u64) {
        let mut stream = self.stream(job, draws::WRITE, of);
        let mut rpc = self.stream(job, draws::RPC, of);
        let mut on_disk = Vec::new();
        let mut left = bytes;
        while left > 0 {
            let block = left.min(self.settings.block);
            left -= block;
            // addBlock; the data node sets up the pipeline; at the end of the block the last acknowledgements, and those of the empty last packet.
            let calls = self.settings.block_rpcs;
            self.call(job, node, self.settings.master, calls.min(1), &mut rpc).await;
            let ends = self.simulation.now() + cpu(ps_per_byte, block);
            let mut chain = some_of(&self.settings.data, replication as usize, &mut stream);
            if self.is_data_node(node) {
                match chain.iter().position(|data| *data == node) {
                    Some(place) => chain.swap(0, place),
                    None => chain[0] = node,
                }
            }
            self.call(job, node, chain[0], u32::from(calls > 1), &mut rpc).await;
            self.pipeline(job, node, &chain, block, self.settings.ways.write).await;
            on_disk.extend(chain.iter().map(|data| self.write_disk(*data, block, &mut stream)));
            self.simulation.until(ends).await;
            self.call(job, node, chain[0], calls.saturating_sub(2), &mut rpc).await;
        }
        if self.settings.final_sync {
            for disk in on_disk {
                disk.await;
            }
        }
    }

    /// A block from `node` along a chain of data nodes, each of which sends on what it gets; over when all have it.
    pub async fn pipeline(&self, job: usize, node: u32, chain: &[u32], bytes: u64, transport: u16) {
        let ways = self.settings.ways;
        let wire = bytes + bytes * self.settings.checksum / 512;
        let mut from = node;
        let mut hops = Vec::new();
        for &to in chain {
            if to != from {
                hops.push(self.send(job, from, to, wire, (transport, ways.classes.write), Span::ZERO));
            }
            from = to;
        }
        for hop in hops {
            hop.await;
        }
    }
}
