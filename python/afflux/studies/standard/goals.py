"""Tenants with their goals, and the designs: templates/goals/standard.toml, or a file of the user's."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ... import spelling
from ...metrics import Metric
from .measures import MEASURES

_MISSING = object()


@dataclass(frozen=True)
class Tenant:
    """A block of traffic whose name and class are the tenant's name."""

    name: str
    #: A name in `MEASURES`.
    measure: str
    #: The goal: the share by which the value may be worse than on the tenant's own fabric.
    within: float
    #: The design of the fabric that the tenant would have for itself.
    own: str
    #: The key that is multiplied when the mixture is varied.
    load: str

    @property
    def metric(self) -> Metric:
        return MEASURES[self.measure]

    @property
    def limit(self) -> float:
        """The goal as a ratio of the value on the tenant's own fabric."""
        return 1 + self.within if self.metric.lower_is_better else 1 - self.within


@dataclass(frozen=True)
class Candidate:
    """A design of the shared fabric."""

    name: str
    set: Mapping[str, Any] = field(default_factory=dict)
    #: Power of one switch; None if it is not known.
    watts: float | None = None


@dataclass(frozen=True)
class Condition:
    """Further keys for some of the designs: a change that may break the choice."""

    name: str
    designs: tuple[str, ...]
    set: Mapping[str, Any]


@dataclass(frozen=True)
class Goals:
    path: Path
    tenants: tuple[Tenant, ...]
    designs: tuple[Candidate, ...]
    conditions: tuple[Condition, ...]

    @property
    def order(self) -> list[str]:
        return [design.name for design in self.designs]

    def design(self, name: str) -> Candidate:
        return next(design for design in self.designs if design.name == name)


def read(path: Path) -> Goals:
    """Raises `ValueError` with the file, the key, what was found and what is allowed."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    _only(path, "", data, ("tenant", "design", "condition"))
    designs = tuple(_design(path, place, table) for place, table in enumerate(_tables(path, data, "design")))
    names = [design.name for design in designs]
    tenants = tuple(_tenant(path, place, table, names) for place, table in enumerate(_tables(path, data, "tenant")))
    conditions = tuple(_condition(path, place, table, names) for place, table in enumerate(data.get("condition", [])))
    for kind, some in (("tenant", [tenant.name for tenant in tenants]), ("design", names), ("condition", [one.name for one in conditions])):
        for name in some:
            if some.count(name) > 1:
                raise ValueError(f"{path}: {kind}: the name {name!r} stands {some.count(name)} times: names must differ")
    if len(designs) < 2 or len(tenants) < 2:
        raise ValueError(f"{path}: {len(tenants)} tenants, {len(designs)} designs: write at least two of each")
    return Goals(path, tenants, designs, conditions)


def _tables(path: Path, data: Mapping[str, Any], kind: str) -> Sequence[Mapping[str, Any]]:
    found = data.get(kind, [])
    if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
        raise ValueError(f"{path}: key {kind}: write blocks [[{kind}]]")
    return found


def _only(path: Path, where: str, table: Mapping[str, Any], allowed: Sequence[str]) -> None:
    for key in table:
        if key not in allowed:
            raise ValueError(f"{path}: key {where}{key}: {spelling.unknown('key', key, list(allowed))}")


def _take(path: Path, where: str, table: Mapping[str, Any], key: str, kind: type | tuple[type, ...], default: Any = _MISSING) -> Any:
    value = table.get(key, default)
    if value is _MISSING:
        raise ValueError(f"{path}: key {where}{key} is missing")
    if value is not default and (not isinstance(value, kind) or isinstance(value, bool)):
        wanted = "text in quotes" if kind is str else "a table" if kind is dict else "a list" if kind is list else "a number"
        raise ValueError(f"{path}: key {where}{key}: found {value!r}: write {wanted}")
    return value


def _name(path: Path, where: str, table: Mapping[str, Any]) -> str:
    name: str = _take(path, where, table, "name", str)
    if not re.fullmatch(r"[\w-][\w .-]*", name):
        raise ValueError(f"{path}: key {where}name: found {name!r}: write letters, digits, blanks, dots and hyphens")
    return name


def _tenant(path: Path, place: int, table: Mapping[str, Any], designs: Sequence[str]) -> Tenant:
    where = f"tenant[{place}]."
    _only(path, where, table, ("name", "measure", "within", "own", "load"))
    measure, own = _take(path, where, table, "measure", str), _take(path, where, table, "own", str)
    if measure not in MEASURES:
        raise ValueError(f"{path}: key {where}measure: {spelling.unknown('measure', measure, list(MEASURES))}")
    if own not in designs:
        raise ValueError(f"{path}: key {where}own: {spelling.unknown('design', own, list(designs))}")
    within = _take(path, where, table, "within", (int, float))
    if not 0 < within < (100 if MEASURES[measure].lower_is_better else 1):
        most = "below 100" if MEASURES[measure].lower_is_better else "below 1, as more is better"
        raise ValueError(f"{path}: key {where}within: found {within}: write a share above 0 and {most} (0.1 is 10 %)")
    return Tenant(_name(path, where, table), measure, float(within), own, _take(path, where, table, "load", str))


def _design(path: Path, place: int, table: Mapping[str, Any]) -> Candidate:
    where = f"design[{place}]."
    _only(path, where, table, ("name", "set", "watts"))
    watts = _take(path, where, table, "watts", (int, float), None)
    return Candidate(_name(path, where, table), _take(path, where, table, "set", dict, {}), watts)


def _condition(path: Path, place: int, table: Mapping[str, Any], designs: Sequence[str]) -> Condition:
    where = f"condition[{place}]."
    _only(path, where, table, ("name", "designs", "set"))
    some = _take(path, where, table, "designs", list)
    for name in some:
        if name not in designs:
            raise ValueError(f"{path}: key {where}designs: {spelling.unknown('design', str(name), list(designs))}")
    return Condition(_name(path, where, table), tuple(some), _take(path, where, table, "set", dict))
