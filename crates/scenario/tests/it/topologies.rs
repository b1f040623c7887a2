//! Tests fabrics: sizes, names, order of ports, racks.

use crate::common::{folder, parse};
use afflux_net::routing::{Ports, Routes};
use afflux_net::spec::{NodeKind, Topology};
use std::time::Instant;

fn topology(fabric: &str) -> Topology {
    let text = format!(
        "format = 1\n[topology]\n{fabric}\n[[traffic]]\nkind = \"pairs\"\npairs = [[0, 1]]\nsizes = \"1MB\"\n"
    );
    parse(&text).unwrap_or_else(|error| panic!("{error}")).plan.topology
}

fn switches(topology: &Topology) -> usize {
    topology.nodes.iter().filter(|node| node.kind == NodeKind::Switch).count()
}

fn peers(topology: &Topology, node: &str) -> Vec<String> {
    let id = topology.nodes.iter().position(|n| n.name == node).unwrap();
    Ports::new(topology)
        .of(id as u32)
        .iter()
        .map(|port| topology.nodes[port.peer as usize].name.clone())
        .collect()
}

#[test]
fn star() {
    let star = topology("kind = \"star\"\nhosts = 3\nrate = \"10Gbps\"\ndelay = \"5us\"");
    assert_eq!((star.hosts, star.nodes.len(), star.links.len()), (3, 4, 3));
    assert_eq!(peers(&star, "switch0"), ["host0", "host1", "host2"]);
}

#[test]
fn dumbbell() {
    let dumbbell = topology("kind = \"dumbbell\"\npairs = 2");
    assert_eq!(peers(&dumbbell, "left"), ["host0", "host1", "right"]);
    assert_eq!(peers(&dumbbell, "right"), ["host2", "host3", "left"]);
    assert_eq!(dumbbell.links[4].rate.as_gbps(), 10.0);
}

#[test]
fn leaf_spine() {
    let fabric = topology(
        "kind = \"leaf_spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nparallel = 2\nuplink_rate = \"40Gbps\"\nuplink_delay = \"2us\"",
    );
    assert_eq!(peers(&fabric, "leaf1"), ["host2", "host3", "spine0", "spine0", "spine1", "spine1"]);
    assert_eq!(peers(&fabric, "spine0"), ["leaf0", "leaf0", "leaf1", "leaf1"]);
    let groups: Vec<_> = fabric.nodes.iter().map(|node| node.group).collect();
    assert_eq!(groups, [Some(0), Some(0), Some(1), Some(1), Some(0), Some(1), None, None]);
}

#[test]
fn fat_tree() {
    let fabric = topology("kind = \"fat_tree\"\nk = 4\noversubscription = 2");
    assert_eq!((fabric.hosts, switches(&fabric)), (32, 20));
    assert_eq!(peers(&fabric, "edge0"), ["host0", "host1", "host2", "host3", "agg0", "agg1"]);
    assert_eq!(peers(&fabric, "agg1"), ["edge0", "edge1", "core2", "core3"]);
    assert_eq!(peers(&fabric, "core3"), ["agg1", "agg3", "agg5", "agg7"]);
    assert_eq!(fabric.nodes.iter().find(|node| node.name == "agg7").unwrap().group, Some(3));
}

/// Tests k = 12 as in the study: 576 hosts, 144 edge, 72 aggregation and 36 core switches.
#[test]
fn a_dual_homed_fat_tree() {
    let fabric = topology("kind = \"dual_homed_fat_tree\"\nk = 12");
    assert_eq!((fabric.hosts, switches(&fabric)), (576, 252));
    assert_eq!(peers(&fabric, "host8"), ["edge2", "edge3"]);
    assert_eq!(peers(&fabric, "edge2")[6..], ["host14", "host15", "agg0", "agg1", "agg2"]);
    assert_eq!(peers(&fabric, "edge3")[8..], ["agg3", "agg4", "agg5"]);
    assert_eq!(peers(&fabric, "agg1").len(), 12);
    assert_eq!(
        peers(&fabric, "agg4")[6..],
        ["core24", "core25", "core26", "core27", "core28", "core29"]
    );
    assert_eq!(peers(&fabric, "core35").len(), 12);
}

