"""Event logs of Spark: stages, attempts, parts and codecs."""

import copy
import json
import random
import re
import struct
from pathlib import Path

import pytest
from spark_events import Event, Outcome, adaptive, end, job, read_spark, stage, task

from afflux.exchange import spark
from afflux.exchange.account import Wrong


def test_a_skipped_stage_stands_for_the_one_that_ran(tmp_path):
    found = read_spark(tmp_path, adaptive())
    assert found.bytes_of() == ["8000/0/0", "0/4000/2000"]
    assert found.flows == [
        (310_000_000, "n1", "n3", 3_000, "fetch"),
        (310_000_000, "n2", "n3", 1_000, "fetch"),
    ]
    assert (
        "skipped stages stand for those that computed the same RDD (stage 1: stage 0)" in found.said
    )


def test_a_stage_that_was_computed_in_part_again(tmp_path):
    events = adaptive()
    # The output of n2 is lost, so stage 1 computes its partition again, on n4.
    events.insert(7, task(1, "n4", 1_401, read=4_000, shuffled=1_000, id=9, **{"Partition ID": 1}))
    found = read_spark(tmp_path, events)
    assert [(src, size) for _, src, _, size, _ in found.flows] == [("n1", 3_000), ("n4", 1_000)]
    assert found.bytes_of() == ["8000/0/0", "4000/4000/2000"]


def test_failed_jobs_and_attempts_do_not_count(tmp_path):
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
    found, plain = read_spark(tmp_path, events), read_spark(tmp_path, adaptive())
    assert found.written == plain.written
    assert "2 jobs taken, 1 dropped: 1 failed or cancelled" in found.said
    assert "tasks of failed jobs: left out" in found.said
    assert "tasks whose output was lost and that ran again: only the last run counts" in found.said
    assert re.search(
        r"tasks of which another attempt succeeded: only that one counts \(log0:\d+, log0:\d+\)",
        found.said,
    )


def test_a_stage_belongs_to_the_job_that_ran_it(tmp_path):
    """If a job fails before it reaches a stage, the stage's bytes count for the next job."""
    again = stage(0, [], [1])
    found = read_spark(
        tmp_path,
        [
            job(0, 1_000, again),
            end(0, 1_050, "JobFailed"),
            job(1, 1_100, again),
            task(0, "a", 1_110, read=5),
            end(1, 1_200),
        ],
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


def test_a_log_that_is_given_twice_is_refused(tmp_path):
    with pytest.raises(
        Wrong,
        match=r"log1:3: found job 0 of app-1 a second time \(first in log0:3\), expected each log",
    ):
        read_spark(tmp_path, adaptive(), adaptive())
    other = adaptive()
    other[1] |= {"App Attempt ID": "2"}
    first = adaptive()
    first[1] |= {"App Attempt ID": "1"}
    assert [
        line.split("\t")[0] for line in read_spark(tmp_path, first, other).trace.splitlines()
    ] == [
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
