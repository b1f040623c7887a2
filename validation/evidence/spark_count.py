"""Compares `afflux import spark` with an independent count of jobs, bytes and fetches.

    python -m validation.evidence.spark_count LOG … -o validation/evidence/spark-logs.csv

Each LOG is a file, plain or compressed with zstd, or the directory of a rolled log. The count does
not use afflux and is as simple as possible. Events count in the order of the log. The job of a task
is the first job that needs its stage and has not ended. The last success of a partition counts. A
stage without tasks equals another stage with its last RDD.
"""

import argparse
import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from afflux.exchange import jobs, spark

COLUMNS = ("log", "what", "afflux", "count")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("-o", type=Path, required=True)
    options = parser.parse_args()
    with options.o.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for path in options.logs:
            theirs = imported(path)
            for what, number in counted(path).items():
                writer.writerow((path.name, what, theirs[what], number))


def summed(rows: list[tuple[int, int, int]], fetched: dict[tuple[str, str], int]) -> dict[str, int]:
    """Returns the compared numbers. A checksum ensures that bytes are attributed to
    the right job.
    """
    found = {
        "jobs": len(rows),
        "pairs of hosts": sum(1 for size in fetched.values() if size),
        "bytes fetched": sum(fetched.values()),
    }
    for at, what in enumerate(("input", "shuffle", "output")):
        found[f"bytes of {what}"] = sum(row[at] for row in rows)
        found[f"bytes of {what}, each times its job's place"] = sum(
            place * row[at] for place, row in enumerate(rows, 1)
        )
    return found


def imported(path: Path) -> dict[str, int]:
    log = spark.read([path])
    flows, hosts = jobs.flows(log, None)
    names = {number: name for name, number in hosts.items()}
    fetched: dict[tuple[str, str], int] = defaultdict(int)
    for src, dst, size in zip(flows.src, flows.dst, flows.bytes, strict=True):
        fetched[names[src], names[dst]] += size
    rows = [tuple(map(int, line.split("\t")[3:])) for line in jobs.trace(log.jobs).splitlines()]
    return summed(rows, fetched)  # type: ignore[arg-type]


def events(path: Path) -> Iterator[dict[str, Any]]:
    parts = (
        sorted(
            path.glob("events_*"), key=lambda part: int(re.findall(r"events_(\d+)_", part.name)[0])
        )
        if path.is_dir()
        else [path]
    )
    for part in parts:
        data = part.read_bytes()
        if data[:4] == b"\x28\xb5\x2f\xfd":
            from backports import zstd

            data = zstd.decompress(data)
        yield from map(json.loads, data.splitlines())


def counted(path: Path) -> dict[str, int]:
    started: dict[int, dict[str, Any]] = {}
    over: dict[int, bool] = {}
    stages: dict[int, dict[str, Any]] = {}
    #: Stage and partition to the job, host and metrics of the last success.
    done: dict[tuple[int, int], tuple[int | None, str, dict[str, Any]]] = {}
    for event in events(path):
        match event["Event"]:
            case "SparkListenerJobStart":
                started[event["Job ID"]] = event
                stages = {info["Stage ID"]: info for info in event["Stage Infos"]} | stages
            case "SparkListenerJobEnd":
                over[event["Job ID"]] = event["Job Result"]["Result"] == "JobSucceeded"
            case "SparkListenerTaskEnd" if event["Task End Reason"]["Reason"] == "Success":
                stage, info = event["Stage ID"], event["Task Info"]
                needs = [job for job, start in started.items() if stage in start["Stage IDs"]]
                job = next((job for job in needs if job not in over), needs[0] if needs else None)
                done[stage, info.get("Partition ID", info["Index"])] = (
                    job,
                    info["Host"],
                    event["Task Metrics"],
                )
    sums = {job: [0, 0, 0] for job in started if over.get(job, True)}
    ran: dict[int, list[tuple[str, int]]] = defaultdict(list)
    fetches: list[tuple[int, str, int]] = []
    for (stage, _), (job, host, metrics) in done.items():
        read = metrics["Shuffle Read Metrics"]
        ran[stage].append((host, metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]))
        if job in sums:
            sizes = (
                metrics["Input Metrics"]["Bytes Read"],
                read["Remote Bytes Read"] + read["Local Bytes Read"],
                metrics["Output Metrics"]["Bytes Written"],
            )
            sums[job] = [before + more for before, more in zip(sums[job], sizes, strict=True)]
            fetches.append((stage, host, read["Remote Bytes Read"]))

    def last_rdd(stage: int) -> int:
        return max(rdd["RDD ID"] for rdd in stages[stage]["RDD Info"])

    def writers(stage: int) -> list[tuple[str, int]]:
        same = [
            other
            for other in sorted(ran, reverse=True)
            if other in stages
            and last_rdd(other) == last_rdd(stage)
            and any(size for _, size in ran[other])
        ]
        return ran[stage] if stage in ran else ran[same[0]] if same else []

    fetched: dict[tuple[str, str], int] = defaultdict(int)
    for stage, host, size in fetches:
        wrote: dict[str, int] = defaultdict(int)
        for parent in stages[stage]["Parent IDs"] if size else ():
            for writer, bytes_ in writers(parent):
                wrote[writer] += bytes_ if writer != host else 0
        whole, seen, given = sum(wrote.values()), 0, 0
        for writer, bytes_ in wrote.items():
            seen += bytes_
            part = size * seen // whole - given if whole else 0
            given += part
            fetched[writer, host] += part
    order = sorted(sums, key=lambda job: (started[job]["Submission Time"], job))
    return summed([(sums[job][0], sums[job][1], sums[job][2]) for job in order], fetched)


if __name__ == "__main__":
    main()
