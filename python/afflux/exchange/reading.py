"""Reads files that may be compressed, within limits."""

import io
import json
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from .. import _core
from . import codecs
from .account import Wrong, shown
from .codecs import Limit, TooMuch, Unfinished

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
#: Exceptions from reading a damaged compressed file.
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, codecs.Damaged)
#: Longest line in bytes. A longer one means that the file is not text.
_LONGEST = 64 << 20
#: Memory limit of the xz decoder in bytes. xz writes dictionaries of up to 64 MiB.
_XZ_MEMORY = 128 << 20
_CHUNK = 1 << 16
#: Largest depth of nested values. Valid files are not deeper.
_DEEPEST = 200
#: Factor by which logs in JSON may expand more than other files: they compress well and are read
#: line by line.
LOGS = 4


class _Unpacked(io.RawIOBase):
    """The content of a gzip, xz or zstd file, or of several concatenated ones, up to a limit."""

    def __init__(
        self,
        file: BinaryIO,
        new: Callable[[], Any],
        limit: Limit,
        broken: type[EOFError] = EOFError,
    ) -> None:
        self._file, self._new, self._limit, self._broken = file, new, limit, broken
        self._decoder: Any = None
        self._packed = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._some(len(buffer))
        self._limit.take(len(data))
        buffer[: len(data)] = data
        return len(data)

    def _some(self, count: int) -> bytes:
        while True:
            if self._decoder is not None and self._decoder.eof:
                self._packed, self._decoder = self._decoder.unused_data, None
            ended = False
            if not self._packed and (
                self._decoder is None or getattr(self._decoder, "needs_input", True)
            ):
                self._packed = self._file.read(_CHUNK)
                ended = not self._packed
            if self._decoder is None:
                # A file may be padded with zeros.
                self._packed = self._packed.lstrip(b"\0")
                if ended:
                    return b""
                if not self._packed:
                    continue
                self._decoder = self._new()
            data: bytes = self._decoder.decompress(self._packed, count)
            self._packed = getattr(self._decoder, "unconsumed_tail", b"")
            if data:
                return data
            if ended and not self._decoder.eof:
                raise self._broken("the file is truncated")

    def close(self) -> None:
        self._file.close()
        super().close()


def opened(path: str | os.PathLike[str], times: int = 1) -> io.BufferedReader:
    """Returns the bytes of a file. The compression is recognised by the content. The expanded size
    is limited (docs/exchange.md, "Limits"). `times` raises the limit for content that is read line
    by line and compresses well."""
    file = open(path, "rb")  # noqa: SIM115 – the caller closes it
    try:
        start = file.peek(8)[:8]
    except OSError as error:
        file.close()
        raise damaged(path, None, error) from None
    limit = Limit(*_core.most_unpacked(times * os.fstat(file.fileno()).st_size))
    raw: io.RawIOBase
    if start.startswith(_GZIP):
        raw = _Unpacked(file, lambda: zlib.decompressobj(wbits=31), limit)
    elif start.startswith(_XZ):
        raw = _Unpacked(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY), limit)
    elif start.startswith(codecs.ZSTD):
        raw = _Unpacked(file, lambda: codecs.Zstd(path), limit, Unfinished)
    elif start.startswith(codecs.LZ4):
        raw = codecs.Blocks(file, codecs.lz4_blocks(file, path), limit)
    elif start.startswith(codecs.SNAPPY):
        raw = codecs.Blocks(file, codecs.snappy_blocks(file, path), limit)
    else:
        codec = next(
            (name for magic, name in codecs.UNREAD.items() if start.startswith(magic)), None
        )
        if codec is not None:
            file.close()
            raise Wrong(
                path,
                None,
                f"a file compressed with {codec}",
                "no compression, gzip, xz, zstd, or lz4 or snappy as Spark writes them",
            )
        return file
    return io.BufferedReader(raw, _CHUNK)


def damaged(path: str | os.PathLike[str], at: int | None, error: BaseException) -> Exception:
    """Returns the exception for a failed read. A file that cannot be opened or read keeps the
    system's error, with the name of the file."""
    if isinstance(error, TooMuch):
        return Wrong(path, None, f"a compressed file: {error}")
    if isinstance(error, OSError) and error.errno is not None:
        return (
            error
            if error.filename is not None
            else OSError(error.errno, error.strerror, os.fspath(path))
        )
    return Wrong(
        path, at, f"a compressed file that breaks off or is damaged ({error})", "a whole one"
    )


