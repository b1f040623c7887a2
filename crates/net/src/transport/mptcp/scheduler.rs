//! MPTCP scheduler: assigns data segments to subflows.

use super::sender::{Connection, Stage};
use crate::spec::{MptcpConfig, PathScheduler};

/// Data segment assigned to a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub subflow: usize,
    pub data: u32,
}

impl Connection {
    /// Returns the next data segment and the subflow that is to carry it, if any subflow has room.
    pub(super) fn choose(&mut self, now: u64, config: &MptcpConfig) -> Option<Choice> {
        self.forget_acknowledged();
        match config.scheduler {
            PathScheduler::Redundant => self.choose_for_all(),
            PathScheduler::LowestRtt | PathScheduler::RoundRobin => self.choose_one(now, config),
        }
    }

    fn has_window(&self, number: usize) -> bool {
        let subflow = &self.subflows[number];
        subflow.stage == Stage::Open && !self.stuck(number) && subflow.sender.has_window()
    }

    /// Returns the subflow that the scheduler prefers among those with room, except `not`.
    fn preferred(&self, not: Option<usize>, config: &MptcpConfig) -> Option<usize> {
        let count = self.subflows.len();
        let free = (0..count).filter(|&number| Some(number) != not && self.has_window(number));
        match config.scheduler {
            PathScheduler::RoundRobin => {
                free.min_by_key(|&number| (number + count - self.turn) % count)
            }
            _ => free.min_by_key(|&number| self.subflows[number].sender.smoothed_round_trip()),
        }
    }

    fn choose_one(&mut self, now: u64, config: &MptcpConfig) -> Option<Choice> {
        // Data that a subflow has not delivered by its time-out go first, on another subflow.
        if !self.reinject.is_empty()
            && let Some(first) = self.preferred(None, config)
        {
            // The preferred subflow takes the oldest segment that was not its own. If there is a
            // second choice, that one takes the segments that were.
            let other = self.preferred(Some(first), config);
            let at = self.reinject.iter().position(|(_, from)| *from != first || other.is_some());
            if let Some((data, from)) = at.and_then(|at| self.reinject.remove(at)) {
                let subflow = if from == first { other.expect("asked for") } else { first };
                self.turn = subflow + 1;
                return Some(Choice { subflow, data });
            }
        }
        if self.next < self.segments.min(self.edge) {
            let subflow = self.preferred(None, config)?;
            self.turn = (subflow + 1) % self.subflows.len();
            self.next += 1;
            return Some(Choice { subflow, data: self.next - 1 });
        }
        let full = self.next == self.edge && self.next < self.segments;
        if full && config.opportunistic { self.overtake(now, config) } else { None }
    }

    /// Handles a full receive window: sends the oldest segment on another subflow too, and may slow
    /// down the subflow that holds it.
    fn overtake(&mut self, now: u64, config: &MptcpConfig) -> Option<Choice> {
        let data = self.acknowledged;
        let holder =
            (0..self.subflows.len()).find(|&number| self.subflows[number].front() == Some(data))?;
        let other = self.preferred(Some(holder), config)?;
        let (held, free) = (&self.subflows[holder].sender, &self.subflows[other].sender);
        let (slow, fast) = (held.smoothed_round_trip(), free.smoothed_round_trip());
        let window = held.window_size();
        if slow > fast && now >= self.penalised + fast && self.subflows[holder].sender.penalise() {
            self.penalised = now;
        }
        let carried = self.overtaken == Some((data, other));
        if carried || !(window <= 4 || slow > 4 * fast) {
            return None;
        }
        self.overtaken = Some((data, other));
        Some(Choice { subflow: other, data })
    }

    fn choose_for_all(&mut self) -> Option<Choice> {
        let end = self.segments.min(self.edge);
        let number = (0..self.subflows.len()).find(|&number| {
            self.subflows[number].cursor.max(self.acknowledged) < end && self.has_window(number)
        })?;
        let subflow = &mut self.subflows[number];
        let data = subflow.cursor.max(self.acknowledged);
        subflow.cursor = data + 1;
        self.next = self.next.max(data + 1);
        Some(Choice { subflow: number, data })
    }

    fn forget_acknowledged(&mut self) {
        let acknowledged = self.acknowledged;
        self.reinject.retain(|(data, _)| *data >= acknowledged);
    }
}
