//! Tests NDP and trimming: defaults and refused keys.

use crate::common::parse;
use afflux_net::spec::{Aqm, Buffer, TransportConfig};
use afflux_units::Span;

const FABRIC: &str = r#"format = 1

[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "10Gbps"
delay = "1us"

[switch]
trimming = {}

[host.transport]
kind = "ndp"

[[traffic]]
kind = "incast"
to = 0
senders = 3
bytes = "64kB"
"#;

#[test]
fn defaults() {
    let scenario = parse(FABRIC).unwrap();
    assert!(scenario.warnings.is_empty());
    let again =
        parse(&scenario.resolved).unwrap_or_else(|error| panic!("{error}\n{}", scenario.resolved));
    assert_eq!(
        (&again.resolved, format!("{:?}", again.plan)),
        (&scenario.resolved, format!("{:?}", scenario.plan))
    );
    let TransportConfig::Ndp(ndp) = &scenario.plan.transports[0] else {
        panic!("another transport")
    };
    assert_eq!(
        (ndp.payload, ndp.pull_rate, ndp.spread, ndp.rto),
        (1_460, 1.0, true, Span::from_ms(1))
    );
    // Eight links of 1 us, and a frame and its acknowledgement on four links each: 13.2 us hold
    // 11.3 frames at 10 Gbps.
    assert_eq!(ndp.initial_window, 12);
    let switch = &scenario.plan.switches[0];
    assert_eq!(switch.buffer, Buffer::Unlimited);
    let Some(Aqm::Trim(trim)) = &switch.aqm else { panic!("another queue") };
    assert_eq!((trim.data, trim.headers, trim.header), (8 * 1_518, 16 * 1_518, 64));
}

#[test]
fn what_is_refused() {
    for (written, text) in [
        (
            "trimming = {}\naqm = { kind = \"codel\" }",
            "key switch.aqm: has no effect with trimming: remove it",
        ),
        (
            "trimming = {}\necn = { k = \"65kB\" }",
            "key switch.ecn: has no effect with trimming: remove it",
        ),
        (
            "trimming = {}\nbuffer = \"1MB\"\nsharing = \"static\"",
            "key switch.sharing: has no effect with trimming: remove it",
        ),
        (
            "trimming = {}\nbuffer = \"1MB\"",
            "key switch.buffer: has no effect with sharing = \"unlimited\": remove it",
        ),
        (
            "trimming = { data = \"0B\" }",
            "key switch.trimming.data: \"0B\": a queue of size 0 drops every frame: write a size above 0",
        ),
        (
            "trimming = { headers = \"63B\" }",
            "key switch.trimming.header: \"64B\" is above headers = \"63B\", so no header fits in",
        ),
        (
            "trimming = { header = \"2kB\" }",
            "key switch.trimming.header: \"2kB\": write a size from 1B to 1000B",
        ),
    ] {
        let error =
            parse(&FABRIC.replace("trimming = {}", written)).map(drop).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    for (written, text) in [
        ("pull_rate = 1.5", "0.01 to 1"),
        ("initial_window = 0", "1 to 1000000"),
        ("rto = \"1ns\"", "write a time from 1us to 60s"),
    ] {
        let error = parse(&FABRIC.replace("\"ndp\"\n", &format!("\"ndp\"\n{written}\n")))
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(error.contains(text), "{error}");
    }
}
