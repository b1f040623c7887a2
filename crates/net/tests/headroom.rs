//! Headroom: as much as the closed form says, found by worst-case alignment, and never more than SONiC's formula gives.

#[path = "../examples/headroom/experiment.rs"]
mod experiment;

use afflux_net::spec::Formula;
use afflux_units::Rate;
use experiment::Case;

#[test]
fn smallest_safe_headroom() {
    for gbps in [10, 25, 40, 50, 100, 200, 400] {
        for metres in [5.0, 40.0, 300.0] {
            for (frame, cell) in [(1_518, None), (1_518, Some(256)), (9_118, None), (9_118, Some(256))] {
                let case = Case { rate: Rate::from_gbps(gbps), metres, frame, blocking: frame, cell };
                let needed = case.smallest_safe();
                assert_eq!(needed, case.closed_form(), "{case:?}");
                assert_eq!(case.lost(needed * case.charge(), 0), 0, "{case:?}");
                assert!(case.lost((needed - 1) * case.charge(), 0) > 0, "{case:?}");
                // The formula is made for cells; where bytes are counted it does not allow for two jumbo frames.
                if cell.is_some() || frame < 9_000 {
                    assert!(case.formula(Formula::Sonic) >= needed * case.charge(), "{case:?}");
                }
            }
        }
    }
}

/// Speed and cable of the specification's table, in units of 100 B.
#[test]
fn sonic_formula() {
    let xoff = |gbps, metres| Case { rate: Rate::from_gbps(gbps), metres, frame: 1_024, blocking: 9_100, cell: Some(256) }.formula(Formula::Sonic);
    assert_eq!([xoff(25, 5.0), xoff(25, 40.0), xoff(25, 300.0)], [39_936, 41_984, 62_464]);
    assert_eq!([xoff(100, 5.0), xoff(100, 40.0), xoff(100, 300.0)].map(|bytes| (bytes + 500) / 1_000), [91, 101, 182]);
    assert_eq!([xoff(400, 5.0), xoff(400, 40.0), xoff(400, 300.0)].map(|bytes| (bytes + 500) / 1_000), [177, 220, 541]);
}
