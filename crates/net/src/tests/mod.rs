//! The engine against itself and against closed forms.

mod determinism;
mod lone_flow;
