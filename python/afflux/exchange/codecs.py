"""Decodes the compression of Spark's event logs: zstd, and the framings of lz4-java and snappy-java
around single blocks.

Sources: RFC 8878 (Zstandard); `net.jpountz.lz4.LZ4BlockOutputStream` of lz4-java;
`org.xerial.snappy.SnappyOutputStream` of snappy-java.
"""

import importlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from .account import Wrong

ZSTD, LZ4, SNAPPY = b"\x28\xb5\x2f\xfd", b"LZ4Block", b"\x82SNAPPY\0"
#: Codecs that are recognised but not supported.
UNREAD = {b"\x04\x22\x4d\x18": "lz4's own frame format", b"ZV\x00": "lzf", b"ZV\x01": "lzf"}
#: Largest block in bytes. lz4-java writes up to 32 MiB, snappy-java 32 kB unless
#: `spark.io.compression.snappy.blockSize` says otherwise.
_LARGEST = 32 << 20
#: Base-2 logarithm of zstd's largest window in bytes; `zstd --ultra` writes 27.
_WINDOW = 27


class Unfinished(EOFError):
    """The file ends within a block or frame, as the logs of running programs do."""


class Damaged(ValueError):
    """The bytes are not valid for the codec."""


class TooMuch(OSError):
    """A compressed file expands beyond the limit."""


@dataclass
class Limit:
    """Number of bytes that a file may still expand to, and the message if it exceeds them."""

    left: int
    says: str

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise TooMuch(self.says)


def library(names: tuple[str, ...], package: str, codec: str, path: str | os.PathLike[str]) -> Any:
    """Returns the first of these modules that is installed."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    install = f"{sys.executable} -m pip install {package}"
    raise Wrong(
        path,
        None,
        f"a file compressed with {codec}",
        f"the Python package {package}, which is not installed: {install}",
    )


class Zstd:
    """Decoder of a frame, with the methods of `lzma.LZMADecompressor`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        module = library(("compression.zstd", "backports.zstd"), "backports.zstd", "zstd", path)
        self._error = module.ZstdError
        self._inner = module.ZstdDecompressor(
            options={module.DecompressionParameter.window_log_max: _WINDOW}
        )

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def needs_input(self) -> bool:
        return bool(self._inner.needs_input)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data)

    def decompress(self, data: bytes, count: int) -> bytes:
        try:
            return bytes(self._inner.decompress(data, count))
        except self._error as error:
            raise Damaged(str(error)) from None


class Blocks(io.RawIOBase):
    """Content of consecutive blocks as a stream."""

    def __init__(self, file: BinaryIO, blocks: Iterator[bytes], limit: Limit) -> None:
        self._file, self._blocks, self._limit, self._rest = file, blocks, limit, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._limit.take(len(block))
            self._rest = memoryview(block)
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def lz4_blocks(file: BinaryIO, path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yields each block: `LZ4Block`, a byte with method and level, the compressed and the
    uncompressed length, a checksum. An empty block ends a stream; other streams may follow."""
    cramjam = library(("cramjam",), "cramjam", "lz4", path)
    while head := file.read(21):
        if len(head) < 21:
            raise Unfinished("the file ends within a block")
        if not head.startswith(LZ4):
            raise Damaged(f"the bytes {head[:8].hex(' ')} where a block begins")
        method, packed, size = (
            head[8] & 0xF0,
            int.from_bytes(head[9:13], "little"),
            int.from_bytes(head[13:17], "little"),
        )
        if (
            method not in (0x10, 0x20)
            or packed > _LARGEST + _LARGEST // 255 + 16
            or size > _LARGEST
            or (method == 0x10 and packed != size)
        ):
            raise Damaged("a block's header")
        data = _exactly(file, packed)
        yield data if method == 0x10 else _block(cramjam, cramjam.lz4.decompress_block, data, size)


def snappy_blocks(file: BinaryIO, path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yields each block. A header of 16 bytes comes first. Each block is preceded by its compressed
    length; the header of another stream may be in the place of a length."""
    cramjam = library(("cramjam",), "cramjam", "snappy", path)
    while head := file.read(4):
        if len(head) < 4:
            raise Unfinished("the file ends within a block")
        if head == SNAPPY[:4]:
            if _exactly(file, 12)[:4] != SNAPPY[4:]:
                raise Damaged("a stream's header")
            continue
        packed = int.from_bytes(head, "big")
        if packed > _LARGEST + _LARGEST // 6 + 32:
            raise Damaged(f"a block of {packed:,} bytes")
        data = _exactly(file, packed)
        size = shift = 0
        for byte in data[:5]:
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        if size > _LARGEST:
            raise Damaged(f"a block of {size:,} bytes")
        yield _block(cramjam, cramjam.snappy.decompress_raw, data, size)


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise Unfinished("the file ends within a block")
    return data


def _block(cramjam: Any, decompress: Callable[..., Any], data: bytes, size: int) -> bytes:
    try:
        block = bytes(decompress(data, output_len=size))
    except cramjam.DecompressionError as error:
        raise Damaged(f"a damaged block: {error}") from None
    if len(block) != size:
        raise Damaged(f"a block of {len(block):,} bytes instead of {size:,}")
    return block
