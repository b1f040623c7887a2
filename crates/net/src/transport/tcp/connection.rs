//! Consecutive flows on one connection, and the slow start threshold that a connection leaves to
//! the next one.

use super::message::Message;
use super::sender::Sender;
use crate::congestion::{Controller, State, Window};
use crate::idle::Idle;
use crate::probe::explain::Attribution;
use crate::spec::TcpConfig;

/// Flow number of the current flow after it has been taken.
const TAKEN: u32 = u32::MAX;

/// Flow that is fully acknowledged.
pub struct Completed {
    pub message: Message,
    pub why: Option<Attribution>,
}

impl Sender {
    /// Starts another flow on this connection. It ends before segment `to`.
    pub fn append(
        &mut self,
        now: u64,
        flow: u32,
        to: u32,
        (idle, deadline): (Idle, Option<u64>),
        config: &TcpConfig,
    ) {
        self.restart(now, config);
        self.note_idle_application(now);
        self.written = self.segments;
        self.send_memory.append(self.segments);
        self.segments = to;
        let message = Message {
            flow,
            to,
            start: now,
            idle,
            deadline,
            sent: self.sent,
            retransmitted: self.retransmitted,
            timeouts: self.timeouts,
        };
        if self.una >= self.current.to {
            self.become_current(message);
        } else {
            self.waiting.push_back(message);
        }
    }

    /// Tells a control that models the path if the application has left the sender without data
    /// until now: rates measured meanwhile are not the network's (Linux
    /// tcp_rate_check_app_limited).
    fn note_idle_application(&mut self, now: u64) {
        let pipe = self.pipe();
        let idle = self.next == self.segments && pipe < self.window.cwnd && self.unrepeated == 0;
        if let Some(sampler) = &mut self.sampler
            && idle
        {
            self.small_queue.release(now);
            if self.small_queue.bytes == 0 {
                sampler.mark_app_limited(pipe);
            }
        }
    }

    pub(super) fn become_current(&mut self, message: Message) {
        self.idle = message.idle;
        self.control.on_flow(message.to, message.deadline);
        self.why = self.handed_over(&message, self.current.to);
        self.current = Message {
            sent: self.sent,
            retransmitted: self.retransmitted,
            timeouts: self.timeouts,
            ..message
        };
    }

    /// Takes the oldest flow, if it is fully acknowledged and has not been taken yet.
    pub fn take_completed(&mut self) -> Option<Completed> {
        if self.una < self.current.to || self.current.flow == TAKEN {
            return None;
        }
        let why = self.account();
        let none = Message { flow: TAKEN, ..self.current.clone() };
        let message = std::mem::replace(&mut self.current, none);
        if let Some(next) = self.waiting.pop_front() {
            self.become_current(next);
        }
        Some(Completed { message, why })
    }

    /// Returns the flows that have started and are not fully acknowledged.
    pub fn unfinished(&self) -> impl Iterator<Item = &Message> {
        std::iter::once(&self.current).filter(|message| message.flow != TAKEN).chain(&self.waiting)
    }

    /// Starts with the slow start threshold of an earlier connection.
    pub fn begin_with(&mut self, ssthresh: u32) {
        self.window.ssthresh = ssthresh.min(self.window.limit);
    }

    /// Returns the threshold that this ending connection leaves to the next one (Linux
    /// tcp_update_metrics). `known`: threshold stored so far.
    pub fn leaves(&self, known: Option<u32>) -> Option<u32> {
        let Window { cwnd, ssthresh, .. } = self.window;
        if ssthresh == u32::MAX {
            // The connection is still in its first slow start.
            known.map(|k| k.max(cwnd / 2))
        } else if cwnd >= ssthresh && self.state == State::Open {
            Some(ssthresh.max(cwnd / 2))
        } else {
            known.map(|k| k.max(ssthresh))
        }
    }

    /// Returns the time attribution so far of a flow that is not fully acknowledged.
    pub fn why_of(&self, message: &Message) -> Option<Attribution> {
        let before = |at: usize| if at == 0 { self.current.to } else { self.waiting[at - 1].to };
        match self.waiting.iter().position(|waiting| waiting.flow == message.flow) {
            None => self.why.clone(),
            Some(at) => self.handed_over(message, before(at)),
        }
    }

    /// Derives the time attribution of a flow with first segment `from` from that of the
    /// connection.
    fn handed_over(&self, message: &Message, from: u32) -> Option<Attribution> {
        let first = (from < self.next).then(|| self.board[from].paced);
        self.why.as_ref().map(|why| why.handed_over(message.start, first))
    }

    /// True if the current flow is fully acknowledged.
    #[inline(always)]
    pub fn una_passed_current(&self) -> bool {
        self.una >= self.current.to
    }
}
