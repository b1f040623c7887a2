"""Reads Hadoop's job history files (`.jhist`): a line `Avro-Json` or `Avro-Binary`, a line with the
schema, then events.

Source: Apache Hadoop, `org.apache.hadoop.mapreduce.jobhistory` (EventWriter, Events.avpr). Hadoop 3
writes the binary form unless `mapreduce.jobhistory.jhist.format` says otherwise.
"""

import codecs
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import jhist_known as known
from .account import Account, Wrong, moment, name, number, shown, table, total
from .avro import AvroError, End, Schema
from .codecs import TooMuch
from .fields import LeftOut
from .jobs import Job, Log, Transfer, json_lines, shared_out
from .machines import Machines
from .reading import DAMAGED, LOGS, damaged, json_value, opened

_FIRST = "Avro-Json or Avro-Binary, as job history files begin"


@dataclass
class _Attempt:
    start_ms: int = 0
    end_ms: int = 0
    host: str = ""
    is_local: bool = False
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass
class _History:
    """The content of one file, which describes one job."""

    name: str | None = None
    submit_ms: int = 0
    end: str | None = None
    totals: Mapping[str, int] | None = None
    maps: dict[str, _Attempt] = field(default_factory=dict)
    reduces: dict[str, _Attempt] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)
    #: Attempts that read from the disk of their own machine.
    local: set[str] = field(default_factory=set)
    splits: dict[str, list[str]] = field(default_factory=dict)
    #: Attempts that have ended.
    finished: set[str] = field(default_factory=set)


def read(paths: Sequence[Path]) -> Log:
    """Returns the jobs of these files."""
    log = Log()
    noting = _Noting(log.account)
    seen: set[str] = set()
    jobs: dict[str, Path] = {}
    for path in paths:
        if os.path.realpath(path) in seen:
            log.account.noted("a file was given twice and is read once", path.name)
            continue
        seen.add(os.path.realpath(path))
        log.size += os.stat(path).st_size
        history = _History()
        for at, kind, event in _events(path, log):
            _take(history, kind, event, path, at, noting)
        if history.name is None:
            raise Wrong(path, None, "no event JOB_SUBMITTED", "the history of a job")
        if history.end is None:
            log.account.drop("without an end")
        elif history.end != "JOB_FINISHED":
            log.account.drop("failed or killed")
        else:
            if (first := jobs.setdefault(history.name, path)) is not path:
                raise Wrong(
                    path,
                    None,
                    f"{history.name} a second time (first in {first})",
                    "the history of each job once",
                )
            log.jobs.append(_job(history, path, log.account))
            _machines(history, log.machines)
            log.making.append(functools.partial(_transfers, history, path))
    for record in noting.records.every():
        record.add_to(noting.left_out)
    log.account.taken = len(log.jobs)
    log.account.notes += noting.left_out.notes()
    log.of_transfers.notes.append(
        "fetches start when both the map has ended and the reducer runs; writes to data nodes are not in such files"
    )
    return log


def _machines(history: _History, machines: Machines) -> None:
    for task, attempt in history.maps.items():
        places = history.splits.get(task, [])
        machines.host(attempt.host)
        for place in places:
            machines.place(place)
        if attempt.is_local and places and attempt.host not in places:
            machines.local(attempt.host, places)
    for attempt in history.reduces.values():
        machines.host(attempt.host)


def _events(path: Path, log: Log) -> Iterator[tuple[int | None, str, Mapping[str, Any]]]:
    with opened(path, LOGS) as file:
        try:
            first, second = file.readline(64), file.readline(1 << 20)
        except DAMAGED as error:
            raise damaged(path, 1, error) from None
        # Editors may put a byte order mark before the text.
        form = first.removeprefix(codecs.BOM_UTF8).strip()
        if form not in (b"Avro-Json", b"Avro-Binary"):
            raise Wrong(
                path,
                1 if first else None,
                shown(first[:40].rstrip()) if first else "an empty file",
                _FIRST,
            )
        schema = json_value(second, path, 2, "the schema of events in JSON")
        if form == b"Avro-Json":
            for at, value in json_lines(path, log.account, file, 3):
                event = value.get("event")
                if (
                    not isinstance(value.get("type"), str)
                    or not isinstance(event, dict)
                    or len(event) != 1
                ):
                    raise Wrong(path, at, shown(value), '{"type": …, "event": {"…": {…}}}')
                yield at, value["type"], table(next(iter(event.values())), "event", path, at)
            return
        count = 0
        try:
            reader = Schema(schema, 4 * os.stat(path).st_size)
            while file.peek(1):
                value = reader.read(file)
                count += 1
                if not isinstance(value, dict) or not isinstance(value.get("event"), dict):
                    raise Wrong(
                        path, None, f"event {count}: {shown(value)}", "a record with type and event"
                    )
                yield None, str(value.get("type")), value["event"]
        except End:
            log.account.notes.append(
                f"{path}: the file ends within event {count + 1}, which was ignored"
            )
        except TooMuch as error:
            raise damaged(path, None, error) from None
        except (AvroError, RecursionError, *DAMAGED) as error:
            raise Wrong(
                path,
                None,
                f"{error} after {count} events",
                "events as the schema in line 2 has them",
            ) from None


