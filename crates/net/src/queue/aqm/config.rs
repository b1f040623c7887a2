//! What disciplines are set to.

use crate::spec;

/// A queue discipline that drops or marks by delay, or serves and drops by urgency.
#[derive(Debug, Clone, PartialEq)]
pub enum Config {
    Codel(spec::Codel),
    FqCodel(spec::FqCodel),
    Pie(spec::Pie),
    /// The most urgent flow first; the least urgent frame is dropped where this limit is reached. The buffer has none then.
    Pfabric(Option<spec::Limit>),
    /// Marks by a counter that empties more slowly than the link.
    Phantom(spec::Phantom),
}
