"""Reads a decision file: designs, tenants and goals for a scenario. The scenario is in the same
file, or in a file that it names."""

import math
import operator
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import settings, spelling
from ..batch import given
from ..files.keys import split_key
from ..metrics import Metric
from ..scenario import Scenario
from ..words import text
from . import kinds
from .blocks import belongs, class_of, described, drawn_name
from .located import File, Place
from .measures import MEASURES, Tenant, key_of, of_tenant

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
        return key_of(self.tenant, self.measure)


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

    Raises `ValueError` with the file, the line, the key, the value found and the allowed values.
    """
    raw = path.read_bytes()
    try:
        file = File(path, raw.decode("utf-8-sig"))
        data = tomllib.loads(file.text)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}:{line}: the file is not text in UTF-8: save it as UTF-8"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise file.not_toml(error) from None
    own = {key: data.pop(key) for key in KEYS if key in data}
    named = _take(file, (), own, "scenario", str, None)
    if scenario is None and named is None and not data and (scenario := otherwise) is None:
        raise ValueError(
            f'{path}: there is no scenario: write scenario = "FILE.toml", or the scenario itself beside the designs'
        )
    if (scenario or named) and data:
        wrong = next(iter(data))
        raise file.wrong((wrong,), f": {spelling.unknown('key', wrong, list(KEYS))}")
    source = path if data else scenario or path.parent / str(named)
    if scenario is None and named is not None and not source.is_file():
        raise file.wrong(("scenario",), f": found {named!r}: there is no file {source}")
    made = Scenario(data, path) if data else Scenario.load(source)
    designs = tuple(
        _design(file, ("design", place), table)
        for place, table in enumerate(_tables(file, own, "design"))
    )
    names = [design.name for design in designs]
    _priced(file, made, designs)
    tenants = _tenants(file, made, own)
    goals = tuple(
        _goal(file, ("goal", place), table, names, tenants)
        for place, table in enumerate(_tables(file, own, "goal"))
    )
    _measurable(file, made, goals, own)
    conditions = tuple(
        _condition(file, ("condition", place), table, names)
        for place, table in enumerate(_tables(file, own, "condition"))
    )
    variants = _variants(file, _tables(file, own, "variant"))
    further = (
        ("condition", [one.name for one in conditions]),
        ("variant", [one.name for one in variants]),
    )
    for kind, some in (
        ("tenant", [tenant.name for tenant in tenants]),
        ("design", names),
        *further,
    ):
        for place, name in enumerate(some):
            if name in some[:place]:
                raise file.wrong(
                    (kind, place, "name"),
                    f": the name {name!r} stands {some.count(name)} times: names must differ",
                )
    if len(designs) < 2:
        found = f": found {len(designs)} design{'s' * (len(designs) != 1)}"
        raise file.wrong(
            ("design",), f"{found}: write at least two [[design]] blocks; the first is today's"
        )
    seeds = _take(file, (), own, "seeds", str, None)
    currency = _take(file, (), own, "currency", str, None) or (
        made.get("cost.currency", "USD") if made.get("cost") else None
    )
    chosen = None if seeds is None else _seeds(file, seeds)
    return Question(
        path, made, source, designs, tenants, goals, conditions, variants, chosen, currency
    )


def taken_for_scenario(path: Path) -> str | None:
    """Says that this file is a decision file, of which scenario, and which command reads it. None
    if it is none."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return None
    named = data.get("scenario")
    if "format" in data or "design" not in data or not isinstance(named, str):
        return None
    return (
        f"{path}: this is a decision file of the scenario {named}, not a scenario: "
        f"write afflux decide {path}, or name {path.parent / named}"
    )


