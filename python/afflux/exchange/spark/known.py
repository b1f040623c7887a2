"""Lists events and fields of Spark's event logs: which are taken, and why the rest is left out.

Source: Apache Spark 1.3 to 4.1, `org.apache.spark.util.JsonProtocol`,
`org.apache.spark.sql.execution.ui.SQLListener`.
"""

from ..fields import Record

TIMES = "times and places that the simulated cluster decides"
WORK = "work of processors, memory and disks"
COUNTS = "counts (bytes are taken)"
NAMES = "names and descriptions"
PARTS = "parts of what is taken as Remote Bytes Read"
PUSHED = (
    "push-based shuffle (its fetches come from the hosts that wrote, not from those that merged)"
)
RESULTS = "results that tasks send to the driver (the log does not say on which host it runs)"
CACHED = "cached data"

#: Kinds of events that are read, without the prefix `SparkListener` of their names.
TAKEN = {
    "ApplicationStart",
    "ApplicationEnd",
    "JobStart",
    "JobEnd",
    "StageSubmitted",
    "StageCompleted",
    "TaskEnd",
}
#: Kinds of events without information about traffic.
LEFT_OUT = {
    *(
        "LogStart",
        "EnvironmentUpdate",
        "ResourceProfileAdded",
        "TaskStart",
        "TaskGettingResult",
        "SpeculativeTaskSubmitted",
        "ExecutorAdded",
    ),
    *(
        "ExecutorRemoved",
        "ExecutorBlacklisted",
        "ExecutorUnblacklisted",
        "ExecutorExcluded",
        "ExecutorUnexcluded",
        "NodeBlacklisted",
    ),
    *(
        "NodeUnblacklisted",
        "NodeExcluded",
        "NodeUnexcluded",
        "ExecutorBlacklistedForStage",
        "ExecutorExcludedForStage",
        "NodeBlacklistedForStage",
    ),
    *(
        "NodeExcludedForStage",
        "ExecutorMetricsUpdate",
        "StageExecutorMetrics",
        "BlockManagerAdded",
        "BlockManagerRemoved",
        "BlockUpdated",
    ),
    *(
        "UnpersistRDD",
        "UnschedulableTaskSetAdded",
        "UnschedulableTaskSetRemoved",
        "MiscellaneousProcessAdded",
        "DriverAccumUpdates",
    ),
    *(
        "SQLExecutionStart",
        "SQLExecutionEnd",
        "SQLAdaptiveExecutionUpdate",
        "SQLAdaptiveSQLMetricUpdates",
    ),
}
#: Kinds of events of Spark's other packages: streaming queries, Spark Connect, the Thrift server.
FAMILIES = (
    "org.apache.spark.sql.streaming.",
    "org.apache.spark.sql.connect.",
    "org.apache.spark.sql.hive.thriftserver.",
    "org.apache.spark.streaming.",
)


def kind_of(event: str) -> str:
    """Returns the kind of an event: `JobStart` for `SparkListenerJobStart`, `SQLExecutionStart` for
    `org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart`."""
    return event.rpartition(".")[2].removeprefix("SparkListener")


