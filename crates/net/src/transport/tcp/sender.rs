//! Sending half of TCP: its state, and the opening of a connection. Other modules process
//! acknowledgements ([`super::acknowledgement`]), choose the next segment
//! ([`super::transmission`]), and contain loss detection ([`super::loss`]), window reductions ([`super::reduction`]),
//! pacing ([`super::pacing`]), the flows on a connection ([`super::connection`]) and timers
//! ([`super::timer`]).

use super::clock::{Timer, Vain};
use super::message::Message;
use super::ns3_state::Ns3;
use super::rack::Rack;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::send_memory::SendMemory;
use super::small_queue::{AtHost, SmallQueue};
use crate::congestion::{
    CongestionControl, Control, Controller, Echo, NewReno, Sampler, State, Window,
};
use crate::idle::Idle;
use crate::probe::explain::{Attribution, Label};
use crate::probe::hops::RoundTrips;
use crate::record::SenderRecord;
use crate::spec::{EcnMode, Manner, Receive, Recovery, TcpConfig};

use afflux_engine::random::Stream;
use std::collections::VecDeque;

pub(super) const MILLISECOND: u64 = 1_000_000_000;

/// Event that lets the sender look for segments to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Start,
    /// Acknowledgement. `excess`: time in ps by which its round trip exceeded the idle round trip.
    Ack {
        excess: u64,
    },
    Timeout,
    /// The pace allows the next segment.
    Pace,
    /// Fewer bytes of the connection wait at the host's own transmitter (small queue).
    Line,
}

pub struct SenderSetup {
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub dst: u32,
    pub hash: u32,
    pub priority: u8,
    pub segments: u32,
    /// Segment behind the connection's last one, which carries its FIN.
    pub ends: u32,
    pub idle: Idle,
    /// Deadline of the flow, as absolute simulated time in ps.
    pub deadline: Option<u64>,
    /// ECN mode that the two ends have agreed on.
    pub ecn: EcnMode,
    pub explain: bool,
    /// Random stream for congestion controls that need one.
    pub random: Stream,
}

