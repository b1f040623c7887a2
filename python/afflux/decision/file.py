"""Reads a decision file: designs, tenants and goals for a scenario. The scenario is in the same
file, or in a file that it names."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import settings, spelling
from ..metrics import Metric
from ..scenario import Scenario
from ..words import text
from .measures import MEASURES, Tenant, of_tenant

#: Tables and keys of a decision that a scenario file may hold in addition to its own.
KEYS = ("scenario", "seeds", "currency", "design", "tenant", "goal", "condition", "variant")
_MISSING = object()


@dataclass(frozen=True)
class Candidate:
    """A design: its name and the scenario keys that it changes."""

    name: str
    set: Mapping[str, Any] = field(default_factory=dict)
    #: Price of the whole fabric; None for the price from the scenario's `[cost]`.
    price: float | None = None
    #: Power of the whole fabric in W; None if it is not known.
    power: float | None = None


@dataclass(frozen=True)
class Goal:
    """A goal: a metric of a tenant and its bound."""

    #: Tenant of the goal; None for all traffic.
    tenant: Tenant | None
    #: Name of the metric in `MEASURES`.
    measure: str
    #: Absolute bound in ns or bit/s or as a ratio; None for a goal that is relative to other
    #: values.
    limit: float | None = None
    #: For a relative goal: the share by which the value may be worse than the reference value.
    within: float | None = None
    #: Design that gives the reference values of a relative goal; None for the design that is
    #: judged.
    against: str | None = None
    #: True if the reference values are those of the tenant alone, without the other tenants'
    #: traffic.
    alone: bool = False
    #: True if some measured values include unfinished flows, queries or jobs.
    unfinished: bool = False

    @property
    def metric(self) -> Metric:
        return of_tenant(self.tenant, self.measure, self.unfinished)

    @property
    def factor(self) -> float:
        """Bound of a relative goal as a ratio to the reference value."""
        assert self.within is not None, "absolute goals have a limit"
        return 1 + self.within if self.metric.lower_is_better else 1 - self.within

    @property
    def name(self) -> str:
        """Key of the goal's values. Two goals with different bounds on the same metric of a tenant
        share it."""
        return f"{self.tenant.name if self.tenant else 'all'}.{self.measure}"


@dataclass(frozen=True)
class Condition:
    """Further keys for some of the designs, to test a change that may break the choice."""

    name: str
    designs: tuple[str, ...]
    set: Mapping[str, Any]


@dataclass(frozen=True)
class Variant:
    """Another fabric, or another placement of the tenants, on which all designs and the tenants' own fabrics are compared again."""

    name: str
    #: Keys of the scenario that differ; none: the scenario as it is.
    set: Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """The content of a decision file."""

    path: Path
    scenario: Scenario
    #: File that holds the scenario: the decision file itself, or the one that it names.
    source: Path
    designs: tuple[Candidate, ...]
    tenants: tuple[Tenant, ...]
    goals: tuple[Goal, ...]
    conditions: tuple[Condition, ...] = ()
    #: The first variant is the scenario as it is. Empty, or at least two.
    variants: tuple[Variant, ...] = ()
    #: Seeds; None for the default of the command.
    seeds: tuple[int, ...] | None = None
    currency: str | None = None

    @property
    def order(self) -> list[str]:
        return [design.name for design in self.designs]

    def design(self, name: str) -> Candidate:
        return next(design for design in self.designs if design.name == name)


def read(path: Path, scenario: Path | None = None, otherwise: Path | None = None) -> Question:
    """Reads a decision file. `scenario` replaces the scenario that the file names. `otherwise` is
    used if the file neither names nor holds one.

    Raises `ValueError` with the file, the key, the value found and the allowed values.
    """
    raw = path.read_bytes()
    try:
        data = tomllib.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}:{line}: the file is not text in UTF-8: save it as UTF-8"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    own = {key: data.pop(key) for key in KEYS if key in data}
    named = _take(path, "", own, "scenario", str, None)
    if scenario is None and named is None and not data and (scenario := otherwise) is None:
        raise ValueError(
            f'{path}: there is no scenario: write scenario = "FILE.toml", or the scenario itself beside the designs'
        )
    if (scenario or named) and data:
        wrong = next(iter(data))
        raise ValueError(f"{path}: key {wrong}: {spelling.unknown('key', wrong, list(KEYS))}")
    source = path if data else scenario or path.parent / str(named)
    made = Scenario(data, path) if data else Scenario.load(source)
    designs = tuple(
        _design(path, place, table) for place, table in enumerate(_tables(path, own, "design"))
    )
    names = [design.name for design in designs]
    tenants = _tenants(path, made, own)
    goals = tuple(
        _goal(path, place, table, names, tenants)
        for place, table in enumerate(_tables(path, own, "goal"))
    )
    conditions = tuple(
        _condition(path, place, table, names)
        for place, table in enumerate(_tables(path, own, "condition"))
    )
    variants = _variants(path, _tables(path, own, "variant"))
    further = (
        ("condition", [one.name for one in conditions]),
        ("variant", [one.name for one in variants]),
    )
    for kind, some in (
        ("tenant", [tenant.name for tenant in tenants]),
        ("design", names),
        *further,
    ):
        for name in some:
            if some.count(name) > 1:
                raise ValueError(
                    f"{path}: {kind}: the name {name!r} stands {some.count(name)} times: names must differ"
                )
    if len(designs) < 2:
        raise ValueError(
            f"{path}: {len(designs)} design{'s' * (len(designs) != 1)}: write at least two [[design]] blocks; the first is today's"
        )
    seeds = _take(path, "", own, "seeds", str, None)
    currency = _take(path, "", own, "currency", str, None) or (
        made.get("cost.currency", "USD") if made.get("cost") else None
    )
    chosen = None if seeds is None else tuple(settings.seeds(seeds, f"{path}: key seeds:"))
    return Question(
        path, made, source, designs, tenants, goals, conditions, variants, chosen, currency
    )


