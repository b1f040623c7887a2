//! Transports: who sends what when.

pub mod datagram;
pub mod pfabric;
pub mod tcp;

use crate::Model;

pub const MODELS: &[Model] = &[tcp::MODEL, datagram::MODEL, pfabric::MODEL];
