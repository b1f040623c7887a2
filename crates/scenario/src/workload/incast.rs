//! `kind = "incast"`: rounds of simultaneous flows to one receiver.

use super::block::{Place, Workload, pattern};
use super::hosts::{HostItem, Hosts, Receivers, Senders};
use super::keys::FlowKeys;
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::TrafficContext;
use crate::validate::traffic::select;
use crate::validate::traffic::timing::{delay_of_next, period};
use afflux_config::keys::{at_most_a_day, fill, meaningless};
use afflux_config::tree::Wrong;
use afflux_config::{Duration, Size, keys};
use afflux_net::Model;
use afflux_traffic::{Generated, IncastSize, JobKind, Loop, Receiver};

keys! {
    /// Rounds of simultaneous flows to one receiver. Every round is a query, named `BLOCK.0`,
    /// `BLOCK.1` and so on in results.
    pub struct Keys as "Incast" => Incast(context: &TrafficContext<'_>) {
        @flow: FlowKeys;
        /// The receiver: a host, or `"random"` (drawn for each round). Several hosts (an array, or
        /// text as in `"0-3"` or `"db[1-4]"`) have one incast each, with their own senders and
        /// rounds. Queries are then numbered round by round, and within a round in the order of the
        /// hosts' numbers.
        to: Receivers = 0;
        /// Number of senders, or the hosts themselves; the receiver is left out. Default: all
        /// others.
        senders: Senders = none;
        /// Whether the senders are drawn anew for each round; if not, a number of senders means the
        /// first hosts.
        random_senders: bool = false;
        /// Hosts that may take part.
        hosts: Hosts as Vec<u32> = "all", check select::of(context);
        /// Size of the flow of each sender. Default: required, or `total`.
        bytes: Size = none;
        /// Size of all flows of a round together. Default: none: `bytes` is required instead.
        total: Size = none;
        /// Number of rounds, in each of which all senders send once.
        rounds: u32 = 1, in 1 to 4_294_967_295 as "at least 1";
        /// Time between the starts of rounds (open loop). Default: required with several rounds, unless `closed_loop = true`.
        period: Duration = none;
        /// Whether a round starts when all flows of the previous round have arrived.
        closed_loop: bool = false;
        /// With `closed_loop`: time that a request takes from the receiver to the senders.
        request_delay: Duration = {closed_loop.then(|| Duration(context.facts.longest(0)))} "the longest delay between two hosts",
            check |delay, key| delay_of_next(delay, context, key);
        /// Each flow is delayed by a uniform time up to this.
        jitter: Duration = "0s", check at_most_a_day;
    }
}

impl Workload for Keys {
    fn generate(
        &mut self,
        shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let hosts_written = self.hosts.is_some();
        let block = self.resolve(place.key, context)?;
        let hosts = block.hosts;
        let receiver = match block.to {
            Receivers(Hosts(items)) if items == [HostItem::Text("random".into())] => {
                Receiver::Random
            }
            Receivers(to) => Receiver::These(select::hosts(&to, &place.at("to"), context.facts)?),
        };
        let all_named =
            matches!((&receiver, &self.senders), (Receiver::These(_), Some(Senders::These(_))));
        if all_named && hosts_written {
            let text =
                "has no effect, because to and senders list all hosts that take part: remove it";
            return Err(Wrong::at(place.at("hosts"), text));
        }
        let takes_part = match &receiver {
            Receiver::These(to) => to.iter().any(|to| hosts.contains(to)),
            Receiver::Random => true,
        };
        let random = block.random_senders;
        if random && self.senders.is_none() {
            let text = "has no effect, because all other hosts send in every round: write senders, the number of hosts to draw, or remove it";
            return Err(Wrong::at(place.at("random_senders"), text));
        }
        let everybody = self.senders.is_none();
        let others = Senders::Count((hosts.len() - usize::from(takes_part)) as u32);
        let senders = match fill(&mut self.senders, others) {
            _ if everybody => afflux_traffic::Senders::These(hosts.clone()),
            Senders::These(_) if random => {
                return Err(Wrong::at(
                    place.at("senders"),
                    "with random_senders = true write the number of senders",
                ));
            }
            Senders::These(hosts) => afflux_traffic::Senders::These(select::hosts(
                &hosts,
                &place.at("senders"),
                context.facts,
            )?),
            Senders::Count(count) if random => afflux_traffic::Senders::Random(count),
            Senders::Count(count) => afflux_traffic::Senders::First(count),
        };
        let size = match (block.bytes, block.total) {
            (Some(bytes), None) => IncastSize::PerSender(bytes.0),
            (None, Some(total)) => IncastSize::Total(total.0),
            (Some(_), Some(_)) => {
                return Err(Wrong::at(
                    place.at("total"),
                    "bytes (of each sender) is given too: write only one of the two",
                ));
            }
            (None, None) => {
                return Err(Wrong::at(
                    place.key.clone(),
                    "the size is missing: write bytes (per sender) or total (all senders together)",
                ));
            }
        };
        let rhythm = match block.request_delay {
            _ if block.closed_loop && block.rounds == 1 => {
                return Err(meaningless(place.at("closed_loop"), "rounds = 1"));
            }
            _ if block.closed_loop && block.period.is_some() => {
                return Err(meaningless(place.at("period"), "closed_loop = true"));
            }
            Some(_) if !block.closed_loop => {
                return Err(meaningless(place.at("request_delay"), "closed_loop = false"));
            }
            Some(delay) => Loop::Closed { delay },
            None => {
                let or = " or closed_loop = true";
                Loop::Open { period: period(block.period, block.rounds, place.key, or)? }
            }
        };
        let pattern = afflux_traffic::Incast {
            hosts,
            receiver,
            senders,
            size,
            rounds: block.rounds,
            rhythm,
            start: shared.start,
            jitter: block.jitter,
        };
        context.budget.reserve(pattern.expected_flows(), || place.at("rounds"))?;
        pattern.generate(&shared.template, &shared.draws).map_err(|error| {
            let mut wrong = place.wrong(error);
            if wrong.key == place.at("sizes") {
                wrong.key = place.at(self.size_key());
            }
            wrong
        })
    }
    fn jobs(&self) -> Option<JobKind> {
        Some(JobKind::Query)
    }
    fn size_key(&self) -> &'static str {
        if self.total.is_some() { "total" } else { "bytes" }
    }
}

pub const MODELS: &[Model] = &[pattern(
    "incast",
    "DCTCP, SIGCOMM'10 (aggregator and workers)",
    "open or closed loop, size per worker or in total, jitter",
    "requests are a fixed delay, not frames",
)];
