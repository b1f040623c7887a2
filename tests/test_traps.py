"""No silent traps: the default stack passes a check by hand, keys without effect cause a warning or
an error, and derived values stay derived."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import REPO
from given import defect

import afflux
from afflux import _core, batch, studies, templates
from afflux.files import toml
from afflux.studies.pfabric import schemes

TWO_FLOWS = """\
format = 1
name = "b"
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "1us"
[switch]
buffer = "9MB"
{transport}
[[traffic]]
kind = "pairs"
pairs = [[0, 2], [1, 2]]
sizes = "10MB"
"""

#: DCTCP without any queue that marks.
UNMARKED = TWO_FLOWS.format(transport='[host.transport]\ncongestion = "dctcp"').replace(
    "10MB", "100kB"
)


# ---------------------------------------------------------------------------------------------------------------- the default stack


def by_hand() -> float:
    """Returns the time in ms for both flows' bytes at 10 Gbps, in frames with 1,460 B of payload,
    58 B of headers and 20 B of inter-frame gap."""
    return 2 * 10e6 / 1460 * (1460 + 58 + 20) * 8 / 10e9 * 1e3


def completions_ms(path: Path, seed: int = 1, **keys: Any) -> list[float]:
    scenario = afflux.load(path)
    for key, value in keys.items():
        scenario[key.replace("__", ".")] = value
    return sorted(time / 1e6 for time in scenario.run(seed=seed).flows.column("fct_ns"))


@pytest.mark.parametrize(
    "transport",
    [
        "",
        '[host.transport]\nkind = "tcp"',
        '[host.transport]\nstack = "linux"\ncongestion = "cubic"',
    ],
)
def test_two_flows_share_a_port(scenario, transport):
    assert by_hand() == pytest.approx(16.9, abs=0.1)
    path = scenario(text=TWO_FLOWS.format(transport=transport))
    assert completions_ms(path, host__timing="exact") == pytest.approx([by_hand()] * 2, rel=0.03)


def test_two_flows_of_the_defect():
    path = defect("two-flows-basic-stack.toml")
    assert completions_ms(path, host__timing="exact") == pytest.approx([by_hand()] * 2, rel=0.03)
    # With the basic stack, in most seeds a flow loses its last frames and waits for a time-out of
    # 200 ms.
    last = [completions_ms(path, seed, host__transport__stack="basic")[-1] for seed in range(1, 6)]
    assert sum(200 < time < 230 for time in last) == 4


def test_what_the_default_is(scenario):
    resolved = toml.with_defaults(
        _core.load(scenario(text=TWO_FLOWS.format(transport=""))).resolved
    )
    tcp = resolved["host"]["transport"]
    wanted = {
        "kind": "tcp",
        "stack": "linux",
        "congestion": "cubic",
        "recovery": "rack",
        "tail_probe": True,
        "small_queues": True,
        "min_rto": "200ms",
        "receive_buffer": "131072B",
        "receive_buffer_max": "6291456B",
    }
    assert {key: tcp[key] for key in wanted} == wanted
    assert "receive_window" not in tcp


@pytest.mark.parametrize("congestion", ["dctcp", "newreno", "bbr"])
def test_another_congestion_control_is_linux_too(scenario, congestion):
    text = TWO_FLOWS.format(transport=f'[host.transport]\ncongestion = "{congestion}"')
    assert (
        tomllib.loads(_core.load(scenario(text=text)).resolved)["host"]["transport"]["stack"]
        == "linux"
    )


def test_multipath_is_linux_too(scenario):
    text = TWO_FLOWS.format(transport="[host.transport]\nmptcp = { subflows = 1 }")
    tcp = toml.with_defaults(_core.load(scenario(text=text)).resolved)["host"]["transport"]
    assert (tcp["stack"], tcp["tail_probe"], tcp["receive_buffer"], tcp["mptcp"]["coupling"]) == (
        "linux",
        True,
        "131072B",
        "lia",
    )


def test_numbers_that_are_published_name_their_stack():
    """Benches, studies and the page's worked example name their stack, so that a change of the
    default does not affect published numbers."""
    for path in [*REPO.glob("benches/*.toml"), *REPO.glob("studies/*/*.toml")]:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        if "topology" not in data:
            continue
        host = data.get("host", {})
        for tcp in [host.get("transport", {}), *host.get("transports", {}).values()]:
            if tcp.get("kind", "tcp") == "tcp":
                assert "stack" in tcp, path
                window = {"receive_window", "receive_buffer"} & tcp.keys()
                assert tcp["stack"] == "basic" or (
                    window and ("congestion" in tcp or "mptcp" in tcp)
                ), f"{path}: {tcp}"


# ------------------------------------------------------------------------------------------------------------------------ refusals


def test_pfabric_queues_beside_pfc_are_refused(command):
    done = command("check", defect("pfc-pfabric-panic.toml"))
    assert (done.returncode, done.stdout) == (2, "")
    assert ":31: key host.scheduling: " in done.stderr
    assert 'cannot be paused, and "leaf0" sends PAUSE frames' in done.stderr
    assert "write another scheduling" in done.stderr


def test_hosts_behind_hosts_are_refused(command):
    done = command("check", defect("no-path-exit1.toml"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "key traffic[0]: " in done.stderr
    assert (
        '"host12" is linked to "host0" alone, and hosts do not forward; link it to a switch'
        in done.stderr
    )


@pytest.mark.parametrize(
    ("switch", "words"),
    [
        (
            'override = [{ match = "spine0", sharing = "static", buffer = "100kB", scheduling = "pfabric", honours_pause = false }]',
            ["override[0].scheduling"],
        ),
        (
            'override = [{ match = "spine0", sharing = "static", buffer = "100kB", device_queue = 1, honours_pause = false }]',
            ["override[0].device_queue"],
        ),
    ],
)
def test_disciplines_beside_pfc_are_refused(command, scenario, switch, words):
    text = f"""\
