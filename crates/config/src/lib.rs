//! What a model needs to declare its keys: the tree of a scenario with its lines, quantities, choices, tables of keys and error texts. Knows no
//! networking.

extern crate self as afflux_config;

mod choice;
mod form;
pub mod keys;
mod quantity;
pub mod spelling;
mod table;
pub mod tree;

pub use choice::{Auto, Kind, Names, Off, Or, Refusal, Tagged, Unlimited, Word, merged, name_or_table};
pub use quantity::{Between, Chance, Duration, Size, Speed};
pub use {schemars, serde};
