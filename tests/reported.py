"""Results for the tests of the report."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

from conftest import INCAST, REPO

import afflux

RANDOM = """\
[[traffic]]
kind = "random"
name = "background"
sizes = "websearch"
load = 0.2
load_basis = "host_payload"
duration = "5ms"

[record]"""
MIXED = INCAST.replace("[record]", RANDOM)
DESIGNS: dict[str, dict[str, Any]] = {
    "tail-drop": {},
    "dctcp": {"switch.ecn.k": "15packets", "host.transport.congestion": "dctcp"},
}

ONE_ROUND = INCAST.replace('rounds = 3\nperiod = "5ms"\n', "")

STAR = """\
kind = "star"
hosts = 9
rate = "10Gbps"
delay = "1us"
"""
LEAF_SPINE = """\
kind = "leaf_spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
host_rate = "10Gbps"
uplink_rate = "10Gbps"
delay = "1us"
"""


def incast(folder: Path) -> list[afflux.Result]:
    """Returns the results of a star with two designs and two seeds."""
    return [
        result
        for name, keys in DESIGNS.items()
        for result in _run(folder, MIXED, name, keys, (1, 2))
    ]


def fabric(folder: Path) -> list[afflux.Result]:
    """Returns the results of a leaf-spine with two designs: one path per flow, and spraying over
    all paths."""
    text = MIXED.replace(STAR, LEAF_SPINE)
    return [
        result
        for name in ("ecmp", "spray")
        for result in _run(
            folder, text, name, {"switch.balance": name, "record.ports.nodes": "all"}, (1,)
        )
    ]


def stragglers(folder: Path) -> list[afflux.Result]:
    """Returns the results of an incast in two designs, with two flows that send a little data 50 ms
    later."""
    (folder / "late.csv").write_text(
        "start_ns,src,dst,bytes\n50000000,1,2,1460\n51000000,1,2,1460\n"
    )
    text = ONE_ROUND.replace(
        "[record]", '[[traffic]]\nkind = "flows"\nfile = "late.csv"\n\n[record]'
    )
    buffers = {"small": "30packets", "large": "200packets"}
    return [
        result
        for name, buffer in buffers.items()
        for result in _run(folder, text, name, {"switch.buffer": buffer}, (1,))
    ]


def conweave(folder: Path) -> list[afflux.Result]:
    """Returns the results of a third of a millisecond of the ConWeave study: 128 hosts, two of its
    designs, with the records that its report needs."""
    from afflux.studies.conweave.cases import LONG, RECORDED

    path = REPO / "studies" / "conweave" / "leaf-spine.toml"
    found = []
    for scheme in ("ecmp", "conweave"):
        scenario = afflux.load(path).set("name", scheme)
        for key, value in (
            LONG.keys(scheme)
            | RECORDED
            | {"traffic[0].duration": "300us", "run.warmup": "0s", "record.ports.interval": "20us"}
        ).items():
            scenario.set(key, value)
        found.append(scenario.run(seed=1, out=folder / scheme))
    return found


def hadoop(folder: Path) -> list[afflux.Result]:
    """Returns the result of a fortieth of the demo's sort with a thirteenth of its other traffic,
    which makes up most of the simulation."""
    scenario = (
        afflux.load(REPO / "studies" / "hadoop" / "small.toml")
        .set("traffic[0].size", "50MB")
        .set("traffic[1].rate", "1Gbps")
    )
    return [scenario.run(seed=1, out=folder / "small-1")]


def _run(
    folder: Path, text: str, name: str, keys: dict[str, Any], seeds: tuple[int, ...]
) -> list[afflux.Result]:
    scenario = afflux.Scenario.parse(text, folder / "small.toml").set("name", name)
    for key, value in keys.items():
        scenario.set(key, value)
    return [scenario.run(seed=seed, out=folder / f"{name}-{seed}") for seed in seeds]


def data_of(page: Path) -> dict[str, Any]:
    """Returns the data that a page passes to its script."""
    packed = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', page.read_text())
    assert packed
    return json.loads(zlib.decompress(base64.b64decode(packed[1])))
