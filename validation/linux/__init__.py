"""Reader of real Linux TCP over a token bucket: `linux/*.csv`.

    host_i — r1 — r2 — host_j        bottleneck r1→r2 at RATE with the queue Q, delay RTT/2 each way

Columns and README of the reference are reproduced as follows:

- Frames as a queueing discipline counts them: 1448 B of payload in 1514 B, acknowledgements of 66
  B, no gap.
- A token bucket hands a frame on at the *start* of its slot. Here the transmission of a frame takes
  its slot. So the slot of a frame (and that of an acknowledgement, which takes the reverse
  direction of our link) is subtracted from the propagation delay. The backlog does not contain the
  frame in transmission (`queue_length = "before_transmission"`).
- W is SO_RCVBUF. The kernel doubles it, and uses the share `len/truesize` of a full frame of this
  memory as window (tcp_measure_rcv_mss, tcp_win_from_space; in 256ths). 1448 B in a frame of 2416 B
  of memory are 153/256, so the window is 2·W·153/256 = 1.195 W. This explains every `snd_wnd` in
  raw/: from 64 KB to 32 MB it is this value, minus the memory of the partial segment that filled
  the window (600 to 1,000 B).
- A RED queue: `max` and `min` as given; the weight of the average as `tc` derives it from `burst`
  (tc_red_eval_ewma). The token bucket above it looks (red_peek, which asks the FIFO inside) before
  it takes a frame. So RED is never found empty, and its average never decays with time: the first
  frames after a pause still see the average that the last burst left. `probability 1` becomes 0.73
  at `max`, 1 above.
- Parallel connections begin at least a round trip apart: at 300 ms the raw files show the eighth
  established at 2.4 s.
- CPU work takes no time there, but every reading of the virtual clock advances it by 256 ns, so a
  sender does not send everything at one instant. raw/c_reno_dt64k_n1.q shows bursts of 46 frames
  (68,572 B) that have all arrived while at most 10 have been sent on, and a limit of 64,000 B drops
  none of them. So a frame takes at least 36 us / 46, which is four readings or more. Here it takes
  four: links between hosts and r1 carry a frame of 1514 B in 1,024 ns.
- Hosts do not begin at the same time. In b_*_n2 the handshake of one took 500 us. The handshake of
  the other, behind the first one's slow start, took 1,595 us with Reno and 1,199 us with CUBIC
  (`srtt_us` of the first row in raw/). A lone flow of ours has a queue of 1,095 and 699 us when a
  SYN comes 3.5 ms after its start. With eight hosts both the order and the times differ from run to
  run. Here they are spread evenly over the same time.
- The clock ticks 1,000 times a second. Marks with CUBIC come 35.5 ms apart (its wait of HZ/32 and
  the round trip) and never on a coarser grid. The shortest repair of a lost tail in c_incast takes
  4.6 ms, where a tick of 4 or 10 ms would allow 2 to 4 or 10.
- `rmem` and `wmem` are up to 64 MB: windows have no limit other than W, and send buffers this one.
- half2_mbps counts bytes acknowledged from T/2 to T, which were received half a round trip earlier.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..bars import Bars
from ..case import Case, Row, Unreadable, read_csv
from . import bulk, incast, mptcp, network

#: Cases that compare several runs.
derived = incast.derived


def cases(folder: Path, bars: Bars) -> Iterator[Case]:
    files = sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and re.search(r"\.csv(\.gz)?$", path.name)
    )
    readable: dict[Path, list[Row]] = {}
    for path in files:
        reference = f"{network.SET}.{path.name.split('.')[0]}"
        reader = next((reader for start, reader in READERS if path.name.startswith(start)), None)
        if reader is None:
            yield Case(
                reference,
                path.name,
                problem="no reader for this file yet",
                bars=bars.of(network.SET, path.name),
            )
            continue
        try:
            readable[path] = read_csv(path, reader.columns)
        except Unreadable as error:
            yield Case(reference, path.name, problem=str(error))
    for path, rows in readable.items():
        reader = next(reader for start, reader in READERS if path.name.startswith(start))
        stem = path.name.split(".")[0]
        # Files of one kind describe the same cells.
        related = [
            row
            for other in readable
            if bars.section(network.SET, other.name) == bars.section(network.SET, path.name)
            for row in readable[other]
        ]
        yield from reader.read(f"{network.SET}.{stem}", stem, rows, related, bars)


class Reader:
    def __init__(self, read: Any, columns: str) -> None:
        self.read, self.columns = read, columns.split()


#: Readers by the beginning of a file's name, as the README of the reference lists them.
READERS = [
    (
        "a5_",
        Reader(
            bulk.ssthresh_cache,
            "name cc tcp_no_metrics_save tcp_no_ssthresh_metrics_save conn avg_mbps half2_mbps",
        ),
    ),
    ("a", Reader(bulk.bulk, "name RATE RTT Q CC T half2_mbps")),
    ("b_", Reader(bulk.bulk, "name RATE RTT Q CC T half2_mbps q_mean_B")),
    (
        "c_",
        Reader(incast.incast, "name config N cc queue rto_min block rounds goodput_mbps mean_ms"),
    ),
    (
        "d_mptcp_bulk",
        Reader(mptcp.mptcp_bulk, "name proto cc paths avg_mbps half2_mbps path_bytes"),
    ),
    ("d_mptcp_fct", Reader(mptcp.mptcp_fct, "name proto cc paths p50_ms")),
    ("e_", Reader(bulk.bulk, "name RATE RTT Q CC T half2_mbps")),
]
