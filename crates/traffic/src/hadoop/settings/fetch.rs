//! Fetches of map outputs that fail.

use super::checks::{DAY, positive, timeout};
use afflux_config::keys::meaningless;
use afflux_config::{Duration, Off, Or, keys};
use afflux_units::Span;

keys! {
    /// Conditions under which a fetch fails, and the consequences (ShuffleSchedulerImpl.copyFailed).
    pub struct FetchKeys as "HadoopFetch" => FetchFailure(tez: bool) {
        /// Time after which the fetch of map outputs fails if the request has not arrived at their
        /// host, the handshake of its connection included
        /// (`mapreduce.reduce.shuffle.connect.timeout`, `tez.runtime.shuffle.connect.timeout`), or
        /// `"off"`: each fetch takes as long as it takes. Hadoop and Tez have `"180s"`. After a
        /// failure the reducer leaves the host alone for 10 s times 1.3 to the power of the failures
        /// of an output (ShuffleSchedulerImpl: 13 s, 16.9 s, …), with Tez for 2 s times that, and
        /// then fetches its outputs again.
        connect_timeout "fetch_connect_timeout": Or<Off, Duration> as Option<Span> = "off", check timeout;
        /// Time after which a fetch fails if the answer has not arrived in full, counted from the
        /// arrival of the request (`mapreduce.reduce.shuffle.read.timeout`,
        /// `tez.runtime.shuffle.read.timeout`), or `"off"`: each fetch takes as long as it takes.
        /// Hadoop and Tez have `"180s"` for each read from the connection: time without a byte. The
        /// model knows only the ends of transfers, so write more than the longest regular answer
        /// takes. The rest of the answer still crosses the network. The reducer leaves the host
        /// alone for the times that `fetch_connect_timeout` describes.
        read_timeout "fetch_read_timeout": Or<Off, Duration> as Option<Span> = "off", check timeout;
        /// Longest time for which a host is left alone after a failed fetch
        /// (`mapreduce.reduce.shuffle.retry-delay.max.ms`). Needs `fetch_connect_timeout` or
        /// `fetch_read_timeout`, and MapReduce: Tez has no such limit.
        retry_delay_max "fetch_retry_delay_max": Duration as Option<Span> =
            {(!tez && (connect_timeout.is_some() || read_timeout.is_some())).then_some(Duration(Span::from_s(60)))} "`\"60s\"`",
            check |time, key| match (tez, connect_timeout.is_none() && read_timeout.is_none()) {
                (true, _) => Err(meaningless(key, "framework = \"tez\"")),
                (_, true) => Err(meaningless(key, "fetch_connect_timeout = \"off\" and fetch_read_timeout = \"off\"")),
                _ => positive(time, key),
            };
    }
    plus {
        /// Time for which a host is left alone after a failure. It is multiplied by 1.3 to the power
        /// of the failures of an output, up to `most`. Tez's ShuffleScheduler works as Hadoop's, but
        /// has shorter penalties and no limit on them, for which a day stands.
        penalty: Span = Span::from_s(if tez { 2 } else { 10 });
        most: Span = retry_delay_max.unwrap_or(if tez { DAY } else { Span::from_s(60) });
        /// Number of failures of an output after which its fetches have no time-outs; at least a
        /// tenth of the number of maps.
        limit: u32 = if tez { 15 } else { 30 };
    }
}

/// Factor of the penalty per failure: PENALTY_GROWTH_RATE of MapReduce and Tez.
const PENALTY_GROWTH: f64 = 1.3;

impl FetchFailure {
    /// Returns the time for which a host is left alone after the fetch of an output there has
    /// failed `failures` times.
    pub fn delay(&self, failures: u32) -> Span {
        let most = self.most.0 as f64;
        let grown = (0..failures).try_fold(self.penalty.0 as f64, |delay, _| {
            (delay < most).then_some(delay * PENALTY_GROWTH)
        });
        Span(grown.unwrap_or(most).min(most).round() as u64)
    }

    /// Returns the number of failures of an output after which its fetches have no time-outs.
    pub fn most_failures(&self, maps: usize) -> u32 {
        self.limit.max((maps / 10) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_penalty_grows_by_three_tenths_with_each_failure_up_to_its_limit() {
        let failure = FetchFailure {
            connect_timeout: None,
            read_timeout: None,
            retry_delay_max: None,
            penalty: Span::from_s(10),
            most: Span::from_s(60),
            limit: 30,
        };
        let delays = [1, 2, 3, 4, 5, 6, 7, 1_000_000]
            .map(|failures| failure.delay(failures).0 / 1_000_000_000);
        assert_eq!(delays, [13_000, 16_900, 21_970, 28_561, 37_129, 48_268, 60_000, 60_000]);
        let tez = FetchFailure {
            penalty: Span::from_s(2),
            most: Span::from_s(86_400),
            limit: 15,
            ..failure
        };
        assert_eq!(
            [1, 2, 15].map(|failures| tez.delay(failures).0 / 1_000_000_000),
            [2_600, 3_380, 102_371]
        );
        assert_eq!([10, 400].map(|maps| failure.most_failures(maps)), [30, 40]);
    }
}
