"""A run of a reference, the scenarios that reproduce it, and the measured numbers."""

import csv
import gzip
import hashlib
import io
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import afflux

from .bars import Bar

#: A row of a reference: texts by column.
Row = dict[str, str]


class Unreadable(Exception):
    """An input that cannot be interpreted. The message gives the reason."""


class Unmeasured(Exception):
    """The run has no such number, for example because a flow never ended."""


@dataclass(frozen=True)
class Setup:
    """One simulation: a scenario, its flows, and the function that computes numbers from it."""

    scenario: dict[str, Any]
    measure: Callable[["Runner", dict[str, Any]], dict[str, float]]
    #: Parameters of `measure`.
    parameters: dict[str, Any]
    #: `(start_ns, source, destination, bytes)`, written to `flows.csv` next to the scenario.
    flows: tuple[tuple[int, int, int, int], ...] = ()
    seed: int = 1
    #: Keys that a version of afflux may lack. Rows made without them say so.
    optional: tuple[str, ...] = ()

    def text(self) -> str:
        """Returns all that determines the work."""
        return json.dumps(
            [self.scenario, self.measure.__qualname__, self.parameters, self.flows, self.seed],
            sort_keys=True,
            default=str,
        )

    @cached_property
    def key(self) -> str:
        """Identifies the work: equal simulations have equal keys. A digest, because the lists of
        flows have megabytes."""
        return hashlib.sha256(self.text().encode()).hexdigest()


