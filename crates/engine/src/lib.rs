//! Event queues, partitions and random streams. Knows no networking.

pub mod random;
