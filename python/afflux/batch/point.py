"""One simulation of a batch, and its scenario with some keys changed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _core, settings
from ..congestion import check_class
from ..files import toml
from ..scenario import Scenario, existing

#: A scenario file, or a scenario built in code.
Source = str | os.PathLike[str] | Scenario


@dataclass(frozen=True)
class Point:
    """One simulation. Points of one name are one design, with several seeds."""

    #: Name of the design.
    name: str
    #: A scenario file, or a scenario built in code.
    scenario: Source
    #: Keys that differ from the scenario file, as `{"switch.buffer": "9MB"}`.
    set: Mapping[str, Any] = field(default_factory=dict)
    #: Seed; None for the seed of the scenario.
    seed: int | None = None

    def load(self, threads: int = 1) -> _core.Scenario:
        """Loads and validates the scenario of the point. Raises `ScenarioError`."""
        return load(self.scenario, {**self.set, "name": self.name}, seed=self.seed, threads=threads)

    @property
    def path(self) -> Path:
        """The scenario file. For a scenario built in code: the file that its relative paths start from."""
        return self.scenario.path if isinstance(self.scenario, Scenario) else Path(self.scenario)


def load(
    scenario: Source,
    changes: Mapping[str, Any],
    *,
    seed: int | None = None,
    threads: int | None = None,
) -> _core.Scenario:
    """Loads a scenario with some keys changed and validates it, with the class of its
    `[host.python]`. Raises `ScenarioError`, which is also a `FileNotFoundError` if the file does not exist, and `ValueError` for a seed that is no
    whole number from 0 on."""
    seed = settings.seed(seed)
    pairs = [(key, toml.value(value)) for key, value in changes.items()]
    if isinstance(scenario, Scenario):
        text, path = scenario.to_toml(), scenario.path
        loaded = _core.parse(text, path, set=pairs, seed=seed, threads=threads)
        check_class(loaded, path, pairs, text)
        return loaded
    loaded = _core.load(existing(scenario), set=pairs, seed=seed, threads=threads)
    check_class(loaded, scenario, pairs)
    return loaded
