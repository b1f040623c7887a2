"""FreeBSD's limit: the source says that its throughput grows further than that of Linux until the
processor is busy, but not how long a packet takes.

The processor of a host handles arriving frames. At a sender these are acknowledgements, one for two
segments, so their processing time represents that of the two segments that each releases. Sending
costs no processor time in afflux.
"""

from collections.abc import Sequence
from typing import Any

from ...report import Lines
from ...results.designs import Designs
from .. import Check, Row
from .measure import PAYLOAD, WINDOW, of_window, over_seeds

#: Processor times in us of a sender per acknowledgement and of a receiver per segment, with windows
#: of 3 MB.
SENDER, RECEIVER, LARGE = (20, 100, 200, 400, 800), (20, 100, 200, 300, 400), 3000
#: Processor time in us with which the sender stops below what 3 MB allow and above the maximum of
#: Linux, as in the source, and the windows in kB. Values of 290 to 1,030 us do so.
CHOSEN, KB = 400, (700, 1400, 2000, 3000, 4000)
#: Queue length in packets that holds a window, and Linux's queue length.
_DEEP, _SHALLOW = 5000, 300
#: Processor times of the receiver with the queue that loses frames.
_LOSING = (200, 300)
#: Segments per acknowledgement.
_DELAYED = 2


def of_sender(kilobytes: int, time: int) -> str:
    return f"sender takes {time} us per acknowledgement, window {kilobytes} kB"


def of_receiver(time: int, queue: int = _DEEP) -> str:
    return f"receiver takes {time} us per segment{'' if queue == _DEEP else f', its queue holds {queue} frames'}"


#: Name of the case with the largest window and the chosen time.
LAST = of_sender(KB[-1], CHOSEN)


def _keys(host: str, time: int, kilobytes: int, queue: int) -> dict[str, Any]:
    return {
        WINDOW: f"{kilobytes}kB",
        "host.override": [
            {"match": host, "processor": {"packet_time": f"{time}us", "queue": queue}}
        ],
    }


def cases() -> dict[str, dict[str, Any]]:
    senders = [(LARGE, time) for time in SENDER] + [(kilobytes, CHOSEN) for kilobytes in KB]
    found = {
        of_sender(kilobytes, time): _keys("host0", time, kilobytes, _DEEP)
        for kilobytes, time in senders
    }
    found |= {of_receiver(time): _keys("host4", time, LARGE, _DEEP) for time in RECEIVER}
    return found | {
        of_receiver(time, _SHALLOW): _keys("host4", time, LARGE, _SHALLOW) for time in _LOSING
    }


def by_formula(kilobytes: int, time: int, segments: int = 1) -> float:
    """Returns the rate in Mbps: one window per round trip, or `segments` per processor time if that
    is less."""
    return min(of_window(kilobytes), segments * PAYLOAD * 8 / time)


def _formulas() -> dict[str, float]:
    found = {of_sender(LARGE, time): by_formula(LARGE, time, _DELAYED) for time in SENDER}
    found |= {
        of_sender(kilobytes, CHOSEN): by_formula(kilobytes, CHOSEN, _DELAYED) for kilobytes in KB
    }
    return found | {of_receiver(time): by_formula(LARGE, time) for time in RECEIVER}


def rows(designs: Designs) -> Sequence[Row]:
    found = []
    for name, theory in _formulas().items():
        if name in designs:
            found.append(
                Row(
                    f"{name}: Mbps (window over round trip, or packets by time)",
                    theory,
                    *over_seeds(designs[name]),
                    computed=True,
                )
            )
    if LAST in designs:
        found.append(
            Row(
                "FreeBSD: a limit by the sender's processor, Mbps",
                None,
                *over_seeds(designs[LAST]),
                predicted=False,
            )
        )
    for time in _LOSING:
        if (name := of_receiver(time, _SHALLOW)) in designs:
            found.append(Row(f"{name}: Mbps", None, *over_seeds(designs[name])))
    return found


def checks(designs: Designs) -> Sequence[Check]:
    """Checks our formula. It is fitted that FreeBSD goes further than Linux: `CHOSEN` is one of the
    times with which it does."""
    formulas = _formulas()
    if not all(name in designs for name in formulas):
        return []
    worst = 100 * max(
        abs(over_seeds(designs[name])[0] / theory - 1) for name, theory in formulas.items()
    )
    return [
        Check(
            "our formula: a busy host carries the smaller one of window over round trip and packets by time, largest error in %",
            worst < 5,
            worst,
            5,
        )
    ]


def line(designs: Designs) -> list[tuple[float, float]]:
    """Returns throughput against window with the chosen time."""
    return [
        (kilobytes, over_seeds(designs[name])[0])
        for kilobytes in KB
        if (name := of_sender(kilobytes, CHOSEN)) in designs
    ]


def figure(designs: Designs) -> Lines:
    def of(named: dict[int, str]) -> list[tuple[float, float]]:
        return [
            (time, over_seeds(designs[name])[0]) for time, name in named.items() if name in designs
        ]

    series = {
        "sender, per acknowledgement of two segments": of(
            {time: of_sender(LARGE, time) for time in SENDER}
        ),
        "receiver, per segment": of({time: of_receiver(time) for time in RECEIVER}),
    }
    return Lines(
        "Throughput with a window of 3 MB against the processor time of a host",
        "processor time, us",
        "Mbps",
        series,
    )
