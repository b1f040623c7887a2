"""Checks that results are byte-identical, by their hashes in benches/golden.json.

`python benches/golden.py` compares the hashes, `--write` renews the file. Run it before and after a
change that must not change results. List intended changes in the changelog.

Cases: every bench, every example, and the quick points of every study (one seed each of studies
with many points), cut short so that each has some hundred thousand packet-hops; and 350 random
scenarios of afflux-fuzz. Hashes: of the resolved scenario, of its results (flows), of its ports and
of its counters.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from afflux import Scenario, _core, studies
from afflux.files import toml

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "benches" / "golden.json"
HASHES = ("scenario_hash", "result_hash", "ports_hash", "counters_hash")
#: Number of packet-hops at which a case is cut off.
ENOUGH = 100_000
#: Number of quick points above which only the first seed of each design of a study is a case.
MANY = 110
#: Number of random scenarios by seed (from seed 1000 on with all features), and the most expected
#: packet-hops of a scenario.
RANDOM, LARGEST = {22: 200, 1022: 150}, 200_000

#: Name, path, text, changed keys, seed.
Case = tuple[str, Path, str, dict[str, Any], int | None]


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--write", action="store_true", help="renew golden.json")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments.add_argument("only", nargs="*", help="cases whose name contains one of these words")
    wanted = arguments.parse_args()
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    cases = [
        case
        for case in all_cases(wanted.only)
        if not wanted.only or any(word in case[0] for word in wanted.only)
    ]
    before = {} if wanted.write else golden
    with ProcessPoolExecutor(wanted.jobs) as pool:
        results = zip(
            cases, pool.map(examine, cases, [before.get(case[0]) for case in cases]), strict=True
        )
        found = {case[0]: result for case, result in results}
    # A case that cannot run here, such as an example whose trace must be fetched, is left out
    # unless it could run before.
    for name in [
        name for name, result in found.items() if "refused" in result and name not in before
    ]:
        print(f"left out: {name}: {found.pop(name)['refused']}")
    if wanted.write:
        if wanted.only:
            found |= {
                name: result
                for name, result in golden.items()
                if not any(word in name for word in wanted.only)
            }
        GOLDEN.write_text(
            "{\n"
            + ",\n".join(
                f"{json.dumps(name)}: {json.dumps(result)}"
                for name, result in sorted(found.items())
            )
            + "\n}\n"
        )
        print(
            f"{len(found)} cases written, {sum(result['packet_hops'] for result in found.values()):,} packet-hops"
        )
        return 0
    differing = [
        f"{name}: {differences(golden.get(name), result)}"
        for name, result in found.items()
        if golden.get(name) != result
    ]
    if not wanted.only:
        differing += [f"{name}: no longer there" for name in golden.keys() - found.keys()]
    print(*differing, sep="\n", end="\n" if differing else "")
    print(f"{len(found)} cases, {len(differing)} differ")
    return 1 if differing else 0


def differences(before: dict[str, Any] | None, now: dict[str, Any]) -> str:
    if before is None:
        return "new: renew golden.json with --write"
    return ", ".join(
        key for key in sorted(before.keys() | now.keys()) if before.get(key) != now.get(key)
    )


def all_cases(only: list[str]) -> Iterator[Case]:
    yield from written_cases()
    # Random cases need another program, which is built first.
    if not only or "random" in only:
        yield from random_cases()


def written_cases() -> Iterator[Case]:
    """Yields the benches, the examples and the quick points of all studies."""
    for folder in ("benches", "examples"):
        for path in sorted((ROOT / folder).glob("*.toml")):
            yield f"{folder}/{path.stem}", path, path.read_text(), {}, None
    for study in studies.built_in():
        points = study.points(quick=True)
        for point in (
            points
            if len(points) <= MANY
            else {point.name: point for point in reversed(points)}.values()
        ):
            text = (
                point.scenario.to_toml()
                if isinstance(point.scenario, Scenario)
                else Path(point.scenario).read_text()
            )
            yield (
                f"{study.name}: {point.name}, seed {point.seed}",
                point.path,
                text,
                dict(point.set),
                point.seed,
            )


def random_cases() -> Iterator[Case]:
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "afflux-fuzz"], cwd=ROOT, check=True
    )
    generator = ROOT / "target" / "release" / "afflux-fuzz"
    path = ROOT / "crates" / "fuzz" / "data" / "scenario.toml"
    for seed, count in RANDOM.items():
        taken = number = 0
        while taken < count:
            text = subprocess.run(
                [generator, "show", f"{seed}:{number}"], capture_output=True, text=True, check=True
            ).stdout
            number += 1
            try:
                expected = _core.parse(text, path, threads=1).expected()
            except _core.ScenarioError:
                continue
            if expected.packet_hops <= LARGEST:
                taken += 1
                yield f"random {seed}:{number - 1}", path, text, {}, None


def examine(case: Case, before: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the hashes of a case. It is cut at the same time as before, or when it has enough
    packet-hops."""
    name, path, text, keys, seed = case
    if before is not None:
        cut = {"run.until": before["until"]} if before.get("until") else {}
        return hashes(path, text, keys | cut, seed) | ({"until": before["until"]} if cut else {})
    # Samples of a random scenario may fill the memory during seconds of waiting for a time-out, so
    # its end is limited.
    doublings = range(14 if name.startswith("random") else 24)
    return cut_at(case, [20 * 2**exponent for exponent in doublings], ENOUGH)


def cut_at(case: Case, cuts: Sequence[int], enough: int) -> dict[str, Any]:
    """Returns the hashes of a case at the first of these times, in microseconds, at which it has
    enough packet-hops or has ended. A cut before the end of a warm-up is refused, and the next one
    is tried."""
    _, path, text, keys, seed = case
    result: dict[str, Any] = {}
    for cut in cuts:
        until = f"{cut}us"
        result = hashes(path, text, keys | {"run.until": until}, seed) | {"until": until}
        if result["packet_hops"] >= enough or result["ended_by"] not in ("until", None):
            break
    return result


def hashes(path: Path, text: str, keys: dict[str, Any], seed: int | None) -> dict[str, Any]:
    try:
        scenario = _core.parse(
            text,
            path,
            set=[(key, toml.value(value)) for key, value in keys.items()],
            seed=seed,
            threads=1,
        )
        summary = json.loads(scenario.run().summary)
    except (_core.ScenarioError, _core.RunError) as error:
        return {"refused": str(error).replace(str(ROOT), ""), "packet_hops": 0, "ended_by": None}
    return {key: summary[key] for key in (*HASHES, "packet_hops", "ended_by")}


if __name__ == "__main__":
    sys.exit(main())