@dataclass
class Case:
    """A run of a reference: its numbers, and the simulations whose medians should be near them."""

    reference: str
    run: str
    #: Numbers of the reference. A metric without a tolerance is informational.
    theirs: dict[str, float | None] = field(default_factory=dict)
    bars: dict[str, Bar] = field(default_factory=dict)
    setups: list[Setup] = field(default_factory=list)
    compat: str | None = None
    #: Reason why the run cannot be simulated.
    problem: str | None = None
    #: Name of a model that afflux lacks. Such a run is neither simulated nor judged.
    absent: str | None = None
    #: Remark for readers of the rows.
    remark: str | None = None
    #: Functions that combine the numbers of the simulations, by metric. Default: the median.
    of_repetitions: Mapping[str, Callable[[Sequence[float]], float]] = field(default_factory=dict)
    #: Labels for a reader that compares several runs afterwards.
    labels: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turns an `Unreadable` of the block into the problem of this run."""
        try:
            yield
        except Unreadable as error:
            self.problem = str(error)


class Runner:
    """Runs one setup in a separate directory, with several ends if required."""

    def __init__(self, setup: Setup, limit_s: float, lenient: bool) -> None:
        self.setup, self.limit_s, self.lenient = setup, limit_s, lenient
        #: Keys left out because this version of afflux lacks them: optional keys, and in lenient
        #: mode all others.
        self.without: list[str] = []
        self.crippled = False

    def run(self, until_s: float | None = None, ports: bool = True) -> afflux.Result:
        with tempfile.TemporaryDirectory(prefix="afflux-validation-") as scratch:
            return self._within(Path(scratch), until_s, ports, None)

    @contextmanager
    def directory(self, until_s: float | None = None) -> Iterator[Path]:
        """Yields the result directory, for data that is only in files."""
        with tempfile.TemporaryDirectory(prefix="afflux-validation-") as scratch:
            out = Path(scratch) / "out"
            self._within(Path(scratch), until_s, True, out)
            yield out

    def _within(
        self, scratch: Path, until_s: float | None, ports: bool, out: Path | None
    ) -> afflux.Result:
        scenario = afflux.Scenario(self.setup.scenario, scratch / "scenario.toml")
        if self.setup.flows:
            lines = "".join(
                f"{start},{src},{dst},{size}\n" for start, src, dst, size in self.setup.flows
            )
            (scratch / "flows.csv").write_text("start_ns,src,dst,bytes\n" + lines)
        if until_s is not None:
            scenario.set("run.until", f"{round(until_s * 1e9)}ns")
        if not ports and "record" in scenario:
            scenario["record"].pop("ports", None)
        for key in self.without:
            _remove(scenario.data, key)
        while True:
            try:
                return self._run(scenario, out)
            except afflux.ScenarioError as error:
                key = ".".join(_path(error.key or ""))
                optional = key in self.setup.optional
                if not ((optional or self.lenient) and _remove(scenario.data, key)):
                    raise
                self.without.append(key)
                self.crippled |= not optional

    def _run(self, scenario: afflux.Scenario, out: Path | None) -> afflux.Result:
        end = time.monotonic() + self.limit_s
        late = False

        def watch(progress: afflux.Progress) -> None:
            nonlocal late
            if time.monotonic() > end:
                late = True
                progress.cancel()

        try:
            return scenario.run(seed=self.setup.seed, out=out, on_progress=watch, interval=0.5)
        except (afflux.Error, KeyboardInterrupt):
            if late:
                raise Unmeasured(f"took longer than {self.limit_s:g} s") from None
            raise


def _path(key: str) -> list[str]:
    """Returns the parts of `traffic.0.bytes` or `traffic[0].bytes`."""
    return re.findall(r"[^.\[\]]+", key) or [""]


def _remove(data: Any, key: str) -> bool:
    """Removes a key like `host.transport.stack`. Returns whether it existed."""
    *tables, last = _path(key)
    for table in tables:
        if isinstance(data, list):
            data = data[int(table)] if table.isdigit() and int(table) < len(data) else None
        elif isinstance(data, dict):
            data = data.get(table)
    if isinstance(data, dict) and last in data:
        del data[last]
        return True
    return False


@dataclass
class Measured:
    values: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    without: list[str] = field(default_factory=list)
    #: True if a key that was left out was not optional.
    crippled: bool = False
    #: Processor time: other work on the machine does not lengthen it.
    seconds: float = 0.0


def measure(work: tuple[Setup, float, bool]) -> Measured:
    """Runs one setup. Called in any process."""
    setup, limit_s, lenient = work
    runner, start = Runner(setup, limit_s, lenient), time.process_time()
    done = Measured(without=runner.without)
    try:
        done.values = setup.measure(runner, setup.parameters)
    except (afflux.Error, Unmeasured, LookupError, ValueError, ArithmeticError) as error:
        done.error = one_line(error)
    except BaseException as error:
        # A defect of afflux (a Rust panic arrives as a BaseException) becomes a row and does not
        # end the comparison.
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        done.error = f"{type(error).__name__}: {one_line(error)}"
    done.crippled = runner.crippled
    done.seconds = time.process_time() - start
    return done


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    # The location in a temporary scenario is irrelevant, but the key is not.
    return re.sub(r"\S*afflux-validation-\w+/|\bscenario\.toml(:\d+)?: ", "", text)


def received_bytes(result: afflux.Result) -> int:
    """Returns the payload in bytes that all flows received until the end of the run."""
    return result.summary["delivered_bytes"]


def greedy(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    """Measures endless flows over one bottleneck: goodput in an interval, and the queue during it.

    Parameters: `from_s`, `to_s`; `lag_s`: delay of the reference's count after the receiver's;
    `node`, `peer`: the bottleneck's port; `aside_bytes`: frames that the port holds but the
    reference does not count; `unit_bytes`: unit of the queue length. Without `node` the bottleneck
    is not measured.
    """
    start, end, lag = p["from_s"], p["to_s"], p.get("lag_s", 0.0)
    whole = runner.run(end - lag)
    before = received_bytes(runner.run(start - lag, ports=False)) if start > lag else 0.0
    after = received_bytes(whole)
    values = {
        "mbps": (after - before) * 8e-6 / (end - start),
        "avg_mbps": after * 8e-6 / end,
        "retransmits": whole.summary["retransmits"],
        "timeouts": whole.summary["timeouts"],
    }
    if "node" not in p:
        return values
    ports = whole.ports
    here = [
        node == p["node"] and peer == p["peer"]
        for node, peer in zip(ports.column("node"), ports.column("peer"), strict=True)
    ]
    rows = [
        (t, queue)
        for t, queue, wanted in zip(
            ports.column("time_ns"), ports.column("queue_bytes"), here, strict=True
        )
        if wanted and t > start * 1e9
    ]
    if not rows:
        raise Unmeasured("no sample of the bottleneck's queue")
    values["queue"] = (
        sum(max(0, queue - p["aside_bytes"]) for _, queue in rows)
        / len(rows)
        / p.get("unit_bytes", 1)
    )
    for name in ("drops", "ecn_marks"):
        values[name] = sum(
            count for count, wanted in zip(ports.column(name), here, strict=True) if wanted
        )
    return values


def read_csv(path: Path, needed: Iterable[str]) -> list[Row]:
    """Returns rows with at least these columns. Raises `Unreadable`."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = raw.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Unreadable(f"cannot be read: {one_line(error)}") from None
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        rows = list(reader)
    except csv.Error as error:
        raise Unreadable(f"is no CSV: {error}") from None
    if missing := [name for name in needed if name not in (reader.fieldnames or [])]:
        raise Unreadable(
            f"has no column {', '.join(missing)}; there are {', '.join(reader.fieldnames or []) or 'none'}"
        )
    if not rows:
        raise Unreadable("has no rows")
    return rows


def number(row: Row, column: str, default: float | None = None) -> float:
    """Returns a number of a row. Raises `Unreadable`."""
    text = (row.get(column) or "").strip()
    if not text and default is not None:
        return default
    try:
        return float(text)
    except ValueError:
        raise Unreadable(f"column {column}: {text!r} is no number") from None


def maybe(row: Row, column: str) -> float | None:
    """Returns a number of the reference, or None."""
    try:
        return float(row.get(column) or "")
    except ValueError:
        return None


def fraction(repetition: int, flow: int) -> float:
    """Returns the start jitter as a share of a packet time: 0 in the first repetition, then spread
    evenly (multiples of irrational numbers)."""
    return repetition * (0.6180339887498949 + flow * 0.7548776662466927) % 1.0
