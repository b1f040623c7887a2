//! Detection of recorded time series without any row.

use super::ending::seconds;
use afflux_net::record::Output;
use afflux_scenario::Scenario;

/// Returns a note for each series without rows because the run ended before the first interval did.
pub fn notes(scenario: &Scenario, output: &Output) -> Vec<String> {
    let record = &scenario.plan.record;
    let ports = record.ports.as_ref().filter(|series| !series.nodes.is_empty());
    [
        ("ports", "ports.interval", ports.map(|series| series.interval), output.ports.is_empty()),
        ("senders", "senders", record.senders, output.senders.is_empty()),
        ("imbalance", "imbalance", record.imbalance, output.uplinks.is_empty()),
        ("reorder", "reorder", record.reordering, output.reordering.is_empty()),
    ]
    .into_iter()
    .filter_map(|(table, key, interval, empty)| {
        let interval = interval.filter(|interval| empty && output.end.0 <= interval.0)?;
        Some(format!(
            "{table}.parquet has no rows: the run ended after {}, before the first interval of {interval} did; write a shorter record.{key}",
            seconds(output.end.0 as f64 * 1e-12),
        ))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;
    use afflux_units::Span;

    #[test]
    fn a_run_shorter_than_the_interval() {
        let (mut scenario, mut output) = run();
        assert!(notes(&scenario, &output).is_empty(), "has rows");
        output.ports.clear();
        assert!(notes(&scenario, &output).is_empty(), "an interval had ended");
        let series = scenario.plan.record.ports.as_mut().unwrap();
        series.interval = Span::from_ms(1_000);
        assert_eq!(
            notes(&scenario, &output),
            [
                "ports.parquet has no rows: the run ended after 100.0 us, before the first interval of 1s did; write a shorter record.ports.interval"
            ]
        );
        scenario.plan.record.ports.as_mut().unwrap().nodes.clear();
        assert!(notes(&scenario, &output).is_empty(), "no ports");
        scenario.plan.record.ports = None;
        scenario.plan.record.senders = Some(Span::from_ms(1_000));
        output.senders.clear();
        assert_eq!(
            notes(&scenario, &output),
            [
                "senders.parquet has no rows: the run ended after 100.0 us, before the first interval of 1s did; write a shorter record.senders"
            ]
        );
    }
}