class Records:
    """The records of one import, with counts of their fields."""

    def __init__(self) -> None:
        self.application = Record(
            "SparkListenerApplicationStart",
            {"Event", "App ID", "App Attempt ID"},
            {
                "App Name": NAMES,
                "Timestamp": TIMES,
                "User": NAMES,
                "Driver Logs": NAMES,
                "Driver Attributes": NAMES,
            },
        )
        self.application_end = Record(
            "SparkListenerApplicationEnd", {"Event"}, {"Timestamp": TIMES, "ExitCode": NAMES}
        )
        self.job = Record(
            "SparkListenerJobStart",
            {"Event", "Job ID", "Submission Time", "Stage Infos", "Stage IDs"},
            {"Properties": NAMES},
        )
        self.job_end = Record(
            "SparkListenerJobEnd", {"Event", "Job ID", "Completion Time", "Job Result"}, {}
        )
        self.result = Record("Job Result", {"Result"}, {"Exception": NAMES})
        self.stage_event = Record(
            "SparkListenerStageSubmitted or SparkListenerStageCompleted",
            {"Event", "Stage Info"},
            {"Properties": NAMES},
        )
        self.stage = Record(
            "Stage Info",
            {"Stage ID", "Number of Tasks", "RDD Info", "Parent IDs", "Failure Reason"},
            {
                **dict.fromkeys(
                    ("Stage Name", "Details", "Resource Profile Id", "Stage Attempt ID"), NAMES
                ),
                **dict.fromkeys(("Submission Time", "Completion Time"), TIMES),
                **dict.fromkeys(("Accumulables", "Task Metrics"), COUNTS),
                **dict.fromkeys(("Shuffle Push Enabled", "Shuffle Push Mergers Count"), PUSHED),
            },
        )
        self.rdd = Record(
            "RDD Info",
            {"RDD ID"},
            {
                **dict.fromkeys(
                    (
                        "Name",
                        "Scope",
                        "Callsite",
                        "Parent IDs",
                        "Number of Partitions",
                        "Barrier",
                        "DeterministicLevel",
                    ),
                    NAMES,
                ),
                **dict.fromkeys(
                    (
                        "Storage Level",
                        "Number of Cached Partitions",
                        "Memory Size",
                        "Disk Size",
                        "ExternalBlockStore Size",
                        "Tachyon Size",
                    ),
                    CACHED,
                ),
            },
        )
        self.task = Record(
            "SparkListenerTaskEnd",
            {
                "Event",
                "Stage ID",
                "Stage Attempt ID",
                "Task End Reason",
                "Task Info",
                "Task Metrics",
            },
            {"Task Type": NAMES, "Task Executor Metrics": WORK},
        )
        self.info = Record(
            "Task Info",
            {
                "Task ID",
                "Index",
                "Attempt",
                "Partition ID",
                "Launch Time",
                "Finish Time",
                "Host",
                "Speculative",
            },
            {
                **dict.fromkeys(("Executor ID", "Locality", "Getting Result Time"), TIMES),
                **dict.fromkeys(("Failed", "Killed", "Accumulables"), COUNTS),
            },
        )
        self.metrics = Record(
            "Task Metrics",
            {"Input Metrics", "Output Metrics", "Shuffle Read Metrics", "Shuffle Write Metrics"},
            {
                "Host Name": NAMES,
                "Result Size": RESULTS,
                **dict.fromkeys(
                    (
                        *(
                            "Executor Deserialize Time",
                            "Executor Deserialize CPU Time",
                            "Executor Run Time",
                            "Executor CPU Time",
                            "JVM GC Time",
                        ),
                        *(
                            "Result Serialization Time",
                            "Memory Bytes Spilled",
                            "Disk Bytes Spilled",
                            "Peak Execution Memory",
                        ),
                        *("Peak On Heap Execution Memory", "Peak Off Heap Execution Memory"),
                    ),
                    WORK,
                ),
                "Updated Blocks": CACHED,
            },
        )
        self.groups = {
            "Input Metrics": Record(
                "Input Metrics", {"Bytes Read"}, {"Records Read": COUNTS, "Data Read Method": NAMES}
            ),
            "Output Metrics": Record(
                "Output Metrics",
                {"Bytes Written"},
                {"Records Written": COUNTS, "Data Write Method": NAMES},
            ),
            "Shuffle Write Metrics": Record(
                "Shuffle Write Metrics",
                {"Shuffle Bytes Written"},
                {"Shuffle Write Time": TIMES, "Shuffle Records Written": COUNTS},
            ),
            "Shuffle Read Metrics": Record(
                "Shuffle Read Metrics",
                {"Remote Bytes Read", "Local Bytes Read"},
                {
                    **dict.fromkeys(
                        ("Remote Blocks Fetched", "Local Blocks Fetched", "Total Records Read"),
                        COUNTS,
                    ),
                    **dict.fromkeys(
                        ("Fetch Wait Time", "Remote Requests Duration", "Shuffle Finish Time"),
                        TIMES,
                    ),
                    "Remote Bytes Read To Disk": PARTS,
                    "Push Based Shuffle": PUSHED,
                    "Shuffle Push Read Metrics": PUSHED,
                },
            ),
        }

    def every(self) -> list[Record]:
        of_tasks = [self.task, self.info, self.metrics, *self.groups.values()]
        return [
            self.application,
            self.application_end,
            self.job,
            self.job_end,
            self.result,
            self.stage_event,
            self.stage,
            self.rdd,
            *of_tasks,
        ]