/// Tests D_A = 4, D_I = 6: six racks, six aggregation switches of four ports, two intermediate
/// switches of six.
#[test]
fn vl2() {
    let fabric = topology("kind = \"vl2\"\naggregation_ports = 4\nintermediate_ports = 6");
    assert_eq!((fabric.hosts, switches(&fabric)), (120, 14));
    assert_eq!(peers(&fabric, "tor1")[20..], ["agg2", "agg3"]);
    assert_eq!(peers(&fabric, "agg5"), ["tor2", "tor5", "int0", "int1"]);
    assert_eq!(peers(&fabric, "int1"), ["agg0", "agg1", "agg2", "agg3", "agg4", "agg5"]);
    assert_eq!((fabric.links[0].rate.as_gbps(), fabric.links[120].rate.as_gbps()), (1.0, 10.0));
}

#[test]
fn a_large_fat_tree_is_quick() {
    let start = Instant::now();
    let fabric = topology("kind = \"fat_tree\"\nk = 36");
    assert_eq!((fabric.hosts, fabric.links.len()), (11_664, 34_992));
    assert!(start.elapsed().as_secs() < 10, "{:?} even without optimisation", start.elapsed());
}

/// Tests that ConWeave's file and `kind` give the same fabric.
#[test]
fn a_file_of_the_rdma_simulators() {
    let folder = folder("hpcc");
    let (hosts, leaves, spines) = (8, 4, 2);
    let mut lines = vec![format!(
        "{} {} {}",
        hosts + leaves + spines,
        leaves + spines,
        hosts + leaves * spines
    )];
    lines.push(
        (hosts..hosts + leaves + spines).map(|id| id.to_string()).collect::<Vec<_>>().join(" "),
    );
    lines.extend((0..hosts).map(|host| format!("{host} {} 100Gbps 1000ns 0", hosts + host / 2)));
    for leaf in 0..leaves {
        lines.extend(
            (0..spines).map(|spine| {
                format!("{} {} 100Gbps 1000ns 0", hosts + leaf, hosts + leaves + spine)
            }),
        );
    }
    std::fs::write(folder.join("fabric.txt"), lines.join("\n")).unwrap();
    let read = topology(&format!("kind = \"hpcc\"\nfile = \"{}/fabric.txt\"", folder.display()));
    let built = topology("kind = \"leaf_spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2");
    assert_eq!(format!("{:?}", read.links), format!("{:?}", built.links));
    for (a, b) in read.nodes.iter().zip(&built.nodes) {
        assert_eq!((a.kind, a.group, a.tier), (b.kind, b.group, b.tier), "{} {}", a.name, b.name);
    }
}

#[test]
fn overrides_and_faults() {
    let fabric = topology(
        "kind = \"leaf_spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\nparallel = 2\n[[topology.override]]\nlink = \"leaf0-spine*\"\nrate = \"40Gbps\"\n\
         [[topology.fault]]\nlink = [\"spine1-leaf0#1\", \"host0-leaf0\"]\nloss = 0.1\ndown = [{ from = \"2ms\", to = \"3ms\" }, { from = \"1ms\", to = \"2ms\" }]",
    );
    let rates: Vec<f64> = fabric.links.iter().map(|link| link.rate.as_gbps()).collect();
    assert_eq!(rates, [100.0, 100.0, 40.0, 40.0, 40.0, 40.0, 100.0, 100.0, 100.0, 100.0]);
    let lossy: Vec<usize> = (0..10).filter(|link| fabric.links[*link].loss.get() > 0.0).collect();
    assert_eq!(lossy, [0, 5]);
    assert_eq!(
        fabric.links[0].down.iter().map(|down| down.from.round_ns()).collect::<Vec<_>>(),
        [1_000_000, 2_000_000]
    );
}

