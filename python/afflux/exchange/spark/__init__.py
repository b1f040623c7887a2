"""Reads Spark's event logs: one JSON object per line. Source: Apache Spark,
`org.apache.spark.util.JsonProtocol`."""

import functools
import os
from collections.abc import Sequence
from pathlib import Path

from ..account import Wrong
from ..fields import LeftOut
from ..jobs import Log
from .applications import Application, Stretch, joined
from .events import Reader
from .parts import Part, ordered
from .tasks import Resolved, resolve, transfers


def read(paths: Sequence[Path]) -> Log:
    """Returns the jobs of these logs. Logs and their parts may be in any order: events are matched
    by the numbers of jobs and stages, and by their times."""
    log, left_out = Log(), LeftOut()
    parts = ordered(paths, log.account)
    reader = Reader(log.account, left_out)
    stretches: list[Stretch] = []
    for part in parts:
        log.size += os.stat(part.path).st_size
        stretches += reader.stretches(part)
    for record in reader.records.every():
        record.add_to(left_out)
    for application in joined(stretches, log.account):
        _add(log, resolve(application, log), application)
    if not log.jobs and not log.account.dropped:
        log.account.notes.append("there is no SparkListenerJobStart")
    log.account.taken = len(log.jobs)
    log.account.notes += left_out.notes()
    log.account.notes.append("left out: stages (a job here has one map and one reduce phase)")
    log.of_transfers.notes.append(
        "fetches start with their task; reads of input and writes of output name no hosts and are left out"
    )
    return log


def _add(log: Log, resolved: Resolved, application: Application) -> None:
    log.jobs += resolved.jobs
    log.making.append(functools.partial(transfers, application, resolved))


__all__ = ["Part", "Wrong", "read"]
