"""`afflux.plot`: figures for papers."""

import hashlib
import math
import struct
import subprocess
import sys
from itertools import pairwise

import numpy
import pytest
import reported
from conftest import INCAST, REPO

import afflux
from afflux import plot
from afflux.extras import MissingExtra
from afflux.report import drawing, scale, series
from afflux.results.designs import gather
from afflux.results.statistics import interval, mean

pytest.importorskip("matplotlib")
from afflux.report import printed

DRAWN = {
    "completion_times": {},
    "slowdown_by_size": {"percentile": "p50"},
    "designs": {},
    "changes": {},
    "queues": {},
    "split": {},
    "split_difference": {},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Returns the results of two designs with three seeds."""
    folder = tmp_path_factory.mktemp("results")
    return [
        result
        for name, keys in reported.DESIGNS.items()
        for result in reported._run(folder, reported.MIXED, name, keys, (1, 2, 3))
    ]


def texts(figure):
    return [axis.label.get_text() for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]


@pytest.mark.parametrize("name", DRAWN)
def test_figure(results, tmp_path, name):
    from matplotlib.figure import Figure

    figure = getattr(plot, name)(results, **DRAWN[name])
    assert isinstance(figure, Figure)
    assert figure.get_size_inches()[0] == 3.4
    assert not any(axes.get_title() for axes in figure.axes)
    assert figure.get_suptitle() == ""
    # Every numeric axis has a label, with its unit if it has one.
    assert figure.axes[-1].get_xlabel()
    units = {"ns", "µs", "ms", "s", "kB", "%"}
    assert any(
        f"({unit})" in text or f"({unit};" in text for text in texts(figure) for unit in units
    ), texts(figure)
    again = getattr(plot, name)(results, **DRAWN[name])
    for suffix in printed.FORMATS:
        path = figure.save(tmp_path / f"a.{suffix}")
        assert path.read_bytes() == again.save(tmp_path / f"b.{suffix}").read_bytes()
    assert struct.unpack(">I", (tmp_path / "a.png").read_bytes()[16:20]) == (1020,)
    pdf = (tmp_path / "a.pdf").read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert b"<text" not in (tmp_path / "a.svg").read_bytes()
    assert getattr(plot, name)(results, width="page", **DRAWN[name]).get_size_inches()[0] == 7.0


def test_another_process_writes_the_same_bytes(results, tmp_path):
    dirs = [str(result.dir) for result in results]
    script = f"from afflux import plot; plot.completion_times({dirs!r}).save('there.svg'); plot.split({dirs!r}).save('there.pdf')"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    for figure, suffix in ((plot.completion_times(results), "svg"), (plot.split(results), "pdf")):
        here = figure.save(tmp_path / f"here.{suffix}").read_bytes()
        assert (
            hashlib.sha256(here).digest()
            == hashlib.sha256((tmp_path / f"there.{suffix}").read_bytes()).digest()
        )


def test_lines_and_intervals_are_those_of_the_seeds(results):
    designs = gather(results)
    figure = plot.designs(designs, "fct_mean_ns")
    for container, design in zip(figure.axes[0].containers, designs.values(), strict=True):
        point, _, (bars,) = container
        values = [result.summary["fct"]["all"]["mean_ns"] for result in design.results.values()]
        factor = mean(values) / point.get_xdata()[0]
        (left, _), (right, _) = bars.get_segments()[0]
        assert [left * factor, right * factor] == pytest.approx(interval(values))
    compared = afflux.compare(designs)
    row = next(one for one in compared.differences if one.metric.name == "fct_p50_ns")
    figure = plot.changes(designs, metrics=["fct_p50_ns"])
    (container,) = figure.axes[0].containers
    assert container[0].get_xdata()[0] == pytest.approx(100 * row.share)
    # The curve is the mean of the seeds' distributions.
    curve = plot.completion_times(designs).axes[0].lines[0]
    place = len(curve.get_xdata()) // 2
    at = (
        curve.get_xdata()[place]
        * 1e3
        * (1e3 if "(ms)" in plot.completion_times(designs).axes[0].get_xlabel() else 1)
    )
    own = [
        [fct for fct in result.flows["fct_ns"] if fct is not None]
        for result in designs["tail-drop"].results.values()
    ]
    assert curve.get_ydata()[place] == pytest.approx(
        mean([sum(fct <= at for fct in fcts) / len(fcts) for fcts in own]), abs=0.01
    )


def test_two_seeds_have_no_interval(results):
    few = [result for result in results if result.summary["seed"] < 3]
    assert not plot.completion_times(few).axes[0].collections
    assert plot.completion_times(results).axes[0].collections


def test_designs_differ_without_colour():
    """In a grey print, the first three designs differ in lightness, and all differ in dash and
    shape."""

    def grey(colour):
        red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    first = [grey(colour) for colour in printed.COLOURS[:3]]
    assert min(abs(a - b) for a in first for b in first if a is not b) > 0.25
    assert min(abs(grey(a) - grey(b)) for a, b in pairwise(printed.COLOURS)) > 0.1
    lines = [printed.line(index) for index in range(49)]
    assert len({(one["color"], str(one["linestyle"])) for one in lines}) == 49
    assert len({str(one["linestyle"]) for one in lines[:7]}) == 7
    assert len({printed.marker(index)["marker"] for index in range(7)}) == 7
    assert len({printed.bar(index)["hatch"] for index in range(7)}) == 7
    hatches = list(drawing.PART_HATCHES.values())
    assert all(a != b for a, b in pairwise(hatches))


def test_one_result_needs_no_list(results):
    for one in (results[0], results[0].dir, str(results[0].dir)):
        assert texts(plot.completion_times(one)) == texts(plot.completion_times([results[0]]))
        assert plot.queues(one).axes


def test_ports(results):
    names = sorted(
        {
            f"{node} port {port} → {peer}"
            for node, port, peer in zip(
                *(results[0].ports[name] for name in ("node", "port", "peer")), strict=True
            )
        }
    )
    figure = plot.queues(results, names[:2], whole_run=True)
    assert [axes.get_ylabel() for axes in figure.axes] == [
        f"Queue (kB), {name}" for name in names[:2]
    ]
    # Names as explain prints them, too.
    brief = ["switch0 → host0", "switch0 → host1"]
    figure = plot.queues(results, brief, whole_run=True)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["Queue (kB), switch0 port 0 → host0", "Queue (kB), switch0 port 1 → host1"]
    message = r"there is no recorded port called 'x': there are switch0 port"
    with pytest.raises(ValueError, match=message):
        plot.queues(results, "x")


def test_every_recorded_port_can_be_named(results, monkeypatch):
    """Ports beyond the most notable ones, which the page shows, are drawn too."""
    monkeypatch.setattr(series, "PORTS", 1)
    for name in ("switch0 → host0", "switch0 → host1"):
        (axes,) = plot.queues(results, name).axes
        assert axes.get_ylabel().endswith(name.partition("→ ")[2])
    both = plot.queues(results, ["switch0 → host1", "switch0 → host0"]).axes
    assert [axes.get_ylabel()[-5:] for axes in both] == ["host1", "host0"]


def test_wide_changes_are_ratios(results):
    folder = results[0].dir.parent
    ideal = reported._run(folder, reported.MIXED, "slow", {"topology.rate": "1Gbps"}, (1, 2, 3))
    figure = plot.changes([*results, *ideal], metrics=["fct_mean_ns"])
    assert figure.axes[0].get_xlabel() == "Ratio to tail-drop"
    assert figure.axes[0].get_xscale() == "log"


def test_metrics_are_those_of_comparisons(tmp_path):
    """Every row of `afflux compare --json`, short names, and further metrics of classes can be
    drawn."""
    text = reported.MIXED.replace('name = "background"', 'name = "background"\nclass = "web"')
    results = [
        result
        for name, keys in reported.DESIGNS.items()
        for result in reported._run(tmp_path, text, name, keys, (1, 2))
    ]
    rows = {one.metric.name for one in afflux.compare(results).differences}
    assert "class.web.fct_mean_ns" in rows
    for metric in rows:
        plot.designs(results, metric)
    label = plot.designs(results, "class.web.fct_mean_ns").axes[0].get_xlabel()
    assert label.startswith("web: FCT mean (")
    assert plot.designs(results, "fct_p99").axes[0].get_xlabel().startswith("FCT p99 (")
    assert "class.web.fct_p50_ns" not in rows
    names = ["class.web.fct_mean_ns", "class.web.fct_p50", "fct"]
    axes = plot.changes(results, metrics=names).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "web: FCT mean",
        "web: FCT p50",
        "FCT mean",
    ]
    assert len(axes.containers) == 3


def test_own_lines():
    figure = plot.lines(
        {"window": ([0, 1, 2], [1, 2, 4])}, x="Time (ms)", y="Window (segments)", height=1.5
    )
    assert texts(figure) == ["Time (ms)", "Window (segments)"]
    assert list(figure.get_size_inches()) == [3.4, 1.5]
    assert math.isclose(figure.axes[0].lines[0].get_linewidth(), 1.2)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_own_lines_of_several_seeds():
    seeds = [[1.0, 1.1, 1.3], [2.0, 2.2, 2.5]]
    axes = plot.lines(
        {"window": ([0, 1], seeds), "goal": ([0, 1], [3, 3])}, x="Time (ms)", y="Window (segments)"
    ).axes[0]
    assert list(axes.lines[0].get_ydata()) == pytest.approx([mean(values) for values in seeds])
    (band,) = axes.collections
    ends = {round(float(y), 9) for _, y in band.get_paths()[0].vertices}
    assert ends == {round(end, 9) for values in seeds for end in interval(values)}
    # The rows of an array are values of seeds, too, and not lines of their own.
    rows = numpy.array(seeds)
    axes = plot.lines({"window": (rows[:, 0], rows)}, x="x", y="y").axes[0]
    assert len(axes.lines) == len(axes.collections) == 1
    assert list(axes.lines[0].get_ydata()) == pytest.approx([mean(values) for values in seeds])


def test_a_sweep_is_a_line_per_value(tmp_path):
    (tmp_path / "quick.toml").write_text(
        INCAST.replace("rounds = 3", "rounds = 2").replace('bytes = "200kB"', 'bytes = "20kB"')
    )
    vary = {"switch.buffer": ["9packets", "90packets"], "traffic.query.senders": [4, 2, 8]}
    found = afflux.sweep(tmp_path / "quick.toml", vary, seeds=[1, 2, 3], out=tmp_path / "out")
    figure = plot.swept(found, "traffic.query.senders", "fct_mean_ns", by="switch.buffer")
    (axes,), (legend,) = figure.axes, figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["9packets", "90packets"]
    assert axes.get_xlabel() == "traffic.query.senders"
    for container, buffer in zip(axes.containers, vary["switch.buffer"], strict=True):
        line, _, (bars,) = container
        some = [one for one in found.combinations if one.values["switch.buffer"] == buffer]
        assert list(line.get_xdata()) == [2, 4, 8]
        # The axis is that of numbers, whatever the order in which they were given.
        some.sort(key=lambda one: one.values["traffic.query.senders"])
        factor = some[0].means["fct_mean_ns"].mean / line.get_ydata()[0]
        assert [y * factor for y in line.get_ydata()] == pytest.approx(
            [one.means["fct_mean_ns"].mean for one in some]
        )
        (_, low), (_, high) = bars.get_segments()[0]
        assert (low * factor, high * factor) == pytest.approx(
            (some[0].means["fct_mean_ns"].low, some[0].means["fct_mean_ns"].high)
        )
    assert plot.swept(found, "traffic.query.senders", "fct", by="switch.buffer").axes
    with pytest.raises(ValueError, match=r"no point of the sweep has 'cost': there are .*fct_mean"):
        plot.swept(found, "traffic.query.senders", "cost", by="switch.buffer")
    sizes = plot.swept(found, "switch.buffer", by="traffic.query.senders").axes[0]
    assert sizes.get_xlabel() == "switch.buffer (packets)"
    assert list(sizes.lines[0].get_xdata()) == [9, 90]
    with pytest.raises(ValueError, match=r"switch\.buffer varied, too: write by='switch\.buffer'"):
        plot.swept(found, "traffic.query.senders")
    with pytest.raises(
        ValueError,
        match=r"'switch\.alpha' was not varied: there are switch\.buffer, traffic\.query\.senders",
    ):
        plot.swept(found, "switch.alpha")


def test_names_with_dollar_signs_are_no_formulas(tmp_path):
    """Text between two of them was a formula, and an error if it was none."""
    (tmp_path / "small.toml").write_text(INCAST)
    scenario = afflux.load(tmp_path / "small.toml").set("name", "$5^ or $6_")
    figure = plot.designs([scenario.run(seed=1)])
    assert figure._repr_png_().startswith(b"\x89PNG")
    classes = {"traffic.0.class": ["$a^$_{", "b"]}
    found = afflux.sweep(scenario, classes, out=tmp_path / "out")
    assert plot.swept(found, "traffic.0.class")._repr_png_().startswith(b"\x89PNG")
    both = afflux.sweep(scenario, classes | {"traffic.0.senders": [4]}, out=tmp_path / "out")
    figure = plot.swept(both, "traffic.0.senders", by="traffic.0.class")
    assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("values", "places", "unit"),
    [
        (["130kB", "30kB", "65kB"], [130, 30, 65], "kB"),
        (["500 kB", "1MB"], [0.5, 1], "MB"),
        (["64KiB", "1MiB"], [0.0625, 1], "MiB"),
        (["90s", "1min"], [90, 60], "s"),
        (["10us", "0s", "1500ns"], [10, 0, 1.5], "us"),
        ([4, 0.5], [4, 0.5], ""),
        # Words, and quantities of different kinds.
        (["cubic", "newreno"], [0, 1], ""),
        (["30kB", "9packets"], [0, 1], ""),
        (["off", "30kB"], [0, 1], ""),
        ([True, False], [0, 1], ""),
    ],
)
def test_places_of_varied_values(values, places, unit):
    found = scale.of(values)
    assert [found.at(value) for value in values] == pytest.approx(places)
    assert found.unit == unit
    assert found.words == (values[0] in ("cubic", "off", True) or "9packets" in values)


@pytest.fixture(scope="module")
def two_keys(tmp_path_factory):
    """Returns the points of a sweep over two keys."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "quick.toml").write_text(INCAST.replace("rounds = 3", "rounds = 2"))
    vary = {
        "switch.buffer": ["60kB", "90kB", "120kB"],
        "host.transport.congestion": ["newreno", "cubic"],
    }
    return afflux.sweep(folder / "quick.toml", vary, seeds=[1], out=folder / "out").designs


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.filterwarnings("error")
def test_points_of_a_sweep_over_two_keys_have_room(two_keys, name):
    """Long names take neither the width of the axes nor are they cut, and no legend covers a
    curve."""
    if name == "queues":
        pytest.skip("no ports are recorded")
    figure = getattr(plot, name)(two_keys, **DRAWN[name])
    with printed.in_style():
        figure.draw_without_rendering()
    (axes,) = figure.axes
    inside = figure.bbox
    box = axes.get_window_extent()
    assert box.width > 0.45 * inside.width
    assert box.height > 0.4 * 2.2 * figure.dpi
    shown = [*axes.get_yticklabels(), axes.xaxis.label]
    for legend in figure.legends:
        assert legend.get_window_extent().y0 >= box.y1
        shown += legend.get_texts()
    for one in shown:
        drawn = one.get_window_extent()
        assert drawn.x0 >= inside.x0 - 1, one
        assert drawn.x1 <= inside.x1 + 1, one
    words = " ".join(" ".join(text.get_text() for text in shown).split())
    assert "switch.buffer" not in words
    if name != "split_difference":
        assert "buffer=90kB congestion=cubic" in words


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda results: plot.completion_times(results, measure="x"), "write 'fct' or 'slowdown'"),
        (
            lambda results: plot.completion_times(results, width="wide"),
            "write 'column' or 'page', or inches",
        ),
        (lambda results: plot.slowdown_by_size(results, percentile="p90"), "write 'mean', 'p50'"),
        (
            lambda results: plot.slowdown_by_size(results, percentile="p999"),
            "no class of flow sizes has enough flows in every seed",
        ),
        (
            lambda results: plot.designs(results, "x"),
            "there is no metric called 'x': there are job",
        ),
        (
            lambda results: plot.changes(results, metrics=["class.x"]),
            "metric class.x: write class.NAME.MEASURE",
        ),
        (
            lambda results: plot.designs(results, "cost"),
            "no design has 'cost': there are job_time_mean_ns",
        ),
        (lambda results: plot.changes(results[:3]), "there is only one design"),
        (lambda results: plot.split_difference(results[:3]), "it needs a second design"),
        (lambda results: plot.split(results).save("figure.eps"), r"ends in \.pdf, \.svg or \.png"),
    ],
)
def test_what_cannot_be_drawn(results, draw, message):
    with pytest.raises(ValueError, match=message):
        draw(results)


def test_a_split_of_no_finished_flow_was_recorded(tmp_path):
    """The message said to remove explain = false."""
    (tmp_path / "short.toml").write_text(INCAST)
    short = afflux.load(tmp_path / "short.toml").set("run.until", "1us").run()
    with pytest.raises(plot.NothingToDraw, match="no flow finished after the warm-up"):
        plot.split([short])


def test_without_matplotlib(results, monkeypatch):
    monkeypatch.delitem(sys.modules, "afflux.report.printed")
    monkeypatch.delattr(afflux.report, "printed")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"-m pip install 'matplotlib>="):
        plot.split(results)


def test_the_page_names_every_figure():
    page = (REPO / "docs" / "plot.md").read_text(encoding="utf-8")
    for name in (*DRAWN, "lines"):
        assert f"`plot.{name}" in page
