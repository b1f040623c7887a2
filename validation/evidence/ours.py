"""Repeats runs of a reference in afflux, seed by seed, with unchanged or changed settings: `python
-m validation.evidence.ours PATTERN -o FILE`.

    python -m validation.evidence.ours conweave.micro_incast16 -n 40 -o validation/evidence/conweave-incast16-ours.csv
    python -m validation.evidence.ours linux.b_datacentre/b_cubic_red30k_n2 -n 5 -o … --set "no HyStart" --key host.transport.cubic.hystart=off

PATTERN is the beginning of "set.file/run", at least the set and a dot. The repetitions are those of
`make validate` (another start within a packet time, other draws, another seed), but their number
can be chosen. Rows are appended to FILE: one for each metric with a tolerance, repetition and
setting.
"""

import argparse
import copy
import csv
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..bars import Bars
from ..case import measure
from ..run import REF, cases_of

COLUMNS = ("run", "setting", "metric", "theirs", "repetition", "ours")


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    folder = options.ref / options.pattern.partition(".")[0]
    if not folder.is_dir():
        print(
            f"{options.pattern!r} does not begin with the name of a reference and a dot",
            file=sys.stderr,
        )
        return 2
    bars = more(Bars.read(options.ref / "bars.toml"), options.number)
    chosen = [
        case
        for case in cases_of(folder, bars)
        if f"{case.reference}/{case.run}".startswith(options.pattern) and case.bars
    ]
    if not chosen:
        print(f"no run with a bar has {options.pattern!r} in its set.file/run", file=sys.stderr)
        return 2
    keys = dict(key.split("=", 1) for key in options.key)
    new = not options.out.exists()
    done: dict[str, dict[str, float]] = {}
    with options.out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for case in chosen:
            for repetition, setup in enumerate(case.setups, 1):
                changed = replace(setup, scenario=with_keys(setup.scenario, keys))
                if changed.key not in done:
                    found = measure((changed, options.limit, False))
                    if found.error:
                        print(
                            f"{case.run}, repetition {repetition}: {found.error}", file=sys.stderr
                        )
                    done[changed.key] = found.values
                for metric in options.metric or case.bars:
                    if metric in done[changed.key]:
                        run = f"{case.reference}/{case.run}"
                        writer.writerow(
                            (
                                run,
                                options.set,
                                metric,
                                short(case.theirs.get(metric)),
                                repetition,
                                short(done[changed.key][metric]),
                            )
                        )
                file.flush()
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m validation.evidence.ours",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pattern")
    parser.add_argument("-n", "--number", type=int, default=11, help="repetitions")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--ref", type=Path, default=REF)
    parser.add_argument(
        "--set", default="as it is", help="what the changed setting is called in the file"
    )
    parser.add_argument("--key", action="append", default=[], help="key=value of the scenario")
    parser.add_argument("--metric", action="append", default=[], help="instead of those with a bar")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each simulation")
    return parser.parse_args(arguments)


def more(bars: Bars, number: int) -> Bars:
    """Returns the tolerances with `number` repetitions of everything."""
    table: dict[str, Any] = {}
    for reference, section in bars.table.items():
        files = {
            name: {**value, "repetitions": number} if bars.is_file(reference, name) else value
            for name, value in section.items()
        }
        table[reference] = {**files, "repetitions": number}
    return Bars(table)


def with_keys(scenario: dict[str, Any], keys: dict[str, str]) -> dict[str, Any]:
    """Applies keys such as `switch.override.0.ecn.kmin=…`. A number is set as a number, and `none`
    removes the key."""
    if not keys:
        return scenario
    changed = copy.deepcopy(scenario)
    for key, text in keys.items():
        *path, last = key.split(".")
        place: Any = changed
        for name in path:
            place = place[int(name)] if isinstance(place, list) else place.setdefault(name, {})
        if text == "none":
            place.pop(last, None)
        else:
            try:
                place[last] = json.loads(text)
            except ValueError:
                place[last] = text
    return changed


def short(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


if __name__ == "__main__":
    sys.exit(main())
