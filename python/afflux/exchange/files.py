"""Reading lines of files that may be compressed; writing files that appear only when they are complete."""

import gzip
import lzma
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from .account import Wrong

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
#: What reading a compressed file that is damaged raises.
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)
#: Longer lines are taken for something that is no text.
_LONGEST = 256 << 20


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """The bytes of a file; gzip and xz are recognised by their content."""
    file = open(path, "rb")  # noqa: SIM115 – the caller closes it
    start = file.peek(6)[:6]
    if start.startswith(_GZIP):
        return gzip.open(file)  # type: ignore[return-value]
    if start.startswith(_XZ):
        return lzma.open(file)  # type: ignore[return-value]
    return file


def lines(path: str | os.PathLike[str], stream: BinaryIO | None = None, first: int = 1) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank. Raises `Wrong` where the file is not text."""
    source = stream or opened(path)
    at = first
    try:
        while line := source.readline(_LONGEST):
            if len(line) == _LONGEST:
                raise Wrong(path, at, "a line without an end", "lines of text")
            try:
                text = line.decode("utf-8-sig" if at == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                raise Wrong(path, at, f"the bytes {line[error.start : error.start + 4].hex(' ')}", "text in UTF-8") from None
            if text:
                yield at, text
            at += 1
    except DAMAGED as error:
        raise Wrong(path, at, f"a compressed file that breaks off or is damaged ({error})", "a whole one") from None
    finally:
        if stream is None:
            source.close()


Writer = Callable[[Path], object]


def deliver(files: Mapping[Path, Writer], force: bool) -> None:
    """Writes all of the files or none: each under a temporary name first. One that exists is refused without `force`."""
    for path in files:
        if path.is_dir():
            raise ValueError(f"{path} is a directory: name a file")
        if path.exists() and not force:
            raise ValueError(f"{path} exists: choose another name, or --force to replace it")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path.parent} is no directory: {path.name} cannot be written there")
    partial: dict[Path, Path] = {}
    try:
        for path, write in files.items():
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
            os.close(handle)
            partial[path] = Path(name)
            write(partial[path])
            # As a file that is simply opened would have them.
            mask = os.umask(0)
            os.umask(mask)
            partial[path].chmod(0o666 & ~mask)
        for path, written in partial.items():
            written.replace(path)
    finally:
        for written in partial.values():
            written.unlink(missing_ok=True)


def text_writer(text: str) -> Writer:
    return lambda path: path.write_text(text, encoding="utf-8")
