//! Runs one sender and one receiver over a bottleneck with a queue, one segment per time unit and a
//! delay of some units in each direction. Prints their actions line by line.

use crate::frame::Extra;
use crate::idle::Idle;
use crate::spec::*;
use crate::transport::tcp::{
    AckIn, AckNow, Arrival, Cause, Expired, Receiver, ReceiverSetup, Sender, SenderSetup, stamp,
};
use std::collections::BTreeMap;

pub const US: u64 = 1_000_000;
pub const MS: u64 = 1_000 * US;

/// Selects the lines to be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Prints the first acknowledgement of each round trip, changes of state, retransmissions,
    /// losses, announced reductions and timers.
    Events,
    /// Prints the first acknowledgement of each round trip and changes of state, with the pacing
    /// rate (Mb/s of payload) and the state of the congestion control.
    Rounds,
    /// Prints every acknowledgement that leaves the receiver (`<`) or reaches the sender, and the
    /// segments sent in response.
    All,
}

pub struct Scenario {
    pub config: TcpConfig,
    pub segments: u32,
    /// Time of a segment at the bottleneck (`unit`), and delay of a segment and of its
    /// acknowledgement in each direction, in such units.
    pub unit: u64,
    pub delay: u64,
    /// Number of segments that the bottleneck holds, including the one in transmission.
    pub memory: u64,
    /// An arriving segment is marked if more segments than this are ahead of it.
    pub mark_above: Option<u64>,
    /// Deadline of the flow in units.
    pub deadline: Option<u64>,
    /// Transmissions that are lost, counted from 0 in the order of sending.
    pub lost: &'static [u32],
    /// Transmissions that take additional units of time without delaying others.
    pub late: &'static [(u32, u64)],
    /// Outage: segments that would reach the receiver from the first time on arrive at the second
    /// time.
    pub outage: Option<(u64, u64)>,
    /// SYNs that are lost, counted from 0.
    pub lost_syns: &'static [u32],
    pub show: Show,
    /// Latest end of the run in units.
    pub until: u64,
}

impl Scenario {
    pub fn new(config: TcpConfig, segments: u32) -> Scenario {
        Scenario {
            config,
            segments,
            unit: US,
            delay: 5,
            memory: 1_000_000,
            mark_above: None,
            deadline: None,
            lost: &[],
            late: &[],
            outage: None,
            lost_syns: &[],
            show: Show::Events,
            until: u64::MAX,
        }
    }

    /// Returns the round trip of a segment in an idle network, in ps.
    fn round_trip(&self) -> u64 {
        (2 * self.delay + 1) * self.unit
    }

    /// True if times are printed in hundredths of a unit, because segments are paced.
    fn in_hundredths(&self) -> bool {
        self.config.pacing.is_some() && self.show == Show::All
    }
}

enum Happening {
    Data {
        arrival: Arrival,
    },
    Ack {
        ack: AckNow,
        edge: Option<u32>,
        blocks: [(u32, u32); Extra::BLOCKS],
        count: u8,
        stamp: u32,
    },
    Syn {
        ecn: bool,
    },
    SynAck {
        ecn: bool,
    },
    AskWindow,
}

struct Path<'a> {
    scenario: &'a Scenario,
    sender: Sender,
    receiver: Receiver,
    happenings: BTreeMap<(u64, u64), Happening>,
    filed: u64,
    /// Time at which the bottleneck becomes idle.
    free_at: u64,
    sent: u32,
    lines: String,
    round_ends: u32,
    state: String,
}

