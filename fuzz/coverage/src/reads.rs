//! Coverage-guided fuzzer of the readers. One program contains all readers, so it is linked once.
//! `AFFLUX_FUZZ_TARGET` selects the reader.
#![no_main]

use afflux_fuzz::parsers::{TARGETS, Target, target};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

fn chosen() -> Target {
    static CHOSEN: OnceLock<Target> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var("AFFLUX_FUZZ_TARGET").unwrap_or_default();
        target(&name).unwrap_or_else(|| {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            eprintln!("AFFLUX_FUZZ_TARGET is {name:?}; it must be one of {}", names.join(", "));
            std::process::exit(2);
        })
    })
}

fuzz_target!(|bytes: &[u8]| (chosen().run)(bytes));
