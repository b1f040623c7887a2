"""Instructions per packet-hop (needs valgrind and binutils).

`python benches/instructions.py` compares all cases with benches/instructions.json, and fails if a
case costs more than 2 % more. `--write` renews the table. A commit that makes a case more expensive
must state the reason. Instructions are counted under callgrind within the engine's loop, without
set-up. The counts repeat to about 0.1 %, whereas times on a shared machine do not.

`python benches/instructions.py CASE [key=value]…` shows where the instructions of a case of the
table are spent, without those in shared libraries. Every instruction is attributed to a part of the
engine. The debug information gives the chain of functions that are inlined at its address, and the
innermost one whose source file belongs to a part (`PARTS`) counts.
"""

import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Source files for a frame's passage through a port.
PORTS = (
    "arena",
    "count",
    "discipline",
    "eager",
    "exact",
    "forward",
    "held",
    "hop",
    "judge",
    "lane",
    "managed",
    "offers",
    "open",
    "pass",
    "rank_queue",
    "ranked",
    "trimmed",
    "voq",
)
# Parts of the engine, with their source files.
PARTS = [
    ("window log: filing", ("engine/src/log.rs", "engine/src/windows.rs")),
    ("window: counting and key sort", ("run/sorter.rs", "core/src/slice/sort")),
    (
        "window: loop and dispatch",
        (
            "run/window.rs",
            "shard/mod.rs",
            "shard/slab.rs",
            "net/src/frame.rs",
            "engine/src/exchange.rs",
        ),
    ),
    ("routing", ("net/src/routing.rs", "net/src/balance/", "net/src/world.rs", "shard/balance.rs")),
    (
        "port, admission, marking",
        (*(f"shard/{name}.rs" for name in PORTS), "net/src/port.rs", "net/src/queue/"),
    ),
    ("hosts and transports", ("shard/host.rs", "transport/", "congestion/")),
    ("explain", ("probe/explain.rs",)),
]

#: Option that makes callgrind count only the engine's loop.
LOOP = "--toggle-collect=*run*window*work*"
TABLE = ROOT / "benches" / "instructions.json"
#: Relative growth above which a commit must give a reason.
BAR = 0.02
CONWEAVE = (
    "studies/conweave/leaf-spine.toml",
    'switch.balance="conweave"',
    "traffic[0].load=0.8",
    'run.warmup="0s"',
)
#: Scenario, keys, and end of the run.
CASES = {
    "fat-tree-k8-websearch": (("benches/fat-tree-k8-websearch.toml",), "400us"),
    "fat-tree-k8-permutation": (("benches/fat-tree-k8-permutation.toml",), "100us"),
    "fat-tree-k8-ndp": (("benches/fat-tree-k8-ndp.toml",), "100us"),
    "fat-tree-k8-lossless": (("benches/fat-tree-k8-lossless.toml",), "100us"),
    "fat-tree-k16-lossless": (("benches/fat-tree-k16-lossless.toml",), "40us"),
    "leaf-spine-rdma": (("benches/leaf-spine-rdma.toml",), "200us"),
    "leaf-spine-pfabric": (("benches/leaf-spine-pfabric.toml",), "12ms"),
    "conweave-80-lossless": (CONWEAVE, "200us"),
    "conweave-80-irn": ((*CONWEAVE, 'host.transport.mode="irn"', "switch.pfc=false"), "200us"),
    "mptcp-fat-tree": (("examples/mptcp-fat-tree.toml",), "4ms"),
}


def main() -> int:
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "afflux-scenario", "--example", "hops"],
        cwd=ROOT,
        check=True,
    )
    binary = ROOT / "target" / "release" / "examples" / "hops"
    return (
        table(binary, write="--write" in sys.argv)
        if len(sys.argv) == 1 or "--write" in sys.argv
        else parts(binary)
    )


def table(binary: Path, *, write: bool) -> int:
    before = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    now, dearer = {}, []
    for name, (words, until) in CASES.items():
        hops, instructions = counted(binary, words, until)
        now[name] = round(instructions / hops, 1)
        change = now[name] / before[name] - 1 if name in before else 0.0
        print(f"{name:26} {now[name]:8.1f} instructions per packet-hop {change:+8.1%}", flush=True)
        if change > BAR:
            dearer.append(name)
    if write:
        TABLE.write_text(json.dumps(now, indent=2) + "\n")
    elif dearer:
        print(f"dearer by more than {BAR:.0%}: {', '.join(dearer)}")
    return 1 if dearer and not write else 0