def content(path: str | os.PathLike[str], most: int) -> bytes:
    """Returns the whole content of a file of at most `most` bytes. Raises `Wrong` if it is
    larger."""
    try:
        with opened(path) as file:
            data = file.read(most + 1)
    except DAMAGED as error:
        raise damaged(path, None, error) from None
    if len(data) > most:
        raise Wrong(
            path,
            None,
            f"more than {most // 1_000_000} MB",
            f"at most {most // 1_000_000} MB of such a file",
        )
    return data


def text_of(
    data: bytes, path: str | os.PathLike[str], expected: str, encoding: str = "utf-8"
) -> str:
    """Returns the text of a file. Raises `Wrong` with the line of the first byte that is not
    UTF-8."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        # The position in the error is relative to the end of a byte order mark.
        found = error.object[error.start : error.start + 4].hex(" ")
        raise Wrong(
            path,
            1 + error.object.count(b"\n", 0, error.start),
            f"the bytes {found}",
            f"{expected} in UTF-8",
        ) from None


def lines(
    path: str | os.PathLike[str],
    stream: BinaryIO | None = None,
    first: int = 1,
    unfinished: Callable[[int], None] | None = None,
    times: int = 1,
) -> Iterator[tuple[int, str]]:
    """Yields non-blank lines with their numbers. Raises `Wrong` if the file is not text. If the
    file ends within a block of a codec that programs write step by step, calls `unfinished` with
    the number of the line instead of refusing the file."""
    source = stream or opened(path, times)
    at = first
    try:
        while line := source.readline(_LONGEST):
            if len(line) == _LONGEST:
                raise Wrong(path, at, "a line without an end", "lines of text")
            try:
                text = line.decode("utf-8-sig" if at == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                raise Wrong(
                    path,
                    at,
                    f"the bytes {line[error.start : error.start + 4].hex(' ')}",
                    "text in UTF-8",
                ) from None
            if text:
                yield at, text
            at += 1
    except Unfinished as error:
        if unfinished is None:
            raise damaged(path, at, error) from None
        unfinished(at)
    except DAMAGED as error:
        raise damaged(path, at, error) from None
    finally:
        if stream is None:
            source.close()


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def json_value(
    text: str | bytes,
    path: str | os.PathLike[str],
    at: int | None,
    expected: str,
    pairs: Any = None,
) -> Any:
    """Parses a JSON value. `at` is the line on which the text begins. Raises `Wrong`."""
    try:
        value = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        where = at + error.lineno - 1 if at is not None else error.lineno
        raise Wrong(path, where, f"{shown(text[:60])} ({error.msg})", expected) from None
    except UnicodeDecodeError as error:
        wrong = at + error.object.count(b"\n", 0, error.start) if at is not None else None
        raise Wrong(
            path,
            wrong,
            f"the bytes {error.object[error.start : error.start + 4].hex(' ')}",
            f"{expected}, in UTF-8",
        ) from None
    except RecursionError:
        raise Wrong(path, at, "values nested too deeply", expected) from None
    except ValueError as error:
        # Errors from `pairs` have their own types. A plain ValueError is Python's limit on digits.
        if type(error) is not ValueError:
            raise
        raise Wrong(path, at, "a number of thousands of digits", expected) from None
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    deep = text.count("[") + text.count("{") > _DEEPEST
    if (deep or _SURROGATE.search(text)) and (found := _unfit(value)):
        raise Wrong(path, at, found, expected)
    return value


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]')


def repeated_key(text: str) -> tuple[int | None, list[str]]:
    """Finds the first key of valid JSON that occurs twice in its object. Returns the line of the
    second occurrence, and the keys that lead to it."""
    # Open objects and lists: the keys that an object has so far, and the last of them.
    nested: list[tuple[set[str], str | None]] = []
    last = ""
    for token in _TOKEN.finditer(text):
        match token.group():
            case "{" | "[":
                nested.append((set(), None))
            case "}" | "]":
                nested.pop()
            case ":":
                key = json.loads(last)
                keys, _ = nested[-1]
                if key in keys:
                    return text.count("\n", 0, token.start()) + 1, [
                        shown(name)[1:-1] for _, name in nested[:-1] if name is not None
                    ] + [shown(key)[1:-1]]
                keys.add(key)
                nested[-1] = (keys, key)
            case word:
                last = word
    return None, []


def _unfit(value: Any) -> str | None:
    """Describes values nested too deeply, or unpaired surrogates, which cannot be written. None if
    there are none."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        texts = [item for item in level if isinstance(item, str)]
        for item in level:
            if isinstance(item, dict):
                texts += item
        for text in texts:
            if any("\ud800" <= c <= "\udfff" for c in text):
                return f"{shown(text)}, half a character,"
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return None
    return "values nested too deeply"
