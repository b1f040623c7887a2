"""Sentences of the page about what the runs of `sensitivity` say, and all that the part `assumptions`
prints."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from .runs import SEEDS
from .sensitivity import (
    COMPARED,
    DEFAULT,
    NOT_SIMULATED,
    OBEY,
    REFERENCE,
    RING,
    Alternatives,
    Difference,
    Measured,
    Run,
    Runs,
    assumed_table,
    constant,
    difference,
    effective,
    measured_difference,
    missing,
    pause_table,
    read,
    signed,
    singles,
    table,
    touched,
    variants,
)


def discards(runs: Runs, seed: int = 1) -> str:
    """Returns the losses of slide 71 in the sort of 10 GB where hosts ignore PAUSE, next to those
    without PFC, as the page says them."""
    pfc, shallow = (runs[Run(DEFAULT, design, seed)] for design in ("pfc", REFERENCE))
    return (
        f"{pfc.in_discards:,} In Discards, {pfc.tail_drops or 'no'} queue drops and {pfc.pause_frames:,} PAUSE frames, "
        f"next to {shallow.tail_drops:,} queue drops without PFC"
    )


def _counted(
    runs: Runs, assumed: Alternatives, designs: Sequence[str]
) -> Iterator[tuple[Measured, ...]]:
    """Yields what these designs counted under an assumption, for each seed that all have."""
    found = [
        {
            run.seed: one
            for run, one in runs.items()
            if run[:2] == (effective(assumed, design), design)
        }
        for design in designs
    ]
    for seed in sorted(set.intersection(*({*one} for one in found))):
        yield tuple(one[seed] for one in found)


def _range(values: Sequence[int | None]) -> str:
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    return f"{low:,} to {high:,}" if low < high else f"{low:,}" if low else "none"


def ring_drops(runs: Runs) -> str:
    """Returns whether q5 holds where each node sends to the next, as the page says it."""
    found = list(_counted(runs, (RING,), (REFERENCE, "ecn", "dctcp")))
    held = sum(
        (ecn.tail_drops or 0) < (dctcp.tail_drops or 0) < (shallow.tail_drops or 0)
        for shallow, ecn, dctcp in found
    )
    without, htcp, dctcp = (_range([one[place].tail_drops for one in found]) for place in range(3))
    return (
        f"where each node sends to the next (25 Gbps), DCTCP has {dctcp} queue drops, H-TCP with ECN {htcp}, and the shallow buffer "
        f"without ECN {without} ({held} of {len(found)} seeds)"
    )


def lost_early(runs: Runs) -> str:
    """Returns what the shallow buffer loses with ECN, next to without, as the page says it."""
    found = list(_counted(runs, DEFAULT, (REFERENCE, "ecn")))
    early, more = (
        _range([ecn.early_drops for _, ecn in found]),
        _range([ecn.timeouts for _, ecn in found]),
    )
    tail, less = (
        _range([shallow.tail_drops for shallow, _ in found]),
        _range([shallow.timeouts for shallow, _ in found]),
    )
    return (
        f"with ECN {early} frames that are not ECN-capable are dropped early, next to {tail} queue drops without, "
        f"and connections have {more} time-outs instead of {less} ({len(found)} seeds)"
    )


def full_ports(runs: Runs) -> str:
    """Returns what the deep buffer costs where every port is full, by what hosts do, as the page says
    it."""

    def cost(*assumed: str) -> str:
        found = difference(runs, (RING, *assumed), "deep")
        return NOT_SIMULATED if found is None else f"{signed(found.median)} s"

    whole = difference(runs, (RING, "qdisc=pfifo", "committer=v1"), "deep")
    explained, count = (
        (NOT_SIMULATED, 0) if whole is None else (f"{whole.median:.1f}", len(whole.by_seed))
    )
    return (
        f"With every port full the deep buffer costs {cost()} with fq_codel at the hosts ({cost('timing=exact')} with exact timing), but "
        f"{cost('qdisc=pfifo')} with pfifo and {cost('qdisc=off')} without a discipline ({cost('timing=exact', 'qdisc=off')} with exact timing). "
        f"With version 1 of the committer besides it is {cost('committer=v1')} with fq_codel and {cost('qdisc=pfifo', 'committer=v1')} with pfifo. "
        f"So full ports, the FIFO of older kernels and the committer of Hadoop 2 together explain {explained} of the {measured_difference('deep'):.1f} s "
        f"({_NUMBERS[count]} seed{'s' if count > 1 else ''}). "
        "The source tells of none of the three, but its kernel is older than 4.2 (slide 48), when the kernel's own default was a FIFO."
    )


def _single(runs: Runs, design: str) -> dict[str, Difference]:
    """Returns what a design costs under each alternative that changes it, PAUSE and the ring
    aside."""
    return {
        assumed[0]: found
        for assumed in singles()
        if assumed not in ((OBEY,), (RING,)) and touched(assumed, design)
        if (found := difference(runs, assumed, design))
    }


def _moved(runs: Runs, design: str) -> Iterator[Difference]:
    """Yields what a design costs under each alternative with which a seed takes another time than
    under the study's own assumptions."""
    usual = difference(runs, DEFAULT, design)
    for found in _single(runs, design).values():
        if usual is None or usual.of_seeds(list(found.by_seed)).by_seed != found.by_seed:
            yield found


