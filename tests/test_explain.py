"""`afflux explain` and `afflux run` say which flows, jobs and ports their tables leave out, and refuse
options without effect."""

import re

import pytest

import afflux
from afflux.results.explain import Queue, Queues
from afflux.terminal import explanation
from afflux.terminal.unfinished import not_listed

#: A run that ends within the second of three rounds.
CUT_OFF = """\
format = 1
name = "cut-off"

[topology]
kind = "star"
hosts = 5
rate = "10Gbps"
delay = "1us"

[switch]
buffer = "1MB"

[[traffic]]
kind = "incast"
name = "query"
to = 0
senders = 4
bytes = "200kB"
rounds = 3
closed_loop = true

[run]
until = "1ms"

[record]
ports = { interval = "100us" }
"""


def shown(text: str) -> str:
    """Returns output in one line, without the line breaks of the terminal."""
    return " ".join(text.split())


def plain(parts) -> list[str]:
    return [str(part) for part in parts]


# ------------------------------------------------------------------------------------------------------------------ unfinished


def test_the_slowest_flows_and_queries_are_completed_by_those_that_still_run(
    command, scenario, tmp_path
):
    ran = command("run", scenario(text=CUT_OFF), "-o", "cut")
    assert ran.returncode == 0, ran.stderr
    result = afflux.Result.open(tmp_path / "cut")
    assert (result.summary["flows"]["unfinished"], result.summary["flows"]["not_started"]) == (4, 4)
    flows, jobs = result.flows, result.jobs
    began = min(
        start
        for start, fct in zip(flows["start_ns"], flows["fct_ns"], strict=True)
        if start is not None and fct is None
    )
    assert result.explain().unfinished() == (4, 1_000_000 - began)
    most = f"{(1_000_000 - began) / 1e3:.1f} µs"
    slowest = command("explain", "cut", "--slowest", "3").stdout
    assert (
        f"not listed: 4 flows that did not finish before the end of the run; the oldest of them had run for {most} by then"
        in shown(slowest)
    )
    assert "not listed" not in command("explain", "cut", "--flow", "0").stdout
    asked = jobs["start_ns"][1]
    assert jobs["finish_ns"][1] is None
    assert asked <= began
    assert "Slowest queries" in ran.stdout
    assert (
        f"not listed: 1 query that did not finish before the end of the run; it had run for {(1_000_000 - asked) / 1e3:.1f} µs by then"
        in shown(ran.stdout)
    )


def test_no_line_without_unfinished_flows(command, scenario):
    ran = command("run", scenario(('until = "1ms"', "seed = 1"), text=CUT_OFF), "-o", "whole")
    assert "Slowest queries" in ran.stdout
    assert "not listed" not in ran.stdout + command("explain", "whole", "--slowest", "2").stdout


def test_a_run_in_which_no_flow_finished(command, scenario):
    assert command("run", scenario(("1ms", "10us"), text=CUT_OFF), "-o", "short").returncode == 0
    assert re.fullmatch(
        r"no flow finished: there is no slowdown to list not listed: 4 flows that did not finish before the end of the run; "
        r"the oldest of them had run for [\d.]+ µs by then",
        shown(command("explain", "short", "--slowest", "3").stdout),
    )


def test_a_run_whose_flows_started_in_the_warm_up(command, scenario):
    """Flows had finished, and were called not finished."""
    ran = command("run", scenario(text=CUT_OFF), "--set", "run.warmup=900us", "-o", "warm")
    assert ran.returncode == 0, ran.stderr
    assert shown(command("explain", "warm").stdout).startswith(
        "all flows started in the warm-up: there is no completion time to split"
    )
    assert "all flows started in the warm-up: there is nothing to compare" in shown(
        command("explain", "warm", "--against", "warm").stderr
    )


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, []),
        (
            1,
            [
                "not listed: 1 coflow that did not finish before the end of the run; it had run for 26.00 ms by then"
            ],
        ),
        (
            1_200,
            [
                "not listed: 1,200 coflows that did not finish before the end of the run; the oldest of them had run for 26.00 ms by then"
            ],
        ),
    ],
)
def test_the_line_about_unfinished_jobs(count, expected):
    assert plain(not_listed(count, 26_000_000, ("coflow", "coflows"))) == expected


# ---------------------------------------------------------------------------------------------------------------- recorded ports

EVERY = "--set record.ports.nodes=all"
PORTS = [
    # All switch ports, as by default; ports of one leaf.
    (24, 0, 40, False, f"recorded are 24 of 40 ports, none of a host ({EVERY} records all)"),
    (
        24,
        0,
        40,
        True,
        f"no port of a host was recorded, only 24 of 40 ports: run again with {EVERY}",
    ),
    (1_200, 2, 4_000, False, f"recorded are 1,200 of 4,000 ports ({EVERY} records all)"),
    (12, 2, 40, True, f"recorded are 12 of 40 ports ({EVERY} records all)"),
    (40, 16, 40, False, None),
    (40, 16, 40, True, None),
]


