"""Event logs of Spark and job histories of Hadoop: each field changes the output, or a note names
it."""

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from spark_events import Event, Outcome, adaptive, read_spark

from afflux.exchange import fields, jhist
from afflux.exchange.account import Wrong
from afflux.exchange.hosts import Known
from fuzz.importer_samples import SCHEMA, as_binary, counters, history

# ---------------------------------------------------------------------------------------------------------------------- job histories


def short_names() -> list[tuple[str, str, Event]]:
    """Returns a history with blocks on `node1` and tasks on `node1.dc`."""
    events = copy.deepcopy(history())
    for _, _, record in events:
        if "hostname" in record:
            record["hostname"] += ".dc"
    return events


@pytest.fixture
def read_jhist(tmp_path: Path) -> Callable[..., Outcome]:
    def read(
        events: list[tuple[str, str, Event]], binary: bool = False, known: Known | None = None
    ) -> Outcome:
        path = tmp_path / "job.jhist"
        if binary:
            path.write_bytes(as_binary(events))
        else:
            lines = [
                json.dumps(
                    {
                        "type": kind,
                        "event": {f"org.apache.hadoop.mapreduce.jobhistory.{name}": record},
                    }
                )
                for kind, name, record in events
            ]
            path.write_text("\n".join(["Avro-Json", json.dumps(SCHEMA), *lines]))
        return Outcome(jhist.read([path]), known)

    return read


def test_short_and_long_names_are_one_machine(read_jhist):
    found = read_jhist(short_names())
    plain = read_jhist(history(), binary=True)
    assert (
        found.trace,
        [tuple(str(value).removesuffix(".dc") for value in row) for row in found.flows],
    ) == (
        plain.trace,
        [tuple(map(str, row)) for row in plain.flows],
    )
    assert "machines with several names are one host" in found.said
    assert "node1 = node1.dc" in found.said
    # A scenario may use either name.
    names = {2: "node1.dc", 0: "node2", 1: "node3", 3: "node10.dc"}
    known = Known({name: number for number, name in names.items()}, names, Path("fabric.toml"))
    found = read_jhist(short_names(), known=known)
    assert found.hosts == ["node1", "node10", "node2", "node3"]
    assert "that the mapping does not name" not in found.said


def test_local_attempts_show_which_machine_is_which(read_jhist):
    """Blocks are at addresses. The first map is local, and one location of its block has a distinct
    name."""
    events = copy.deepcopy(history())
    for kind, _, record in events:
        if kind == "TASK_STARTED":
            record["splitLocations"] = (
                "10.0.0.1,node2" if record["taskid"] == "map0" else "10.0.0.1"
            )
        if kind == "MAP_ATTEMPT_STARTED" and record["attemptId"] == "map0_0":
            record["locality"] = {"string": "NODE_LOCAL"}
        if record.get("taskid") == "map1" and "hostname" in record:
            record["hostname"] = "node2"
    found = read_jhist(events)
    assert "10.0.0.1 = node1" in found.said or "node1 = 10.0.0.1" in found.said
    assert [row for row in found.flows if row[4] == "read"] == [
        (100_000_000, "node1", "node2", 1_000, "read")
    ]


def test_names_in_two_domains_are_two_machines(read_jhist):
    events = short_names()
    for _, _, record in events:
        if record.get("hostname") == "node10.dc":
            record["hostname"] = "node1.other"
    found = read_jhist(events)
    assert (
        "a short name fits several machines with domains, and stays a machine of its own (node1)"
        in found.said
    )
    assert {"node1.dc", "node1.other"} <= set(found.hosts)


def test_erasure_coded_reads_are_noted(read_jhist):
    events = copy.deepcopy(history())
    for kind, _, record in events:
        if kind == "MAP_ATTEMPT_FINISHED":
            record["counters"] = counters(
                HDFS_BYTES_READ=1_000, HDFS_BYTES_READ_EC=400, MAP_OUTPUT_MATERIALIZED_BYTES=300
            )
    assert "800 of 2,000 bytes were read from erasure-coded files" in read_jhist(events).said


