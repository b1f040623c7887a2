"""Event logs of Spark and job histories of Hadoop: each field changes the output, or a note names
it."""

import copy
import json
import random
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from afflux.exchange import fields, jhist, jobs, spark
from afflux.exchange.account import Wrong
from afflux.exchange.hosts import Known
from fuzz.importer_samples import SCHEMA, as_binary, counters, history

Event = dict[str, Any]


class Outcome:
    """The output of an import, and its messages."""

    def __init__(self, log: jobs.Log, known: Known | None = None) -> None:
        self.trace = jobs.trace(log.jobs)
        flows, hosts = jobs.flows(log, known)
        name = {number: name for name, number in hosts.items()}
        self.flows = sorted(
            zip(
                flows.start_ns,
                (name[h] for h in flows.src),
                (name[h] for h in flows.dst),
                flows.bytes,
                flows.classes or [],
                strict=True,
            )
        )
        self.hosts = sorted(hosts)
        self.said = "\n".join([*log.account.lines(), *log.of_transfers.lines()])

    @property
    def written(self) -> tuple[str, list[tuple[int, str, str, int, str | None]]]:
        return self.trace, self.flows

    def bytes_of(self) -> list[str]:
        return ["/".join(line.split("\t")[3:]) for line in self.trace.splitlines()]


# --------------------------------------------------------------------------------------------------------------------------- Spark


def task(
    stage: int,
    host: str,
    launch: int,
    read: int = 0,
    written: int = 0,
    remote: int = 0,
    local: int = 0,
    shuffled: int = 0,
    **info: Any,
) -> Event:
    about = {
        "Task ID": info.pop("id", None),
        "Index": 0,
        "Attempt": 0,
        "Launch Time": launch,
        "Finish Time": launch + 50,
        "Host": host,
        "Locality": "ANY",
    }
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Stage Attempt ID": info.pop("again", 0),
        "Task Type": "ShuffleMapTask",
        "Task End Reason": {"Reason": "Success"},
        "Task Info": {key: value for key, value in (about | info).items() if value is not None},
        "Task Metrics": {
            "Executor Run Time": 4,
            "Result Size": 1_000,
            "Shuffle Read Metrics": {
                "Remote Bytes Read": remote,
                "Local Bytes Read": local,
                "Remote Bytes Read To Disk": 0,
                "Fetch Wait Time": 1,
            },
            "Shuffle Write Metrics": {"Shuffle Bytes Written": shuffled, "Shuffle Write Time": 1},
            "Input Metrics": {"Bytes Read": read, "Records Read": 1},
            "Output Metrics": {"Bytes Written": written, "Records Written": 1},
        },
    }


def stage(number: int, parents: list[int], rdds: list[int], tasks: int = 2) -> Event:
    infos = [
        {
            "RDD ID": rdd,
            "Name": "r",
            "Parent IDs": [],
            "Storage Level": {},
            "Number of Partitions": tasks,
        }
        for rdd in rdds
    ]
    return {
        "Stage ID": number,
        "Stage Attempt ID": 0,
        "Stage Name": "s",
        "Number of Tasks": tasks,
        "RDD Info": infos,
        "Parent IDs": parents,
    }


def job(number: int, at: int, *stages: Event) -> Event:
    ids = [one["Stage ID"] for one in stages]
    return {
        "Event": "SparkListenerJobStart",
        "Job ID": number,
        "Submission Time": at,
        "Stage Infos": list(stages),
        "Stage IDs": ids,
        "Properties": {"a": "b"},
    }


def end(number: int, at: int, result: str = "JobSucceeded") -> Event:
    return {
        "Event": "SparkListenerJobEnd",
        "Job ID": number,
        "Completion Time": at,
        "Job Result": {"Result": result},
    }


def adaptive() -> list[Event]:
    """Returns a query with adaptive execution: the second job skips stage 1, which
    equals stage 0.
    """
    return [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.0.1"},
        {
            "Event": "SparkListenerApplicationStart",
            "App Name": "q",
            "App ID": "app-1",
            "Timestamp": 1_000,
            "User": "u",
        },
        job(0, 1_100, stage(0, [], [1, 3])),
        task(0, "n1", 1_110, read=4_000, shuffled=3_000, id=1),
        task(0, "n2", 1_110, read=4_000, shuffled=1_000, id=2, Index=1),
        end(0, 1_300),
        job(1, 1_400, stage(1, [], [3, 1]), stage(2, [1], [5, 4])),
        task(2, "n3", 1_410, remote=4_000, written=2_000, id=3),
        end(1, 1_600),
        {"Event": "SparkListenerApplicationEnd", "Timestamp": 1_700},
    ]


