"""SONiC's config_db.json: its buffer and QoS tables read into `[switch]`, and a design written back as a patch."""

import copy
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _core, toml
from .design import of_tables, to_scenario
from .patch import of_design
from .ports import gather
from .tables import ConfigError, Tables, read

__all__ = ["ConfigError", "exported", "imported", "read"]

#: What stands in for a fabric where none is given.
_HOSTS = 8


def imported(paths: Sequence[str | os.PathLike[str]], into: str | os.PathLike[str] | None = None, name: str | None = None) -> tuple[str, list[str]]:
    """A scenario, as TOML, whose switches are set as the files say, and notes about what is left out.

    Buffers and QoS often come apart: several files are taken together. `into` is the scenario whose `[switch]` is set; without one a star of
    hosts stands in for the fabric. `name` is the scenario's, by default the first file's: configurations of two switches are two designs.
    Raises `ConfigError`.
    """
    tables, notes = _together(paths)
    design, more = of_tables(tables)
    settings = to_scenario(design)
    if into is None:
        data: dict[str, Any] = {
            "format": 1,
            "topology": {"kind": "star", "hosts": _HOSTS, "rate": "25Gbps", "delay": "1us"},
            "traffic": [{"kind": "permutation", "sizes": "1MB"}],
        }
        more.append(f"the fabric is not in the file: a star of {_HOSTS} hosts at 25 Gbps stands in for it")
    else:
        data = tomllib.loads(Path(into).read_text(encoding="utf-8"))
    named: dict[str, Any] = {"format": 1, "name": name or Path(paths[0]).stem}
    data = named | {key: item for key, item in data.items() if key not in named}
    switch = {key: value for key, value in data.get("switch", {}).items() if key == "override"}
    data["switch"] = {**settings["switch"], **switch}
    if "host" in settings:
        data["host"] = {**data.get("host", {}), **settings["host"]}
    data["sonic"] = gather(tables)
    text = toml.dumps(data)
    _core.parse(text, into or "imported.toml")
    return text, notes + more


def _together(paths: Sequence[str | os.PathLike[str]]) -> tuple[Tables, list[str]]:
    tables: Tables = {}
    notes: list[str] = []
    for path in paths:
        found, of_file = read(path)
        for name, entries in found.items():
            twice = tables.get(name, {}).keys() & entries.keys()
            if any(tables[name][key] != entries[key] for key in twice):
                raise ConfigError(f"{path}: {name} → {min(twice)}: another of the files says something else")
            tables.setdefault(name, {}).update(entries)
        notes += [f"{path}: {note}" for note in of_file] if len(paths) > 1 else of_file
    return tables, notes


def exported(path: str | os.PathLike[str], ports: int | None = None) -> tuple[Tables, list[str]]:
    """config_db tables for a scenario's `[switch]`, and what SONiC cannot be told. Raises `ScenarioError`."""
    checked = _core.load(path)
    written: Mapping[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    if "sonic" in written:
        # What was imported says which fields SONiC computes by itself: defaults of the simulation are not written over them.
        scenario = copy.deepcopy(dict(written))
    else:
        scenario = toml.with_defaults(checked.resolved)
    return of_design(scenario, ports)
