"""Small valid files of every kind that afflux imports, for tests and as a base for mutations."""

import gzip
import json
import lzma
from dataclasses import dataclass
from pathlib import Path

TOPOLOGY = """\
8 4 9
4 5 6 7
0 4 100Gbps 1000ns 0
1 4 100Gbps 1000ns 0
2 5 25Gbps 1000ns 0
3 5 100Gbps 1000ns 0.010000
4 6 100Gbps 2000ns 0
4 7 100Gbps 2000ns 0
5 6 100Gbps 2000ns 0
5 7 100Gbps 2000ns 0
5 7 100Gbps 2000ns 0.001000
"""
FLOWS = "4\n0 2 3 50000 2.000000010\n1 3 3 1000 2.000001000\n3 3 3 5 2.000001000\n2 0 3 777 2.000002500\n"
MATRIX = "Nodes 4\nConnections 3\n0->2 id 1 start 0 size 50000\n1->3 id 2 start 1500000 size 1000\n2->1 id 3 start 1500001 size 9\n"
COMPLETIONS = "0 2 10000 100 50000 2000000010 9000 8000\n0b000101 0b000301 10000 100 1000 2000001000 5000 6000\n3 3 1 1 5 2000001000 1 1\n"
LAB = """\
name: demo
topology:
  defaults:
    kind: nokia_srlinux
  groups:
    servers: {kind: linux, labels: {tier: bottom}}
  nodes:
    spine1:
    leaf1:
    leaf2: {labels: {role: leaf}}
    b1: {group: servers}
    a1: {group: servers}
    a2: {kind: linux}
    frr: {kind: linux, labels: {role: switch}}
    lonely: {kind: linux}
  links:
    - endpoints: ["leaf1:e1-1", "spine1:e1-1"]
    - endpoints: ["leaf2:e1-1", "spine1:e1-2"]
    - endpoints: ["frr:eth1", "spine1:e1-3"]
    - endpoints: ["b1:eth1", "leaf2:e1-2"]
    - type: veth
      endpoints:
        - {node: a1, interface: eth1}
        - {node: leaf1, interface: e1-2}
      labels: {rate: 40Gbps, delay: 3us}
    - endpoints: ["a2:eth1", "frr:eth2"]
    - endpoints: ["leaf1:e1-9", "host:veth7"]
    - {type: mgmt-net, endpoint: {node: leaf1, interface: e1-8}, host-interface: x}
"""


