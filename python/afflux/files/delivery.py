"""Writes the output files of a command: all of them or none."""

from collections.abc import Mapping
from pathlib import Path

from .durable import Writer, write_all


def deliver(files: Mapping[Path, Writer], force: bool) -> None:
    """Writes all files or none. Raises `ValueError` if a file exists, unless `force`."""
    for path in files:
        if path.is_dir():
            raise ValueError(f"{path} is a directory: name a file")
        if path.exists() and not force:
            raise ValueError(f"{path} exists: choose another name, or --force to replace it")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path.parent} is not a directory: {path.name} cannot be written there")
    write_all(files)


def text_writer(text: str) -> Writer:
    return lambda path: path.write_text(text, encoding="utf-8")
