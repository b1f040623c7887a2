"""Runs the notebooks and stores their outputs: python docs/notebooks/renew.py [NAME…]

Text outputs are stored as text and figures as PNG. HTML is left out, because it repeats the text.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat

FOLDER = Path(__file__).parent
KINDS = ("image/png", "text/plain")


def ran(path: Path, dir: Path) -> Any:
    """Returns the notebook with the outputs of a run in `dir`."""
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(dir)}}
    ).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [reduced(output) for output in cell.outputs]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def reduced(output: Any) -> Any:
    """Keeps only the preferred kind of data of an output, and removes the number of its cell."""
    if "data" in output:
        kind = next(kind for kind in KINDS if kind in output.data)
        output.data, output.metadata = {kind: output.data[kind]}, {}
    if "execution_count" in output:
        output.execution_count = None
    return output


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as dir:
                notebook = ran(path, Path(dir))
            nbformat.write(notebook, path)
            print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