# -------------------------------------------------------------------------------------------------------------- nothing is silent


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yields the paths of all fields: each in the first record of its kind, and nested fields only
    if the record's fields are known."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if (
                isinstance(inner, dict)
                and inner
                and key not in ("Properties", "acls", "Storage Level", "counters", "Job Result")
            ):
                yield from leaves(inner, (*path, key))
            elif isinstance(inner, list) and inner and isinstance(inner[0], dict):
                yield from leaves(inner[0], (*path, key, 0))
            else:
                yield (*path, key)


def changed(value: Any) -> Any:
    """Returns a different value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 100_000
        case str():
            return value + "x"
        case list():
            return value[:-1] if value else [7]
        case dict():
            return value | {"z": "z"}
    return value


def at(record: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        record = record[key]
    return record


#: Fields that identify a record or are needed to attribute it. With another value the reader
#: refuses the record or does not count it.
IDENTITY = {"Event", "Reason", "Result"}


def spark_cases() -> list[tuple[int, tuple[str | int, ...]]]:
    """Returns one record of each kind of event with each of its fields."""
    first: dict[str, int] = {}
    for number, event in enumerate(adaptive()):
        if event["Event"] == "SparkListenerTaskEnd":
            first[event["Event"]] = number  # the last task reads and writes
        else:
            first.setdefault(event["Event"], number)
    every = adaptive()
    return [
        (number, path)
        for number in (*first.values(), 3)
        for path in leaves(every[number])
        if path[-1] not in IDENTITY
    ]


def silent_in_spark(folder: Path) -> list[str]:
    """Returns the fields whose change neither changes the output nor is covered by a note with
    their name."""
    plain = read_spark(folder, adaptive())
    silent: set[str] = set()
    #: Fields with an effect in one of the two tasks. One task writes and the other reads.
    heard: set[str] = set()
    for number, path in spark_cases():
        events = adaptive()
        if events[number]["Event"] in ("SparkListenerLogStart",):
            continue  # noted as an event
        parent = at(events[number], path[:-1])
        parent[path[-1]] = changed(parent[path[-1]])
        case = f"{events[number]['Event']}: {path}"
        try:
            found = read_spark(folder, events)
        except Wrong:
            heard.add(case)
            continue
        named = re.search(rf"left out, [^:]*:.*\b{re.escape(str(path[-1]))} \(", found.said)
        (
            silent
            if (found.written, found.said) == (plain.written, plain.said) and not named
            else heard
        ).add(case)
    return sorted(silent - heard)


#: Fields that distinguish records. Another value in a single record has no effect as long as it
#: stays unique.
DISTINGUISHES = {
    "Task ID",
    "Index",
    "Attempt",
    "Stage Attempt ID",
    "Completion Time",
    "Finish Time",
    "Number of Tasks",
    "RDD ID",
}


def test_no_field_of_an_event_log_is_silent(tmp_path):
    silent = [
        case
        for case in silent_in_spark(tmp_path)
        if not any(repr(name) in case for name in DISTINGUISHES)
    ]
    assert silent == []


def test_fields_that_tell_records_apart(tmp_path):
    """Each field matters if two records have the same value."""
    plain = read_spark(tmp_path, adaptive())

    def differs(number: int, **info: Any) -> bool:
        events = adaptive()
        events[number]["Task Info"] |= {key.replace("_", " "): value for key, value in info.items()}
        found = read_spark(tmp_path, events)
        return (found.written, found.said) != (plain.written, plain.said)

    assert differs(4, Task_ID=1)
    assert differs(4, Index=0, Attempt=1)
    events = adaptive()
    events[6]["Stage Infos"][0]["RDD Info"][0]["RDD ID"] = 2
    events[6]["Stage Infos"][0]["RDD Info"][1]["RDD ID"] = 1
    assert "writers are not in the log" in read_spark(tmp_path, events).said


def test_an_unknown_event_or_field_is_named_with_its_place(tmp_path):
    events = adaptive()
    events[3]["Task Metrics"]["Newer Metric"] = 5
    events[3]["Newer"] = 5
    events.insert(4, {"Event": "SparkListenerSomethingNew"})
    found = read_spark(tmp_path, events)
    assert found.written == read_spark(tmp_path, adaptive()).written
    for said in (
        "unknown field 'Newer Metric' of Task Metrics: left out (log0:4)",
        "unknown field 'Newer' of SparkListenerTaskEnd: left out (log0:4)",
        "unknown event 'SparkListenerSomethingNew': left out (log0:5)",
    ):
        assert said in found.said


def test_silence_is_found(tmp_path, monkeypatch):
    """With a reader that counts no fields, the test of fields fails."""
    monkeypatch.setattr(fields.Record, "add_to", lambda self, left_out: None)
    silent = silent_in_spark(tmp_path)
    assert any("'Executor Run Time'" in case for case in silent)
    assert any("'Properties'" in case for case in silent)


def full_history() -> list[tuple[str, str, Event]]:
    """Returns `history()` with the additional fields that Hadoop 3 writes."""
    events = copy.deepcopy(history())
    more = {
        "JOB_SUBMITTED": {"jobName": "sort", "userName": "u", "jobQueueName": "q"},
        "TASK_STARTED": {"taskType": "MAP", "startTime": 5},
        "MAP_ATTEMPT_STARTED": {
            "taskid": "t",
            "trackerName": "n",
            "httpPort": 1,
            "shufflePort": 2,
            "containerId": "c",
            "locality": "NODE_LOCAL",
            "avataar": None,
        },
        "MAP_ATTEMPT_FINISHED": {
            "finishTime": 9,
            "rackname": "/r",
            "port": 3,
            "state": "s",
            "clockSplits": [1],
            "physMemKbytes": [1],
        },
        "REDUCE_ATTEMPT_FINISHED": {
            "shuffleFinishTime": 9,
            "sortFinishTime": 9,
            "rackname": "/r",
            "vMemKbytes": [1],
        },
        "MAP_ATTEMPT_KILLED": {"status": "KILLED", "error": "x"},
        "JOB_FINISHED": {"finishTime": 9, "finishedMaps": 2, "killedMaps": 1},
    }
    for kind, _, record in events:
        record.update(copy.deepcopy(more.get(kind, {})))
    return events


def silent_in_jhist(read: Callable[..., Outcome]) -> list[tuple[str, tuple[str | int, ...]]]:
    """Returns the fields whose change neither changes the output nor is covered by a note with
    their name."""
    base = full_history()
    plain = read(base)
    first = {kind: number for number, (kind, _, _) in enumerate(base)}
    silent = []
    for kind, number in first.items():
        for path in leaves(base[number][2]):
            events = copy.deepcopy(base)
            parent = at(events[number][2], path[:-1])
            parent[path[-1]] = changed(parent[path[-1]])
            try:
                found = read(events)
            except Wrong:
                continue
            named = re.search(rf"left out, [^:]*:.*\b{re.escape(str(path[-1]))} \(", found.said)
            if (found.written, found.said) == (plain.written, plain.said) and not named:
                silent.append((kind, path))
    # Identifiers have an effect only if another record refers to them, which is not the case for
    # those of a killed attempt. The second location of a block matters only if a task ran there,
    # and the name of a task only if two tasks have the same name.
    return [case for case in silent if case[1][-1] not in ("splitLocations", "taskid")]


def test_no_field_of_a_job_history_is_silent(read_jhist):
    assert silent_in_jhist(read_jhist) == []


def test_silence_in_a_job_history_is_found(read_jhist, monkeypatch):
    """The test of fields fails with a reader that counts no fields, and with a reader that ignores
    hosts."""
    with monkeypatch.context() as patch:
        patch.setattr(fields.Record, "add_to", lambda self, left_out: None)
        silent = silent_in_jhist(read_jhist)
        assert {
            ("JOB_SUBMITTED", ("userName",)),
            ("MAP_ATTEMPT_FINISHED", ("rackname",)),
            ("JOB_FINISHED", ("killedMaps",)),
        } <= set(silent)

    def without_times(events: list[tuple[str, str, Event]], **options: Any) -> Outcome:
        return read_jhist(
            [
                (kind, name, {**record, "submitTime": 0} if "submitTime" in record else record)
                for kind, name, record in events
            ],
            **options,
        )

    assert any(case[1] == ("submitTime",) for case in silent_in_jhist(without_times))


@pytest.mark.parametrize(
    ("kind", "change", "found"),
    [
        ("MAP_ATTEMPT_STARTED", {"locality": "FOO"}, "locality of MAP_ATTEMPT_STARTED 'FOO'"),
        ("MAP_ATTEMPT_STARTED", {"locality": 5}, "locality of MAP_ATTEMPT_STARTED 5"),
        ("MAP_ATTEMPT_STARTED", {"locality": {"int": 5}}, "locality of MAP_ATTEMPT_STARTED"),
        ("TASK_STARTED", {"splitLocations": 5}, "splitLocations of TASK_STARTED 5"),
        ("TASK_STARTED", {"splitLocations": ["a"]}, "splitLocations of TASK_STARTED a list"),
        ("TASK_STARTED", {"splitLocations": {"int": 5}}, "splitLocations of TASK_STARTED"),
    ],
)
def test_wrong_values_of_a_job_history_are_refused(read_jhist, kind, change, found):
    events = full_history()
    next(record for name, _, record in events if name == kind).update(change)
    with pytest.raises(Wrong, match=re.escape(found)) as error:
        read_jhist(events)
    assert error.value.line is not None


@pytest.mark.parametrize("locality", [None, {"string": "NODE_LOCAL"}, "RACK_LOCAL", "OFF_SWITCH"])
def test_values_of_locality(read_jhist, locality):
    events = full_history()
    next(record for name, _, record in events if name == "MAP_ATTEMPT_STARTED").update(
        {"locality": locality}
    )
    assert read_jhist(events).written


def test_events_that_stand_there_twice_are_refused(read_jhist):
    events = full_history()
    with pytest.raises(Wrong, match="JOB_SUBMITTED of 'job_7_0001', the second in the file"):
        read_jhist(events + events)
    ended = next(event for event in events if event[0] == "MAP_ATTEMPT_FINISHED")
    with pytest.raises(Wrong, match="MAP_ATTEMPT_FINISHED of 'map0_0' a second time"):
        read_jhist([*events, ended])


def test_a_job_history_counts_once(read_jhist, tmp_path):
    plain = read_jhist(history())
    path, copied = tmp_path / "job.jhist", tmp_path / "copy.jhist"
    again = Outcome(jhist.read([path, path]), None)
    assert again.trace == plain.trace
    assert "a file was given twice and is read once (job.jhist)" in again.said
    copied.write_bytes(path.read_bytes())
    with pytest.raises(Wrong, match=r"copy.jhist: found job_7_0001 a second time \(first in .*job"):
        jhist.read([path, copied])


def test_attempts_without_a_start_begin_with_their_job(read_jhist):
    events = [event for event in history(submit=1_000) if not event[0].endswith("_ATTEMPT_STARTED")]
    found = read_jhist([*events])
    assert "attempts whose start is not in the file" in found.said
    assert "4 times" in found.said
    assert min(row[0] for row in found.flows) == 0


def test_a_byte_order_mark_is_no_part_of_the_first_line(read_jhist, tmp_path):
    plain = read_jhist(history())
    path = tmp_path / "job.jhist"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Outcome(jhist.read([path]), None).written == plain.written


def test_keys_that_stand_twice_in_an_event_are_noted(read_jhist, tmp_path):
    read_jhist(history())
    path = tmp_path / "job.jhist"
    text = path.read_text().replace('"submitTime": 1', '"submitTime": 5, "submitTime": 1')
    path.write_text(text)
    said = Outcome(jhist.read([path]), None).said
    assert "'submitTime' stands twice in one object" in said
    assert "job.jhist:3" in said


def test_counters_of_a_job_history(read_jhist):
    events = copy.deepcopy(history())
    events[3][2]["counters"]["groups"][0]["counts"].append({"name": "MY_OWN", "value": 5})
    events[3][2]["extra"] = 1
    events.insert(4, ("SOMETHING_NEW", "New", {}))
    found = read_jhist(events)
    assert found.written == read_jhist(history()).written
    assert "MY_OWN (1)" in found.said
    assert "unknown field 'extra' of MAP_ATTEMPT_FINISHED" in found.said
    assert "unknown event 'SOMETHING_NEW': left out (job.jhist:7)" in found.said
