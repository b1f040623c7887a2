"""Compares the estimates of `afflux check` (memory, packet-hops, time) with real runs.

    python -m validation.estimates [WORD…]    about ten minutes for all cases

Each scenario is checked and run in a separate process. WORD selects the cases whose name contains
it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).parent.parent
LEAVES = 'format = 1\n[topology]\nkind = "leaf_spine"\nleaves = 4\nspines = 4\nhosts_per_leaf = 8\nhost_rate = "100Gbps"\n'
STAR = 'format = 1\n[topology]\nkind = "star"\nhosts = 16\nrate = "10Gbps"\n'
TCP = '[host.transport]\nkind = "tcp"\n'
WEB = '[[traffic]]\nkind = "random"\nsizes = "websearch"\nload = 0.5\nload_basis = "host_payload"\nduration = "5ms"\n'
SHORT = '[[traffic]]\nkind = "random"\nsizes = "{}"\nflows_per_second = 20000.0\nflows = {}\n'
LONG = '[[traffic]]\nkind = "permutation"\nsizes = "{}"\n'
RDMA = (
    '[switch]\nsharing = "sonic"\nbuffer = "32MB"\nalpha = 8\nscheduling = "strict_priority"\n[switch.pfc]\npriorities = [3]\n'
    '[switch.mmu]\nlossless_alpha = 1\nheadroom_pool = "8MB"\n[host.transport]\nkind = "rdma"\n'
)
INCAST = '[[traffic]]\nkind = "incast"\nto = 0\nsenders = 12\nbytes = "1MB"\n'
LOSING = '[host.transport]\nkind = "rdma"\nmode = "irn"\n'
AGAIN = 'rounds = 20\nperiod = "1ms"\n'
COPIES = 'mptcp = {{ subflows = {}, scheduler = "redundant" }}\n'
FAULT = '[[topology.fault]]\nlink = "host*-switch0"\n{}\n'
DOWN = 'down = [{ from = "200us", to = "20ms" }]'
OVERLOAD = WEB.replace("0.5", "3.0")
LEAST = STAR + TCP + '[[traffic]]\nkind = "pairs"\npairs = [[0, 1]]\nsizes = "1kB"\n'

#: Name to a file of the repository or a text, and the changed keys.
CASES: dict[str, tuple[str, dict[str, str]]] = {
    **{
        f"examples/{path.stem}": (str(path), {})
        for path in sorted((REPO / "examples").glob("*.toml"))
        if path.stem not in ("live-bottleneck", "coflows")
    },
    **{
        f"benches/{name}": (str(REPO / "benches" / f"{name}.toml"), {})
        for name in ("fat-tree-k8-websearch", "leaf-spine-rdma", "htsim-permutation-128")
    },
    "benches/fat-tree-k16-permutation until 1ms": (
        str(REPO / "benches/fat-tree-k16-permutation.toml"),
        {"run.until": "1ms"},
    ),
    "benches/fat-tree-k8-lossless until 2ms": (
        str(REPO / "benches/fat-tree-k8-lossless.toml"),
        {"run.until": "2ms"},
    ),
    "benches/leaf-spine-pfabric until 5ms": (
        str(REPO / "benches/leaf-spine-pfabric.toml"),
        {"run.until": "5ms"},
    ),
    "ports every 1us": (LEAVES + TCP + WEB, {"record.ports": "{ interval = '1us' }"}),
    "ports of all every 1us, until": (
        LEAVES + TCP + WEB,
        {"record.ports": "{ interval = '1us', nodes = 'all' }", "run.until": "5ms"},
    ),
    "waits, gaps": (LEAVES + TCP + WEB, {"record.waits": "'all'", "record.gaps": "'all'"}),
    "paths, round trips": (
        LEAVES + TCP + WEB,
        {"record.paths": "true", "record.round_trips": "true"},
    ),
    "capture": (STAR + TCP + LONG.format("20MB"), {"record.capture": "['host0-switch0']"}),
    "long flows with until": (LEAVES + TCP + LONG.format("1GB"), {"run.until": "3ms"}),
    "few long flows": (STAR + TCP + LONG.format("200MB"), {}),
    "many short flows": (STAR + TCP + SHORT.format("5kB", 400_000), {}),
    "many datagrams": (STAR + SHORT.format("2kB", 400_000), {}),
    "many queue pairs": (LEAVES + RDMA + SHORT.format("5kB", 200_000) + "priority = 3\n", {}),
    "lossless incasts": (LEAVES + RDMA + INCAST + AGAIN + "priority = 3\n", {}),
    "incasts": (STAR + TCP + INCAST + AGAIN, {}),
    "two threads": (LEAVES + TCP + WEB, {"run.threads": "2"}),
    "classical": (LEAVES + TCP + WEB, {"run.engine": "'classical'"}),
    "long until": (STAR + TCP + LONG.format("10MB"), {"run.until": "100s"}),
    "redundant subflows": (LEAVES + TCP + COPIES.format(4) + LONG.format("2MB"), {}),
    "many redundant subflows": (LEAVES + TCP + COPIES.format(32) + LONG.format("2MB"), {}),
    "overload, small buffers": (LEAVES + TCP + OVERLOAD, {"switch.buffer": "'200kB'"}),
    "overload until 5ms": (
        LEAVES + TCP + OVERLOAD,
        {"switch.buffer": "'200kB'", "run.until": "'5ms'"},
    ),
    **{
        f"{name}{end}": (STAR + FAULT.format(fault) + transport + INCAST, sets)
        for name, fault, transport in (
            ("links lose 1 %", 'loss = "1%"', TCP),
            ("links lose 10 %", 'loss = "10%"', TCP),
            ("queue pairs, links lose 1 %", 'loss = "1%"', LOSING),
            ("links are down", DOWN, TCP),
        )
        for end, sets in (("", {}), (" until 3ms", {"run.until": "3ms"}))
    },
    "fat tree of 27648 hosts": (
        'format = 1\n[topology]\nkind = "fat_tree"\nk = 48\n' + TCP + LONG.format("1kB"),
        {},
    ),
    "fat tree of 1024 hosts": (
        'format = 1\n[topology]\nkind = "fat_tree"\nk = 16\n' + TCP + LONG.format("100kB"),
        {},
    ),
}


def figures(name: str, folder: Path) -> tuple[dict, dict]:
    """Returns the output of `check` for a case, and the summary of its run."""
    text, sets = CASES[name]
    file = Path(text)
    if "\n" in text:
        file = folder / "scenario.toml"
        file.write_text(text)
    choices = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    said = told(folder, "check", file, *choices)
    return said, told(folder, "run", file, "--force", "--out", folder / "out", *choices)


def told(folder: Path, *words: object) -> dict:
    """Returns what the command prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "afflux", *map(str, words), "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def process_offset(folder: Path) -> int:
    """Returns by how many bytes a process that simulates almost nothing exceeds its estimate. It
    depends on the build and the machine: a release takes 4 MB less than the build for tests."""
    file = folder / "least.toml"
    file.write_text(LEAST)
    said, came = told(folder, "check", file), told(folder, "run", file, "--out", folder / "least")
    return came["peak_rss_bytes"] - said["memory_bytes"]