/// Each fault of a link loses its part of the frames.
#[test]
fn several_faults_of_a_link() {
    let fabric = topology(
        "kind = \"star\"\nhosts = 3\nrate = \"1Gbps\"\ndelay = \"1us\"\n[[topology.fault]]\nlink = \"host1-switch0\"\nloss = 0.5\n\
         [[topology.fault]]\nlink = \"host*>switch0\"\nloss = 0.25",
    );
    let losses = |link: usize| [false, true].map(|back| fabric.links[link].loss_of(back).get());
    assert_eq!((losses(0), losses(1)), ([0.25, 0.0], [0.625, 0.5]));
}

/// Tests that `>` names one direction and `-` both, and that later overrides win.
#[test]
fn directions() {
    let fabric = topology(
        "kind = \"star\"\nhosts = 3\n[[topology.override]]\nlink = \"host*>switch0\"\nrate = \"10Gbps\"\n[[topology.override]]\nlink = \"switch0>host1\"\n\
         rate = \"1Gbps\"\n[[topology.override]]\nlink = \"host2-switch0\"\nrate = \"40Gbps\"\n[[topology.fault]]\nlink = \"switch0>host0\"\nloss = 0.1\n\
         [[topology.fault]]\nlink = \"host0>switch0\"\nloss = 0.2\ndown = []",
    );
    let both = |link: usize| {
        [false, true].map(|back| {
            (fabric.links[link].rate_of(back).as_gbps(), fabric.links[link].loss_of(back).get())
        })
    };
    assert_eq!(
        [0, 1, 2].map(both),
        [[(10.0, 0.2), (100.0, 0.1)], [(10.0, 0.0), (1.0, 0.0)], [(40.0, 0.0), (40.0, 0.0)]]
    );
}

/// Tests that packets fit the links of both hosts with every transport, and that a smaller link
/// between switches draws a warning.
#[test]
fn mtus() {
    let scenario = |transport: &str, link: &str| {
        let text = format!(
            "format = 1\n[topology]\nkind = \"leaf_spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\n[[topology.override]]\nlink = \"{link}\"\nmtu = \"1500B\"\n\
             [host]\nmtu = \"9000B\"\n[host.transport]\n{transport}\n[[traffic]]\nkind = \"pairs\"\npairs = [[0, 2], [2, 1], [1, 3]]\nsizes = \"1MB\"\n"
        );
        parse(&text).unwrap_or_else(|error| panic!("{error}"))
    };
    for (transport, overhead) in [
        ("kind = \"tcp\"", 0),
        // MPTCP's data sequence signal takes 24 B.
        ("kind = \"tcp\"\nmptcp = {}", 24),
        ("kind = \"pfabric\"", 0),
        ("kind = \"ndp\"", 0),
        ("kind = \"pdq\"", 16),
        ("kind = \"d3\"", 16),
    ] {
        let plan = scenario(transport, "host2-*").plan;
        let payloads: Vec<u16> = plan
            .flows
            .iter()
            .map(|flow| plan.transports[flow.transport as usize].parameters().frames().payload)
            .collect();
        assert_eq!(payloads, [1_460 - overhead, 1_460 - overhead, 8_960 - overhead], "{transport}");
        // A packet of 1,500 B with Ethernet's 18 B.
        assert_eq!(
            plan.topology.links.iter().filter_map(|link| link.longest).collect::<Vec<_>>(),
            [1_518]
        );
    }
    assert_eq!(scenario("kind = \"tcp\"", "host2-*").warnings.len(), 0);
    let warnings = scenario("kind = \"tcp\"", "leaf0-spine0").warnings;
    let text = "\"leaf0-spine0\" discards frames above 1518 B, and flows send up to 9018 B: no full frame passes it, and TCP does not learn of that; write a larger mtu \
                for the link, or a smaller host.mtu";
    assert!(
        warnings.iter().any(|warning| warning.to_string().contains(text)),
        "{:?}",
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    );
}

