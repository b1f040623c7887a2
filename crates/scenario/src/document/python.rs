//! `[host.python]`: a congestion control written in Python.

use afflux_config::keys;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

keys! {
    /// A class in a Python file, which replaces `congestion` of TCP and of Multipath TCP with
    /// `coupling = "off"`: in every transport of the scenario, or in the transports that
    /// `transports` names. ECN and the initial window still follow `congestion`. The class is slow
    /// (about 10 us for each acknowledgement) and runs on one thread.
    pub struct Python as "Python" => PythonClass {
        /// The Python file. A relative path starts at the scenario's directory.
        file: String = required;
        /// SHA-256 of the file, hexadecimal: another content is refused. Default: the digest of the
        /// file that is found.
        sha256: String = none;
        /// Name of the class, which derives from `afflux.CongestionControl`. Default: the only such
        /// class in the file.
        class: String = none;
        /// Names of the transports whose connections use the class: names of
        /// `[host.transports.NAME]`, and `"default"` for `[host.transport]`. The others keep their
        /// `congestion`. Default: all.
        transports: Vec<String> = none;
        /// Keyword arguments with which the class is called for each connection, as in
        /// `{ increase = 2.0 }`. Default: none: it is called without arguments.
        parameters: BTreeMap<String, Parameter> = none;
    }
}

/// A number, a string, or true or false.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "write a number, a string, true or false")]
pub enum Parameter {
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}
