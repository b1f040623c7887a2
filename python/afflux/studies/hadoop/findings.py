"""Checks seven findings that the source saw on its screens (slides 34 and 53 to 79) on results of
the designs.

They are not about job times but about queues, counters of drops, and pauses. Limits follow from the
words ("almost always": four of five intervals), not from the simulation. The same checks judge the
study's own runs and, in tests/test_findings.py, those of a small cluster.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ...metrics import JOB_TIME
from ...results.result import Result
from .. import Check

#: Results by design; `<design>-quiet` is the design without traffic. A finding skips designs that
#: are missing.
Runs = Mapping[str, Result]

#: Interval in ns over which the counters are evaluated.
INTERVAL = 100_000_000


def rows(result: Result, *columns: str, servers: bool = True) -> Iterator[tuple[Any, ...]]:
    """Yields rows of whole ports of the compute leaf, either those to servers or those to
    spines."""
    for queue, peer, *values in zip(
        *(result.ports.column(name) for name in ("queue", "peer", *columns)), strict=True
    ):
        if queue == -1 and peer.startswith("host") == servers:
            yield tuple(values)


def dropping(result: Result) -> float:
    """Returns the share of intervals in which a port to a server dropped frames."""
    by_interval: dict[int, int] = {}
    for time, drops in rows(result, "time_ns", "drops"):
        interval = (time - 1) // INTERVAL
        by_interval[interval] = by_interval.get(interval, 0) + drops
    return sum(map(bool, by_interval.values())) / len(by_interval)


def highest(result: Result, column: str) -> int:
    return max(value for (value,) in rows(result, column))


def over(result: Result, megabytes: int) -> float:
    """Returns the share of intervals and server ports with more than this many MB in the queue."""
    held = [most for (most,) in rows(result, "queue_bytes_max")]
    return sum(most > megabytes * 1_000_000 for most in held) / len(held)


def tail(result: Result) -> int:
    """Returns the number of tail drops, which the source's screens call Queue Drops (slide 56)."""
    return result.summary["drops_by_reason"]["buffer"]


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"


def q1(runs: Runs) -> Iterator[Check]:
    if "deep" in runs:
        share = dropping(runs["deep"])
        yield Check(
            "q1: the deep buffer drops at particular moments (intervals with drops)",
            0 < share < 0.1,
            _per_cent(share),
            "some, under 10 %",
        )
    if "shallow" in runs:
        share = dropping(runs["shallow"])
        yield Check("q1: the shallow one almost always", share > 0.8, _per_cent(share), "over 80 %")


def q2(runs: Runs) -> Iterator[Check]:
    if "ecn" not in runs or "shallow" not in runs:
        return
    shallow, ecn = runs["shallow"], runs["ecn"]
    yield Check(
        "q2: ECN removes nearly all queue drops",
        tail(ecn) < 0.02 * tail(shallow),
        tail(ecn),
        f"under 2 % of {tail(shallow):,}",
    )
    for column, what in (
        ("queue_bytes_max", "high queues, bytes"),
        ("latency_ns_max", "high latencies, ns"),
    ):
        before, after = highest(shallow, column), highest(ecn, column)
        yield Check(f"q2: and {what}", after < 0.5 * before, after, f"under half of {before:,}")


def q3(runs: Runs) -> Iterator[Check]:
    if "pfc" not in runs or "ecn_pfc" not in runs:
        return
    alone, both = (
        sum(sent for (sent,) in rows(runs[design], "pause_frames_tx"))
        for design in ("pfc", "ecn_pfc")
    )
    yield Check(
        "q3: with ECN far fewer pauses than with PFC alone",
        both < 0.1 * alone,
        both,
        f"under 10 % of {alone:,}",
    )


def q4(runs: Runs) -> Iterator[Check]:
    if "pfc" not in runs:
        return
    pfc = runs["pfc"]
    yield Check("q4: PFC alone has no queue drops", tail(pfc) == 0, tail(pfc), 0)
    discards = pfc.summary["in_discards"]
    yield Check("q4: but In Discards", discards > 0, discards, "some")


def q5(runs: Runs) -> Iterator[Check]:
    if not {"shallow", "ecn", "dctcp"} <= set(runs):
        return
    shallow, ecn, dctcp = (tail(runs[design]) for design in ("shallow", "ecn", "dctcp"))
    yield Check(
        "q5: DCTCP has more queue drops than H-TCP with ECN, fewer than without",
        ecn < dctcp < shallow,
        dctcp,
        f"{ecn:,} to {shallow:,}",
    )


def q6(runs: Runs) -> Iterator[Check]:
    if "deep" in runs:
        regular, rare = over(runs["deep"], 20), over(runs["deep"], 100)
        yield Check(
            "q6: ports to servers hold over 20 MB regularly",
            regular > 0.1,
            _per_cent(regular),
            "over 10 % of intervals",
        )
        yield Check(
            "q6: and over 100 MB at times",
            0 < rare < regular,
            _per_cent(rare),
            f"some, under {_per_cent(regular)}",
        )


def q7(runs: Runs) -> Iterator[Check]:
    quiet = {
        name: JOB_TIME.of(result.summary)
        for name, result in runs.items()
        if name.endswith("-quiet")
    }
    times = {name: time for name, time in quiet.items() if time}
    if "deep-quiet" in times and len(times) > 1:
        most = max(abs(time / times["deep-quiet"] - 1) for time in times.values())
        yield Check(
            "q7: without traffic the designs do not differ",
            most <= 0.02,
            _per_cent(most),
            "at most 2 %",
        )


ALL = (q1, q2, q3, q4, q5, q6, q7)
