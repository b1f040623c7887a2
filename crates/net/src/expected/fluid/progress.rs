//! Lets the flows of the fluid model send, and ends them.

use super::{Fluid, LARGE, PS, What};
use crate::expected::Unknowns;
use crate::spec::{FlowId, NodeId};

impl Fluid<'_, '_> {
    /// Lets all active flows send at their rates until `to`, and ends those that have sent
    /// everything.
    pub(super) fn advance(&mut self, to: f64) {
        let step = to - self.now;
        if step <= 0.0 {
            return;
        }
        self.work += self.streams.len() as u64;
        self.found.sending += self.streams.len() as f64 * step;
        for (stream, demand) in self.streams.iter_mut().zip(&self.demands) {
            let flow = &mut self.flows[stream.flow as usize];
            let model = &self.models[flow.transport as usize];
            let rate = if model.yields { demand.rate } else { demand.most };
            let moved = (rate * step).min(flow.left);
            if model.copies > 1.0 {
                flow.ahead = flow.ahead.max(moved);
            } else {
                flow.left -= moved;
            }
            stream.sent += moved;
            let ahead = moved.min(stream.ahead);
            stream.ahead -= ahead;
            if stream.slow {
                stream.window += moved - ahead;
            } else if demand.limit.is_none() {
                stream.window += step
                    * model.growth.per_second(
                        model.payload,
                        stream.round_trip + stream.queued,
                        stream.before,
                    );
            }
            stream.window = stream.window.min(model.window);
            let path = demand.path(&self.paths);
            if demand.limit.is_some() {
                self.limited += step;
                self.alone += moved * model.forth / self.links.capacity[path[0] as usize];
            }
            if let Some(paced) = &mut stream.paced {
                let met = |link: &u32| {
                    let pile = self.piles.get(link)?;
                    Some((
                        pile.queue.marks(pile.bytes),
                        pile.bytes / self.links.capacity[*link as usize],
                    ))
                };
                let (chance, queued) = path
                    .iter()
                    .filter_map(met)
                    .fold((0.0f64, 0.0), |(a, b), (chance, queued)| (a.max(chance), b + queued));
                stream.queued = queued;
                paced.advance(to, moved, chance);
            }
            if rate > demand.rate {
                // The lost bytes do not use the links from the limiting one on.
                let passed = path.iter().position(|link| Some(*link) == demand.limit).unwrap_or(0);
                stream.lost += moved
                    * (1.0 - demand.rate / rate)
                    * (stream.hops as usize).saturating_sub(passed) as f64;
            }
        }
        // The fastest of the subflows with the same data determines the progress of the flow. The
        // others skip acknowledged segments.
        for stream in &self.streams {
            let flow = &mut self.flows[stream.flow as usize];
            flow.left -= std::mem::take(&mut flow.ahead).min(flow.left);
        }
        self.piles.retain(|_, pile| {
            // Bytes beyond the limit of the queue do not arrive, because they are paused or
            // dropped.
            pile.bytes = (pile.bytes + pile.change * step).clamp(0.0, pile.queue.limit);
            pile.bytes > 0.0 || pile.change > 0.0
        });
        self.now = to;
        let mut place = 0;
        while let Some(stream) = self.streams.get(place) {
            if self.flows[stream.flow as usize].left >= 0.5 {
                place += 1;
            } else {
                self.end_stream(place, true);
            }
        }
        if self.paths.len()
            > 1_000 + 2 * self.demands.iter().map(|demand| demand.links as usize).sum::<usize>()
        {
            self.compact();
        }
        if self.streams.is_empty() {
            self.tick = None;
        }
    }

    /// Removes a stream. If it is the last one of its flow, the flow ends.
    pub(super) fn end_stream(&mut self, place: usize, whole: bool) {
        let (stream, demand) = (self.streams.swap_remove(place), self.demands.swap_remove(place));
        let flow = &mut self.flows[stream.flow as usize];
        flow.subflows -= 1;
        let (id, one_way, over) = (flow.id, flow.one_way, flow.subflows == 0);
        let (spec, model) = (self.world.flow(id), &self.models[flow.transport as usize]);
        let alone = model.subflows == 1;
        // Data in flight at the end of the run have not passed all links. On average, data are
        // there half a path later, and acknowledgements one and a half.
        let rate =
            if whole { stream.sent / (self.now - stream.since).max(PS) } else { demand.rate };
        let behind = |lag: f64, time: f64| {
            (rate * (self.now + lag * time - self.until).max(0.0)).min(stream.sent)
        };
        let late = |lag: f64| behind(lag, one_way + stream.queued);
        self.standing += (late(0.5) - behind(0.5, one_way) + late(1.5) - behind(1.5, one_way))
            / model.payload
            * f64::from(stream.hops);
        let all = if whole && alone {
            self.world.shape(spec).count as f64
        } else {
            stream.sent / model.payload
        };
        let frames = (all - late(0.5) / model.payload).max(0.0);
        let answers = model.acknowledgements((all - late(1.5) / model.payload).max(0.0));
        let answers = answers + (self.now - stream.since) / model.reports;
        let lost = (stream.lost / model.payload) as u64;
        self.found.packet_hops += ((frames + answers) * f64::from(stream.hops)).round() as u64;
        self.found.packet_hops = self.found.packet_hops.saturating_sub(lost);
        self.found.visits += u64::from(stream.hops);
        self.found.paths += self.spread_over(id);
        for link in demand.path(&self.paths).iter().map(|link| *link as usize) {
            for (link, passed) in [(link, frames), (link ^ 1, answers)] {
                if self.captured.get(link) == Some(&true) {
                    self.found.captured += passed.ceil() as u64;
                }
            }
        }
        if !over {
            return;
        }
        self.halves -= self.models[spec.transport as usize].halves as u64;
        self.free.push(stream.flow);
        let left = self.flows[stream.flow as usize].left;
        self.found.bytes += if whole { spec.bytes } else { (spec.bytes as f64 - left) as u64 };
        if whole {
            self.file(((self.now + one_way) / PS) as u64, What::Received, id);
            let answered = if self.world.shape(spec).ack.is_some() { 2.0 } else { 1.0 };
            self.last_until(self.now + answered * one_way);
        }
    }

    /// Returns the number of paths that the frames of a flow (or subflow) take.
    fn spread_over(&self, id: FlowId) -> u64 {
        let flow = self.world.flow(id);
        if !self.spreads || !self.world.plan.record.paths {
            return 1;
        }
        let routes = self.world.routes(0);
        let tor = routes.anchor(routes.rack_of(flow.src));
        let choices =
            |node: NodeId| routes.next_hops(node, flow.dst).as_slice().len().max(1) as u64;
        let above = self
            .world
            .ports
            .of(tor)
            .iter()
            .map(|port| port.peer)
            .find(|peer| self.world.plan.topology.nodes[*peer as usize].tier > 1);
        (choices(tor) * above.map_or(1, choices)).min(self.world.shape(flow).count)
    }

    /// Ends all streams at the end of the run.
    pub(super) fn cut(&mut self) {
        while !self.streams.is_empty() {
            self.end_stream(0, false);
        }
        if self.standing > LARGE * self.found.packet_hops as f64 {
            self.found.note(Unknowns::Queues);
        }
    }

    fn compact(&mut self) {
        let old = std::mem::take(&mut self.paths);
        for demand in &mut self.demands {
            let first = self.paths.len() as u32;
            self.paths.extend_from_slice(demand.path(&old));
            demand.first = first;
        }
    }
}
