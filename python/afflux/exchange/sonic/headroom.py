"""Computes headroom as SONiC's dynamic buffer model does.

Formula and constants: sonic-net/sonic-swss, cfgmgr/buffer_headroom_mellanox.lua. Cells and pipeline
of the chips: sonic-net/sonic-buildimage, platform/mellanox/asic_table.j2.
"""

import math
import re
from dataclasses import dataclass

#: Signal speed in a cable, in m/s.
_SPEED = 198_000_000
#: Bytes for MAC and PHY of the port, and for the response of the peer if its speed is not in the
#: table.
_MAC_PHY, _RESPONSE = 0.8 * 1024, 3.8 * 1024
#: Time until the peer has stopped, in quanta of 512 bit times, by Mb/s (IEEE 802.3 annex 31B).
_QUANTA = {
    100: 1,
    1_000: 2,
    10_000: 67,
    25_000: 80,
    40_000: 118,
    50_000: 147,
    100_000: 394,
    200_000: 453,
    400_000: 905,
    800_000: 905,
}
#: SONiC's defaults of LOSSLESS_TRAFFIC_PATTERN and of the ports' MTU (buffers_defaults, sonic-swss
#: buffermgrdyn).
LOSSLESS_MTU, SMALL_PACKETS, PORT_MTU = 1024, 100, 9100


@dataclass(frozen=True)
class Chip:
    """Properties of a chip: bytes of a memory cell, and bytes that the pipeline holds, which are
    XON."""

    cell: int
    pipeline: int


#: Chips by the first digit of the model's number: SN2700 has Spectrum 1, SN3700 and SN4600 have
#: Spectrum 2 and 3, …
_CHIPS = {
    "2": Chip(96, 19 * 1024),
    "3": Chip(144, 19 * 1024),
    "4": Chip(144, 19 * 1024),
    "5": Chip(192, 19 * 1024),
    "6": Chip(256, 42 * 1024),
}


def chip(device: str) -> Chip | None:
    """Returns the chip of a platform or hwsku that computes headroom by this formula
    (`x86_64-mlnx_msn2700-r0`, `Mellanox-SN4600C-C64`). None for others."""
    found = re.search(r"sn([2-6])\d{3}", device.lower())
    return _CHIPS[found[1]] if found else None


@dataclass(frozen=True)
class Pattern:
    """Traffic pattern: largest lossless packet in bytes, and percentage of packets that waste the
    most of a cell."""

    mtu: int
    small: int


def reserve(
    chip: Chip, lanes: int, port_mtu: int, *, shared: bool, headroom: int
) -> tuple[int, int]:
    """Returns XON and the reserve of a group without its headroom, in bytes. The pipeline of a port
    with 8 lanes holds more. Without a shared headroom pool, SONiC's `size` includes the headroom,
    and on a port with 8 lanes another frame."""
    eight = lanes == 8
    xon = _kib(chip.pipeline * 2 - 1024 if eight else chip.pipeline)
    if shared:
        return xon, xon
    return xon, _kib(headroom + xon + (port_mtu if eight else 0)) - headroom


def _kib(size: float) -> int:
    """Rounds up to KiB."""
    return math.ceil(size / 1024) * 1024


def xoff(mbps: int, cable_m: float, port_mtu: int, pattern: Pattern, cell: int) -> int:
    """Returns the bytes that still arrive after XOFF, rounded up to KiB. `cell` is 1 if the memory
    has no cells."""
    worst = cell / 64 if cell > 128 else 2 * cell / (1 + cell)
    occupancy = (100 - pattern.small + pattern.small * worst) / 100
    # The script treats Mb/s times ns as 1024ths of a bit.
    on_cable = 2 * cable_m * mbps * 1e9 / _SPEED / (8 * 1024)
    response = _QUANTA[mbps] * 64 if mbps in _QUANTA else _RESPONSE
    propagation = port_mtu + on_cable + _MAC_PHY + response
    return _kib(pattern.mtu + propagation * occupancy)
