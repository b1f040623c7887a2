"""Notes tables about the device and its place in the network. They do not affect buffers and
queues, but are worth a note."""

import re

from .headroom import chip
from .ports import CPU, common, split
from .reading import Reading
from .tables import Tables

#: SKUs with a Trident 3: configuration files td3-*.config.bcm below `device` in
#: sonic-net/sonic-buildimage.
_TRIDENT3 = re.compile(
    r"(?i)Arista-7050[CS]X3|Accton-AS7[37]26|DellEMC-S52(12|24|32|48|96)f|Seastone_2|Quanta-IX[78]|INVENTEC-D63(32|56)"
)


def surroundings(reading: Reading) -> None:
    _cpu(reading)
    _asymmetric(reading)
    _trims(reading)
    for key, entry in reading.table("DEVICE_METADATA").items():
        if sku := entry.get("hwsku"):
            _sku(reading, key, sku)
    speeds = [entry["speed"] for entry in reading.table("PORT").values() if "speed" in entry]
    if speeds:
        mbps, count, of = common(speeds)
        reading.seen.update(("PORT", key, "speed") for key in reading.table("PORT"))
        reading.account.noted(
            f"PORT: speed: {count} of {of} ports have {int(mbps) / 1000:g} Gbps: rates of links are those of [topology]"
        )
    neighbours = reading.table("DEVICE_NEIGHBOR")
    for key, entry in neighbours.items():
        local, name = entry.get("local_port", key), entry.get("name", "a neighbour")
        fields = ("name", "local_port", "port")
        reading.seen.update(("DEVICE_NEIGHBOR", key, field) for field in fields)
        reading.account.noted(
            "DEVICE_NEIGHBOR: links to neighbours (local_port, name, port): links are those of [topology]",
            f"{local} → {name} {entry.get('port', '')}".strip(),
        )


def rate(tables: Tables) -> str | None:
    """Returns the rate of most ports, as a scenario writes it; None if no port has a speed."""
    speeds = [int(entry["speed"]) for entry in tables.get("PORT", {}).values() if "speed" in entry]
    return f"{common(speeds)[0] / 1000:g}Gbps" if speeds else None


def _cpu(reading: Reading) -> None:
    for table in ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE"):
        for key, entry in reading.table(table).items():
            if split(key)[0] == CPU:
                reading.noted(
                    f"{table}: {', '.join(entry)} of queues to the switch's own processor, which has no traffic in afflux: left out",
                    table,
                    key,
                    *entry,
                )


def _asymmetric(reading: Reading) -> None:
    for table in ("PORT_QOS_MAP", "PORT"):
        for key, entry in reading.table(table).items():
            if reading.get(table, key, "pfc_asym") == "on":
                sentence = "pfc_asym = on: the port obeys PAUSE frames of every priority, and sends its own only for pfc_enable: left out"
                reading.noted(sentence, table, key)
            elif "pfc_asym" in entry:
                reading.account.noted(
                    "pfc_asym = off: PFC is the same in both directions, as in afflux"
                )


def _trims(reading: Reading) -> None:
    for key in reading.table("BUFFER_PROFILE"):
        if reading.get("BUFFER_PROFILE", key, "packet_discard_action") == "trim":
            reading.noted(
                "packet_discard_action = trim: afflux drops the frames that do not fit: left out",
                "BUFFER_PROFILE",
                key,
            )


def _sku(reading: Reading, key: str, sku: str) -> None:
    found = chip(sku)
    proposal = ""
    if _TRIDENT3.search(sku):
        preset = "trident3_lossless" if reading.design.lossless else "trident3"
        proposal = (
            f': a Trident 3; preset = "{preset}" in [switch] has its cells, latency and sizes'
        )
    elif found:
        proposal = f': its memory has cells of {found.cell} B: write cell = "{found.cell}B" in [switch.mmu]'
    reading.noted(f"DEVICE_METADATA: hwsku = {sku}{proposal}", "DEVICE_METADATA", key, "hwsku")
