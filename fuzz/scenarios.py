"""Mutates scenario files and calls `afflux check` and `afflux run` with them. Only clean runs and
clean refusals are allowed.

    python -m fuzz.scenarios --count 5000 --seed 1 --jobs 2

A refusal is clean if it ends with 2 and names the file. Each case is limited to 6 GB and 20 s of
processor time. Failures are written to `--out`: the scenario and its output. `--only N` repeats one
case.
"""

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fuzz.isolated import Ended, call

REPO = Path(__file__).resolve().parents[1]
#: Scenario files to mutate.
SEEDS = (
    "examples/*.toml",
    "examples/kernels/*.toml",
    "benches/*.toml",
    "studies/*/*.toml",
    "python/afflux/templates/*.toml",
)
#: Number of packet-hops above which a scenario is only checked and not run.
HOPS = 2_000_000

UNITS = (
    "",
    "B",
    "kB",
    "MB",
    "GB",
    "TB",
    "MiB",
    "bps",
    "Kbps",
    "Mbps",
    "Gbps",
    "Tbps",
    "ps",
    "ns",
    "us",
    "ms",
    "s",
    "h",
    "packets",
    "%",
)
STRANGE = (
    "0", "-1", "1", "2", "3", "64", "65535", "65536", "4294967295", "4294967296", "9223372036854775807", "-9223372036854775808", "1e9", "1e-9", "1e308",
    "0.5", "1.5", "nan", "inf", "-inf", "true", "false", '""', '"off"', '"unlimited"', '"auto"', '"none"', '"all"', '"0B"', '"0s"', '"1ps"', '"1packets"',
    '"9000000000000000000B"', '"5000h"', '"0.000000000000000001s"', '"é"', '"host0"', '"leaf*"', '"*"', '"a>b"', '"host0-leaf0#9"', "[]", "{}", "[[]]",
    "[{}]", "2026-01-01", "12:00:00", '"\\u0000"', '"\\n"', '"../x"', '"/dev/zero"', '"/"', '"\U0001f600"',
)  # fmt: skip