def pcap(frames: list[tuple[float, bytes]]) -> bytes:
    out = [bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")]
    for time, frame in frames:
        out += [
            int(number).to_bytes(4, "little")
            for number in (time, time % 1 * 1e6, len(frame), len(frame))
        ] + [frame]
    return b"".join(out)


def udp(src: int, dst: int, size: int) -> bytes:
    ip = bytes(
        [0x45, 0, *(28 + size).to_bytes(2), 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, src, 10, 0, 0, dst]
    )
    return (
        bytes(12)
        + b"\x08\x00"
        + ip
        + bytes([0, 7, 0, 9, *(8 + size).to_bytes(2), 0, 0])
        + bytes(size)
    )


SCHEMA = {
    "type": "record",
    "name": "Event",
    "namespace": "org.apache.hadoop.mapreduce.jobhistory",
    "fields": [
        {"name": "type", "type": {"type": "enum", "name": "EventType", "symbols": ["JOB_SUBMITTED", "TASK_STARTED", "MAP_ATTEMPT_STARTED",
                                                                                "MAP_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_STARTED",
                                                                                "REDUCE_ATTEMPT_FINISHED", "MAP_ATTEMPT_KILLED", "JOB_FINISHED"]}},
        {"name": "event", "type": [
            {"type": "record", "name": "JobSubmitted", "fields": [
                {"name": "jobid", "type": "string"}, {"name": "submitTime", "type": "long"}, {"name": "acls", "type": {"type": "map", "values": "string"}}]},
            {"type": "record", "name": "TaskStarted", "fields": [{"name": "taskid", "type": "string"}, {"name": "splitLocations", "type": ["null", "string"]}]},
            {"type": "record", "name": "TaskAttemptStarted", "fields": [{"name": "attemptId", "type": "string"}, {"name": "startTime", "type": "long"}]},
            {"type": "record", "name": "MapAttemptFinished", "fields": [
                {"name": "taskid", "type": "string"}, {"name": "attemptId", "type": "string"}, {"name": "mapFinishTime", "type": "long"},
                {"name": "hostname", "type": "string"},
                {"name": "counters", "type": {"type": "record", "name": "JhCounters", "fields": [
                    {"name": "name", "type": "string"},
                    {"name": "groups", "type": {"type": "array", "items": {"type": "record", "name": "JhCounterGroup", "fields": [
                        {"name": "name", "type": "string"},
                        {"name": "counts", "type": {"type": "array", "items": {"type": "record", "name": "JhCounter", "fields": [
                            {"name": "name", "type": "string"}, {"name": "value", "type": "long"}]}}}]}}}]}}]},
            {"type": "record", "name": "ReduceAttemptFinished", "fields": [
                {"name": "taskid", "type": "string"}, {"name": "attemptId", "type": "string"}, {"name": "finishTime", "type": "long"},
                {"name": "hostname", "type": "string"}, {"name": "counters", "type": "JhCounters"}]},
            {"type": "record", "name": "TaskAttemptUnsuccessfulCompletion", "fields": [{"name": "attemptId", "type": "string"}]},
            {"type": "record", "name": "JobFinished", "fields": [{"name": "jobid", "type": "string"}]},
        ]},
    ],
}  # fmt: skip


def counters(**values: int) -> dict:
    return {
        "name": "COUNTERS",
        "groups": [
            {
                "name": "all",
                "counts": [{"name": name, "value": value} for name, value in values.items()],
            }
        ],
    }


def history(job: str = "job_7_0001", submit: int = 1_000_000) -> list[tuple[str, str, dict]]:
    """Returns a job history with two maps (one reads over the network) and two reducers."""
    events: list[tuple[str, str, dict]] = [
        ("JOB_SUBMITTED", "JobSubmitted", {"jobid": job, "submitTime": submit, "acls": {}})
    ]
    for number, (host, split) in enumerate([("node1", "node1,node3"), ("node2", "node3,node10")]):
        task, attempt = f"map{number}", f"map{number}_0"
        events.append(("TASK_STARTED", "TaskStarted", {"taskid": task, "splitLocations": split}))
        events.append(
            (
                "MAP_ATTEMPT_STARTED",
                "TaskAttemptStarted",
                {"attemptId": attempt, "startTime": submit + 100},
            )
        )
        counted = counters(
            FILE_BYTES_READ=5,
            HDFS_BYTES_READ=1_000,
            MAP_OUTPUT_MATERIALIZED_BYTES=300 + 300 * number,
        )
        finished = {
            "taskid": task,
            "attemptId": attempt,
            "mapFinishTime": submit + 500 + number,
            "hostname": host,
            "counters": counted,
        }
        events.append(("MAP_ATTEMPT_FINISHED", "MapAttemptFinished", finished))
    events.append(
        ("MAP_ATTEMPT_KILLED", "TaskAttemptUnsuccessfulCompletion", {"attemptId": "map1_1"})
    )
    for number, host in enumerate(["node2", "node10"]):
        task, attempt = f"reduce{number}", f"reduce{number}_0"
        events.append(
            (
                "REDUCE_ATTEMPT_STARTED",
                "TaskAttemptStarted",
                {"attemptId": attempt, "startTime": submit + 400 + 500 * number},
            )
        )
        counted = counters(REDUCE_SHUFFLE_BYTES=450, HDFS_BYTES_WRITTEN=400)
        events.append(
            (
                "REDUCE_ATTEMPT_FINISHED",
                "ReduceAttemptFinished",
                {
                    "taskid": task,
                    "attemptId": attempt,
                    "finishTime": submit + 2_000,
                    "hostname": host,
                    "counters": counted,
                },
            )
        )
    return [*events, ("JOB_FINISHED", "JobFinished", {"jobid": job})]


def as_json(events: list[tuple[str, str, dict]]) -> str:
    def union(name: str, record: dict) -> dict:
        if name == "TaskStarted":
            record = record | {"splitLocations": record["splitLocations"]}
        return {f"org.apache.hadoop.mapreduce.jobhistory.{name}": record}

    lines = [
        json.dumps({"type": kind, "event": union(name, record)}) + "\n\n"
        for kind, name, record in events
    ]
    return "Avro-Json\n" + json.dumps(SCHEMA) + "\n" + "".join(lines)


def encoded(schema: object, value: object, named: dict) -> bytes:
    """Returns Avro's binary encoding, for tests."""
    if isinstance(schema, list):
        names = [branch.get("name") if isinstance(branch, dict) else branch for branch in schema]
        name, inner = (
            value if isinstance(value, tuple) else ("null" if value is None else "string", value)
        )
        return encoded("long", names.index(name), named) + encoded(
            schema[names.index(name)], inner, named
        )
    kind = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(schema, dict) and "name" in schema:
        named[schema["name"]] = schema
    match kind:
        case "null":
            return b""
        case "long":
            number, out = (value << 1) ^ (value >> 63), bytearray()
            while number > 0x7F:
                out.append(number & 0x7F | 0x80)
                number >>= 7
            return bytes([*out, number])
        case "string":
            return encoded("long", len(value.encode()), named) + value.encode()
        case "enum":
            return encoded("long", schema["symbols"].index(value), named)
        case "array":
            items = b"".join(encoded(schema["items"], item, named) for item in value)
            # A block with its size in bytes, as writers are permitted to encode it.
            return (
                encoded("long", -len(value), named) + encoded("long", len(items), named) + items
                if value
                else b""
            ) + b"\0"
        case "map":
            return b"\0"
        case "record":
            return b"".join(
                encoded(field["type"], value[field["name"]], named) for field in schema["fields"]
            )
    return encoded(named[kind], value, named)


def as_binary(events: list[tuple[str, str, dict]]) -> bytes:
    named: dict = {}
    body = b"".join(
        encoded(SCHEMA, {"type": kind, "event": (name, record)}, named)
        for kind, name, record in events
    )
    return b"Avro-Binary\n" + json.dumps(SCHEMA).encode() + b"\n" + body


def spark_log() -> list[dict]:
    def task(stage: int, host: str, launch: int, **metrics: dict) -> dict:
        names = {
            "read": "Shuffle Read Metrics",
            "write": "Shuffle Write Metrics",
            "input": "Input Metrics",
            "output": "Output Metrics",
        }
        return {
            "Event": "SparkListenerTaskEnd", "Stage ID": stage, "Task End Reason": {"Reason": "Success"}, "Task Info": {"Host": host, "Launch Time": launch},
            "Task Metrics": {names[key]: value for key, value in metrics.items()},
        }  # fmt: skip

    def stage(number: int, *parents: int) -> dict:
        return {"Stage ID": number, "Parent IDs": list(parents)}

    return [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"},
        {
            "Event": "SparkListenerApplicationStart",
            "App Name": "sort",
            "App ID": "app-1",
            "Timestamp": 5_000,
        },
        {
            "Event": "SparkListenerJobStart",
            "Job ID": 0,
            "Submission Time": 6_000,
            "Stage Infos": [stage(0), stage(1, 0)],
            "Stage IDs": [0, 1],
        },
        {"Event": "SparkListenerStageSubmitted", "Stage Info": stage(0)},
        task(0, "w1", 6_100, input={"Bytes Read": 1_000}, write={"Shuffle Bytes Written": 300}),
        task(0, "w2", 6_100, input={"Bytes Read": 1_000}, write={"Shuffle Bytes Written": 600}),
        {
            "Event": "SparkListenerTaskEnd",
            "Stage ID": 0,
            "Task End Reason": {"Reason": "TaskKilled"},
        },
        task(
            1,
            "w1",
            7_000,
            read={"Remote Bytes Read": 300, "Local Bytes Read": 150},
            output={"Bytes Written": 420},
        ),
        task(1, "w3", 7_001, read={"Remote Bytes Read": 450, "Local Bytes Read": 0}),
        # The parent stage was computed before the log began.
        {
            "Event": "SparkListenerJobStart",
            "Job ID": 1,
            "Submission Time": 9_500,
            "Stage Infos": [stage(3, 2)],
            "Stage IDs": [2, 3],
        },
        task(3, "w1", 9_600, read={"Remote Bytes Read": 10, "Local Bytes Read": 0}),
    ]


CONFIG_DB = {
    "DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "26": "3", "0": "0"}},
    "TC_TO_QUEUE_MAP": {"AZURE": {str(tc): str(tc) for tc in range(8)}},
    "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "STRICT"}},
    "WRED_PROFILE": {
        "LOSSLESS": {
            "wred_green_enable": "true", "ecn": "ecn_all", "green_min_threshold": "1048576", "green_max_threshold": "2097152", "green_drop_probability": "5",
        }
    },
    "QUEUE": {"Ethernet0,Ethernet4|0-2": {"scheduler": "scheduler.0"}, "Ethernet0,Ethernet4|3-4": {"scheduler": "scheduler.1", "wred_profile": "LOSSLESS"}},
    "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_enable": "3,4"}, "Ethernet4": {"pfc_enable": "3,4"}},
    "BUFFER_POOL": {
        "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "10875072", "xoff": "4194112"},
        "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "9243812"},
    },
    "BUFFER_PROFILE": {
        "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1518", "dynamic_th": "3"},
        "pg_lossless": {"pool": "ingress_lossless_pool", "size": "4608", "xoff": "39936", "xon": "4608", "xon_offset": "4608", "dynamic_th": "0"},
    },
    "BUFFER_PG": {"Ethernet0,Ethernet4|3-4": {"profile": "pg_lossless"}},
    "BUFFER_QUEUE": {"Ethernet0,Ethernet4|0-2": {"profile": "egress_lossy_profile"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m", "Ethernet4": "40m"}},
    "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "400"}},
}  # fmt: skip
FLOW_LIST = 'start_ns,src,dst,bytes,id,class,deadline_ns,dscp,priority\n0,0,1,1000,1,web,,46,\n10,db1,10.0.0.3,5000,2,"a,b",1000,,3\n20,2,3,70,3,,,,\n'
COFLOWS = "4 2\n7 100 2 0 1 2 1:3.0 2:1.0\n9 250.5 1 3 1 0:0\n"
JOBS = "job0\t0\t0\t7367360\t2339561\t627471\njob1\t3\t3\t736346\t1700537\t432269\n"
SIZES = "size_bytes,cdf\n0,0\n1000,0.5\n20000,1\n"
RACKS = '{"matrix": {"inner": [[0, 1, 2], [1, 0, 0.5], [3, 1, 0]]}}'
HOSTS = "host,name\n0,10.0.0.1\n1,10.0.0.2\n"
#: A fabric with names and addresses, for the import of files that use them.
SCENARIO = """\
format = 1
# A comment that stays.
[topology]
kind = "leaf_spine"
leaves = 3
spines = 1
hosts_per_leaf = 2
hosts = ["db1", { name = "db2", address = "10.0.0.1" }, { address = ["10.0.0.2", "fe80::1"] }, { name = "w1", address = "10.0.0.3" }, "w2", "w3"]
switches = ["tor-a", "tor-b", "tor-c", "core"]

[switch]
buffer = "9MB"  # deep enough

[[traffic]]
name = "stand-in"
kind = "permutation"
sizes = "1MB"
"""


@dataclass(frozen=True)
class Sample:
    """A valid file, and the `afflux` command that reads it."""

    name: str
    data: bytes
    #: Words of the command, with FILE in place of the file's name.
    command: tuple[str, ...]
    #: Additional files in the same folder.
    beside: tuple[tuple[str, str], ...] = ()


def _read_by(traffic: str) -> tuple[tuple[str, str], ...]:
    text = SCENARIO[: SCENARIO.index("[[traffic]]")]
    return (("s.toml", f'{text}[[traffic]]\n{traffic}\n[run]\nuntil = "1s"\n'),)


def _parquet() -> bytes:
    import io

    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(
        {
            "start_ns": [0, 10, 20],
            "src": [0, 1, 2],
            "dst": ["db1", "w1", "10.0.0.1"],
            "bytes": [1000, 5000, 70],
            "class": ["a", None, "b"],
        }
    )
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()


def every() -> list[Sample]:
    """Returns all samples."""
    capture = pcap([(100, udp(1, 2, 50)), (100.25, udp(2, 1, 50)), (101, udp(3, 2, 7))])
    log = "".join(json.dumps(event) + "\n" for event in spark_log()).encode()
    flows = ("-o", "out.tsv", "--flows", "out.csv", "--force")
    into = (("into.toml", SCENARIO),)
    check = ("check", "s.toml")
    hadoop = 'kind = "hadoop_trace"\nfile = "FILE"'
    return [
        Sample("hpcc-topology", TOPOLOGY.encode(), ("import", "hpcc-topology", "FILE")),
        Sample("hpcc-flows", FLOWS.encode(), ("import", "hpcc-flows", "FILE")),
        Sample("hpcc-fct", COMPLETIONS.encode(), ("import", "hpcc-fct", "FILE")),
        Sample("htsim", MATRIX.encode(), ("import", "htsim", "FILE")),
        Sample(
            "containerlab", LAB.encode(), ("import", "containerlab", "FILE", "--rate", "10Gbps")
        ),
        Sample(
            "containerlab-into",
            LAB.encode(),
            ("import", "containerlab", "FILE", "--rate", "10Gbps", "--into", "into.toml"),
            into,
        ),
        Sample("pcap", capture, ("import", "pcap", "FILE")),
        Sample("pcap-gz", gzip.compress(capture, mtime=0), ("import", "pcap", "FILE")),
        Sample(
            "pcap-into",
            capture,
            ("import", "pcap", "FILE", "--into", "into.toml", "-o", "out.toml", "--force"),
            into,
        ),
        Sample("jhist", as_json(history()).encode(), ("import", "jhist", "FILE", *flows)),
        Sample("jhist-binary", as_binary(history()), ("import", "jhist", "FILE", *flows)),
        Sample("spark", log, ("import", "spark", "FILE", *flows)),
        Sample("spark-xz", lzma.compress(log), ("import", "spark", "FILE", *flows)),
        Sample(
            "sonic",
            json.dumps(CONFIG_DB, indent=1).encode(),
            ("import", "sonic", "FILE", "--into", "into.toml"),
            into,
        ),
        Sample(
            "hosts",
            HOSTS.encode(),
            ("import", "pcap", "c.pcap", "--hosts", "FILE"),
            (("c.pcap", capture.decode("latin-1")),),
        ),
        Sample(
            "flow-list",
            FLOW_LIST.encode(),
            check,
            _read_by('kind = "flows"\nfile = "FILE"\nformat = "csv"'),
        ),
        Sample(
            "flow-list-gz",
            gzip.compress(FLOW_LIST.encode(), mtime=0),
            check,
            _read_by('kind = "flows"\nfile = "FILE"\nformat = "csv"'),
        ),
        Sample(
            "parquet",
            _parquet(),
            check,
            _read_by('kind = "flows"\nfile = "FILE"\nformat = "parquet"'),
        ),
        Sample(
            "coflows",
            COFLOWS.encode(),
            check,
            _read_by('kind = "flows"\nfile = "FILE"\nformat = "coflow"'),
        ),
        Sample(
            "hpcc",
            FLOWS.encode(),
            check,
            _read_by('kind = "flows"\nfile = "FILE"\nformat = "hpcc"\nlocal = "drop"'),
        ),
        Sample(
            "matrix",
            MATRIX.encode(),
            check,
            _read_by('kind = "flows"\nfile = "FILE"\nformat = "htsim"'),
        ),
        Sample("hadoop-trace", JOBS.encode(), check, _read_by(hadoop)),
        Sample(
            "sizes",
            SIZES.encode(),
            check,
            _read_by('kind = "permutation"\nsizes = { file = "FILE" }'),
        ),
        Sample(
            "racks",
            RACKS.encode(),
            check,
            _read_by(
                'kind = "random"\nsizes = "1MB"\nload = 0.1\nload_basis = "host_payload"\nduration = "1ms"\nmatrix = "FILE"'
            ),
        ),
    ]


def lay(sample: Sample, data: bytes, folder: Path, file: str) -> list[str]:
    """Writes `data` in place of the sample's data, with its additional files. Returns the arguments
    of `afflux`."""
    (folder / file).write_bytes(data)
    for name, text in sample.beside:
        (folder / name).write_bytes(
            text.replace("FILE", file).encode("latin-1" if name.endswith(".pcap") else "utf-8")
        )
    return [file if word == "FILE" else word for word in sample.command]
