//! Built-in distributions. Their points are typed in from public descriptions; a comment at each
//! names the source.

use super::table::Table;
use crate::TrafficError;

/// A distribution as points in bytes and cumulative percent.
struct Percent {
    name: &'static str,
    points: &'static [(f64, f64)],
}

/// A distribution as points in packets and cumulative shares. Drawn sizes are whole packets.
struct Packets {
    name: &'static str,
    points: &'static [(f64, f64)],
}

/// Payload in bytes of a packet in the ns-2 family: 1500 B with 40 B of header.
const PACKET_BYTES: u64 = 1_460;

const PERCENT: &[Percent] = &[
    // Alibaba storage, 2019; the HPCC and ConWeave authors' generators (AliStorage2019.txt).
    Percent {
        name: "alistorage",
        points: &[
            (0.0, 0.0),
            (4_000.0, 22.93),
            (8_000.0, 69.21),
            (16_000.0, 80.61),
            (32_000.0, 90.47),
            (64_000.0, 93.53),
            (128_000.0, 96.77),
            (256_000.0, 97.53),
            (2_000_000.0, 100.0),
        ],
    },
    // Alibaba Solar RPC, 2022; the ConWeave authors' generator (Solar2022.txt).
    Percent {
        name: "solar",
        points: &[
            (0.0, 0.0),
            (4_095.0, 0.001),
            (4_096.0, 30.0),
            (16_383.0, 35.0),
            (16_384.0, 50.0),
            (65_535.0, 60.0),
            (65_536.0, 95.0),
            (262_144.0, 100.0),
        ],
    },
    // Web search, DCTCP (SIGCOMM'10); the HPCC authors' generator (WebSearch_distribution.txt).
    Percent {
        name: "websearch",
        points: &[
            (0.0, 0.0),
            (10_000.0, 15.0),
            (20_000.0, 20.0),
            (30_000.0, 30.0),
            (50_000.0, 40.0),
            (80_000.0, 53.0),
            (200_000.0, 60.0),
            (1e6, 70.0),
            (2e6, 80.0),
            (5e6, 90.0),
            (10e6, 97.0),
            (30e6, 100.0),
        ],
    },
    // Data mining, VL2 (SIGCOMM'09); the ConWeave authors' workloads (mining.txt).
    Percent {
        name: "datamining",
        points: &[
            (100.0, 0.0),
            (10_000.0, 80.0),
            (152_522.0, 83.46),
            (390_541.0, 90.0),
            (3_223_542.0, 95.3846),
            (100e6, 99.0),
            (1e9, 100.0),
        ],
    },
    // Facebook Hadoop, "Inside the Social Network's (Datacenter) Network" (SIGCOMM'15), 20 points; the HPCC authors'
    // generator (FbHdp_distribution.txt).
    Percent {
        name: "fbhdp-20",
        points: &[
            (0.0, 0.0),
            (100.0, 1.0),
            (200.0, 2.0),
            (300.0, 5.0),
            (350.0, 15.0),
            (400.0, 20.0),
            (500.0, 30.0),
            (600.0, 40.0),
            (700.0, 50.0),
            (1_000.0, 60.0),
            (2_000.0, 67.0),
            (7_000.0, 70.0),
            (30_000.0, 72.0),
            (50_000.0, 82.0),
            (80_000.0, 87.0),
            (120_000.0, 90.0),
            (300_000.0, 95.0),
            (1e6, 97.5),
            (2e6, 99.0),
            (10e6, 100.0),
        ],
    },
];

const PACKETS: &[Packets] = &[
    // Web search of DCTCP as pFabric (SIGCOMM'13), PIAS and pHost draw it; ns-2 file CDF_dctcp / DCTCP_MsgSizeDist.
    Packets {
        name: "pfabric-websearch",
        points: &[
            (6.0, 0.0),
            (6.0, 0.15),
            (13.0, 0.2),
            (19.0, 0.3),
            (33.0, 0.4),
            (53.0, 0.53),
            (133.0, 0.6),
            (667.0, 0.7),
            (1_333.0, 0.8),
            (3_333.0, 0.9),
            (6_667.0, 0.97),
            (20_000.0, 1.0),
        ],
    },
    // Data mining of VL2 as pFabric draws it; ns-2 file CDF_vl2 / CDF_datamining.
    Packets {
        name: "pfabric-datamining",
        points: &[
            (1.0, 0.0),
            (1.0, 0.5),
            (2.0, 0.6),
            (3.0, 0.7),
            (7.0, 0.8),
            (267.0, 0.9),
            (2_107.0, 0.95),
            (66_667.0, 0.99),
            (666_667.0, 1.0),
        ],
    },
    // "imc10" of pHost (CoNEXT'15), after the measurements of Benson et al. (IMC'10); yaps, CDF_aditya.
    Packets {
        name: "imc10",
        points: &[
            (1.0, 0.5),
            (2.0, 0.6),
            (3.0, 0.7),
            (5.0, 0.75),
            (7.0, 0.8),
            (40.0, 0.8125),
            (72.0, 0.825),
            (137.0, 0.85),
            (267.0, 0.9),
            (1_187.0, 0.95),
            (2_107.0, 1.0),
        ],
    },
];