impl<'a> Path<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let config = &scenario.config;
        let sender = SenderSetup {
            flow: 0,
            transport: 0,
            node: 0,
            dst: 1,
            hash: 0,
            priority: 0,
            segments: scenario.segments,
            // The application may have more data.
            ends: u32::MAX,
            idle: Idle { round_trip: scenario.round_trip(), ..Idle::default() },
            deadline: scenario.deadline.map(|units| units * scenario.unit),
            ecn: config.ecn,
            explain: false,
            random: afflux_engine::random::Stream::new(1, 1, 1),
        };
        let receiver = ReceiverSetup {
            flow: 0,
            transport: 0,
            node: 1,
            src: 0,
            hash: 0,
            priority: 0,
            segments: scenario.segments,
            to: scenario.segments,
            ecn: config.ecn,
            now: 0,
        };
        let unit = match (scenario.unit, scenario.in_hundredths()) {
            (US, false) => "  us",
            (_, false) => "  ms",
            (_, true) => "     ms",
        };
        Path {
            scenario,
            sender: Sender::new(sender, 0, config),
            receiver: Receiver::new(receiver, config),
            happenings: BTreeMap::new(),
            filed: 0,
            free_at: 0,
            sent: 0,
            lines: format!("\n{unit}  una next cwnd ssth state\n"),
            round_ends: 0,
            state: String::new(),
        }
    }

    fn file(&mut self, at: u64, what: Happening) {
        self.filed += 1;
        self.happenings.insert((at, self.filed), what);
    }

    fn after_delay(&self, now: u64) -> u64 {
        now + self.scenario.delay * self.scenario.unit
    }

    fn print(&mut self, now: u64, notes: &str) {
        self.state = self.column(4);
        let extra = if self.scenario.show == Show::Rounds {
            self.sender.details(&self.scenario.config)
        } else {
            String::new()
        };
        self.lines += &format!(
            "{}{}{extra}{}{}\n",
            self.time(now),
            self.sender.snapshot(),
            if notes.is_empty() { "" } else { ":" },
            notes
        );
    }

    /// Returns a time in units, or in hundredths of a unit if segments are paced.
    fn time(&self, now: u64) -> String {
        let unit = self.scenario.unit;
        if self.scenario.in_hundredths() {
            return format!("{:>4}.{:02} ", now / unit, now % unit * 100 / unit);
        }
        format!("{:>4} ", now / unit)
    }

    /// Sends the segments that the window allows. Returns notes about special ones.
    fn pump(&mut self, now: u64, cause: Cause) -> String {
        let mut notes = String::new();
        let scenario = self.scenario;
        while let Some(transmit) = self.sender.transmit(now, cause, &scenario.config) {
            if transmit.retransmission {
                notes += &format!(" again {}", transmit.seq);
            } else if scenario.show == Show::All {
                notes += &format!(" {}", transmit.seq);
            }
            if transmit.cwr {
                notes += &format!(" CWR on {}", transmit.seq);
            }
            let number = self.sent;
            self.sent += 1;
            let waiting = self.free_at.saturating_sub(now).div_ceil(scenario.unit);
            if waiting >= scenario.memory {
                notes += &format!(" (no room for {})", transmit.seq);
                continue;
            }
            self.free_at = self.free_at.max(now) + scenario.unit;
            if scenario.lost.contains(&number) {
                notes += &format!(" ({} lost)", transmit.seq);
                continue;
            }
            let capable = match self.sender.ecn {
                EcnMode::Off => false,
                EcnMode::Classic => !transmit.retransmission,
                EcnMode::Dctcp => true,
            };
            let marked = capable && scenario.mark_above.is_some_and(|k| waiting > k);
            let late = scenario.late.iter().find(|l| l.0 == number).map_or(0, |l| l.1);
            let mut at = self.after_delay(self.free_at) + late * scenario.unit;
            if let Some((from, to)) = scenario.outage
                && (from * scenario.unit..to * scenario.unit).contains(&at)
            {
                at = to * scenario.unit;
            }
            let arrival = Arrival {
                now: at,
                seq: transmit.seq,
                marked,
                cwr: transmit.cwr,
                retransmission: transmit.retransmission,
                echo: self.sender.echo,
                full: true,
            };
            self.file(at, Happening::Data { arrival });
        }
        notes
    }

    fn answer(&mut self, now: u64, ack: AckNow) {
        let edge = if self.receiver.finished() { None } else { self.receiver.announce() };
        let (blocks, count) = self.receiver.blocks();
        if self.scenario.show == Show::All {
            let mut line = format!("{} < {}", self.time(now), ack.cumulative);
            for (is, word) in
                [(ack.delayed, "delayed"), (ack.ece, "ECE"), (ack.duplicate, "duplicate")]
            {
                line += &if is { format!(" {word}") } else { String::new() };
            }
            if count > 0 {
                line += &format!(" {:?}", &blocks[..count as usize]);
            }
            if let Some(edge) = edge {
                line += &format!(" room {}", edge - ack.cumulative);
            }
            self.lines += &(line + "\n");
        }
        self.file(
            self.after_delay(now),
            Happening::Ack { ack, edge, blocks, count, stamp: stamp(now) },
        );
    }

    fn syn(&mut self, now: u64) {
        self.sender.syn_sent(now, &self.scenario.config);
        let lost = self.scenario.lost_syns.contains(&self.sent);
        self.sent += 1;
        let ecn = self.sender.requests_ecn();
        let notes = format!(
            " SYN{}{}",
            if ecn { " with ECN" } else { "" },
            if lost { " (lost)" } else { "" }
        );
        self.print(now, &notes);
        if !lost {
            self.file(self.after_delay(now), Happening::Syn { ecn });
        }
    }

    fn woken(&mut self) {
        let now = self.sender.wake();
        let (word, cause) = match self.sender.on_wake(now, &self.scenario.config) {
            Expired::TimedOut(cause) => (" time-out", cause),
            Expired::Pump(Cause::Pace) => ("", Cause::Pace),
            Expired::Pump(cause) => (" timer", cause),
            Expired::Syn => return self.syn(now),
            Expired::InVain => unreachable!("these scenarios have no limit of retries"),
            Expired::AskWindow => {
                self.file(self.after_delay(now), Happening::AskWindow);
                return self.print(now, " asks for the window");
            }
        };
        let notes = format!("{word}{}", self.pump(now, cause));
        if !(notes.is_empty() || word.is_empty() && self.scenario.show == Show::Rounds) {
            self.print(now, &notes);
        }
    }

    fn acked(&mut self, now: u64, ack: &AckIn) {
        let cause = self.sender.on_ack(now, ack, &self.scenario.config);
        let notes = self.pump(now, cause);
        let (next, new_state) = (self.column(1).parse().expect("a number"), self.column(4));
        let round = ack.cumulative > self.round_ends;
        let told = !notes.is_empty() && self.scenario.show != Show::Rounds;
        if round
            || new_state != self.state
            || told
            || self.sender.finished()
            || self.scenario.show == Show::All
        {
            if round {
                self.round_ends = next;
            }
            self.print(now, if told { &notes } else { "" });
        }
    }

    fn column(&self, at: usize) -> String {
        self.sender.snapshot().split_whitespace().nth(at).expect("a column").to_string()
    }

    /// Starts the connection.
    fn open(&mut self) {
        let scenario = self.scenario;
        if scenario.config.handshake {
            return self.syn(0);
        }
        self.sender.established(0, scenario.round_trip(), &scenario.config);
        let notes = self.pump(0, Cause::Start);
        self.print(0, if scenario.show == Show::Rounds { "" } else { &notes });
    }

    /// Handles the next timer or arrival. Returns false if it is after the end of the run.
    fn step(&mut self) -> bool {
        let next = self.happenings.first_key_value().map_or(u64::MAX, |(&(at, _), _)| at);
        let due = |wake: u64| if wake == 0 { u64::MAX } else { wake };
        let sends = due(self.sender.wake());
        let receives = if self.receiver.finished() { u64::MAX } else { due(self.receiver.wake()) };
        let now = next.min(sends).min(receives);
        assert_ne!(now, u64::MAX, "nothing is armed and nothing under way:{}", self.lines);
        if now / self.scenario.unit > self.scenario.until {
            return false;
        }
        // Timers take precedence over arrivals at the same time.
        if sends <= now {
            self.woken();
        } else if receives <= now {
            if let Some(ack) = self.receiver.on_wake(now, &self.scenario.config) {
                self.answer(now, ack);
            }
        } else {
            let (_, happening) = self.happenings.pop_first().expect("something under way");
            self.arrived(now, happening);
        }
        true
    }

    fn arrived(&mut self, now: u64, what: Happening) {
        let config = &self.scenario.config;
        match what {
            Happening::Data { arrival } => {
                let answers = if self.receiver.finished() {
                    [Some(self.receiver.repeat(arrival.seq, arrival.marked)), None]
                } else {
                    let reaction = self.receiver.on_data(arrival, config);
                    [reaction.first, reaction.second]
                };
                for ack in answers.into_iter().flatten() {
                    self.answer(now, ack);
                }
            }
            Happening::Ack { ack, edge, blocks, count, stamp } => {
                let seen = if config.recovery != Recovery::NewReno { count as usize } else { 0 };
                let AckNow { cumulative, trigger, ece, repeated, duplicate, delayed, opened } = ack;
                let ack = AckIn {
                    cumulative,
                    trigger,
                    ece,
                    delayed,
                    repeated,
                    duplicate,
                    edge,
                    blocks: &blocks[..seen],
                    stamp,
                    paused: 0,
                    opened,
                };
                self.acked(now, &ack);
            }
            Happening::Syn { ecn } => {
                self.receiver.answered = now;
                if !ecn {
                    self.receiver.ecn = EcnMode::Off;
                }
                let ecn = self.receiver.ecn != EcnMode::Off;
                self.file(self.after_delay(now), Happening::SynAck { ecn });
            }
            Happening::SynAck { ecn } => {
                if let Some(cause) = self.sender.on_connected(now, ecn, config) {
                    let with_ecn = if ecn { " with ECN" } else { "" };
                    let notes = format!(" connected{with_ecn}{}", self.pump(now, cause));
                    self.print(now, &notes);
                }
            }
            Happening::AskWindow => {
                let ack = self.receiver.say_again();
                self.answer(now, ack);
            }
        }
    }
}

pub fn trace(scenario: &Scenario) -> String {
    let mut path = Path::new(scenario);
    path.open();
    while !path.sender.finished() && path.step() {}
    path.lines
}

#[track_caller]
pub fn expect(scenario: Scenario, expected: &str) {
    let got = trace(&scenario);
    assert!(got == expected, "expected:{expected}got:{got}");
}
