//! Tests that the scenarios in `examples/` are valid.

use crate::common::{NoParquet, folder};
use afflux_scenario::{Overrides, load};
use std::path::Path;

#[test]
fn every_example_is_valid() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let trace = folder("examples").join("trace.txt");
    std::fs::write(&trace, "150 2\n1 0 1 22 1 65:1.0\n2 10833 2 104 132 1 140:48.0\n").unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let mut overrides = Overrides::default();
        if path.ends_with("coflows.toml") {
            overrides.set.push(("traffic[0].file".into(), trace.to_str().unwrap().into()));
        }
        let scenario =
            load(&path, &overrides, &NoParquet).unwrap_or_else(|error| panic!("{error}"));
        assert!(!scenario.plan.flows.is_empty(), "{}", path.display());
        assert_eq!(Some(scenario.name.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
        seen += 1;
    }
    assert!(seen >= 5);
}
