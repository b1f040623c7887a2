//! Live mode: runs a scenario in real time with real hosts.

use crate::scenario::Scenario;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Options of a live run as given by the caller. Unused on systems other than Linux.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
struct Requested {
    hosts: Option<String>,
    attach: Vec<String>,
    duration: Option<String>,
    command: Vec<String>,
    bound: String,
    out: Option<PathBuf>,
    force: bool,
}

/// Runs `scenario` in real time. `hosts` selects the real hosts: a number, or comma-separated names
/// (default: all). Those in `attach` (`host2=eth1`) are behind interfaces of this machine. Writes
/// the result directory `out` if one is given, and returns `live.json`. Ctrl-C ends the run like an
/// expired duration: the results up to then are reported.
#[pyfunction]
#[pyo3(signature = (scenario, *, hosts=None, attach=Vec::new(), duration=None, command=Vec::new(), bound=String::from("100us"), out=None, force=false))]
#[allow(clippy::too_many_arguments)] // by name
pub fn live(
    py: Python<'_>,
    scenario: &Scenario,
    hosts: Option<String>,
    attach: Vec<String>,
    duration: Option<String>,
    command: Vec<String>,
    bound: String,
    out: Option<PathBuf>,
    force: bool,
) -> PyResult<String> {
    linux::live(py, scenario, Requested { hosts, attach, duration, command, bound, out, force })
}

/// A capability: name, purpose, whether it is required, why it is missing, and remedy.
type Row = (String, String, bool, Option<String>, String);

/// Returns the capabilities that live mode uses: name, purpose, whether it is required, why it is
/// missing (`None`: it is present), and remedy.
#[pyfunction]
pub fn live_capabilities() -> PyResult<Vec<Row>> {
    linux::capabilities()
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use crate::errors::Error;
    use crate::live::{Requested, Row};
    use crate::scenario::Scenario;
    use pyo3::prelude::*;

    pub fn live(_: Python<'_>, _: &Scenario, _: Requested) -> PyResult<String> {
        Err(Error::new_err("live mode needs Linux: its hosts are network namespaces"))
    }
    pub fn capabilities() -> PyResult<Vec<Row>> {
        Err(Error::new_err("live mode needs Linux: its hosts are network namespaces"))
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::errors::{Failure, RunError};
    use crate::interrupt::{POLL, guarded};
    use crate::live::{Requested, Row};
    use crate::scenario::Scenario;
    use afflux_live::{Control, LiveError, Options};
    use afflux_results::{ProcessStart, Replace};
    use afflux_units::Span;
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    pub fn live(py: Python<'_>, scenario: &Scenario, asked: Requested) -> PyResult<String> {
        let Requested { hosts, attach, duration, command, bound, out, force } = asked;
        let time = |text: &str, name: &str| match text.parse::<Span>() {
            Ok(Span::ZERO) if name == "duration" => Err(PyValueError::new_err(format!(
                "--{name} {text}: write a time above 0, as in 30s"
            ))),
            Ok(span) => Ok(Duration::from_nanos(span.0.div_ceil(1_000))),
            Err(error) => Err(PyValueError::new_err(format!("--{name} {text}: {error}"))),
        };
        let options = Options {
            hosts,
            attach,
            duration: duration.map(|text| time(&text, "duration")).transpose()?,
            command,
            bound: time(&bound, "bound")?,
        };
        let scenario = scenario.inner.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let (send, mut receive) = channel();
        let stopped = stop.clone();
        std::thread::Builder::new().name("afflux-live".into()).spawn(move || {
            // The receiver waits for the answer in every case.
            let _ = send.send(guarded(|| Ok(work(scenario, &options, &stopped, out, force))));
        })?;
        let mut interrupted = None;
        loop {
            let receive = &mut receive;
            match py.detach(move || receive.recv_timeout(POLL)) {
                Ok(Ok(Err(Failed::Live(LiveError::Stopped)))) if interrupted.is_some() => {
                    return Err(interrupted.expect("there is one"));
                }
                Ok(Ok(answer)) => return answer.map_err(|failed| failed.into_py(py)),
                Ok(Err(panic)) => return Err(panic.into_py(py)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(
                        Failure::Panic("the thread that forwards is gone".into()).into_py(py)
                    );
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(signal) = py.check_signals() {
                stop.store(true, Ordering::Release);
                interrupted = Some(signal);
            }
        }
    }

    enum Failed {
        Live(LiveError),
        Results(afflux_results::ResultsError),
    }

    impl Failed {
        fn into_py(self, py: Python<'_>) -> PyErr {
            match self {
                Failed::Live(LiveError::Wrong(message)) => PyValueError::new_err(message),
                Failed::Live(error) => RunError::new_err(error.to_string()),
                Failed::Results(error) => Failure::Results(error).into_py(py),
            }
        }
    }

    fn work(
        scenario: Arc<afflux_scenario::Scenario>,
        options: &Options,
        stop: &AtomicBool,
        out: Option<PathBuf>,
        force: bool,
    ) -> std::result::Result<String, Failed> {
        let started = ProcessStart::now();
        let claim = out
            .map(|dir| afflux_results::claim(&dir, Replace::forced(force)))
            .transpose()
            .map_err(Failed::Results)?;
        let control = Control { stop, say: &|line: &str| eprintln!("{line}") };
        let finished = afflux_live::run(&scenario, options, &control).map_err(Failed::Live)?;
        let report = finished.report.to_json();
        if let Some(claim) = claim {
            let driven = afflux_scenario::Scenario {
                plan: finished.plan,
                notes: finished.report.notes.clone(),
                ..(*scenario).clone()
            };
            let further = [("live.json", report.as_bytes())];
            afflux_results::write_with(
                claim,
                &driven,
                &finished.output,
                started,
                &afflux_net::Progress::default(),
                &further,
            )
            .map_err(Failed::Results)?;
        }
        Ok(report)
    }

    pub fn capabilities() -> PyResult<Vec<Row>> {
        let all = afflux_live::capabilities();
        Ok(all
            .into_iter()
            .map(|c| {
                (c.name.into(), c.needed_for.into(), c.required, c.present.err(), c.how.into())
            })
            .collect())
    }
}