_VALUE = re.compile(r"^(\s*(?:[\w.\-]+|\"[^\"]*\")\s*=\s*)(.*?)(\s*(?:#.*)?)$")
_TABLE = re.compile(r"^\s*\[\[?([\w.\-]+)\]\]?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Seed:
    name: str
    lines: tuple[str, ...]


def seeds() -> list[Seed]:
    """Returns every scenario file of the repository."""
    return [
        Seed(str(path.relative_to(REPO)), tuple(path.read_text(encoding="utf-8").splitlines()))
        for glob in SEEDS
        for path in sorted(REPO.glob(glob))
    ]


def pool(of: list[Seed]) -> dict[str, list[str]]:
    """Returns by table all lines `key = value` that occur in it in any file."""
    found: dict[str, list[str]] = {}
    for seed in of:
        table = ""
        for line in seed.lines:
            if head := _TABLE.match(line):
                table = head[1]
            elif _VALUE.match(line):
                found.setdefault(table, []).append(line)
    return found


def vocabulary() -> list[str]:
    """Returns every word that the schema allows as a value of any key."""
    from afflux import _core

    words: set[str] = set()

    def walk(item: object) -> None:
        if isinstance(item, dict):
            words.update(
                word for word in (*item.get("enum", ()), item.get("const")) if isinstance(word, str)
            )
            for inner in item.values():
                walk(inner)
        elif isinstance(item, list):
            for inner in item:
                walk(inner)

    walk(json.loads(_core.schema()))
    return sorted(words)


class Mutator:
    def __init__(self) -> None:
        self.seeds = seeds()
        self.pool = pool(self.seeds)
        self.words = vocabulary()

    def case(self, seed: int, number: int) -> tuple[str, str]:
        """Returns the name of the base file of a case, and the mutated text. Both are determined by
        seed and number."""
        draws = random.Random(f"{seed}/{number}")
        start = draws.choice(self.seeds)
        lines = list(start.lines)
        for _ in range(draws.choice((1, 1, 1, 1, 1, 2, 2, 3, 6))):
            lines = self._change(draws, lines)
        return start.name, "\n".join(lines) + "\n"

    def _change(self, draws: random.Random, lines: list[str]) -> list[str]:
        assigned = [place for place, line in enumerate(lines) if _VALUE.match(line)]
        ways = [
            self._scale,
            self._scale,
            self._replace,
            self._word,
            self._borrow,
            self._borrow,
            self._borrow,
            self._unit,
            self._drop,
            self._double,
            self._move,
        ]
        ways += [self._type, self._misspell, self._bytes]
        if not assigned:
            return self._bytes(draws, lines, 0)
        return draws.choice(ways)(draws, lines, draws.choice(assigned))

    @staticmethod
    def _with(lines: list[str], place: int, *new: str) -> list[str]:
        return [*lines[:place], *new, *lines[place + 1 :]]

    def _value(self, lines: list[str], place: int, value: str) -> list[str]:
        head, _, tail = _VALUE.match(lines[place]).groups()
        return self._with(lines, place, f"{head}{value}{tail}")

    def _scale(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        """Multiplies a number by a power of ten."""
        numbers = list(_NUMBER.finditer(lines[place]))
        if not numbers:
            return lines
        number = draws.choice(numbers)
        power = draws.choice((-9, -6, -3, -2, -1, 1, 2, 3, 4, 6, 9, 12))
        digits = number[0]
        scaled = (
            digits + "0" * power
            if power > 0 and "." not in digits
            else repr(float(digits) * 10.0**power)
        )
        if draws.random() < 0.1:
            scaled = f"-{scaled}"
        return self._with(
            lines, place, lines[place][: number.start()] + scaled + lines[place][number.end() :]
        )

    def _replace(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        return self._value(lines, place, draws.choice(STRANGE))

    def _word(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        """Replaces a value by another name of a model."""
        return self._value(lines, place, json.dumps(draws.choice(self.words)))

    def _borrow(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        """Copies a key from a table of the same name in another scenario, and replaces or
        duplicates the existing key."""
        table = next(
            (head[1] for line in reversed(lines[:place]) if (head := _TABLE.match(line))), ""
        )
        line = draws.choice(self.pool.get(table) or [lines[place]])
        key = line.split("=")[0].strip()
        kept = (
            [ours for ours in lines if ours.split("=")[0].strip() != key]
            if draws.random() < 0.8
            else lines
        )
        heads = [
            at for at, ours in enumerate(kept) if (head := _TABLE.match(ours)) and head[1] == table
        ]
        at = draws.choice(heads) + 1 if heads else 0
        return [*kept[:at], line, *kept[at:]]

    def _unit(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        return self._with(
            lines,
            place,
            re.sub(
                r"(\d)([a-zA-Z]+)\"",
                lambda found: f'{found[1]}{draws.choice(UNITS)}"',
                lines[place],
            ),
        )

    def _drop(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        return self._with(lines, place)

    def _double(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        return self._with(lines, place, lines[place], lines[place])

    def _move(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        line, rest = lines[place], self._with(lines, place)
        at = draws.randrange(len(rest) + 1)
        return [*rest[:at], line, *rest[at:]]

    def _type(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        """Changes a value to another type."""
        value = _VALUE.match(lines[place])[2]
        return self._value(
            lines,
            place,
            draws.choice(
                ("[{}]", "[{0}, {0}]", "{{ kind = {} }}", "{{ x = {} }}", '"""{}"""', "[[{}]]")
            ).format(value),
        )

    def _misspell(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        head, value, tail = _VALUE.match(lines[place]).groups()
        at = draws.randrange(len(head))
        return self._with(
            lines,
            place,
            head[:at] + draws.choice(("", "_", "x", ".", " ", '"')) + head[at + 1 :] + value + tail,
        )

    def _bytes(self, draws: random.Random, lines: list[str], place: int) -> list[str]:
        """Inserts arbitrary text at an arbitrary position."""
        text = "\n".join(lines)
        at = draws.randrange(len(text) + 1)
        end = min(len(text), at + draws.choice((0, 1, 1, 2, 10, 200)))
        piece = draws.choice(
            (
                *STRANGE,
                "\n",
                "=",
                "[",
                "]",
                "[[traffic]]",
                "[switch]",
                "#",
                '"',
                "'",
                "\t",
                "\x07",
                "\ufeff",
                "[" * 2_000,
            )
        )
        return (text[:at] + piece + text[end:]).split("\n")


def attempt(
    mutator: Mutator, seed: int, number: int, folder: Path
) -> tuple[str, str | None, Ended, str]:
    """Returns the attempted action (`refused`, `checked`, `run`), the error if any, the end of the
    call, and the scenario."""
    start, text = mutator.case(seed, number)
    # The scenario's input files are in the folder of the base file.
    home = (REPO / start).parent
    for beside in home.iterdir():
        if beside.is_file() and beside.suffix in (".csv", ".tsv", ".txt", ".dist"):
            shutil.copy(beside, folder)
    place = folder / "mutated.toml"
    place.write_bytes(text.encode("utf-8", "surrogatepass"))
    ended = call(["check", place.name, "--json"], folder=folder)
    if ended.code != 0 or ended.wrong(place.name):
        return "refused", ended.wrong(place.name), ended, text
    if start.startswith("examples/kernels/"):
        # A run would boot kernels.
        return "checked", None, ended, text
    for until in ("", "1ms", "100us", "10us"):
        looked = (
            call(["check", place.name, "--json", *_until(until)], folder=folder) if until else ended
        )
        if wrong := looked.wrong(place.name):
            return "checked", wrong, looked, text
        if _short(looked, until):
            break
    else:
        return "checked", None, ended, text
    out = folder / "out"
    ended = call(["run", place.name, "-o", str(out), *_until(until)], folder=folder)
    wrong = ended.wrong(place.name)
    if wrong is None and ended.code == 2:
        wrong = "refused by run, not by check"
    if wrong is None and [
        child for child in folder.iterdir() if child.name.startswith(".") or "partial" in child.name
    ]:
        wrong = "something half-written is left"
    return "run", wrong, ended, text


def _until(time: str) -> list[str]:
    return ["--set", f"run.until={time}"] if time else []


def _short(looked: Ended, until: str) -> bool:
    """True if a run is expected to end soon."""
    if looked.code:
        return False
    found = json.loads(looked.told)
    return found["packet_hops"] <= HOPS and (bool(until) or found["complete"])


def chunk(seed: int, numbers: list[int], out: str | None) -> tuple[Counter[str], list[str]]:
    mutator, counts, found = Mutator(), Counter[str](), list[str]()
    for number in numbers:
        with tempfile.TemporaryDirectory(prefix="afflux-fuzz-") as name:
            tried, wrong, ended, text = attempt(mutator, seed, number, Path(name))
        counts[tried] += 1
        if wrong:
            found.append(f"case {number} ({tried}): {wrong}")
            if out:
                place = Path(out) / f"{seed}-{number}.toml"
                place.write_text(text, encoding="utf-8", errors="surrogatepass")
                place.with_suffix(".said").write_text(
                    f"{wrong}\n{ended}\n{ended.said}", encoding="utf-8"
                )
    return counts, found


def run(
    seed: int, count: int, jobs: int, out: str | None = None, only: int | None = None
) -> list[str]:
    """Returns the errors, one line each."""
    if out:
        Path(out).mkdir(parents=True, exist_ok=True)
    numbers = [only] if only is not None else list(range(count))
    pieces = [numbers[at : at + 50] for at in range(0, len(numbers), 50)]
    counts, found, done = Counter[str](), list[str](), 0
    with ProcessPoolExecutor(jobs) as workers:
        for piece, (some, wrong) in zip(
            pieces,
            workers.map(chunk, [seed] * len(pieces), pieces, [out] * len(pieces)),
            strict=True,
        ):
            counts += some
            found += wrong
            done += len(piece)
            for line in wrong:
                print(line, flush=True)
            if done % 500 == 0:
                print(f"{done} of {len(numbers)}: {dict(counts)}, {len(found)} wrong", flush=True)
    print(f"{len(numbers)} scenarios: {dict(counts)}, {len(found)} wrong")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Mutates scenario files; only clean runs and clean refusals may come out."
    )
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", help="where wrong cases are written")
    parser.add_argument("--only", type=int, help="one case")
    chosen = parser.parse_args()
    sys.exit(bool(run(chosen.seed, chosen.count, chosen.jobs, chosen.out, chosen.only)))


if __name__ == "__main__":
    main()
