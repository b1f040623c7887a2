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
    happenings: BTreeMap<(u64, u64), Happening>,
    filed: u64,
    /// Time at which the bottleneck becomes idle.
    free_at: u64,
    sent: u32,
    lines: String,
    round_ends: u32,
    state: String,
}

impl Path<'_> {
    fn file(&mut self, at: u64, what: Happening) {
        self.filed += 1;
        self.happenings.insert((at, self.filed), what);
    }

    fn after_delay(&self, now: u64) -> u64 {
        now + self.scenario.delay * self.scenario.unit
    }

    fn print(&mut self, now: u64, sender: &Sender, notes: &str) {
        self.state = column(sender, 4);
        let extra = if self.scenario.show == Show::Rounds {
            sender.details(&self.scenario.config)
        } else {
            String::new()
        };
        self.lines += &format!(
            "{}{}{extra}{}{}\n",
            self.time(now),
            sender.snapshot(),
            if notes.is_empty() { "" } else { ":" },
            notes
        );
    }

    /// Returns a time in units, or in hundredths of a unit if segments are paced.
    fn time(&self, now: u64) -> String {
        let unit = self.scenario.unit;
        if self.scenario.config.pacing.is_some() && self.scenario.show == Show::All {
            return format!("{:>4}.{:02} ", now / unit, now % unit * 100 / unit);
        }
        format!("{:>4} ", now / unit)
    }

    /// Sends the segments that the window allows. Returns notes about special ones.
    fn pump(&mut self, sender: &mut Sender, now: u64, cause: Cause) -> String {
        let mut notes = String::new();
        let scenario = self.scenario;
        while let Some(transmit) = sender.transmit(now, cause, &scenario.config) {
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
            let capable = match sender.ecn {
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
                echo: sender.echo,
                full: true,
            };
            self.file(at, Happening::Data { arrival });
        }
        notes
    }

    fn answer(&mut self, now: u64, ack: AckNow, receiver: &mut Receiver) {
        let edge = if receiver.finished() { None } else { receiver.announce() };
        let (blocks, count) = receiver.blocks();
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

    fn syn(&mut self, sender: &mut Sender, now: u64) {
        sender.syn_sent(now, &self.scenario.config);
        let lost = self.scenario.lost_syns.contains(&self.sent);
        self.sent += 1;
        let ecn = sender.requests_ecn();
        let notes = format!(
            " SYN{}{}",
            if ecn { " with ECN" } else { "" },
            if lost { " (lost)" } else { "" }
        );
        self.print(now, sender, &notes);
        if !lost {
            self.file(self.after_delay(now), Happening::Syn { ecn });
        }
    }

    fn woken(&mut self, sender: &mut Sender) {
        let now = sender.wake();
        let (word, cause) = match sender.on_wake(now, &self.scenario.config) {
            Expired::TimedOut(cause) => (" time-out", cause),
            Expired::Pump(Cause::Pace) => ("", Cause::Pace),
            Expired::Pump(cause) => (" timer", cause),
            Expired::Syn => return self.syn(sender, now),
            Expired::InVain => unreachable!("these scenarios have no limit of retries"),
            Expired::AskWindow => {
                self.file(self.after_delay(now), Happening::AskWindow);
                return self.print(now, sender, " asks for the window");
            }
        };
        let notes = format!("{word}{}", self.pump(sender, now, cause));
        if !(notes.is_empty() || word.is_empty() && self.scenario.show == Show::Rounds) {
            self.print(now, sender, &notes);
        }
    }

    fn acked(&mut self, sender: &mut Sender, now: u64, ack: &AckIn) {
        let cause = sender.on_ack(now, ack, &self.scenario.config);
        let notes = self.pump(sender, now, cause);
        let (next, new_state) = (column(sender, 1).parse().expect("a number"), column(sender, 4));
        let round = ack.cumulative > self.round_ends;
        let told = !notes.is_empty() && self.scenario.show != Show::Rounds;
        if round
            || new_state != self.state
            || told
            || sender.finished()
            || self.scenario.show == Show::All
        {
            if round {
                self.round_ends = next;
            }
            self.print(now, sender, if told { &notes } else { "" });
        }
    }
}

fn column(sender: &Sender, at: usize) -> String {
    sender.snapshot().split_whitespace().nth(at).expect("a column").to_string()
}

