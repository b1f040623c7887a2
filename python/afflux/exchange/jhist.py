"""Hadoop's job history files (`.jhist`): a line `Avro-Json` or `Avro-Binary`, a line with the schema, then events.

Source: Apache Hadoop, `org.apache.hadoop.mapreduce.jobhistory` (EventWriter, Events.avpr). Hadoop 3 writes the binary form unless
`mapreduce.jobhistory.jhist.format` says otherwise.
"""

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .account import Wrong, moment, name, number, shown, table, total
from .avro import AvroError, End, Schema
from .codecs import TooMuch
from .jobs import Job, Log, Transfer, json_lines, shared_out
from .reading import DAMAGED, LOGS, damaged, json_value, opened

_FIRST = "Avro-Json or Avro-Binary, as job history files begin"


@dataclass
class _Attempt:
    start_ms: int = 0
    end_ms: int = 0
    host: str = ""
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass
class _History:
    """One file: one job."""

    name: str | None = None
    submit_ms: int = 0
    end: str | None = None
    totals: Mapping[str, int] | None = None
    maps: dict[str, _Attempt] = field(default_factory=dict)
    reduces: dict[str, _Attempt] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)
    splits: dict[str, list[str]] = field(default_factory=dict)
    unsuccessful: int = 0


def read(paths: Sequence[Path]) -> Log:
    """The jobs of some files."""
    log = Log()
    local = 0
    for path in paths:
        log.size += os.stat(path).st_size
        history = _History()
        for at, kind, event in _events(path, log):
            _take(history, kind, event, path, at)
        if history.name is None:
            raise Wrong(path, None, "no event JOB_SUBMITTED", "the history of a job")
        if history.end is None:
            log.account.drop("without an end")
        elif history.end != "JOB_FINISHED":
            log.account.drop("failed or killed")
        else:
            log.jobs.append(_job(history, path))
            local += _local(history)
            log.making.append(functools.partial(_transfers, history, path))
            log.of_transfers.drop("of attempts that did not succeed", history.unsuccessful)
    log.account.taken = len(log.jobs)
    log.of_transfers.drop("reads on the same host", local)
    log.account.notes.append("left out: counts of maps and reducers, processor times and containers (the cluster of the scenario decides them)")
    log.of_transfers.notes.append("fetches start when both the map has ended and the reducer runs; writes to data nodes are not in such files")
    return log


def _events(path: Path, log: Log) -> Iterator[tuple[int | None, str, Mapping[str, Any]]]:
    with opened(path, LOGS) as file:
        try:
            first, second = file.readline(64), file.readline(1 << 20)
        except DAMAGED as error:
            raise damaged(path, 1, error) from None
        form = first.strip()
        if form not in (b"Avro-Json", b"Avro-Binary"):
            raise Wrong(path, 1, shown(first[:40]), _FIRST)
        schema = json_value(second, path, 2, "the schema of events in JSON")
        if form == b"Avro-Json":
            for at, value in json_lines(path, log.account, file, 3):
                event = value.get("event")
                if not isinstance(value.get("type"), str) or not isinstance(event, dict) or len(event) != 1:
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
                    raise Wrong(path, None, f"event {count}: {shown(value)}", "a record with type and event")
                yield None, str(value.get("type")), value["event"]
        except End:
            log.account.notes.append(f"{path}: the file ends within event {count + 1}, which was ignored")
        except TooMuch as error:
            raise damaged(path, None, error) from None
        except (AvroError, RecursionError, *DAMAGED) as error:
            raise Wrong(path, None, f"{error} after {count} events", "events as the schema in line 2 has them") from None


