"""Files of this repository that tests read: compact reference runs, and inputs that once revealed
defects."""

import gzip
import shutil
from pathlib import Path

from conftest import REPO

#: Inputs of ConWeave, connection matrices, and the other files that `make validate` reads.
REFERENCE = REPO / "validation" / "reference"
DEFECTS = REPO / "tests" / "defects"


def defect(name: str) -> Path:
    return DEFECTS / name


def lay_defect(name: str, folder: Path) -> None:
    """Copies a defect's file, unpacked if it is stored packed, together with the input that it
    refers to."""
    if name == "s.json":
        (folder / name).write_text("[" * 100_000)
        return
    beside = {"panic.toml": "panic.parquet"}
    for file in filter(None, (name, beside.get(name))):
        packed = DEFECTS / f"{file}.gz"
        if packed.is_file():
            (folder / file).write_bytes(gzip.decompress(packed.read_bytes()))
        else:
            shutil.copy(DEFECTS / file, folder)
