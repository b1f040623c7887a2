"""Writes the output files of a command: all of them or none."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

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


def text_writer(text: str) -> Writer:
    return lambda path: path.write_text(text, encoding="utf-8")
