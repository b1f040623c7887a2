"""Reader of equal flows behind one drop-tail port: `hosts/*.csv`. It compares how hosts share a
link with real ones, and shows the causes.

`real-linux.csv` has real Linux in real time, `exact-time.csv` a real kernel in exact virtual time
without noise. CAUSE.md of the raw reference explains both. `measured-linux.csv` and
`measured-qdisc.csv` were measured for this repository and are only here (evidence/hosts-flows.sh
and hosts-qdisc.sh). Real runs differ from each other, so distributions are compared: ten seeds of
afflux, which draw the noise and the starts, with two to five real runs. The tolerances are in this
package, not in bars.toml:

- In every seed the largest share is at most 45 % (BBR: 60 %) and the smallest at least 10 %. The
  median of the largest share is at most 35 % (not for BBR).
- Retransmissions are within 15 % of real Linux, per 1,000 delivered segments. The absolute number
  is informational: late token buckets give the real flows 89 to 91 Mbps of 95.6. Real runs with BBR
  differ by a factor of twenty, so there the tolerance is their range, widened by 15 %.
- CUBIC next to BBR: the mean share of each kind is within 5 points.
- Outcast: in nine of ten seeds the near flow has less than 0.3 of the far flows' mean, and the far
  ones are within a factor of 2 of each other.
- Exact time: the largest share is within 10 points, and in the outcast also the near flow's share.
- `rates`: the first tolerances at 1, 10 and 25 Gbps. No real machine was measured at these rates,
  so "theirs" is real Linux at 100 Mbps.
- `measured-linux`: N equal flows have the first tolerances times 4/N. With unequal round trips the
  near pair's share is within 5 points and retransmissions are within 15 %. With step marking, marks
  per 1,000 segments are within 15 % and goodput is within 5 %, as with real Linux elsewhere.
- `measured-qdisc`: requests next to bulk flows of the same host. Their median is within 15 %, as
  for MPTCP's requests, their 90th and 99th percentiles are within 25 %, and the goodput of bulk
  flows is within 5 %.

The README of the reference is reproduced as follows:

- A star (for the outcast two switches) of links with 20 us, at the rate of the senders' token
  buckets. Frames have 1,514 B without a gap.
- Real Linux: `[host]` and its transport are the defaults, including `timing`. Only below a token
  bucket there is no other discipline (`qdisc = "off"`). A token bucket hands a frame on at the
  start of its slot, so the queue does not contain the frame in transmission. Limits are in bytes.
- Exact time: `timing = "exact"`, ticks of 10 ms (HZ = 100). Limits are in frames, but in bytes at
  the outcast's first switch, which connection requests bypass there. Delays `dly` and `dly2` are
  those of links in both directions. Clocks `ppm` are rates of the senders' directions of links.
- `jit`, a uniform delay of each frame on its way to the switch that keeps the order: `timing.send`
  delays a frame that finds the transmitter idle (nearly every frame while a flow has a part of its
  line). All other parts of `timing` are zero, also `gap`: it would slow down a flow that fills its
  line, which jitter does not.
- `measured-*`: as for real Linux. Where the kernel ran in virtual time, the receiver's replies were
  55 to 105 us late (uniform, in order; 80 us for requests), in place of the links' delays and of
  the interrupt noise that afflux has by default.
- A marking step in time, CoDel's `ce_threshold`: a step at the number of bytes that the link sends
  in this time.
- `tierand`, simultaneous frames in random order: afflux always does this. It never orders them by
  host, forward or reversed, so such runs are named but not run.
"""

from collections.abc import Iterator
from pathlib import Path

from ..bars import Bars
from ..case import Case, Unreadable, read_csv
from . import exact, flows, measured, qdisc, real

#: Files measured-*.csv, which are not among the raw runs.
OWN = {
    name: Path(__file__).parents[1] / "reference" / flows.SET / name
    for name in ("measured-linux.csv", "measured-qdisc.csv")
}
RAW = Path(__file__).parents[3] / "shared" / "reference" / flows.SET


def cases(folder: Path, bars: Bars) -> Iterator[Case]:
    for name, read, columns in (
        ("real-linux", real.real, "case congestion repetition flow mbps"),
        ("exact-time", exact.exact, "run host bytes"),
        (
            "measured-linux",
            measured.measured,
            "case clock congestion repetition flow mbps retransmissions marks_at_the_port",
        ),
        (
            "measured-qdisc",
            qdisc.queues,
            "clock qdisc bulk connection repetition median_ms p90_ms p99_ms bulk_mbps",
        ),
    ):
        path = folder / f"{name}.csv"
        if path.name in OWN and folder.resolve() == RAW.resolve():
            path = OWN[path.name]
        if not path.is_file():
            continue
        try:
            yield from read(read_csv(path, columns.split()), bars)
        except Unreadable as error:
            yield Case(f"{flows.SET}.{name}", path.name, problem=str(error))
