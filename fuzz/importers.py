"""Mutates valid files and lets `afflux` read them. Only clean imports and clean refusals are
allowed.

    python -m fuzz.importers --count 5000 --seed 1

A refusal is clean if the exit code is 2 and the message is one line of readable text that names the
file. Each case is limited to 6 GB and 60 s of processor time. Failures are written to `--out`.
`--only KIND` and `--case N` repeat some cases. Kinds are those of `fuzz.importer_samples`.
"""

import argparse
import contextlib
import gzip
import json
import lzma
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz import isolated
from fuzz.importer_samples import Sample, every, lay

#: Unusual strings for names.
NASTY = (
    "", " ", "a\nb", "a\r\nb", "\t", "\0", '"', '"""', "'", "]", "[x]", "#", "a=b", "=1+1", "+1", "-1", "@x", "'=1", "../../x", "/etc/passwd", "C:\\x", "a,b",
    "\x1b[31m", "\u202eabc", "\u2028", "\ufeff", "😀", "é", "x" * 300, "x" * 100_000, "host0", "host99", "all", "10.0.0.1", "fe80::1", "null", "~", "true",
    "</script>", "\ud800", "$(x)", "%s", "{0}", "\\n", "*", "?", "a>b", "a#0", "01:02:03:04", "1e400", "١٢",
)  # fmt: skip
NUMBERS = (
    0,
    -1,
    1,
    7,
    2**31,
    2**32,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    10**5000,
    0.5,
    1e308,
    float("inf"),
    float("nan"),
)
WORDS = (
    b"0",
    b"-1",
    b"18446744073709551615",
    b"18446744073709551616",
    b"99999999999",
    b"1e308",
    b"nan",
    b"inf",
    b"0x10",
    b"",
    b" ",
    b"\xff",
    b"\0",
    b"null",
)


def _bytes(data: bytes, draw: random.Random) -> bytes:
    out = bytearray(data or b"x")
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(out) + 1)
        match draw.randrange(7):
            case 0:
                del out[at:]
            case 1 if out:
                out[at % len(out)] = draw.choice(
                    (draw.randrange(256), 0, 255, *b'0123456789-"{}[]:,. \n\t#*&<')
                )
            case 2:
                out[at:at] = draw.randbytes(draw.randrange(1, 40))
            case 3:
                piece = out[at : at + draw.randrange(1, 200)]
                out[at:at] = piece * draw.choice((1, 2, 50))
            case 4:
                other = draw.randrange(len(out) + 1)
                piece = out[other : other + draw.randrange(1, 80)]
                del out[at : at + draw.randrange(80)]
                out[at:at] = piece
            case 5 if out:
                out[at % len(out)] ^= 1 << draw.randrange(8)
            case 6:
                lines = out.split(b"\n")
                draw.shuffle(lines)
                out = bytearray(b"\n".join(lines[: draw.randrange(1, len(lines) + 1)]))
    return bytes(out)


def _words(data: bytes, draw: random.Random) -> bytes:
    """Replaces numbers and words."""
    found = list(re.finditer(rb"[A-Za-z0-9_.\-]+", data[:200_000]))
    for match in sorted(
        draw.sample(found, min(len(found), draw.choice((1, 1, 2, 4)))),
        key=lambda match: -match.start(),
    ):
        other = draw.choice(
            (
                draw.choice(WORDS),
                draw.choice(NASTY).encode("utf-8", "surrogatepass"),
                draw.choice(found)[0],
            )
        )
        data = data[: match.start()] + other + data[match.end() :]
    return data


def _value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(9)
    if kind == 8:
        nested: Any = 1
        for _ in range(draw.choice((3, 60, 300, 5_000))):
            nested = [nested]
        return nested
    return (
        None, draw.random() < 0.5, draw.choice(NUMBERS), draw.choice(NASTY), [], {}, [draw.choice(NASTY), draw.choice(NUMBERS)],
        {draw.choice(NASTY): draw.choice(NUMBERS)},
    )[kind]  # fmt: skip


def _exchanged(value: Any, draw: random.Random) -> Any:
    """Replaces a nested value by one of another type, removes it, or repeats it."""
    places: list[tuple[Any, Any]] = []

    def walk(inside: Any) -> None:
        if isinstance(inside, dict | list):
            for key in inside if isinstance(inside, dict) else range(len(inside)):
                places.append((inside, key))
                walk(inside[key])

    walk(value)
    if not places:
        return _value(draw)
    inside, key = draw.choice(places)
    match draw.randrange(5):
        case 0:
            del inside[key]
        case 1 if isinstance(inside, dict):
            inside[draw.choice(NASTY)] = inside.pop(key)
        case 2 if isinstance(inside, list):
            inside += [inside[key]] * draw.choice((1, 100))
        case _:
            inside[key] = _value(draw)
    return value


