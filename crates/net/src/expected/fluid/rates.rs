//! Sets the rates, windows and queues of the fluid model.

use super::{Fluid, LEAST_CUT, Pile, Stream, seconds};
use crate::congestion::{Decrease, IncreaseRule};
use crate::expected::queues::Queue;
use crate::expected::share::Demand;
use crate::expected::{FluidModel, Unknowns};
use crate::spec::NodeKind;
use rustc_hash::FxHashMap;

impl Fluid<'_, '_> {
    /// Sets the rates from now on, and the next tick.
    pub(super) fn share(&mut self) {
        let least = self.least_step();
        let next = self.next_event().map_or(f64::INFINITY, seconds);
        let growing = self
            .streams
            .iter()
            .filter(|stream| stream.slow)
            .map(|stream| stream.round_trip)
            .fold(f64::INFINITY, f64::min);
        let longest = (next - self.now).min(growing).min(self.patience()).max(least);
        for (stream, demand) in self.streams.iter_mut().zip(&mut self.demands) {
            let flow = &self.flows[stream.flow as usize];
            let model = &self.models[flow.transport as usize];
            let by_window = if stream.slow {
                // The window doubles every round trip.
                let doublings = longest / stream.round_trip;
                let grown = stream.window * (libm::exp2(doublings.min(40.0)) - 1.0);
                (stream.ahead + grown) / longest
            } else {
                stream.window / stream.round_trip
            };
            let nic = self.links.capacity[demand.path(&self.paths)[0] as usize] / model.forth;
            let paced = stream
                .paced
                .as_mut()
                .map_or(f64::INFINITY, |paced| paced.rate(self.now) / model.forth);
            demand.most = by_window.min(model.rate).min(flow.left / least).min(nic).min(paced);
        }
        self.work +=
            self.links.share(&mut self.demands, &self.paths) + 4 * self.streams.len() as u64;
        for (stream, demand) in self.streams.iter().zip(&mut self.demands) {
            let nic = demand.path(&self.paths)[0];
            if demand.limit.is_some_and(|link| link != nic) {
                demand.rate *=
                    self.models[self.flows[stream.flow as usize].transport as usize].efficiency;
            }
        }
        self.adapt();
        let ends = self.streams.iter().zip(&self.demands).map(|(stream, demand)| {
            let flow = &self.flows[stream.flow as usize];
            let rate =
                if self.models[flow.transport as usize].yields { demand.rate } else { demand.most };
            flow.left / rate.max(1e-9)
        });
        let first_end = ends.fold(f64::INFINITY, f64::min);
        self.tick = Some(self.now + first_end.clamp(least, longest.max(least)));
    }

    /// Returns the longest time in seconds for which rates may stay constant, considering the flows
    /// that react to queues.
    fn patience(&self) -> f64 {
        self.streams
            .iter()
            .filter_map(|stream| stream.paced.as_ref())
            .map(|paced| paced.patience())
            .fold(f64::INFINITY, f64::min)
    }

    /// Updates windows and queues according to the rates.
    fn adapt(&mut self) {
        let mut limiting = self.limiting();
        for (link, pile) in &mut self.piles {
            pile.change = -self.links.spare(*link);
        }
        for (&link, limiting) in &mut limiting {
            self.fill_queue(link, limiting);
        }
        self.set_windows(&limiting);
    }

    /// Returns the state of each link that limits flows. The first links of paths are not included.
    fn limiting(&self) -> FxHashMap<u32, Limiting> {
        let mut limiting: FxHashMap<u32, Limiting> = FxHashMap::default();
        for (stream, demand) in self.streams.iter().zip(&self.demands) {
            let nic = demand.path(&self.paths)[0];
            let Some(link) = demand.limit.filter(|link| *link != nic) else { continue };
            let flow = &self.flows[stream.flow as usize];
            let model = &self.models[flow.transport as usize];
            limiting
                .entry(link)
                .or_insert_with(|| Limiting::of(self.world.flow(flow.id).priority))
                .add(self.now, stream, demand, flow.left, model);
        }
        limiting
    }

    /// Finds how long the queue of a link becomes, and whether it loses frames.
    fn fill_queue(&mut self, link: u32, limiting: &mut Limiting) {
        let topology = &self.world.plan.topology;
        let Some(spec) = topology.links.get(link as usize / 2) else { return };
        let (from, to) = if link.is_multiple_of(2) { (spec.a, spec.b) } else { (spec.b, spec.a) };
        if topology.nodes[from as usize].kind == NodeKind::Host {
            return;
        }
        let queue = Queue::of(self.world, from, limiting.priority);
        let most = queue.standing(limiting.marked);
        let standing = most.min(limiting.sent).min(limiting.early);
        limiting.cuts = limiting.early >= most;
        limiting.standing = standing / limiting.flows;
        if limiting.excess > 0.0 {
            self.piles.entry(link).or_insert(Pile { bytes: 0.0, change: 0.0, queue }).change =
                limiting.excess;
        }
        let room = queue.limit + self.links.capacity[link as usize] * limiting.round_trip;
        let full = self.piles.get(&link).is_some_and(|pile| pile.bytes >= queue.limit);
        let lost = limiting.least > room || limiting.burst > room || full;
        if lost && !queue.lossless {
            self.found.note(Unknowns::Losses { from, to });
        } else if limiting.erratic {
            self.found.note(Unknowns::Rates);
        }
    }

