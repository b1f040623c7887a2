"""Parses and formats keys, values and seeds as the command line writes them."""

import hashlib
import math
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from datetime import date, time
from fractions import Fraction
from numbers import Integral
from typing import Any

from .files import toml
from .files.keys import PART, split_key

#: Most points of a sweep, a search or a study. Manifest and table have one line per point.
MOST_POINTS = 100_000
#: Largest seed: scenario files hold signed 64-bit integers.
MOST_SEED = 2**63 - 1
#: Largest number of threads (`run.threads`), and of points at a time. More would help on no machine.
MOST_THREADS = 1024
#: Longest name of a point in characters and in bytes, without the digest that a shortened name gets.
#: A scenario's name has at most 200 bytes, because it becomes the name of a directory.
LONGEST_NAME, _LONGEST_BYTES = 120, 180

#: Families of units that can be converted into each other, from the smallest unit. A setting ends
#: in its unit.
FAMILIES: tuple[dict[str, int], ...] = (
    {
        "B": 1,
        "kB": 10**3,
        "KiB": 2**10,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
        "TB": 10**12,
        "TiB": 2**40,
    },
    {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
    {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12},
    {"packets": 1},
    {"%": 1},
)
#: A number with its unit.
QUANTITY = r"\s*(\d+(?:\.\d+)?(?:[eE]-?\d+)?)\s*([a-zA-Z%]*)\s*"


def assignment(text: str) -> tuple[str, str]:
    """Splits `KEY.PATH=VALUE` into key and value. Raises `ValueError`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise ValueError(f"{text}: expected KEY.PATH=VALUE, as in switch.buffer=9MB")
    return key.strip(), value.strip()


def value(text: str) -> Any:
    """Parses a value of `--set`: TOML, or a plain string if it is not valid TOML, or a date, which
    no key takes."""
    try:
        found = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return text if isinstance(found, date | time) else found


def quantity(text: str) -> tuple[Fraction, str] | None:
    """Splits a value such as `60kB` into number and unit, which is empty for a plain number. `None`
    for other text."""
    matched = re.fullmatch(QUANTITY, text)
    return (Fraction(matched[1]), matched[2]) if matched else None


def assignments(texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """Splits the assignments of `--set`. Raises `ValueError` for a key that is given twice, or that
    a later one replaces with its whole table."""
    pairs = [assignment(text) for text in texts or []]
    if twice := _repeated([key for key, _ in pairs]):
        raise ValueError(f"--set {twice} is given twice: a key has one value")
    earlier: list[tuple[tuple[str, ...], str]] = []
    for key, _ in pairs:
        path = _path(key)
        if lost := next((other for below, other in earlier if below[: len(path)] == path), None):
            raise ValueError(
                f"--set {lost} has no effect, because --set {key} replaces the whole table: write --set {key} before it"
            )
        earlier.append((path, key))
    return pairs


def _repeated(keys: Sequence[str]) -> str | None:
    """Returns the first key that is given again, in any spelling: `traffic.0.sizes` is
    `traffic[0].sizes`."""
    known: set[tuple[str, ...]] = set()
    for key in keys:
        if (path := _path(key)) in known:
            return key
        known.add(path)
    return None


def _path(key: str) -> tuple[str, ...]:
    """Returns the names and numbers that lead to a key; the text alone if it is no key, which the
    scenario will refuse."""
    try:
        return tuple(split_key(key))
    except ValueError:
        return (key,)


def varied(texts: Sequence[str] | None, like: str) -> list[tuple[str, str]]:
    """Splits the assignments of `--vary`. Raises `ValueError` for a key that is given twice; `like`
    shows how one option is written."""
    pairs = [assignment(text) for text in texts or []]
    if twice := _repeated([key for key, _ in pairs]):
        raise ValueError(
            f"--vary {twice} is given twice: name all its values in one option, as in --vary {twice}={like}"
        )
    return pairs


def changes(texts: Sequence[str] | None) -> dict[str, Any]:
    """Parses the assignments of `--set`. Raises `ValueError` for a key that is given twice."""
    return {key: value(item) for key, item in assignments(texts)}


def choices(text: str) -> list[str]:
    """Splits text at commas outside quotes, brackets and braces."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        depth += (character in "[{") - (character in "]}") if not quote else 0
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def seeds(text: str, where: str = "--seeds") -> list[int]:
    """Parses seeds written as `1-5`, `1,2,7` or both. Raises `ValueError`, which begins with
    `where`."""
    found: list[int] = []
    wanted = 0
    for part in text.split(","):
        matched = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (1, 0)
        if last < first:
            raise ValueError(
                f"{where} {text}: expected whole numbers and ranges from low to high, as in 1-5 or 1,2,7"
            )
        if last > MOST_SEED:
            raise ValueError(f"{where} {text}: a seed is at most {MOST_SEED}")
        wanted += last - first + 1
        if wanted > MOST_POINTS:
            raise ValueError(f"{where} {text}: more than {MOST_POINTS:,} seeds: name fewer")
        found += range(first, last + 1)
    if len(set(found)) < len(found):
        raise ValueError(f"{where} {text}: a seed is named twice")
    return found


def brief_seeds(found: Sequence[int]) -> str:
    """Formats seeds as `--seeds` takes them, shortened: `1-5`, or the first eight of them."""
    if len(found) > 2 and list(found) == list(range(found[0], found[0] + len(found))):
        return f"{found[0]}-{found[-1]}"
    return ", ".join(map(str, found[:8])) + (", …" if len(found) > 8 else "")


def limited(*lengths: int) -> None:
    """Raises `ValueError` if lists of these lengths have too many combinations."""
    if math.prod(lengths) > MOST_POINTS:
        raise ValueError(
            f"more than {MOST_POINTS:,} points: vary fewer values, or name fewer seeds"
        )


def seed(number: Any) -> int | None:
    """Returns a seed as Python's own number; `None` stays. Raises `ValueError` if scenarios cannot
    have it."""
    return whole("seed", number, 0, MOST_SEED)


def threads(number: Any) -> int | None:
    """Returns a number of threads as Python's own number; `None` stays. Raises `ValueError` if runs
    cannot have it."""
    return whole("threads", number, 1, MOST_THREADS)


def whole(name: str, number: Any, least: int, most: int) -> int | None:
    """Returns a whole number as Python's own; `None` stays. Raises `ValueError`, which begins with
    the `name` of the argument, for other numbers and for one below `least` or above `most`."""
    if number is None:
        return None
    fits = isinstance(number, Integral) and not isinstance(number, bool)
    if not fits or not least <= int(number) <= most:
        raise ValueError(f"{name} {number!r}: expected a whole number from {least} to {most}")
    return int(number)


def shown(item: Any) -> str:
    """Formats a value as TOML, but strings without quotes."""
    return item if isinstance(item, str) else toml.value(item)


def point_name(changes: Mapping[str, Any]) -> str:
    """Returns the name of a point, made of its changed keys. Equal changes give equal names, and a
    name can be a directory name."""
    words = ",".join(f"{key}={shown(item)}" for key, item in changes.items())
    name = re.sub(r"[^\w.,=+%\[\]-]", "_", words)[:LONGEST_NAME]
    # A character that is cut in two is left out.
    name = name.encode()[:_LONGEST_BYTES].decode(errors="ignore")
    return name if name == words else f"{name}~{hashlib.sha256(words.encode()).hexdigest()[:8]}"


def named_by(text: str, names: Collection[str]) -> str:
    """Returns which of these names of points is meant: the text itself, or the name of the point
    with these keys and values, written as in `--vary`. If there is none, returns the text."""
    if text in names:
        return text
    try:
        pairs = [assignment(part) for part in choices(text)]
    except ValueError:
        return text
    made = point_name({key: value(item) for key, item in pairs})
    return made if made in names else text


def short(keys: Sequence[str]) -> list[str]:
    """Shortens each key to its last parts, as few as distinguish it."""

    def last(key: str, parts: int) -> str:
        return ".".join(PART.findall(key)[-parts:])

    def fits(key: str, parts: int) -> bool:
        return [last(other, parts) for other in keys].count(last(key, parts)) == 1

    return [
        last(key, next((parts for parts in range(1, 9) if fits(key, parts)), 9)) for key in keys
    ]


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Shortens the names of points to the settings in which the points differ:
    `switch.buffer=9MB,switch.ecn.k=50kB` becomes `buffer=9MB k=50kB`. All names stay whole if some
    would no longer be distinct."""
    points = {name: _settings(name) for name in names}
    keys = [
        key
        for key in dict.fromkeys(key for point in points.values() for key in point)
        if len({point.get(key) for point in points.values()}) > 1
    ]
    shorter = dict(zip(keys, short(keys), strict=True))
    made = {
        name: " ".join(f"{shorter[key]}={text}" for key, text in point.items() if key in shorter)
        or name
        for name, point in points.items()
    }
    return made if len({*made.values()}) == len(made) else {name: name for name in names}


def _settings(name: str) -> dict[str, str]:
    """Returns the keys and values in the name of a point. Empty if the name has another form, or
    was cut."""
    pairs = [part.partition("=") for part in choices(name)]
    written = all(
        equals and re.fullmatch(r"[\w.\[\]-]+", key) for key, equals, _ in pairs
    ) and not re.search(r"~[0-9a-f]{8}$", name)
    return {key: text for key, _, text in pairs} if written else {}
