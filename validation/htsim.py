"""Reader of htsim (Broadcom/csg-htsim): DCTCP on permutations of a fat-tree,
`htsim/perm_<hosts>n_<bytes>B.cm`.

afflux itself reads the matrices (`format = "htsim"` in `[[traffic]]`). Completion times come from
the README's sentence that begins with "Last flow done". It gives one number per run, of one seed.
The README describes the runs:

- Every link has 100 Gbps and 1 us (`fabrics.toml`, or `fabric.toml` next to the matrices).
- Frames have 1500 B, acknowledgements 40 B (the wire profile `htsim`).
- DCTCP with a random path per flow (`ecmp`, each switch with its own seed), K = 15 frames, marked
  at dequeue.
- A SYN is sent first, and no time-out is shorter than 250 ms (htsim's `tcp.cpp`). Queues hold 100
  frames, as in the bench of the same matrices. The README does not state their size.
- "The hash draw sets the tail, so compare distributions": the last flow ends with the longest queue
  of colliding flows. So ours is shown over several seeds, each of which draws other paths.
  bars.toml has no tolerance for htsim, so the rows are informational.

A matrix without a completion time in the README is run once, to check that it can be read and that
all its flows end.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import fabric, kept
from .bars import Bars, median
from .case import Case, Runner, Setup, Unmeasured, Unreadable, one_line

SET = "htsim"
#: Minimum number of draws of paths.
SEEDS = 11


def cases(folder: Path, bars: Bars) -> Iterator[Case]:
    told: dict[tuple[int, int], float] | None = None
    for path in sorted(folder.glob("*.cm")):
        reference, named = f"{SET}.{path.name.split('.')[0]}", bars.of(SET, path.name)
        try:
            if told is None:
                told = {
                    (arity, size): ms for arity, size, ms in kept.of(folder, "README.md", listed)
                }
            found = re.fullmatch(r"perm_(\d+)n_(\d+)B\.cm", path.name)
            if not found:
                raise Unreadable("the name is not perm_<hosts>n_<bytes>B.cm")
            table = fabric.of(SET, folder, path.stem)
            arity, size = fat_tree(int(found[1])), int(found[2])
        except Unreadable as error:
            yield Case(reference, path.name, problem=str(error), bars=named)
            continue
        theirs = told.get((arity, size))
        case = Case(
            reference,
            f"DCTCP, k={arity}, {size / 1e6:g} MB",
            {"last_done_ms": theirs, "median_done_ms": None, "drops": None, "timeouts": None},
            named,
        )
        if theirs is None:
            case.remark = "the README has no completion time for this matrix"
        seeds = bars.repetitions(SET, path.name, least=SEEDS) if theirs is not None else 1
        case.setups = [
            Setup(scenario(path, {"k": arity} | table), last_done, {}, seed=seed)
            for seed in range(1, seeds + 1)
        ]
        yield case


def completions(readme: Path) -> dict[tuple[int, int], float]:
    """Returns completion times in ms by arity and bytes, from "Last flow done: DCTCP k=8 10 MB
    3.9997 ms, 50 MB 20.738 ms; k=16 2 MB …"."""
    try:
        text = readme.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{readme.name} cannot be read: {one_line(error)}") from None
    _, _, sentence = text.partition("Last flow done: DCTCP ")
    found, arity = {}, None
    for part in re.split(r"[,;] ", sentence):
        match = re.match(r"(?:k=(\d+) )?(\d+(?:\.\d+)?) MB (\d+(?:\.\d+)?) ms", part)
        if not match or not (arity := match[1] or arity):
            break
        found[int(arity), round(float(match[2]) * 1e6)] = float(match[3])
    if not found:
        raise Unreadable(f'{readme.name} has no completion times after "Last flow done: DCTCP"')
    return found


def listed(readme: Path) -> list[tuple[int, int, float]]:
    return [(*key, ms) for key, ms in completions(readme).items()]


def fat_tree(hosts: int) -> int:
    """Returns the arity of the fat-tree with this number of hosts, k³/4."""
    arity = next(k for k in range(2, 2 + hosts, 2) if k**3 >= 4 * hosts)
    if arity**3 != 4 * hosts:
        raise Unreadable(f"{hosts} hosts are no full fat-tree")
    return arity


def scenario(path: Path, table: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": 1,
        "topology": {"kind": "fat_tree", **table},
        "switch": {
            "sharing": "static",
            "buffer": "100packets",
            "ecn": {"k": "15packets", "at": "dequeue"},
        },
        "host": {
            "wire": "htsim",
            "transport": {
                "stack": "basic",
                "congestion": "dctcp",
                "min_rto": "250ms",
                "handshake": True,
            },
        },
        "traffic": [{"kind": "flows", "file": str(path.resolve()), "format": "htsim"}],
        "record": {"explain": False},
    }


def last_done(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    result = runner.run(ports=False)
    ends = list(result.flows.column("finish_ns"))
    if None in ends:
        raise Unmeasured(f"{ends.count(None)} of {len(ends)} flows did not finish")
    return {
        "last_done_ms": max(ends) / 1e6,
        "median_done_ms": median(ends) / 1e6,
        "drops": result.summary["drops"],
        "timeouts": result.summary["timeouts"],
    }
