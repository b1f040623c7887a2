//! Finds the headroom that a port needs, by simulation.
//!
//! `sender` and `blocker` are hosts at one switch. The blocker pauses the lossless priority once,
//! so that all the sender's frames stay in the switch. Meanwhile it sends frames of another
//! priority to the sender. The PAUSE frame for the sender must wait at the switch for the frame in
//! transmission. In the worst alignment, this frame starts exactly when the frame arrives that
//! causes XOFF, and the sender starts a last frame exactly when XOFF takes effect.

use afflux_net::spec::*;
use afflux_net::{PortFacts, Progress, by_formula, response_time, run};
use afflux_units::{Rate, Span, Time};

/// Signal speed in a cable, m/s, as in SONiC's formula.
pub const SPEED_IN_CABLE: f64 = 1.98e8;
/// Preamble, start delimiter and interframe gap, in bytes.
const GAP: u64 = 20;
/// Ethernet, IP and UDP headers, in bytes.
const HEADERS: u16 = 46;
const PAUSE_FRAME: u64 = 64;
/// Number of frames in the priority group when it is paused.
const BEFORE_XOFF: u64 = 8;
/// Number of the sender's frame that causes XOFF.
const CROSSING: u64 = BEFORE_XOFF + 1;
const LOSSLESS: u8 = 3;
const BLOCKER: NodeId = 0;
const SENDER: NodeId = 1;
const SWITCH: NodeId = 2;

#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub rate: Rate,
    pub metres: f64,
    /// Sizes in bytes of whole frames, of the sender and of the blocker.
    pub frame: u16,
    pub blocking: u16,
    pub cell: Option<u16>,
}

impl Case {
    pub fn delay(&self) -> Span {
        Span((self.metres / SPEED_IN_CABLE * 1e12).ceil() as u64)
    }

    /// Returns the memory that one of the sender's frames takes, in bytes.
    pub fn charge(&self) -> u64 {
        match self.cell {
            None => self.frame as u64,
            Some(cell) => (self.frame as u64 + 64).div_ceil(cell as u64) * cell as u64,
        }
    }

    fn time(&self, bytes: u64) -> u64 {
        self.rate.serialize(bytes + GAP).0
    }

    /// Returns the number of frames in the headroom in the worst case: the frame that causes XOFF,
    /// and all that start before XOFF takes effect.
    pub fn closed_form(&self) -> u64 {
        let frame = self.time(self.frame as u64);
        let effect = self.time(self.blocking as u64)
            + self.time(PAUSE_FRAME)
            + self.delay().0
            + response_time(self.rate).0;
        1 + (effect + self.delay().0) / frame + 1
    }

    /// Returns the headroom by a formula, in bytes.
    pub fn formula(&self, formula: Formula) -> u64 {
        // The published formulas consider only lossless frames, of at least 1,024 B. The worst case
        // considers all frames of the port.
        let mtu = u64::from(if formula == Formula::WorstCase {
            self.frame.max(self.blocking)
        } else {
            self.frame.max(1_024)
        });
        by_formula(
            formula,
            self.metres,
            PortFacts {
                rate: self.rate,
                delay: self.delay().0,
                mtu,
                least: 64,
                gap: GAP,
                uncounted: Span::ZERO,
                cell: self.cell,
                response: None,
            },
        )
    }

    /// Returns the number of frames lost with this headroom. `phase` is the time from the cause of
    /// XOFF to the start of one of the blocker's frames.
    pub fn lost(&self, headroom: u64, phase: u64) -> u64 {
        let out = run(&self.plan(headroom, phase), &Progress::default()).expect("a valid plan");
        let c = out.counters;
        assert_eq!(c.in_discards, c.dropped_packets, "lossless frames are lost at ingress only");
        assert!(c.pause_frames >= 2, "the blocker's and the switch's");
        c.in_discards
    }

    /// Returns the smallest headroom, in whole frames, at which nothing is lost with any alignment.
    pub fn smallest_safe(&self) -> u64 {
        let (mut unsafe_at, mut safe_at) = (0, 2 * self.closed_form() + 8);
        while safe_at - unsafe_at > 1 {
            let middle = (safe_at + unsafe_at) / 2;
            if self.phases().any(|phase| self.lost(middle * self.charge(), phase) > 0) {
                unsafe_at = middle;
            } else {
                safe_at = middle;
            }
        }
        safe_at
    }

    /// Returns the alignments to try: both frames at the same time, and others around the circle.
    fn phases(&self) -> impl Iterator<Item = u64> + use<> {
        let circle = self.time(self.blocking as u64);
        [0, circle / 3, circle - 1].into_iter()
    }

    fn plan(&self, headroom: u64, phase: u64) -> Plan {
        let end = self.cause()
            + 4 * (self.closed_form() * self.time(self.frame as u64)
                + self.time(self.blocking as u64))
            + 4 * self.delay().0;
        let datagram =
            |frame| Datagram { rate: None, payload: frame - HEADERS, ecn_capable: false };
        Plan {
            topology: self.topology(),
            hosts: hosts(),
            switches: vec![self.switch(headroom)],
            transports: [self.frame, self.blocking]
                .map(|frame| TransportConfig::Datagram(datagram(frame)))
                .into(),
            wire: Wire {
                name: "test".into(),
                data_header: HEADERS,
                ack: 64,
                cnp: 64,
                syn: 64,
                sack_base: 0,
                sack_block: 0,
                min_frame: 64,
                gap: GAP as u16,
            },
            flows: self.flows(phase),
            undrawn: Vec::new(),
            applications: None,
            run: RunConfig {
                until: Some(Time(end)),
                fct_end: FctEnd::LastByte,
                stall: None,
                ..RunConfig::default()
            },
            record: Record { explain: false, ..Record::default() },
        }
    }