    /// Cuts the windows of the flows that links limit, and counts outstanding frames.
    fn set_windows(&mut self, limiting: &FxHashMap<u32, Limiting>) {
        let (mut outstanding, mut rings) = (0.0, 0);
        for (stream, demand) in self.streams.iter_mut().zip(&self.demands) {
            let flow = &self.flows[stream.flow as usize];
            let model = &self.models[flow.transport as usize];
            let adapts = model.yields && model.growth != IncreaseRule::AtOnce;
            let limiting = demand.limit.and_then(|link| Some((link, limiting.get(&link)?)));
            let waiting = match limiting {
                Some((_, limiting)) => limiting.standing,
                None if adapts && !model.small_queues => stream.window.min(flow.left),
                None => 0.0,
            };
            let frames = (waiting + demand.rate * stream.round_trip) / model.payload;
            stream.most = stream.most.max(frames);
            outstanding += frames;
            if model.remembers {
                rings += (stream.most as u64 + 1).next_power_of_two().max(16);
            }
            // A link that limits the first window at once does not yet end slow start.
            if adapts
                && stream.ahead < 1.0
                && let Some((link, limiting)) = limiting
            {
                let capacity = self.links.capacity[link as usize];
                stream.cut_window(self.now, limiting, capacity, demand.rate, model);
            }
        }
        self.found.outstanding = self.found.outstanding.max(outstanding as u64);
        self.found.rings = self.found.rings.max(rings);
    }
}

impl Stream<'_> {
    /// Sets the window of a flow that a link with this capacity limits to `rate`.
    fn cut_window(
        &mut self,
        now: f64,
        limiting: &Limiting,
        capacity: f64,
        rate: f64,
        model: &FluidModel,
    ) {
        self.slow = false;
        self.queued = limiting.standing * limiting.flows / capacity;
        let Decrease { part, fades } = model.cut;
        let period = self.round_trip + self.queued;
        let part = match self.cut {
            None if !limiting.cuts => 0.0,
            None => part,
            Some((first, last)) if fades > 0.0 && now - last >= period => {
                part * libm::exp(-fades * (now - first) / period)
            }
            Some(_) => 0.0,
        };
        let full = rate * self.round_trip + limiting.standing;
        if part > LEAST_CUT {
            self.cut = Some((self.cut.map_or(now, |cut| cut.0), now));
            self.before = full;
        }
        self.window = ((1.0 - part) * full).min(model.window);
    }
}

/// State of the flows that a link limits. Units are bytes and seconds.
#[derive(Debug, Clone, Copy)]
struct Limiting {
    priority: u8,
    flows: f64,
    /// Minimum windows of the flows (`least`), and windows with which they start (`burst`).
    least: f64,
    burst: f64,
    sent: f64,
    /// Waiting bytes of flows that leave slow start without a loss or mark (`early`). `cuts` is
    /// true if the queue becomes long enough to make flows cut their windows.
    early: f64,
    cuts: bool,
    /// Rate in bytes per second beyond the capacity of the link.
    excess: f64,
    round_trip: f64,
    marked: bool,
    erratic: bool,
    /// Waiting bytes of each flow.
    standing: f64,
}

impl Limiting {
    fn of(priority: u8) -> Self {
        Limiting {
            priority,
            flows: 0.0,
            least: 0.0,
            burst: 0.0,
            sent: 0.0,
            early: 0.0,
            cuts: true,
            excess: 0.0,
            round_trip: 0.0,
            marked: true,
            erratic: false,
            standing: 0.0,
        }
    }

    /// Adds a flow or subflow that has `left` bytes to send.
    fn add(&mut self, now: f64, stream: &Stream, demand: &Demand, left: f64, model: &FluidModel) {
        self.flows += 1.0;
        // With fewer than four frames in flight, three duplicate acknowledgements never indicate a
        // loss.
        self.least += (if model.marked { 2.0 } else { 4.0 } * model.payload).min(left);
        // A window has grown by at most the bytes sent, and the bytes that wait cannot exceed those
        // left to send.
        self.sent += (stream.sent + model.initial_window).min(left);
        self.early += match (model.early, stream.cut) {
            (Some(early), None) => {
                let path = demand.rate * stream.round_trip;
                (early.times * (path + early.burst) + early.grows * stream.sent - path).max(0.0)
            }
            _ => f64::INFINITY,
        };
        self.round_trip = self.round_trip.max(stream.round_trip);
        self.marked &= model.marked;
        self.erratic |= model.erratic;
        let follows = !model.yields || stream.paced.is_some();
        self.excess += if follows { (demand.most - demand.rate) * model.forth } else { 0.0 };
        if now - stream.since <= stream.round_trip && !model.granted {
            self.burst += stream.window.min(left);
        }
    }
}
