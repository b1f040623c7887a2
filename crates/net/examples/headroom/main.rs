//! Prints the table of docs/headroom.md: `cargo run --release -p afflux-net --example headroom`.

mod experiment;

use afflux_net::spec::Formula;
use afflux_units::Rate;
use experiment::Case;

fn main() {
    println!(
        "| rate | cable | frame | H*, simulated | H*, closed form | (a) sonic | (b) mellanox | (c) conweave | hpcc | tub | worst_case |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (frame, blocking, cell) in [
        (1_518, 1_518, None),
        (1_518, 9_118, Some(256)),
        (9_118, 9_118, None),
        (9_118, 9_118, Some(256)),
        (64, 9_118, Some(256)),
    ] {
        for gbps in [10, 25, 40, 50, 100, 200, 400] {
            for metres in [5.0, 40.0, 100.0, 300.0] {
                let case = Case { rate: Rate::from_gbps(gbps), metres, frame, blocking, cell };
                let (needed, expected) =
                    (case.smallest_safe() * case.charge(), case.closed_form() * case.charge());
                let formulas = [
                    Formula::Sonic,
                    Formula::Mellanox,
                    Formula::Conweave,
                    Formula::Hpcc,
                    Formula::Tub,
                    Formula::WorstCase,
                ]
                .map(|formula| {
                    let bytes = case.formula(formula);
                    format!("{bytes}{}", if bytes < needed { " (short)" } else { "" })
                });
                let cells = cell.map_or(String::new(), |cell: u16| format!(", cells of {cell} B"));
                println!(
                    "| {gbps}G | {metres} m | {frame} B{cells} | {needed} | {expected} | {} |",
                    formulas.join(" | ")
                );
            }
        }
    }
}
