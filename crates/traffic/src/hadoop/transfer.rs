//! Exchanges over the network: remote procedure calls, and blocks that are written to data nodes.

use super::cluster::{Cluster, cpu, some_of};
use super::container::Place;
use super::draws::{self, Attempt, draw};
use super::process::Signal;
use super::settings::CHECKSUM;
use afflux_engine::random::Stream;
use afflux_net::app::NewFlow;
use afflux_units::Span;
use std::sync::Arc;

/// Round trips until a task has received its work: TCP's handshake, two for the token (SASL),
/// getTask.
const GREETING: u32 = 4;

impl Cluster {
    /// Starts a flow with this transport and class after a delay of `after`.
    pub fn send(
        &self,
        job: usize,
        from: u32,
        to: u32,
        bytes: u64,
        (transport, class): (u16, u16),
        after: Span,
    ) -> Signal {
        let flow = NewFlow {
            src: from,
            dst: to,
            bytes,
            transport,
            class,
            priority: self.settings.transports.priority,
            job: self.settings.jobs[job].job,
        };
        self.simulation.flow(flow, self.simulation.now() + after)
    }

    /// Makes `calls` calls, one after the other, over an open connection. Each has a request, the
    /// server's work and an answer.
    pub async fn call(&self, job: usize, from: u32, to: u32, calls: u32, stream: &mut Stream) {
        let bytes = self.settings.rpc;
        for _ in 0..calls {
            let service = draw(self.settings.rpc_service, stream);
            if from == to {
                self.simulation.sleep(service).await;
                continue;
            }
            self.over_open(job, from, to, bytes, Span::ZERO).await;
            self.over_open(job, to, from, bytes, service).await;
        }
    }

    /// Opens a connection with `round_trips` round trips. The first is TCP's handshake.
    /// Authentication is a round trip like a call.
    pub async fn connect(
        &self,
        job: usize,
        from: u32,
        to: u32,
        round_trips: u32,
        stream: &mut Stream,
    ) {
        if from == to || round_trips < 2 {
            return self.call(job, from, to, round_trips, stream).await;
        }
        let service = draw(self.settings.rpc_service, stream);
        let (timeout, bytes) = (self.settings.rpc_connect_timeout, self.settings.rpc);
        let call = || self.over_new(job, from, to, bytes);
        while self.simulation.within(timeout, call()).await.is_none() {}
        self.over_open(job, to, from, bytes, service).await;
        self.call(job, from, to, round_trips - 2, stream).await;
    }

    /// Sends a call over a new connection.
    pub fn over_new(&self, job: usize, from: u32, to: u32, bytes: u64) -> Signal {
        let transports = self.settings.transports;
        let over = (transports.connect, transports.classes.rpc);
        self.send(job, from, to, bytes, over, Span::ZERO)
    }

    /// Sends a call or an answer over an open connection, after a delay of `after`.
    fn over_open(&self, job: usize, from: u32, to: u32, bytes: u64, after: Span) -> Signal {
        let transports = self.settings.transports;
        let over = (transports.answer, transports.classes.rpc);
        self.send(job, from, to, bytes, over, after)
    }

    /// Reads a file, or a part of one, from a data node.
    pub async fn short_read(&self, job: usize, node: u32, from: u32, bytes: u64, rpc: &mut Stream) {
        let service = draw(self.settings.rpc_service, rpc);
        if from == node || bytes == 0 {
            return self.simulation.sleep(service).await;
        }
        self.over_new(job, node, from, self.settings.rpc).await;
        self.over_open(job, from, node, bytes, service).await;
    }

    /// Makes `reads` short reads of a few bytes each, from randomly drawn data nodes.
    pub async fn short_reads(
        &self,
        job: usize,
        node: u32,
        reads: u32,
        stream: &mut Stream,
        rpc: &mut Stream,
    ) {
        for _ in 0..reads {
            let data = self.settings.data[stream.below(self.settings.data.len() as u64) as usize];
            self.short_read(job, node, data, self.settings.rpc, rpc).await;
        }
    }

    /// Connects a task to its job's master and requests its work. A reused container has its
    /// connection already. `all` is the number of round trips in a new container. Returns the calls
    /// that remain for the end of the task.
    pub async fn first_report(
        &self,
        job: usize,
        place: Place,
        master: u32,
        all: u32,
        rpc: &mut Stream,
    ) -> u32 {
        let first = all.min(GREETING);
        if place.first {
            self.connect(job, place.node, master, first, rpc).await;
        } else {
            self.call(job, place.node, master, first.min(1), rpc).await;
        }
        all - first
    }

    /// Makes a task's first round trips to the name node. A reused container needs neither
    /// handshake nor authentication.
    pub async fn open_files(&self, job: usize, place: Place, round_trips: u32, rpc: &mut Stream) {
        if place.first {
            self.connect(job, place.node, self.settings.master, round_trips, rpc).await;
        } else {
            self.call(job, place.node, self.settings.master, round_trips.saturating_sub(2), rpc)
                .await;
        }
    }

    /// Writes a file to `replication` data nodes, block by block. Producing a byte takes
    /// `ps_per_byte` ps. On a data node the first replica is local.
    pub async fn write_file(
        self: Arc<Self>,
        job: usize,
        of: Attempt,
        node: u32,
        bytes: u64,
        replication: u32,
        ps_per_byte: u64,
    ) {
        let mut stream = self.stream(job, draws::WRITE, of);
        let mut rpc = self.stream(job, draws::RPC, of);
        let mut on_disk = Vec::new();
        let mut left = bytes;
        while left > 0 {
            let block = left.min(self.settings.block);
            left -= block;
            // The calls are addBlock, the data node's pipeline setup, and at the end of the block
            // the last acknowledgements and those of the empty last packet.
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
            self.pipeline(job, node, &chain, block, self.settings.transports.write).await;
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

    /// Sends a block from `node` along a chain of data nodes, each of which forwards the data it
    /// receives. Ends when all nodes have the block.
    pub async fn pipeline(&self, job: usize, node: u32, chain: &[u32], bytes: u64, transport: u16) {
        let transports = self.settings.transports;
        let wire = bytes + bytes * CHECKSUM / 512;
        let mut from = node;
        let mut hops = Vec::new();
        for &to in chain {
            if to != from {
                hops.push(self.send(
                    job,
                    from,
                    to,
                    wire,
                    (transport, transports.classes.write),
                    Span::ZERO,
                ));
            }
            from = to;
        }
        for hop in hops {
            hop.await;
        }
    }
}