def _take(history: _History, kind: str, event: Mapping[str, Any], path: Path, at: int | None) -> None:
    def time(name: str) -> int:
        return moment(event.get(name), f"{name} of {kind}", path, at)

    def text(key: str) -> str:
        value = event.get(key)
        # Strings that may be null are named so in Avro's JSON.
        value = value.get("string") if isinstance(value, dict) else value
        return name(value, f"{key} of {kind}", path, at)

    match kind:
        case "JOB_SUBMITTED":
            history.name, history.submit_ms = text("jobid"), time("submitTime")
        case "JOB_FINISHED" | "JOB_FAILED" | "JOB_KILLED" | "JOB_ERROR":
            history.end = kind
            if kind == "JOB_FINISHED" and event.get("totalCounters") is not None:
                history.totals = _counters(event["totalCounters"], path, at)
        case "TASK_STARTED":
            if isinstance(event.get("splitLocations"), str):
                history.splits[text("taskid")] = [
                    name(place.rpartition("/")[2], "a place of splitLocations", path, at) for place in event["splitLocations"].split(",") if place
                ]
        case "MAP_ATTEMPT_STARTED" | "REDUCE_ATTEMPT_STARTED":
            history.started[text("attemptId")] = time("startTime")
        case "MAP_ATTEMPT_FINISHED" | "REDUCE_ATTEMPT_FINISHED":
            is_map = kind.startswith("MAP")
            attempt = _Attempt(history.started.get(text("attemptId"), 0), time("mapFinishTime" if is_map else "finishTime"), text("hostname"))
            attempt.counters = _counters(event.get("counters"), path, at) if event.get("counters") is not None else {}
            # Of a map that ran again the last attempt is the one whose output was fetched.
            (history.maps if is_map else history.reduces)[text("taskid")] = attempt
        case "MAP_ATTEMPT_FAILED" | "MAP_ATTEMPT_KILLED" | "REDUCE_ATTEMPT_FAILED" | "REDUCE_ATTEMPT_KILLED":
            history.unsuccessful += 1


#: What counters of file systems are summed under; local files are no traffic.
_READ, _WRITTEN = "*_BYTES_READ", "*_BYTES_WRITTEN"
_WANTED = {"REDUCE_SHUFFLE_BYTES", "MAP_OUTPUT_MATERIALIZED_BYTES"}


def _counters(value: Any, path: Path, at: int | None) -> Mapping[str, int]:
    found: dict[str, int] = {}
    value = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    groups = table(value, "counters", path, at).get("groups")
    if not isinstance(groups, list):
        raise Wrong(path, at, f"groups of counters {shown(groups)}", "a list")
    for group in groups:
        counts = table(group, "group of counters", path, at).get("counts")
        if not isinstance(counts, list):
            raise Wrong(path, at, f"counts {shown(counts)}", "a list")
        for count in counts:
            called = table(count, "counter", path, at).get("name")
            if not isinstance(called, str):
                raise Wrong(path, at, f"a counter's name {shown(called)}", "a string")
            if called.endswith("_BYTES_READ") and not called.startswith("FILE_"):
                key = _READ
            elif called.endswith("_BYTES_WRITTEN") and not called.startswith("FILE_"):
                key = _WRITTEN
            elif called in _WANTED:
                key = called
            else:
                continue
            found[key] = found.get(key, 0) + number(count.get("value"), f"counter {shown(called)}", path, at)
    return found


def _job(history: _History, path: Path) -> Job:
    assert history.name is not None
    totals: Mapping[str, int]
    if history.totals:
        totals = history.totals
    else:
        attempts = [*history.maps.values(), *history.reduces.values()]
        totals = {key: sum(attempt.counters.get(key, 0) for attempt in attempts) for key in (_READ, _WRITTEN, "REDUCE_SHUFFLE_BYTES")}
    read, shuffled, written = (total(totals.get(key, 0), history.name, path, None) for key in (_READ, "REDUCE_SHUFFLE_BYTES", _WRITTEN))
    return Job(history.name, history.submit_ms, read, shuffled, written)


def _local(history: _History) -> int:
    """How many reads stayed on their host."""
    return sum(attempt.host in history.splits.get(task, ()) for task, attempt in history.maps.items())


def _transfers(history: _History, path: Path, log: Log) -> None:
    """Reads over the network, and fetches."""
    log.expect(len(history.maps) * (1 + len(history.reduces)), path)
    for task, attempt in history.maps.items():
        size, places = attempt.counters.get(_READ, 0), history.splits.get(task, [])
        if attempt.host in places:
            continue
        if size and places:
            log.transfers.append(Transfer(attempt.start_ms, places[0], attempt.host, total(size, task, path, None), "read"))
        elif size:
            log.of_transfers.drop("reads from unknown hosts")
    outputs = [(attempt, attempt.counters.get("MAP_OUTPUT_MATERIALIZED_BYTES", 0)) for attempt in history.maps.values()]
    for task, reduce in history.reduces.items():
        parts = shared_out(total(reduce.counters.get("REDUCE_SHUFFLE_BYTES", 0), task, path, None), [size for _, size in outputs])
        for (attempt, _), size in zip(outputs, parts, strict=False):
            if size:
                log.transfers.append(Transfer(max(attempt.end_ms, reduce.start_ms), attempt.host, reduce.host, size, "fetch"))
