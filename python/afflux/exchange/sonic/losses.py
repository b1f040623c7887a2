"""Settings of a scenario that tables of SONiC cannot express."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...files import toml
from .design import Design, Queue, Share

#: Keys of `[switch]` that tables express, by table (`""`: `[switch]` itself). Reading tables
#: replaces these.
EXPRESSED: Mapping[str, frozenset[str]] = {
    "": frozenset(
        (
            *("buffer", "sharing", "alpha", "reserved", "scheduling", "priorities", "queue"),
            *("ecn", "mmu", "pfc"),
        )
    ),
    "mmu": frozenset(
        (
            *("lossless_alpha", "lossless_reserved", "lossy_ingress_alpha", "lossy_pool"),
            *("headroom_pool", "xon", "xon_offset", "group"),
        )
    ),
    "pfc": frozenset(("priorities", "headroom", "cable", "watchdog")),
}
#: Fields of a design about the memory, with their keys.
_POOLS = {
    "ingress_pool": "buffer",
    "headroom_pool": "mmu.headroom_pool",
    "lossy_pool": "mmu.lossy_pool",
}
_LOSSY = {"lossy_th": "alpha", "lossy_reserved": "reserved"}
#: Fields that have an effect if a class is lossless.
_OF_LOSSLESS = {
    "xon": "mmu.xon",
    "xon_offset": "mmu.xon_offset",
    "headroom": "pfc.headroom",
    "watchdog": "pfc.watchdog",
}


class Losses:
    """Sentences about settings that are not exported, and the keys that these sentences are
    about."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self._keys: set[str] = set()

    def add(self, sentence: str, *keys: str) -> None:
        """`keys` are named as in `[switch]`: `alpha`, `mmu.group`, `queue 3`."""
        if sentence not in self.sentences:
            self.sentences.append(sentence)
        self._keys.update(keys)

    def covers(self, key: str) -> bool:
        return key in self._keys

    def unexpressed(self, settings: Mapping[str, Any], meant: Mapping[str, Any]) -> None:
        """Adds keys of `settings` for which SONiC has no table. `meant` are the settings that the
        tables mean: there, these keys have their defaults."""
        for key, value, plain in _beyond(settings, meant):
            if value == plain or self.covers(key):
                continue
            if key == "trimming":
                self.add(
                    "trimming: frames are dropped instead; set packet_discard_action in BUFFER_PROFILE if the chip can trim",
                    key,
                )
                continue
            shown = value.get("kind", "…") if isinstance(value, Mapping) else value
            self.add(f"{key} = {toml.value(shown)}: no table of config_db.json has it", key)

    def differences(self, wanted: Design, meant: Design, sharing: str) -> None:
        """Adds settings that the tables express, but not as the scenario has them."""
        self._fields(wanted, meant, {"lossless": "pfc.priorities", "dscp": "host.dscp_to_priority"})
        if sharing == "sonic":
            self._fields(wanted, meant, _POOLS)
        if wanted.lossless and wanted.lossless == meant.lossless:
            self._fields(wanted, meant, _OF_LOSSLESS)
        if sharing == "sonic" and wanted.lossless == meant.lossless:
            for tc in range(8):
                self._of_class(tc, wanted, meant)
        several = min(len(_used(wanted)), len(_used(meant))) > 1
        if sharing in ("sonic", "dynamic") and not several:
            self._fields(wanted, meant, _LOSSY)
        self._queues(_used(wanted, sharing), _used(meant, sharing))

    def _fields(self, wanted: Design, meant: Design, fields: Mapping[str, str]) -> None:
        for name, key in fields.items():
            own, other = getattr(wanted, name), getattr(meant, name)
            if name == "headroom" and own is None:
                continue  # The switch computes it.
            if own != other and not self.covers(key):
                shown, given = (_shown(name, value) for value in (own, other))
                self.add(f"{key} = {shown}: the tables have {given}", key)

    def _of_class(self, tc: int, wanted: Design, meant: Design) -> None:
        """Compares the priority group of a class, whichever keys set it."""
        own, other = (_group(design, tc) for design in (wanted, meant))
        keys = (
            ("mmu.lossless_alpha", "mmu.group limit", "mmu.lossless_reserved")
            if tc in wanted.lossless
            else ("mmu.lossy_ingress_alpha", "mmu.group limit", "mmu.group reserved")
        )
        for key, value, found in zip(keys, own, other, strict=True):
            if value != found and not self.covers(key) and not self.covers("mmu.group"):
                self.add(f"{key} of priority {tc} = {value}: the tables have {found}")

    def _queues(self, wanted: dict[int, Queue], meant: dict[int, Queue]) -> None:
        alone = len(wanted) <= 1 and len(meant) <= 1
        for number in sorted({*wanted, *meant}):
            own, other = wanted.get(number), meant.get(number)
            if own == other or self.covers(f"queue {number}"):
                continue
            if own is None or other is None:
                if not alone or (own or other).wred is not None:  # type: ignore[union-attr]
                    self.add(
                        f"queue {number}: {'the tables lack it' if own else 'the tables have it, the scenario does not'}"
                    )
                continue
            for name, key in (
                ("priorities", "priorities"),
                ("weight", "weight"),
                ("wred", "ecn"),
                ("share", "alpha, reserved or buffer"),
            ):
                values = [getattr(queue, name) for queue in (own, other)]
                if values[0] != values[1] and not (alone and name in ("weight", "priorities")):
                    shown, given = (_shown(name, value) for value in values)
                    self.add(f"queue {number}: {key} = {shown}: the tables have {given}")


