"""A model's name stands in its own file and in the registry, and nowhere else in the simulator: a new one needs no other file."""

import re

import pytest
from conftest import REPO

CRATES = REPO / "crates"
BALANCE = "net/src/balance"
CONGESTION = "net/src/congestion"
AQM = "net/src/queue/aqm"
SCHEDULING = "net/src/queue/scheduling"
TRANSPORT = "net/src/transport"

#: Registries: the file, the macro that has one line for each model, and the enums that come from it.
REGISTRIES = {
    f"{CONGESTION}/mod.rs": ("congestion_controls", "Congestion|CongestionControl|Control"),
    f"{CONGESTION}/rate/mod.rs": ("rate_controls", "RdmaCongestion|RateControl|Control"),
    f"{BALANCE}/mod.rs": ("balancers", "Balance|BalanceKeys|Balancer"),
    f"{AQM}/mod.rs": ("disciplines", "Aqm|AqmKeys|Config"),
    f"{SCHEDULING}/mod.rs": ("schedulings", "Scheduling|SchedulingKind|Kind"),
    f"{TRANSPORT}/list.rs": ("transports", "Transport|TransportConfig|TransportKeys"),
}

#: Where transports are listed, and their settings as the engine has them.
LISTS = [f"{TRANSPORT}/list.rs", f"{TRANSPORT}/mod.rs", f"{TRANSPORT}/registry.rs", "net/src/spec/"]

#: The default, of which other transports, Hadoop's connections and background traffic are made.
EXEMPT = {"tcp"}

#: Names that mean something else too. Of these only the paths to the model itself count.
AMBIGUOUS = {
    "dctcp": "how receivers echo marks (`ecn`), and a control of pFabric's patch",
    "newreno": "a loss recovery, and a control of pFabric's patch",
    "hpcc": "a simulator: its topologies, traffic and switch memory",
    "conweave": "a simulator, its switch memory and its counters",
    "detail": "English",
    "round_robin": "a scheduler of MPTCP",
    "ecmp": "hashing itself",
    "fifo": "English",
    "datagram": "a kind of frame",
}

#: Other files that may name a model.
ALLOWED = {
    # The default of a stack.
    "cubic": ["net/src/transport/tcp/keys.rs", f"{CONGESTION}/window_response.rs", f"{CONGESTION}/hystart.rs"],
    "newreno": ["net/src/transport/tcp/keys.rs", "net/src/transport/mptcp/settings.rs", "net/src/transport/pfabric/keys.rs"],
    # pFabric's patch has both.
    "dctcp": [
        "net/src/transport/tcp/keys.rs",
        "net/src/transport/pfabric/keys.rs",
        "net/src/transport/pfabric/sender.rs",
        f"{CONGESTION}/d2tcp.rs",
    ],
    # Credits of virtual output queues follow its shares.
    "dwrr": ["net/src/queue/scheduling/credits.rs", "net/src/queue/scheduling/cores.rs"],
    # Models that share code with another.
    "fq_codel": ["net/src/queue/qdisc/mod.rs"],
    "bbr": [f"{CONGESTION}/bbr_ns3.rs", f"{CONGESTION}/bbr3.rs"],
    "bbr3": [f"{CONGESTION}/bbr.rs"],
    "dlb": [f"{BALANCE}/glb.rs"],
    "codel": [f"{AQM}/fq_codel.rs"],
    # The default of a key.
    "dcqcn": ["net/src/transport/rdma/keys.rs"],
    # Its hash function.
    "ecmp": ["net/src/routing.rs", "net/src/queue/aqm/fq_codel.rs"],
    # Written on frames for the switches behind.
    "conga": [f"{BALANCE}/tag.rs"],
    "glb": [f"{BALANCE}/tag.rs"],
    "conweave": [f"{BALANCE}/tag.rs", f"{BALANCE}/counters.rs"],
    # Its bandwidths are shares in deficit weighted round robin.
    "ets": [f"{SCHEDULING}/dwrr.rs"],
    # A transport and its queue; a profile of frame sizes, and distributions of flow sizes, that its authors used.
    "pfabric": [
        f"{AQM}/mod.rs",
        f"{AQM}/pfabric.rs",
        f"{SCHEDULING}/mod.rs",
        f"{TRANSPORT}/pfabric/",
        *LISTS,
        "scenario/src/wire.rs",
        "traffic/src/sizes/",
        "traffic/src/models.rs",
    ],
    # What packets of real hosts are, and background traffic.
    "datagram": ["net/src/run/outside.rs", "scenario/src/validate/traffic/"],
    # The packets of RoCE in captures of other tools.
    "rdma": ["traffic/src/import/capture/", "python/src/exchange.rs"],
    # Its switches say that they send headers to it.
    "ndp": [f"{AQM}/trim.rs"],
    # Two in one folder; "d3" is also the sizes of its paper.
    "pdq": [f"{TRANSPORT}/rated/"],
    "d3": [f"{TRANSPORT}/rated/", "traffic/src/models.rs"],
    # A table of TCP's keys, with congestion controls of its own.
    "mptcp": [f"{TRANSPORT}/tcp/keys.rs", f"{CONGESTION}/coupled.rs"],
}


def registered() -> list[tuple[str, str, str, str]]:
    """Registry, module, name and enums of every model. A line is `module Name(Settings)…;`, or `module Name;`."""
    found = []
    for registry, (macro, enums) in REGISTRIES.items():
        text = (CRATES / registry).read_text()
        lines = text[text.index(f"macro_rules! {macro}") :]
        lines = lines[: lines.index("\n}\n")]
        models = re.findall(r"^ +(\w+) (\w+)(?:\([\w:]+\)|;)", lines, re.MULTILINE)
        assert models, registry
        found += [(registry, module, name, enums) for module, name in models if module not in EXEMPT]
    return found


def production(path) -> str:
    """Code without comments and unit tests."""
    text = re.split(r"#\[cfg\(test\)\]\n(?:pub )?mod \w+ \{", path.read_text())[0]
    return re.sub(r"//.*", "", text)


# The fuzzer, examples and `testing.rs` serve tests.
SOURCES = {
    str(path.relative_to(CRATES)): production(path)
    for path in CRATES.glob("*/src/**/*.rs")
    if not path.is_relative_to(CRATES / "fuzz") and "tests" not in path.parts and path.name not in ("testing.rs", "tests.rs")
}


@pytest.mark.parametrize(("registry", "module", "name", "enums"), registered(), ids=lambda value: value if value.islower() and "/" not in value else "")
def test_a_model_is_named_in_its_file_and_the_registry(registry, module, name, enums):
    folder = registry.rpartition("/")[0]
    words = rf"\b(?:{name}Config|(?:{enums})::{name}|(?:congestion|rate|balance|aqm)::{module})\b"
    if module not in AMBIGUOUS:
        words += rf"|\b(?:{module}|{name})\b"
    lists = LISTS if folder == TRANSPORT else []
    own = (registry, f"{folder}/{module}.rs", f"{folder}/{module}/", *lists, *ALLOWED.get(module, ()))
    elsewhere = [path for path, text in SOURCES.items() if not path.startswith(own) and re.search(words, text)]
    assert elsewhere == []


def test_no_exception_is_out_of_date():
    modules = {module for _, module, _, _ in registered()}
    assert set(AMBIGUOUS) <= modules
    assert set(ALLOWED) <= modules
    assert all(any(source.startswith(path) for source in SOURCES) for paths in ALLOWED.values() for path in paths)