def place_of(question: Question, point: str, key: str | None) -> str:
    """Returns the decision file, with the line of the setting by which a point changes this key of
    the scenario; with the line of the point's design if no setting does.

    Points are named after their design, and after their condition, variant or tenant, as in
    `deep, 2:1`.
    """
    names = point.split(", ")
    blocks: Sequence[tuple[str, Sequence[Candidate | Condition | Variant]]] = (
        ("design", question.designs),
        ("condition", question.conditions),
        ("variant", question.variants),
    )
    own = [
        ((kind, number), one.set)
        for kind, every in blocks
        for number, one in enumerate(every)
        if one.name in names
    ]
    wrong = _steps(question.scenario, key) if key else []
    places: list[Place] = [
        (*block, "set", name)
        for block, table in own
        for name in table
        if wrong and all(map(operator.eq, wrong, _steps(question.scenario, name)))
    ]
    place = max(places, key=lambda place: len(str(place[-1])), default=own[0][0] if own else ())
    return File.of(question.path).at(place)


def _steps(scenario: Scenario, key: str) -> list[str]:
    """Returns the names and numbers that lead to a key, with the number of a traffic block in place
    of its name. The core names `traffic[1].load` what a file may call `traffic.web.load`."""
    steps = split_key(key)
    if steps[0] == "traffic":
        names = [str(block.get("name")) for block in scenario.get("traffic") or []]
        steps[1:2] = [str(names.index(step)) if step in names else step for step in steps[1:2]]
    return steps


def _seeds(file: File, seeds: str) -> tuple[int, ...]:
    try:
        return tuple(settings.seeds(seeds, ":"))
    except ValueError as error:
        raise file.wrong(("seeds",), str(error)) from None


def _tables(file: File, data: Mapping[str, Any], kind: str) -> Sequence[Mapping[str, Any]]:
    found = data.get(kind, [])
    if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
        raise file.wrong((kind,), f": write blocks [[{kind}]]")
    return found


def _only(file: File, place: Place, table: Mapping[str, Any], allowed: Sequence[str]) -> None:
    for key in table:
        if key not in allowed:
            raise file.wrong((*place, key), f": {spelling.unknown('key', key, list(allowed))}")


def _take(
    file: File,
    place: Place,
    table: Mapping[str, Any],
    key: str,
    kind: type | tuple[type, ...],
    default: Any = _MISSING,
) -> Any:
    value = table.get(key, default)
    if value is _MISSING:
        raise file.wrong((*place, key), " is missing")
    if value is not default and (
        not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
    ):
        wanted = {
            str: "text in quotes",
            dict: "a table",
            list: "a list",
            bool: "true or false",
        }.get(kind if isinstance(kind, type) else object, "a number")
        raise file.wrong((*place, key), f": found {value!r}: write {wanted}")
    return value


def _name(file: File, place: Place, table: Mapping[str, Any], others: str = "") -> str:
    name: str = _take(file, place, table, "name", str)
    if not re.fullmatch(rf"[\w-][\w .{others}-]*", name):
        allowed = (
            "letters, digits, blanks, dots, hyphens and colons"
            if others
            else "letters, digits, blanks, dots and hyphens"
        )
        raise file.wrong((*place, "name"), f": found {name!r}: write {allowed}")
    return name


def _design(file: File, place: Place, table: Mapping[str, Any]) -> Candidate:
    _only(file, place, table, ("name", "set", "price", "power"))
    numbers = {}
    for key in ("price", "power"):
        numbers[key] = _take(file, place, table, key, (int, float), None)
        if numbers[key] is not None and not 0 <= numbers[key] < math.inf:
            raise file.wrong((*place, key), f": found {numbers[key]}: write 0 or more")
    return Candidate(_name(file, place, table), _set(file, place, table, {}), **numbers)


def _set(
    file: File, place: Place, table: Mapping[str, Any], default: Any = _MISSING
) -> Mapping[str, Any]:
    """Returns the keys of the scenario that differ."""
    found: Mapping[str, Any] = _take(file, place, table, "set", dict, default)
    for key in found:
        try:
            seed = given.sets_seed(key, found[key])
        except ValueError as error:
            raise file.wrong((*place, "set"), f": {error}") from None
        if seed:
            inside = ("seed",) if isinstance(found[key], dict) else ()
            raise file.wrong(
                (*place, "set", key, *inside),
                ': all designs have the same seeds: write seeds = "1-5" at the top of the file',
            )
    return found


