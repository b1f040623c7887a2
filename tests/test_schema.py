"""Keys of scenario files: `afflux schema KEY`, and the default of every key."""

import json
import re

import pytest

import afflux
from afflux.files.toml import with_defaults
from afflux.reference import facts, search
from afflux.reference.document import Key, document, source
from docs.generator import facts as made
from docs.generator.facts import equal
from docs.generator.probe import probe

EVERY = list(document().every_key())

# -------------------------------------------------------------------------------------------------------------------------- defaults

#: Text for a missing default, which must state its meaning.
ABSENT = re.compile(r"none: \S|required\b|unchanged$")


def test_every_key_says_its_default():
    silent = [key.place for key in EVERY if not facts.default(key)]
    assert silent == []
    assert [key.place for key in EVERY if re.search(r"\bDefault\b", key.text)] == []
    bare = [
        key.place
        for key in EVERY
        if re.match(r"none\b", facts.default(key)) and not ABSENT.match(facts.default(key))
    ]
    assert bare == []


def test_a_key_that_is_required_cannot_be_left_out():
    for key in EVERY:
        # Scenarios built in Python set their format automatically.
        if key.required and key.place != "format":
            with pytest.raises(afflux.ScenarioError):
                probe().computed(key)


#: Defaults that the scenarios of `docs/generator/probe.py` do not reach, because the key is
#: required there.
WRITTEN = {
    "traffic",
    "topology.custom.link",
    "switch.queue.weight",
    "host.nic_queue.weight",
    "switch.queue.bandwidth",
    "host.nic_queue.bandwidth",
    "switch.ecn.k",
    "traffic.ring_all_reduce.straggler_delay",
}


def test_defaults_are_those_of_resolved_scenarios():
    """Leaves out each key of a small scenario. A default with a single value must equal afflux's
    value. A default with several cases must contain afflux's value as one of them."""
    compared = 0
    for key in EVERY:
        if key.required:
            continue
        try:
            value = probe().computed(key)
        except afflux.ScenarioError:
            assert key.place in WRITTEN, key.place
            assert facts.default(key).startswith("required"), key.place
            continue
        shown, said = facts.default(key), facts.literals(key)
        if value is None:
            # The scenario cannot express the value, or the stated default refers to another key, a
            # fabric or a flow.
            continue
        assert not ABSENT.match(shown) or value in ([], {}), (
            f"{key.place}: {shown}, but it is {value}"
        )
        if facts.plain(key):
            assert equal(value, said[0]), f"{key.place}: {shown}, but it is {value}"
            compared += 1
        elif any(equal(value, one) for one in said):
            compared += 1
        else:
            # The default is a text: the value is stated next to it, unless it is a table or as long
            # as a digest.
            long = isinstance(value, dict) or len(str(value)) > made.LONG
            assert long or other(key) or equal(facts.computed(key), value), (
                f"{key.place}: {shown}, but it is {value}"
            )
    assert compared > 420


def other(key: Key) -> bool:
    """True if the default is stated as the name of another key."""
    named = re.fullmatch(r"(?:that of )?`([\w.]+)`", facts.default(key))
    return named is not None and any(key.name == named[1] for key in key.table.keys)


def test_a_default_that_is_another_key_is_its_value():
    """For example, `host_delay` must equal `delay`."""
    found = 0
    for key in EVERY:
        if other(key):
            scenario, table = probe().around(key, {})
            table.pop(key.name, None)
            try:
                resolved = with_defaults(probe().checked(scenario).resolved)
            except afflux.ScenarioError:
                continue
            for step in probe().steps(key.table):
                part = resolved.get(step.place.rpartition(".")[2], {})
                resolved = part[0] if isinstance(part, list) else part
            if key.name in resolved:
                assert resolved[key.name] == resolved[facts.default(key).strip("`")], key.place
                found += 1
    assert found >= 5


@pytest.mark.parametrize("parameters", ["paper", "zhu", "hpcc", "hpcc_paper", "conweave", "nvidia"])
def test_dcqcn_shows_the_parameters_of_every_set(parameters: str):
    """Uses 25 Gbps, the rate for which the simulators' parameters are meant."""
    transport = {"kind": "rdma", "mode": "irn", "dcqcn": {"parameters": parameters}}
    topology = {"kind": "star", "hosts": 2, "rate": "25Gbps"}
    traffic = [{"kind": "pairs", "pairs": [[0, 1]], "sizes": "1MB"}]
    resolved = with_defaults(
        afflux.Scenario(topology=topology, host={"transport": transport}, traffic=traffic)
        .check()
        .resolved
    )
    for name, value in resolved["host"]["transport"]["dcqcn"].items():
        key = document().table("host.transport.dcqcn").key(name)
        first, *others = facts.literals(key)
        assert (
            equal(value, first) or any(equal(value, one) for one in others) or name == "parameters"
        ), f"{name}: {facts.default(key)}, but it is {value}"
        if parameters == "paper":
            assert equal(value, first)


# Queries afflux several times for each of 750 keys.
@pytest.mark.slow
def test_recorded_facts_are_new():
    assert made.text(made.made()) == made.FILE.read_text(encoding="utf-8"), (
        "run `python -m docs.generator.facts`"
    )