def counted(binary: Path, words: tuple[str, ...], until: str) -> tuple[int, int]:
    """Returns the packet-hops, and the instructions of the engine's loop."""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        LOOP,
        str(binary),
        *words,
        f'run.until="{until}"',
    ]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    hops, total = (
        re.search(r"packet_hops (\d+)", run.stdout),
        re.search(r"Collected : (\d+)", run.stderr),
    )
    if hops is None or total is None:
        raise SystemExit(run.stderr)
    return int(hops[1]), int(total[1])


def parts(binary: Path) -> int:
    words, until = CASES[sys.argv[1]]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "callgrind.out"
        command = [
            "valgrind",
            "--tool=callgrind",
            "--dump-instr=yes",
            LOOP,
            f"--callgrind-out-file={out}",
            str(binary),
            *words,
            f'run.until="{until}"',
            *sys.argv[2:],
        ]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        costs, anchor = read(out)
    hops = int(re.search(r"packet_hops (\d+)", run.stdout)[1])
    # If `main` was not seen, addresses are relative to the file.
    bias = anchor - symbol(binary, "main") if anchor else 0
    chains = inlined(binary, [address - bias for address in costs])
    parts: collections.Counter[str] = collections.Counter()
    for address, cost in costs.items():
        parts[part_of(chains.get(address - bias, []))] += cost
    total = sum(parts.values())
    print(f"{sys.argv[1]}: {hops:,} packet-hops, {total / hops:.0f} instructions per hop")
    for name, cost in parts.most_common():
        print(f"{cost / hops:8.1f}  {name}")
    return 0


def part_of(chain: list[str]) -> str:
    for source in chain:
        for name, files in PARTS:
            if any(file in source for file in files):
                return name
    ours = [source for source in chain if "/crates/" in source]
    return "the rest" if ours or chain else "libraries"


def read(path: Path) -> tuple[dict[int, int], int]:
    """Returns instructions by address in the main program, and the address of `main`."""
    costs: dict[int, int] = collections.defaultdict(int)
    # Callgrind numbers objects, functions and files separately.
    names: dict[tuple[str, str], str] = {}
    address, anchor, in_program, after_call, function = 0, 0, False, False, ""

    def name(kind: str, text: str) -> str:
        match = re.match(r"(\(\d+\))(?: (.*))?", text)
        if match and match[2]:
            names[kind, match[1]] = match[2]
        return names.get((kind, match[1]), "") if match else text

    for line in path.read_text().splitlines():
        if line.startswith("ob="):
            in_program = name("object", line[3:]).endswith("/hops")
        elif line.startswith("fn="):
            function = name("function", line[3:])
        elif line.startswith(("cob=", "cfn=")):
            name("object" if line[1] == "o" else "function", line.split("=", 1)[1])
        elif line.startswith("calls="):
            after_call = True
        elif line[:2] == "0x" or (line[:1] in "+-*" and line.strip()):
            first, _, cost = line.split()[:3]
            if first.startswith("0x"):
                address = int(first, 16)
            elif first != "*":
                # Addresses are hexadecimal if absolute, and decimal if relative.
                address += int(first)
            if function == "main" and in_program and not anchor:
                anchor = address
            if after_call:
                after_call = False
            elif in_program:
                costs[address] += int(cost)
    return costs, anchor


def symbol(binary: Path, wanted: str) -> int:
    for line in subprocess.run(
        ["nm", str(binary)], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        fields = line.split()
        if fields[-1] == wanted:
            return int(fields[0], 16)
    raise SystemExit(f"{binary}: no symbol {wanted}")


def inlined(binary: Path, addresses: list[int]) -> dict[int, list[str]]:
    """Returns the source files of each address, from the innermost inlined function outwards."""
    text = "\n".join(hex(address) for address in addresses)
    done = subprocess.run(
        ["addr2line", "-a", "-i", "-e", str(binary)],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    chains: dict[int, list[str]] = {}
    current = 0
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            current = int(line, 16)
            chains[current] = []
        else:
            chains[current].append(line)
    return chains


if __name__ == "__main__":
    sys.exit(main())
