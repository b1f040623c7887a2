//! Random streams of Hadoop jobs. Each is specific to a job, a purpose and a task, so that no draw
//! depends on another.

use super::settings::Range;
use afflux_engine::random::Stream;
use afflux_units::Span;

const fn named(name: &[u8; 8]) -> u64 {
    u64::from_be_bytes(*name)
}

/// Phase of a node's heartbeats. Entity: the node.
pub const HEARTBEAT: u64 = named(b"hado-hbt");
/// Data nodes that hold a block. Entity: the map.
pub const REPLICAS: u64 = named(b"hado-rep");
/// Start-up times of a task's container. Entity: the task.
pub const START: u64 = named(b"hado-srt");
/// Replica and disk that a map reads from, and whether the block is in memory.
pub const READ: u64 = named(b"hado-red");
/// Data nodes that an output is written to. Entity: the task.
pub const WRITE: u64 = named(b"hado-wri");
/// Hosts that a reducer chooses, and service times of its fetches.
pub const FETCH: u64 = named(b"hado-fet");
/// Time of a task's first request for new map outputs.
pub const POLL: u64 = named(b"hado-pol");
/// Draws of a client and of a job's master. Entity: 0.
pub const JOB: u64 = named(b"hado-job");
/// Service times of remote procedure calls. Entity: the task.
pub const RPC: u64 = named(b"hado-rpc");
/// Service times of the calls with which a job's master starts a container. Entity: the task.
pub const LAUNCH: u64 = named(b"hado-lau");
/// Calls and data nodes of the files that a node fetches for a job's tasks. Entity: the node.
pub const LOCALIZE: u64 = named(b"hado-loc");
/// Data nodes of a map's short reads.
pub const SHORT: u64 = named(b"hado-sho");
/// Data nodes that logs are sent to. Entity: the node.
pub const LOG: u64 = named(b"hado-log");
/// Local disks. Entity: the task.
pub const DISK: u64 = named(b"hado-dsk");

/// A task of a job as the entity of a random stream: a map, a reducer, or the job's master.
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

/// A task's first attempt, or a further one with its own draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    pub task: Task,
    /// Number of the attempt: 0 for the first, 1 for the speculative one.
    pub number: u32,
}

impl From<Task> for Attempt {
    fn from(task: Task) -> Self {
        Attempt { task, number: 0 }
    }
}

impl Attempt {
    /// Returns the attempt as the entity of a random stream, below 2^34.
    pub fn entity(self) -> u64 {
        u64::from(self.number) << 33 | self.task.number()
    }
}

pub fn draw(range: Range, stream: &mut Stream) -> Span {
    Span(range.least.0 + stream.below(range.most.0 - range.least.0 + 1))
}
