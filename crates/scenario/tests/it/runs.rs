//! Tests that a scenario can be read, built and simulated.

use crate::common::{VALID, parse};
use afflux_net::Progress;

#[test]
fn both_engines_carry_it_out() {
    let scenario = parse(&VALID.replace("duration = \"1ms\"", "flows = 20")).unwrap();
    let other = parse(&scenario.resolved.replace("\"window_log\"", "\"classical\"")).unwrap();
    assert_eq!(scenario.hash, other.hash);
    let run = |scenario: &afflux_scenario::Scenario| {
        afflux_net::run(&scenario.plan, &Progress::default()).unwrap()
    };
    let (first, second) = (run(&scenario), run(&other));
    assert_eq!(format!("{:?}", first.flows), format!("{:?}", second.flows));
    assert_eq!(first.flows.len(), 23);
}