@dataclass
class _Noting:
    """Collects notes and counts of fields and events that are left out."""

    account: Account
    left_out: LeftOut = field(default_factory=LeftOut)
    records: known.Records = field(default_factory=known.Records)


def _take(
    history: _History,
    kind: str,
    event: Mapping[str, Any],
    path: Path,
    at: int | None,
    noting: _Noting,
) -> None:
    account = noting.account

    def time(name: str) -> int:
        return moment(event.get(name), f"{name} of {kind}", path, at)

    def text(key: str) -> str:
        return name(_plain(event.get(key)), f"{key} of {kind}", path, at)

    if (record := noting.records.of(kind)) is not None:
        record.seen(event, account, path, at)
    match kind:
        case "JOB_SUBMITTED":
            if history.name is not None:
                raise Wrong(
                    path,
                    at,
                    f"JOB_SUBMITTED of {shown(_plain(event.get('jobid')))}, the second in the file",
                    "the history of one job, with each event once",
                )
            history.name, history.submit_ms = text("jobid"), time("submitTime")
        case "JOB_FINISHED" | "JOB_FAILED" | "JOB_KILLED" | "JOB_ERROR":
            history.end = kind
            if kind == "JOB_FINISHED" and event.get("totalCounters") is not None:
                history.totals = _counters(event["totalCounters"], path, at, noting)
        case "TASK_STARTED":
            places = _plain(event.get("splitLocations"))
            if places is not None and not isinstance(places, str):
                raise Wrong(
                    path,
                    at,
                    f"splitLocations of {kind} {shown(places)}",
                    "names of machines, with commas between them",
                )
            if places is not None:
                history.splits[text("taskid")] = [
                    name(place.rpartition("/")[2], "a place of splitLocations", path, at)
                    for place in places.split(",")
                    if place
                ]
        case "MAP_ATTEMPT_STARTED" | "REDUCE_ATTEMPT_STARTED":
            history.started[text("attemptId")] = time("startTime")
            locality = _plain(event.get("locality"))
            if locality is not None and locality not in known.LOCALITIES:
                raise Wrong(
                    path,
                    at,
                    f"locality of {kind} {shown(locality)}",
                    f"one of {', '.join(known.LOCALITIES)}",
                )
            if locality == "NODE_LOCAL":
                history.local.add(text("attemptId"))
        case "MAP_ATTEMPT_FINISHED" | "REDUCE_ATTEMPT_FINISHED":
            is_map = kind.startswith("MAP")
            id_, end = text("attemptId"), time("mapFinishTime" if is_map else "finishTime")
            if id_ not in history.started:
                account.noted(
                    "attempts whose start is not in the file: they are taken to start with the submission of their job",
                    _place(path, at),
                )
            start = history.started.get(id_, history.submit_ms)
            attempt = _Attempt(start, end, text("hostname"), id_ in history.local)
            attempt.counters = (
                _counters(event.get("counters"), path, at, noting)
                if event.get("counters") is not None
                else {}
            )
            if id_ in history.finished:
                raise Wrong(
                    path, at, f"{kind} of {shown(id_)} a second time", "the end of an attempt once"
                )
            history.finished.add(id_)
            attempts = history.maps if is_map else history.reduces
            if text("taskid") in attempts:
                account.noted(
                    "tasks that ran again: only the last attempt counts, which is the one whose output was fetched",
                    _place(path, at),
                )
            attempts[text("taskid")] = attempt
        case (
            "MAP_ATTEMPT_FAILED"
            | "MAP_ATTEMPT_KILLED"
            | "REDUCE_ATTEMPT_FAILED"
            | "REDUCE_ATTEMPT_KILLED"
        ):
            account.noted("attempts that failed or were killed: left out", _place(path, at))
        case _ if kind in known.LEFT_OUT:
            noting.left_out.add("events without bytes", kind)
        case _:
            account.noted(f"unknown event {shown(kind)}: left out", _place(path, at))


def _plain(value: Any) -> Any:
    """Returns a nullable value without the name of its type, as Avro's JSON writes it: `{"string":
    "w1"}`. Values of other types stay as they are, and are refused."""
    return value["string"] if isinstance(value, dict) and [*value] == ["string"] else value


def _place(path: Path, at: int | None) -> str:
    return path.name if at is None else f"{path.name}:{at}"


