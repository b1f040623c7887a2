"""Lets allocations fail: calls `afflux check` and `afflux run` with little address space, and
checks that no half-written file passes as a result.

    python -m fuzz.memory --count 200 --seed 1

A call must end with 0, 1 or 2, and with a message if it fails. One exception is allowed: Rust
cannot recover from a failed allocation in the middle of a run, so it prints a message and aborts.
Even then there must be no result directory, and the next run must clean up and succeed.
"""

import argparse
import random
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

from fuzz.isolated import Ended, call

#: Scenarios by name. The second and third need more than a few megabytes.
SCENARIOS = {
    "star": """\
format = 1
[topology]
kind = "star"
hosts = 9
rate = "10Gbps"
delay = "1us"
[[traffic]]
kind = "incast"
to = 0
senders = 8
bytes = "20kB"
[record]
paths = true
""",
    "fat-tree": """\
format = 1
[topology]
kind = "fat_tree"
k = 16
rate = "10Gbps"
delay = "1us"
[[traffic]]
kind = "all_to_all"
hosts = "0-49"
sizes = "1kB"
""",
    "capture": """\
format = 1
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "1us"
[[traffic]]
kind = "all_to_all"
sizes = "2MB"
[record]
capture = "host0>switch0"
""",
}
#: Range of additional address space in bytes. Below it, Python itself lacks memory to import what a
#: command needs.
LEAST, MOST = 20_000_000, 300_000_000
ABORTED = -signal.SIGABRT
RESULT = "out"


def here() -> int:
    """Returns the address space in bytes of this process, from which each call is forked."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * 4096


def unclean(ended: Ended, folder: Path) -> str | None:
    """Returns the reason why the end of a call is wrong, or None."""
    if ended.code == ABORTED:
        if "memory allocation of" not in ended.said:
            return "aborts without saying why"
    elif ended.late or ended.code not in (0, 1, 2):
        return ended.wrong(exits=(0, 1, 2))
    elif ended.code and "error: " not in ended.said:
        return "fails without a message"
    # A run that reaches its limit keeps what it has recorded, and says so.
    if ended.code and (folder / RESULT).exists() and "the run ended early" not in ended.said:
        return "fails, and leaves a result directory"
    return None


def tried(name: str, memory: int, folder: Path) -> tuple[str, str | None]:
    """Runs check and run with `memory` bytes more than this process has. Returns how the calls
    ended, and an error or None."""
    place = folder / "scenario.toml"
    place.write_text(SCENARIOS[name], encoding="utf-8")
    limit = here() + memory
    looked = call(["check", place.name], folder=folder, memory=limit)
    if why := unclean(looked, folder):
        return "check", f"check: {why}\n{looked.said[-2_000:]}"
    command = ["run", place.name, "-o", RESULT]
    ended = call(command, folder=folder, memory=limit)
    if why := unclean(ended, folder):
        return "run", f"run: {why}\n{ended.said[-2_000:]}"
    if ended.code:
        again = call([*command, "--force"], folder=folder)
        if again.code:
            return "again", f"the next run: exit code {again.code}\n{again.said[-2_000:]}"
    left = sorted(path.name for path in folder.iterdir() if path.name not in (place.name, RESULT))
    if left:
        return "left", f"left behind: {', '.join(left)}"
    return {0: "runs", ABORTED: "aborts with a message"}.get(ended.code, "refuses"), None


def run(
    seed: int, count: int, jobs: tuple[str, ...] = tuple(SCENARIOS)
) -> tuple[Counter[str], list[str]]:
    """Returns counts of how calls ended, and the errors, one line each."""
    draws, counts, found = random.Random(f"afflux memory {seed}"), Counter[str](), list[str]()
    for number in range(count):
        name = jobs[number % len(jobs)]
        memory = round(LEAST * (MOST / LEAST) ** draws.random())
        with tempfile.TemporaryDirectory(prefix="afflux-memory-") as folder:
            how, wrong = tried(name, memory, Path(folder))
        counts[how] += 1
        if wrong:
            found.append(f"{name} with {memory} B: {wrong}")
    return counts, found


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--out", type=Path, help="where what went wrong is written")
    chosen = options.parse_args()
    counts, found = run(chosen.seed, chosen.count)
    print(*found, sep="\n", file=sys.stderr)
    if found and chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        (chosen.out / f"memory-{chosen.seed}.txt").write_text("\n".join(found), encoding="utf-8")
    print(f"{chosen.count} calls with little memory: {dict(counts)}, {len(found)} wrong")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
