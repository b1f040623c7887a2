"""Decides which tasks count and for which job, and computes the transfers between them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from .. import jobs
from ..account import Account, total
from ..jobs import Log, Transfer, shared_out
from .applications import Application, Job, Task, by_stage


@dataclass
class Resolved:
    """The jobs of an application, and the tasks that read the output of others."""

    jobs: list[jobs.Job]
    readers: list[Task]
    ran: dict[int, list[Task]]


def resolve(application: Application, log: Log) -> Resolved:
    tasks = _counting(application, log.account)
    needs: dict[int, list[Job]] = defaultdict(list)
    for job in sorted(application.jobs.values(), key=lambda job: (job.submit_ms, job.number)):
        for stage in job.stages:
            needs[stage].append(job)
    taken: dict[int, jobs.Job] = {}
    for number, job in application.jobs.items():
        end = application.ends.get(number)
        if end is not None and not end.succeeded:
            log.account.drop("failed or cancelled")
        else:
            if end is None:
                said = "jobs without SparkListenerJobEnd (the log begins late or breaks off): what it has of them counts"
                log.account.noted(said, f"{job.path.name}:{job.line}")
            taken[number] = jobs.Job(f"{application.name}_{number}", job.submit_ms)
    readers = []
    for task in tasks:
        log.machines.host(task.host)
        owner = _owner(application, needs.get(task.stage, []), task)
        if owner is None:
            log.account.noted(
                "tasks of stages that no job of the log needs: left out",
                f"{task.path.name}:{task.line}",
            )
        elif (of_job := taken.get(owner.number)) is None:
            log.account.noted("tasks of failed jobs: left out", f"{task.path.name}:{task.line}")
        else:
            of_job.read = total(of_job.read + task.read, of_job.name, task.path, task.line)
            of_job.shuffled = total(
                of_job.shuffled + task.remote + task.local, of_job.name, task.path, task.line
            )
            of_job.written = total(of_job.written + task.written, of_job.name, task.path, task.line)
            readers += [task] if task.remote else []
    return Resolved([*taken.values()], readers, by_stage(tasks))


def _owner(application: Application, candidates: list[Job], task: Task) -> Job | None:
    """Returns the job that ran a task: the first that needs its stage, was submitted, and had not
    ended."""
    for job in candidates:
        end = application.ends.get(job.number)
        if job.submit_ms <= task.finish_ms and (
            end is None or end.time_ms is None or end.time_ms >= task.launch_ms
        ):
            return job
    return candidates[0] if candidates else None


def _counting(application: Application, account: Account) -> list[Task]:
    """Returns the tasks that count. If a partition was computed several times, one task counts: the
    first to end of a speculative pair, otherwise the last."""
    kept: dict[object, Task] = {}
    numbers: dict[int, Task] = {}
    for task in application.tasks:
        place = f"{task.path.name}:{task.line}"
        if task.number is not None:
            if task.number in application.lost:
                account.noted(
                    "tasks whose output was lost and that ran again: only the last run counts",
                    place,
                )
                continue
            if numbers.setdefault(task.number, task) is not task:
                account.noted("task ends that the log has twice: counted once", place)
                continue
        if task.partition is None:
            kept[task] = task
            continue
        key = (task.stage, task.partition)
        other = kept.setdefault(key, task)
        if other is task:
            continue
        if (other.attempt, other.of_task) == (task.attempt, task.of_task):
            # These are different tasks, so their partition number does not identify them.
            kept[task] = task
            continue
        speculative = other.attempt == task.attempt and (other.speculative or task.speculative)
        kept[key] = min(other, task, key=_ended) if speculative else max(other, task, key=_ended)
        account.noted(
            "tasks of which another attempt succeeded: only that one counts"
            if speculative
            else "tasks whose output was lost and that ran again: only the last run counts",
            place,
        )
    return [*kept.values()]


def _ended(task: Task) -> tuple[int, int, int]:
    return task.attempt, task.finish_ms, task.of_task


# --------------------------------------------------------------------------------------------------------------------- transfers


def transfers(application: Application, resolved: Resolved, log: Log) -> None:
    """Adds the transfers of tasks that fetched data. Sources are the hosts that wrote the data, in
    proportion to the bytes they wrote."""
    outputs, machine = _Outputs(application, resolved.ran), log.machines.of
    sources: dict[int, dict[str, int]] = {}
    for stage in sorted({task.stage for task in resolved.readers}):
        sources[stage] = defaultdict(int)
        about = application.stages.get(stage)
        for parent in sorted(set(about.parents)) if about is not None else []:
            for task in outputs.of(parent, log.of_transfers):
                if task.shuffled:
                    sources[stage][machine(task.host)] += task.shuffled
    for task in resolved.readers:
        others = {
            host: size for host, size in sources[task.stage].items() if host != machine(task.host)
        }
        if not others:
            log.of_transfers.drop(
                "fetches from other processes of their host"
                if sources[task.stage]
                else "fetches whose writers are not in the log"
            )
            continue
        log.expect(len(others), application.path)
        for host, size in zip(others, shared_out(task.remote, list(others.values())), strict=True):
            if size:
                log.transfers.append(
                    Transfer(task.launch_ms, host, machine(task.host), size, "fetch")
                )


class _Outputs:
    """The tasks that wrote the data that a stage's readers fetched. For a skipped stage, these are
    the tasks of an earlier stage with the same RDD."""

    def __init__(self, application: Application, ran: dict[int, list[Task]]) -> None:
        self._application, self._ran = application, ran
        self._same: dict[int, list[int]] = defaultdict(list)
        for stage, about in application.stages.items():
            if about.rdd is not None and any(task.shuffled for task in ran.get(stage, ())):
                self._same[about.rdd].append(stage)
        for stages in self._same.values():
            stages.sort(key=lambda stage: max(task.finish_ms for task in ran[stage]), reverse=True)

    def of(self, stage: int, account: Account) -> Iterable[Task]:
        found = list(self._ran.get(stage, ()))
        about = self._application.stages.get(stage)
        if about is None or about.rdd is None or (found and len(found) >= about.tasks):
            return found
        others = [other for other in self._same.get(about.rdd, ()) if other != stage]
        if others and not found:
            account.noted(
                "skipped stages stand for those that computed the same RDD",
                f"stage {stage}: stage {others[0]}",
            )
        covered = {task.partition for task in found}
        for other in others:
            more = [
                task
                for task in self._ran[other]
                if task.partition is None or task.partition not in covered
            ]
            found += more
            covered |= {task.partition for task in more}
            if len(found) >= about.tasks:
                break
        return found
