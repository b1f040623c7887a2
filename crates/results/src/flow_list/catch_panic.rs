//! Calls into a library whose panics count as an answer and are not printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Returns the result of `work`, or `None` if it panics. After a panic, no data of `work` may be
/// used.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !SILENT.get() {
                before(info);
            }
        }));
    });
    let was = SILENT.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    SILENT.set(was);
    outcome.ok()
}
