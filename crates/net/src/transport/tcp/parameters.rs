//! Properties of TCP connections that other parts of the simulator need.

use super::Sender;
use crate::congestion::Echo;
use crate::expected::FluidModel;
use crate::spec::{EcnMode, Reader, Receive, Recovery, TcpConfig};
use crate::transport::door::{Frames, Parameters};
use crate::transport::requirements::{Capable, Ecn, Hash, HostTiming, Requirements, Setting};
use crate::world::World;
use afflux_units::Span;

/// Cure for a congestion control that ignores marks.
pub const USES_ECN: &str = "a congestion control that uses ECN, as in congestion = \"dctcp\"";

impl Parameters for TcpConfig {
    fn is_limited(&self) -> bool {
        self.pacing.is_some_and(|pacing| pacing.most.is_some())
    }
    fn segments(&self) -> Option<(&TcpConfig, Receive)> {
        Some((self, self.receive))
    }
    fn reports_host_queueing(&self) -> bool {
        self.small_queues
    }
    fn requirements(&self) -> Requirements {
        let about = self.congestion.parameters().about();
        let marks = if about.echo == Echo::Exact {
            Setting { key: "congestion", text: about.model.name }
        } else {
            Setting { key: "ecn", text: "ecn" }
        };
        let asks = self.ecn != EcnMode::Off;
        Requirements {
            ecn: Ecn {
                capable: if asks { Capable::IfAgreed } else { Capable::None },
                reacts: about.ignores_marks.is_none(),
                negotiated: true,
                cure: Some(match about.ignores_marks {
                    None => {
                        "host.transport.ecn = \"classic\", or a congestion control that uses ECN, as in congestion = \"dctcp\""
                    }
                    Some(_) => USES_ECN,
                }),
                marks: asks.then_some(marks),
                paced: true,
            },
            deadlines: about.missing_deadline.map(|text| Setting { key: "congestion", text }),
            hash: Hash::Path,
            timing: if self.kernel { HostTiming::Kernel } else { HostTiming::Exact },
            ack_priority: self.ack_priority,
            ..Requirements::default()
        }
    }
    fn unused(&self, _: bool) -> Vec<Setting> {
        let mut unused = Vec::new();
        if self.congestion.parameters().about().sets_rate {
            if self.pacing.is_none() {
                let text = "has no effect: this congestion control always paces; remove it";
                unused.push(Setting { key: "pacing", text });
            }
            let text = "has no effect: this congestion control sets its own window after a loss; remove it";
            unused.push(Setting { key: "prr", text });
        }
        if self.tick == Span::ZERO {
            let text = "has no effect, because timers are exact without tick: write tick = \"4ms\", or remove it";
            unused.push(Setting { key: "timer_wheel", text });
        }
        unused
    }
    fn frames(&self) -> Frames {
        // Acknowledgements announce the window, which captures keep as an option.
        let with_options = u64::from(self.receive != Receive::Unlimited);
        Frames { with_options, ..Frames::plain(self.mss) }
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        self.fluid_model_with(
            FluidModel::new(world, self.frames(), self.frames_per_ack()),
            size_of::<Sender>() + 200,
        )
    }
}

impl TcpConfig {
    /// Returns the number of frames per acknowledgement.
    pub fn frames_per_ack(&self) -> f64 {
        self.delayed_ack.map_or(1.0, |delayed| f64::from(delayed.segments.max(1)))
    }

    /// Returns the flow-level behaviour of this TCP. `common` gives the frame sizes, and `halves`
    /// the memory of the two ends in bytes.
    pub fn fluid_model_with(&self, common: FluidModel, halves: usize) -> FluidModel {
        let (piece, reads) = match self.reader {
            Some(Reader::Worker { chunk, rate }) => (chunk.0 as f64, rate.0 as f64 / 8.0),
            Some(Reader::Turns { .. }) | None => (0.0, f64::INFINITY),
        };
        let (cut, growth) = self.congestion.parameters().window_response(common.payload);
        FluidModel {
            cut,
            growth,
            early: self.congestion.parameters().early(),
            ordered: self.dupack_threshold.is_some() && self.recovery != Recovery::Rack,
            reads,
            // Each piece that the application reads opens the window, which causes an
            // acknowledgement.
            frames_per_ack: common.frames_per_ack.max(piece / common.payload),
            quick: self.delayed_ack.map_or(0.0, |delayed| f64::from(delayed.quick)),
            control: if self.handshake { (3, 1) } else { (0, 0) },
            opens: self.handshake,
            initial_window: f64::from(self.initial_window) * common.payload,
            window: [
                self.receive.most(),
                self.send.map_or(f64::INFINITY, |send| send.most.0 as f64),
            ]
            .into_iter()
            .fold(
                self.max_window.map_or(f64::INFINITY, |frames| f64::from(frames) * common.payload),
                f64::min,
            ),
            rate: self
                .pacing
                .and_then(|pacing| pacing.most)
                .map_or(f64::INFINITY, |rate| rate.0 as f64 / 8.0),
            marked: self.ecn != EcnMode::Off,
            small_queues: self.small_queues,
            halves,
            remembers: true,
            ..common
        }
    }
}

impl Receive {
    /// Returns the largest window that this setting allows, in bytes.
    pub fn most(&self) -> f64 {
        match self {
            Receive::Unlimited => f64::INFINITY,
            Receive::Window(bytes) => bytes.0 as f64,
            Receive::Buffer(buffer) => buffer.most.0 as f64 * f64::from(buffer.share) / 256.0,
        }
    }
}
