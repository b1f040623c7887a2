//! The kinds of buffer memory, and checks of shares of it.

use afflux_config::tree::{Key, Wrong};
use afflux_config::{Size, words};
use afflux_units::Bytes;

words! {
    /// Rules by which queues share the buffer.
    pub enum Sharing {
        /// Every queue has its own limit.
        Static,
        /// One memory with a dynamic threshold.
        Dynamic,
        /// Virtual output queues in on-chip memory and DRAM: a deep-buffer switch, see `voq`.
        Voq,
        /// A queue has no limit, so no frame is dropped for lack of memory.
        Unlimited,
        /// One memory with ingress and egress accounting, as in real switches, configured in
        /// SONiC's terms: see `mmu` and `pfc`.
        Sonic,
        /// One memory with ingress and egress accounting as in ConWeave's ns-3.
        Conweave,
        /// One memory with ingress accounting as in HPCC's ns-3.
        Hpcc,
    }
}

impl Sharing {
    /// Returns the key and value that select this kind of memory, for messages.
    pub fn word(self) -> &'static str {
        match self {
            Sharing::Static => "sharing = \"static\"",
            Sharing::Dynamic => "sharing = \"dynamic\"",
            Sharing::Voq => "sharing = \"voq\"",
            Sharing::Unlimited => "sharing = \"unlimited\"",
            Sharing::Sonic => "sharing = \"sonic\"",
            Sharing::Conweave => "sharing = \"conweave\"",
            Sharing::Hpcc => "sharing = \"hpcc\"",
        }
    }
}

impl Sharing {
    /// Returns the usual size of the whole buffer, alpha, and reserved bytes. `None`: the key has no
    /// effect with this kind of memory.
    pub fn usual(self) -> (Option<u64>, Option<f64>, Option<u64>) {
        match self {
            Sharing::Dynamic => (Some(32_000_000), Some(1.0), Some(0)),
            Sharing::Sonic => (Some(32_000_000), Some(8.0), Some(1_792)),
            Sharing::Conweave => (Some(9 << 20), Some(1.0), None),
            Sharing::Hpcc => (Some(32 << 20), None, Some(4_096)),
            Sharing::Static | Sharing::Voq | Sharing::Unlimited => (None, None, None),
        }
    }

    /// True for a memory management unit.
    pub fn is_managed(self) -> bool {
        matches!(self, Sharing::Sonic | Sharing::Conweave | Sharing::Hpcc)
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
pub fn checked_reserve(Size(reserved): Size, total: u64, key: Key) -> Result<u64, Wrong> {
    if reserved.0 > total {
        return Err(Wrong::at(
            key,
            format!("\"{reserved}\" is more than the whole buffer of {}", Bytes(total)),
        ));
    }
    Ok(reserved.0)
}