@pytest.mark.parametrize(("recorded", "at_hosts", "ports", "hosts", "expected"), PORTS)
def test_tables_of_queues_say_how_many_ports_were_recorded(
    recorded, at_hosts, ports, hosts, expected
):
    queue = Queue("leaf0", "host0", False, 50_000, 10_000, 0, 0, 0, 0)
    found = Queues([queue], recorded, at_hosts, ports)
    _, *lines = explanation.queues(found, hosts=hosts)
    assert plain(lines) == ([] if expected is None else [expected])


def test_without_recorded_queues():
    assert plain(explanation.queues(None, hosts=False)) == []
    assert plain(explanation.queues(None, hosts=True)) == [
        "queues were not recorded: run again with --set record.ports.interval=100us --set record.ports.nodes=all"
    ]
    # Without a table there is nothing to restrict.
    assert plain(explanation.queues(Queues([], 24, 0, 40), hosts=False)) == []


def test_ports_are_counted(command, scenario, tmp_path):
    """A star of 5 hosts has 5 links, so 10 ports. 5 of them are at the switch."""
    path = scenario(text=CUT_OFF)
    named = ("--set", 'record.ports.nodes=["switch0", "host1"]')
    for name, options in (("some", ()), ("more", named), ("all", EVERY.split())):
        done = command("run", path, "-o", name, *options)
        assert done.returncode == 0, done.stderr
    found = {
        name: Queues.of(afflux.Result.open(tmp_path / name)) for name in ("some", "more", "all")
    }
    counts = {name: (one.recorded, one.at_hosts, one.ports) for name, one in found.items()}
    assert counts == {"some": (5, 0, 10), "more": (6, 1, 10), "all": (10, 5, 10)}
    assert f"recorded are 5 of 10 ports, none of a host ({EVERY} records all)" in shown(
        command("explain", "some").stdout
    )
    assert f"no port of a host was recorded, only 5 of 10 ports: run again with {EVERY}" in shown(
        command("explain", "some", "--hosts").stdout
    )
    assert "ports" not in shown(command("explain", "all", "--hosts").stdout)
    # The advice works, also where nothing was recorded.
    off = scenario(('ports = { interval = "100us" }', ""), text=CUT_OFF, name="off.toml")
    assert command("run", off, "-o", "off").returncode == 0
    (advice,) = re.findall(
        r"queues were not recorded: run again with (--set \S+ --set \S+)",
        shown(command("explain", "off", "--hosts").stdout),
    )
    assert command("run", off, "-o", "again", *advice.split()).returncode == 0
    assert Queues.of(afflux.Result.open(tmp_path / "again")).at_hosts == 5


# --------------------------------------------------------------------------------------------------------------------- the host


def test_the_part_of_the_queueing_in_hosts_is_shown_with_recorded_waits(command, scenario):
    path = scenario(text=CUT_OFF)
    for name, options in (("plain", ()), ("waits", ("--set", "record.waits=all"))):
        assert command("run", path, "-o", name, *options).returncode == 0
    plain, waits = (shown(command("explain", name).stdout) for name in ("plain", "waits"))
    (line,) = re.findall(
        r"Of the queueing, [\d.]+ % in the sender's own host \([\d.]+ µs per flow\), the rest in the network\.",
        plain,
    )
    assert line in waits
    assert "where queueing took place was not recorded" in plain
    assert "where queueing took place was not recorded" not in waits
    assert "Where frames waited, by port" in waits


# -------------------------------------------------------------------------------------------------------- persistent connections

#: Two connections of three flows each, and a flow with its own connection.
PERSISTENT = """\
format = 1
name = "persistent"

[topology]
kind = "star"
hosts = 4
rate = "1Gbps"

[[traffic]]
kind = "incast"
to = 0
senders = 2
bytes = "20kB"
rounds = 3
period = "3ms"
persistent = true

[[traffic]]
kind = "pairs"
pairs = [[3, 0]]
sizes = "3kB"
rounds = 1

[record]
waits = "all"
senders = "100us"
"""


def ids_from(result: afflux.Result, src: int) -> list[int]:
    return [
        flow
        for flow, found in zip(result.flows["id"], result.flows["src"], strict=True)
        if found == src
    ]


