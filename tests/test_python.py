"""The public interface of `import afflux`."""

import importlib
import pkgutil
import re
import threading
import time
import tomllib

import pyarrow as pa
import pytest
from conftest import INCAST, REPO

import afflux
from afflux.files import toml
from afflux.results import coflows, split, statistics
from afflux.results.explain import LABELS
from afflux.words import text


@pytest.fixture
def small(scenario) -> afflux.Scenario:
    return afflux.load(scenario())


def test_run_in_memory(small, tmp_path):
    result = small.run(seed=3)
    assert result.summary["seed"] == 3
    assert result.dir is None
    assert not (tmp_path / "out").exists()
    assert result.recorded == ["flows", "ports", "links", "jobs", "paths"]
    assert len(result.flows) == 24
    assert set(result.flows.column("dst")) == {0}
    assert result.flows["src"][:3] == result.flows.column("src")[:3]


def test_tables_go_into_arrow(small):
    result = small.run()
    flows = pa.table(result.flows)
    assert flows.num_rows == 24
    assert flows.schema.field("slowdown").type == pa.float64()
    assert flows.column_names == result.flows.column_names
    for name in flows.column_names:
        assert flows[name].to_pylist() == result.flows.column(name)
    assert pa.schema(result.flows) == flows.schema


def test_open_what_was_written(small, tmp_path):
    run = small.run(out=tmp_path / "result")
    opened = afflux.Result.open(tmp_path / "result")
    assert opened.summary == run.summary
    assert opened.recorded == run.recorded
    assert run.dir == opened.dir == tmp_path / "result"
    for name in run.recorded:
        assert pa.table(opened.table(name)) == pa.table(run.table(name))
    with pytest.raises(afflux.ResultExists) as caught:
        small.run(out=tmp_path / "result")
    assert str(caught.value.path) == str(tmp_path / "result")
    small.run(out=tmp_path / "result", force=True)


def test_what_was_not_recorded(scenario, tmp_path):
    result = afflux.load(scenario(("paths = true", ""))).run()
    with pytest.raises(LookupError, match="record"):
        _ = result.paths
    with pytest.raises(FileNotFoundError, match=r"summary\.json"):
        afflux.Result.open(tmp_path)


def test_editing(small):
    assert small["switch"]["buffer"] == "30packets"
    assert small.get("traffic.0.senders") == small.get("traffic[0].senders") == 8
    assert small.get("switch.nothing") is None
    untouched = small.copy()
    small["switch"]["buffer"] = "9MB"
    small.set("switch.ecn.k", "100kB").set("host.transport.congestion", "dctcp").set(
        "traffic[0].rounds", 2
    )
    assert small.check().flows == 16
    summary = small.run().summary
    assert (summary["drops"], summary["ecn_marks"] > 0) == (0, True)
    assert untouched["switch"]["buffer"] == "30packets"
    assert untouched.to_toml() == INCAST


def test_blocks_have_names(small):
    named = small.copy()
    named["traffic"].append({"kind": "pairs", "class": "bulk", "pairs": [[1, 0]], "sizes": "1MB"})
    named["traffic.query.senders"] = 4
    named["traffic.bulk.sizes"] = "2MB"
    assert (
        named["traffic.0.senders"],
        named["traffic.1.sizes"],
        named.get("traffic.bulk.class"),
    ) == (4, "2MB", "bulk")
    del named["traffic.bulk.class"]
    assert "class" not in named["traffic.1"]
    assert named.get("traffic.bulk.sizes") is None
    with pytest.raises(
        ValueError,
        match=r"there is no block called 'querry' \(did you mean 'query'\?\): there are query",
    ):
        named.set("traffic.querry.senders", 2)


@pytest.mark.parametrize("seed", ["2", True, 2.0, -1, 2**63])
def test_seeds_that_are_no_whole_numbers_are_refused(small, seed):
    message = f"seed {seed!r}: expected a whole number from 0 to {2**63 - 1}"
    with pytest.raises(ValueError, match=re.escape(message)):
        small.run(seed=seed)
    with pytest.raises(ValueError, match=re.escape(message)):
        small.check(seed=seed)


@pytest.mark.parametrize("threads", [-1, 0, 1025, 10**12, "3", 2.5, True])
def test_numbers_of_threads_are_checked(small, threads):
    message = f"threads {threads!r}: expected a whole number from 1 to 1024"
    with pytest.raises(ValueError, match=re.escape(message)):
        small.run(threads=threads)


