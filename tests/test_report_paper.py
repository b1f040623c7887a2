"""Figures for papers that the report command writes."""

import struct
import sys

import pytest
import reported

import afflux
from afflux.extras import MissingExtra
from afflux.report import paper


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return reported.incast(tmp_path_factory.mktemp("results"))


FIGURES = (
    "fct-cdf",
    "slowdown-by-size",
    "changes",
    "queue",
    "split",
    "split-shares",
    "split-difference",
)


@pytest.fixture(scope="module", params=["pdf", "svg", "png"])
def written(request, results, tmp_path_factory):
    """Returns the figures in a format."""
    pytest.importorskip("matplotlib")
    return paper.write(results, tmp_path_factory.mktemp("figures"), request.param)


def test_figures(written):
    format = written[0].suffix.removeprefix(".")
    assert [path.name for path in written] == [f"{name}.{format}" for name in FIGURES]
    for path in written:
        content = path.read_bytes()
        if format == "png":
            # 3.4 inches at 300 dpi.
            assert struct.unpack(">I", content[16:20]) == (1020,)
        elif format == "pdf":
            assert content.startswith(b"%PDF")
            # Fonts are TrueType and embedded.
            assert b"/FontFile2" in content
            assert b"/Type3" not in content
            assert b"/MediaBox [ 0 0 244.8 " in content
        else:
            assert b"<text" not in content


def test_figures_have_the_same_bytes_again(results, written, tmp_path):
    again = paper.write(results, tmp_path / "again", written[0].suffix.removeprefix("."))
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_without_matplotlib(results, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "afflux.report.printed", raising=False)
    monkeypatch.delattr(afflux.report, "printed", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"-m pip install 'matplotlib>="):
        paper.write(results, tmp_path / "figures", "pdf")
    assert not (tmp_path / "figures").exists()


def test_command(command, results, tmp_path):
    pytest.importorskip("matplotlib")
    done = command("report", results[0].dir, "--format", "svg", "-o", "figures")
    assert done.returncode == 0, done.stderr
    assert "written to figures/fct-cdf.svg" in done.stdout
    for options, message in (
        (("--format", "eps"), "--format eps: write html, pdf, svg or png"),
        (("--format", "pdf", "--title", "x"), "--title goes with --format html"),
        (("--whole-run",), "--whole-run and --hosts go with --format pdf"),
    ):
        done = command("report", results[0].dir, *options, "-o", "other")
        assert done.returncode == 2
        assert message in done.stderr
        assert not (tmp_path / "other").exists()
