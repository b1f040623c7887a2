"""Decides up to which time a run is shown. A few stragglers that wait for time-outs would otherwise
leave most of a time axis blank."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

#: Number of intervals into which a run is divided, and the share of the busiest interval's bytes
#: and queues below which an interval is quiet.
MOMENTS, IDLE_SHARE = 300, 0.05
#: A view ends where a quiet period is longer than everything before it, if more than this share of
#: the bytes has been sent by then.
SENT = 0.5
#: A timeline ends when this percentage of its bars have ended, if that happens within this share of
#: the time. Later bars reach into the rest.
BARS_PERCENT, BARS_WORTH = 95, 0.5


def until(times: Sequence[int], sent: Sequence[int], queued: Sequence[int]) -> int | None:
    """Returns the time of the last sample of the view; `None` if the whole run is shown. Arguments
    per sample: time, bytes sent, and length of the queues."""
    shown = len(times)
    # The remaining view may again be mostly blank, on a finer scale.
    while (cut := _cut(times[:shown], sent, queued)) is not None:
        shown = cut
    return times[shown - 1] if shown < len(times) else None


def _cut(times: Sequence[int], sent: Sequence[int], queued: Sequence[int]) -> int | None:
    """Returns the number of samples before the quiet period; `None` if there is none."""
    ends = _moments(times)
    spans = list(zip([0, *ends], ends, strict=False))
    bytes, queues = (
        [sum(sent[first:last]) for first, last in spans],
        [max(queued[first:last], default=0) for first, last in spans],
    )
    least_bytes, least_queue = (
        IDLE_SHARE * max(bytes, default=0),
        IDLE_SHARE * max(queues, default=0),
    )
    busy = [
        at
        for at, (of, queue) in enumerate(zip(bytes, queues, strict=True))
        if of > least_bytes or queue > least_queue
    ]
    passed = list(accumulate(bytes))
    for at, following in pairwise([*busy, len(spans)]):
        before = times[ends[at] - 1]
        if times[ends[following - 1] - 1] - before > before and passed[at] > SENT * sum(sent):
            return ends[at]
    return None


def _moments(times: Sequence[int]) -> list[int]:
    """Returns, for each interval that has samples, the index after its last sample."""
    length = max(times[-1] / MOMENTS, 1)
    return [
        place + 1
        for place in range(len(times))
        if place + 1 == len(times) or int(times[place] / length) != int(times[place + 1] / length)
    ]


def bars(finishes: Sequence[int], end: int) -> int | None:
    """Returns the time at which most bars have ended; `None` if the whole time is shown."""
    last = sorted(finishes)[(len(finishes) * BARS_PERCENT - 1) // 100] if finishes else end
    return last if last <= BARS_WORTH * end else None
