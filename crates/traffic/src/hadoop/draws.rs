//! What is drawn at random: each by job, purpose and task, so that no draw depends on another.

use super::settings::Range;
use afflux_engine::random::Stream;
use afflux_units::Span;

const fn named(name: &[u8; 8]) -> u64 {
    u64::from_be_bytes(*name)
}

/// Phase of a node's heartbeats; entity: the node.
pub const HEARTBEAT: u64 = named(b"hado-hbt");
/// Data nodes that hold a block; entity: the map.
pub const REPLICAS: u64 = named(b"hado-rep");
/// Start-up times of a task's container; entity: the task.
pub const START: u64 = named(b"hado-srt");
/// Which replica and which disk a map reads, whether from memory.
pub const READ: u64 = named(b"hado-red");
/// Data nodes that an output goes to; entity: the task.
pub const WRITE: u64 = named(b"hado-wri");
/// A reducer's choice of hosts, service times of its fetches.
pub const FETCH: u64 = named(b"hado-fet");
/// A task's first look at new map outputs.
pub const POLL: u64 = named(b"hado-pol");
/// What a client and a job's master draw; entity: 0.
pub const JOB: u64 = named(b"hado-job");
/// Service times of remote procedure calls; entity: the task.
pub const RPC: u64 = named(b"hado-rpc");
/// A job's master starts a container; entity: the task.
pub const LAUNCH: u64 = named(b"hado-lau");
/// A node fetches what a job's tasks need; entity: the node.
pub const LOCALIZE: u64 = named(b"hado-loc");
/// Data nodes of a map's short reads.
pub const SHORT: u64 = named(b"hado-sho");
/// Where logs go; entity: the node.
pub const LOG: u64 = named(b"hado-log");
/// Local disks; entity: the task.
pub const DISK: u64 = named(b"hado-dsk");

/// Tasks of a job as entities of streams: maps, reducers, the job itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    Master,
    Map(u32),
    Reduce(u32),
}

impl Task {
    pub fn number(self) -> u64 {
        match self {
            Task::Master => 0,
            Task::Map(map) => 1 + 2 * map as u64,
            Task::Reduce(reduce) => 2 + 2 * reduce as u64,
        }
    }
}

/// A task's first attempt, or a further one, whose draws are its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    pub task: Task,
    /// 0 for the first, 1 for the speculative one.
    pub number: u32,
}

impl From<Task> for Attempt {
    fn from(task: Task) -> Self {
        Attempt { task, number: 0 }
    }
}

impl Attempt {
    /// As an entity of streams, below 2^34.
    pub fn entity(self) -> u64 {
        u64::from(self.number) << 33 | self.task.number()
    }
}

pub fn draw(range: Range, stream: &mut Stream) -> Span {
    Span(range.least.0 + stream.below(range.most.0 - range.least.0 + 1))
}
