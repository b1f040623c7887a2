//! `kind = "ring_all_reduce"`: steps of a training whose hosts sum their gradients in a ring.

use super::block::{Place, Workload, pattern};
use super::hosts::Hosts;
use super::keys::FlowKeys;
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::TrafficContext;
use crate::validate::traffic::select;
use crate::validate::traffic::timing::delay_of_next;
use afflux_config::keys::{at_most_a_day, meaningless};
use afflux_config::tree::Wrong;
use afflux_config::{Duration, Size, keys};
use afflux_net::Model;
use afflux_net::spec::Start;
use afflux_traffic::{Generated, Job, JobKind, Template};
use afflux_units::{Span, Time};

keys! {
    /// Steps of a training with data parallelism. In each iteration all hosts sum their gradients
    /// in a ring: n hosts send 2·(n−1) chunks each to the next host, every chunk when the one
    /// before it in the ring has arrived. Every iteration is a job, named `BLOCK.0`, `BLOCK.1` and
    /// so on in results.
    pub struct Keys as "RingAllReduce" => RingAllReduce(context: &TrafficContext<'_>) {
        @flow: FlowKeys;
        /// Size of the gradients of a host. A chunk is this divided by the number of hosts.
        bytes: Size = required;
        /// Hosts of the ring, in the order of their numbers.
        hosts: Hosts as Vec<u32> = "all", check select::of(context);
        /// Number of iterations.
        iterations: u32 = 1, in 1 to 4_294_967_295 as "at least 1";
        /// Time for which a host computes between two iterations.
        compute: Duration = "0s", check at_most_a_day;
        /// Time from the arrival of a chunk at a host until the host sends the next one, at least
        /// the shortest link delay.
        step_delay: Duration = (Duration(context.facts.shortest_link())) "the shortest link delay of the fabric",
            check |delay, key| delay_of_next(delay, context, key);
        /// Hosts that are slower than the others, by `straggler_delay`. Default: none: all hosts are
        /// alike.
        stragglers: Hosts as Option<Vec<u32>> = none, check select::of(context);
        /// Time that stragglers add to every `step_delay`, and to the first chunk of the first
        /// iteration. Default: required with `stragglers`.
        straggler_delay: Duration = none, check at_most_a_day;
    }
}

impl Workload for Keys {
    fn generate(
        &mut self,
        shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let block = self.resolve(place.key, context)?;
        let (count, total) = (block.hosts.len() as u64, block.bytes.0);
        if count < 2 {
            let what = "one host has no ring: write at least two";
            return Err(Wrong::at(place.at("hosts"), what));
        }
        if total < count {
            let what = format!("\"{}\": write at least one byte per host, {count}B", block.bytes);
            return Err(Wrong::at(place.at("bytes"), what));
        }
        match (&block.stragglers, block.straggler_delay) {
            (Some(_), None) => {
                let what = "needs straggler_delay, the time that these hosts add to each step";
                return Err(Wrong::at(place.at("stragglers"), what));
            }
            (None, Some(_)) => {
                return Err(meaningless(place.at("straggler_delay"), "no stragglers"));
            }
            _ => {}
        }
        for host in block.stragglers.iter().flatten() {
            if !block.hosts.contains(host) {
                let name = &context.facts.topology.nodes[*host as usize].name;
                let what = format!("{name} is not one of hosts: write hosts of the ring");
                return Err(Wrong::at(place.at("stragglers"), what));
            }
        }
        if block.compute > Span::ZERO && block.iterations == 1 {
            return Err(meaningless(place.at("compute"), "iterations = 1"));
        }
        let steps = 2 * (count - 1);
        let flows = steps as f64 * count as f64 * f64::from(block.iterations);
        context.budget.reserve(flows, || place.at("iterations"))?;
        Ok(block.flows(&shared.template, shared.start))
    }
    fn jobs(&self) -> Option<JobKind> {
        Some(JobKind::Coflow)
    }
    fn size_key(&self) -> &'static str {
        "bytes"
    }
}

