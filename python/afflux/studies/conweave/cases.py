"""Cases of the study: which schemes are simulated on which fabric, with which flows, and with how
many seeds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...batch import Point
from ...results.designs import Design, Designs
from .. import files

#: The baselines, and ConWeave as the last one, with the defaults of the study. CONGA and LetFlow
#: have the paper's gap of 100 us and otherwise the values of its authors' runs. Frames that
#: ConWeave reorders take no memory of the switch, as in the authors' simulator.
SCHEMES: dict[str, dict[str, Any]] = {
    "ecmp": {"kind": "ecmp"},
    "conga": {"kind": "conga", "gap": "100us", "tdre": "50us", "alpha": 0.2, "aging": "500us"},
    "letflow": {"kind": "letflow", "gap": "100us"},
    "drill": {"kind": "drill", "samples": 2, "memory": 1},
    "conweave": {"kind": "conweave", "reorder_memory": "unbounded"},
}
CONWEAVE = "conweave"
BASELINES = [scheme for scheme in SCHEMES if scheme != CONWEAVE]
#: ConWeave's times on the authors' fat-trees. On the leaf-spine the defaults apply.
_FAT_TREE = {
    "lossless": {"inactive": "1ms", "default_wait": "600us", "flush_extra": "64us"},
    "irn": {"inactive": "1ms", "default_wait": "300us"},
}
#: Bandwidth-delay product: the limit of IRN's data in flight, and the bound between short and long
#: flows.
BDP = {"leaf-spine": "104kB", "fat-tree": "156kB"}
#: Flow size distributions, and the size classes distinguished on the leaf-spine.
SIZES: dict[str, list[str]] = {
    "alistorage": ["4kB", "8kB", "16kB", "32kB", "104kB", "256kB"],
    "fbhdp-20": ["500B", "1kB", "30kB", "104kB", "1MB"],
    "solar": ["4096B", "16384B", "65536B", "104kB"],
}
FABRICS, LOADS, MODES = tuple(BDP), (50, 60, 80), ("lossless", "irn")


@dataclass(frozen=True)
class Case:
    """A case on which the schemes are compared."""

    fabric: str
    sizes: str
    load: int
    mode: str

    def __str__(self) -> str:
        return f"{self.fabric}, {self.sizes}, {self.load} %, {self.mode}"

    def name(self, scheme: str) -> str:
        return f"{self.fabric}-{self.sizes}-{self.load}-{self.mode}-{scheme}"

    def of(self, designs: Designs) -> dict[str, Design]:
        """Returns the simulated designs of this case by scheme."""
        return {
            scheme: designs[self.name(scheme)] for scheme in SCHEMES if self.name(scheme) in designs
        }

    def keys(self, scheme: str, setting: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Returns the keys that differ from the fabric's scenario file. `setting` has parameters of
        the scheme that differ from the study's defaults."""
        times = _FAT_TREE[self.mode] if (scheme, self.fabric) == (CONWEAVE, "fat-tree") else {}
        balance = SCHEMES[scheme] | times | dict(setting or {})
        keys: dict[str, Any] = {
            "switch.balance": balance,
            "traffic[0].sizes": self.sizes,
            "traffic[0].load": self.load / 100,
        }
        if self.fabric == "leaf-spine":
            keys["run.size_bounds"] = SIZES[self.sizes]
        if self.mode == "irn":
            keys |= {
                "host.transport.mode": "irn",
                "host.transport.bdp": BDP[self.fabric],
                "switch.pfc": "off",
            }
        if scheme == CONWEAVE:
            keys["record.reorder"] = "10us"
        return keys

    def points(self, seeds: int) -> Iterator[Point]:
        for seed in range(1, seeds + 1):
            for scheme in SCHEMES:
                recorded = RECORDED if self == LONG and seed == 1 else {}
                yield Point(
                    self.name(scheme),
                    files("conweave") / f"{self.fabric}.toml",
                    self.keys(scheme) | recorded,
                    seed,
                )


#: Cases of the paper's claims, simulated with five seeds each.
CLAIMED = [Case("leaf-spine", "alistorage", load, mode) for load in (80, 50) for mode in MODES]
CLAIMED += [Case("fat-tree", "alistorage", 60, mode) for mode in MODES]
SEEDS = 5


def others() -> Iterator[tuple[Case, int]]:
    """Yields all other combinations of fabrics, sizes, loads and modes, with their number of seeds.
    It is chosen so that the whole study takes little more than an hour on two cores."""
    for fabric in FABRICS:
        for sizes in SIZES:
            for load in LOADS:
                for mode in MODES:
                    case = Case(fabric, sizes, load, mode)
                    if case not in CLAIMED:
                        yield (
                            case,
                            1 if fabric == "fat-tree" else SEEDS if sizes == "alistorage" else 3,
                        )


#: The hardest case. It is also simulated with a window ten times as long, to measure the effect of
#: the short window. The report shows its first seed.
LONG = Case("leaf-spine", "alistorage", 80, "lossless")

#: Recordings for the report's replay. They do not change the simulation.
RECORDED: dict[str, Any] = {
    "record.explain": True,
    "record.paths": True,
    "record.ports": {"interval": "100us", "nodes": "all"},
}


def long_name(scheme: str) -> str:
    return f"{LONG.name(scheme)}-100ms"


def long_points() -> Iterator[Point]:
    for scheme in ("ecmp", CONWEAVE):
        keys = LONG.keys(scheme) | {"traffic[0].duration": "102ms", "run.until": "152ms"}
        yield Point(long_name(scheme), files("conweave") / "leaf-spine.toml", keys, 1)