#: Patterns of file system counters whose bytes are network traffic. Those of local files are not.
_READ, _WRITTEN = "*_BYTES_READ", "*_BYTES_WRITTEN"
#: Pattern of counters of bytes from erasure-coded files. They are included in the bytes read.
_CODED = "*_BYTES_READ_EC"
_WANTED = {"REDUCE_SHUFFLE_BYTES", "MAP_OUTPUT_MATERIALIZED_BYTES"}


def _counters(value: Any, path: Path, at: int | None, noting: _Noting) -> Mapping[str, int]:
    found: dict[str, int] = {}
    value = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    noting.records.counters.seen(table(value, "counters", path, at), noting.account, path, at)
    groups = value.get("groups")
    if not isinstance(groups, list):
        raise Wrong(path, at, f"groups of counters {shown(groups)}", "a list")
    for group in groups:
        noting.records.group.seen(
            table(group, "group of counters", path, at), noting.account, path, at
        )
        counts = group.get("counts")
        if not isinstance(counts, list):
            raise Wrong(path, at, f"counts {shown(counts)}", "a list")
        for count in counts:
            noting.records.counter.seen(table(count, "counter", path, at), noting.account, path, at)
            called = count.get("name")
            if not isinstance(called, str):
                raise Wrong(path, at, f"a counter's name {shown(called)}", "a string")
            if called.endswith("_BYTES_READ") and not called.startswith("FILE_"):
                key = _READ
            elif called.endswith("_BYTES_WRITTEN") and not called.startswith("FILE_"):
                key = _WRITTEN
            elif called.endswith("_BYTES_READ_EC"):
                key = _CODED
            elif called in _WANTED:
                key = called
            else:
                noting.left_out.add(
                    "counters without bytes between machines", shown(called).strip("'")
                )
                continue
            found[key] = found.get(key, 0) + number(
                count.get("value"), f"counter {shown(called)}", path, at
            )
    return found


def _job(history: _History, path: Path, account: Account) -> Job:
    assert history.name is not None
    totals: Mapping[str, int]
    if history.totals:
        totals = history.totals
    else:
        attempts = [*history.maps.values(), *history.reduces.values()]
        totals = {
            key: sum(attempt.counters.get(key, 0) for attempt in attempts)
            for key in (_READ, _CODED, _WRITTEN, "REDUCE_SHUFFLE_BYTES")
        }
    read, shuffled, written = (
        total(totals.get(key, 0), history.name, path, None)
        for key in (_READ, "REDUCE_SHUFFLE_BYTES", _WRITTEN)
    )
    if coded := totals.get(_CODED, 0):
        said = "each read comes from one machine here, and from several (in stripes) in the log"
        account.notes.append(
            f"{history.name}: {coded:,} of {read:,} bytes were read from erasure-coded files: {said}"
        )
    return Job(history.name, history.submit_ms, read, shuffled, written)


def _transfers(history: _History, path: Path, log: Log) -> None:
    """Adds the reads over the network and the fetches, between machines under their representative
    names."""
    log.expect(len(history.maps) * (1 + len(history.reduces)), path)
    machine = log.machines.of
    for task, attempt in history.maps.items():
        size, places = attempt.counters.get(_READ, 0), history.splits.get(task, [])
        if machine(attempt.host) in {machine(place) for place in places}:
            log.of_transfers.drop("reads on the same host")
        elif attempt.is_local:
            log.of_transfers.drop("reads on the same host")
            said = "reads that were local (NODE_LOCAL) though no place of their block has the name of their machine: no transfer"
            log.of_transfers.noted(said, f"{path.name}: {task}")
        elif size and places:
            if len({machine(place) for place in places}) > 1:
                said = "reads of a block that several machines have come from the first in splitLocations"
                log.of_transfers.noted(said, f"{path.name}: {task}")
            log.transfers.append(
                Transfer(
                    attempt.start_ms,
                    machine(places[0]),
                    machine(attempt.host),
                    total(size, task, path, None),
                    "read",
                )
            )
        elif size:
            log.of_transfers.drop("reads from unknown hosts")
    outputs = [
        (attempt, attempt.counters.get("MAP_OUTPUT_MATERIALIZED_BYTES", 0))
        for attempt in history.maps.values()
    ]
    for task, reduce in history.reduces.items():
        parts = shared_out(
            total(reduce.counters.get("REDUCE_SHUFFLE_BYTES", 0), task, path, None),
            [size for _, size in outputs],
        )
        for (attempt, _), size in zip(outputs, parts, strict=False):
            if size:
                log.transfers.append(
                    Transfer(
                        max(attempt.end_ms, reduce.start_ms),
                        machine(attempt.host),
                        machine(reduce.host),
                        size,
                        "fetch",
                    )
                )