pub fn trace(scenario: &Scenario) -> String {
    let config = &scenario.config;
    let setup = SenderSetup {
        flow: 0,
        transport: 0,
        node: 0,
        dst: 1,
        hash: 0,
        priority: 0,
        segments: scenario.segments,
        // The application may have more data.
        ends: u32::MAX,
        idle: Idle { round_trip: (2 * scenario.delay + 1) * scenario.unit, ..Idle::default() },
        deadline: scenario.deadline.map(|units| units * scenario.unit),
        ecn: config.ecn,
        explain: false,
        random: afflux_engine::random::Stream::new(1, 1, 1),
    };
    let mut sender = Sender::new(setup, 0, config);
    let mut receiver = {
        let setup = ReceiverSetup {
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
        Receiver::new(setup, config)
    };
    let unit = match (scenario.unit, config.pacing.is_some() && scenario.show == Show::All) {
        (US, false) => "  us",
        (_, false) => "  ms",
        (_, true) => "     ms",
    };
    let lines = format!("\n{unit}  una next cwnd ssth state\n");
    let mut path = Path {
        scenario,
        happenings: BTreeMap::new(),
        filed: 0,
        free_at: 0,
        sent: 0,
        lines,
        round_ends: 0,
        state: String::new(),
    };
    if config.handshake {
        path.syn(&mut sender, 0);
    } else {
        sender.established(0, (2 * scenario.delay + 1) * scenario.unit, config);
        let notes = path.pump(&mut sender, 0, Cause::Start);
        path.print(0, &sender, if scenario.show == Show::Rounds { "" } else { &notes });
    }
    while !sender.finished() {
        let next = path.happenings.first_key_value().map_or(u64::MAX, |(&(at, _), _)| at);
        let due = |wake: u64| if wake == 0 { u64::MAX } else { wake };
        let (sends, receives) =
            (due(sender.wake()), if receiver.finished() { u64::MAX } else { due(receiver.wake()) });
        let now = next.min(sends).min(receives);
        assert_ne!(now, u64::MAX, "nothing is armed and nothing under way:{}", path.lines);
        if now / scenario.unit > scenario.until {
            break;
        }
        // Timers take precedence over arrivals at the same time.
        if sends <= now {
            path.woken(&mut sender);
            continue;
        }
        if receives <= now {
            if let Some(ack) = receiver.on_wake(now, config) {
                path.answer(now, ack, &mut receiver);
            }
            continue;
        }
        let ((now, _), happening) = path.happenings.pop_first().expect("something under way");
        match happening {
            Happening::Data { arrival } => {
                let answers = if receiver.finished() {
                    [Some(receiver.repeat(arrival.seq, arrival.marked)), None]
                } else {
                    let reaction = receiver.on_data(arrival, config);
                    [reaction.first, reaction.second]
                };
                for ack in answers.into_iter().flatten() {
                    path.answer(now, ack, &mut receiver);
                }
            }
            Happening::Ack { ack, edge, blocks, count, stamp } => {
                let blocks = if config.recovery != Recovery::NewReno {
                    &blocks[..count as usize]
                } else {
                    &[]
                };
                let AckNow { cumulative, trigger, ece, repeated, duplicate, delayed, opened } = ack;
                path.acked(
                    &mut sender,
                    now,
                    &AckIn {
                        cumulative,
                        trigger,
                        ece,
                        delayed,
                        repeated,
                        duplicate,
                        edge,
                        blocks,
                        stamp,
                        paused: 0,
                        opened,
                    },
                );
            }
            Happening::Syn { ecn } => {
                receiver.answered = now;
                if !ecn {
                    receiver.ecn = EcnMode::Off;
                }
                let ecn = receiver.ecn != EcnMode::Off;
                path.file(path.after_delay(now), Happening::SynAck { ecn });
            }
            Happening::SynAck { ecn } => {
                if let Some(cause) = sender.on_connected(now, ecn, config) {
                    let notes = format!(
                        " connected{}{}",
                        if ecn { " with ECN" } else { "" },
                        path.pump(&mut sender, now, cause)
                    );
                    path.print(now, &sender, &notes);
                }
            }
            Happening::AskWindow => {
                let ack = receiver.say_again();
                path.answer(now, ack, &mut receiver);
            }
        }
    }
    path.lines
}

#[track_caller]
pub fn expect(scenario: Scenario, expected: &str) {
    let got = trace(&scenario);
    assert!(got == expected, "expected:{expected}got:{got}");
}
