"""The runs that the claims table rests on, into results/runs.csv, and the tables of README.md.

python -m afflux.studies.conweave                  # simulates what is missing of all parts
python -m afflux.studies.conweave select judge     # of these parts
python -m afflux.studies.conweave --list           # lists it without simulating
python -m afflux.studies.conweave --tables         # prints the tables
"""

import argparse

from . import tables
from .cases import FABRICS
from .runs import Run, missing, read, simulate, write
from .sensitivity import PARTS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m afflux.studies.conweave", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one or more of {', '.join(PARTS)}; without, all")
    parser.add_argument("--fabric", choices=FABRICS, help="only the cases on this fabric")
    parser.add_argument("--seed", type=int, action="append", help="only runs with this seed; may be repeated")
    parser.add_argument("--list", action="store_true", help="list the missing runs")
    parser.add_argument("--tables", action="store_true", help="print the tables of the runs that are there")
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in PARTS]:
        parser.error(f"{unknown[0]!r} is no part: write one or more of {', '.join(PARTS)}")
    if arguments.tables:
        print(tables.every(read()))
        return

    def wanted(run: Run) -> bool:
        return arguments.fabric in (None, run.case.fabric) and (not arguments.seed or run.seed in arguments.seed)

    for part in arguments.parts or PARTS:
        # Which runs a part wants may depend on those before.
        while todo := [run for run in missing(PARTS[part](read()), read()) if wanted(run)]:
            if arguments.list:
                print(*todo, sep="\n")
                break
            for run in todo:
                measured = simulate(run)
                write(run, measured)
                print(f"{run}: {measured.all_mean:.3f} and {measured.all_p99:.3f}", flush=True)


if __name__ == "__main__":
    main()
