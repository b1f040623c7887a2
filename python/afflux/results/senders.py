"""Summarises the recorded state of senders: windows, round-trip times, bytes in flight."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from .written import Table

#: Share of the window in flight from which the window counts as full. The missing part are frames
#: on their way to the NIC, and frames that an acknowledgement has just released.
FULL = 0.9


@dataclass(frozen=True, slots=True)
class Known:
    """Medians over the samples of the senders of one class; `None` if the senders lack the
    value."""

    flow_class: str
    samples: int
    window_bytes: float | None
    threshold_bytes: float | None
    smoothed_rtt_ns: float | None
    in_flight_bytes: float
    pacing_bps: float | None
    #: Share of the samples with a window in which the window was full.
    window_full: float | None

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def known(senders: Table, flows: Table, only: Iterable[int] | None = None) -> list[Known]:
    """Returns the medians by class of a connection's first flow. `only` limits them to these
    flows."""
    names = dict(zip(flows.column("id"), flows.column("class"), strict=True))
    chosen = None if only is None else set(only)
    of_class: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    columns = (
        senders.column(name)
        for name in (
            "flow",
            "window_bytes",
            "threshold_bytes",
            "smoothed_rtt_ns",
            "in_flight_bytes",
            "pacing_bps",
        )
    )
    for flow, *values in zip(*columns, strict=True):
        if chosen is None or flow in chosen:
            of_class[names[flow]].append(tuple(values))
    order = list(dict.fromkeys(flows.column("class")))
    return [_known(name, of_class[name]) for name in order if name in of_class]


def _known(name: str, rows: list[tuple[Any, ...]]) -> Known:
    def middle(place: int) -> float | None:
        values = [row[place] for row in rows if row[place] is not None]
        return median(values) if values else None

    windows = [(row[0], row[3]) for row in rows if row[0]]
    full = (
        sum(flight >= FULL * window for window, flight in windows) / len(windows)
        if windows
        else None
    )
    return Known(
        name,
        len(rows),
        middle(0),
        middle(1),
        middle(2),
        median(row[3] for row in rows),
        middle(4),
        full,
    )
