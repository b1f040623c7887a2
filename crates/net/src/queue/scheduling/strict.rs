//! Strict priority.

use crate::Model;

pub const MODEL: Model = Model {
    kind: "scheduling",
    name: "strict_priority",
    source: "IEEE 802.1Q strict priority transmission selection",
    faithful: "2 to 8 queues, highest first, FIFO within; not pre-emptive: a frame in transmission is finished",
    simplified: "–",
};
