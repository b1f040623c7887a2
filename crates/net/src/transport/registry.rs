//! Dispatch: finds the transport that a flow or a frame belongs to.

use super::door::{Opening, Parameters, Transport};
use super::list::transports;
use super::receiving::ReceivingHalf;
use super::sending::{SendingHalf, Timed};
use super::{datagram, mptcp, nack, ndp, pfabric, rated, rdma, tcp};
use crate::frame::{Control, Frame, Multipath};
use crate::record::SenderRecord;
use crate::shard::capture::Content;
use crate::shard::{OVER, Outlet, ReceivedRecord, SentRecord, Shard};
use crate::spec::{CongestionControl, Flow, FlowId, TcpConfig, TransportConfig};
use afflux_engine::prefetch;

/// Evaluates `$call` with `$transport` as the type of the transport that `$config` belongs to.
macro_rules! transport_of {
    (@[$of:expr, $transport:ident => $call:expr] $($folder:ident)+: $($name:ident $kind:ident($config:ty: $($payload:ident).+), $type:ty, $model:expr $(, $keys:tt)?;)+) => {
        match $of {
            $(TransportConfig::$kind(_) => { type $transport = $type; $call })+
        }
    };
    ($config:expr, $transport:ident => $call:expr) => { transports! { transport_of @[$config, $transport => $call] } };
}

/// Evaluates `$call` with `$transport` as the type of the transport of flow `$id`.
macro_rules! transport_of_flow {
    ($shard:ident, $id:expr, $transport:ident => $call:expr) => {{
        let world = $shard.world;
        let config = &world.plan.transports[world.flow($id).transport as usize];
        transport_of!(config, $transport => $call)
    }};
}

macro_rules! parameters_of {
    ([$of:expr] $($folder:ident)+: $($name:ident $kind:ident($config:ty: $($payload:ident).+), $type:ty, $model:expr $(, $keys:tt)?;)+) => {
        match $of {
            $(TransportConfig::$kind(config) => config,)+
        }
    };
}

macro_rules! set_payload {
    ([$of:expr, $bytes:expr] $($folder:ident)+: $($name:ident $kind:ident($config:ty: $($payload:ident).+), $type:ty, $model:expr $(, $keys:tt)?;)+) => {
        match $of {
            $(TransportConfig::$kind(config) => config.$($payload).+ = $bytes,)+
        }
    };
}

impl TransportConfig {
    pub fn parameters(&self) -> &dyn Parameters {
        transports!(parameters_of[self])
    }

    /// Returns a copy with another payload of full frames, in bytes.
    pub fn with_payload(&self, payload: u16) -> TransportConfig {
        let mut config = self.clone();
        transports!(set_payload[&mut config, payload]);
        config
    }

    /// Returns the TCP settings of a transport that uses TCP, if only for its receiver.
    #[inline(always)]
    pub fn tcp(&self) -> &TcpConfig {
        match self {
            TransportConfig::Tcp(config) => config,
            TransportConfig::Pfabric(config) => &config.tcp,
            TransportConfig::Mptcp(config) => &config.tcp,
            _ => unreachable!("a TCP frame of another transport's flow"),
        }
    }
}

impl TransportConfig {
    /// Cure in error messages: what to write to get such a connection.
    pub const OWN_WINDOW: &str = "it needs kind = \"tcp\", and with mptcp coupling = \"off\"";

    /// Returns the TCP settings if the transport can use any congestion control. `None` if the
    /// transport sets its rate or window in another way.
    pub fn own_window(&mut self) -> Option<&mut TcpConfig> {
        match self {
            TransportConfig::Tcp(config) => Some(config),
            TransportConfig::Mptcp(config)
                if !matches!(config.tcp.congestion, CongestionControl::Coupled(_)) =>
            {
                Some(&mut config.tcp)
            }
            _ => None,
        }
    }
}

