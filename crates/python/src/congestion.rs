//! Congestion control algorithms written in Python.

use afflux_net::spec::{CongestionControl, Pacing, Plan};
use afflux_net::{Algorithm, Factory, Foreign, Progress, Window};
use afflux_scenario::{OwnCongestion, Parameter};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};

/// Contents of an acknowledgement.
#[pyclass(frozen, get_all, module = "afflux._core")]
pub struct Ack {
    pub now_ns: f64,
    /// Round-trip time in ns of the newest acknowledged segment that was sent only once. `None` if
    /// there is none.
    pub rtt_ns: Option<f64>,
    /// Number of segments newly acknowledged in order.
    pub acked: u32,
    /// Number of segments newly known to have arrived.
    pub delivered: u32,
    /// True if the acknowledgement echoes an ECN mark.
    pub ece: bool,
    /// True if the window limited the sender and no loss recovery is in progress.
    pub may_grow: bool,
    /// Number of segments sent and not acknowledged in order.
    pub outstanding: u32,
    /// State of the sender: `open`, `reduced`, `recovery` or `loss`.
    pub state: &'static str,
}

/// First exception of a run, which ends the run.
#[derive(Debug, Default)]
pub struct Raised(Mutex<Option<PyErr>>);

impl Raised {
    fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
    }
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}

struct Shared {
    make: Py<PyAny>,
    raised: Arc<Raised>,
    progress: Arc<Progress>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Python")
    }
}

impl Shared {
    /// Runs `call`. An exception is stored and stops the run.
    fn guarded<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        Python::attach(|py| call(py).map_err(|error| self.failed(error)).ok())
    }
    fn failed(&self, error: PyErr) {
        self.raised.keep(error);
        self.progress.cancel();
    }
}

#[derive(Debug)]
struct Maker(Arc<Shared>);

impl Factory for Maker {
    fn make(&self, mss: u32, initial_window: u32) -> Box<dyn Algorithm> {
        let object = self.0.guarded(|py| {
            let object = self.0.make.call0(py)?;
            object.setattr(py, "mss", mss)?;
            object.setattr(py, "cwnd", initial_window)?;
            object.setattr(py, "ssthresh", f64::INFINITY)?;
            Ok(object)
        });
        Box::new(OfPython { object, shared: self.0.clone() })
    }
}

/// Python object with `cwnd` and `ssthresh` in segments. `None` if it could not be created.
#[derive(Debug)]
struct OfPython {
    object: Option<Py<PyAny>>,
    shared: Arc<Shared>,
}

/// Returns an attribute in whole segments. Algorithms compute it in floating point.
fn segments(py: Python<'_>, object: &Py<PyAny>, name: &str) -> PyResult<u32> {
    let value = object.getattr(py, name)?;
    let number: f64 = value.extract(py).map_err(|_| {
        PyTypeError::new_err(format!("{name} is {value}: expected a number of segments"))
    })?;
    if number.is_nan() || number < 0.0 {
        return Err(PyValueError::new_err(format!(
            "{name} is {number}: expected a number of segments, not negative"
        )));
    }
    // The conversion saturates at both ends.
    Ok(number as u32)
}

/// Writes the transport's changes of the window to the object. Unchanged values keep their
/// fractions.
fn show(py: Python<'_>, object: &Py<PyAny>, window: &Window) -> PyResult<()> {
    if segments(py, object, "cwnd")? != window.cwnd {
        object.setattr(py, "cwnd", window.cwnd)?;
    }
    if segments(py, object, "ssthresh")? != window.ssthresh {
        object.setattr(
            py,
            "ssthresh",
            if window.ssthresh == u32::MAX { f64::INFINITY } else { f64::from(window.ssthresh) },
        )?;
    }
    Ok(())
}

impl OfPython {
    /// Calls the method `name` with the time in ns, and returns the object's `ssthresh` afterwards.
    fn threshold(&self, name: &str, window: &Window, now: u64) -> u32 {
        let object = self.object.as_ref();
        let threshold = object.and_then(|object| {
            self.shared.guarded(|py| {
                show(py, object, window)?;
                object.call_method1(py, name, (now as f64 / 1e3,))?;
                segments(py, object, "ssthresh")
            })
        });
        threshold.unwrap_or(window.cwnd / 2)
    }
}

