"""The name of a model occurs only in its own file and in the registry, so that a new model needs
changes in no other file of the simulator."""

import re

import pytest
from conftest import REPO

CRATES = REPO / "crates"
BALANCE = "net/src/balance"
CONGESTION = "net/src/congestion"
AQM = "net/src/queue/aqm"
SCHEDULING = "net/src/queue/scheduling"
SPACING = "net/src/queue/marking/spacing"
MEMORY = "net/src/queue/buffer/mmu"
FABRICS = "scenario/src/topology/fabric"
WORKLOADS = "scenario/src/workload"
TRANSPORT = "net/src/transport"

#: Registries: the file, the macro with one line per model, and the enums that the macro generates.
REGISTRIES = {
    f"{CONGESTION}/mod.rs": ("congestion_controls", "Congestion|CongestionControl|Control"),
    f"{CONGESTION}/rate/mod.rs": ("rate_controls", "RdmaCongestion|RateControl|Control"),
    f"{BALANCE}/mod.rs": ("balancers", "Balance|BalanceKeys|Balancer"),
    f"{AQM}/mod.rs": ("disciplines", "Aqm|AqmKeys|Config"),
    f"{SPACING}/mod.rs": ("spacings", "Spacing"),
    f"{MEMORY}/mod.rs": ("memories", "Sharing|Rules|RuleState"),
    f"{SCHEDULING}/mod.rs": ("schedulings", "Scheduling|SchedulingKind|Kind"),
    f"{TRANSPORT}/list.rs": ("transports", "Transport|TransportConfig|TransportKeys"),
    f"{FABRICS}/mod.rs": ("fabrics", "Topology"),
    f"{WORKLOADS}/mod.rs": ("workloads", "Traffic"),
}

#: Files that list transports, and the folder of their settings in the engine.
LISTS = [f"{TRANSPORT}/list.rs", f"{TRANSPORT}/mod.rs", f"{TRANSPORT}/registry.rs", "net/src/spec/"]

#: The default transport, which other transports, Hadoop's connections and background traffic use.
EXEMPT = {"tcp"}

#: Folders whose models have English words, or names of simulators, as names. Only paths to the model
#: itself count for them.
ENGLISH = {FABRICS, WORKLOADS, SPACING, MEMORY}

#: Names with additional meanings. Only paths to the model itself count for them.
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

#: Other files that may name a model, with the reason.
ALLOWED = {
    # Default of a stack.
    "cubic": [
        "net/src/transport/tcp/keys.rs",
        f"{CONGESTION}/window_response.rs",
        f"{CONGESTION}/hystart.rs",
    ],
    "newreno": [
        "net/src/transport/tcp/keys.rs",
        "net/src/transport/mptcp/settings.rs",
        "net/src/transport/pfabric/keys.rs",
    ],
    # pFabric's patch contains both.
    "dctcp": [
        "net/src/transport/tcp/keys.rs",
        "net/src/transport/pfabric/keys.rs",
        "net/src/transport/pfabric/sender.rs",
        f"{CONGESTION}/d2tcp.rs",
    ],
    # Credits of virtual output queues follow its shares.
    "dwrr": ["net/src/queue/scheduling/credits.rs", "net/src/queue/scheduling/cores.rs"],
    # Models that share code with another model.
    "fq_codel": ["net/src/queue/qdisc/mod.rs"],
    "bbr3": [f"{CONGESTION}/bbr/"],
    "dlb": [f"{BALANCE}/glb.rs"],
    "codel": [f"{AQM}/fq_codel.rs"],
    # Default of a key.
    "dcqcn": ["net/src/transport/rdma/keys.rs"],
    # The hash function of ECMP is used elsewhere.
    "ecmp": ["net/src/routing.rs", "net/src/queue/aqm/fq_codel.rs"],
    # Fields that are written on frames for downstream switches.
    "conga": [f"{BALANCE}/tag.rs"],
    "glb": [f"{BALANCE}/tag.rs"],
    "conweave": [f"{BALANCE}/tag.rs", f"{BALANCE}/counters.rs", "net/src/spec/mod.rs"],
    # The plan contains the settings of each kind of memory.
    "hpcc": ["net/src/spec/mod.rs"],
    # Presets of real switches, and warnings about pools and groups that only SONiC's memory has.
    "sonic": [
        "net/src/spec/mod.rs",
        "scenario/src/validate/preset.rs",
        "scenario/src/validate/warnings/",
    ],
    # The bandwidths of ETS are shares in deficit weighted round robin.
    "ets": [f"{SCHEDULING}/dwrr.rs"],
    # A transport and its queue. Also a profile of frame sizes and distributions of flow sizes that
    # its authors used.
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
    # Packets of real hosts, and background traffic.
    "datagram": ["net/src/run/packet.rs", f"{WORKLOADS}/"],
    # RoCE packets in captures of other tools.
    "rdma": ["traffic/src/import/capture/", "python/src/exchange.rs"],
    # Trimming switches send headers to NDP.
    "ndp": [f"{AQM}/trim.rs"],
    # Two models in one folder. "d3" is also the name of its paper's flow sizes.
    "pdq": [f"{TRANSPORT}/rated/"],
    "d3": [f"{TRANSPORT}/rated/", "traffic/src/models.rs"],
    # A table in TCP's keys, with its own congestion controls.
    "mptcp": [
        f"{TRANSPORT}/tcp/keys.rs",
        f"{CONGESTION}/coupled.rs",
        # The protocol of flows of real kernels.
        "results/src/tables/packets.rs",
    ],
}


