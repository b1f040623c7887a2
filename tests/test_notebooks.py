"""The notebooks run, and their stored outputs equal those of a run."""

import json
import re
import sys

import pytest
from conftest import REPO

FOLDER = REPO / "docs/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
#: Largest size in bytes of a notebook with its pictures.
LARGEST = 150_000


def stored(path):
    """Returns for each code cell the numbers in the text of its outputs, and the number of
    pictures."""
    cells = (
        json.loads(path.read_text(encoding="utf-8"))["cells"]
        if hasattr(path, "read_text")
        else path.cells
    )
    return [outputs(cell) for cell in cells if cell["cell_type"] == "code"]


def outputs(cell):
    texts = [
        "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
        for output in cell["outputs"]
    ]
    pictures = sum("image/png" in output.get("data", {}) for output in cell["outputs"])
    # Only numbers are compared, because the layout of tables differs between versions of polars.
    return re.findall(r"\d+(?:\.\d+)?", " ".join(texts)), pictures


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == [
        "compare-designs",
        "congestion-control",
        "first-run",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_has_pictures(path):
    assert path.stat().st_size < LARGEST
    assert any(pictures for _, pictures in stored(path))
    assert not any(
        cell.get("execution_count")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.delitem(sys.modules, "renew", raising=False)
    import renew

    notebook = renew.ran(path, tmp_path)
    nbformat.validate(notebook)
    assert stored(notebook) == stored(path), (
        "python docs/notebooks/renew.py stores the outputs again"
    )
    # No files remain in the folder where the notebook ran.
    assert not list(tmp_path.iterdir())
