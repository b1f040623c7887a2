"""`afflux plan`: windows, buffers and connections for one path."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from rich.console import RenderableType
from rich.text import Text

from .. import spelling
from ..estimates import planner
from ..terminal.console import failures, print_json, show
from ..terminal.drawing import table
from ..words.text import duration, rate, size, time
from .options import EXECUTION, Json, Panel, starting

EXAMPLES = (
    "afflux plan --rate 1Gbps --rtt 300ms --loss 1e-6 --memory 256MB",
    "afflux plan --rate 100Mbps --rtt 600ms --congestion htcp --formula-only",
)

PATH, HOSTS = Panel("Path"), Panel("Hosts")

#: Smallest probability of a loss besides 0. No link is measured to lose fewer frames, and with much
#: smaller ones the limit that losses set is no finite number.
_LEAST_LOSS = 1e-18

_RATES = {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12}
_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_SIZES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_SIZES |= {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}


def _shown(value: float, units: Mapping[str, float]) -> str:
    """Formats a value in the unit that gives the shortest text, and of equally short ones in the
    largest unit. The number is at least 1."""
    fitting = [(unit, factor) for unit, factor in units.items() if factor <= value]
    texts = [(f"{value / factor:.15g}{unit}", factor) for unit, factor in fitting]
    return min(texts, key=lambda found: (len(found[0]), -found[1]))[0]


def _quantity(
    option: str, text: str, units: Mapping[str, float], least: float, most: float, like: str
) -> float:
    """Parses a quantity with its unit. Raises `ValueError` that names the option, the value found
    and what is allowed."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([A-Za-z]+)\s*", text)
    if not found or found[2] not in units:
        raise ValueError(
            f"{option} {text}: write a number and a unit of {', '.join(units)}, as in {like}"
        )
    value = float(found[1]) * units[found[2]]
    # The product is rounded: 100us must not be below 1e-4 s.
    if not least * (1 - 1e-12) <= value <= most * (1 + 1e-12):
        raise ValueError(f"{option} {text}: write {_shown(least, units)} to {_shown(most, units)}")
    return value


def _mtu(text: str) -> int:
    """Parses a whole number of bytes with or without a unit. Raises `ValueError`."""
    least, most = 576, 9_216
    written = f"{text.strip()}B" if text.strip().isdecimal() else text
    bytes = _quantity("--mtu", written, _SIZES, 0, math.inf, "9000B")
    if not least <= bytes <= most or bytes != int(bytes):
        raise ValueError(f"--mtu {text}: write {least} to {most} bytes, as in 9000B")
    return int(bytes)


def plan(
    rate_: Annotated[
        str,
        PATH.option("--rate", "RATE", "Rate of the slowest link, as in 1Gbps."),
    ],
    rtt: Annotated[
        str,
        PATH.option("--rtt", "TIME", "Round-trip time without queues, as in 300ms."),
    ],
    loss: Annotated[
        str,
        PATH.option(
            "--loss", "P", "Probability that a frame is lost at random: 0, or 1e-18 to 0.2."
        ),
    ] = "0",
    mtu: Annotated[
        str,
        PATH.option("--mtu", "SIZE", "Largest IP packet, 576 to 9216 bytes, as in 9000B."),
    ] = "1500B",
    queue: Annotated[
        str | None,
        PATH.option(
            "--queue",
            "SIZE",
            "Queue of the slowest link, as in 4MB.",
            show_default="rate times round-trip time",
        ),
    ] = None,
    memory: Annotated[
        str,
        HOSTS.option("--memory", "SIZE", "Memory of each host for socket buffers."),
    ] = "64MB",
    congestion: Annotated[
        str,
        HOSTS.option(
            "--congestion",
            "NAME",
            f"Congestion control: {', '.join(planner.CONGESTION)}.",
            autocompletion=starting(*planner.CONGESTION),
        ),
    ] = "cubic",
    simulate: Annotated[
        bool,
        EXECUTION.flag(
            "--simulate/--formula-only",
            "Check the proposal with a simulation, or only use formulas.",
        ),
    ] = True,
    as_json: Json = False,
) -> None:
    """Propose windows, socket buffers and a number of connections for a path, and predict the throughput by formula and by simulation."""
    with failures():
        try:
            share = float(loss)
        except ValueError:
            share = -1.0
        if not (share == 0 or _LEAST_LOSS <= share <= 0.2):
            raise ValueError(
                f"--loss {loss}: write 0, or a probability from {_LEAST_LOSS:g} to 0.2, as in 1e-6"
            )
        largest = _mtu(mtu)
        if congestion not in planner.CONGESTION:
            raise LookupError(
                f"--congestion: {spelling.unknown('congestion control', congestion, planner.CONGESTION)}"
            )
        path = planner.Path(
            rate=_quantity("--rate", rate_, _RATES, 1e5, 4e11, "1Gbps"),
            rtt=_quantity("--rtt", rtt, _TIMES, 1e-4, 2.0, "300ms"),
            loss=share,
            memory=_quantity("--memory", memory, _SIZES, 4_096, 1e12, "256MB"),
            mtu=largest,
            congestion=congestion,
            queue=None
            if queue is None
            else _quantity("--queue", queue, _SIZES, 2 * (largest + 14), 1e12, "4MB"),
        )
        proposed = planner.plan(path)
        if simulate:
            proposed = planner.confirmed(proposed)
        print_json(proposed.to_dict()) if as_json else show(_parts(proposed))


def _parts(proposed: planner.Plan) -> Iterator[RenderableType]:
    path = proposed.path
    count = f"{proposed.connections} connection{'s' if proposed.connections > 1 else ''}"
    each = (
        ""
        if path.congestion == "nack"
        else f", each with a window of {size(proposed.window)} (socket buffers of {size(proposed.buffer)})"
    )
    yield Text(f"{count}{each}", style="bold")
    made = table("", "limit", "throughput", "formula", words=[-1])
    name, _ = proposed.expected
    for limit, formula in proposed.limits.items():
        made.add_row(f"{limit}{' *' if limit == name else ''}", rate(formula.bps), formula.source)
    yield made
    yield f"* the lowest limit, and so the expected throughput. Windows are open after about {time(proposed.opening * 1e9, 3)} without losses."
    if found := proposed.simulated:
        seeds = f", mean of {found.seeds} seeds" if found.seeds > 1 else ""
        again = f"{found.retransmits:,} segments sent again, {found.timeouts:,} time-outs"
        again += f" in all {found.seeds} runs" if found.seeds > 1 else ""
        settled, mean = rate(found.settled_bps), rate(found.mean_bps)
        yield f"Simulated for {duration(found.seconds)}{seeds}: {settled} in the second half, {mean} from the start on ({again})."
    else:
        yield "Not simulated."
    for note in proposed.notes:
        yield f"note: {note}"
    yield ""
    for key, value in proposed.sysctl.items():
        yield f"{key} = {value}"
