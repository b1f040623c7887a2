"""Jobs, stages and tasks of one application, from one file or several."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from ..account import Account, Wrong


@dataclass(slots=True)
class Job:
    number: int
    submit_ms: int
    stages: list[int]
    path: Path
    line: int


@dataclass(slots=True)
class End:
    time_ms: int | None
    succeeded: bool


@dataclass(slots=True)
class Stage:
    parents: list[int]
    #: Total number of its tasks, from its first description.
    tasks: int
    #: RDD that the stage computes. Stages with other numbers that compute the same RDD are
    #: equivalent.
    rdd: int | None


@dataclass(slots=True, eq=False)
class Task:
    """A task that succeeded."""

    stage: int
    attempt: int
    number: int | None
    partition: int | None
    of_task: int
    host: str
    launch_ms: int
    finish_ms: int
    speculative: bool
    read: int
    written: int
    remote: int
    local: int
    shuffled: int
    path: Path
    line: int


@dataclass
class Stretch:
    """Events of one file that follow a `SparkListenerApplicationStart`, or the beginning of the
    file."""

    path: Path
    #: Application and attempt from the start event, and the application in the name of a part of a
    #: rolled log.
    called: str | None = None
    attempt: str | None = None
    named: str | None = None
    ended: bool = False
    jobs: list[Job] = field(default_factory=list)
    ends: dict[int, End] = field(default_factory=dict)
    stages: dict[int, Stage] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    #: Numbers of tasks whose output was lost afterwards.
    lost: set[int] = field(default_factory=set)


@dataclass
class Application:
    name: str
    path: Path
    ended: bool = False
    jobs: dict[int, Job] = field(default_factory=dict)
    ends: dict[int, End] = field(default_factory=dict)
    stages: dict[int, Stage] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)

    def add(self, stretch: Stretch) -> None:
        for job in stretch.jobs:
            if (first := self.jobs.setdefault(job.number, job)) is not job:
                where = f"first in {first.path.name}:{first.line}"
                raise Wrong(
                    job.path,
                    job.line,
                    f"job {job.number} of {self.name} a second time ({where})",
                    "each log, and each part of it, once",
                )
        self.ended |= stretch.ended
        self.ends |= stretch.ends
        self.stages = stretch.stages | self.stages
        self.tasks += stretch.tasks
        self.lost |= stretch.lost

    def fits(self, stretch: Stretch) -> bool:
        """False if events without an application cannot belong to this one."""
        return not any(job.number in self.jobs for job in stretch.jobs)


def joined(stretches: list[Stretch], account: Account) -> list[Application]:
    """Returns applications with all their events. Stretches without a start belong to the
    application that their file is named after. Other ones belong to the only application, or else
    to the one before them."""
    known: dict[tuple[str, str | None], Application] = {}
    #: Applications of rolled logs by directory and name. Only the first part of a log has the
    #: start.
    rolled: dict[Path, tuple[str, str | None]] = {}
    done: list[Application] = []
    nameless: list[tuple[Stretch, Application | None]] = []
    for stretch in stretches:
        if stretch.called is not None:
            key = (stretch.called, stretch.attempt)
        elif stretch.named is not None:
            key = rolled.get(stretch.path.parent / stretch.named, (stretch.named, None))
        else:
            nameless.append((stretch, done[-1] if done else None))
            continue
        if stretch.named is not None:
            rolled[stretch.path.parent / stretch.named] = key
        if key not in known:
            known[key] = Application(key[0], stretch.path)
            done.append(known[key])
        known[key].add(stretch)
    _distinguish(known)
    only = done[0] if len(done) == 1 else None
    for stretch, before in nameless:
        belongs = only or before
        if belongs is None or not belongs.fits(stretch):
            belongs = Application(stretch.path.name, stretch.path)
            done.append(belongs)
        elif stretch.path != belongs.path:
            account.noted(
                f"a file without SparkListenerApplicationStart is taken as a part of {belongs.name}",
                stretch.path.name,
            )
        belongs.add(stretch)
    return done


def _distinguish(known: dict[tuple[str, str | None], Application]) -> None:
    """Adds the attempt to the names of applications that have several attempts."""
    count = Counter(called for called, _ in known)
    for (called, attempt), application in known.items():
        if count[called] > 1 and attempt is not None:
            application.name = f"{called}_{attempt}"


def by_stage(tasks: list[Task]) -> dict[int, list[Task]]:
    found: dict[int, list[Task]] = defaultdict(list)
    for task in tasks:
        found[task.stage].append(task)
    return found
