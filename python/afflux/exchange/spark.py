"""Spark's event logs: one JSON object per line. Source: Apache Spark, `org.apache.spark.util.JsonProtocol`."""

import functools
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .account import Wrong, moment, name, number, shown, table, total
from .jobs import Job, Log, Transfer, json_lines, shared_out


@dataclass
class _Task:
    stage: int
    host: str
    launch_ms: int
    remote: int


@dataclass
class _Application:
    name: str
    path: Path
    jobs: dict[int, Job] = field(default_factory=dict)
    #: The first job that needs a stage runs it.
    owner: dict[int, Job] = field(default_factory=dict)
    parents: dict[int, list[int]] = field(default_factory=dict)
    #: Shuffle bytes that a stage's tasks wrote, by host.
    wrote: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    readers: list[_Task] = field(default_factory=list)


def read(paths: Sequence[Path]) -> Log:
    """The jobs of some logs; the parts of a rolled log follow each other."""
    log = Log()
    application: _Application | None = None
    done: list[_Application] = []
    for path in paths:
        log.size += os.stat(path).st_size
        seen = False
        for at, event in json_lines(path, log.account):
            kind = event.get("Event")
            if not isinstance(kind, str):
                raise Wrong(path, at, shown(event), 'an event of Spark: {"Event": "SparkListener…", …}')
            seen = True
            if kind == "SparkListenerApplicationStart":
                called = event.get("App ID") or event.get("App Name") or path.name
                application = _Application(name(called, "the application", path, at), path)
                done.append(application)
            elif kind in _TAKEN:
                if application is None:
                    application = _Application(path.name, path)
                    done.append(application)
                _TAKEN[kind](application, event, path, at, log)
        if not seen:
            raise Wrong(path, None, "no events", "an event log of Spark")
    for application in done:
        log.jobs += application.jobs.values()
        log.making.append(functools.partial(_transfers, application))
    if not log.jobs:
        log.account.notes.append("there is no SparkListenerJobStart")
    log.account.taken = len(log.jobs)
    log.account.notes.append("left out: stages (a job here has one map and one reduce phase), processor times, executors, cached data")
    log.of_transfers.notes.append("fetches start with their task; reads of input and writes of output name no hosts and are left out")
    return log


def _job_start(application: _Application, event: Mapping[str, Any], path: Path, at: int, log: Log) -> None:
    number_ = number(event.get("Job ID"), "Job ID", path, at)
    job = Job(f"{application.name}_{number_}", moment(event.get("Submission Time"), "Submission Time", path, at))
    application.jobs[number_] = job
    infos = event.get("Stage Infos", [])
    if not isinstance(infos, list):
        raise Wrong(path, at, f"Stage Infos {shown(infos)}", "a list")
    for info in infos:
        _parents(application, info, path, at)
    stages = event.get("Stage IDs", [])
    if not isinstance(stages, list):
        raise Wrong(path, at, f"Stage IDs {shown(stages)}", "a list")
    for stage in stages:
        application.owner.setdefault(number(stage, "Stage ID", path, at), job)


def _stage(application: _Application, event: Mapping[str, Any], path: Path, at: int, log: Log) -> None:
    _parents(application, event.get("Stage Info"), path, at)


def _parents(application: _Application, info: Any, path: Path, at: int) -> None:
    info = table(info, "Stage Info", path, at)
    parents = info.get("Parent IDs", [])
    if not isinstance(parents, list):
        raise Wrong(path, at, f"Parent IDs {shown(parents)}", "a list")
    application.parents[number(info.get("Stage ID"), "Stage ID", path, at)] = [number(parent, "Parent ID", path, at) for parent in parents]


def _task_end(application: _Application, event: Mapping[str, Any], path: Path, at: int, log: Log) -> None:
    reason = event.get("Task End Reason")
    if not isinstance(reason, dict) or reason.get("Reason") != "Success":
        log.of_transfers.drop("of tasks that did not succeed")
        return
    stage = number(event.get("Stage ID"), "Stage ID", path, at)
    info, metrics = table(event.get("Task Info"), "Task Info", path, at), event.get("Task Metrics")
    host = name(info.get("Host"), "Host", path, at)
    if metrics is None:
        return

    def metric(group: str, key: str) -> int:
        of_group = table(metrics, "Task Metrics", path, at).get(group)
        value = 0 if of_group is None else table(of_group, group, path, at).get(key, 0)
        return number(value, f"{group}, {key}", path, at)

    remote, local = metric("Shuffle Read Metrics", "Remote Bytes Read"), metric("Shuffle Read Metrics", "Local Bytes Read")
    written = metric("Shuffle Write Metrics", "Shuffle Bytes Written")
    if written:
        application.wrote[stage][host] += written
    if remote:
        application.readers.append(_Task(stage, host, moment(info.get("Launch Time"), "Launch Time", path, at), remote))
    if (job := application.owner.get(stage)) is None:
        log.account.drop("tasks of unknown jobs")
        return
    job.read = total(job.read + metric("Input Metrics", "Bytes Read"), job.name, path, at)
    job.shuffled = total(job.shuffled + remote + local, job.name, path, at)
    job.written = total(job.written + metric("Output Metrics", "Bytes Written"), job.name, path, at)


_TAKEN = {"SparkListenerJobStart": _job_start, "SparkListenerStageSubmitted": _stage, "SparkListenerTaskEnd": _task_end}


def _transfers(application: _Application, log: Log) -> None:
    """What tasks fetched, from the hosts that wrote it in proportion to what they wrote."""
    sources: dict[int, dict[str, int]] = {}
    for stage in {task.stage for task in application.readers}:
        sources[stage] = defaultdict(int)
        for parent in set(application.parents.get(stage, [])):
            for host, size in application.wrote.get(parent, {}).items():
                sources[stage][host] += size
    for task in application.readers:
        others = {host: size for host, size in sources[task.stage].items() if host != task.host}
        if not others:
            log.of_transfers.drop("fetches whose writers are not in the log")
            continue
        log.expect(len(others), application.path)
        for host, size in zip(others, shared_out(task.remote, list(others.values())), strict=True):
            if size:
                log.transfers.append(Transfer(task.launch_ms, host, task.host, size, "fetch"))
