"""Until when a run is shown: a few stragglers that wait in time-outs would leave most of a time axis blank."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

#: A moment, of so many in the run, is quiet if it has less than this share of the bytes and queues of the busiest one.
MOMENTS, QUIET = 300, 0.05
#: A view ends where it gets quiet for longer than everything before, if more than so much of the bytes has been sent by then.
SENT = 0.5
#: A timeline ends when so many of its bars have ended, if that is within this share of the time: bars reach into the rest.
BARS_PERCENT, BARS_WORTH = 95, 0.5


def until(times: Sequence[int], sent: Sequence[int], queued: Sequence[int]) -> int | None:
    """The sample with which a view ends; `None`: the whole run is shown. By sample: its time, bytes sent, and the length of the queues."""
    shown = len(times)
    # What is left may be mostly blank again, on a finer scale.
    while (cut := _cut(times[:shown], sent, queued)) is not None:
        shown = cut
    return times[shown - 1] if shown < len(times) else None


def _cut(times: Sequence[int], sent: Sequence[int], queued: Sequence[int]) -> int | None:
    """How many samples are before it gets quiet."""
    ends = _moments(times)
    spans = list(zip([0, *ends], ends, strict=False))
    bytes, queues = [sum(sent[first:last]) for first, last in spans], [max(queued[first:last], default=0) for first, last in spans]
    least_bytes, least_queue = QUIET * max(bytes, default=0), QUIET * max(queues, default=0)
    busy = [at for at, (of, queue) in enumerate(zip(bytes, queues, strict=True)) if of > least_bytes or queue > least_queue]
    passed = list(accumulate(bytes))
    for at, following in pairwise([*busy, len(spans)]):
        before = times[ends[at] - 1]
        if times[ends[following - 1] - 1] - before > before and passed[at] > SENT * sum(sent):
            return ends[at]
    return None


def _moments(times: Sequence[int]) -> list[int]:
    """Behind the last sample of each moment; moments without a sample are left out."""
    length = max(times[-1] / MOMENTS, 1)
    return [place + 1 for place in range(len(times)) if place + 1 == len(times) or int(times[place] / length) != int(times[place + 1] / length)]


def bars(finishes: Sequence[int], end: int) -> int | None:
    """When most bars had ended; `None`: all of the time is shown."""
    last = sorted(finishes)[(len(finishes) * BARS_PERCENT - 1) // 100] if finishes else end
    return last if last <= BARS_WORTH * end else None