pub struct Sender {
    pub(super) una: u32,
    pub(super) next: u32,
    pub(super) segments: u32,
    /// First segment of the data that the application handed over last.
    pub(super) written: u32,
    /// Segment behind the connection's last one, which carries its FIN.
    pub(super) ends: u32,
    pub(super) window: Window,
    pub(super) sacked: u32,
    pub(super) lost: u32,
    pub(super) resent: u32,
    /// Segments marked lost whose retransmission has not been sent.
    pub(super) unrepeated: u32,
    /// True if the current acknowledgement or timer has found lost segments.
    pub(super) newly_lost: bool,
    pub(super) state: State,
    /// Segment whose acknowledgement ends the current state.
    pub(super) high: u32,
    /// Segment at which the search for the next retransmission starts.
    pub(super) resend_from: u32,
    /// All segments below this one have been checked for loss, and are marked if they are lost.
    pub(super) lost_below: u32,
    pub(super) highest_sacked: u32,
    pub(super) duplicates: u32,
    /// Latest SACK blocks. The segments that they cover are not examined again.
    pub(super) known_blocks: [(u32, u32); 4],
    pub(super) send_cwr: bool,
    /// True if the first lost segment is retransmitted whatever the window says.
    pub(super) at_once: bool,
    /// True if a tail loss probe is to be sent, whatever the window says.
    pub(super) probe: bool,
    pub(super) probing: bool,
    pub(super) was_recovering: bool,
    // Congestion window validation as in Linux: whether the window limited the sender in the last
    // round trip, the segment that ends the current round trip, and the most segments outstanding
    // in it.
    pub(super) limited: bool,
    pub(super) limited_until: u32,
    pub(super) most_out: u32,
    /// Most segments outstanding since the window was last the limit or adapted, and that time in
    /// ps.
    pub(super) used: u32,
    pub(super) adapted: u64,
    /// Proportional rate reduction: window before the reduction, and the segments delivered and
    /// sent since.
    pub(super) prior_cwnd: u32,
    pub(super) delivered_since: u32,
    pub(super) sent_since: u32,
    /// First segment beyond the receive window. With a fixed window: its size in segments.
    pub(super) edge: u32,
    pub(super) send_memory: SendMemory,
    /// Newest timestamp of the receiver, which data segments echo.
    pub echo: u32,
    /// True if the connection is open, or uses no handshake.
    pub(super) connected: bool,
    /// True if only new data may be sent, because a time-out is being verified (RFC 5682).
    pub(super) new_only: bool,
    pub(super) checking: bool,
    /// Window and threshold before the last reduction, kept while it can turn out to be
    /// unnecessary.
    pub(super) undo: Option<(u32, u32)>,
    /// Segments below `episode` were sent before the first retransmission of this loss episode.
    /// `repeated_since` counts the retransmissions since then.
    pub(super) episode: u32,
    pub(super) repeated_since: u32,
    /// Time in ps at which the last segment was sent.
    pub(super) last_sent: u64,
    /// Pacing: time in ps at which the next segment may leave, and time in ps of the wake-up for it
    /// (0: none).
    pub(super) pace_at: u64,
    pub(super) pace_wait: u64,
    /// True if the sender waits for room in the host's own transmit queue, and not for the pace.
    pub(super) in_line: bool,
    pub small_queue: SmallQueue,
    pub at_host: AtHost,
    /// Round-trip times, if they are recorded.
    pub round_trips: Option<Box<RoundTrips>>,
    pub(super) board: Scoreboard,
    pub(super) control: Control,
    pub(super) rtt: Rtt,
    pub(super) rack: Option<Box<Rack>>,
    pub(super) sampler: Option<Box<Sampler>>,
    /// Segments that may still leave together, without spacing.
    pub(super) burst: u32,
    /// Segments left in the current burst (segmentation offload).
    pub(super) in_burst: u32,
    pub(super) random: Stream,
    pub ecn: EcnMode,
    pub(super) ns3: Ns3,
    pub(super) timer: Timer,
    /// Time in ps at which the timer expires; 0 if none is set.
    pub deadline: u64,
    /// Time in ps of the pending timer event, 0 for none. An event at another time is stale.
    pub armed: u64,
    /// First flow of the connection.
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub dst: u32,
    pub hash: u32,
    pub priority: u8,
    pub idle: Idle,
    pub sent: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    /// Oldest flow that is not fully acknowledged, and the started flows behind it.
    pub current: Message,
    pub waiting: VecDeque<Message>,
    pub(super) why: Option<Attribution>,
    /// Time in ps at which the frame was sent whose acknowledgement ended the current flow;
    /// `u64::MAX` if unknown.
    pub(super) decided: u64,
    pub(super) vain: Vain,
    /// Time in ps at which the sender last asked the receiver for its window.
    pub(super) requested_at: u64,
}

impl Sender {
    pub fn new(setup: SenderSetup, now: u64, config: &TcpConfig) -> Self {
        let ecn = setup.ecn;
        let mut control = agreed(config, ecn, &setup.random);
        control.on_flow(setup.segments, setup.deadline);
        Sender {
            una: 0,
            next: 0,
            segments: setup.segments,
            written: 0,
            ends: setup.ends,
            window: Window::new(config.initial_window, config.max_window.unwrap_or(u32::MAX)),
            sacked: 0,
            lost: 0,
            resent: 0,
            unrepeated: 0,
            newly_lost: false,
            state: State::Open,
            high: 0,
            resend_from: 0,
            lost_below: 0,
            highest_sacked: 0,
            duplicates: 0,
            known_blocks: [(0, 0); 4],
            send_cwr: false,
            at_once: false,
            probe: false,
            probing: false,
            was_recovering: false,
            limited: false,
            limited_until: 0,
            most_out: 0,
            used: 0,
            adapted: now,
            prior_cwnd: 0,
            delivered_since: 0,
            sent_since: 0,
            edge: first_edge(config),
            send_memory: SendMemory::new(config),
            echo: 0,
            connected: !config.handshake,
            new_only: false,
            checking: false,
            undo: None,
            episode: 0,
            repeated_since: 0,
            last_sent: now,
            pace_at: 0,
            pace_wait: 0,
            in_line: false,
            small_queue: SmallQueue::default(),
            at_host: AtHost::default(),
            round_trips: None,
            board: Scoreboard::default(),
            control,
            sampler: None,
            burst: 0,
            in_burst: 0,
            random: setup.random,
            rtt: Rtt::new(config),
            rack: (config.recovery == Recovery::Rack
                || config.tail_probe
                || config.pacing.is_some())
            .then(Box::default),
            ecn,
            ns3: Ns3::default(),
            timer: Timer::None,
            deadline: 0,
            armed: 0,
            flow: setup.flow,
            transport: setup.transport,
            node: setup.node,
            dst: setup.dst,
            hash: setup.hash,
            priority: setup.priority,
            idle: setup.idle,
            sent: 0,
            retransmitted: 0,
            timeouts: 0,
            current: Message {
                flow: setup.flow,
                to: setup.segments,
                start: now,
                idle: setup.idle,
                deadline: setup.deadline,
                sent: 0,
                retransmitted: 0,
                timeouts: 0,
            },
            waiting: VecDeque::new(),
            why: setup.explain.then(|| Attribution::new(now)),
            decided: u64::MAX,
            vain: Vain::default(),
            requested_at: 0,
        }
    }

