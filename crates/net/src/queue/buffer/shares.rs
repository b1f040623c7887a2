//! Checks of shares of a buffer.

use afflux_config::Size;
use afflux_config::tree::{Key, Wrong};
use afflux_units::Bytes;

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
pub fn checked_reserve(Size(reserved): Size, total: u64, key: Key) -> Result<u64, Wrong> {
    if reserved.0 > total {
        return Err(Wrong::at(
            key,
            format!("\"{reserved}\" is more than the whole buffer of {}", Bytes(total)),
        ));
    }
    Ok(reserved.0)
}