format = 1
topology = {{ kind = "leaf_spine", leaves = 2, spines = 1, hosts_per_leaf = 2 }}
[switch]
sharing = "sonic"
pfc = {{ priorities = [3] }}
{switch}
[[traffic]]
kind = "incast"
bytes = "10kB"
priority = 3
"""
    done = command("check", scenario(text=text))
    assert done.returncode == 2, done.stderr
    assert all(word in done.stderr for word in [words[0], "cannot be paused"])


def test_a_live_run_of_no_time_is_refused(command):
    done = command("live", REPO / "examples/live-bottleneck.toml", "--duration", "0s", "--", "true")
    assert done.returncode == 2
    assert "--duration 0s: write a time above 0, as in 30s" in done.stderr
    assert not (Path("out") / "live-live-bottleneck-1").exists()


# ------------------------------------------------------------------------------------------------------------------------ warnings


def test_run_and_check_warn_once(command, scenario, tmp_path):
    path = scenario(text=UNMARKED)
    line = f"warning: {path}:11: key host.transport.congestion: DCTCP works like NewReno, because no switch or NIC marks"
    for words in (["check", path], ["run", path, "-o", "r"], ["run", path, "--show-config"]):
        done = command(*words)
        assert done.returncode == 0, done.stderr
        assert next(
            said for said in done.stderr.splitlines() if said.startswith("warning")
        ).startswith(line)
        assert done.stderr.count("warning: ") == 1
        assert "warning" not in done.stdout
    summary = json.loads((tmp_path / "r/summary.json").read_text())
    assert [one["key"] for one in summary["warnings"]] == ["host.transport.congestion"]
    checked = json.loads(command("check", path, "--json").stdout)
    assert [(one["file"], one["line"], one["key"]) for one in checked["warnings"]] == [
        (str(path), 11, "host.transport.congestion")
    ]
    assert checked["warnings"][0]["text"] == summary["warnings"][0]["text"]


def test_an_option_is_named(command, scenario):
    done = command(
        "check",
        scenario(text=UNMARKED.replace('congestion = "dctcp"', "")),
        "--set",
        "host.transport.congestion=dctcp",
    )
    assert (
        "small.toml: --set host.transport.congestion=dctcp: key host.transport.congestion: DCTCP works like NewReno"
        in done.stderr
    )


def test_strict_refuses_and_writes_nothing(command, scenario, tmp_path):
    path = scenario(text=UNMARKED)
    before = sorted(tmp_path.iterdir())
    for words in (
        ["run", path],
        ["check", path],
        ["sweep", path, "--vary", "switch.buffer=1MB,2MB"],
        ["tune", path, "--vary", "switch.buffer=1MB..2MB", "--objective", "fct_p99"],
    ):
        done = command(*words, "--strict")
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.startswith(
            f"error: {path}:11: key host.transport.congestion: DCTCP works like NewReno"
        ), done.stderr
        assert done.stderr.count("error: ") == 1
        assert sorted(tmp_path.iterdir()) == before
    assert (
        command("check", scenario(text=TWO_FLOWS.format(transport="")), "--strict").returncode == 0
    )


def test_a_sweep_says_each_warning_once(command, scenario):
    done = command(
        "sweep",
        scenario(text=UNMARKED),
        "--vary",
        "switch.ecn.k=50kB,60MB",
        "--vary",
        "host.delay=1us,2us",
    )
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(told) == 1
    assert "switch.ecn: marks nothing: marking begins at 60MB" in told[0]
    assert "(in 2 of 4 points, as in " in told[0]


def test_a_worker_writes_the_same_warnings(scenario, tmp_path):
    path = scenario(text=UNMARKED)
    outcome = batch.run([batch.Point("one", path, seed=1)], tmp_path / "points")
    summary = outcome.results["one", 1].summary
    assert [(one["key"], one["text"]) for one in summary["warnings"]] == [
        (one.key, one.text) for one in _core.load(path).warnings
    ]


def test_tune_does_not_try_settings_with_warnings_when_strict(scenario, tmp_path):
    path = scenario(
        text=UNMARKED.replace('buffer = "9MB"', 'buffer = "200kB"\necn = { k = "50kB" }')
    )
    vary, most = (
        {"switch.ecn.k": "20kB,50kB,500kB"},
        {"seeds": [1], "budget": 3, "sensitivity": False},
    )
    found = afflux.tune(path, vary, "fct_p99", out=tmp_path / "a", **most)
    assert len(found.warnings) == 1
    assert "marks nothing: marking begins at 500kB" in found.warnings[0]
    strict = afflux.tune(path, vary, "fct_p99", out=tmp_path / "b", strict=True, **most)
    assert strict.warnings == ()
    assert [
        one.error is not None for one in strict.candidates if one.changes["switch.ecn.k"] == "500kB"
    ] == [True]


def test_what_the_repository_ships_is_free_of_warnings():
    paths = [
        *REPO.glob("examples/*.toml"),
        *REPO.glob("benches/*.toml"),
        *REPO.glob("studies/*/*.toml"),
        *templates.FILES.glob("*.toml"),
    ]
    loaded = 0
    for path in paths:
        if path.name in ("calibration.toml", "assumptions.toml"):
            continue
        files = [
            block.get("file")
            for block in tomllib.loads(path.read_text(encoding="utf-8")).get("traffic", [])
        ]
        if not all((path.parent / file).is_file() for file in files if file):
            continue  # inputs that are not part of the repository
        found = _core.load(path)
        loaded += 1
        assert [str(one) for one in found.warnings] == [], path
    assert loaded >= 30


#: Keys that reduce the number of flows. Warnings depend only on rates and keys, and drawing the
#: flows of a whole study takes a minute.
FEWER_FLOWS = {
    "conweave": {"traffic[0].duration": "400us", "run.warmup": "100us"},
    "hadoop": {"traffic[0].size": "1GB"},
    "pfabric": {"traffic[0].flows": 200},
}


def fewer_flows(point: batch.Point, study: str) -> batch.Point:
    """Returns a point with fewer flows. Points with flow lists are unchanged."""
    return (
        replace(point, set={**point.set, **FEWER_FLOWS.get(study, {})})
        if "traffic" not in point.set
        else point
    )


# Reads all points of a study.
@pytest.mark.slow
@pytest.mark.parametrize("study", [study.name for study in studies.built_in()])
def test_studies_are_free_of_warnings(study, tmp_path, monkeypatch):
    """Loads the first point of every design."""
    found = studies.find(study)
    found.place = tmp_path
    points = {point.name: point for point in reversed(found.points(False))}
    with monkeypatch.context() as patch:
        # The flow lists of some points are drawn from other points.
        patch.setattr(
            schemes,
            "point",
            lambda *named, drawn_from=schemes.point: fewer_flows(drawn_from(*named), "pfabric"),
        )
        found.prepare(list(points.values()))
    for point in points.values():
        warnings = [str(one) for one in fewer_flows(point, study).load().warnings]
        # RED in SONiC's manner next to many long flows, with and without PFC: starving connections
        # are a finding of the study. PFC whose hosts ignore PAUSE is what its source had.
        if study == "hadoop" and point.name.startswith(("ecn", "pfc")):
            known = ("does without ECN", "PFC pauses nothing")
            warnings = [one for one in warnings if not any(words in one for words in known)]
        # 70 kB every 50 ms exceed the 10 Mbps of this path, which is the purpose of the point.
        assert len(warnings) == (point.name == "path, a flow every 50 ms"), (point, warnings)
        assert all("its queue grows as long as this lasts" in one for one in warnings)


# ------------------------------------------------------------------------------------------------------------------- derived values


def test_a_result_runs_again_with_another_key(command, scenario, tmp_path):
    path = scenario(text=TWO_FLOWS.format(transport="").replace("10MB", "200kB"))
    first = json.loads(command("run", path, "-o", "first", "--json").stdout)
    again = json.loads(
        command("run", tmp_path / "first/scenario.toml", "-o", "again", "--json").stdout
    )
    assert again["result_hash"] == first["result_hash"]
    assert again["scenario_hash"] == first["scenario_hash"]
    for change in (
        "host.mtu=9000B",
        "switch.buffer=150kB",
        "switch.preset=trident3",
        "host.transport.min_rto=5ms",
        "topology.rate=25Gbps",
    ):
        direct = json.loads(
            command("run", path, "--set", change, "-o", "direct", "--force", "--json").stdout
        )
        after = json.loads(
            command(
                "run",
                tmp_path / "first/scenario.toml",
                "--set",
                change,
                "-o",
                "after",
                "--force",
                "--json",
            ).stdout
        )
        assert (after["result_hash"], after["scenario_hash"]) == (
            direct["result_hash"],
            direct["scenario_hash"],
        ), change
    jumbo = json.loads(
        command("run", path, "--set", "host.mtu=9000B", "-o", "direct", "--force", "--json").stdout
    )
    assert jumbo["result_hash"] != first["result_hash"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--json"], "--json"),
        (["-o", "r"], "-o"),
        (["--force", "--json"], "--force and --json"),
        (["--watch"], "--watch"),
    ],
)
def test_show_config_refuses_options_that_it_would_ignore(command, scenario, options, named):
    done = command("run", scenario(text=TWO_FLOWS.format(transport="")), "--show-config", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"leave out {named}\n" in done.stderr


def test_show_config_has_defaults_as_comments(command, scenario):
    text = command("run", scenario(text=TWO_FLOWS.format(transport="")), "--show-config").stdout
    assert "\n# alpha = 1.0\n" in text
    assert '\n[host.transport]\nkind = "tcp"\nstack = "linux"\ncongestion = "cubic"\n# ' in text
    assert '\n# mss = "1460B"\n' in text
    assert tomllib.loads(text)["switch"] == {"buffer": "9MB"}
    assert toml.with_defaults(text)["switch"]["alpha"] == 1.0


# ------------------------------------------------------------------------------------------------------------------------- SONiC


def config(ingress: int, lossy: int, headroom: int, *, pfc: bool = False) -> str:
    """Returns a switch's configuration: its pools, a profile of lossy queues, and optionally PFC on
    two priorities."""
    ports = ["Ethernet0", "Ethernet4"]
    tables: dict[str, Any] = {
        "BUFFER_POOL": {
            "ingress_lossless_pool": {
                "size": str(ingress),
                "type": "ingress",
                "mode": "dynamic",
                "xoff": str(headroom),
            },
            "egress_lossy_pool": {"size": str(lossy), "type": "egress", "mode": "dynamic"},
        },
        "BUFFER_PROFILE": {
            "egress_lossy_profile": {
                "pool": "egress_lossy_pool",
                "size": "1792",
                "dynamic_th": "3",
            },
            "pg_lossless_profile": {
                "pool": "ingress_lossless_pool",
                "size": "4608",
                "xon": "4608",
                "xoff": "160000",
                "dynamic_th": "0",
            },
        },
        "BUFFER_QUEUE": {f"{port}|0-2": {"profile": "egress_lossy_profile"} for port in ports},
        "BUFFER_PG": {f"{port}|3-4": {"profile": "pg_lossless_profile"} for port in ports},
    }
    if pfc:
        tables["PORT_QOS_MAP"] = {port: {"pfc_enable": "3,4"} for port in ports}
    return json.dumps(tables)


FABRIC = """\
format = 1
name = "rack"
[topology]
kind = "star"
hosts = 9
rate = "10Gbps"
delay = "1us"
[[traffic]]
kind = "incast"
to = 0
senders = 8
bytes = "2MB"
jitter = "100us"
"""

DEEP, SHALLOW = config(400_000_000, 320_000_000, 2_000_000), config(1_500_000, 1_200_000, 200_000)


def test_deep_or_shallow_from_two_configurations(command, tmp_path):
    (tmp_path / "fabric.toml").write_text(FABRIC)
    (tmp_path / "a.json").write_text(DEEP)
    (tmp_path / "b.json").write_text(SHALLOW)
    for file, name in (("a.json", "deep"), ("b.json", "shallow")):
        done = command("import", "sonic", file, "--into", "fabric.toml", "-o", f"{name}.toml")
        assert done.returncode == 0, done.stderr
        for seed in (1, 2):
            done = command("run", f"{name}.toml", "--seed", seed)
            assert done.returncode == 0, done.stderr
            assert "warning" not in done.stderr
    drops = {
        name: json.loads((tmp_path / f"out/{name}-1/summary.json").read_text())["drops"]
        for name in ("deep", "shallow")
    }
    assert drops["deep"] == 0 < drops["shallow"]
    compared = command(
        "compare",
        "out/deep-1",
        "out/deep-2",
        "out/shallow-1",
        "out/shallow-2",
        "--baseline",
        "out/shallow-1",
    )
    assert compared.returncode == 0, compared.stderr
    assert "deep" in compared.stdout
    assert "shallow" in compared.stdout


def test_deep_or_shallow_from_the_files_of_real_switches(command, tmp_path, shared):
    """Repeats `test_deep_or_shallow_from_two_configurations` with files that are not part of this
    repository."""
    folder = shared / "data/sonic"
    files = {
        "dell": ["buffers-dell6100.json", "qos-dell6100.json"],
        "mellanox": ["buffers-mellanox4600c-t0.json"],
    }
    if not all((folder / file).is_file() for some in files.values() for file in some):
        pytest.skip(f"needs the configurations in {folder}")
    (tmp_path / "fabric.toml").write_text(FABRIC)
    buffers = set()
    for name, some in files.items():
        done = command(
            "import",
            "sonic",
            *[folder / file for file in some],
            "--into",
            "fabric.toml",
            "-o",
            f"{name}.toml",
        )
        assert done.returncode == 0, done.stderr
        assert command("run", f"{name}.toml").returncode == 0
        summary = json.loads((tmp_path / f"out/{name}-1/summary.json").read_text())
        assert summary["name"] == name
        buffers.add(tomllib.loads((tmp_path / f"{name}.toml").read_text())["switch"]["buffer"])
    assert len(buffers) == 2


def test_another_buffer_after_an_import_takes_effect_or_is_said(command, tmp_path):
    (tmp_path / "fabric.toml").write_text(FABRIC)
    # The pool is derived from the memory: 80 % of the memory without headroom.
    (tmp_path / "follows.json").write_text(SHALLOW)
    # The pool is an explicit number.
    (tmp_path / "number.json").write_text(config(1_500_000, 1_400_000, 200_000))
    drops: dict[tuple[str, bool], int] = {}
    for name in ("follows", "number"):
        assert (
            command(
                "import", "sonic", f"{name}.json", "--into", "fabric.toml", "-o", f"{name}.toml"
            ).returncode
            == 0
        )
        for more in (False, True):
            done = command(
                "run",
                f"{name}.toml",
                "-o",
                f"{name}-{more}",
                "--json",
                *(["--set", "switch.buffer=64MB"] if more else []),
            )
            assert done.returncode == 0, done.stderr
            drops[name, more] = json.loads(done.stdout)["drops"]
    assert (
        "lossy_pool" not in tomllib.loads((tmp_path / "follows.toml").read_text())["switch"]["mmu"]
    )
    assert drops["follows", True] == 0 < drops["follows", False]
    assert drops["number", True] == drops["number", False] > 0
    assert (
        "key switch.buffer: has no effect: all traffic is lossy and shares 1400kB, because mmu.lossy_pool is set"
        in done.stderr
    )
    refused = command(
        "run", "number.toml", "--set", "switch.buffer=64MB", "--strict", "-o", "strict"
    )
    assert refused.returncode == 2
    # A memory smaller than the pool is refused.
    less = command("check", "number.toml", "--set", "switch.buffer=1MB")
    assert less.returncode == 2
    assert "switch.mmu.lossy_pool" in less.stderr


def test_an_export_after_another_buffer_has_the_pool_that_follows(command, tmp_path):
    (tmp_path / "follows.json").write_text(SHALLOW)
    assert command("import", "sonic", "follows.json", "-o", "leaf.toml").returncode == 0
    assert json.loads(command("export", "sonic", "leaf.toml").stdout) == json.loads(SHALLOW)
    text = (tmp_path / "leaf.toml").read_text()
    (tmp_path / "leaf.toml").write_text(text.replace('buffer = "1700000B"', 'buffer = "3200000B"'))
    pools = json.loads(command("export", "sonic", "leaf.toml").stdout)["BUFFER_POOL"]
    assert (pools["ingress_lossless_pool"]["size"], pools["egress_lossy_pool"]["size"]) == (
        "3000000",
        "2400000",
    )


def test_lossless_sizes_are_imported_with_pfc_only(command, tmp_path):
    for pfc in (False, True):
        (tmp_path / "switch.json").write_text(config(4_000_000, 3_000_000, 700_000, pfc=pfc))
        assert (
            command("import", "sonic", "switch.json", "-o", "leaf.toml", "--force").returncode == 0
        )
        text = (tmp_path / "leaf.toml").read_text()
        assert (
            "lossless_alpha" in text.split("[sonic")[0],
            "\nxon" in text.split("[sonic")[0],
        ) == (pfc, pfc)
        said = command("check", "leaf.toml").stderr
        assert ("PFC pauses nothing: no traffic has priority 3 or 4" in said) == pfc
        assert json.loads(command("export", "sonic", "leaf.toml").stdout) == json.loads(
            (tmp_path / "switch.json").read_text()
        )
