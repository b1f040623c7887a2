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
_LEFT_OUT = """
LogStart EnvironmentUpdate ResourceProfileAdded TaskStart TaskGettingResult
SpeculativeTaskSubmitted ExecutorAdded ExecutorRemoved ExecutorBlacklisted ExecutorUnblacklisted
ExecutorExcluded ExecutorUnexcluded NodeBlacklisted NodeUnblacklisted NodeExcluded
NodeUnexcluded ExecutorBlacklistedForStage ExecutorExcludedForStage NodeBlacklistedForStage
NodeExcludedForStage ExecutorMetricsUpdate StageExecutorMetrics BlockManagerAdded
BlockManagerRemoved BlockUpdated UnpersistRDD UnschedulableTaskSetAdded
UnschedulableTaskSetRemoved MiscellaneousProcessAdded DriverAccumUpdates SQLExecutionStart
SQLExecutionEnd SQLAdaptiveExecutionUpdate SQLAdaptiveSQLMetricUpdates
"""
#: Kinds of events without information about traffic.
LEFT_OUT = frozenset(_LEFT_OUT.split())
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
        self.application = Record.of(
            "SparkListenerApplicationStart",
            "Event, App ID, App Attempt ID",
            {NAMES: "App Name, User, Driver Logs, Driver Attributes", TIMES: "Timestamp"},
        )
        self.application_end = Record.of(
            "SparkListenerApplicationEnd", "Event", {TIMES: "Timestamp", NAMES: "ExitCode"}
        )
        self.job = Record.of(
            "SparkListenerJobStart",
            "Event, Job ID, Submission Time, Stage Infos, Stage IDs",
            {NAMES: "Properties"},
        )
        self.job_end = Record.of(
            "SparkListenerJobEnd", "Event, Job ID, Completion Time, Job Result", {}
        )
        self.result = Record.of("Job Result", "Result", {NAMES: "Exception"})
        self.stage_event = Record.of(
            "SparkListenerStageSubmitted or SparkListenerStageCompleted",
            "Event, Stage Info",
            {NAMES: "Properties"},
        )
        self.stage = Record.of(
            "Stage Info",
            "Stage ID, Number of Tasks, RDD Info, Parent IDs, Failure Reason",
            {
                NAMES: "Stage Name, Details, Resource Profile Id, Stage Attempt ID",
                TIMES: "Submission Time, Completion Time",
                COUNTS: "Accumulables, Task Metrics",
                PUSHED: "Shuffle Push Enabled, Shuffle Push Mergers Count",
            },
        )
        self.rdd = Record.of(
            "RDD Info",
            "RDD ID",
            {
                NAMES: "Name, Scope, Callsite, Parent IDs, Number of Partitions, Barrier, DeterministicLevel",
                CACHED: "Storage Level, Number of Cached Partitions, Memory Size, Disk Size, "
                "ExternalBlockStore Size, Tachyon Size",
            },
        )
        self.task = Record.of(
            "SparkListenerTaskEnd",
            "Event, Stage ID, Stage Attempt ID, Task End Reason, Task Info, Task Metrics",
            {NAMES: "Task Type", WORK: "Task Executor Metrics"},
        )
        self.info = Record.of(
            "Task Info",
            "Task ID, Index, Attempt, Partition ID, Launch Time, Finish Time, Host, Speculative",
            {
                TIMES: "Executor ID, Locality, Getting Result Time",
                COUNTS: "Failed, Killed, Accumulables",
            },
        )
        self.metrics = Record.of(
            "Task Metrics",
            "Input Metrics, Output Metrics, Shuffle Read Metrics, Shuffle Write Metrics",
            {
                NAMES: "Host Name",
                RESULTS: "Result Size",
                WORK: "Executor Deserialize Time, Executor Deserialize CPU Time, Executor Run Time, "
                "Executor CPU Time, JVM GC Time, Result Serialization Time, Memory Bytes Spilled, "
                "Disk Bytes Spilled, Peak Execution Memory, Peak On Heap Execution Memory, "
                "Peak Off Heap Execution Memory",
                CACHED: "Updated Blocks",
            },
        )
        of_metrics = (
            Record.of(
                "Input Metrics", "Bytes Read", {COUNTS: "Records Read", NAMES: "Data Read Method"}
            ),
            Record.of(
                "Output Metrics",
                "Bytes Written",
                {COUNTS: "Records Written", NAMES: "Data Write Method"},
            ),
            Record.of(
                "Shuffle Write Metrics",
                "Shuffle Bytes Written",
                {TIMES: "Shuffle Write Time", COUNTS: "Shuffle Records Written"},
            ),
            Record.of(
                "Shuffle Read Metrics",
                "Remote Bytes Read, Local Bytes Read",
                {
                    COUNTS: "Remote Blocks Fetched, Local Blocks Fetched, Total Records Read",
                    TIMES: "Fetch Wait Time, Remote Requests Duration, Shuffle Finish Time",
                    PARTS: "Remote Bytes Read To Disk",
                    PUSHED: "Push Based Shuffle, Shuffle Push Read Metrics",
                },
            ),
        )
        self.groups = {record.name: record for record in of_metrics}

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
