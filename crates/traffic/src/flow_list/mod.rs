//! Reads flow lists: one row per flow, `start_ns,src,dst,bytes` and optionally
//! `id,class,deadline_ns`.

mod columns;
mod csv;
mod row;

pub use columns::{FlowColumns, HostColumn, from_columns};
pub use csv::{read_csv, read_csv_from};

use crate::names::{HostNames, NumbersOnly};
use crate::{Place, Template, TrafficError, spelling, text};
use std::path::Path;

/// Columns of a flow list, the required ones first.
const COLUMNS: [&str; 9] =
    ["start_ns", "src", "dst", "bytes", "id", "class", "deadline_ns", "dscp", "priority"];
const REQUIRED: usize = 4;
const HEADER: &str =
    "a header with `start_ns,src,dst,bytes` and optionally `id,class,deadline_ns,dscp,priority`";
/// Columns that results and other tools write next to the numbers of hosts.
const NAMES: [&str; 2] = ["src_name", "dst_name"];
/// Largest number of other columns that a note names.
const MOST_NAMED: usize = 20;

/// Refuses a column whose name looks like a misspelt column of a flow list.
fn refuse_misspelt(name: &str, place: impl FnOnce() -> Place) -> Result<(), TrafficError> {
    if NAMES.contains(&name) || spelling::nearest(name, &COLUMNS).is_none() {
        return Ok(());
    }
    Err(TrafficError::input(
        place(),
        format!("unknown column {}", text::shown(name.as_bytes())),
        HEADER,
    )
    .near(name, &COLUMNS))
}

/// Returns notes on columns that are not part of a flow list, such as those of other tools'
/// results.
fn left_out(file: &Path, others: &[&str]) -> Vec<String> {
    let (names, others): (Vec<&str>, Vec<&str>) =
        others.iter().partition(|name| NAMES.contains(name));
    let note = |columns: &[&str], why: &str| {
        let more = if columns.len() > MOST_NAMED {
            format!(" and {} more", columns.len() - MOST_NAMED)
        } else {
            String::new()
        };
        let shown: Vec<String> = columns
            .iter()
            .take(MOST_NAMED)
            .map(|name| text::shown(name.as_bytes()).trim_matches('`').to_string())
            .collect();
        let plural = if columns.len() == 1 { "" } else { "s" };
        (!columns.is_empty()).then(|| {
            format!("{}: column{plural} {}{more} {why}: left out", file.display(), shown.join(", "))
        })
    };
    let be = |columns: &[&str], one: &str, more: &str| {
        if columns.len() == 1 { one.to_string() } else { more.to_string() }
    };
    let notes = [
        note(&others, &be(&others, "is not part of a flow list", "are not part of a flow list")),
        note(
            &names,
            &be(
                &names,
                "repeats a host that `src` or `dst` names",
                "repeat hosts that `src` and `dst` name",
            ),
        ),
    ];
    notes.into_iter().flatten().collect()
}

/// Treatment of flows from a host to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocalFlows {
    /// Refuses such flows: they are mostly mistakes in the list.
    #[default]
    Refuse,
    /// Keeps such flows in `Generated::local`. They finish at their start.
    Instant,
    /// Leaves such flows out. A note states their number.
    Drop,
}

/// Options for reading a flow list.
#[derive(Clone, Copy)]
pub struct FlowListOptions<'a> {
    /// Number of hosts, which are numbered `0..hosts`.
    pub hosts: u32,
    /// Names and addresses of hosts.
    pub names: &'a dyn HostNames,
    pub local: LocalFlows,
    /// Largest number of rows. Longer lists are refused.
    pub most: u64,
    /// Largest size of a flow in bytes.
    pub most_bytes: u64,
    pub template: Template,
    /// Whether the template's class is the user's choice, which takes precedence over the column
    /// `class`.
    pub own_class: bool,
    /// Whether the template's priority is the user's choice, which takes precedence over the
    /// columns `dscp` and `priority`.
    pub own_priority: bool,
    /// Priority of each value of the column `dscp`.
    pub priority_of_dscp: &'a [u8; 64],
}

impl FlowListOptions<'_> {
    pub fn new(hosts: u32) -> Self {
        let (local, template) = (LocalFlows::Refuse, Template::default());
        FlowListOptions {
            hosts,
            names: &NumbersOnly,
            local,
            most: u64::MAX,
            most_bytes: u64::MAX,
            template,
            own_class: false,
            own_priority: false,
            priority_of_dscp: &[0; 64],
        }
    }
}