def test_waits_of_later_flows_on_a_connection_are_those_of_the_first(command, scenario, tmp_path):
    assert command("run", scenario(text=PERSISTENT), "-o", "r").returncode == 0
    result = afflux.Result.open(tmp_path / "r")
    first, *later = ids_from(result, 1)
    (alone,) = ids_from(result, 3)
    assert (len(later), set(result.table("waits")["flow"]) & set(later)) == (2, set())
    place = f"flow {first}, the first flow of the connection: --flow {first} shows them."
    for flow in later:
        for table in ("--where", "--waits"):
            told = f"Flow {flow} came later on a persistent connection. Its waits are recorded under {place}"
            assert shown(command("explain", "r", table, "--flow", flow).stdout) == told
            done = command("explain", "r", table, "--flow", flow, "--json")
            assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", f"note: {told}\n")
        told = shown(command("explain", "r", "--flow", flow).stdout)
        assert f"Its waits and sender samples are recorded under {place}" in told
    told = f"Flow {first} came first on a persistent connection. Its waits are those of all 3 flows of the connection."
    for table in ("--where", "--waits"):
        assert told in shown(command("explain", "r", table, "--flow", first).stdout)
        assert "connection" not in command("explain", "r", table, "--flow", alone).stdout
    slowest = shown(command("explain", "r", "--slowest", "7", "--where").stdout)
    assert "Of these flows, 4 came later on a persistent connection." in slowest
    assert "Of these flows, 2 came first on a persistent connection." in slowest
    assert "connection" not in command("explain", "r", "--where").stdout


def test_flows_whose_connection_is_not_certain(command, scenario, tmp_path):
    """Flows of two priorities are on two connections, and the result has no priorities. So no number
    of flows is told."""
    (tmp_path / "list.csv").write_text(
        "start_ns,src,dst,bytes,priority\n"
        "0,1,0,20000,0\n0,1,0,20000,1\n3000000,1,0,20000,0\n3000000,1,0,20000,1\n"
    )
    block = 'kind = "flows"\nfile = "list.csv"\npersistent = true\n'
    head, _, tail = PERSISTENT.partition("[[traffic]]\n")
    text = f"{head}[[traffic]]\n{block}\n[record]{tail.partition('[record]')[2]}"
    done = command("run", scenario(text=text), "-o", "r")
    assert done.returncode == 0, done.stderr
    assert set(afflux.Result.open(tmp_path / "r").table("waits")["flow"]) == {0, 1}
    assert (
        "Flow 1 came first on a persistent connection. Its waits are those of all flows of the connection."
        in shown(command("explain", "r", "--where", "--flow", "1").stdout)
    )
    assert (
        "Its waits are recorded under the first flow of the connection, an earlier flow between the same hosts."
        in shown(command("explain", "r", "--where", "--flow", "3").stdout)
    )


def test_without_persistent_connections_nothing_is_said(command, scenario):
    path = scenario(("persistent = true", ""), text=PERSISTENT)
    assert command("run", path, "-o", "r").returncode == 0
    for flow in range(7):
        found = command("explain", "r", "--where", "--flow", flow).stdout
        assert ("Where frames waited" in found, "connection" in found) == (True, False)


# ----------------------------------------------------------------------------------------------------------------------- options

NO_EFFECT = [
    ("--slowest 3 --by class", "--by has no effect with --slowest: leave out --by"),
    ("--slowest 3 --by size", "--by has no effect with --slowest: leave out --by"),
    (
        "--flow 1 --shares --hosts",
        "--shares and --hosts have no effect with --flow: leave out --shares and --hosts",
    ),
    (
        "--flow 1 --where --by class --shares --hosts",
        "--by, --shares and --hosts have no effect with --flow and --where: leave out --by, --shares and --hosts",
    ),
    ("--waits --hosts", "--hosts has no effect with --waits: leave out --hosts"),
    ("--kernels --shares", "--shares has no effect with --kernels: leave out --shares"),
    (
        "--against out/other-1 --kernels",
        "--against compares mean completion times, and only --by and --json go with it: leave out --kernels",
    ),
    (
        "--against out/other-1 --by class --slowest 2 --shares",
        "--against compares mean completion times, and only --by and --json go with it: leave out --slowest and --shares",
    ),
]


@pytest.mark.parametrize(("options", "message"), NO_EFFECT)
def test_options_without_effect_are_refused(options, message, command):
    done = command("explain", "out/small-1", *options.split())
    assert (done.returncode, shown(done.stderr)) == (2, f"error: {message}")


def test_what_a_result_lacks_is_named(command, scenario):
    """Tables that were not recorded come with the option that records them, and an unknown flow
    with the identifiers that there are."""
    path = scenario()
    assert command("run", path, "-o", "r", "--set", "record.waits=[]").returncode == 0
    for option in ("--where", "--waits"):
        done = command("explain", "r", option)
        assert done.returncode != 0
        assert shown(done.stderr).startswith("error: r: no table 'waits' (recorded: flows, ")
        assert shown(done.stderr).endswith("): run again with --set record.waits=all")
    done = command("explain", "r", "--flow", "99999")
    assert shown(done.stderr) == (
        "error: r: there is no flow 99999: its flows have identifiers from 0 to 23"
    )
