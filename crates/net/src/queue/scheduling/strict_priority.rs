//! Strict priority scheduling: the highest priority first.

use super::about::{About, Served};
use crate::Model;

pub const ABOUT: About = About { model: MODEL, served: Served::Priorities };

const MODEL: Model = Model {
    kind: "scheduling",
    name: "strict_priority",
    source: "IEEE 802.1Q strict priority transmission selection",
    faithful: "2 to 8 queues, highest first, FIFO within; not pre-emptive: a frame in transmission is finished",
    simplified: "–",
};
