"""What the source of the Hadoop study saw on its screens (LY Corporation, JANOG, slides 34 and 53 to 79), put to the small cluster.

Seven findings, a test each: not how long jobs take, but what queues, counters of drops and pauses do. Bars are what the words say ("almost always":
four intervals of five), not what the simulation gives.
"""

from collections.abc import Iterator
from typing import Any

import pytest

import afflux
from afflux import batch
from afflux.batch import Point
from afflux.metrics import JOB_TIME
from afflux.studies import files
from afflux.studies.hadoop import DESIGNS

#: The client looks often, or job times would be whole tenths of a second.
QUIET = {"traffic[1].start": "3000s", "traffic[0].cluster.client_poll": "5ms"}
#: More is read at once than the uplinks' priority groups may hold when the ports below are paused.
MANY_READS = {"traffic[0].size": "3GB", "traffic[0].cluster.map_slots": 8}
#: Data nodes and management were not set up for ECN or DCTCP, and get the jobs' logs.
MIXED = {
    "host.transports.plain": {"stack": "linux", "congestion": "htcp", "receive_buffer": "6MiB"},
    "host.override": [{"match": ["host6", "host7", "host8", "host9"], "transport": "plain", "ecn": False}],
    "traffic[0].cluster.log_size": "5MB",
}
#: Of telemetry, ns.
INTERVAL = 100_000_000


def _points() -> Iterator[Point]:
    small = files("hadoop") / "small.toml"
    for design in ("deep", "shallow", "ecn", "dctcp"):
        yield Point(design, small, DESIGNS[design], seed=1)
    yield Point("ecn-pass", small, DESIGNS["ecn"] | {"switch.override[0].ecn.incapable": "pass"}, seed=1)
    for design in ("ecn_pfc", "pfc"):
        yield Point(design, small, DESIGNS[design] | MANY_READS, seed=1)
    for design in ("shallow", "ecn", "dctcp"):
        for seed in (1, 2):
            yield Point(f"{design}-mixed-{seed}", small, DESIGNS[design] | MIXED, seed)
    for design in DESIGNS:
        yield Point(f"{design}-quiet", small, DESIGNS[design] | QUIET, seed=1)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, afflux.Result]:
    outcome = batch.run(list(_points()), tmp_path_factory.mktemp("findings"))
    assert outcome.failures == ()
    return {name: result for (name, _), result in outcome.results.items()}


def rows(result: afflux.Result, *columns: str, servers: bool = True) -> Iterator[tuple[Any, ...]]:
    """Whole ports of the compute leaf, those to servers or those to spines."""
    for queue, peer, *values in zip(*(result.ports.column(name) for name in ("queue", "peer", *columns)), strict=True):
        if queue == -1 and peer.startswith("host") == servers:
            yield tuple(values)


def dropping(result: afflux.Result) -> float:
    """The share of intervals in which a port to a server dropped something."""
    by_interval: dict[int, int] = {}
    for time, drops in rows(result, "time_ns", "drops"):
        interval = (time - 1) // INTERVAL
        by_interval[interval] = by_interval.get(interval, 0) + drops
    return sum(map(bool, by_interval.values())) / len(by_interval)


def highest(result: afflux.Result, column: str) -> int:
    return max(value for (value,) in rows(result, column))


def full(result: afflux.Result) -> int:
    """Tail drops, which the source's screens call Queue Drops."""
    return sum(count for reason, count in result.summary["drops_by_reason"].items() if reason != "red")


def test_q1_deep_drops_at_particular_moments_shallow_almost_always(runs):
    assert 0 < dropping(runs["deep"]) < 0.1
    assert dropping(runs["shallow"]) > 0.8


def test_q2_ecn_ends_queue_drops_and_high_queues_and_latencies(runs):
    shallow, ecn = runs["shallow"], runs["ecn"]
    assert full(shallow) > 1_000
    assert full(ecn) < 0.02 * full(shallow)
    for column in ("queue_bytes_max", "latency_ns_max"):
        assert highest(ecn, column) < 0.5 * highest(shallow, column), column


def test_q2_where_frames_that_cannot_be_marked_pass_ecn_ends_all_drops(runs):
    # What is left with marks are early drops of acknowledgements: hardly a segment is sent again.
    assert runs["ecn"].summary["drops_by_reason"]["red"] > 0
    assert runs["ecn"].summary["retransmits"] < 0.01 * runs["shallow"].summary["retransmits"]
    assert runs["ecn-pass"].summary["drops"] == 0


def test_q3_with_ecn_far_fewer_pauses(runs):
    pauses = {design: sum(sent for (sent,) in rows(runs[design], "pause_frames_tx")) for design in ("pfc", "ecn_pfc")}
    assert pauses["pfc"] > 10_000
    assert pauses["ecn_pfc"] < 0.1 * pauses["pfc"]


def test_q4_pfc_alone_has_no_queue_drops_but_in_discards(runs):
    pfc = runs["pfc"].summary
    assert pfc["drops"] == 0
    assert pfc["in_discards"] > 0
    # Of frames from the spines, which do not stop when told to; servers do, and lose nothing.
    assert sum(count for (count,) in rows(runs["pfc"], "in_discards", servers=False)) == pfc["in_discards"]
    assert runs["ecn_pfc"].summary["in_discards"] == 0


def test_q5_where_traffic_without_ecn_shares_queues_dctcp_loses_more_than_htcp(runs):
    # DCTCP holds its queues at the upper threshold all the time, where every frame that cannot be marked is dropped; H-TCP goes well below it.
    # Segments, by their retransmissions: with H-TCP acknowledgements cannot be marked either, so that out discards are mostly those.
    lost = {design: sum(runs[f"{design}-mixed-{seed}"].summary["retransmits"] for seed in (1, 2)) for design in ("shallow", "ecn", "dctcp")}
    assert 2 * lost["ecn"] < lost["dctcp"] < lost["shallow"]


@pytest.mark.xfail(
    strict=True,
    reason="With all hosts on DCTCP nothing is dropped here, where the source saw little change: no tail drops with 6 nodes at 13 or 16 Gbps, 4 at 25 Gbps, "
    "14 in a ring at 13 or 22 Gbps; 5617 with 6 nodes at 25 Gbps and one of three seeds (16345 without ECN, none with H-TCP).",
)
def test_q5_dctcp_alone_drops_too(runs):
    assert full(runs["dctcp"]) > full(runs["ecn"])


def test_q6_server_ports_hold_20_mb_regularly_and_100_mb_at_times(runs):
    held = [most for (most,) in rows(runs["deep"], "queue_bytes_max")]
    over = {megabytes: sum(most > megabytes * 1_000_000 for most in held) / len(held) for megabytes in (20, 100)}
    assert over[20] > 0.1
    assert 0 < over[100] < over[20]


def test_q7_without_traffic_the_designs_do_not_differ(runs):
    quiet, busy = ({design: JOB_TIME.of(runs[design + ending].summary) for design in ("deep", "shallow", "ecn", "dctcp")} for ending in ("-quiet", ""))
    for design in DESIGNS:
        assert JOB_TIME.of(runs[f"{design}-quiet"].summary) == pytest.approx(quiet["deep"], rel=0.02), design
    # Where the same job does differ once there is traffic.
    assert max(busy.values()) > 1.3 * min(busy.values())
