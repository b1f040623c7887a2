//! Sending half of MPTCP: the subflows, the data assigned to each of them, and the data that the
//! receiver has acknowledged.

use crate::congestion::Path;
use crate::frame::{Decisive, Multipath};
use crate::idle::Idle;
use crate::probe::explain::Attribution;
use crate::probe::explain::Label;
use crate::spec::MptcpConfig;
use crate::transport::tcp::{AckIn, Cause, Expired, Sender, Transmit};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Progress of a subflow's handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not started.
    Planned,
    /// The SYN is in flight.
    Opening,
    /// MP_JOIN: the third segment is in flight, and the sender waits for the fourth (RFC 8684
    /// §3.2).
    Confirming,
    Open,
}

pub struct Subflow {
    pub sender: Sender,
    pub stage: Stage,
    /// NIC by which the subflow's frames leave; `None`: chosen by hash.
    pub via: Option<u16>,
    /// Data segments that the subflow's segments carry, from the oldest outstanding one, which has
    /// number `base`.
    map: VecDeque<u32>,
    base: u32,
    /// Redundant scheduling: next data segment for this subflow.
    pub(super) cursor: u32,
    /// Time in ps at which the third segment of the handshake is retransmitted; 0 for never.
    pub confirm_at: u64,
}

impl Subflow {
    pub fn new(sender: Sender, via: Option<u16>, stage: Stage) -> Self {
        Subflow { sender, stage, via, map: VecDeque::new(), base: 0, cursor: 0, confirm_at: 0 }
    }

    /// Returns the data segment that the subflow's segment `seq` carries.
    pub fn data(&self, seq: u32) -> u32 {
        self.map[(seq - self.base) as usize]
    }

    /// Returns the data segment in the subflow's oldest outstanding segment.
    pub(super) fn front(&self) -> Option<u32> {
        self.map.front().copied()
    }

    fn forget_below(&mut self, una: u32) {
        self.map.drain(..(una - self.base) as usize);
        self.base = una;
    }

    fn wake(&self) -> u64 {
        match (self.sender.wake(), self.confirm_at) {
            (wake, 0) | (0, wake) => wake,
            (a, b) => a.min(b),
        }
    }
}

pub struct ConnectionSetup {
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub segments: u32,
    /// First data segment beyond the receive window.
    pub edge: u32,
    pub idle: Idle,
    pub start: u64,
}

#[derive(Default)]
pub struct Connection {
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub segments: u32,
    pub idle: Idle,
    pub start: u64,
    pub subflows: Vec<Subflow>,
    /// Next data segment that has not been assigned to any subflow, first one that is not
    /// acknowledged, and first one beyond the receive window.
    pub(super) next: u32,
    pub acknowledged: u32,
    pub(super) edge: u32,
    /// Data segments to be sent again, and the subflow that has not delivered each of them.
    pub(super) reinject: VecDeque<(u32, usize)>,
    /// State of all subflows for the coupled congestion control. It is a field only to reuse its
    /// memory.
    paths: Vec<Path>,
    /// Round robin: the subflow whose turn it is.
    pub(super) turn: usize,
    /// Time in ps of the last penalty for a subflow, and data segment and subflow of the last
    /// opportunistic retransmission.
    pub(super) penalised: u64,
    pub(super) overtaken: Option<(u32, usize)>,
    /// Bit sets of subflows: those that have reported that they can send nothing now, and those
    /// that may have segments to send.
    stuck: u64,
    busy: u64,
    pub armed: u64,
    /// Newest timestamp of the receiver.
    pub echo: u32,
    /// Time attribution of the connection, once it is finished.
    pub account: Option<Attribution>,
}

/// Segment to be sent now.
pub struct Sending {
    pub subflow: usize,
    pub transmit: Transmit,
    pub data: u32,
}

impl Connection {
    pub fn new(setup: ConnectionSetup) -> Self {
        Connection {
            flow: setup.flow,
            transport: setup.transport,
            node: setup.node,
            segments: setup.segments,
            idle: setup.idle,
            start: setup.start,
            edge: setup.edge,
            ..Connection::default()
        }
    }

    pub(super) fn stuck(&self, number: usize) -> bool {
        self.stuck & (1 << number) != 0
    }

    pub fn finished(&self) -> bool {
        self.acknowledged == self.segments
    }

    /// Starts a series of transmissions. The caller then calls [`Self::transmit`] until it returns
    /// `None`.
    pub fn begin(&mut self) {
        (self.stuck, self.busy) = (0, u64::MAX);
    }

