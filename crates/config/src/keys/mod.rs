//! Tables of keys. Each key is declared once, with its documentation, default, and range or check.
//! The declaration generates the table as written (with its JSON Schema), the resolved table, and
//! the conversion from the first to the second.

mod check;
mod declaration;
mod described;
mod quantity;
#[cfg(test)]
mod tests;
mod written;

pub use check::{
    Ranged, SHORTEST_PERIOD, above_zero, at_most_160_h, at_most_a_day, at_most_a_second, checked,
    meaningless, time_within, timer_period, together, up_to_a_day, up_to_a_second, within,
};
pub use described::{Described, describe};
pub use quantity::{Nested, Quantity, nested};
pub use written::{Written, fill, read_table, written};
