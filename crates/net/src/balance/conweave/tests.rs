//! Tests of the rules of ConWeave's parts.

mod weave;

use super::*;
use afflux_units::Span;
use std::cmp::Ordering::*;

pub fn config(ns3: bool) -> ConweaveConfig {
    ConweaveConfig {
        reply_extra: Span::from_us(4),
        path_busy: Span::from_us(16),
        inactive: Span::from_us(300),
        flush_extra: Span::from_us(16),
        default_wait: Span::from_us(200),
        age: Span::from_us(2_000),
        reorder_queues: 24,
        reorder_memory: if ns3 { ReorderMemory::Unbounded } else { ReorderMemory::Shared },
        ns3,
    }
}

#[test]
fn two_bits_of_epoch() {
    let rules = Rules::new(&config(false));
    for register in 0..4 {
        assert_eq!(rules.compare(register, register), Equal);
        assert_eq!(rules.compare((register + 1) & 3, register), Greater);
        assert_eq!(rules.compare((register + 2) & 3, register), Greater);
        assert_eq!(rules.compare((register + 3) & 3, register), Less);
    }
}

#[test]
fn epochs_without_end() {
    let rules = Rules::new(&config(true));
    assert_eq!(rules.compare(7, 7), Equal);
    assert_eq!(rules.compare(1_000_007, 7), Greater);
    assert_eq!(rules.compare(6, 7), Less);
    assert_eq!(rules.compare(1, 1_000_000), Less);
}
