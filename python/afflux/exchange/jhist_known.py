"""Lists events and fields of Hadoop's job history: which are taken, and why the rest is left out.

Source: Apache Hadoop 2.2 to 3.4, `Events.avpr` of `org.apache.hadoop.mapreduce.jobhistory`.
"""

from .fields import Record

TIMES = "times that the simulated cluster decides"
NAMES = "names and descriptions"
COUNTS = "counts of maps, reducers and containers (the cluster of the scenario decides them)"
WORK = "processor times and memory"
SUMS = "counters of parts (those of the whole job are taken)"

#: Events without information about traffic.
LEFT_OUT = {
    *(
        "JOB_INITED",
        "JOB_INFO_CHANGED",
        "JOB_STATUS_CHANGED",
        "JOB_PRIORITY_CHANGED",
        "JOB_QUEUE_CHANGED",
        "AM_STARTED",
        "NORMALIZED_RESOURCE",
    ),
    *("TASK_FINISHED", "TASK_FAILED", "TASK_UPDATED"),
    *(
        "SETUP_ATTEMPT_STARTED",
        "SETUP_ATTEMPT_FINISHED",
        "SETUP_ATTEMPT_FAILED",
        "SETUP_ATTEMPT_KILLED",
    ),
    *(
        "CLEANUP_ATTEMPT_STARTED",
        "CLEANUP_ATTEMPT_FINISHED",
        "CLEANUP_ATTEMPT_FAILED",
        "CLEANUP_ATTEMPT_KILLED",
    ),
}
_MAPS = (
    "finishedMaps",
    "finishedReduces",
    "failedMaps",
    "failedReduces",
    "killedMaps",
    "killedReduces",
)
_USED = ("clockSplits", "cpuUsages", "vMemKbytes", "physMemKbytes")
_PLACE = ("taskType", "taskStatus", "port", "rackname", "state", "status", "error")


class Records:
    """The records of one import, with counts of their fields."""

    def __init__(self) -> None:
        submitted = Record(
            "JOB_SUBMITTED",
            {"jobid", "submitTime"},
            dict.fromkeys(
                (
                    *(
                        "jobName",
                        "userName",
                        "jobConfPath",
                        "acls",
                        "jobQueueName",
                        "workflowId",
                        "workflowName",
                        "workflowNodeName",
                    ),
                    *("workflowAdjacencies", "workflowTags"),
                ),
                NAMES,
            ),
        )
        finished = Record(
            "JOB_FINISHED",
            {"totalCounters"},
            {
                "jobid": NAMES,
                "finishTime": TIMES,
                **dict.fromkeys(_MAPS, COUNTS),
                **dict.fromkeys(("mapCounters", "reduceCounters"), SUMS),
            },
        )
        ended = Record(
            "JOB_FAILED, JOB_KILLED or JOB_ERROR",
            (),
            {"jobid": NAMES, "finishTime": TIMES, "jobStatus": NAMES, "diagnostics": NAMES},
        )
        ended.left_out = {**ended.left_out, **dict.fromkeys(_MAPS, COUNTS)}
        task = Record(
            "TASK_STARTED", {"taskid", "splitLocations"}, {"taskType": NAMES, "startTime": TIMES}
        )
        started = Record(
            "…_ATTEMPT_STARTED",
            {"attemptId", "startTime", "locality"},
            {
                **dict.fromkeys(
                    (
                        "taskid",
                        "taskType",
                        "trackerName",
                        "httpPort",
                        "shufflePort",
                        "containerId",
                        "avataar",
                    ),
                    NAMES,
                )
            },
        )
        of_attempt = {**dict.fromkeys(_PLACE, NAMES), **dict.fromkeys(_USED, WORK)}
        mapped = Record(
            "MAP_ATTEMPT_FINISHED",
            {"taskid", "attemptId", "mapFinishTime", "hostname", "counters"},
            {**of_attempt, "finishTime": TIMES},
        )
        reduced = Record(
            "REDUCE_ATTEMPT_FINISHED",
            {"taskid", "attemptId", "hostname", "counters"},
            {
                **of_attempt,
                **dict.fromkeys(("shuffleFinishTime", "sortFinishTime", "finishTime"), TIMES),
            },
        )
        of_failed = dict.fromkeys(
            ("taskid", "attemptId", "hostname", "counters", "finishTime"),
            "what attempts did that failed or were killed",
        )
        failed = Record("…_ATTEMPT_FAILED or …_ATTEMPT_KILLED", (), {**of_attempt, **of_failed})
        self.counters = Record("counters", {"groups"}, {"name": NAMES})
        self.group = Record(
            "group of counters", {"counts"}, dict.fromkeys(("name", "displayName"), NAMES)
        )
        self.counter = Record("counter", {"name", "value"}, {"displayName": NAMES})
        self._by_kind = {
            "JOB_SUBMITTED": submitted,
            "JOB_FINISHED": finished,
            **dict.fromkeys(("JOB_FAILED", "JOB_KILLED", "JOB_ERROR"), ended),
            "TASK_STARTED": task,
            **dict.fromkeys(("MAP_ATTEMPT_STARTED", "REDUCE_ATTEMPT_STARTED"), started),
            "MAP_ATTEMPT_FINISHED": mapped,
            "REDUCE_ATTEMPT_FINISHED": reduced,
            **dict.fromkeys(
                (
                    "MAP_ATTEMPT_FAILED",
                    "MAP_ATTEMPT_KILLED",
                    "REDUCE_ATTEMPT_FAILED",
                    "REDUCE_ATTEMPT_KILLED",
                ),
                failed,
            ),
        }

    def of(self, kind: str) -> Record | None:
        return self._by_kind.get(kind)

    def every(self) -> list[Record]:
        return [*dict.fromkeys(self._by_kind.values()), self.counters, self.group, self.counter]
