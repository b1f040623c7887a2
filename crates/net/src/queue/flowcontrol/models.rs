//! Rows of `afflux models` for flow control.

use super::deadlock;
use crate::Model;

pub const MODELS: &[Model] = &[PFC, WATCHDOG, deadlock::MODEL];

const WATCHDOG: Model = Model {
    kind: "flow control",
    name: "watchdog",
    source: "SONiC's pfcwd",
    faithful: "detection, restoration and poll times; a queue that holds frames and was paused for the whole detection time is in a storm; actions drop \
               (queue and arrivals), forward (pauses ignored) and alert",
    simplified: "times are not multiplied by the number of ports; no BIG_RED_SWITCH",
};

const PFC: Model = Model {
    kind: "flow control",
    name: "pfc",
    source: "IEEE 802.1Qbb, 802.3 annex 31B",
    faithful: "PAUSE frames of 64 B with class vector and quanta overtake all queues but wait for the frame in transmission; they take effect after the \
               peer's response time and between frames; expiry, refresh, XON as time 0; if further classes change while a PAUSE frame waits, the same \
               frame carries them",
    simplified: "PAUSE frames are never lost, take no memory and no place in the receiver's queues; the response time is fixed",
};