/// Other spellings of built-in names.
const ALIASES: &[(&str, &str)] = &[
    ("alistorage2019", "alistorage"),
    ("solarrpc", "solar"),
    ("solar2022", "solar"),
    ("solarrpc2022", "solar"),
    ("web-search", "websearch"),
    ("data-mining", "datamining"),
    ("fbhdp", "fbhdp-20"),
    ("meta-hadoop-hpcc", "fbhdp-20"),
    ("pfabric-imc10", "imc10"),
];

/// Published distributions with too many points to type in, and the places where they can be found.
const ELSEWHERE: &[(&str, &str)] = &[
    ("websearch-ns2", "conweave-ns3 workloads/search.txt"),
    ("datamining-17", "ns3-datacenter ABM/datamining.csv"),
    ("meta-hadoop", "conweave-ns3 traffic_gen/FbHdp2015.txt"),
    ("meta-hadoop-2015", "conweave-ns3 traffic_gen/FbHdp2015.txt"),
    ("fbhdp2015", "conweave-ns3 traffic_gen/FbHdp2015.txt"),
    ("meta-hadoop-all", "parsimon-eval facebook/hadoop-all.txt"),
    ("hadoop-all", "parsimon-eval facebook/hadoop-all.txt"),
    ("hadoop-intrarack", "parsimon-eval facebook/hadoop-intrarack.txt"),
    ("hadoop-intra-rack", "parsimon-eval facebook/hadoop-intrarack.txt"),
    ("hadoop-intracluster", "parsimon-eval facebook/hadoop-intracluster.txt"),
    ("hadoop-intra-cluster", "parsimon-eval facebook/hadoop-intracluster.txt"),
    (
        "cachefollower",
        "parsimon-eval facebook/cachefollower-all.txt or conweave-ns3 workloads/cachefollower.txt",
    ),
    (
        "cache-follower",
        "parsimon-eval facebook/cachefollower-all.txt or conweave-ns3 workloads/cachefollower.txt",
    ),
    (
        "webserver",
        "parsimon-eval facebook/webserver-all.txt or conweave-ns3 workloads/webserver.txt",
    ),
    (
        "web-server",
        "parsimon-eval facebook/webserver-all.txt or conweave-ns3 workloads/webserver.txt",
    ),
    ("googlerpc", "conweave-ns3 or HPCC traffic_gen/GoogleRPC2008.txt"),
    ("googlerpc2008", "conweave-ns3 or HPCC traffic_gen/GoogleRPC2008.txt"),
    ("google-rpc", "conweave-ns3 or HPCC traffic_gen/GoogleRPC2008.txt"),
    ("google-rpc-2008", "conweave-ns3 or HPCC traffic_gen/GoogleRPC2008.txt"),
    ("hadoop-abm", "ns3-datacenter ABM/hadoop.csv"),
];

pub(super) fn names() -> Vec<&'static str> {
    PERCENT.iter().map(|table| table.name).chain(PACKETS.iter().map(|table| table.name)).collect()
}

/// Returns the name and the points of a built-in distribution.
pub(super) fn find(found: &str) -> Result<(&'static str, Table), TrafficError> {
    let plain = found.trim().to_ascii_lowercase().replace(['_', ' '], "-");
    let name =
        ALIASES.iter().find(|(alias, _)| *alias == plain).map_or(plain.as_str(), |(_, name)| name);
    if let Some(table) = PERCENT.iter().find(|table| table.name == name) {
        let points =
            table.points.iter().map(|(bytes, percent)| (*bytes, percent / 100.0)).collect();
        return Ok((table.name, Table::new(points, 1, false)));
    }
    if let Some(table) = PACKETS.iter().find(|table| table.name == name) {
        return Ok((table.name, Table::new(table.points.to_vec(), PACKET_BYTES, true)));
    }
    if let Some((name, source)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        return Err(TrafficError::parameter(
            "sizes",
            format!("`{found}`"),
            format!(
                "a built-in distribution ({}); the points of `{name}` are not part of afflux: give the path of a distribution file, published as {source}",
                names().join(", ")
            ),
        ));
    }
    Err(TrafficError::parameter(
        "sizes",
        format!("`{found}`"),
        format!("{} or the path of a distribution file", names().join(", ")),
    )
    .near(name, &names()))
}

#[cfg(test)]
mod tests;
