//! Memory limit of a scenario: checked before flows are drawn, and again when the plan is complete.

use crate::scenario::Followed;
use afflux_config::tree::{Key, Wrong};
use afflux_engine::memory;
use afflux_net::memory::{Kept, Memory, PROCESS, fabric};
use afflux_net::spec::{Bound, MaxMemory, Plan, Undrawn};
use afflux_net::{Expected, expected};

/// Least memory in bytes that a flow takes, from its draw to its row in the results.
const FLOW: u64 = Kept::FLOW + 64;

/// Divisor of a memory limit. A plan whose upper bound is below the limit divided by this is not
/// estimated more closely, unless the scenario itself has set the limit.
const FAR_BELOW: u64 = 2;

/// Memory limit, and number of flows that have been drawn so far.
pub struct MemoryBudget {
    limit: Option<Limit>,
    flows: u64,
}

#[derive(Clone, Copy)]
struct Limit {
    bytes: u64,
    /// Bound of the machine that sets the limit; `None` if the scenario sets it.
    by: Option<Bound>,
}

impl Limit {
    fn words(&self) -> String {
        let size = shown(self.bytes);
        match self.by {
            None => format!("more than run.max_memory allows, {size}"),
            Some(Bound::Machine) => format!("more than the {size} that this machine can give now"),
            Some(Bound::Group) => {
                format!("more than the {size} that the control group of this process can give")
            }
            Some(Bound::AddressSpace) => format!(
                "more than the {size} that the address space of this process allows (ulimit -v)"
            ),
        }
    }
}

impl MemoryBudget {
    /// Takes the lower of `[run] max_memory` and the memory that the machine can give.
    pub fn new(max_memory: Option<u64>) -> Self {
        let own = max_memory.map(|bytes| Limit { bytes, by: None });
        let machine =
            memory::available().map(|most| Limit { bytes: most.bytes, by: Some(most.by) });
        MemoryBudget {
            limit: own.into_iter().chain(machine).min_by_key(|limit| limit.bytes),
            flows: 0,
        }
    }

    /// Returns the number of flows that still fit into the limit.
    pub fn flows_left(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| {
            (limit.bytes.saturating_sub(PROCESS) / FLOW).saturating_sub(self.flows)
        })
    }

    /// Reserves memory for about `flows` flows. `key` is the key that sets their number.
    pub fn reserve(&mut self, flows: f64, key: impl FnOnce() -> Key) -> Result<(), Wrong> {
        let left = self.flows_left();
        if let Some(limit) = self.limit.filter(|_| flows > left as f64) {
            let (count, size) =
                (counted(flows), shown(((flows + self.flows as f64) * FLOW as f64) as u64));
            return Err(Wrong::at(
                key(),
                format!(
                    "this makes about {count} flows, which take at least {size} of memory: {}",
                    limit.words()
                ),
            ));
        }
        self.flows += flows as u64;
        Ok(())
    }

    /// Returns the key of a message about the limit: `run.max_memory`, or `key` if the machine sets
    /// the limit.
    fn key(limit: &Limit, key: &str) -> Key {
        Key::from(if limit.by.is_none() { "run.max_memory" } else { key })
    }

    /// Refuses a fabric whose tables and ports exceed the limit even without traffic.
    pub fn fabric(&self, plan: &Plan) -> Result<(), Wrong> {
        let needed = PROCESS + fabric(plan);
        match self.limit.filter(|limit| needed > limit.bytes) {
            None => Ok(()),
            Some(limit) => {
                let (nodes, links) = (plan.topology.nodes.len(), plan.topology.links.len());
                let message = format!(
                    "a fabric of {nodes} nodes and {links} links takes about {} of memory: {}",
                    shown(needed),
                    limit.words()
                );
                Err(Wrong::at(Self::key(&limit, "topology"), message))
            }
        }
    }

    /// Returns the memory limit for the run of a complete plan, and with applications the estimate
    /// of the run, which the limit needs. Refuses plans that need more memory.
    pub fn of(&self, plan: &Plan) -> Result<(Option<MaxMemory>, Option<Followed>), Wrong> {
        let Some(limit) = self.limit else { return Ok((None, None)) };
        let most = most(plan)
            .map(|most| Memory::of(plan, &most))
            .filter(|most| limit.by.is_some() && most.bytes < limit.bytes / FAR_BELOW);
        let (memory, followed) = match most {
            Some(most) => (most, None),
            // The run itself refuses a plan that cannot be estimated.
            None => match expected(plan) {
                Ok(expected) => {
                    let followed = Followed { flows: expected.flows, end_s: expected.end };
                    let known = expected.complete && plan.applications.is_some();
                    (Memory::of(plan, &expected), known.then_some(followed))
                }
                Err(_) => return Ok((None, None)),
            },
        };
        if memory.bytes > limit.bytes {
            let (key, part) = memory.largest;
            let message = format!(
                "this scenario needs about {} of memory, {} of it for {key}: {}",
                shown(memory.bytes),
                shown(part),
                limit.words()
            );
            return Err(Wrong::at(
                Self::key(&limit, key),
                format!("{message}: shorten the run, record less, or raise run.max_memory"),
            ));
        }
        let most = MaxMemory {
            bytes: limit.bytes,
            by: limit.by,
            records: Memory::records(limit.bytes, memory.fixed),
        };
        Ok((Some(most), followed))
    }
}