/// Tests a load of 0.5 under each definition, on 2 leaves × 2 spines × 4 hosts at 100G with uplinks
/// of 100G: oversubscription 2:1.
#[test]
fn loads() {
    let share = |basis: &str, extra: &str| {
        let text = format!(
            "format = 1\n[topology]\nkind = \"leaf_spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[host]\nwire = \"pfabric\"\n[[traffic]]\nkind = \"random\"\n\
             sizes = \"1460kB\"\nload = 0.5\nload_basis = \"{basis}\"\nduration = \"1ms\"\n{extra}\n"
        );
        let notes = parse(&text).unwrap_or_else(|error| panic!("{error}")).notes;
        let note = notes.iter().find(|note| note.contains("of a source's link")).unwrap().clone();
        note.split(" is ").nth(1).unwrap().split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(share("host_payload", ""), 50.0);
    assert_eq!(share("host_wire", ""), 48.67);
    assert_eq!(share("fabric_oversub", ""), 25.0);
    assert_eq!(share("bisection", ""), 25.0);
    // All traffic leaves its rack, so the uplinks, of half the capacity, are the busiest links.
    assert_eq!(share("max_link", "inter_rack = true"), 25.0);
    // 4 of 7 destinations are in the other rack: the uplinks carry 4·4/7 of a host's traffic on 2
    // links.
    assert_eq!(share("max_link", ""), 43.75);
    assert_eq!(share("max_link", "rack_local = 0.75"), 50.0);
    // Host 0 receives all traffic of the other seven hosts: its link is half loaded if each of them
    // sends a seventh of half the rate.
    let hot = share(
        "max_link",
        "hotspot = { hosts = [0], share = 1.0 }\ndestinations = [0]\nsources = \"1-7\"",
    );
    assert_eq!(hot, 7.14);
}

/// Tests loads of fabrics whose hosts have several links. Eight hosts share the two uplinks of their
/// two edge switches, 8:1. Switches of a BCube have no uplinks.
#[test]
fn loads_of_hosts_with_several_links() {
    let note = |fabric: &str| {
        let text = format!(
            "format = 1\n[topology]\n{fabric}\n[[traffic]]\nkind = \"random\"\nsizes = \"1460kB\"\nload = 0.8\nload_basis = \"fabric_oversub\"\n\
             duration = \"1ms\"\n"
        );
        let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        assert!(scenario.warnings.is_empty(), "{:?}", scenario.warnings[0].to_string());
        let mut notes = scenario.notes.into_iter();
        notes.find(|note| note.contains("of a source's link")).unwrap()
    };
    for (fabric, share) in [
        ("kind = \"dual_homed_fat_tree\"\nk = 4\nhosts_per_pair = 8", "is 10.00 %"),
        ("kind = \"bcube\"\nports = 4", "is 80.00 %"),
    ] {
        let note = note(fabric);
        assert!(note.contains(share), "{note}");
    }
}

/// Tests that the most loaded link carries the load asked for, on the fabric of `loads`, with a
/// matrix and some or all sources. Rack 0 sends a quarter of all traffic if all hosts send.
#[test]
fn a_load_of_the_most_loaded_link_by_matrix() {
    let matrix = folder("load_by_matrix").join("weights.json");
    std::fs::write(&matrix, "[[0, 1], [3, 0]]").unwrap();
    for (sources, rack) in [("0-3", 0..4), ("4-7", 4..8), ("0-7", 4..8)] {
        let text = format!(
            "format = 1\n[topology]\nkind = \"leaf_spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[[traffic]]\nkind = \"random\"\nsizes = \"14600B\"\n\
             load = 0.5\nload_basis = \"max_link\"\narrivals = \"fixed\"\nduration = \"5ms\"\nsources = \"{sources}\"\nmatrix = \"{}\"\n",
            matrix.display()
        );
        let flows = parse(&text).unwrap_or_else(|error| panic!("{error}")).plan.flows;
        let of_rack = flows.iter().filter(|flow| rack.contains(&flow.src));
        let bits = of_rack.map(|flow| 8 * flow.bytes).sum::<u64>() as f64;
        // The two uplinks of the rack, 100 Gbps each, are the most loaded links.
        let load = bits / (2.0 * 100e9 * 5e-3);
        assert!((load - 0.5).abs() < 0.005, "{sources}: {load}");
    }
}

/// Tests BCube(4, 1): sixteen hosts of two NICs, four switches on each of two levels. Also tests
/// three levels.
#[test]
fn bcube() {
    let fabric = topology("kind = \"bcube\"\nports = 4");
    assert_eq!(
        (fabric.hosts, switches(&fabric), fabric.links.len(), fabric.relays),
        (16, 8, 32, true)
    );
    assert_eq!(peers(&fabric, "host6"), ["level0_1", "level1_2"]);
    assert_eq!(peers(&fabric, "level0_1"), ["host4", "host5", "host6", "host7"]);
    assert_eq!(peers(&fabric, "level1_2"), ["host2", "host6", "host10", "host14"]);
    let fabric = topology("kind = \"bcube\"\nports = 3\nlevels = 3");
    assert_eq!((fabric.hosts, switches(&fabric)), (27, 27));
    assert_eq!(peers(&fabric, "level1_4"), ["host10", "host13", "host16"]);
}

/// Counts the shortest paths between two hosts by walking the routes.
fn paths(fabric: &Topology, from: &str, to: &str) -> usize {
    fn walk(routes: &Routes, ports: &Ports, node: u32, to: u32) -> usize {
        if node == to {
            return 1;
        }
        routes
            .next_hops(node, to)
            .as_slice()
            .iter()
            .map(|port| walk(routes, ports, ports.of(node)[*port as usize].peer, to))
            .sum()
    }
    let number =
        |name: &str| fabric.nodes.iter().position(|node| node.name == name).unwrap() as u32;
    walk(&Routes::build(fabric), &Ports::new(fabric), number(from), number(to))
}

/// Tests the path counts of all fabrics ("Fabrics", section 7.4 no. 9, and their papers).
#[test]
fn path_counts_of_every_fabric() {
    let counts = |text: &str, pairs: &[(&str, &str)]| {
        let fabric = topology(text);
        pairs.iter().map(|(from, to)| paths(&fabric, from, to)).collect::<Vec<_>>()
    };
    assert_eq!(counts("kind = \"star\"\nhosts = 3", &[("host0", "host2")]), [1]);
    assert_eq!(
        counts("kind = \"dumbbell\"\npairs = 2", &[("host0", "host1"), ("host0", "host3")]),
        [1, 1]
    );
    let leaves = "kind = \"leaf_spine\"\nleaves = 2\nspines = 3\nhosts_per_leaf = 2\nparallel = 2";
    // A path uses one of two links up and one of two links down at each of three spines.
    assert_eq!(counts(leaves, &[("host0", "host1"), ("host0", "host2")]), [1, 12]);
    assert_eq!(
        counts(
            "kind = \"fat_tree\"\nk = 6",
            &[("host0", "host1"), ("host0", "host3"), ("host0", "host9")]
        ),
        [1, 3, 9]
    );
    // Within a pair paths lead over either switch. Within a pod and beyond they lead over both,
    // each with three of the pod's aggregation switches, and these with six cores each.
    let dual = "kind = \"dual_homed_fat_tree\"\nk = 12";
    assert_eq!(
        counts(dual, &[("host0", "host1"), ("host0", "host8"), ("host0", "host48")]),
        [2, 6, 36]
    );
    // Racks 0 and 3 share both aggregation switches, racks 0 and 1 share none: two up, two
    // intermediate, two down.
    let vl2 = "kind = \"vl2\"\naggregation_ports = 4\nintermediate_ports = 6";
    assert_eq!(
        counts(vl2, &[("host0", "host1"), ("host0", "host60"), ("host0", "host20")]),
        [1, 2, 8]
    );
    let bcube = "kind = \"bcube\"\nports = 3\nlevels = 3";
    assert_eq!(
        counts(bcube, &[("host0", "host2"), ("host0", "host12"), ("host0", "host26")]),
        [1, 2, 6]
    );
    // Host 66 is at the router of group 8 that has links to groups 2 and 3: by a local link on
    // either side of the link between groups 0 and 8, or by the links over group 2.
    let dragonfly = "kind = \"dragonfly\"\nrouters = 4";
    let pairs = [("host0", "host1"), ("host0", "host7"), ("host0", "host8"), ("host0", "host66")];
    assert_eq!(counts(dragonfly, &pairs), [1, 1, 1, 2]);
}