def _priced(file: File, scenario: Scenario, designs: Sequence[Candidate]) -> None:
    """Refuses prices of only some designs: no design could be called the cheapest."""
    without = [
        place
        for place, design in enumerate(designs)
        if design.price is None
        and "cost" not in scenario
        and not any(split_key(key)[0] == "cost" for key in design.set)
    ]
    if 0 < len(without) < len(designs):
        name = designs[without[0]].name
        raise file.wrong(
            ("design", without[0], "price"),
            f" is missing: other designs have a price: write that of {name} too, or none at all",
        )


def _tenants(file: File, scenario: Scenario, own: Mapping[str, Any]) -> tuple[Tenant, ...]:
    """Returns the tenants that the file names. If it names none, each traffic class is a tenant."""
    blocks = [block for block in scenario.get("traffic", []) if isinstance(block, dict)]
    classes = list(dict.fromkeys(map(class_of, blocks)))
    named = [of_core.name for _, of_core in described(scenario)]

    def of(name: str, some: Sequence[str], load: str | None = None) -> Tenant:
        kept = Tenant(name, tuple(some), load=load)
        mine = [place for place, block in enumerate(blocks) if belongs(block, kept)]
        # In the run alone, a block is called by the name of its draws.
        names = [
            *(named[place] for place in mine if named),
            *(drawn_name(blocks[place], place) for place in mine),
        ]
        return replace(kept, blocks=tuple(dict.fromkeys(names)))

    tables = _tables(file, own, "tenant")
    if not tables:
        return tuple(of(name, [name]) for name in classes)
    found = []
    for number, table in enumerate(tables):
        place = "tenant", number
        _only(file, place, table, ("name", "classes", "load"))
        name = _name(file, place, table)
        some = _take(file, place, table, "classes", list, [name])
        for wanted in some:
            if not any(belongs(block, Tenant(name, (str(wanted),))) for block in blocks):
                raise file.wrong(
                    (*place, "classes" if "classes" in table else "name"),
                    f": {spelling.unknown('class of traffic', str(wanted), classes)}",
                )
        load = _take(file, place, table, "load", str, None)
        if load is not None and scenario.get(load) is None:
            raise file.wrong((*place, "load"), f": the scenario has no {load}")
        found.append(of(name, [str(wanted) for wanted in some], load))
    return tuple(found)


def _goal(
    file: File,
    place: Place,
    table: Mapping[str, Any],
    designs: Sequence[str],
    tenants: Sequence[Tenant],
) -> Goal:
    _only(
        file,
        place,
        table,
        ("tenant", "measure", "at_most", "at_least", "within", "design", "alone"),
    )

    def wrong(key: str, found: str) -> ValueError:
        return file.wrong((*place, key), f": {found}")

    measure = _take(file, place, table, "measure", str)
    if measure not in MEASURES:
        raise wrong("measure", spelling.unknown("measure", measure, list(MEASURES)))
    name = _take(file, place, table, "tenant", str, None)
    tenant = next((one for one in tenants if one.name == name), None)
    if name is not None and tenant is None:
        raise wrong("tenant", spelling.unknown("tenant", name, [one.name for one in tenants]))
    metric = MEASURES[measure]
    bounds = [key for key in ("at_most", "at_least", "within") if key in table]
    if len(bounds) != 1:
        raise file.wrong(
            place,
            f": found {' and '.join(bounds) or 'no bound'}: write one of at_most, at_least and within",
        )
    if bounds[0] != "within":
        for key in ("design", "alone"):
            if key in table:
                raise wrong(key, f"it belongs to within; {bounds[0]} is a bound of its own")
        right = "at_most" if metric.lower_is_better else "at_least"
        if bounds[0] != right:
            better = "lower" if metric.lower_is_better else "higher"
            raise wrong(bounds[0], f"{measure} is better the {better} it is: write {right}")
        limit = _quantity(file, (*place, right), table[right], metric)
        return Goal(tenant, measure, limit=limit)
    within = _take(file, place, table, "within", (int, float))
    if not 0 <= within < (100 if metric.lower_is_better else 1):
        most = "below 100" if metric.lower_is_better else "below 1, as more is better"
        raise wrong(
            "within", f"found {within}: write a share of 0 or more and {most} (0.1 is 10 %)"
        )
    alone = table.get("alone", False)
    against = _take(file, place, table, "design", str, None)
    if not isinstance(alone, bool):
        raise wrong("alone", f"found {alone!r}: write true or false")
    if against is None and not alone:
        raise file.wrong(place, ': within needs design = "NAME", alone = true, or both')
    if against is not None and against not in designs:
        raise wrong("design", spelling.unknown("design", against, list(designs)))
    if alone and tenant is None:
        raise wrong("alone", "all traffic is alone already: name a tenant")
    return Goal(tenant, measure, within=float(within), against=against, alone=alone)


