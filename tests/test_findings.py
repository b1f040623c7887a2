"""What the source of the Hadoop study saw on its screens (LY Corporation, JANOG, slides 34 and 53 to 79), put to the small cluster.

Seven findings, a test each; the checks and their bars are those by which the study judges its own runs.
"""

from collections.abc import Iterator

import pytest

import afflux
from afflux import batch
from afflux.batch import Point
from afflux.metrics import JOB_TIME
from afflux.studies import Check, files
from afflux.studies.hadoop import DESIGNS, findings

#: The client looks often, or job times would be whole tenths of a second.
QUIET = {"traffic[1].start": "3000s", "traffic[0].cluster.client_poll": "5ms"}
#: More is read at once than the uplinks' priority groups may hold when the ports below are paused.
MANY_READS = {"traffic[0].size": "6GB", "traffic[0].cluster.map_slots": 16, "traffic[0].cluster.containers_per_heartbeat": 16}
#: Management was not set up for ECN or DCTCP.
MIXED = {
    "host.transports.plain": {"stack": "linux", "congestion": "htcp", "receive_buffer": "6MiB"},
    "host.override": [{"match": "host9", "transport": "plain", "ecn": False}],
    "traffic[0].cluster.log_size": "5MB",
}


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


# The fixture simulates 17 jobs of 2 to 6 GB.
pytestmark = pytest.mark.validation


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, afflux.Result]:
    outcome = batch.run(list(_points()), tmp_path_factory.mktemp("findings"))
    assert outcome.failures == ()
    return {name: result for (name, _), result in outcome.results.items()}


def holds(checks: Iterator[Check], count: int) -> None:
    """All of a finding's checks, of which there are so many."""
    checks = list(checks)
    assert len(checks) == count
    assert [check for check in checks if not check.holds] == []


def test_q1_deep_drops_at_particular_moments_shallow_almost_always(runs):
    holds(findings.q1(runs), 2)


def test_q2_ecn_ends_queue_drops_and_high_queues_and_latencies(runs):
    assert findings.tail(runs["shallow"]) > 1_000
    holds(findings.q2(runs), 3)


def test_q2_where_frames_that_cannot_be_marked_pass_ecn_ends_all_drops(runs):
    # What is left with marks are early drops of acknowledgements: hardly a segment is sent again.
    assert runs["ecn"].summary["drops_by_reason"]["red"] > 0
    assert runs["ecn"].summary["retransmits"] < 0.01 * runs["shallow"].summary["retransmits"]
    assert runs["ecn-pass"].summary["drops"] == 0


def test_q3_with_ecn_far_fewer_pauses(runs):
    assert runs["pfc"].summary["pause_frames"] > 10_000
    holds(findings.q3(runs), 1)


def test_q4_pfc_alone_has_no_queue_drops_but_in_discards(runs):
    holds(findings.q4(runs), 2)
    pfc = runs["pfc"].summary
    assert pfc["drops"] == 0
    # Of frames from the spines, which do not stop when told to; servers do, and lose nothing.
    assert sum(count for (count,) in findings.rows(runs["pfc"], "in_discards", servers=False)) == pfc["in_discards"]
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
    holds(findings.q5(runs), 1)


def test_q6_server_ports_hold_20_mb_regularly_and_100_mb_at_times(runs):
    holds(findings.q6(runs), 2)


def test_q7_without_traffic_the_designs_do_not_differ(runs):
    holds(findings.q7(runs), 1)
    # Where the same job does differ once there is traffic.
    busy = [JOB_TIME.of(runs[design].summary) for design in ("deep", "shallow", "ecn", "dctcp")]
    assert max(busy) > 1.3 * min(busy)
