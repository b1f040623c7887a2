//! Asking for memory ahead of its use.

/// Starts loading `items[index]` (its first cache lines, `LINES` of them) without waiting for it. Does nothing out of bounds or on
/// processors it does not know.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<const LINES: usize, T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < items.len() {
        for line in 0..LINES {
            // SAFETY: a prefetch never faults, whatever the address; the pointer is not dereferenced.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().wrapping_add(index).cast::<i8>().wrapping_add(64 * line));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}
