//! Tests the engines against each other and against closed forms.

/// Tests of equal shares of the same cases, which thus share the cores.
macro_rules! parts {
    ($test:ident: $($name:ident $part:literal)*) => {
        $(
            #[test]
            fn $name() {
                $test($part);
            }
        )*
    };
}

mod applications;
mod aqm;
mod balance;
mod closed_forms;
mod closed_forms_tcp;
mod conweave;
mod determinism;
mod ended;
mod explain;
mod external;
mod extremes;
mod guests;
mod headroom;
mod hull;
mod limit;
mod links;
mod lone_flow;
mod lossless;
mod mptcp;
mod nack;
mod ndp;
mod outside;
mod path;
mod pfabric;
mod properties;
mod qdisc;
mod queues;
mod rated;
mod rdma;
mod relay;
mod scenarios;
mod senders;
mod tcp_cases;
mod traces;
mod traces_control;
mod traces_ends;
mod traces_linux;
mod view;
mod voq;
