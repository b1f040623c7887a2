//! `kind = "partition_aggregate"`: queries with their answers, messages and background flows.

use super::block::{Place, Workload, pattern, rounded};
use super::hosts::{Hosts, SizeTable, Sizes};
use super::keys::FlowKeys;
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::TrafficContext;
use crate::validate::traffic::{select, sizes};
use afflux_config::keys::{at_most_a_day, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Size, keys};
use afflux_net::Model;
use afflux_traffic::{BackgroundFlows, Generated, JobKind};
use afflux_units::{Bytes, Span};

/// Largest default number of workers of a query.
const WORKERS: usize = 40;

/// Classes of the flows that belong to no query.
const MESSAGE_CLASS: &str = "message";
const BACKGROUND_CLASS: &str = "background";

/// Default sizes in bytes, from and to: of answers, messages and background flows.
const QUERY: (u64, u64) = (2_000, 20_000);
const MESSAGE: (u64, u64) = (50_000, 1_000_000);
const BACKGROUND: (u64, u64) = (1_000_000, 50_000_000);

keys! {
    /// A service that splits its work. Every host sends queries, and many hosts answer each query
    /// at the same time. Every query is a job. Its answers have the block's `class` and `deadline`,
    /// which counts from the query. In addition, any two hosts exchange messages (class `message`)
    /// and background flows (class `background`). Give the hosts' least time-out, `min_rto`, in
    /// `[host.transport]`.
    pub struct Keys as "PartitionAggregate" => PartitionAggregate(context: &TrafficContext<'_>) {
        @flow: FlowKeys;
        /// Hosts that take part.
        hosts: Hosts as Vec<u32> = "all", check select::of(context);
        /// Number of hosts that answer a query, drawn anew for each query.
        workers: u32 = (usual_workers(&hosts)) "all others, 40 at most" from "DCTCP, SIGCOMM 2010";
        /// Size of an answer.
        query: Sizes = (range(QUERY)) "from 2 to 20 kB" from "DCTCP; Fujii et al. 2014";
        /// Queries per second of one host.
        queries_per_second: f64 = required, check per_second;
        /// Each answer is delayed by a uniform time up to this, so that answers do not arrive together.
        jitter: Duration = "0s", check at_most_a_day;
        /// Size of a message.
        message: Sizes = (range(MESSAGE)) "from 50 kB to 1 MB";
        /// Messages per second of one host.
        messages_per_second: f64 = 1.0 from "the source has seconds between them", check per_second;
        /// Size of a background flow.
        background: Sizes = (range(BACKGROUND)) "from 1 to 50 MB";
        /// Background flows per second of one host.
        background_per_second: f64 = 0.1 from "such flows are rare, and yet carry most of the bytes", check per_second;
        /// Time during which flows start.
        duration: Duration = required, check |Duration(time), key| match time {
            Span::ZERO => Err(Wrong::at(key, "\"0s\": write a time above 0")),
            time => Ok(time),
        };
    }
}

fn per_second(rate: f64, key: Key) -> Result<f64, Wrong> {
    match rate {
        rate if rate.is_finite() && rate >= 0.0 => Ok(rate),
        rate => {
            let what = format!("found {rate}: write a number of flows per second, 0 for none");
            Err(Wrong::at(key, what))
        }
    }
}

fn usual_workers(hosts: &[u32]) -> u32 {
    hosts.len().saturating_sub(1).min(WORKERS) as u32
}

/// Returns sizes that are uniform from `min` to `max`.
fn range((min, max): (u64, u64)) -> Sizes {
    let size = |bytes| Some(Size(Bytes(bytes)));
    Sizes::Table(SizeTable { min: size(min), max: size(max), ..SizeTable::default() })
}