impl RingAllReduce {
    fn flows(&self, template: &Template, start: Time) -> Generated {
        let count = self.hosts.len() as u32;
        let steps = 2 * (count - 1);
        let all = steps * self.iterations;
        let chunk = |number: u64| {
            let (bytes, count) = (self.bytes.0, u64::from(count));
            bytes / count + u64::from(number < bytes % count)
        };
        let slower = |host: u32| match &self.stragglers {
            Some(hosts) if hosts.contains(&host) => self.straggler_delay.unwrap_or(Span::ZERO),
            _ => Span::ZERO,
        };
        let mut given = Generated { groups: (all - 1) * count, ..Generated::default() };
        for iteration in 0..self.iterations {
            let arrival = (iteration == 0).then_some(start);
            given.jobs.push(Job::new(JobKind::Coflow, iteration, arrival));
        }
        for step in 0..all {
            let within = step % steps;
            for rank in 0..count {
                let before = (rank + count - 1) % count;
                let [src, dst] = [rank, (rank + 1) % count].map(|rank| self.hosts[rank as usize]);
                let compute = if within == 0 { self.compute } else { Span::ZERO };
                let begin = match step {
                    0 => Start::At(Time::from_ns(Time(start.0 + slower(src).0).round_ns())),
                    // Every chunk is a group of its own, which starts the next chunk of its
                    // receiver.
                    _ => Start::After {
                        group: (step - 1) * count + before,
                        delay: self.step_delay + compute + slower(src),
                    },
                };
                let number = (rank + 2 * count - within) % count;
                let mut flow = template.flow(0, src, dst, chunk(number.into()), begin);
                flow.job = step / steps;
                flow.group = (step + 1 < all).then_some(step * count + rank);
                given.flows.push(flow);
            }
        }
        given.finish()
    }
}

pub const MODELS: &[Model] = &[pattern(
    "ring_all_reduce",
    "Patarasuk and Yuan, JPDC 2009; rings of NCCL",
    "reduce-scatter and all-gather in 2(n-1) steps, in which every host sends the chunk that it has just received to the next host; iterations with compute times; stragglers",
    "one ring in the order of the hosts' numbers, one flow per chunk (`persistent` puts those of a pair on one connection), no links inside a server; a host starts its next iteration as soon as its own chunks are complete",
)];

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Bytes;
    use std::collections::BTreeMap;

    fn ring(hosts: &[u32], bytes: u64, iterations: u32) -> RingAllReduce {
        RingAllReduce {
            bytes: Bytes(bytes),
            hosts: hosts.to_vec(),
            iterations,
            compute: Span::from_us(50),
            step_delay: Span::from_us(1),
            stragglers: Some(vec![hosts[1]]),
            straggler_delay: Some(Span::from_us(7)),
        }
    }

    /// Every host sends and receives 2(n-1)/n of the gradients, and each chunk is passed on by the
    /// host that received it.
    #[test]
    fn each_chunk_goes_round_the_ring_twice_but_once() {
        let given = ring(&[3, 5, 6, 9], 403, 1).flows(&Template::default(), Time(0));
        assert_eq!(given.flows.len(), 24);
        let mut sent: BTreeMap<u32, u64> = BTreeMap::new();
        for flow in &given.flows {
            *sent.entry(flow.src).or_default() += flow.bytes;
            if let Start::After { group, .. } = flow.start {
                let before = given.flows.iter().find(|flow| flow.group == Some(group)).unwrap();
                assert_eq!((before.dst, before.bytes), (flow.src, flow.bytes));
            }
        }
        // Chunks 0 to 2 have 101 bytes and chunk 3 has 100: a host leaves out one chunk per half.
        assert_eq!(sent[&3], 2 * 403 - 101 - 101);
        assert_eq!(sent.values().sum::<u64>(), 2 * 3 * 403);
        assert!(given.flows[20..].iter().all(|flow| flow.group.is_none()));
    }

    #[test]
    fn stragglers_and_computing_delay_the_next_chunk() {
        let given = ring(&[0, 1], 2_000, 2).flows(&Template::default(), Time::from_ns(10));
        let starts: Vec<Start> = given.flows.iter().map(|flow| flow.start).collect();
        let after = |group, us| Start::After { group, delay: Span::from_us(us) };
        assert_eq!(
            starts,
            [
                Start::At(Time::from_ns(10)),
                Start::At(Time::from_ns(7_010)),
                after(0, 8),
                after(1, 1),
                after(2, 58),
                after(3, 51),
                after(4, 8),
                after(5, 1),
            ]
        );
        let jobs: Vec<u32> = given.flows.iter().map(|flow| flow.job).collect();
        assert_eq!(jobs, [0, 0, 0, 0, 1, 1, 1, 1]);
    }
}
