"""Writes the output files of a command: all of them or none."""

import gzip
import io
import lzma
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from .durable import Writer, write_all


def deliver(files: Mapping[Path, Writer], force: bool, inputs: Iterable[Path] = ()) -> None:
    """Writes all files or none. Raises `ValueError` if a file exists and `force` is not set. Raises
    it with `force` too if the file is one of the `inputs`."""
    read = {os.path.realpath(path): path for path in inputs}
    written: set[str] = set()
    for path in files:
        place = os.path.realpath(path)
        if place in written:
            raise ValueError(f"{path} is named for two outputs")
        written.add(place)
        if path.is_dir():
            raise ValueError(f"{path} is a directory: name a file")
        if place in read or (
            path.exists()
            and any(os.path.samefile(path, one) for one in read.values() if one.exists())
        ):
            raise ValueError(f"{path} is the input: choose another name for the output")
        if path.exists() and not force:
            raise ValueError(f"{path} exists: choose another name, or --force to replace it")
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"{path.parent} is not a directory: {path.name} cannot be written there"
            )
    write_all(files)


#: Ends of the names of text files that are packed.
_PACKED = (".gz", ".xz")


def refuse_packed(path: Path | None) -> None:
    """Raises `ValueError` if a scenario or decision file would be packed because of its name.
    Commands read these files as plain text only."""
    if path is not None and path.suffix.lower() in _PACKED:
        raise ValueError(
            f"{path}: no command reads a packed scenario: write a name that ends with .toml"
        )


def text_writer(path: Path, text: str | Iterable[str]) -> Writer:
    """Returns the writer of a text file, given whole or in pieces, and packed if the name of the
    file ends with `.gz` or `.xz`."""
    ending = path.suffix.lower()
    pieces = [text] if isinstance(text, str) else text

    def write(partial: Path) -> None:
        with _opened(partial, ending) as file:
            file.writelines(pieces)

    return write


@contextmanager
def _opened(path: Path, ending: str) -> Iterator[TextIO]:
    if ending == ".gz":
        # The packed file has no name and no time of writing, so equal texts give equal bytes.
        with (
            path.open("wb") as raw,
            gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed,
            io.TextIOWrapper(packed, "utf-8", newline="") as file,
        ):
            yield file
    elif ending == ".xz":
        with lzma.open(path, "wt", encoding="utf-8", newline="") as file:
            yield file
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