impl Workload for Keys {
    fn generate(
        &mut self,
        shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let block = self.resolve(place.key, context)?;
        self.refuse_idle(&block, &place)?;
        let mut class = |name: &str| {
            place
                .classes
                .index(name)
                .ok_or_else(|| Wrong::at(place.key.clone(), "there are more than 65,536 classes"))
        };
        let (message, background) = (class(MESSAGE_CLASS)?, class(BACKGROUND_CLASS)?);
        let mut sizes = |slot: &mut Option<Sizes>, name: &str| {
            sizes::required(slot, &place.key.clone().name(name), context)
        };
        let messages = BackgroundFlows {
            sizes: sizes(&mut self.message, "message")?,
            per_second: block.messages_per_second,
            class: message,
        };
        let background = BackgroundFlows {
            sizes: sizes(&mut self.background, "background")?,
            per_second: block.background_per_second,
            class: background,
        };
        let pattern = afflux_traffic::PartitionAggregate {
            hosts: block.hosts,
            workers: block.workers,
            query: sizes(&mut self.query, "query")?,
            queries_per_second: block.queries_per_second,
            jitter: block.jitter,
            messages,
            background,
            start: shared.start,
            duration: block.duration,
        };
        context.budget.reserve(pattern.expected_flows(), || place.at("duration"))?;
        let given = pattern
            .generate(&shared.template, &shared.draws)
            .map_err(|error| place.wrong(error))?;
        if given.flows.is_empty() {
            let text = format!(
                "\"{}\": this traffic generates no flows with this seed: its {} hosts start about {} flows in this time at these rates; write a longer duration or \
                 higher queries_per_second, messages_per_second or background_per_second, or remove the block",
                pattern.duration,
                pattern.hosts.len(),
                rounded(pattern.expected_flows())
            );
            context.warnings.push(Wrong::at(place.at("duration"), text));
        }
        Ok(given)
    }
    fn jobs(&self) -> Option<JobKind> {
        Some(JobKind::Query)
    }
    fn classes(&self, own: &str) -> Vec<String> {
        let others = [
            (MESSAGE_CLASS, self.messages_per_second),
            (BACKGROUND_CLASS, self.background_per_second),
        ];
        let there = others.into_iter().filter(|(_, per_second)| *per_second != Some(0.0));
        [own].into_iter().chain(there.map(|(name, _)| name)).map(String::from).collect()
    }
    fn size_key(&self) -> &'static str {
        "duration"
    }
    fn paths(&mut self) -> Vec<&mut String> {
        [&mut self.query, &mut self.message, &mut self.background]
            .into_iter()
            .flat_map(Sizes::paths)
            .collect()
    }
    fn dates_jobs(&self) -> bool {
        true
    }
}

impl Keys {
    /// Refuses keys of flows of which none start, unless they have their defaults, which resolved
    /// scenarios repeat.
    fn refuse_idle(&self, block: &PartitionAggregate, place: &Place) -> Result<(), Wrong> {
        let differs = |sizes: &Option<Sizes>, usual| *sizes != Some(range(usual));
        let queries = (block.queries_per_second, "queries_per_second = 0");
        let messages = (block.messages_per_second, "messages_per_second = 0");
        let background = (block.background_per_second, "background_per_second = 0");
        for (name, differs, (per_second, word)) in [
            ("workers", block.workers != usual_workers(&block.hosts), queries),
            ("query", differs(&self.query, QUERY), queries),
            ("jitter", block.jitter != Span::ZERO, queries),
            ("message", differs(&self.message, MESSAGE), messages),
            ("background", differs(&self.background, BACKGROUND), background),
        ] {
            if differs && per_second == 0.0 {
                return Err(meaningless(place.at(name), word));
            }
        }
        Ok(())
    }
}

pub const MODELS: &[Model] = &[pattern(
    "partition_aggregate",
    "DCTCP, SIGCOMM'10, section 2.2; Fujii, Tazaki and Sekiya, IEICE 2014, section 3.3: answers of 2 to 20 kB, messages of 50 kB to 1 MB, background of 1 to 50 MB",
    "every query is answered by workers drawn for it, with jitter and a deadline; messages and background by Poisson processes of their own",
    "requests take no time; one level of aggregation; sizes are uniform within their ranges, of which alone the sources tell",
)];
