//! The result type of every generator and reader of this crate.

use crate::{Place, TrafficError};
use afflux_net::spec::{Flow, Start};
use afflux_units::{Span, Time};

/// Properties that all flows of a block share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Template {
    /// Index into the scenario's class names; a flow list's `class` column overrides it.
    pub class: u16,
    /// Index into `Plan::transports`.
    pub transport: u16,
    pub priority: u8,
    /// Deadline relative to each flow's start; a flow list's `deadline_ns` overrides it.
    pub deadline: Option<Span>,
}

/// A set of flows that together are one piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Name of the job. Generators and readers give the name within the block, which is empty if
    /// the block is one job. [`Generated::name_jobs`] puts the block's name in front.
    pub name: String,
    /// Number of the block.
    pub block: u32,
    /// Time at which the job was submitted; `None` if it starts when another job ends.
    pub arrival: Option<Time>,
    pub kind: JobKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobKind {
    /// A request and the answers of all senders or workers. It ends with the last answer.
    Query,
    /// Flows between two groups of hosts. It ends with the last of them.
    Coflow,
    /// A job that an application runs, which also records its times.
    Application,
}

impl JobKind {
    /// Returns the word for this kind in results.
    pub fn word(self) -> &'static str {
        match self {
            JobKind::Query => "query",
            JobKind::Coflow => "coflow",
            JobKind::Application => "job",
        }
    }
}

impl Job {
    pub fn new(kind: JobKind, name: impl ToString, arrival: Option<Time>) -> Self {
        Job { name: name.to_string(), block: 0, arrival, kind }
    }
}

/// Separator between the name of a block and the name of a job within it.
pub const JOB_SEPARATOR: char = '.';

/// Flows that are ready for a plan, except that the indices of jobs and groups count from 0 within
/// one `Generated`. [`Generated::merge`] makes these indices unique.
#[derive(Debug, Clone, Default)]
pub struct Generated {
    /// Flows with `Start::At` first, by start (stable), then flows with `Start::After`, by group.
    pub flows: Vec<Flow>,
    /// Flows from a host to itself that the caller asked to keep. They finish at their start and do
    /// not use the network.
    pub local: Vec<Flow>,
    /// Jobs, indexed by `Flow::job`.
    pub jobs: Vec<Job>,
    /// Number of groups: `Flow::group` is in `0..groups`.
    pub groups: u32,
    /// Whether identifiers come from the input and are kept. Otherwise they are running numbers
    /// that merging may change.
    pub own_ids: bool,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Template {
    pub fn flow(&self, id: i64, src: u32, dst: u32, bytes: u64, start: Start) -> Flow {
        Flow {
            id,
            src,
            dst,
            bytes,
            start,
            stop: Flow::ENDLESS,
            deadline: self.deadline,
            class: self.class,
            job: Flow::NO_JOB,
            transport: self.transport,
            group: None,
            connection: None,
            priority: self.priority,
        }
    }
}

fn order(flow: &Flow) -> (bool, u64) {
    match flow.start {
        Start::At(time) => (false, time.0),
        Start::After { group, .. } => (true, u64::from(group)),
    }
}

impl Generated {
    /// Assigns the jobs to block `number`. A job's name becomes `name` if the block is one job, and
    /// `name.JOB` otherwise.
    pub fn name_jobs(&mut self, name: &str, number: u32) {
        for job in &mut self.jobs {
            job.block = number;
            job.name = if job.name.is_empty() {
                name.to_string()
            } else {
                format!("{name}{JOB_SEPARATOR}{}", job.name)
            };
        }
    }

    /// Merges the flows from a host to itself into the other flows, in order.
    pub fn with_local(mut self) -> Generated {
        self.flows.append(&mut self.local);
        self.flows.sort_by_key(order);
        self
    }

    /// Sorts the flows, and numbers them unless they have their own identifiers.
    pub fn finish(mut self) -> Self {
        self.flows.sort_by_key(order);
        self.local.sort_by_key(order);
        if !self.own_ids {
            self.number_from(0);
        }
        self
    }

