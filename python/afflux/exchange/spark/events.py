"""Converts the lines of event logs to jobs, stages and tasks."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..account import Account, Wrong, moment, name, number, shown, table
from ..fields import LeftOut
from ..jobs import json_lines
from . import known
from .applications import End, Job, Stage, Stretch, Task
from .parts import Part

#: Beginning of a line, as Spark writes it: the kind of event comes first.
_KIND = re.compile(r'\{\s*"Event"\s*:\s*"([A-Za-z0-9_.$]{1,200})"')
_SUCCEEDED, _FAILED = "JobSucceeded", "JobFailed"
#: Matches the reason of tasks that were stopped because another attempt succeeded.
_SPECULATIVE = re.compile(r"another attempt succeeded", re.IGNORECASE)


class Reader:
    """Reads files one after the other."""

    def __init__(self, account: Account, left_out: LeftOut) -> None:
        self.account, self.left_out = account, left_out
        self.records = known.Records()
        self._count = 0

    def stretches(self, part: Part) -> list[Stretch]:
        """Returns the events of a file. Raises `Wrong` if it has none."""
        path = part.path
        stretch = Stretch(path, named=part.application)
        found: list[Stretch] = [stretch]
        self._count = 0
        for at, event in json_lines(path, self.account, skip=self._skip):
            kind = event.get("Event")
            if not isinstance(kind, str):
                raise Wrong(
                    path, at, shown(event), 'an event of Spark: {"Event": "SparkListener…", …}'
                )
            self._count += 1
            if known.kind_of(kind) == "ApplicationStart":
                if stretch.called is not None or stretch.jobs or stretch.tasks:
                    stretch = Stretch(path)
                    found.append(stretch)
                self._start(stretch, event, path, at)
            elif known.kind_of(kind) in known.TAKEN:
                self._take(known.kind_of(kind), stretch, event, path, at)
            else:
                self._leave(kind, path, at)
        if not self._count:
            raise Wrong(path, None, "no events", "an event log of Spark")
        return found

    def _skip(self, line: str) -> bool:
        """Counts an event without information about traffic, and returns True for it. The event is
        not parsed, because query plans are long and deep."""
        found = _KIND.match(line)
        if found is None or not line.endswith("}") or not self._says_nothing(found[1]):
            return False
        self._count += 1
        self.left_out.add("events without bytes", known.kind_of(found[1]))
        return True

    @staticmethod
    def _says_nothing(kind: str) -> bool:
        return known.kind_of(kind) in known.LEFT_OUT or kind.startswith(known.FAMILIES)

    def _leave(self, kind: str, path: Path, at: int) -> None:
        if self._says_nothing(kind):
            self.left_out.add("events without bytes", known.kind_of(kind))
        else:
            self.account.noted(f"unknown event {shown(kind)}: left out", f"{path.name}:{at}")

    def _start(self, stretch: Stretch, event: Mapping[str, Any], path: Path, at: int) -> None:
        # An application without an identifier is identified by its name.
        named = {
            key: value for key, value in event.items() if key != "App Name" or event.get("App ID")
        }
        self.records.application.seen(named, self.account, path, at)
        stretch.called = name(
            event.get("App ID") or event.get("App Name") or path.name, "the application", path, at
        )
        attempt = event.get("App Attempt ID")
        stretch.attempt = name(attempt, "App Attempt ID", path, at) if attempt is not None else None

    def _take(
        self, kind: str, stretch: Stretch, event: Mapping[str, Any], path: Path, at: int
    ) -> None:
        match kind:
            case "JobStart":
                self._job(stretch, event, path, at)
            case "JobEnd":
                self._job_end(stretch, event, path, at)
            case "TaskEnd":
                self._task(stretch, event, path, at)
            case "ApplicationEnd":
                self.records.application_end.seen(event, self.account, path, at)
                stretch.ended = True
            case _:
                self.records.stage_event.seen(event, self.account, path, at)
                info = table(event.get("Stage Info"), "Stage Info", path, at)
                self._stage(stretch, info, path, at)
                if info.get("Failure Reason") is not None:
                    self.account.noted(
                        "stages that failed: those of their tasks that succeeded count",
                        f"{path.name}:{at}",
                    )

    def _job(self, stretch: Stretch, event: Mapping[str, Any], path: Path, at: int) -> None:
        self.records.job.seen(event, self.account, path, at)
        job = Job(
            number(event.get("Job ID"), "Job ID", path, at),
            moment(event.get("Submission Time"), "Submission Time", path, at),
            [],
            path,
            at,
        )
        for info in _list(event.get("Stage Infos", []), "Stage Infos", path, at):
            self._stage(stretch, table(info, "Stage Info", path, at), path, at)
        job.stages = [
            number(stage, "Stage ID", path, at)
            for stage in _list(event.get("Stage IDs", []), "Stage IDs", path, at)
        ]
        stretch.jobs.append(job)

    def _job_end(self, stretch: Stretch, event: Mapping[str, Any], path: Path, at: int) -> None:
        self.records.job_end.seen(event, self.account, path, at)
        result = table(event.get("Job Result"), "Job Result", path, at)
        self.records.result.seen(result, self.account, path, at)
        if result.get("Result") not in (_SUCCEEDED, _FAILED):
            raise Wrong(
                path, at, f"Job Result {shown(result.get('Result'))}", f"{_SUCCEEDED} or {_FAILED}"
            )
        end = event.get("Completion Time")
        time = moment(end, "Completion Time", path, at) if end is not None else None
        stretch.ends[number(event.get("Job ID"), "Job ID", path, at)] = End(
            time, result["Result"] == _SUCCEEDED
        )

    def _stage(self, stretch: Stretch, info: Mapping[str, Any], path: Path, at: int) -> None:
        self.records.stage.seen(info, self.account, path, at)
        stage = number(info.get("Stage ID"), "Stage ID", path, at)
        parents = [
            number(parent, "Parent ID", path, at)
            for parent in _list(info.get("Parent IDs", []), "Parent IDs", path, at)
        ]
        rdds = []
        for rdd in _list(info.get("RDD Info", []), "RDD Info", path, at):
            self.records.rdd.seen(table(rdd, "RDD Info", path, at), self.account, path, at)
            rdds.append(number(rdd.get("RDD ID"), "RDD ID", path, at))
        tasks = number(info.get("Number of Tasks", 0), "Number of Tasks", path, at)
        # A stage that runs again keeps its first description, which has all its tasks.
        stretch.stages.setdefault(stage, Stage(parents, tasks, max(rdds, default=None)))

    def _task(self, stretch: Stretch, event: Mapping[str, Any], path: Path, at: int) -> None:
        self.records.task.seen(event, self.account, path, at)
        reason = table(event.get("Task End Reason"), "Task End Reason", path, at)
        if reason.get("Reason") != "Success":
            self._unsuccessful(stretch, reason, event, path, at)
            return
        info = table(event.get("Task Info"), "Task Info", path, at)
        self.records.info.seen(info, self.account, path, at)
        metrics = event.get("Task Metrics")
        if metrics is None:
            self.account.noted("tasks without Task Metrics: left out", f"{path.name}:{at}")
            return
        self.records.metrics.seen(table(metrics, "Task Metrics", path, at), self.account, path, at)

        def of(values: Mapping[str, Any], key: str) -> int | None:
            return None if values.get(key) is None else number(values[key], key, path, at)

        def metric(group: str, key: str) -> int:
            of_group = metrics.get(group)
            if of_group is None:
                return 0
            value = table(of_group, group, path, at).get(key, 0)
            return number(value, f"{group}, {key}", path, at)

        for group, record in self.records.groups.items():
            if isinstance(metrics.get(group), Mapping):
                record.seen(metrics[group], self.account, path, at)
        launch = moment(info.get("Launch Time"), "Launch Time", path, at)
        index = (
            of(info, "Partition ID") if of(info, "Partition ID") is not None else of(info, "Index")
        )
        stretch.tasks.append(
            Task(
                number(event.get("Stage ID"), "Stage ID", path, at),
                of(event, "Stage Attempt ID") or 0,
                of(info, "Task ID"),
                # Without a partition, a task of a later attempt of the stage has an index that
                # counts only recomputed tasks.
                index if "Partition ID" in info or not of(event, "Stage Attempt ID") else None,
                of(info, "Attempt") or 0,
                name(info.get("Host"), "Host", path, at),
                launch,
                max(launch, moment(info.get("Finish Time") or launch, "Finish Time", path, at)),
                info.get("Speculative") is True,
                metric("Input Metrics", "Bytes Read"),
                metric("Output Metrics", "Bytes Written"),
                metric("Shuffle Read Metrics", "Remote Bytes Read"),
                metric("Shuffle Read Metrics", "Local Bytes Read"),
                metric("Shuffle Write Metrics", "Shuffle Bytes Written"),
                path,
                at,
            )
        )

    def _unsuccessful(
        self,
        stretch: Stretch,
        reason: Mapping[str, Any],
        event: Mapping[str, Any],
        path: Path,
        at: int,
    ) -> None:
        kind = reason.get("Reason")
        if not isinstance(kind, str):
            raise Wrong(
                path, at, f"Task End Reason {shown(kind)}", "Success, or a reason of failure"
            )
        info = event.get("Task Info")
        if kind == "Resubmitted" and isinstance(info, Mapping) and info.get("Task ID") is not None:
            # The task had succeeded. Its output was lost with its executor, and it runs again.
            stretch.lost.add(number(info["Task ID"], "Task ID", path, at))
        elif _SPECULATIVE.search(str(reason.get("Kill Reason"))):
            self.account.noted(
                "tasks of which another attempt succeeded: only that one counts",
                f"{path.name}:{at}",
            )
        else:
            self.account.noted(
                f"tasks that did not succeed ({kind}): left out", f"{path.name}:{at}"
            )


def _list(value: object, what: str, path: Path, at: int) -> list[Any]:
    if not isinstance(value, list):
        raise Wrong(path, at, f"{what} {shown(value)}", "a list")
    return value