    /// True if all data handed over so far have been acknowledged.
    pub fn finished(&self) -> bool {
        self.una == self.segments
    }

    /// Returns `una next cwnd ssthresh state`, for traces.
    #[cfg(test)]
    pub fn snapshot(&self) -> String {
        let ssthresh = if self.window.ssthresh == u32::MAX {
            "-".to_string()
        } else {
            self.window.ssthresh.to_string()
        };
        format!(
            "{:>4}{:>5}{:>5}{:>4} {:?}",
            self.una, self.next, self.window.cwnd, ssthresh, self.state
        )
    }
    /// Returns the pacing rate and the control's own state, for traces.
    #[cfg(test)]
    pub fn details(&self, config: &TcpConfig) -> String {
        let rate = self
            .pacing_rate(config)
            .map_or(String::new(), |rate| format!(" {:.2}", rate as f64 / 1e6));
        format!("{rate}{}", self.control.details())
    }
    /// Returns the segments in flight: outstanding ones less those known or assumed to have left
    /// the network (RFC 6675's pipe).
    pub fn pipe(&self) -> u32 {
        self.next - self.una - self.sacked - self.lost + self.resent
    }

    /// Returns the state for a time series of sender records.
    pub fn known(&self, config: &TcpConfig) -> SenderRecord {
        let bytes = |segments: u32| u64::from(segments) * u64::from(config.mss);
        let measured = self.rtt.smoothed();
        SenderRecord {
            window: bytes(self.window.cwnd),
            threshold: if self.window.ssthresh == u32::MAX {
                SenderRecord::NONE
            } else {
                bytes(self.window.ssthresh)
            },
            smoothed: if measured == 0 { SenderRecord::NONE } else { measured },
            rate: self.pacing_rate(config).unwrap_or(SenderRecord::NONE),
            state: Some(self.state),
            ..SenderRecord::new(self.flow, bytes(self.pipe()))
        }
    }

    /// True for the last segment that has been handed over.
    pub(super) fn is_last(&self, seq: u32) -> bool {
        seq + 1 == self.segments
    }
    pub fn connected(&self) -> bool {
        self.connected
    }
    pub(super) fn reducing(&self) -> bool {
        matches!(self.state, State::Reduced | State::Recovery)
    }
    /// Returns the first segment that may not be sent: it lies beyond the receive window, or has
    /// not been written into the send buffer.
    pub(super) fn window_end(&self, config: &TcpConfig) -> u32 {
        self.allowed_end(config).min(self.send_memory.to)
    }
    fn allowed_end(&self, config: &TcpConfig) -> u32 {
        match config.receive {
            Receive::Unlimited => u32::MAX,
            Receive::Window(_) => self.una.saturating_add(self.edge),
            Receive::Buffer(_) => self.edge,
        }
    }

