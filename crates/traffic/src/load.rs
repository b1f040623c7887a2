//! Converts a load, such as 0.5, into flows per second. Studies differ in the headers that they
//! count and in the link that they refer to, so a load always names its basis.

use crate::{SizeDistribution, TrafficError};
use afflux_net::spec::Wire;
use afflux_units::Rate;
use std::fmt;
use std::str::FromStr;

/// Capacity that a load is a fraction of. λ is the flows per second of one host, ρ the load, C the
/// host's rate, S the size of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadBasis {
    /// ρ of the host's link, payload only: λ = ρ·C / (8·E\[S\]). Used by the HPCC generator, and
    /// inside ConWeave's.
    HostPayload,
    /// ρ of the host's link with all headers: λ = ρ·C / (8·E\[S\]·w), where w is the ratio of wire
    /// bytes to payload bytes of the flows (1500/1460 for flows of whole packets). Used by the
    /// pFabric family's scripts.
    HostWire,
    /// ρ of the ToR's uplinks as if all traffic left the rack: λ = ρ·C / (o·8·E\[S\]), where o is
    /// the oversubscription. This is ConWeave's "network load", also used by ABM and Reverie. With
    /// uniform destinations the true load of the uplinks is lower by the share that stays in the
    /// rack.
    FabricOversub,
    /// ρ of the bisection bandwidth B (one direction) as if all traffic crossed it: the H/2 hosts
    /// of one half send ρ·B, so λ = 2·ρ·B / (H·8·E\[S\]). Used by CONGA and others.
    Bisection,
    /// The most loaded channel carries ρ of its rate, payload only: λ = ρ / (H·8·E\[S\]·max(a/r)),
    /// where a is the share of all traffic on a channel and r its rate. Used by Parsimon.
    MaxLink,
}

/// Capacities of a topology that a load can refer to.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacity {
    /// Number of hosts that send.
    pub hosts: u32,
    /// Rate of a host's link.
    pub host_rate: Rate,
    /// Downlink capacity of a ToR divided by its uplink capacity; 1 if there is nothing above.
    pub oversubscription: f64,
    /// Bisection bandwidth in one direction.
    pub bisection: Option<Rate>,
    /// Most loaded channel for the pattern of this block.
    pub busiest: Option<Channel>,
    /// Frame sizes on the wire, for `host_wire`.
    pub framing: Option<Framing>,
}

/// One direction of a link (or bundle) and the share of all the block's traffic that crosses it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Channel {
    pub share: f64,
    pub rate: Rate,
}

/// Sizes in bytes of the frames that carry the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// Payload of a full frame in bytes.
    pub payload: u32,
    /// Headers and trailers of a frame in bytes.
    pub header: u32,
    /// Size in bytes to which shorter frames are padded.
    pub min_frame: u32,
    /// Preamble and inter-frame gap in bytes.
    pub gap: u32,
}

impl Framing {
    /// Creates the framing for frames with `payload` bytes when full.
    pub fn of(wire: &Wire, payload: u32) -> Self {
        Framing {
            payload,
            header: u32::from(wire.data_header),
            min_frame: u32::from(wire.min_frame),
            gap: u32::from(wire.gap),
        }
    }
    /// Returns the bytes that a flow of `bytes` takes on a link.
    pub fn wire_bytes(&self, bytes: u64) -> u64 {
        let payload = u64::from(self.payload.max(1));
        let frames = bytes.div_ceil(payload).max(1);
        let last = bytes - (frames - 1) * payload;
        let full = payload + u64::from(self.header);
        let padded = |frame: u64| frame.max(u64::from(self.min_frame)) + u64::from(self.gap);
        (frames - 1) * padded(full) + padded(last + u64::from(self.header))
    }
}

impl Channel {
    /// Returns the channel with the highest share per rate.
    pub fn busiest(channels: impl IntoIterator<Item = Channel>) -> Option<Channel> {
        channels
            .into_iter()
            .filter(|channel| channel.rate.0 > 0)
            .max_by(|a, b| a.share_per_bps().total_cmp(&b.share_per_bps()))
    }
    fn share_per_bps(&self) -> f64 {
        self.share / self.rate.0 as f64
    }
}

impl Capacity {
    /// Creates the capacities that `host_payload` needs. The other bases need further fields.
    pub fn new(hosts: u32, host_rate: Rate) -> Self {
        Capacity {
            hosts,
            host_rate,
            oversubscription: 1.0,
            bisection: None,
            busiest: None,
            framing: None,
        }
    }
}

