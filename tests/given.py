"""Files of this repository that tests read: the reference runs in their compact form, and inputs with which defects were found."""

import gzip
import shutil
from pathlib import Path

from conftest import REPO

#: ConWeave's inputs, connection matrices, and the rest that `make validate` reads.
REFERENCE = REPO / "validation" / "reference"
DEFECTS = REPO / "tests" / "defects"


def defect(name: str) -> Path:
    return DEFECTS / name


def lay_defect(name: str, folder: Path) -> None:
    """A copy, unpacked if it is kept packed, with the input that it names beside it."""
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