    /// Handles the answer to the SYN. `ecn`: the peer agrees to the ECN mode that was requested.
    pub fn on_connected(&mut self, now: u64, ecn: bool, config: &TcpConfig) -> Option<Cause> {
        if self.connected {
            return None;
        }
        self.connected = true;
        self.deadline = 0;
        self.timer = Timer::None;
        if !ecn {
            self.ecn = EcnMode::Off;
        }
        self.control = agreed(config, self.ecn, &self.random);
        self.control.on_flow(self.current.to, self.current.deadline);
        // An answer that comes sooner after the last SYN than the path allows is that of the first
        // one (Linux knows it by its timestamp), whose time-out was shorter than the round trip.
        // Three quarters, because the SYN is shorter than the frames of the idle round trip.
        let of_first = self.timeouts > 0 && 4 * (now - self.last_sent) < 3 * self.idle.round_trip;
        if self.retransmitted > 1 && !of_first {
            // RFC 5681 §3.1: a window of 1 segment after lost SYNs. As in Linux, one lost SYN does
            // not count, because RFC 6298 made the SYN's time-out short.
            self.window.cwnd = 1;
        }
        let round_trip = now - if of_first { self.current.start } else { self.last_sent };
        self.rtt.sample(round_trip, 0, 0, config);
        self.established(now, round_trip, config);
        Some(Cause::Ack { excess: round_trip.saturating_sub(self.idle.round_trip) })
    }

    /// Starts the congestion control on an open connection. `round_trip`: duration of the handshake
    /// in ps, 0 if unknown.
    pub fn established(&mut self, now: u64, round_trip: u64, config: &TcpConfig) {
        if self.control.uses_samples() {
            self.sampler = Some(Box::new(if config.manner == Manner::Ns3 {
                Sampler::as_ns3()
            } else {
                Sampler::default()
            }));
            self.rack.get_or_insert_default();
        }
        if let Some(rack) = &mut self.rack
            && round_trip > 0
        {
            rack.measure(round_trip);
        }
        self.control.on_established(&self.window, now, round_trip);
    }

    #[inline(always)]
    pub(super) fn note_round_trip(&mut self, time: u64) {
        if let Some(noted) = &mut self.round_trips {
            noted.note(time);
        }
    }

    /// Returns the first segment that is not acknowledged.
    pub fn acknowledged(&self) -> u32 {
        self.una
    }

    /// Returns the first segment that has not been sent.
    pub fn next(&self) -> u32 {
        self.next
    }

    pub fn explains(&self) -> bool {
        self.why.is_some()
    }

    /// True if a part of this sender depends on the minimum round trip.
    pub fn measures(&self) -> bool {
        self.rack.is_some() || self.control.uses_samples()
    }

    /// Starts a connection that is open without a handshake. `round_trip`: time in ps that the
    /// handshake would have taken, 0 if nothing depends on it.
    pub fn open(&mut self, now: u64, round_trip: u64, config: &TcpConfig) {
        // Without tail loss probes, only the first time-out needs a round trip, and `initial_rto`
        // gives that time-out.
        if config.tail_probe {
            self.rtt.sample(round_trip, 0, 0, config);
        }
        self.established(now, round_trip, config);
    }

    /// True if a SYN sent now requests ECN. A SYN without an answer may have been dropped because
    /// of its request, so the next SYN makes no request (Linux tcp_ecn_fallback). The peer's answer
    /// counts in any case.
    pub fn requests_ecn(&self) -> bool {
        self.ecn != EcnMode::Off && self.timeouts == 0
    }

    /// Counts a SYN that was not answered in time, and backs off.
    pub(super) fn syn_lost(&mut self, now: u64) {
        self.waited(now, Label::Recovery, 0);
        self.retransmitted += 1;
        self.timeouts += 1;
        self.rtt.back_off();
    }
}

/// Creates the congestion control of a connection that has agreed on `ecn`. A control that needs
/// exact ECN echoes is replaced by NewReno if ECN is off.
fn agreed(tcp: &TcpConfig, ecn: EcnMode, random: &Stream) -> Control {
    let exact = !matches!(tcp.congestion, CongestionControl::PlusPlus(_))
        && tcp.congestion.parameters().about().echo == Echo::Exact;
    if exact && ecn == EcnMode::Off {
        Control::NewReno(NewReno)
    } else {
        Control::new(&tcp.congestion, tcp.mss as u32, tcp.initial_window, random.clone())
    }
}

/// Returns the initial window edge in segments: the size of a fixed window, or the room in a
/// buffer.
pub fn first_edge(config: &TcpConfig) -> u32 {
    match config.receive {
        Receive::Unlimited => u32::MAX,
        Receive::Window(bytes) => ((bytes.0 / config.mss as u64).max(1)) as u32,
        Receive::Buffer(buffer) => {
            ((buffer.initial.0 * buffer.share as u64 / 256 / config.mss as u64).max(1)) as u32
        }
    }
}