@pytest.fixture
def read_spark(tmp_path: Path) -> Callable[..., Outcome]:
    def read(*logs: list[Event], known: Known | None = None) -> Outcome:
        paths = []
        for number, events in enumerate(logs):
            paths.append(tmp_path / f"log{number}")
            paths[-1].write_text("".join(json.dumps(event) + "\n" for event in events))
        return Outcome(spark.read(paths), known)

    return read


def test_a_skipped_stage_stands_for_the_one_that_ran(read_spark):
    found = read_spark(adaptive())
    assert found.bytes_of() == ["8000/0/0", "0/4000/2000"]
    assert found.flows == [
        (310_000_000, "n1", "n3", 3_000, "fetch"),
        (310_000_000, "n2", "n3", 1_000, "fetch"),
    ]
    assert (
        "skipped stages stand for those that computed the same RDD (stage 1: stage 0)" in found.said
    )


def test_a_stage_that_was_computed_in_part_again(read_spark):
    events = adaptive()
    # The output of n2 is lost, so stage 1 computes its partition again, on n4.
    events.insert(7, task(1, "n4", 1_401, read=4_000, shuffled=1_000, id=9, **{"Partition ID": 1}))
    found = read_spark(events)
    assert [(src, size) for _, src, _, size, _ in found.flows] == [("n1", 3_000), ("n4", 1_000)]
    assert found.bytes_of() == ["8000/0/0", "4000/4000/2000"]


def test_failed_jobs_and_attempts_do_not_count(read_spark):
    events = adaptive()
    failed = [
        job(2, 1_620, stage(5, [0], [8])),
        task(5, "n3", 1_625, remote=777, id=20),
        end(2, 1_690, "JobFailed"),
    ]
    lost = copy.deepcopy(events[3])
    lost["Task Info"] |= {"Task ID": 30, "Host": "n9"}
    resubmitted = copy.deepcopy(lost) | {"Task End Reason": {"Reason": "Resubmitted"}}
    copied = task(
        2,
        "n5",
        1_410,
        remote=4_000,
        written=2_000,
        id=31,
        Speculative=True,
        Attempt=1,
        **{"Finish Time": 1_590},
    )
    killed = copy.deepcopy(copied) | {
        "Task End Reason": {"Reason": "TaskKilled", "Kill Reason": "another attempt succeeded"}
    }
    events[3:3] = [lost, resubmitted]
    events[-1:-1] = [copied, killed, *failed]
    found, plain = read_spark(events), read_spark(adaptive())
    assert found.written == plain.written
    assert "2 jobs taken, 1 dropped: 1 failed or cancelled" in found.said
    assert "tasks of failed jobs: left out" in found.said
    assert "tasks whose output was lost and that ran again: only the last run counts" in found.said
    assert re.search(
        r"tasks of which another attempt succeeded: only that one counts \(log0:\d+, log0:\d+\)",
        found.said,
    )


def test_a_stage_belongs_to_the_job_that_ran_it(read_spark):
    """If a job fails before it reaches a stage, the stage's bytes count for the next job."""
    again = stage(0, [], [1])
    found = read_spark(
        [
            job(0, 1_000, again),
            end(0, 1_050, "JobFailed"),
            job(1, 1_100, again),
            task(0, "a", 1_110, read=5),
            end(1, 1_200),
        ]
    )
    assert found.bytes_of() == ["5/0/0"]


# Rolled and compressed logs