    /// Returns the next segment to send. `cause` is the reason for which subflow `of` looks for
    /// segments; the other subflows do so as a consequence.
    pub fn transmit(
        &mut self,
        now: u64,
        of: usize,
        cause: Cause,
        config: &MptcpConfig,
    ) -> Option<Sending> {
        loop {
            // First, subflows send the segments that they have been given already or must
            // retransmit. Subflows without such segments note why they stop.
            while self.busy & ((1 << self.subflows.len()) - 1) != 0 {
                let number = self.busy.trailing_zeros() as usize;
                if let Some(sending) = self.transmit_on(number, now, of, cause, config) {
                    return Some(sending);
                }
                self.busy &= !(1 << number);
            }
            let choice = self.choose(now, config)?;
            let subflow = &mut self.subflows[choice.subflow];
            subflow.sender.hand_over(now, &config.tcp);
            subflow.map.push_back(choice.data);
            if let Some(sending) = self.transmit_on(choice.subflow, now, of, cause, config) {
                // Ask the subflow once more afterwards, so that it notes whether the window stopped
                // it.
                self.busy |= 1 << choice.subflow;
                return Some(sending);
            }
            self.stuck |= 1 << choice.subflow;
        }
    }

    fn transmit_on(
        &mut self,
        number: usize,
        now: u64,
        of: usize,
        cause: Cause,
        config: &MptcpConfig,
    ) -> Option<Sending> {
        let subflow = &mut self.subflows[number];
        if subflow.stage != Stage::Open {
            return None;
        }
        let cause = match cause {
            // After a time-out of one subflow, another subflow sends the undelivered data for that
            // reason.
            Cause::Start | Cause::Timeout => cause,
            _ if number == of => cause,
            _ => Cause::Ack { excess: 0 },
        };
        let transmit = subflow.sender.transmit(now, cause, &config.tcp)?;
        Some(Sending { subflow: number, transmit, data: subflow.data(transmit.seq) })
    }

    /// Returns the time attribution of the connection: that of the subflow whose segment completed
    /// the data. This segment is outstanding as long as the connection is open, because any
    /// acknowledgement of it acknowledges all data.
    pub fn account_until(&self, decisive: Decisive) -> Option<Attribution> {
        let number = (decisive.subflow as usize).checked_sub(1)?;
        self.subflows[number].sender.account_until(decisive.seq)
    }

    /// Processes an acknowledgement on subflow `number`.
    pub fn on_ack(
        &mut self,
        now: u64,
        number: usize,
        multipath: &Multipath,
        ack: &AckIn,
        config: &MptcpConfig,
    ) -> Cause {
        let Multipath { data, edge, decisive, .. } = *multipath;
        self.acknowledged = self.acknowledged.max(data);
        self.edge = self.edge.max(edge);
        self.next = self.next.max(self.acknowledged);
        self.echo = self.echo.max(ack.stamp);
        let mut paths = std::mem::take(&mut self.paths);
        paths.clear();
        paths.extend(self.subflows.iter().map(|subflow| subflow.sender.path()));
        if self.finished() {
            self.account = self.account_until(decisive).map(|mut account| {
                account.stood(ack.paused);
                account
            });
        }
        let subflow = &mut self.subflows[number];
        subflow.sender.look(&paths, number);
        self.paths = paths;
        let cause = subflow.sender.on_ack(now, ack, &config.tcp);
        subflow.forget_below(subflow.sender.outstanding().0);
        cause
    }

    /// Returns the time in ps at which the connection must be woken; 0 for never.
    pub fn wake(&self) -> u64 {
        self.subflows.iter().map(Subflow::wake).filter(|wake| *wake != 0).min().unwrap_or(0)
    }

    /// Returns a subflow whose wake-up is due.
    pub fn due(&self, now: u64) -> Option<usize> {
        self.subflows.iter().position(|subflow| subflow.wake() != 0 && subflow.wake() <= now)
    }

    /// Wakes subflow `number`, because of its timer or its pace.
    pub fn on_wake(&mut self, now: u64, number: usize, config: &MptcpConfig) -> Expired {
        let subflow = &mut self.subflows[number];
        let expired = subflow.sender.on_wake(now, &config.tcp);
        if matches!(expired, Expired::TimedOut(_)) {
            // Other subflows send the data that this one has not delivered.
            let mut waiting: FxHashSet<u32> = self.reinject.iter().map(|(data, _)| *data).collect();
            let anew = subflow
                .map
                .iter()
                .filter(|data| **data >= self.acknowledged && waiting.insert(**data));
            self.reinject.extend(anew.map(|data| (*data, number)));
        }
        expired
    }

    /// Marks subflow `number` as open. Its time attribution starts with the connection, so the time
    /// until now is charged to the window.
    pub fn opened(&mut self, now: u64, number: usize) {
        let subflow = &mut self.subflows[number];
        subflow.stage = Stage::Open;
        subflow.confirm_at = 0;
        subflow.sender.waited(now, Label::Window, 0);
    }

    pub fn sent(&self) -> (u64, u64, u64) {
        self.subflows.iter().fold((0, 0, 0), |(sent, again, timeouts), subflow| {
            let s = &subflow.sender;
            (sent + s.sent, again + s.retransmitted, timeouts + s.timeouts)
        })
    }
}
