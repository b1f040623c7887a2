//! Positions of flows in their connections, whose segments are numbered through.

use super::{Message, World};
use crate::spec::{FlowId, TransportConfig};
use rustc_hash::FxHashMap;

impl World<'_> {
    pub(super) fn lay_out_connections(&self) -> Vec<Message> {
        let flows = &self.plan.flows;
        if flows.iter().all(|f| f.connection.is_none()) {
            return Vec::new();
        }
        let mut last: FxHashMap<u32, FlowId> = FxHashMap::default();
        let mut messages: Vec<Message> = Vec::with_capacity(flows.len());
        for (id, flow) in flows.iter().enumerate() {
            let before =
                flow.connection.and_then(|connection| last.insert(connection, id as FlowId));
            let (head, from) = before.map_or((id as FlowId, 0), |b| {
                (messages[b as usize].head, messages[b as usize].to)
            });
            let segments = self.shape(flow).count;
            assert!(
                from as u64 + segments <= TransportConfig::MOST_SEGMENTS,
                "validated: a connection has fewer than 2^32 segments"
            );
            messages.push(Message { head, from, to: from + segments as u32, next: None });
            if let Some(before) = before {
                messages[before as usize].next = Some(id as FlowId);
            }
        }
        messages
    }

    /// Returns the position of a flow in its connection.
    #[inline]
    pub fn message(&self, flow: FlowId) -> Message {
        match self.messages.get(flow as usize) {
            Some(message) => *message,
            None => Message {
                head: flow,
                from: 0,
                to: self.shape(self.flow(flow)).count as u32,
                next: None,
            },
        }
    }

    /// Returns the number after the last segment of the connection whose first flow is `head`.
    pub fn connection_end(&self, head: FlowId) -> u32 {
        let mut message = self.message(head);
        while let Some(next) = message.next {
            message = self.message(next);
        }
        message.to
    }

    /// Returns the payload of a connection's segment `seq`, which belongs to `flow` or to an
    /// earlier or later flow of the connection.
    #[inline]
    pub fn payload(&self, flow: FlowId, seq: u32, full: u16) -> u16 {
        if self.messages.is_empty() {
            let bytes = self.flow(flow).bytes;
            return if (seq as u64 + 1) * full as u64 > bytes {
                (bytes - seq as u64 * full as u64) as u16
            } else {
                full
            };
        }
        let (mut at, mut message) = (flow, self.message(flow));
        while seq >= message.to {
            at = message.next.expect("a segment of the connection");
            message = self.message(at);
        }
        if seq + 1 == message.to { self.last_payload(at, full) } else { full }
    }

    /// Returns the payload before segment `seq` of the connection whose first flow is `head`. For a
    /// `seq` after the last segment it is the whole payload.
    pub fn position(&self, head: FlowId, seq: u32, full: u16) -> u64 {
        let (mut at, mut before, mut message) = (head, 0, self.message(head));
        while seq >= message.to {
            before += self.flow(at).bytes;
            let Some(next) = message.next else { return before };
            (at, message) = (next, self.message(next));
        }
        before + (seq - message.from) as u64 * full as u64
    }

    /// Returns the payload of a flow's last segment.
    pub fn last_payload(&self, flow: FlowId, payload: u16) -> u16 {
        match self.flow(flow).bytes % payload as u64 {
            0 => payload,
            rest => rest as u16,
        }
    }
}
