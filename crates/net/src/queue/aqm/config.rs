//! What disciplines are set to.

use crate::spec;
use afflux_config::tree::Wrong;
use afflux_config::{Size, keys};
use afflux_units::Bytes;

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
    /// Cuts data to headers where they find their queue full. The buffer has no limit then.
    Trim(TrimConfig),
}

keys! {
    /// Each queue of a port is two: data that find theirs full are cut to headers, which go first, with answers. Instead of `buffer`, `ecn` and `aqm`.
    pub struct TrimKeys as "Trimming" => TrimConfig(frame: u16) {
        /// Most bytes of data, the frame in transmission among them.
        data: Size as u64 = (Size(Bytes(8 * u64::from(frame)))) "8 full frames, as in the paper", check |Size(Bytes(bytes)), at| match bytes {
            0 => Err(Wrong::at(at, "\"0B\": a queue of size 0 holds nothing: write a size above 0")),
            bytes => Ok(bytes),
        };
        /// Most bytes of headers and answers. What does not fit is dropped.
        headers: Size as u64 = (Size(Bytes(data.saturating_mul(2)))) "twice `data`, as in htsim; the paper has as much as for data",
            check |Size(Bytes(bytes)), _| Ok(bytes);
        /// Size of a header.
        header: Size as u16 = "64B" from "htsim; 206 B on some switches with SONiC", check |size, at| match size {
            Size(Bytes(bytes @ 1..=1_000)) => Ok(bytes as u16),
            Size(bytes) => Err(Wrong::at(at, format!("\"{bytes}\": write a size from 1B to 1000B"))),
        };
    }
}
