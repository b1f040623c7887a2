//! The engine against itself and against closed forms.

mod aqm;
mod closed_forms;
mod determinism;
mod extremes;
mod lone_flow;
mod properties;
mod tcp_cases;
mod traces;
