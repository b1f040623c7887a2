"""Reader of TCP over IPv4 in afflux's captures (pcapng, little-endian, nanoseconds)."""

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ENHANCED_PACKET = 6
ETHERNET = 14
TCP = 6
SYN, ACK, CWR = 0x02, 0x10, 0x80


class Segment(NamedTuple):
    time_ns: int
    #: Direction in the file: 0 is from the first named node to the second.
    direction: int
    sequence: int
    acknowledged: int
    flags: int
    payload: int


def segments(path: Path) -> Iterator[Segment]:
    data = path.read_bytes()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == ENHANCED_PACKET:
            direction, high, low = struct.unpack_from("<III", data, at + 8)
            network = at + 28 + ETHERNET
            total, protocol = struct.unpack_from(">H", data, network + 2)[0], data[network + 9]
            if protocol == TCP:
                header = 4 * (data[network] & 15)
                sequence, acknowledged, offset, flags = struct.unpack_from(
                    ">IIBB", data, network + header + 4
                )
                yield Segment(
                    high << 32 | low,
                    direction,
                    sequence,
                    acknowledged,
                    flags,
                    total - header - 4 * (offset >> 4),
                )
        at += length


def recoveries(frames: Iterable[Segment]) -> list[float]:
    """Returns the times in seconds at which the sender of direction 0 enters recovery: it
    retransmits, and all data outstanding at the previous entry has been acknowledged."""
    found: list[float] = []
    # Positions one past the last byte: sent, acknowledged, and outstanding at the last entry.
    sent = acknowledged = until = 0
    for frame in frames:
        if frame.direction == 0 and frame.payload:
            if frame.sequence < sent and acknowledged >= until:
                found.append(frame.time_ns / 1e9)
                until = sent
            sent = max(sent, frame.sequence + frame.payload)
        elif frame.direction == 1 and frame.flags & ACK and not frame.flags & SYN:
            acknowledged = max(acknowledged, frame.acknowledged)
    return found
