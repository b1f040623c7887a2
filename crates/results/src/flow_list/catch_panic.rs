//! Panics of a library that are taken for an answer, and not printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// The value that `work` returns; `None` if it panics. Nothing of `work` may be used after a panic.
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