impl Algorithm for OfPython {
    fn on_ack(&mut self, window: &mut Window, ack: &afflux_net::Ack) {
        let Some(object) = &self.object else { return };
        let state = ack.state.word();
        let seen = Ack {
            now_ns: ack.now as f64 / 1e3,
            rtt_ns: (ack.rtt > 0).then_some(ack.rtt as f64 / 1e3),
            acked: ack.acked,
            delivered: ack.delivered,
            ece: ack.ece,
            may_grow: ack.may_grow,
            outstanding: ack.next - ack.una,
            state,
        };
        let wanted = self.shared.guarded(|py| {
            show(py, object, window)?;
            object.call_method1(py, "on_ack", (seen,))?;
            Ok((segments(py, object, "cwnd")?, segments(py, object, "ssthresh")?))
        });
        if let Some((cwnd, ssthresh)) = wanted {
            (window.cwnd, window.ssthresh) = (cwnd, ssthresh);
        }
    }
    fn on_loss(&mut self, window: &Window, now: u64) -> u32 {
        self.threshold("on_loss", window, now)
    }
    fn on_ecn(&mut self, window: &Window, now: u64) -> u32 {
        self.threshold("on_ecn", window, now)
    }
    fn on_timeout(&mut self, window: &Window, now: u64) -> u32 {
        self.threshold("on_timeout", window, now)
    }
    fn pacing_rate(&self) -> Option<u64> {
        let object = self.object.as_ref()?;
        let rate = self.shared.guarded(|py| {
            let rate: Option<f64> = object.call_method0(py, "pacing")?.extract(py)?;
            match rate {
                Some(rate) if rate.is_nan() || rate <= 0.0 => Err(PyValueError::new_err(format!(
                    "pacing() is {rate}: expected bits per second, more than 0, or None"
                ))),
                rate => Ok(rate),
            }
        });
        rate.flatten().map(|rate| (rate as u64).max(1))
    }
    fn copy(&self) -> Box<dyn Algorithm> {
        let copied = self.object.as_ref().and_then(|object| {
            self.shared
                .guarded(|py| Ok(py.import("copy")?.call_method1("deepcopy", (object,))?.unbind()))
        });
        Box::new(OfPython { object: copied, shared: self.shared.clone() })
    }
}

/// Returns a function without arguments that creates the class of `[host.python]`, and whether the
/// class sets a pacing rate.
pub fn named(py: Python<'_>, own: &OwnCongestion) -> PyResult<(Py<PyAny>, bool)> {
    let parameters = PyDict::new(py);
    for (name, value) in &own.parameters {
        match value {
            Parameter::Flag(value) => parameters.set_item(name, value)?,
            Parameter::Whole(value) => parameters.set_item(name, value)?,
            Parameter::Number(value) => parameters.set_item(name, value)?,
            Parameter::Text(value) => parameters.set_item(name, value)?,
        }
    }
    let module = py.import("afflux.congestion")?;
    module
        .call_method1("of_file", (&own.path, &own.text, own.class.as_deref(), parameters))?
        .extract()
}

/// Turns an exception of that class into an error with its file and line.
pub fn located(py: Python<'_>, own: &OwnCongestion, error: PyErr) -> PyErr {
    // The value includes the traceback, which names the line.
    let value = error.into_value(py);
    let made = py
        .import("afflux.congestion")
        .and_then(|module| module.call_method1("located", (&own.path, value)));
    made.map_or_else(|other| other, |made| PyErr::from_value(made))
}

/// Returns a plan, limited to one thread, whose connections use the congestion control that `make`
/// creates. `named`: only the connections that the scenario assigns to its class. `paced`: the
/// congestion control sets a pacing rate. `None` if no transport supports it.
pub fn with(
    plan: &Plan,
    make: Py<PyAny>,
    named: bool,
    paced: bool,
    progress: &Arc<Progress>,
) -> Option<(Plan, Arc<Raised>)> {
    let raised = Arc::new(Raised::default());
    let factory = Foreign(Arc::new(Maker(Arc::new(Shared {
        make,
        raised: raised.clone(),
        progress: progress.clone(),
    }))));
    let mut plan = plan.clone();
    plan.run.threads = 1;
    let mut any = false;
    for transport in &mut plan.transports {
        if let Some(tcp) = transport
            .own_window()
            .filter(|tcp| !named || matches!(tcp.congestion, CongestionControl::External(_)))
        {
            any = true;
            tcp.congestion = CongestionControl::External(factory.clone());
            if paced && tcp.pacing.is_none() {
                tcp.pacing =
                    Some(Pacing { most: None, slow_start_percent: 200, avoidance_percent: 120 });
            }
        }
    }
    any.then_some((plan, raised))
}