def test_sources_of_defaults():
    assert source('`"1us"` (paper)', "") == "paper"
    assert source("8 full frames, as in the paper", "") == "the paper"
    assert source("0.5 (e.g. at night)", "") is None
    assert sum(1 for key in EVERY if key.source) > 120
    key = document().table("host.transport.timely").key("t_low")
    assert (key.default, key.source) == ('`"50us"` (paper)', "paper")


# --------------------------------------------------------------------------------------------------------------------- afflux schema


def test_schema_of_a_key(command):
    shown = command("schema", "host.transport.dcqcn.additive").stdout
    facts = dict(re.findall(r"^  (\w+) +(\S.*?) *$", shown, re.M))
    assert facts["type"] == "rate"
    assert facts["default"].startswith('`"40Mbps"`')
    assert facts["range"] == "a rate above 0"
    assert "SIGCOMM 2015" in facts["model"]
    assert 'example  additive = "' in shown


def test_schema_of_a_table(command):
    shown = command("schema", "switch.ecn").stdout
    assert re.search(r"^  pmax +probability +1 *$", shown, re.M)
    assert re.search(r"^  kmin +size or number of packets +`k` *$", shown, re.M)
    traffic = command("schema", "traffic").stdout
    assert re.search(r"^  incast +Many senders", traffic, re.M)
    assert "total" in command("schema", "traffic.incast").stdout


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("switch.ecn.kmin", ["switch.ecn.kmin"]),
        (
            "traffic[0].sizes",
            [
                "traffic.random.sizes",
                "traffic.permutation.sizes",
                "traffic.pairs.sizes",
                "traffic.all_to_all.sizes",
            ],
        ),
        ("traffic.0.sizes.unit", ["traffic.sizes.unit"]),
        ("traffic.hadoop.cluster.disks", ["traffic.cluster.disks"]),
        ("traffic.incast.total", ["traffic.incast.total"]),
        ("traffic.web.total", ["traffic.incast.total"]),
        # The name of this block is also the name of a key.
        ("traffic.query.total", ["traffic.incast.total"]),
        ("host.transport.tcp.mss", ["host.transport.tcp.mss"]),
        ("host.transports.storage.window", ["host.transport.rdma.window"]),
        ("switch.override[1].queue.0.weight", ["switch.queue.weight"]),
        ("host.transport.stack", ["host.transport.tcp.stack"]),
        # The names of these kinds are also names of keys of some kind.
        ("traffic.flows", ["traffic.flows"]),
        ("traffic.background", ["traffic.background"]),
        ("traffic.pairs", ["traffic.pairs"]),
        ("traffic.background.rate", ["traffic.background.rate"]),
        ("traffic.random.flows", ["traffic.random.flows"]),
        ("traffic.0.flows", ["traffic.random.flows"]),
        ("traffic.web.flows", ["traffic.random.flows"]),
    ],
)
def test_paths(path: str, expected: list[str]):
    found = search.find(path)
    assert [one.place if isinstance(one, Key) else one.name for one in found] == expected


def test_keys_of_several_kinds_are_shown_once(command):
    shown = command("schema", "traffic.sizes").stdout
    assert shown.count("Keys of traffic.sizes") == 1
    assert '"random"' in shown.splitlines()[0]
    assert '"all_to_all"' in shown.splitlines()[0]
    assert [
        line
        for line in command("schema", "host.transport.congestion").stdout.splitlines()
        if line.startswith("host.")
    ] == [f'host.transport.congestion with kind = "{kind}"' for kind in ("tcp", "rdma", "pfabric")]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "switch.ecn.kmni",
            "there is no key 'kmni' in [switch.ecn] (did you mean 'kmin'?): the keys there are at, average_weight",
        ),
        ("kmin", "there is no key or table 'kmin' (did you mean 'switch.ecn.kmin'?)"),
        ("swich.ecn", "there is no key or table 'swich' (did you mean 'switch'?)"),
        ("traffic.incst", "there is no key 'incst' in [traffic] (did you mean 'incast'?)"),
        (
            "switch.buffer.size",
            "switch.buffer.size: switch.buffer is not a table, so it has no keys",
        ),
        ("", "the path is empty: write a key, as in switch.ecn.kmin"),
    ],
)
def test_a_wrong_key(command, path: str, message: str):
    done = command("schema", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {message}")


def test_json(command):
    (key,) = json.loads(command("schema", "switch.pfc.watchdog.detection", "--json").stdout)
    assert {
        name: key[name] for name in ("path", "type", "required", "default", "default_value")
    } == {
        "path": "switch.pfc.watchdog.detection",
        "type": "time",
        "required": False,
        "default": '`"200ms"`',
        "default_value": "200ms",
    }
    (table,) = json.loads(command("schema", "switch.ecn", "--json").stdout)
    assert [inner["path"] for inner in table["keys"]][:2] == [
        "switch.ecn.at",
        "switch.ecn.average_weight",
    ]
    assert json.loads(command("schema", "--json").stdout)["$schema"]


@pytest.mark.parametrize("columns", [80, 120])
def test_every_entry_fits(invoke, monkeypatch, columns: int):
    monkeypatch.setenv("COLUMNS", str(columns))
    for table in document().tables:
        path = f"{table.place}.{table.kind}" if table.kind else table.place
        if path:
            done = invoke("schema", path)
            assert done.exit_code == 0, path
            assert max(map(len, done.stdout.splitlines())) <= columns, path


def test_every_path_is_found():
    for path in search.paths():
        assert search.find(path), path