_NUMBERS = ("no", "one", "two", "three", "four", "five")


def made(runs: Runs) -> str:
    """Returns how many runs there are, and how many seeds the assumptions have, as the page says
    it."""
    there, needed = missing(runs)
    if there == needed:
        return f"All {needed} runs are made, {_NUMBERS[SEEDS]} seeds of each"
    counts = [
        len(found.by_seed)
        for assumed in variants()
        for design in COMPARED
        if (found := difference(runs, assumed, design))
    ]
    low, high = min(counts, default=0), max(counts, default=0)
    seeds = _NUMBERS[low] if low == high else f"{_NUMBERS[low]} to {_NUMBERS[high]}"
    return f"{there} of {needed} runs are made, {seeds} seeds of what is simulated"


def deciding(runs: Runs) -> str:
    """Returns what decides the cost of DCTCP, as the page says it."""

    def cost(assumed: str) -> str:
        found = difference(runs, (assumed,), "dctcp")
        return NOT_SIMULATED if found is None else f"{signed(found.median)} s"

    return (
        "What DCTCP costs hangs on the connections of the other traffic and on the size of frames, too: "
        f"{cost('connections=4')} with 4 connections from each node and {cost('connections=1')} with one instead of 16, "
        f"{cost('mtu=4500B')} with frames of 4500 B and {cost('mtu=1500B')} with 1500 B, but {cost('rate=25Gbps')} where each node sends 25 Gbps"
    )


def ranges(runs: Runs) -> str:
    """Returns between which medians the differences lie under single alternatives that change
    them, as the page says it."""
    deep, dctcp = ([one.median for one in _moved(runs, design)] for design in ("deep", "dctcp"))
    saves = [
        f"`{name}` ({signed(one.median)} s)"
        for name, one in _single(runs, "deep").items()
        if one.sign < 0
    ]
    return (
        f"In the medians of the other assumptions that change anything the deep buffer costs between {signed(min(deep))} and {signed(max(deep))} s, "
        f"and saves time only with {' and '.join(saves) or 'none'}; DCTCP costs between {signed(min(dctcp))} and {signed(max(dctcp))} s"
    )


def tables(file: Path) -> str:
    runs = read(file)
    return "\n\n".join(
        [
            assumed_table(),
            f"{made(runs)}.",
            pause_table(runs),
            table(runs),
            constant(runs),
            full_ports(runs),
            deciding(runs),
            ranges(runs),
        ]
    )