def registered() -> list[tuple[str, str, str, str]]:
    """Returns registry, module, name and enums of every model. A line is `module Name(Settings)…;`
    or `module Name;`."""
    found = []
    for registry, (macro, enums) in REGISTRIES.items():
        text = (CRATES / registry).read_text()
        lines = text[text.index(f"macro_rules! {macro}") :]
        lines = lines[: lines.index("\n}\n")]
        models = re.findall(r"^ +(\w+) (\w+)(?:\([\w:., ]+\)|;)", lines, re.MULTILINE)
        assert models, registry
        found += [
            (registry, module, name, enums) for module, name in models if module not in EXEMPT
        ]
    return found


def production(path) -> str:
    """Returns the code without comments and unit tests."""
    text = re.split(r"#\[cfg\(test\)\]\n(?:pub )?mod \w+ \{", path.read_text())[0]
    return re.sub(r"//.*", "", text)


# The fuzzer, examples and `testing.rs` serve tests only.
SOURCES = {
    str(path.relative_to(CRATES)): production(path)
    for path in CRATES.glob("*/src/**/*.rs")
    if not path.is_relative_to(CRATES / "fuzz")
    and "tests" not in path.parts
    and path.name not in ("testing.rs", "tests.rs")
}


@pytest.mark.parametrize(
    ("registry", "module", "name", "enums"),
    registered(),
    ids=lambda value: value if value.islower() and "/" not in value else "",
)
def test_a_model_is_named_in_its_file_and_the_registry(registry, module, name, enums):
    folder = registry.rpartition("/")[0]
    rooms = "congestion|rate|balance|aqm|spacing|fabric|workload"
    rooms = "mmu" if folder == MEMORY else rooms
    words = rf"\b(?:(?:{enums})::{name}|(?:{rooms})::{module})\b"
    if folder not in ENGLISH:
        words += rf"|\b{name}Config\b"
        if module not in AMBIGUOUS:
            words += rf"|\b(?:{module}|{name})\b"
    lists = LISTS if folder == TRANSPORT else []
    own = (
        registry,
        f"{folder}/{module}.rs",
        f"{folder}/{module}/",
        *lists,
        *ALLOWED.get(module, ()),
    )
    elsewhere = [
        path
        for path, text in SOURCES.items()
        if not path.startswith(own) and re.search(words, text)
    ]
    assert elsewhere == []


def test_no_exception_is_out_of_date():
    modules = {module for _, module, _, _ in registered()}
    assert set(AMBIGUOUS) <= modules
    assert set(ALLOWED) <= modules
    assert all(
        any(source.startswith(path) for source in SOURCES)
        for paths in ALLOWED.values()
        for path in paths
    )
