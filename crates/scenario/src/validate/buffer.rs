//! Checks that several kinds of buffer memory share: alpha, reserved memory, and the kind's name in
//! messages.

use crate::document::Sharing;
use afflux_config::tree::{Key, Wrong};
use afflux_units::Bytes;

/// Returns the key and value that select this kind of memory, for messages.
pub fn sharing_word(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Static => "sharing = \"static\"",
        Sharing::Dynamic => "sharing = \"dynamic\"",
        Sharing::Voq => "sharing = \"voq\"",
        Sharing::Unlimited => "sharing = \"unlimited\"",
        Sharing::Sonic => "sharing = \"sonic\"",
        Sharing::Conweave => "sharing = \"conweave\"",
        Sharing::Hpcc => "sharing = \"hpcc\"",
    }
}

/// Checks a factor of a dynamic threshold: above 0, up to 1024. Real switches have powers of two.
pub fn checked_alpha(alpha: f64, key: Key) -> Result<f64, Wrong> {
    if !(alpha > 0.0 && alpha <= 1024.0) {
        return Err(Wrong::at(
            key,
            format!(
                "found {alpha}: write a number above 0, up to 1024 (switches have powers of two from 1/128 to 8)"
            ),
        ));
    }
    Ok(alpha)
}

/// Checks reserved memory, which must fit into the whole buffer of `total` bytes.
pub fn checked_reserve(reserved: u64, total: u64, key: Key) -> Result<u64, Wrong> {
    if reserved > total {
        return Err(Wrong::at(
            key,
            format!("\"{}\" is more than the whole buffer of {}", Bytes(reserved), Bytes(total)),
        ));
    }
    Ok(reserved)
}