def _used(design: Design, sharing: str = "") -> dict[int, Queue]:
    """Returns the queues that a class has. The others have no frames. Alpha and reserve are those
    with which a queue works, whichever keys set them. Lossless queues are not limited."""
    used = {number: queue for number, queue in design.queues.items() if queue.priorities}
    for number, queue in used.items():
        own, share = queue.share, Share()
        if sharing in ("sonic", "dynamic") and not {*queue.priorities} & {*design.lossless}:
            share = Share(
                design.lossy_th if own.th is None else own.th,
                own.limit,
                design.lossy_reserved if own.reserved is None else own.reserved,
            )
        used[number] = replace(queue, share=share)
    return used


def _group(design: Design, tc: int) -> tuple[str, str, str]:
    """Returns alpha, limit and reserve of the priority group of a class."""
    share, lossless = design.groups.get(tc, Share()), tc in design.lossless
    th, reserved = (
        (design.lossless_th, design.lossless_reserved) if lossless else (design.lossy_ingress_th, 0)
    )
    th = th if share.th is None else share.th
    reserved = reserved if share.reserved is None else share.reserved
    limit = "off" if share.limit is None else f"{share.limit} B"
    # A profile has one threshold.
    alpha = "off" if th is None or share.limit is not None else f"{2.0**th:g}"
    return alpha, limit, f"{reserved or 0} B"


def _beyond(
    settings: Mapping[str, Any], meant: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yields key, value and default of the keys that tables do not express."""
    for table in ("", "mmu", "pfc"):
        own, plain = ((of.get(table, {}) if table else of) for of in (settings, meant))
        if not isinstance(own, Mapping) or (table == "mmu" and settings.get("sharing") != "sonic"):
            continue
        for key, value in own.items():
            if key not in EXPRESSED[table] and key not in ("preset", "override", "drop_when"):
                default = plain.get(key) if isinstance(plain, Mapping) else None
                yield f"{table}.{key}" if table else key, value, default


def _shown(name: str, value: Any) -> str:
    if value is None or value == ():
        return "off"
    if name == "lossy_th":
        return f"{2.0**value:g}"
    if name == "weight":
        return str(value)
    if name == "dscp":
        return "a map with other classes"
    if isinstance(value, int):
        return f"{value} B"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    fields = {field: of for field, of in getattr(value, "__dict__", {}).items() if of is not None}
    return ", ".join(f"{field} {of}" for field, of in fields.items()) or "other values"