/// Returns an upper bound on any run of the plan, or `None` if no bound is known without a closer
/// estimate.
fn most(plan: &Plan) -> Option<Expected> {
    let record = &plan.record;
    let timed = record.ports.is_some()
        || record.imbalance.is_some()
        || record.reordering.is_some()
        || record.senders.is_some();
    if !record.captures.is_empty()
        || timed && plan.run.until.is_none()
        || plan.applications.is_some()
    {
        return None;
    }
    let undrawn = |of: fn(&Undrawn) -> f64| plan.undrawn.iter().map(of).sum::<f64>() as u64;
    let flows = plan.flows.len() as u64 + undrawn(|part| part.flows);
    let bytes = plan
        .flows
        .iter()
        .fold(undrawn(|part| part.bytes), |sum, flow| sum.saturating_add(flow.bytes));
    let end = plan.run.until.map_or(0.0, |until| until.0 as f64 * 1e-12);
    // The bound assumes at least 100 B per outstanding frame, apart from one smaller frame per
    // flow.
    let outstanding = bytes / 100 + flows;
    Some(Expected {
        flows,
        end,
        sending: flows as f64 * end,
        halves: flows * 4_096,
        outstanding,
        visits: 32 * flows,
        paths: 1_024 * flows,
        ..Expected::default()
    })
}

/// Returns a size in a unit of its magnitude, with two digits. Bytes have all their digits.
fn shown(bytes: u64) -> String {
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let (value, unit) = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")]
        .into_iter()
        .find(|(scale, _)| bytes as f64 >= *scale)
        .map_or((bytes as f64 / 1e3, "kB"), |(scale, unit)| (bytes as f64 / scale, unit));
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

fn counted(flows: f64) -> String {
    match flows {
        few if few < 1e6 => format!("{few:.0}"),
        many if many < 1e9 => format!("{:.1} million", many / 1e6),
        many if many < 1e13 => format!("{:.1} billion", many / 1e9),
        many => format!("{many:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts_as_people_write_them() {
        assert_eq!(
            [1, 999, 1_000, 51_400_000, 2_600_000_000, 13_000_000_000, u64::MAX].map(shown),
            ["1 B", "999 B", "1.0 kB", "51 MB", "2.6 GB", "13 GB", "18447 PB"]
        );
        assert_eq!(
            [1_000.0, 2.5e6, 1e9, 1e20].map(counted),
            ["1000", "2.5 million", "1.0 billion", "1.0e20"]
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_before_it_is_drawn() {
        let limit = PROCESS + 1_000 * FLOW;
        let mut budget = MemoryBudget { limit: Some(Limit { bytes: limit, by: None }), flows: 0 };
        budget.reserve(600.0, || unreachable!("there is room")).unwrap();
        assert_eq!(budget.flows_left(), 400);
        let wrong =
            budget.reserve(1e9, || Key::from("traffic").index(0).name("rounds")).unwrap_err();
        assert!(
            wrong.message.starts_with("this makes about 1.0 billion flows, which take at least "),
            "{}",
            wrong.message
        );
        let allowed = format!("of memory: more than run.max_memory allows, {}", shown(limit));
        assert!(wrong.message.contains(&allowed), "{}", wrong.message);
    }
}
