"""Writes the compact form of the reference runs: `python -m validation.compact`.

It reads ../shared/reference and writes validation/reference. The layout is that of the raw folder,
so the same readers work for both. The compact form has:

- bars.toml, and the unchanged tables of hosts, linux, ns3 and uec (except that uec's options omit
  the log file of the simulator). Data measured for this repository (`hosts.OWN`) is only in the
  compact form and is kept.
- Complete inputs of simulations: ConWeave's topologies and flow lists unchanged; of pFabric's and
  yaps's lists the columns of `COLUMNS`; the connection matrices that afflux has a model for.
  `permutation` recreates the permutations, and the script stops if one differs.
- Outputs as numbers: of ConWeave's summaries the keys of `SUMMARY`; of every other large file the
  numbers that its reader computes, in kept.json (`kept.py`). The completion times of the `micro_*`
  runs are small and kept completely.

The same raw folder gives the same files. Folders without a reader are left out.
validation/reference/README.md is written by hand and kept.
"""

import argparse
import csv
import gzip
import io
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import hosts, kept, run, uec
from .case import read_csv

README = "README.md"
#: Columns of a flow that are kept, by reference.
COLUMNS = {
    "pfabric": ["start_ns", "src", "dst", "bytes"],
    "yaps": ["start_us", "src", "dst", "size_bytes", "oracle_us"],
}
#: Settings and counters that are kept of a run of ConWeave's ns-3.
SUMMARY = ("name", "lb", "mode", "flow_file", "topo")
COUNTERS = (
    "pfc_frames",
    "pfc_pause_rx",
    "drop_ingress",
    "drop_egress",
    "ecn_marks",
    "cnp_ecn",
    "timeouts",
    "retx_pkts",
)
#: Seeds of the permutations.
HTSIM_SEED, UEC_SEED = 42, 13


