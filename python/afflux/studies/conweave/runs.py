"""Simulated slowdowns for the claims table, one run per line in results/runs.csv. `sensitivity`
lists the runs."""

import tempfile
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from ...scenario import Scenario
from .. import files, lines
from .cases import BDP, Case

FILE = files("conweave") / "results" / "runs.csv"

#: Parameters of a scheme that differ from the study's defaults, sorted by name. A name with a dot
#: is a key of the scenario.
Setting = tuple[tuple[str, str], ...]
DEFAULT: Setting = ()
#: Part of a setting that is no parameter of the scheme: the rules of the authors' simulator instead
#: of afflux's.
THEIR_RULES = ("rules", "conweave-ns3")
#: Keys of these rules. The ECN thresholds there exclude the minimum of a queue, 1049 B.
_THEIR_KEYS = {
    "run.compat": "conweave-ns3",
    "host.timing": "exact",
    "switch.ecn.kmin": "101049B",
    "switch.ecn.kmax": "401049B",
}


class Run(NamedTuple):
    case: Case
    scheme: str
    setting: Setting
    #: Time in ms in which flows start, after a warm-up of 2 ms.
    window: int
    seed: int

    def __str__(self) -> str:
        return f"{self.case}, {self.scheme} {shown(self.setting) or 'default'}, {self.window} ms, seed {self.seed}"


@dataclass(frozen=True)
class Measured:
    """Slowdowns, and counters that explain them. Flows of up to and above a bandwidth-delay product
    are distinguished on the fat-tree only."""

    all_mean: float
    all_p99: float
    short_mean: float | None
    short_p99: float | None
    long_mean: float | None
    long_p99: float | None
    drops: int
    retransmits: int
    pause_frames: int
    unfinished: int

    @classmethod
    def of(cls, case: Case, summary: Mapping[str, Any]) -> "Measured":
        slowdown, bound = summary["slowdown"], BDP[case.fabric].replace("k", "K")
        classes = [
            slowdown["all"],
            *(
                slowdown["by_size"].get(f"{side}_{bound}", {}) if case.fabric == "fat-tree" else {}
                for side in ("le", "gt")
            ),
        ]
        values = [of.get(statistic) for of in classes for statistic in ("mean", "p99")]
        rounded: list[Any] = [None if value is None else round(value, 5) for value in values]
        counts = [summary[name] for name in COUNTS[:-1]] + [summary["flows"]["unfinished"]]
        return cls(*rounded, *counts)

    def slowdown(self, flows: str, statistic: str) -> float | None:
        value: float | None = getattr(self, f"{flows}_{statistic}")
        return value


Runs = dict[Run, Measured]
MEASURED = [field.name for field in fields(Measured)]
COLUMNS = ["fabric", "sizes", "load", "mode", "scheme", "setting", "window_ms", "seed", *MEASURED]
COUNTS = ("drops", "retransmits", "pause_frames", "unfinished")


def shown(setting: Setting) -> str:
    """Formats a setting as in the file: `gap=20us tdre=5us`."""
    return " ".join(f"{key}={value}" for key, value in setting)


def parsed(text: str) -> Setting:
    pairs = (part.split("=", 1) for part in text.split())
    return tuple(sorted((key, value) for key, value in pairs))


def read(file: Path = FILE) -> Runs:
    if not file.exists():
        return {}
    return dict(lines.parsed(file, COLUMNS, _line))


def _line(row: Mapping[str, str]) -> tuple[Run, Measured]:
    case = Case(row["fabric"], row["sizes"], int(row["load"]), row["mode"])
    run = Run(case, row["scheme"], parsed(row["setting"]), int(row["window_ms"]), int(row["seed"]))
    values: list[Any] = [
        int(row[name]) if name in COUNTS else float(row[name]) if row[name] else None
        for name in MEASURED
    ]
    return run, Measured(*values)


def write(run: Run, measured: Measured, file: Path = FILE) -> None:
    """Appends the line of a run."""
    case = run.case
    head = [
        case.fabric,
        case.sizes,
        case.load,
        case.mode,
        run.scheme,
        shown(run.setting),
        run.window,
        run.seed,
    ]
    lines.append(
        file,
        "Slowdowns, means and 99th percentiles, of simulated runs: afflux study conweave PART",
        COLUMNS,
        [*head, *("" if value is None else value for value in astuple(measured))],
    )


def scenario(run: Run) -> Scenario:
    found = Scenario.load(files("conweave") / f"{run.case.fabric}.toml")
    setting = {key: _value(text) for key, text in run.setting if (key, text) != THEIR_RULES}
    of_scheme = {key: value for key, value in setting.items() if "." not in key}
    keys = run.case.keys(run.scheme, of_scheme) | {
        "traffic[0].duration": f"{run.window + 2}ms",
        "run.until": f"{run.window + 52}ms",
    }
    # Time series are not needed here. Removing them does not change the simulation.
    keys.pop("record.reorder", None)
    keys |= {key: value for key, value in setting.items() if key not in of_scheme}
    if THEIR_RULES in run.setting:
        keys |= _THEIR_KEYS
    for key, value in keys.items():
        found.set(key, value)
    return found


def _value(text: str) -> Any:
    return {"true": True}.get(text, int(text) if text.isdigit() else text)


def simulate(run: Run) -> Measured:
    with tempfile.TemporaryDirectory() as place:
        return Measured.of(
            run.case, scenario(run).run(seed=run.seed, out=Path(place) / "result").summary
        )