impl LoadBasis {
    pub const ALL: [LoadBasis; 5] = [
        LoadBasis::HostPayload,
        LoadBasis::HostWire,
        LoadBasis::FabricOversub,
        LoadBasis::Bisection,
        LoadBasis::MaxLink,
    ];
    const NAMES: [&'static str; 5] =
        ["host_payload", "host_wire", "fabric_oversub", "bisection", "max_link"];

    /// Returns the name of the basis in scenario files.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the flows per second of one host (of the average host, if sources differ) that offer
    /// `load`.
    pub fn flows_per_second(
        self,
        load: f64,
        capacity: &Capacity,
        sizes: &SizeDistribution,
    ) -> Result<f64, TrafficError> {
        if !(load > 0.0 && load.is_finite()) {
            return Err(TrafficError::parameter("load", load, "a number above 0"));
        }
        if capacity.hosts == 0 || capacity.host_rate.0 == 0 {
            return Err(TrafficError::parameter(
                "load",
                "no sending host",
                "at least one host that sends",
            ));
        }
        let hosts = f64::from(capacity.hosts);
        let needs = |what: &str| {
            TrafficError::parameter("load_basis", self.name(), format!("another basis: {what}"))
        };
        let bits = 8.0 * sizes.mean_drawn();
        Ok(match self {
            LoadBasis::HostPayload => load * capacity.host_rate.0 as f64 / bits,
            LoadBasis::HostWire => {
                let framing = capacity
                    .framing
                    .ok_or_else(|| needs("the sizes of this traffic's frames are not known"))?;
                load * capacity.host_rate.0 as f64
                    / (8.0 * sizes.expect(|bytes| framing.wire_bytes(bytes) as f64))
            }
            LoadBasis::FabricOversub => {
                if !(capacity.oversubscription > 0.0 && capacity.oversubscription.is_finite()) {
                    return Err(needs("this fabric has no oversubscription ratio"));
                }
                load * capacity.host_rate.0 as f64 / (capacity.oversubscription * bits)
            }
            LoadBasis::Bisection => {
                let bisection = capacity
                    .bisection
                    .ok_or_else(|| needs("the bisection bandwidth of this fabric is not known"))?;
                2.0 * load * bisection.0 as f64 / (hosts * bits)
            }
            LoadBasis::MaxLink => {
                let busiest = capacity
                    .busiest
                    .filter(|channel| channel.share > 0.0)
                    .ok_or_else(|| needs("the most loaded link of this traffic is not known"))?;
                load / (hosts * bits * busiest.share_per_bps())
            }
        })
    }
}

impl fmt::Display for LoadBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LoadBasis {
    type Err = TrafficError;
    fn from_str(text: &str) -> Result<Self, TrafficError> {
        let found = Self::ALL.into_iter().find(|basis| basis.name() == text);
        found.ok_or_else(|| {
            TrafficError::parameter("load_basis", format!("`{text}`"), Self::NAMES.join(", "))
                .near(text, &Self::NAMES)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fabric of the ConWeave study: 128 hosts of 100G in racks of 16, oversubscription 2:1.
    fn leaf_spine() -> Capacity {
        Capacity {
            oversubscription: 2.0,
            bisection: Some(Rate::from_gbps(3_200)),
            busiest: Some(Channel { share: 1.0 / 8.0, rate: Rate::from_gbps(800) }),
            framing: Some(Framing { payload: 1_000, header: 48, min_frame: 0, gap: 0 }),
            ..Capacity::new(128, Rate::from_gbps(100))
        }
    }
    fn rate(basis: LoadBasis, load: f64) -> f64 {
        basis
            .flows_per_second(load, &leaf_spine(), &SizeDistribution::fixed(1_000_000).unwrap())
            .unwrap()
    }

    #[test]
    fn formulas() {
        // Half of 100 Gbit/s in flows of 8 Mbit is 6,250 flows per second.
        assert!((rate(LoadBasis::HostPayload, 0.5) - 6_250.0).abs() < 1e-6);
        assert!((rate(LoadBasis::HostWire, 0.5) - 6_250.0 / 1.048).abs() < 1e-6);
        assert!((rate(LoadBasis::FabricOversub, 0.5) - 3_125.0).abs() < 1e-6);
        // The bisection of a 2:1 fabric gives the same rate as the oversubscribed load.
        assert!((rate(LoadBasis::Bisection, 0.5) - 3_125.0).abs() < 1e-6);
        // If every byte left its rack, each rack's uplinks would carry an eighth of all traffic.
        // This gives the same rate again.
        assert!((rate(LoadBasis::MaxLink, 0.5) - 3_125.0).abs() < 1e-6);
    }

    #[test]
    fn the_pfabric_family_counts_headers_of_whole_packets() {
        let framing = Some(Framing { payload: 1_460, header: 40, min_frame: 0, gap: 0 });
        let capacity = Capacity { framing, ..Capacity::new(144, Rate::from_gbps(10)) };
        let sizes = SizeDistribution::named("pfabric-websearch").unwrap();
        let ours = LoadBasis::HostWire.flows_per_second(0.8, &capacity, &sizes).unwrap();
        let theirs = 10e9 * 0.8 / (sizes.mean_drawn() * 8.0 * 1_500.0 / 1_460.0);
        assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} {theirs}");
    }

    #[test]
    fn small_flows_carry_their_header_and_padding() {
        let framing = Framing { payload: 1_000, header: 48, min_frame: 64, gap: 20 };
        assert_eq!(framing.wire_bytes(1), 84);
        assert_eq!(framing.wire_bytes(100), 168);
        assert_eq!(framing.wire_bytes(1_000), 1_068);
        assert_eq!(framing.wire_bytes(1_001), 1_068 + 84);
    }

    #[test]
    fn what_is_missing_is_said() {
        let sizes = SizeDistribution::fixed(1_000).unwrap();
        let bare = Capacity::new(4, Rate::from_gbps(10));
        for basis in [LoadBasis::HostWire, LoadBasis::Bisection, LoadBasis::MaxLink] {
            assert!(
                basis
                    .flows_per_second(0.5, &bare, &sizes)
                    .unwrap_err()
                    .to_string()
                    .contains(basis.name())
            );
        }
        for load in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(LoadBasis::HostPayload.flows_per_second(load, &bare, &sizes).is_err());
        }
        assert!(
            "hostwire"
                .parse::<LoadBasis>()
                .unwrap_err()
                .to_string()
                .contains("did you mean `host_wire`")
        );
        for basis in LoadBasis::ALL {
            assert_eq!(basis.name().parse::<LoadBasis>().unwrap(), basis);
        }
    }

    #[test]
    fn the_busiest_channel_is_by_share_of_its_rate() {
        let slow = Channel { share: 0.1, rate: Rate::from_gbps(10) };
        let fast = Channel { share: 0.5, rate: Rate::from_gbps(100) };
        assert_eq!(Channel::busiest([fast, slow]), Some(slow));
    }
}