def _tables(path: Path, data: Mapping[str, Any], kind: str) -> Sequence[Mapping[str, Any]]:
    found = data.get(kind, [])
    if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
        raise ValueError(f"{path}: key {kind}: write blocks [[{kind}]]")
    return found


def _only(path: Path, where: str, table: Mapping[str, Any], allowed: Sequence[str]) -> None:
    for key in table:
        if key not in allowed:
            raise ValueError(
                f"{path}: key {where}{key}: {spelling.unknown('key', key, list(allowed))}"
            )


def _take(
    path: Path,
    where: str,
    table: Mapping[str, Any],
    key: str,
    kind: type | tuple[type, ...],
    default: Any = _MISSING,
) -> Any:
    value = table.get(key, default)
    if value is _MISSING:
        raise ValueError(f"{path}: key {where}{key} is missing")
    if value is not default and (
        not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
    ):
        wanted = {
            str: "text in quotes",
            dict: "a table",
            list: "a list",
            bool: "true or false",
        }.get(kind if isinstance(kind, type) else object, "a number")
        raise ValueError(f"{path}: key {where}{key}: found {value!r}: write {wanted}")
    return value


def _name(path: Path, where: str, table: Mapping[str, Any], others: str = "") -> str:
    name: str = _take(path, where, table, "name", str)
    if not re.fullmatch(rf"[\w-][\w .{others}-]*", name):
        allowed = (
            "letters, digits, blanks, dots, hyphens and colons"
            if others
            else "letters, digits, blanks, dots and hyphens"
        )
        raise ValueError(f"{path}: key {where}name: found {name!r}: write {allowed}")
    return name


def _design(path: Path, place: int, table: Mapping[str, Any]) -> Candidate:
    where = f"design[{place}]."
    _only(path, where, table, ("name", "set", "price", "power"))
    numbers = {}
    for key in ("price", "power"):
        numbers[key] = _take(path, where, table, key, (int, float), None)
        if numbers[key] is not None and numbers[key] < 0:
            raise ValueError(f"{path}: key {where}{key}: found {numbers[key]}: write 0 or more")
    return Candidate(
        _name(path, where, table), _take(path, where, table, "set", dict, {}), **numbers
    )


def _tenants(path: Path, scenario: Scenario, own: Mapping[str, Any]) -> tuple[Tenant, ...]:
    """Returns the tenants that the file names. If it names none, each traffic class is a tenant."""
    blocks = [block for block in scenario.get("traffic", []) if isinstance(block, dict)]
    classes = list(
        dict.fromkeys(str(block.get("class") or block.get("name") or "default") for block in blocks)
    )

    def of(name: str, some: Sequence[str], load: str | None = None) -> Tenant:
        kept = Tenant(name, tuple(some), load=load)
        mine = [
            str(block.get("name") or block.get("kind")) for block in blocks if belongs(block, kept)
        ]
        return replace(kept, blocks=tuple(mine))

    tables = _tables(path, own, "tenant")
    if not tables:
        return tuple(of(name, [name]) for name in classes)
    found = []
    for place, table in enumerate(tables):
        where = f"tenant[{place}]."
        _only(path, where, table, ("name", "classes", "load"))
        name = _name(path, where, table)
        some = _take(path, where, table, "classes", list, [name])
        for wanted in some:
            if not any(belongs(block, Tenant(name, (str(wanted),))) for block in blocks):
                raise ValueError(
                    f"{path}: key {where}{'classes' if 'classes' in table else 'name'}: {spelling.unknown('class of traffic', str(wanted), classes)}"
                )
        load = _take(path, where, table, "load", str, None)
        if load is not None and scenario.get(load) is None:
            raise ValueError(f"{path}: key {where}load: the scenario has no {load}")
        found.append(of(name, [str(wanted) for wanted in some], load))
    return tuple(found)


def belongs(block: Mapping[str, Any], tenant: Tenant) -> bool:
    """True if a traffic block belongs to the tenant: by its class, or by its name if it has no
    class."""
    return tenant.has(str(block.get("class") or block.get("name") or "default"))


