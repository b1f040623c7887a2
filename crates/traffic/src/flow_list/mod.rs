//! Flow lists: one row per flow, `start_ns,src,dst,bytes` and optionally `id,class,deadline_ns`.

mod columns;
mod csv;
mod row;

pub use columns::{FlowColumns, from_columns};
pub use csv::{read_csv, read_csv_from};

use crate::Template;

/// What to do with flows from a host to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocalFlows {
    /// An error: mostly a mistake in the list.
    #[default]
    Refuse,
    /// They go to `Generated::local`: they finish at their start.
    Instant,
    /// They are left out, and a note says how many.
    Drop,
}

/// How to read a flow list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowListOptions {
    /// Hosts are `0..hosts`.
    pub hosts: u32,
    pub local: LocalFlows,
    pub template: Template,
}

impl FlowListOptions {
    pub fn new(hosts: u32) -> Self {
        FlowListOptions { hosts, local: LocalFlows::Refuse, template: Template::default() }
    }
}
