"""Scenarios as Python objects that can be read, changed and run."""

import copy
import errno
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Self

from . import _core, settings, spelling
from .congestion import CongestionControl, check_callable, check_class, checked_maker, is_paced
from .display import Card, Displayed
from .files import toml
from .files.keys import split_key
from .results import failed_checks, own
from .results.result import Result
from .sketch import card


class MissingScenario(_core.ScenarioError, FileNotFoundError):
    """A scenario file does not exist."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        # The attributes of every `ScenarioError`.
        self.file, self.line, self.key = os.fspath(path), None, None

    def __str__(self) -> str:
        return f"{self.file}: there is no such file"


def existing(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Returns the path of a scenario. Raises `MissingScenario` if it does not exist."""
    if not os.path.lexists(path):
        raise MissingScenario(path)
    return path


def load(path: str | os.PathLike[str]) -> "Scenario":
    """Reads and validates a scenario file. Raises `ScenarioError`, which is also a
    `FileNotFoundError` if the file does not exist."""
    return Scenario.load(path)


class Scenario(Displayed, MutableMapping[str, Any]):
    """A scenario as nested dicts, as in its TOML file, with the path that its relative paths start
    from.

    Each of these changes a key: `scenario["switch.buffer"] = "9MB"`, `scenario["switch"]["buffer"]
    = "9MB"`, `scenario.set("switch.buffer", "9MB")`. `check()` and `run()` validate the scenario.
    To build one in code: `Scenario(topology={"kind": "star", "hosts": 9}, traffic=[{…}])`, with
    `format = 1` filled in.
    """

    #: Path of the scenario file. Relative paths in the scenario start from its directory.
    path: Path
    #: Tables, keys and values as in the file.
    data: dict[str, Any]

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        path: str | os.PathLike[str] = "scenario.toml",
        **tables: Any,
    ) -> None:
        self.path = Path(path)
        self.data = copy.deepcopy({"format": 1, **(data or {}), **tables})
        # Text and parsed content of the file. Errors name lines of this text as long as the
        # scenario is unchanged.
        self._text: str | None = None
        self._original: dict[str, Any] | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads and validates a scenario file. Raises `ScenarioError`, which is also a
        `FileNotFoundError` if the file does not exist."""
        check_class(_core.load(existing(path)), path)
        return cls.parse(Path(path).read_text(encoding="utf-8-sig"), path)

    @classmethod
    def parse(cls, text: str, path: str | os.PathLike[str] = "scenario.toml") -> Self:
        """Parses scenario text as if `path` contained it. Checks only the TOML syntax. Raises
        `ScenarioError`."""
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            _core.parse(text, path)  # raises the error in afflux's own words
            raise
        scenario = cls(path=path)
        scenario.data = copy.deepcopy(data)
        scenario._text, scenario._original = text, copy.deepcopy(data)
        return scenario

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value at a path such as `"switch.ecn.kmin"` or `"traffic.0.load"` (also
        `"traffic[0].load"`). `"traffic.web.load"` finds the block with the name or class `web`.
        A name with dots stands in quotes: `'host.transports."my.tcp".min_rto'`."""
        try:
            return self._find(split_key(key))
        except (KeyError, IndexError, TypeError, ValueError):
            return default

    def set(self, key: str, value: Any) -> Self:
        """Writes a value at a path as `get` takes it, and creates missing tables. Raises
        `TypeError` or `ValueError` if the path leads into a value, and `ValueError` if it is
        none, or names a block that does not exist."""
        *tables, last = split_key(key)
        table = self._find(tables, make=True)
        if not isinstance(table, list | dict):
            raise TypeError(f"{key}: {'.'.join(tables)} is {table!r}, not a table")
        if isinstance(table, list):
            table[_number(table, last)] = value
        else:
            table[last] = value
        return self

    def copy(self) -> Self:
        """Returns an independent copy."""
        return copy.deepcopy(self)

    def to_toml(self) -> str:
        """Returns the scenario as TOML. An unchanged scenario keeps its original text."""
        return (
            self._text
            if self._text is not None and self.data == self._original
            else toml.dumps(self.data)
        )

    def check(self, *, seed: int | None = None, threads: int | None = None) -> _core.Scenario:
        """Validates the scenario, with the class of its `[host.python]`. Returns its name, hash,
        resolved text, number of hosts, flows, … Raises `ScenarioError`, and `ValueError` for a seed
        that is no whole number from 0 on, or a number of threads below 1 or above 1024."""
        seed, threads = settings.seed(seed), settings.threads(threads)
        text, path = self.to_toml(), self.path
        if text != self._text and self._text is not None:
            # Line numbers refer to the changed text, so the path must not look like the file. The
            # stem stays.
            path = path.with_name(path.name + " (changed)")
        checked = _core.parse(text, path, seed=seed, threads=threads)
        check_class(checked, path, text=text)
        return checked

    def run(
        self,
        *,
        seed: int | None = None,
        threads: int | None = None,
        out: str | os.PathLike[str] | None = None,
        force: bool = False,
        on_progress: Callable[[_core.Progress], object] | None = None,
        interval: float = 0.1,
        congestion: Callable[[], CongestionControl] | None = None,
    ) -> Result:
        """Simulates the scenario. Other Python threads continue meanwhile, and Ctrl-C stops the
        run.

        With `out` a result directory is written. An existing one is refused without `force`, and
        always if it holds files that are not part of its result. `on_progress` is called about
        every `interval` seconds. Raises `ScenarioError`, `ResultExists`, `RunError`, `ValueError`;
        warns if the result fails one of its own checks.

        `congestion` is a class, or a callable that returns a new congestion control at each call
        (see `CongestionControl`): one for each connection, and with a handshake (the default) a
        second one, which replaces it when the connection opens. All TCP connections use it instead
        of the scenario's. Such a run is slow, uses one thread, writes no directory, and is only as repeatable as the class. A
        class that `[host.python]` of the scenario names is used without this argument, and its
        results have directories.
        """
        if out is not None and force and (found := own.foreign(out)):
            raise ValueError(found)
        if congestion is not None:
            check_callable(congestion)
        checked = self.check(seed=seed, threads=threads if congestion is None else 1)
        if congestion is None:
            return failed_checks.warned(
                Result.of_run(
                    checked.run(out, force=force, on_progress=on_progress, interval=interval)
                )
            )
        run = checked.run(
            out,
            force=force,
            on_progress=on_progress,
            interval=interval,
            congestion=checked_maker(congestion),
            paced=is_paced(congestion),
        )
        result = Result.of_run(run)
        # Neither the scenario nor the hashes of the result name this congestion control, so the
        # summary does.
        name = getattr(congestion, "__name__", type(congestion).__name__)
        result.summary["congestion"] = f"python:{name}"
        result.summary.setdefault("notes", []).append(
            f"congestion control in Python ({name}): outside the promise that results repeat"
        )
        return failed_checks.warned(result)

    def _find(self, keys: list[str], make: bool = False) -> Any:
        place: Any = self.data
        for number, key in enumerate(keys):
            if isinstance(place, list):
                place = place[_number(place, key)]
            elif not isinstance(place, dict):
                whole = ".".join(keys)
                raise TypeError(f"{whole}: {'.'.join(keys[:number])} is {place!r}, not a table")
            elif make:
                place = place.setdefault(key, {})
            else:
                place = place[key]
        return place

    def __getitem__(self, key: str) -> Any:
        try:
            return self._find(split_key(key))
        except (IndexError, TypeError, ValueError):
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: Any) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        try:
            *tables, last = split_key(key)
            table = self._find(tables)
            del table[_number(table, last) if isinstance(table, list) else last]
        except (IndexError, TypeError, ValueError):
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def _card(self) -> Card:
        return card(
            self.data, self.path, built=self._original is None, changed=self.data != self._original
        )


def _number(blocks: list[Any], key: str) -> int:
    """Returns the index of a block in a list, given its number, its `name`, or its `class` if no
    block has the name. Raises `ValueError`."""
    if key.isdecimal():
        if int(key) >= len(blocks):
            there = f"the last one is {len(blocks) - 1}" if blocks else "there are none"
            raise ValueError(f"no block has the number {key}: {there}")
        return int(key)
    known: dict[str, None] = {}
    for by in ("name", "class"):
        names = [block.get(by) if isinstance(block, dict) else None for block in blocks]
        if names.count(key) > 1:
            raise ValueError(f"several blocks have {by} = {key!r}: write the number of one of them")
        if key in names:
            return names.index(key)
        known |= {name: None for name in names if isinstance(name, str)}
    raise ValueError(
        spelling.unknown("block", key, list(known))
        if known
        else f"no block has a name or a class {key!r}: write its number"
    )
