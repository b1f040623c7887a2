//! Tests the headroom: the minimum found by worst-case alignment equals the closed form and never
//! exceeds `"worst_case"`.

#[path = "../../examples/headroom/experiment.rs"]
mod experiment;

use crate::spec::Formula;
use afflux_units::Rate;
use experiment::Case;

const RATES: [u64; 7] = [10, 25, 40, 50, 100, 200, 400];
const CABLES: [f64; 3] = [5.0, 40.0, 300.0];

#[test]
fn smallest_safe_headroom() {
    for gbps in RATES {
        for metres in CABLES {
            for (frame, cell) in [
                (64, Some(256)),
                (1_518, None),
                (1_518, Some(256)),
                (9_118, None),
                (9_118, Some(256)),
            ] {
                let case = Case {
                    rate: Rate::from_gbps(gbps),
                    metres,
                    frame,
                    blocking: frame.max(1_518),
                    cell,
                };
                let needed = case.smallest_safe();
                assert_eq!(needed, case.closed_form(), "{case:?}");
                assert_eq!(case.lost(needed * case.charge(), 0), 0, "{case:?}");
                assert!(case.lost((needed - 1) * case.charge(), 0) > 0, "{case:?}");
            }
        }
    }
}

/// Compares with the closed form, which the simulation above confirms, for all frame lengths, in
/// bytes and in cells.
#[test]
fn the_worst_case_covers_all_frames() {
    for gbps in RATES {
        for metres in CABLES {
            for cell in [None, Some(80), Some(208), Some(256), Some(512)] {
                let mut largest = 0;
                for frame in 64..=9_216 {
                    let case =
                        Case { rate: Rate::from_gbps(gbps), metres, frame, blocking: 9_216, cell };
                    let needed = case.closed_form() * case.charge();
                    assert!(case.formula(Formula::WorstCase) >= needed, "{case:?}: {needed}");
                    largest = largest.max(needed);
                }
                // Frames of different lengths may follow each other: a short frame sets the rate,
                // with long frames at both ends. `"worst_case"` adds no more than that.
                let case = Case {
                    rate: Rate::from_gbps(gbps),
                    metres,
                    frame: 9_216,
                    blocking: 9_216,
                    cell,
                };
                assert!(
                    case.formula(Formula::WorstCase) <= largest + 2 * case.charge(),
                    "{case:?}: {largest}"
                );
            }
        }
    }
}

/// SONiC's formula assumes cells. If bytes are counted, it does not allow for two jumbo frames.
/// With cells, it does not allow for traffic of short frames only (docs/headroom.md).
#[test]
fn sonic_covers_full_frames() {
    for gbps in RATES {
        for metres in CABLES {
            for (frame, cell) in [(1_518, None), (1_518, Some(256)), (9_118, Some(256))] {
                let case =
                    Case { rate: Rate::from_gbps(gbps), metres, frame, blocking: frame, cell };
                assert!(
                    case.formula(Formula::Sonic) >= case.closed_form() * case.charge(),
                    "{case:?}"
                );
            }
        }
    }
}

/// Speeds and cables of the specification's table, in units of 100 B.
#[test]
fn sonic_formula() {
    let xoff = |gbps, metres| {
        Case { rate: Rate::from_gbps(gbps), metres, frame: 1_024, blocking: 9_100, cell: Some(256) }
            .formula(Formula::Sonic)
    };
    assert_eq!([xoff(25, 5.0), xoff(25, 40.0), xoff(25, 300.0)], [39_936, 41_984, 62_464]);
    assert_eq!(
        [xoff(100, 5.0), xoff(100, 40.0), xoff(100, 300.0)].map(|bytes| (bytes + 500) / 1_000),
        [91, 101, 182]
    );
    assert_eq!(
        [xoff(400, 5.0), xoff(400, 40.0), xoff(400, 300.0)].map(|bytes| (bytes + 500) / 1_000),
        [177, 220, 541]
    );
}
