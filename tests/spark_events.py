"""Event logs of Spark for tests, and the output of an import."""

import json
from pathlib import Path
from typing import Any

from afflux.exchange import jobs, spark
from afflux.exchange.hosts import Known

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


def read_spark(folder: Path, *logs: list[Event], known: Known | None = None) -> Outcome:
    """Writes event logs to `folder` and reads them."""
    paths = []
    for number, events in enumerate(logs):
        paths.append(folder / f"log{number}")
        paths[-1].write_text("".join(json.dumps(event) + "\n" for event in events))
    return Outcome(spark.read(paths), known)