    fn topology(&self) -> Topology {
        let node = |name: &str, kind, config| Node {
            name: name.into(),
            kind,
            config,
            group: Some(0),
            tier: (kind == NodeKind::Switch) as u8,
        };
        let link = |host| Link::new(host, SWITCH, self.rate, self.delay());
        Topology {
            nodes: vec![
                node("blocker", NodeKind::Host, 1),
                node("sender", NodeKind::Host, 0),
                node("switch", NodeKind::Switch, 0),
            ],
            links: vec![link(BLOCKER), link(SENDER)],
            hosts: 2,
            ..Default::default()
        }
    }

    fn switch(&self, headroom: u64) -> SwitchConfig {
        let rules = SonicRules {
            alpha: 1.0,
            reserved: 0,
            lossy_ingress_alpha: None,
            lossy_alpha: 8.0,
            queue_reserved: 0,
            lossy_pool: Some(1 << 30),
            headroom_pool: Some(headroom),
            xon: 0,
            xon_offset: 0,
            own: Box::default(),
        };
        // With alpha 1, used > pool - used holds from half of the pool on. The blocker's frames are
        // not counted.
        let pool = 2 * BEFORE_XOFF * self.charge();
        let pfc = PfcKeys::default().resolve(&"switch.pfc".into(), Formula::Sonic, 0);
        let parts = SwitchParts {
            buffer: Buffer::Mmu(Mmu {
                total: pool + headroom,
                cell: self.cell,
                bypass: 1,
                rules: Rules::Sonic(rules),
            }),
            pfc: Some(Pfc {
                priorities: 1 << LOSSLESS,
                headroom: Headroom::Bytes(headroom),
                deadlock_after: None,
                ..pfc.expect("defaults are right")
            }),
            marking: None,
            aqm: None,
            scheduling: Scheduling::Priorities { queues: 8 },
            own: Vec::new(),
            balance: Balance::default(),
        };
        SwitchKeys::default().resolve(&"switch".into(), parts).expect("defaults are right")
    }

    /// Returns the time at which the sender begins: when the PAUSE frame of the blocker has taken
    /// effect. At 400 Gbps, the pause lasts for 84 us.
    fn begin(&self) -> u64 {
        2 * (self.delay().0 + response_time(self.rate).0) + 1_000_000
    }

    /// Returns the time at which the frame leaves that causes XOFF.
    fn cause(&self) -> u64 {
        self.begin() + CROSSING * self.time(self.frame as u64)
    }

    fn flows(&self, phase: u64) -> Vec<Flow> {
        let flow = |src, dst, frames: u64, frame: u16, start, transport, priority| Flow {
            id: 0,
            src,
            dst,
            bytes: frames * (frame - HEADERS) as u64,
            start: Start::At(Time(start)),
            stop: Flow::ENDLESS,
            deadline: None,
            class: 0,
            job: Flow::NO_JOB,
            transport,
            group: None,
            connection: None,
            priority,
        };
        // Whole circles precede the cause of XOFF, so that the blocker's frames follow each other
        // up to it. They start 1 ps early, so that the switch processes them before the sender's
        // frames.
        let (begin, cause) = (self.begin(), self.cause());
        let blocking = self.time(self.blocking as u64);
        let first = cause + phase - 1 - blocking * (1 + (cause - begin) / blocking);
        let frames = CROSSING + 3 * self.closed_form() + 20;
        let of_blocker = (frames * self.frame as u64).div_ceil(self.blocking as u64);
        let mut flows = vec![
            flow(SENDER, BLOCKER, frames, self.frame, begin, 0, LOSSLESS),
            flow(BLOCKER, SENDER, of_blocker, self.blocking, first, 1, 0),
        ];
        flows.sort_by_key(|f| if let Start::At(at) = f.start { at } else { unreachable!() });
        flows.iter_mut().enumerate().for_each(|(id, f)| f.id = id as i64);
        flows
    }
}

/// Returns the sender, and the blocker, which pauses the lossless priority once.
fn hosts() -> Vec<HostConfig> {
    let parts = HostParts {
        nic: NicKeys::default().resolve(&"host".into()).expect("defaults are right"),
        kind: SchedulingKind::Fifo,
        scheduling: Scheduling::One,
        qdisc: None,
    };
    let host = HostKeys { ecn: Some(false), ..HostKeys::default() }
        .resolve(&"host".into(), parts)
        .expect("defaults are right");
    let storm = Storm {
        priority: LOSSLESS,
        from: Time::ZERO,
        until: Some(Time(1)),
        period: Span::from_s(1),
        pause_time: None,
        pause: PauseTime::Quanta(u16::MAX),
    };
    vec![host.clone(), HostConfig { storm: Some(storm), ..host }]
}
