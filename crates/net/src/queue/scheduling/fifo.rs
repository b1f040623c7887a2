//! FIFO scheduling: one queue, first in, first out.

use super::about::{About, Served};
use crate::Model;

pub const ABOUT: About = About { model: MODEL, served: Served::One };

const MODEL: Model = Model {
    kind: "scheduling",
    name: "fifo",
    source: "–",
    faithful: "first in, first out per port",
    simplified: "–",
};
