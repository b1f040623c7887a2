//! `[host.python]`: puts a placeholder for a congestion control in Python into the plan. The caller
//! that runs the plan provides the class.

use crate::document::{Host, Parameter, PythonClass};
use crate::inputs::Inputs;
use crate::validate::transport::Transports;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{CongestionControl, TransportConfig};
use afflux_net::{Algorithm, Factory, Foreign};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A congestion-control class in a Python file.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnCongestion {
    pub path: PathBuf,
    pub text: String,
    /// Name of the class; `None` for the only one in the file.
    pub class: Option<String>,
    pub parameters: BTreeMap<String, Parameter>,
}

impl OwnCongestion {
    pub fn note(&self) -> String {
        let name = self.class.as_ref().map_or_else(String::new, |class| format!("{class} of "));
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!(
            "the congestion control is a Python class ({name}{file}): the result repeats only as far as the class does"
        )
    }
}

/// Placeholder for the class in a plan. It panics if it is run.
#[derive(Debug)]
struct Absent;

impl Factory for Absent {
    fn make(&self, _: u32, _: u32) -> Box<dyn Algorithm> {
        panic!(
            "a congestion control in Python runs only from Python: `afflux run` or `Scenario.run`"
        );
    }
}

/// Puts the placeholder into the transports that `transports` names, or into all transports that
/// can have any congestion control.
pub fn bind(
    host: &mut Host,
    transports: &mut Transports,
    inputs: &Inputs,
) -> Result<Option<OwnCongestion>, Wrong> {
    let Some(python) = &mut host.python else { return Ok(None) };
    let key = Key::from("host.python");
    let PythonClass { class, transports: named, parameters, .. } = python.resolve(&key)?;
    let at = key.clone().name("file");
    let file = python.file.as_mut().expect("required");
    let (path, bytes) = inputs.read(file, &mut python.sha256, &at)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Wrong::input(at, &path, None, "is not UTF-8 text".to_string()))?;
    let place_holder = || CongestionControl::External(Foreign(Arc::new(Absent)));
    let mut used = false;
    if let Some(names) = named {
        for (place, name) in names.iter().enumerate() {
            let at = key.clone().name("transports").index(place);
            let index = transports.find(name, at.clone())?;
            let Some(config) = transports.configs[usize::from(index)].own_window() else {
                return Err(Wrong::at(
                    at,
                    format!(
                        "the transport \"{name}\" cannot use the class: {}",
                        TransportConfig::OWN_WINDOW
                    ),
                ));
            };
            config.congestion = place_holder();
            used = true;
        }
    } else {
        for config in transports.configs.iter_mut().filter_map(TransportConfig::own_window) {
            config.congestion = place_holder();
            used = true;
        }
    }
    if !used {
        return Err(Wrong::at(
            key,
            format!("no transport of this scenario can use it: {}", TransportConfig::OWN_WINDOW),
        ));
    }
    Ok(Some(OwnCongestion { path, text, class, parameters: parameters.unwrap_or_default() }))
}