def _goal(
    path: Path,
    place: int,
    table: Mapping[str, Any],
    designs: Sequence[str],
    tenants: Sequence[Tenant],
) -> Goal:
    where = f"goal[{place}]."
    _only(
        path,
        where,
        table,
        ("tenant", "measure", "at_most", "at_least", "within", "design", "alone"),
    )
    measure = _take(path, where, table, "measure", str)
    if measure not in MEASURES:
        raise ValueError(
            f"{path}: key {where}measure: {spelling.unknown('measure', measure, list(MEASURES))}"
        )
    name = _take(path, where, table, "tenant", str, None)
    tenant = next((one for one in tenants if one.name == name), None)
    if name is not None and tenant is None:
        raise ValueError(
            f"{path}: key {where}tenant: {spelling.unknown('tenant', name, [one.name for one in tenants])}"
        )
    metric = MEASURES[measure]
    bounds = [key for key in ("at_most", "at_least", "within") if key in table]
    if len(bounds) != 1:
        raise ValueError(
            f"{path}: {where[:-1]}: found {' and '.join(bounds) or 'no bound'}: write one of at_most, at_least and within"
        )
    if bounds[0] != "within":
        for key in ("design", "alone"):
            if key in table:
                raise ValueError(
                    f"{path}: key {where}{key}: it belongs to within; {bounds[0]} is a bound of its own"
                )
        right = "at_most" if metric.lower_is_better else "at_least"
        if bounds[0] != right:
            raise ValueError(
                f"{path}: key {where}{bounds[0]}: {measure} is better the {'lower' if metric.lower_is_better else 'higher'} it is: write {right}"
            )
        return Goal(tenant, measure, limit=_quantity(path, f"{where}{right}", table[right], metric))
    within = _take(path, where, table, "within", (int, float))
    if not 0 <= within < (100 if metric.lower_is_better else 1):
        most = "below 100" if metric.lower_is_better else "below 1, as more is better"
        raise ValueError(
            f"{path}: key {where}within: found {within}: write a share of 0 or more and {most} (0.1 is 10 %)"
        )
    alone = table.get("alone", False)
    against = _take(path, where, table, "design", str, None)
    if not isinstance(alone, bool):
        raise ValueError(f"{path}: key {where}alone: found {alone!r}: write true or false")
    if against is None and not alone:
        raise ValueError(
            f'{path}: {where[:-1]}: within needs design = "NAME", alone = true, or both'
        )
    if against is not None and against not in designs:
        raise ValueError(
            f"{path}: key {where}design: {spelling.unknown('design', against, list(designs))}"
        )
    if alone and tenant is None:
        raise ValueError(f"{path}: key {where}alone: all traffic is alone already: name a tenant")
    return Goal(tenant, measure, within=float(within), against=against, alone=alone)


def _quantity(path: Path, where: str, value: Any, metric: Metric) -> float:
    """Parses a bound with its unit. Returns it in the unit of the metric."""
    units = (
        {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
        if metric.show is text.time
        else {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12}
    )
    if metric.show is text.ratio:
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return float(value)
        raise ValueError(f"{path}: key {where}: found {value!r}: write a number above 0")
    match = (
        re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?(?:e-?[0-9]+)?)\s*([A-Za-z]+)\s*", value)
        if isinstance(value, str)
        else None
    )
    if match is None or match[2] not in units or float(match[1]) <= 0:
        raise ValueError(
            f'{path}: key {where}: found {value!r}: write a number above 0 with one of {", ".join(units)} in quotes, as in "2{list(units)[2]}"'
        )
    return float(match[1]) * units[match[2]]


def _condition(
    path: Path, place: int, table: Mapping[str, Any], designs: Sequence[str]
) -> Condition:
    where = f"condition[{place}]."
    _only(path, where, table, ("name", "designs", "set"))
    some = _take(path, where, table, "designs", list)
    for name in some:
        if name not in designs:
            raise ValueError(
                f"{path}: key {where}designs: {spelling.unknown('design', str(name), list(designs))}"
            )
    return Condition(_name(path, where, table), tuple(some), _take(path, where, table, "set", dict))


def _variants(path: Path, tables: Sequence[Mapping[str, Any]]) -> tuple[Variant, ...]:
    found = []
    for place, table in enumerate(tables):
        where = f"variant[{place}]."
        _only(path, where, table, ("name", "set"))
        # Ratios such as 2:1 are names, too.
        name = _name(path, where, table, others=":")
        if place == 0 and "set" in table:
            raise ValueError(
                f"{path}: key {where}set: the first variant is the scenario as it is: leave the key out"
            )
        found.append(Variant(name, _take(path, where, table, "set", dict) if place else {}))
    if len(found) == 1:
        raise ValueError(
            f"{path}: key variant: found 1: write the scenario as it is, and at least one other variant"
        )
    return tuple(found)
