//! Flow lists: one row per flow, `start_ns,src,dst,bytes` and optionally `id,class,deadline_ns`.

mod columns;
mod csv;
mod row;

pub use columns::{FlowColumns, HostColumn, from_columns};
pub use csv::{read_csv, read_csv_from};

use crate::Template;
use crate::names::{HostNames, NumbersOnly};

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
#[derive(Clone, Copy)]
pub struct FlowListOptions<'a> {
    /// Hosts are `0..hosts`.
    pub hosts: u32,
    /// What hosts are called besides.
    pub names: &'a dyn HostNames,
    pub local: LocalFlows,
    pub template: Template,
    /// The template's class is the user's choice: it takes precedence over the column `class`.
    pub own_class: bool,
    /// The template's priority is the user's choice: it takes precedence over the columns `dscp` and `priority`.
    pub own_priority: bool,
    /// The priority of each value of the column `dscp`.
    pub priority_of_dscp: &'a [u8; 64],
}

impl FlowListOptions<'_> {
    pub fn new(hosts: u32) -> Self {
        let (local, template) = (LocalFlows::Refuse, Template::default());
        FlowListOptions { hosts, names: &NumbersOnly, local, template, own_class: false, own_priority: false, priority_of_dscp: &[0; 64] }
    }
}
