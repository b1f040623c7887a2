//! Prefetching of memory into the processor cache.

/// Starts loading the first `LINES` cache lines of `items[index]` without waiting for them. Does
/// nothing if `index` is out of bounds or the processor is not an x86-64.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<const LINES: usize, T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < items.len() {
        for line in 0..LINES {
            // SAFETY: a prefetch never faults, whatever the address; the pointer is not dereferenced.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(
                    items.as_ptr().wrapping_add(index).cast::<i8>().wrapping_add(64 * line),
                );
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}