def measured(name: str, folder: Path, offset: int) -> str:
    try:
        said, came = figures(name, folder)
    except RuntimeError as error:
        return f"{name:46} {error}"
    hops, memory = (
        (said["packet_hops"], came["packet_hops"]),
        (said["memory_bytes"] + offset, came["peak_rss_bytes"]),
    )
    ratio = [s / c - 1 for s, c in (hops, memory)]
    doubt = (
        f"  in doubt ({said['least_hops'] / 1e6:.2f} to {said['most_hops'] / 1e6:.2f})"
        if said["least_hops"] < said["most_hops"]
        else ""
    )
    seconds = f"{said['least_seconds']:6.1f} {said['most_seconds']:6.1f} {came['cpu_s']:6.1f}"
    columns = [
        f"{hops[0] / 1e6:9.3f} {hops[1] / 1e6:9.3f} {ratio[0]:+7.1%}",
        f"{memory[0] / 1e6:8.1f} {memory[1] / 1e6:8.1f} {ratio[1]:+7.1%}",
    ]
    return f"{name:46} {columns[0]}   {columns[1]}   {seconds}{doubt}"


def main() -> None:
    print(
        f"{'':46} {'packet-hops, millions':>27}   {'memory, MB':>25}   {'seconds':>20}\n"
        f"{'':46} {'said':>9} {'came':>9} {'':7}   {'said':>8} {'came':>8} {'':7}   {'least':>6} {'most':>6} {'came':>6}"
    )
    with tempfile.TemporaryDirectory() as folder:
        offset = process_offset(Path(folder))
        print(f"memory said includes {offset / 1e6:+.1f} MB of an almost empty process here")
        for name in CASES:
            if not sys.argv[1:] or any(word in name for word in sys.argv[1:]):
                print(measured(name, Path(folder), offset), flush=True)


if __name__ == "__main__":
    main()
