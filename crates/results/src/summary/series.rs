//! Detection of a series of queues and counters without any row.

use super::ending::seconds;
use afflux_net::record::Output;
use afflux_scenario::Scenario;

/// Returns a note if `ports.parquet` has no rows because the run ended before the first interval
/// did.
pub fn note(scenario: &Scenario, output: &Output) -> Option<String> {
    let series = scenario.plan.record.ports.as_ref()?;
    let too_short = output.end.0 <= series.interval.0;
    (output.ports.is_empty() && !series.nodes.is_empty() && too_short).then(|| {
        format!(
            "ports.parquet has no rows: the run ended after {}, before the first interval of {} did; write a shorter record.ports.interval",
            seconds(output.end.0 as f64 * 1e-12),
            series.interval
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;
    use afflux_units::Span;

    #[test]
    fn a_run_shorter_than_the_interval() {
        let (mut scenario, mut output) = run();
        assert_eq!(note(&scenario, &output), None, "has rows");
        output.ports.clear();
        assert_eq!(note(&scenario, &output), None, "an interval had ended");
        let series = scenario.plan.record.ports.as_mut().unwrap();
        series.interval = Span::from_ms(1_000);
        assert_eq!(
            note(&scenario, &output).unwrap(),
            "ports.parquet has no rows: the run ended after 100.0 us, before the first interval of 1s did; write a shorter record.ports.interval"
        );
        scenario.plan.record.ports.as_mut().unwrap().nodes.clear();
        assert_eq!(note(&scenario, &output), None, "no ports");
        scenario.plan.record.ports = None;
        assert_eq!(note(&scenario, &output), None);
    }
}