class Differs(Exception):
    """An input differs from what this script generates."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m validation.compact", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--ref", type=Path, default=run.RAW, help="the raw folder")
    parser.add_argument("--out", type=Path, default=run.COMPACT)
    options = parser.parse_args(arguments)
    try:
        files = contents(options.ref)
    except (OSError, Differs) as error:
        print(f"compact: {error}", file=sys.stderr)
        return 2
    for path in sorted(options.out.rglob("*"), reverse=True):
        name = path.relative_to(options.out).as_posix()
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
        elif path.is_file() and name != README and name not in files:
            path.unlink()
    for name, data in files.items():
        path = options.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"{len(files)} files, {sum(map(len, files.values())):,} B in {options.out}")
    return 0


def contents(ref: Path) -> dict[str, bytes]:
    """Returns file contents by name in the folder. Raises `OSError` and `Differs`."""
    with kept.recording() as found:
        _, cases = run.collect(ref, 1)
    if missing := [
        f"{case.reference}/{case.run}: {case.problem}"
        for case in cases
        if case.problem and run.reader(case.reference.partition(".")[0])
    ]:
        raise Differs(f"{ref} has runs that cannot be read: {'; '.join(missing)}")
    files = {"bars.toml": (ref / "bars.toml").read_bytes()}
    for name, make in MAKERS.items():
        if (ref / name).is_dir():
            files |= {f"{name}/{file}": data for file, data in make(ref / name)}
            files |= {
                f"{name}/{path.name}": path.read_bytes()
                for path in sorted((ref / name).glob("*fabric.toml"))
            }
        if ref / name in found:
            files[f"{name}/{kept.NAME}"] = table(found[ref / name])
    return dict(sorted(files.items()))


def table(numbers: dict[str, Any]) -> bytes:
    """Returns JSON with one line per file."""
    return (
        "{\n"
        + ",\n".join(
            f"{json.dumps(file)}: {json.dumps(value)}" for file, value in sorted(numbers.items())
        )
        + "\n}\n"
    ).encode()


Files = Iterator[tuple[str, bytes]]


def tables(folder: Path) -> Files:
    for path in sorted(folder.glob("*.csv")):
        yield path.name, path.read_bytes()


def hosts_(folder: Path) -> Files:
    yield from tables(folder)
    if folder.resolve() == hosts.RAW.resolve():
        yield from ((name, path.read_bytes()) for name, path in hosts.OWN.items())


def conweave(folder: Path) -> Files:
    inputs: set[str] = set()
    for path in sorted(folder.glob("*/summary.json")):
        summary = json.loads(path.read_text(encoding="utf-8"))
        inputs |= {f"{summary['topo']}.txt", f"{summary['flow_file']}.xz"}
        own = {key: summary[key] for key in (*SUMMARY, *COUNTERS) if key in summary}
        own["all"] = {"all": {key: summary["all"]["all"][key] for key in ("n", "avg", "p99")}}
        yield f"{path.parent.name}/{path.name}", (json.dumps(own, indent=1) + "\n").encode()
        if path.parent.name.startswith("micro_"):
            yield f"{path.parent.name}/fct.txt.xz", (path.parent / "fct.txt.xz").read_bytes()
    for name in sorted(inputs):
        yield f"inputs/{name}", (folder / "inputs" / name).read_bytes()


def htsim(folder: Path) -> Files:
    for path in sorted(folder.glob("*.cm")):
        found = re.fullmatch(r"perm_(\d+)n_(\d+)B", path.stem)
        yield (
            path.name,
            same(path, permutation(int(found[1]), int(found[2]), HTSIM_SEED) if found else ""),
        )


def uec_(folder: Path) -> Files:
    options = {
        row["run"]: uec.options_of(row) for row in read_csv(folder / "runs.csv", ("run", "options"))
    }
    yield "runs.csv", re.sub(rb" -o \S+", b"", (folder / "runs.csv").read_bytes())
    names = {
        words[words.index("-tm") + 1]
        for words in options.values()
        if words and words[0] in uec.MODELLED
    }
    for name in sorted(names):
        path = folder / name
        if found := re.fullmatch(r"perm_(\d+)n_\d+c_(\d+)MB", path.stem):
            yield name, same(path, permutation(int(found[1]), int(found[2]) * 10**6, UEC_SEED))
        else:
            path = path if path.is_file() else path.with_name(f"{path.name}.gz")
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def lists(folder: Path) -> Files:
    columns = COLUMNS[folder.name]
    for path in sorted(folder.glob("*.csv.gz")):
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(read_csv(path, columns))
        yield path.name, gzip.compress(text.getvalue().encode(), mtime=0)


#: Functions that yield the files of each reference.
MAKERS = {
    "conweave": conweave,
    "hosts": hosts_,
    "htsim": htsim,
    "linux": tables,
    "ns3": tables,
    "pfabric": lists,
    "uec": uec_,
    "yaps": lists,
}


def permutation(hosts: int, size: int, seed: int) -> str:
    """Returns a connection matrix: sources and destinations are shuffled one after the other, and a
    host that would send to itself swaps its destination with the next line."""
    draw = random.Random(seed)
    sources, destinations = list(range(hosts)), list(range(hosts))
    draw.shuffle(sources)
    draw.shuffle(destinations)
    for line in range(hosts):
        if sources[line] == destinations[line]:
            other = (line + 1) % hosts
            destinations[line], destinations[other] = destinations[other], destinations[line]
    lines = [
        f"{src}->{dst} id {line} start 0 size {size}"
        for line, (src, dst) in enumerate(zip(sources, destinations, strict=True), 1)
    ]
    return "\n".join([f"Nodes {hosts}", f"Connections {hosts}", *lines]) + "\n"


def same(path: Path, text: str) -> bytes:
    if path.read_bytes() != text.encode():
        raise Differs(f"{path} is not the permutation that its name and the seed give")
    return text.encode()


if __name__ == "__main__":
    sys.exit(main())