@pytest.mark.parametrize(
    ("key", "kind", "says"),
    [
        ("switch.buffer.a.b", TypeError, "switch.buffer is '30packets', not a table"),
        ("switch.buffer.a", TypeError, "switch.buffer is '30packets', not a table"),
        ("traffic.5.load", ValueError, "no block has the number 5: the last one is 0"),
        ("traffic.5", ValueError, "no block has the number 5: the last one is 0"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(small, key, kind, says):
    with pytest.raises(kind, match=re.escape(says)):
        small.set(key, 1)
    assert small.get(key) is None
    with pytest.raises(KeyError):
        small[key]
    assert small.to_toml() == INCAST


def test_loaded_scenarios_tell_what_they_are(small):
    checked = small.check(seed=9)
    assert (
        checked.name,
        checked.seed,
        checked.hosts,
        checked.switches,
        checked.links,
        checked.flows,
    ) == ("small", 9, 9, 1, 9, 24)
    assert checked.until_ns is None
    assert tomllib.loads(checked.resolved)["switch"]["buffer"] == "30packets"


def test_name_of_a_changed_scenario_stays(scenario):
    changed = afflux.load(scenario(('name = "small"\n', ""), name="other.toml"))
    changed["switch"]["buffer"] = "9MB"
    assert changed.check().name == "other"


def test_from_a_dict():
    data = {
        "format": 1,
        "topology": {"kind": "star", "hosts": 2},
        "host": {"transport": {"stack": "basic"}},
        "traffic": [{"kind": "pairs", "pairs": [[0, 1]], "sizes": "10kB"}],
    }
    result = afflux.Scenario(data).run()
    assert result.summary["flows"]["finished"] == 1
    assert result.flows["slowdown"] == [1.0]


def test_explanation(small):
    explanation = small.run().explain()
    assert len(explanation) == 24
    for flow in explanation:
        assert sum(flow.parts_ns.values()) == flow.fct_ns
    slowest = explanation.slowest(2)
    assert explanation.flow(slowest[0].id) == slowest[0]
    everything, only = split.groups([explanation])
    assert (everything.name, only.name, only.mean.flows) == (None, "100KB_10MB", 24)
    assert tuple(everything.mean.shares) == LABELS
    assert sum(everything.mean.shares.values()) == pytest.approx(1)
    with pytest.raises(LookupError, match="no flow 77"):
        explanation.flow(77)


def test_progress_and_cancelling(scenario, tmp_path):
    long = (
        INCAST[: INCAST.index("[[traffic]]")]
        + '[[traffic]]\nkind = "datagram"\npairs = [[1, 0]]\nrate = "9Gbps"\nduration = "60s"\n'
    )
    loaded = afflux.load(scenario(text=long))
    seen: list[tuple[int, int]] = []

    def watch(progress: afflux.Progress) -> None:
        seen.append((progress.now_ns, progress.packet_hops))
        if len(seen) == 5:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        loaded.run(out=tmp_path / "x", on_progress=watch, interval=0.05)
    assert seen == sorted(seen)
    assert seen[-1][1] > 0
    assert not (tmp_path / "x").exists()

    with pytest.raises(afflux.RunError, match="cancelled"):
        loaded.run(on_progress=lambda progress: progress.cancel())


def test_other_threads_go_on(scenario):
    long = (
        INCAST[: INCAST.index("[[traffic]]")]
        + '[[traffic]]\nkind = "datagram"\npairs = [[1, 0]]\nrate = "9Gbps"\nduration = "60s"\n'
    )
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    began = time.monotonic()
    thread = threading.Thread(target=count)
    thread.start()
    with pytest.raises(afflux.RunError):
        afflux.load(scenario(text=long)).run(
            interval=0.05,
            on_progress=lambda progress: (
                progress.cancel() if time.monotonic() - began > 0.5 else None
            ),
        )
    done.set()
    thread.join()
    assert ticks > 50


def test_coflows(small):
    jobs = coflows.jobs(small.run())
    assert [(job.name, job.phase, job.block) for job in jobs] == [
        ("query.0", "query", "query"),
        ("query.1", "query", "query"),
        ("query.2", "query", "query"),
    ]
    assert {job.kind for job in jobs} == {"short, narrow"}
    assert {(job.flows, job.bytes, job.longest_bytes) for job in jobs} == {(8, 1_600_000, 200_000)}
    assert [(times.name, times.jobs, times.flows) for times in coflows.by_block(jobs)] == [
        ("all", 3, (8, 8)),
        ("query", 3, (8, 8)),
    ]
    times = coflows.by_kind(jobs)[0]
    assert (
        times.p50_ns
        <= times.p95_ns
        <= times.p99_ns
        <= times.max_ns
        == coflows.slowest(jobs, 1)[0].completion_ns
    )


def test_queries_whose_start_lies_beyond_the_end_have_not_started(small):
    """The summary on the terminal counted them as unfinished ones, unlike summary.json."""
    result = small.set("run.until", "7ms").run()
    jobs = coflows.jobs(result)
    assert [job.name for job in jobs] == ["query.0", "query.1"]
    told = result.summary["jobs"]
    assert (told["started"], told["not_started"]) == (len(jobs), 1)


def test_models_and_schema():
    assert any(model.name == "dctcp" and "8257" in model.source for model in afflux.models())
    assert '"format"' in afflux.schema()


def test_writing_toml():
    data = {
        "text": 'quo"te \\ \n\x7f ü',
        "numbers": [1, -2, 3.5, 1e-9],
        "on": True,
        "a key": {"b.c": 1, "deep": {"x": []}},
        "tables": [{"kind": "a", "inner": [{"x": 1}, {"x": 2}]}, {"kind": "b", "one": {"y": {}}}],
        "mixed": [{"x": 1}, 2],
    }
    assert tomllib.loads(toml.dumps(data)) == data
    assert tomllib.loads(toml.dumps(tomllib.loads(INCAST))) == tomllib.loads(INCAST)
    with pytest.raises(TypeError):
        toml.dumps({"x": None})


def test_quantiles_are_numpys():
    values = [1.0, 2.0, 4.0, 8.0]
    assert [statistics.quantile(values, q) for q in (0, 0.5, 0.9, 1)] == [
        1,
        3,
        pytest.approx(6.8),
        8,
    ]
    assert statistics.quantile([5.0], 0.99) == 5


def test_numbers_as_text():
    assert [text.time(ns) for ns in (0, 999, 1_234, 12_345_678, 9.9e9, None)] == [
        "0 ns",
        "999 ns",
        "1.234 µs",
        "12.35 ms",
        "9.900 s",
        "–",
    ]
    assert [text.size(n) for n in (0, 1_500, 9_000_000)] == ["0 B", "1.50 kB", "9.00 MB"]
    assert [
        text.size_class(name) for name in ("le_100KB", "100KB_10MB", "gt_10MB", "le_1500B")
    ] == ["≤ 100 kB", "100 kB – 10 MB", "> 10 MB", "≤ 1500 B"]
    # The unit and the number of digits are those of the rounded value.
    assert [text.time(ns) for ns in (999.4, 999.7, 999_940, 999_999.6, -999_999.6)] == [
        "999 ns",
        "1.000 µs",
        "999.9 µs",
        "1.000 ms",
        "-1.000 ms",
    ]
    assert (text.rate(999.96e6), text.rate(999.4e6)) == ("1.00 Gbps", "999 Mbps")
    assert (text.size(999_999), text.size(5e15)) == ("1.00 MB", "5,000 TB")
    assert [text.digits(x) for x in (9.999_6, 0.999_96, 99_999.7)] == ["10.00", "1.000", "100,000"]
    assert [text.share(x) for x in (0, 0.0001, 0.5)] == ["0.0 %", "< 0.1 %", "50.0 %"]
    assert [text.duration(s) for s in (9.6, 187, 3_720)] == ["10 s", "3:07 min", "1:02 h"]


def test_every_name_of_the_package_is_there():
    assert sorted(afflux.__all__) == sorted([*afflux._HOMES, *afflux._MODULES])
    assert dir(afflux) == sorted(afflux.__all__)
    for name in afflux.__all__:
        assert getattr(afflux, name) is not None
    assert afflux.batch.__name__ == "afflux.batch"
    with pytest.raises(AttributeError, match="nonsense"):
        afflux.nonsense  # noqa: B018


def documented() -> list[str]:
    """Returns the names below `afflux` that the documentation uses."""
    text = "".join(
        path.read_text(encoding="utf-8")
        for path in [
            REPO / "README.md",
            *REPO.glob("docs/**/*.md"),
            *REPO.glob("docs/notebooks/*.ipynb"),
        ]
    )
    names = {*re.findall(r"(?<![\w./-])afflux\.([A-Za-z_]+(?:\.[A-Za-z_]+)*)", text)}
    for module, imported in re.findall(
        r"from afflux((?:\.[a-z_]+)*) import ([A-Za-z_]+(?:, [A-Za-z_]+)*)", text
    ):
        names |= {f"{module}.{name}".removeprefix(".") for name in imported.split(", ")}
    return sorted(names)


@pytest.mark.parametrize("name", documented())
def test_documented_names_are_there(name):
    assert pkgutil.resolve_name(f"afflux.{name}") is not None


def test_documented_modules_are_imported_by_their_names():
    for module in (
        "batch",
        "executors",
        "live",
        "metrics",
        "report",
        "report.paper",
        "studies",
        "words",
    ):
        assert importlib.import_module(f"afflux.{module}")