def _measurable(
    file: File, scenario: Scenario, goals: Sequence[Goal], own: Mapping[str, Any]
) -> None:
    """Refuses a goal that the tenant's traffic cannot have a value of. A design that changes the
    traffic may change that, so that nothing is refused then."""
    changes = [
        key
        for kind in ("design", "condition", "variant")
        for table in _tables(file, own, kind)
        for key in table.get("set", {})
    ]
    if any(map(_changes_traffic, changes)):
        return
    blocks = described(scenario)
    for number, goal in enumerate(goals) if blocks else ():
        tenant = goal.tenant
        some = [of_core for block, of_core in blocks if tenant is None or belongs(block, tenant)]
        if found := kinds.refusal(goal.measure, some, tenant):
            raise file.wrong(("goal", number, "measure"), f": {found}")


def _changes_traffic(key: str) -> bool:
    """True if the key may change kinds, names or classes of traffic."""
    table, *rest = split_key(key)
    return table == "traffic" and (len(rest) < 2 or rest[1] in ("kind", "format", "name", "class"))


def _quantity(file: File, place: Place, value: Any, metric: Metric) -> float:
    """Parses a bound with its unit. Returns it in the unit of the metric."""
    units = (
        {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
        if metric.show is text.time
        else {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12}
    )
    if metric.show is text.ratio:
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
            return float(value)
        raise file.wrong(place, f": found {value!r}: write a number above 0")
    match = (
        re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?(?:e-?[0-9]+)?)\s*([A-Za-z]+)\s*", value)
        if isinstance(value, str)
        else None
    )
    if match is None or match[2] not in units or float(match[1]) <= 0:
        raise file.wrong(
            place,
            f': found {value!r}: write a number above 0 with one of {", ".join(units)} in quotes, as in "2{list(units)[2]}"',
        )
    return float(match[1]) * units[match[2]]


def _condition(
    file: File, place: Place, table: Mapping[str, Any], designs: Sequence[str]
) -> Condition:
    _only(file, place, table, ("name", "designs", "set"))
    some = _take(file, place, table, "designs", list)
    for name in some:
        if name not in designs:
            raise file.wrong(
                (*place, "designs"), f": {spelling.unknown('design', str(name), list(designs))}"
            )
    return Condition(_name(file, place, table), tuple(some), _set(file, place, table))


def _variants(file: File, tables: Sequence[Mapping[str, Any]]) -> tuple[Variant, ...]:
    found = []
    for number, table in enumerate(tables):
        place = "variant", number
        _only(file, place, table, ("name", "set"))
        # Ratios such as 2:1 are names, too.
        name = _name(file, place, table, others=":")
        if number == 0 and "set" in table:
            raise file.wrong(
                (*place, "set"),
                ": the first variant is the scenario as it is: leave the key out",
            )
        found.append(Variant(name, _set(file, place, table) if number else {}))
    if len(found) == 1:
        raise file.wrong(
            ("variant",),
            ": found 1: write the scenario as it is, and at least one other variant",
        )
    return tuple(found)
