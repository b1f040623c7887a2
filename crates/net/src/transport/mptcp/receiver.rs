//! Receiving half of MPTCP: the subflows, and the order of data across them.

use crate::spec::{MptcpConfig, Receive};
use crate::transport::blocks::Blocks;
use crate::transport::tcp::{ReceiveMemory, Receiver, first_edge};

/// Receiving half of an MPTCP connection, with all of its subflows.
#[derive(Default)]
pub struct MptcpReceiver {
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub segments: u32,
    /// Subflows by number; `None` before their first frame.
    pub subflows: Vec<Option<Receiver>>,
    /// Port at which the first frame of each subflow arrived. Replies leave through it.
    pub ports: Vec<u32>,
    /// Next data segment in order, and data segments that have arrived beyond it.
    pub next: u32,
    held: Blocks,
    /// Highest data segment that has arrived, and number of segments that arrived after a higher
    /// one.
    highest: u32,
    pub reordered: u64,
    /// Time in ps at which `next` last advanced.
    pub last: u64,
    /// Data segments that may be outstanding, if the window is fixed.
    window: Option<u32>,
    receive_memory: Option<Box<ReceiveMemory>>,
    pub armed: u64,
}

impl MptcpReceiver {
    pub fn new(
        flow: u32,
        transport: u16,
        node: u32,
        segments: u32,
        now: u64,
        config: &MptcpConfig,
    ) -> Self {
        let whole = crate::spec::TcpConfig { receive: config.receive, ..config.tcp.clone() };
        MptcpReceiver {
            flow,
            transport,
            node,
            segments,
            window: matches!(config.receive, Receive::Window(_)).then(|| first_edge(&whole)),
            receive_memory: match config.receive {
                Receive::Buffer(buffer) => {
                    Some(Box::new(ReceiveMemory::new(buffer, now, first_edge(&whole), &whole)))
                }
                _ => None,
            },
            ..MptcpReceiver::default()
        }
    }

    /// Processes a data segment that echoes the timestamp `echo`. Returns true if it completes the
    /// data.
    pub fn on_data(&mut self, now: u64, data: u32, (echo, full): (u32, bool)) -> bool {
        if let Some(receive_memory) = &mut self.receive_memory {
            receive_memory.on_echo(now, echo, full);
        }
        let is_new = data >= self.next && !self.held.contains(data);
        if is_new {
            self.reordered += (data < self.highest) as u64;
            self.highest = self.highest.max(data);
            if data == self.next {
                self.next = self.held.end_from(data + 1);
                self.held.discard_below(self.next);
                self.last = now;
                if let Some(receive_memory) = &mut self.receive_memory {
                    receive_memory.on_arrival(now, self.next);
                }
            } else {
                self.held.insert(data);
            }
        }
        is_new && self.next == self.segments
    }

    /// Returns the first data segment that may not be sent; `u32::MAX` without a limit.
    pub fn edge(&mut self) -> u32 {
        match (&mut self.receive_memory, self.window) {
            (Some(receive_memory), _) => receive_memory.announce(self.next),
            (None, Some(window)) => self.next.saturating_add(window),
            (None, None) => u32::MAX,
        }
    }

    /// True if the buffer may still grow. The receiver then puts timestamps on its frames, to
    /// measure the round trip.
    pub fn tunes(&self) -> bool {
        self.receive_memory.as_ref().is_some_and(|receive_memory| receive_memory.tunes())
    }

    pub fn subflow(&mut self, number: usize) -> &mut Option<Receiver> {
        if self.subflows.len() <= number {
            self.subflows.resize_with(number + 1, || None);
            self.ports.resize(number + 1, u32::MAX);
        }
        &mut self.subflows[number]
    }

    pub fn wake(&self) -> u64 {
        self.subflows
            .iter()
            .flatten()
            .map(Receiver::wake)
            .filter(|wake| *wake != 0)
            .min()
            .unwrap_or(0)
    }

    /// Returns the number of marked frames on all subflows.
    pub fn marked(&self) -> u64 {
        self.subflows.iter().flatten().map(|r| r.marked).sum()
    }
}