def rolled() -> list[list[Event]]:
    """Returns three jobs in twelve parts. Jobs, stages and tasks are in different parts."""
    events: list[Event] = [{"Event": "SparkListenerApplicationStart", "App ID": "app-7"}]
    for number in range(3):
        at, first = 1_000 * (number + 1), 2 * number
        events.append(
            job(number, at, stage(first, [], [first]), stage(first + 1, [first], [first + 1]))
        )
        events += [
            task(
                first,
                host,
                at + 10,
                read=100,
                shuffled=60 + number,
                id=10 * number + index,
                Index=index,
            )
            for index, host in enumerate("ab")
        ]
        events += [
            task(
                first + 1,
                "b",
                at + 100,
                remote=60 + number,
                local=60 + number,
                written=50,
                id=10 * number + 5,
            ),
            end(number, at + 500),
        ]
    sizes = len(events) // 12 + 1
    return [events[at : at + sizes] for at in range(0, len(events), sizes)]


JOBS = ["200/120/50", "200/122/50", "200/124/50"]


def lay_rolled(
    folder: Path, parts: list[list[Event]], names: str = "events_{}_app-7"
) -> list[Path]:
    folder.mkdir()
    paths = [folder / names.format(number) for number in range(1, len(parts) + 1)]
    for path, events in zip(paths, parts, strict=True):
        path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return paths


@pytest.mark.parametrize("names", ["events_{}_app-7", "part-{}.log"])
def test_the_order_of_parts_does_not_matter(tmp_path, names):
    paths = lay_rolled(tmp_path / "log", rolled(), names)
    expected = None
    for seed in range(4):
        random.Random(seed).shuffle(paths)
        found = Outcome(spark.read(paths))
        assert found.bytes_of() == JOBS
        assert expected is None or found.written == expected
        expected = found.written
    assert len(expected[1]) == 3


def test_directories_states_and_missing_parts(tmp_path):
    paths = lay_rolled(tmp_path / "eventlog_v2_app-7", rolled())
    (tmp_path / "eventlog_v2_app-7/appstatus_app-7").touch()
    (tmp_path / "eventlog_v2_app-7/.events_1_app-7.crc").write_bytes(b"x")
    for given in ([tmp_path / "eventlog_v2_app-7"], [tmp_path], [paths[3], tmp_path]):
        found = Outcome(spark.read(given))
        assert found.bytes_of() == JOBS
        assert "appstatus_app-7" in found.said
    assert "given twice" in found.said
    paths[1].unlink()
    assert "app-7: 1 part of the rolled log missing (2)" in Outcome(spark.read([tmp_path])).said
    (tmp_path / "none").mkdir()
    with pytest.raises(Wrong, match="a directory without event logs"):
        spark.read([tmp_path / "none"])


def test_a_compacted_part_stands_for_those_before_it(tmp_path):
    parts = rolled()
    paths = lay_rolled(tmp_path / "log", parts)
    expected = Outcome(spark.read(paths)).written
    # The content that Spark keeps of the first two parts if nothing in them has ended.
    (tmp_path / "log/events_2_app-7.compact").write_text(
        "".join(json.dumps(event) + "\n" for events in parts[:2] for event in events)
    )
    found = Outcome(spark.read([tmp_path / "log"]))
    assert found.written == expected
    assert (
        "parts that events_2_app-7.compact stands for are left out (events_1_app-7, events_2_app-7)"
        in found.said
    )
    for path in paths[:2]:
        path.unlink()
    assert Outcome(spark.read([tmp_path / "log"])).written == expected


def test_a_log_that_is_given_twice_is_refused(tmp_path, read_spark):
    with pytest.raises(
        Wrong,
        match=r"log1:3: found job 0 of app-1 a second time \(first in log0:3\), expected each log",
    ):
        read_spark(adaptive(), adaptive())
    other = adaptive()
    other[1] |= {"App Attempt ID": "2"}
    first = adaptive()
    first[1] |= {"App Attempt ID": "1"}
    assert [line.split("\t")[0] for line in read_spark(first, other).trace.splitlines()] == [
        "app-1_1_0",
        "app-1_2_0",
        "app-1_1_1",
        "app-1_2_1",
    ]


def lz4_java(data: bytes, size: int = 500) -> bytes:
    cramjam = pytest.importorskip("cramjam")
    out = b""
    for at in range(0, len(data), size):
        block = data[at : at + size]
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        method, packed = (0x26, packed) if at else (0x16, block)
        out += (
            b"LZ4Block" + bytes([method]) + struct.pack("<iii", len(packed), len(block), 0) + packed
        )
    return out + b"LZ4Block" + bytes([0x16]) + bytes(12)


