//! The engine against itself and against closed forms.

mod applications;
mod aqm;
mod balance;
mod closed_forms;
mod closed_forms_tcp;
mod conweave;
mod determinism;
mod extremes;
mod hull;
mod lone_flow;
mod lossless;
mod mptcp;
mod nack;
mod path;
mod pfabric;
mod properties;
mod queues;
mod rated;
mod rdma;
mod tcp_cases;
mod traces;
mod traces_control;
mod traces_ends;
mod traces_linux;
mod voq;
