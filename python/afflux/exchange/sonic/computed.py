"""Reads the tables from which SONiC computes headroom: its dynamic buffer model."""

from .design import Design
from .headroom import LOSSLESS_MTU, PORT_MTU, SMALL_PACKETS, Chip, Pattern, chip, reserve, xoff
from .reading import Reading

#: SONiC's name of the pool from which buffermgrd takes computed profiles.
LOSSLESS_POOL = "ingress_lossless_pool"
#: Longest cable in metres.
_LONGEST_CABLE = 100_000


def cable(reading: Reading) -> None:
    lengths = [
        (f"{name}|{port}", length)
        for name, entry in reading.table("CABLE_LENGTH").items()
        for port, length in entry.items()
    ]
    for key, _ in lengths:
        reading.seen.add(("CABLE_LENGTH", *_last(key)))
    # Ports without a cable have the length 0m or None.
    used = [
        (key, length) for key, length in lengths if length != "None" and float(length.rstrip("m"))
    ]
    if not used:
        return
    metres = float(reading.majority("CABLE_LENGTH", used, (), "the length").rstrip("m"))
    if metres > _LONGEST_CABLE:
        reading.account.noted(
            f"CABLE_LENGTH: {metres:g} m: longer than a scenario's cables, {_LONGEST_CABLE} m: left out, the delay of the links decides"
        )
    else:
        reading.design.cable_m = metres


def _last(key: str) -> tuple[str, str]:
    name, _, field = key.partition("|")
    return name, field


def computed_headroom(reading: Reading) -> None:
    """Computes headroom with SONiC's dynamic buffer model."""
    design = reading.design
    if design.lossless_th is None:
        for name in reading.table("DEFAULT_LOSSLESS_BUFFER_PARAMETER"):
            design.lossless_th = reading.number(
                "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
                name,
                "default_dynamic_th",
                "switch.mmu.lossless_alpha",
            )
    pattern, ports = _pattern(reading), reading.table("PORT")
    speeds = [(key, entry["speed"]) for key, entry in ports.items() if "speed" in entry]
    mbps = (
        int(reading.majority("PORT", speeds, ("speed",), "the speed")) if speeds else reading.mbps
    )
    if mbps is None or design.cable_m is None:
        missing = (
            "no CABLE_LENGTH is in the files"
            if design.cable_m is None
            else "no PORT has a speed, and the links of the fabric have several rates"
        )
        reading.account.noted(
            f"LOSSLESS_TRAFFIC_PATTERN: mtu = {pattern.mtu}, small_packet_percentage = {pattern.small}: {missing}, so the simulation computes headroom by "
            'SONiC\'s formula (pfc.headroom = "sonic") with the rate and delay of its links, its largest frame and 50 % of small packets'
        )
        return
    mtus = [(key, int(entry["mtu"])) for key, entry in ports.items() if "mtu" in entry]
    mtu = reading.majority("PORT", mtus, ("mtu",), "the MTU") if mtus else PORT_MTU
    found = _device(reading)
    cell = found.cell if found else 1
    design.headroom = xoff(mbps, design.cable_m, mtu, pattern, cell)
    reading.sources["switch.pfc.headroom"] = ("LOSSLESS_TRAFFIC_PATTERN", "", "")
    shared, lanes = shared_headroom(reading), 0
    if found:
        of_lanes = [
            (key, entry["lanes"].count(",") + 1) for key, entry in ports.items() if "lanes" in entry
        ]
        if of_lanes:
            lanes = reading.majority("PORT", of_lanes, ("lanes",), "the number of lanes")
        design.xon, design.lossless_reserved = reserve(
            found, lanes, mtu, shared=shared, headroom=design.headroom
        )
    counted = (
        f"cells of {cell} B"
        if found
        else "bytes, as the files do not name a platform whose cells are known (small_packet_percentage then has no effect)"
    )
    rate = (
        f"{mbps / 1000:g} Gbps{'' if speeds else ' (the rate of the links: no PORT has a speed)'}"
    )
    reading.account.noted(
        f"headroom computed by SONiC's formula: {design.headroom} B at {rate}, {design.cable_m:g} m, port MTU {mtu}, lossless MTU {pattern.mtu}, "
        f"{pattern.small} % of small packets, in {counted}"
        + ("" if not found else _size_said(design, lanes, shared))
    )


def shared_headroom(reading: Reading) -> bool:
    """True if groups share a pool for their headroom."""
    pool = reading.table("BUFFER_POOL").get(LOSSLESS_POOL, {}).get("xoff", "0")
    ratios = [
        entry.get("over_subscribe_ratio", "0")
        for entry in reading.table("DEFAULT_LOSSLESS_BUFFER_PARAMETER").values()
    ]
    return any(int(number) for number in (pool, *ratios))


def _size_said(design: Design, lanes: int, shared: bool) -> str:
    of_lanes = f", {lanes} lanes" if lanes else ""
    if shared:
        return f"{of_lanes}, with a shared headroom pool (size = xon)"
    size = (design.lossless_reserved or 0) + (design.headroom or 0)
    return (
        f"{of_lanes}, without a shared headroom pool (no xoff of {LOSSLESS_POOL}, no over_subscribe_ratio): "
        f"size = {size} B includes xoff, and lossless_reserved is the rest"
    )


def _pattern(reading: Reading) -> Pattern:
    pattern = Pattern(LOSSLESS_MTU, SMALL_PACKETS)
    for name in reading.table("LOSSLESS_TRAFFIC_PATTERN"):
        mtu, small = (
            reading.number("LOSSLESS_TRAFFIC_PATTERN", name, field)
            for field in ("mtu", "small_packet_percentage")
        )
        pattern = Pattern(
            pattern.mtu if mtu is None else mtu, pattern.small if small is None else small
        )
    return pattern


def _device(reading: Reading) -> Chip | None:
    for key, entry in reading.table("DEVICE_METADATA").items():
        for name in ("platform", "hwsku"):
            if found := chip(entry.get(name, "")):
                reading.noted(
                    f"DEVICE_METADATA: {name} = {entry[name]}: its chip has cells of {found.cell} B",
                    "DEVICE_METADATA",
                    key,
                    name,
                )
                return found
    return None