def snappy_java(data: bytes, size: int = 500) -> bytes:
    cramjam = pytest.importorskip("cramjam")
    out = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    for at in range(0, len(data), size):
        packed = bytes(cramjam.snappy.compress_raw(data[at : at + size]))
        out += struct.pack(">i", len(packed)) + packed
    return out


def zstandard(data: bytes) -> bytes:
    try:
        from compression import zstd
    except ImportError:
        zstd = pytest.importorskip("backports.zstd")
    return bytes(zstd.compress(data))


@pytest.mark.parametrize("pack", [zstandard, lz4_java, snappy_java])
def test_codecs_of_spark(tmp_path, pack):
    lines = [json.dumps(event).encode() + b"\n" for event in adaptive()]
    # Several compressed streams follow each other, as in a log that is appended to.
    packed = [pack(b"".join(lines[:5])), pack(b"".join(lines[5:]))]
    path = tmp_path / "app-1"
    path.write_bytes(b"".join(packed))
    found = Outcome(spark.read([path]))
    assert found.bytes_of() == ["8000/0/0", "0/4000/2000"]
    # The log is truncated, as while the application runs: the readable part counts, and a note says
    # so.
    path.write_bytes(b"".join(packed)[:-30])
    found = Outcome(spark.read([path]))
    assert "ends within a compressed block" in found.said
    assert found.bytes_of()[0] == "8000/0/0"
    # Damage at any position is refused.
    draw, refused = random.Random(1), []
    for _ in range(30):
        data = bytearray(b"".join(packed))
        data[draw.randrange(8, len(data))] ^= 0xFF
        path.write_bytes(data)
        try:
            spark.read([path])
        except Wrong as error:
            refused.append(str(error))
    assert len(refused) > 5
    assert all("app-1" in message for message in refused)


def test_codecs_that_are_not_read_are_named(tmp_path):
    path = tmp_path / "app.lzf"
    path.write_bytes(b"ZV\x01\x00\x09\x00\x10abc")
    with pytest.raises(
        Wrong, match="found a file compressed with lzf, expected no compression, gzip, xz, zstd"
    ):
        spark.read([path])


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


def silent_in_spark(read: Callable[..., Outcome]) -> list[str]:
    """Returns the fields whose change neither changes the output nor is covered by a note with
    their name."""
    plain = read(adaptive())
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
            found = read(events)
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


def test_no_field_of_an_event_log_is_silent(read_spark):
    silent = [
        case
        for case in silent_in_spark(read_spark)
        if not any(repr(name) in case for name in DISTINGUISHES)
    ]
    assert silent == []


def test_fields_that_tell_records_apart(read_spark):
    """Each field matters if two records have the same value."""
    plain = read_spark(adaptive())

    def differs(number: int, **info: Any) -> bool:
        events = adaptive()
        events[number]["Task Info"] |= {key.replace("_", " "): value for key, value in info.items()}
        found = read_spark(events)
        return (found.written, found.said) != (plain.written, plain.said)

    assert differs(4, Task_ID=1)
    assert differs(4, Index=0, Attempt=1)
    events = adaptive()
    events[6]["Stage Infos"][0]["RDD Info"][0]["RDD ID"] = 2
    events[6]["Stage Infos"][0]["RDD Info"][1]["RDD ID"] = 1
    assert "writers are not in the log" in read_spark(events).said


def test_an_unknown_event_or_field_is_named_with_its_place(read_spark):
    events = adaptive()
    events[3]["Task Metrics"]["Newer Metric"] = 5
    events[3]["Newer"] = 5
    events.insert(4, {"Event": "SparkListenerSomethingNew"})
    found = read_spark(events)
    assert found.written == read_spark(adaptive()).written
    for said in (
        "unknown field 'Newer Metric' of Task Metrics: left out (log0:4)",
        "unknown field 'Newer' of SparkListenerTaskEnd: left out (log0:4)",
        "unknown event 'SparkListenerSomethingNew': left out (log0:5)",
    ):
        assert said in found.said


def test_silence_is_found(read_spark, monkeypatch):
    """With a reader that counts no fields, the test of fields fails."""
    monkeypatch.setattr(fields.Record, "add_to", lambda self, left_out: None)
    silent = silent_in_spark(read_spark)
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