def _dumps(value: Any) -> str:
    sys.set_int_max_str_digits(0)
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        return json.dumps(value)
    finally:
        sys.setrecursionlimit(depth)
        sys.set_int_max_str_digits(4_300)


def _structures(data: bytes, draw: random.Random) -> bytes:
    """Changes types of values in JSON, in lines of JSON, or in YAML."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _bytes(data, draw)
    try:
        return _dumps(_exchanged(json.loads(text), draw)).encode()
    except (ValueError, RecursionError):
        pass
    lines = text.split("\n")
    some = [at for at, line in enumerate(lines) if line.startswith(("{", "["))]
    if some:
        at = draw.choice(some)
        try:
            lines[at] = _dumps(_exchanged(json.loads(lines[at]), draw))
            return "\n".join(lines).encode()
        except (ValueError, RecursionError):
            pass
    if "topology:" in text:
        import yaml

        try:
            return yaml.safe_dump(_exchanged(yaml.safe_load(text), draw)).encode(
                "utf-8", "surrogatepass"
            )
        except (yaml.YAMLError, ValueError, RecursionError):
            pass
    return _words(data, draw)


def _packed(data: bytes, draw: random.Random) -> bytes:
    """Compresses the data, sometimes with much appended data, sometimes with damage."""
    more = draw.choice((b"", b"", bytes(draw.choice((1, 50_000_000))), data * 1_000))
    packed = draw.choice((gzip.compress, lzma.compress))(data + more)
    return _bytes(packed, draw) if draw.random() < 0.3 else packed


def _unpacked(data: bytes) -> bytes | None:
    try:
        return (
            gzip.decompress(data)
            if data.startswith(b"\x1f\x8b")
            else lzma.decompress(data)
            if data.startswith(b"\xfd7zXZ")
            else None
        )
    except (OSError, EOFError, lzma.LZMAError):
        return None


MUTATORS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _bytes,
    _bytes,
    _words,
    _words,
    _structures,
    _structures,
    _structures,
    _packed,
)


def mutated(data: bytes, draw: random.Random) -> bytes:
    """Returns a mutated file."""
    inner = _unpacked(data)
    if inner is not None and draw.random() < 0.7:
        return (gzip.compress if data.startswith(b"\x1f") else lzma.compress)(mutated(inner, draw))
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        data = draw.choice(MUTATORS)(data, draw)
    return data[: 4 << 20]


@dataclass(frozen=True)
class Found:
    """A case that failed."""

    sample: Sample
    case: int
    data: bytes
    why: str
    said: str


def case(sample: Sample, seed: int, number: int) -> bytes:
    """Returns the file of one case. It is the same for the same seed and number."""
    return mutated(sample.data, random.Random(f"afflux {seed} {sample.name} {number}"))


def tried(sample: Sample, data: bytes, folder: Path) -> str | None:
    """Returns the reason why `afflux` handles a file wrongly, or None."""
    # Streams of a test runner (pytest) do not end with the call, so use the process's own.
    with contextlib.redirect_stdout(sys.__stdout__), contextlib.redirect_stderr(sys.__stderr__):
        ended = isolated.call(lay(sample, data, folder, "case.bin"), folder=folder)
    if why := ended.wrong("case.bin"):
        return f"{why}\n{ended.said[:4_000]}"
    if ended.code == 2:
        message = ended.said.rstrip("\n").split("\n")[-1]
        if not message.startswith("error: "):
            return f"a refusal that is no message\n{ended.said[:4_000]}"
    if odd := re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", ended.said):
        return f"U+{ord(odd[0]):04X} on the terminal\n{ended.said[:4_000]!r}"
    return None


def run(count: int, seed: int, only: str | None = None, first: int = 0) -> Iterator[Found | None]:
    """Runs `count` cases, cycling through the kinds. Yields None for each success."""
    samples = [sample for sample in every() if only is None or sample.name == only]
    with tempfile.TemporaryDirectory() as name:
        for number in range(first, first + count):
            sample = samples[number % len(samples)]
            data = case(sample, seed, number)
            why = tried(sample, data, Path(name))
            yield Found(sample, number, data, *why.split("\n", 1)) if why else None


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--count", type=int, default=1_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", metavar="KIND")
    options.add_argument("--case", type=int, help="this one alone")
    options.add_argument("--out", type=Path, default=Path("out/fuzz-importers"))
    given = options.parse_args()
    first, count = (given.case, 1) if given.case is not None else (0, given.count)
    wrong = 0
    for found in run(count, given.seed, given.only, first):
        if found is None:
            continue
        wrong += 1
        given.out.mkdir(parents=True, exist_ok=True)
        place = given.out / f"{found.sample.name}-{given.seed}-{found.case}"
        place.write_bytes(found.data)
        print(f"{place}: {found.why}\n{found.said}", file=sys.stderr)
    print(f"{count} inputs of importers, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