impl Shard<'_> {
    pub fn start_transport<O: Outlet>(&mut self, out: &mut O, now: u64, opening: Opening) {
        transport_of_flow!(self, opening.id, T => T::start(self, out, now, opening));
    }

    /// Passes a frame to the transport that its kind belongs to.
    #[inline(always)]
    pub fn deliver_to_transport<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        match frame.kind() {
            Frame::RDMA_DATA | Frame::RDMA_ACK => rdma::Rdma::deliver(self, out, now, frame),
            Frame::CONTROL if Control::of(&frame) == Control::Report => {
                nack::Nack::deliver_report(self, out, now, frame)
            }
            Frame::DATA | Frame::ACK | Frame::CONTROL => tcp::Tcp::deliver(self, out, now, frame),
            Frame::RATED => rated::Rated::deliver(self, out, now, frame),
            Frame::ANSWER => ndp::Ndp::deliver(self, out, now, frame),
            _ if frame.has(Frame::TRIMMABLE) => ndp::Ndp::deliver(self, out, now, frame),
            _ if frame.has(Frame::REPORTED) => nack::Nack::deliver(self, out, now, frame),
            _ => datagram::Datagram::deliver(self, out, now, frame),
        }
    }

    /// Passes an acknowledgement of TCP's kind to the sending half of another transport
    /// ([`tcp::OTHERS`]).
    #[inline(always)]
    pub fn other_acknowledged<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        multipath: Multipath,
        ack: &tcp::AckIn,
    ) {
        if slot & pfabric::PFABRIC != 0 {
            return self.on_pfabric_ack(out, now, slot & !pfabric::PFABRIC, ack);
        }
        self.on_mptcp_ack(out, now, slot & !mptcp::MPTCP, multipath, ack);
    }

    /// Passes a data frame of TCP's kind to the receiving half of another transport (MPTCP).
    #[inline(always)]
    pub fn other_data<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        self.on_mptcp_data(out, now, frame);
    }

    /// Passes a control frame of TCP's kind (opening or closing a connection) to another transport
    /// (MPTCP).
    pub fn other_control<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        self.on_mptcp_control(out, now, frame);
    }

    /// Passes the SYN-ACK of a connection to another transport: pFabric. MPTCP handles its own in
    /// [`Self::other_control`].
    pub fn other_connected<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        self.on_pfabric_connected(out, now, slot & !pfabric::PFABRIC);
    }

    /// Prefetches the state that [`Self::deliver_to_transport`] will need.
    #[inline(always)]
    pub fn prefetch_half(&self, frame: &Frame) {
        match frame.kind() {
            Frame::RDMA_DATA => {
                prefetch::<2, _>(
                    self.transports.rdma.responders.slots(),
                    self.receiving_slot(frame.flow) as usize,
                );
            }
            Frame::RDMA_ACK => prefetch::<4, _>(
                self.transports.rdma.pairs.slots(),
                self.sending[frame.flow as usize] as usize,
            ),
            Frame::DATA => prefetch::<2, _>(
                self.transports.tcp.receivers.slots(),
                self.receiving_slot(frame.flow) as usize,
            ),
            Frame::ACK => prefetch::<6, _>(
                self.transports.tcp.senders.slots(),
                self.sending[frame.flow as usize] as usize,
            ),
            _ => {}
        }
    }

    pub fn sender_due<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId) {
        let slot = self.sending[flow as usize];
        if slot != OVER {
            transport_of_flow!(self, flow, T => {
                let slot = slot & !T::MARK;
                let armed = T::senders(&mut self.transports)[slot].timer().armed;
                if *armed == now {
                    *armed = 0;
                    T::sender_due(self, out, now, slot);
                }
            });
        }
    }

    pub fn receiver_due<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId) {
        let (slot, of_flow) = (self.receiving[flow as usize], self.world.flow(flow));
        if slot == OVER {
            return;
        }
        transport_of_flow!(self, flow, T => {
            // After the sender has ended, frames of this receiver have no addressee. A shared timer
            // still serves other flows.
            if T::SHARES_RECEIVER_TIMER || now < of_flow.stop.0 {
                T::receiver_due(self, out, now, slot & !T::MARK);
            }
        });
    }

    pub fn give_up<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId, slot: u32) {
        transport_of_flow!(self, flow, T => T::give_up(self, out, now, slot & !T::MARK));
    }

    /// Returns the record of a flow that has not ended at its source when the run ends.
    pub fn unfinished(&mut self, flow: FlowId, slot: u32) -> Option<SentRecord> {
        transport_of_flow!(self, flow, T => {
            let sender = &mut T::senders(&mut self.transports)[slot & !T::MARK];
            self.harvest.round_trips.extend(sender.round_trips(flow));
            sender.record(flow, None)
        })
    }

    pub fn senders_of(&mut self, now: u64, flow: FlowId, found: &mut Vec<SenderRecord>) {
        let slot = self.sending[flow as usize];
        transport_of_flow!(self, flow, T => T::sampled(self, now, flow, slot & !T::MARK, found));
    }

    /// Returns the record of a flow that has not ended at its destination when the run ends.
    pub fn incomplete(&mut self, flow: FlowId, slot: u32) -> ReceivedRecord {
        transport_of_flow!(self, flow, T => {
            T::receivers(&mut self.transports)[slot & !T::MARK].record(self.world, None)
        })
    }

    pub fn captured(&self, flow: &Flow, frame: &Frame) -> Content {
        let config = &self.world.plan.transports[flow.transport as usize];
        transport_of!(config, T => T::captured(self, flow, frame))
    }
}