    fn ids(&self) -> Vec<i64> {
        let mut ids: Vec<i64> = self.flows.iter().chain(&self.local).map(|flow| flow.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Refuses identifiers that occur twice in a file. `place_of` returns the place of the last
    /// flow with an identifier.
    pub(crate) fn distinct(&self, place_of: impl Fn(i64) -> Place) -> Result<(), TrafficError> {
        match twice(&self.ids()) {
            Some(twice) => Err(TrafficError::input(
                place_of(twice).column("id"),
                format!("{twice} a second time"),
                "an identifier that no other flow has",
            )),
            None => Ok(()),
        }
    }

    fn number_from(&mut self, first: i64) {
        for (id, flow) in (first..).zip(self.flows.iter_mut().chain(&mut self.local)) {
            flow.id = id;
        }
    }

    /// Merges several blocks into one list. Among equal starts, flows with their own identifiers
    /// come first, then the order of the blocks applies. Own identifiers are kept and must not
    /// collide. All other flows get running numbers above them.
    pub fn merge(parts: Vec<Generated>) -> Result<Generated, TrafficError> {
        let mut all = Generated::default();
        let mut numbered = Generated { own_ids: true, ..Generated::default() };
        for mut part in parts {
            let (job, group) = (all.jobs.len() as u32, all.groups);
            for flow in part.flows.iter_mut().chain(&mut part.local) {
                if flow.job != Flow::NO_JOB {
                    flow.job += job;
                }
                flow.group = flow.group.map(|own| own + group);
                if let Start::After { group: after, .. } = &mut flow.start {
                    *after += group;
                }
            }
            all.jobs.append(&mut part.jobs);
            all.groups += part.groups;
            all.notes.append(&mut part.notes);
            let target = if part.own_ids { &mut numbered } else { &mut all };
            target.flows.append(&mut part.flows);
            target.local.append(&mut part.local);
        }
        if !numbered.flows.is_empty() || !numbered.local.is_empty() {
            let next = unique(&numbered)?;
            all.flows.sort_by_key(order);
            all.number_from(next);
            all.own_ids = true;
            numbered.flows.append(&mut all.flows);
            numbered.local.append(&mut all.local);
            (all.flows, all.local) = (numbered.flows, numbered.local);
        }
        Ok(all.finish())
    }
}

/// Returns the first free identifier. Refuses identifiers that occur twice.
fn unique(given: &Generated) -> Result<i64, TrafficError> {
    let ids = given.ids();
    if let Some(twice) = twice(&ids) {
        return Err(TrafficError::parameter(
            "id",
            format!("{twice} in two flow lists"),
            "an identifier that no other flow has",
        ));
    }
    let last = ids.last().copied().unwrap_or(-1);
    last.checked_add(1).map(|next| next.max(0)).ok_or_else(|| {
        TrafficError::parameter("id", last, "an identifier with room for more above it")
    })
}

fn twice(sorted: &[i64]) -> Option<i64> {
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64, id: i64) -> Flow {
        Template::default().flow(id, 0, 1, 1, Start::At(Time::from_ns(ns)))
    }

    #[test]
    fn merging_keeps_given_identifiers_and_renumbers_the_rest() {
        let list =
            Generated { flows: vec![at(5, 70), at(9, 3)], own_ids: true, ..Generated::default() };
        let mut closed = at(0, 0);
        closed.start = Start::After { group: 0, delay: Span::from_ns(1) };
        closed.job = 0;
        let mut opener = at(5, 1);
        opener.group = Some(0);
        let job = Job::new(JobKind::Query, 0, None);
        let incast = || Generated {
            flows: vec![opener.clone(), closed.clone()],
            jobs: vec![job.clone()],
            groups: 1,
            ..Generated::default()
        };
        let all = Generated::merge(vec![incast(), list, incast()]).unwrap();
        assert_eq!(
            all.flows.iter().map(|flow| flow.id).collect::<Vec<_>>(),
            [70, 71, 72, 3, 73, 74]
        );
        assert_eq!(all.flows[2].group, Some(1));
        assert_eq!(all.flows[5].start, Start::After { group: 1, delay: Span::from_ns(1) });
        assert_eq!((all.flows[5].job, all.groups, all.jobs.len()), (1, 2, 2));
    }

    #[test]
    fn jobs_have_the_name_of_their_block() {
        let named = |jobs: &[&str]| {
            let mut part = Generated {
                jobs: jobs.iter().map(|name| Job::new(JobKind::Query, name, None)).collect(),
                ..Generated::default()
            };
            part.name_jobs("query1", 4);
            part.jobs.into_iter().map(|job| (job.name, job.block)).collect::<Vec<_>>()
        };
        assert_eq!(named(&["0", "1"]), [("query1.0".to_string(), 4), ("query1.1".to_string(), 4)]);
        assert_eq!(named(&[""]), [("query1".to_string(), 4)]);
    }

    #[test]
    fn colliding_identifiers_are_refused() {
        let list = || Generated { flows: vec![at(5, 70)], own_ids: true, ..Generated::default() };
        assert!(Generated::merge(vec![list(), list()]).unwrap_err().to_string().contains("70"));
    }
}
