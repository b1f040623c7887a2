//! Declaration of a model's keys: the tree of a scenario with line numbers, quantities, choices,
//! tables of keys and error texts. This crate does not know about networks.

extern crate self as afflux_config;

mod choice;
mod form;
pub mod keys;
mod or;
mod quantity;
mod refusal;
pub mod spelling;
mod table;
pub mod tree;

pub use choice::{Kind, Names, Tagged, merged, name_or_table};
pub use or::{Auto, Off, Or, Unlimited, Word};
pub use quantity::{Between, Chance, Duration, Size, Speed};
pub use refusal::Refusal;
pub use {schemars, serde};
