"""Lists events and fields of Hadoop's job history: which are taken, and why the rest is left out.

Source: Apache Hadoop 2.2 to 3.4, `Events.avpr` of `org.apache.hadoop.mapreduce.jobhistory`.
"""

from .fields import Record

TIMES = "times that the simulated cluster decides"
NAMES = "names and descriptions"
COUNTS = "counts of maps, reducers and containers (the cluster of the scenario decides them)"
WORK = "processor times and memory"
FAILED = "what attempts did that failed or were killed"
SUMS = "counters of parts (those of the whole job are taken)"

_LEFT_OUT = """
JOB_INITED JOB_INFO_CHANGED JOB_STATUS_CHANGED JOB_PRIORITY_CHANGED JOB_QUEUE_CHANGED
AM_STARTED NORMALIZED_RESOURCE TASK_FINISHED TASK_FAILED TASK_UPDATED
SETUP_ATTEMPT_STARTED SETUP_ATTEMPT_FINISHED SETUP_ATTEMPT_FAILED SETUP_ATTEMPT_KILLED
CLEANUP_ATTEMPT_STARTED CLEANUP_ATTEMPT_FINISHED CLEANUP_ATTEMPT_FAILED CLEANUP_ATTEMPT_KILLED
"""
#: Events without information about traffic.
LEFT_OUT = frozenset(_LEFT_OUT.split())
#: Values of `locality` (org.apache.hadoop.mapreduce.v2.api.records.Locality).
LOCALITIES = ("NODE_LOCAL", "RACK_LOCAL", "OFF_SWITCH")
_MAPS = "finishedMaps, finishedReduces, failedMaps, failedReduces, killedMaps, killedReduces"
#: Fields of all attempts.
_OF_ATTEMPT = {
    NAMES: "taskType, taskStatus, port, rackname, state, status, error",
    WORK: "clockSplits, cpuUsages, vMemKbytes, physMemKbytes",
}


class Records:
    """The records of one import, with counts of their fields."""

    def __init__(self) -> None:
        submitted = Record.of(
            "JOB_SUBMITTED",
            "jobid, submitTime",
            {
                NAMES: "jobName, userName, jobConfPath, acls, jobQueueName, workflowId, "
                "workflowName, workflowNodeName, workflowAdjacencies, workflowTags"
            },
        )
        finished = Record.of(
            "JOB_FINISHED",
            "totalCounters",
            {
                NAMES: "jobid",
                TIMES: "finishTime",
                COUNTS: _MAPS,
                SUMS: "mapCounters, reduceCounters",
            },
        )
        ended = Record.of(
            "JOB_FAILED, JOB_KILLED or JOB_ERROR",
            "",
            {NAMES: "jobid, jobStatus, diagnostics", TIMES: "finishTime", COUNTS: _MAPS},
        )
        task = Record.of(
            "TASK_STARTED", "taskid, splitLocations", {NAMES: "taskType", TIMES: "startTime"}
        )
        started = Record.of(
            "…_ATTEMPT_STARTED",
            "attemptId, startTime, locality",
            {
                NAMES: "taskid, taskType, trackerName, httpPort, shufflePort, containerId, avataar",
            },
        )
        mapped = Record.of(
            "MAP_ATTEMPT_FINISHED",
            "taskid, attemptId, mapFinishTime, hostname, counters",
            {**_OF_ATTEMPT, TIMES: "finishTime"},
        )
        reduced = Record.of(
            "REDUCE_ATTEMPT_FINISHED",
            "taskid, attemptId, hostname, counters",
            {**_OF_ATTEMPT, TIMES: "shuffleFinishTime, sortFinishTime, finishTime"},
        )
        failed = Record.of(
            "…_ATTEMPT_FAILED or …_ATTEMPT_KILLED",
            "",
            {**_OF_ATTEMPT, FAILED: "taskid, attemptId, hostname, counters, finishTime"},
        )
        self.counters = Record.of("counters", "groups", {NAMES: "name"})
        self.group = Record.of("group of counters", "counts", {NAMES: "name, displayName"})
        self.counter = Record.of("counter", "name, value", {NAMES: "displayName"})
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
