//! Refuses what a model would drop in silence.

use crate::common::parse;

const STAR: &str = r#"format = 1
[topology]
kind = "star"
hosts = 4

[[host.override]]
match = "host3"
transport = "bulk"

[host.transports.bulk]
congestion = "dctcp"

[run]
until = "1ms"

[[traffic]]
"#;

fn error(text: &str) -> String {
    match parse(text) {
        Ok(_) => panic!("no error with {text}"),
        Err(error) => error.to_string(),
    }
}

/// Each host has one paced transport, which is that of the block.
#[test]
fn background_traffic_of_hosts_with_other_transports() {
    let block = "kind = \"background\"\nrate = \"1Gbps\"\n";
    assert_eq!(
        error(&format!("{STAR}{block}")),
        "fabric.toml:16: key traffic[0].transport: host3 has a transport of its own (host.override), which traffic of this kind cannot follow: \
         write a transport of host.transports that all hosts of this block use"
    );
    parse(&format!("{STAR}{block}transport = \"bulk\"\n")).unwrap();
    parse(&format!("{STAR}{block}hosts = \"0-2\"\n")).unwrap();
    parse(&format!("{STAR}{block}protocol = \"datagram\"\n")).unwrap();
}

#[test]
fn hadoop_on_hosts_with_other_transports() {
    let block =
        "kind = \"hadoop\"\nsize = \"1GB\"\n[traffic.cluster]\ncompute = \"0-1\"\ndata = \"2-3\"\n";
    assert_eq!(
        error(&format!("{STAR}{block}")),
        "fabric.toml:16: key traffic[0].transport: host3 has a transport of its own (host.override), which traffic of this kind cannot follow: \
         write a transport of host.transports that all hosts of this block use"
    );
    parse(&format!("{STAR}{}", block.replace("size", "transport = \"bulk\"\nsize"))).unwrap();
}

#[test]
fn stragglers_outside_the_ring() {
    let block = "kind = \"ring_all_reduce\"\nhosts = \"0-2\"\nbytes = \"1MB\"\nstragglers = [3]\nstraggler_delay = \"1ms\"\n";
    assert_eq!(
        error(&format!("{STAR}{block}")),
        "fabric.toml:20: key traffic[0].stragglers: host3 is not one of hosts: write hosts of the ring"
    );
    parse(&format!("{STAR}{}", block.replace("[3]", "[2]"))).unwrap();
}

/// The NIC's state of hosts with several links would reach no ToR.
#[test]
fn glb_where_hosts_have_several_links() {
    let text = "format = 1\n[topology]\nkind = \"bcube\"\nports = 4\nlevels = 2\n[switch]\nbalance = \"glb\"\n[[traffic]]\nkind = \"pairs\"\npairs = [[0, 5]]\nsizes = \"1MB\"\n";
    assert_eq!(
        error(text),
        "fabric.toml:7: key switch.balance: \"glb\": next hops report to the ToR of a host, and here hosts have several links: write another balancer"
    );
    parse(&text.replace("glb", "dlb")).unwrap();
}

#[test]
fn a_limit_of_a_lossless_queue() {
    let switch = "[switch]\nsharing = \"sonic\"\npfc = { priorities = [1] }\nqueue = [{ strict = true }, { strict = true, priorities = [1], buffer = \"100kB\" }]\n";
    let traffic = "kind = \"pairs\"\npairs = [[0, 1]]\nsizes = \"1MB\"\npriority = 1\n";
    let text = STAR.replace("[[host.override]]", &format!("{switch}[[host.override]]"));
    assert_eq!(
        error(&format!("{text}{traffic}")),
        "fabric.toml:9: key switch.queue[1].buffer: a memory management unit does not limit lossless traffic at egress, and this queue has lossless priorities only: \
         remove it, or write a [[switch.mmu.group]] for them"
    );
    parse(&format!("{}{traffic}", text.replace(", buffer = \"100kB\"", ""))).unwrap();
}

#[test]
fn commands_of_kernels_after_the_end() {
    let kernels = STAR.replace(
        "[[traffic]]\n",
        "[[host.kernel]]\nmatch = \"host*\"\nat = { \"500us\" = \"true\", \"1ms\" = \"false\" }\n",
    );
    assert_eq!(
        error(&kernels),
        "fabric.toml:18: key host.kernel[0].at.1ms: the run ends at 1ms: write an earlier time, or a later run.until"
    );
    parse(&kernels.replace("\"1ms\" = \"false\"", "\"999us\" = \"false\"")).unwrap();
}

/// The range is checked before the number of flows is estimated.
#[test]
fn a_sigma_beyond_its_range() {
    let block = "kind = \"random\"\nsizes = \"1MB\"\narrivals = \"lognormal\"\nsigma = 30.0\nload = 0.5\nload_basis = \"host_payload\"\nduration = \"1ms\"\n";
    assert_eq!(
        error(&format!("{STAR}{block}")),
        "fabric.toml:20: key traffic[0].sigma: found 30: write a number from 0 to 5"
    );
}
