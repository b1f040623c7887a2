//! Exchanges over the network: remote procedure calls, blocks to data nodes.

use super::cluster::{Cluster, cpu, some_of};
use super::draws::{self, Task, draw};
use super::process::Signal;
use afflux_engine::random::Stream;
use afflux_net::app::NewFlow;
use afflux_units::Span;
use std::sync::Arc;

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

    /// A file to `replication` data nodes, block by block. Producing a byte takes `ps_per_byte`; the first replica is local on a data node.
    pub async fn write_file(self: Arc<Self>, job: usize, task: Task, node: u32, bytes: u64, replication: u32, ps_per_byte: u64) {
        let mut stream = self.stream(job, draws::WRITE, task);
        let mut rpc = self.stream(job, draws::RPC, task);
        let mut on_disk = Vec::new();
        let mut left = bytes;
        while left > 0 {
            let block = left.min(self.settings.block);
            left -= block;
            self.call(job, node, self.settings.master, self.settings.block_rpcs, &mut rpc).await;
            let ends = self.simulation.now() + cpu(ps_per_byte, block);
            let mut chain = some_of(&self.settings.data, replication as usize, &mut stream);
            if self.is_data_node(node) {
                match chain.iter().position(|data| *data == node) {
                    Some(place) => chain.swap(0, place),
                    None => chain[0] = node,
                }
            }
            self.pipeline(job, node, &chain, block, self.settings.ways.write).await;
            on_disk.extend(chain.iter().map(|data| self.write_disk(*data, block, &mut stream)));
            self.simulation.until(ends).await;
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
