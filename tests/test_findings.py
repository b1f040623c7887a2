"""Findings of the Hadoop study's source (LY Corporation, JANOG, slides 34 and 53 to 79), tested on
the small cluster.

There are seven findings with a test each. The checks and their tolerances are those that the study
applies to its own runs.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

import afflux
from afflux import batch
from afflux.batch import Point
from afflux.metrics import JOB_TIME
from afflux.studies import Check, files
from afflux.studies.hadoop import DESIGNS, findings

#: The client polls often, because otherwise job times would be multiples of 0.1 s.
QUIET = {"traffic[1].start": "3000s", "traffic[0].cluster.client_poll": "5ms"}
#: Simultaneous reads exceed the capacity of the uplinks' priority groups while the ports below are
#: paused.
MANY_READS = {
    "traffic[0].size": "6GB",
    "traffic[0].cluster.map_slots": 16,
    "traffic[0].cluster.containers_per_heartbeat": 16,
}
#: The management host uses neither ECN nor DCTCP.
MIXED = {
    "host.override": [{"match": "host9", "ecn": False}],
    "traffic[0].cluster.log_size": "5MB",
}


def _points() -> Iterator[Point]:
    small = files("hadoop") / "small.toml"
    for design in ("deep", "shallow", "ecn", "dctcp"):
        yield Point(design, small, DESIGNS[design], seed=1)
    yield Point(
        "ecn-pass", small, DESIGNS["ecn"] | {"switch.override[0].ecn.incapable": "pass"}, seed=1
    )
    for obeys in (True, False):
        name = "pfc-obeyed" if obeys else "pfc-ignored"
        yield Point(name, small, DESIGNS["pfc"] | {"host.honours_pause": obeys}, seed=1)
    for design in ("ecn_pfc", "pfc"):
        yield Point(design, small, DESIGNS[design] | MANY_READS, seed=1)
    for design in ("shallow", "ecn", "dctcp"):
        for seed in (1, 2):
            yield Point(f"{design}-mixed-{seed}", small, DESIGNS[design] | MIXED, seed)
    for design in DESIGNS:
        yield Point(f"{design}-quiet", small, DESIGNS[design] | QUIET, seed=1)


# The fixture simulates 19 jobs of 2 to 6 GB.
pytestmark = pytest.mark.validation


#: Records that the demo shows and no finding reads. They take a seventh of the processor time.
UNREAD = {"record.explain": False, "record.paths": False}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, afflux.Result]:
    points = [replace(point, set={**point.set, **UNREAD}) for point in _points()]
    outcome = batch.run(points, tmp_path_factory.mktemp("findings"))
    assert outcome.failures == ()
    return {name: result for (name, _), result in outcome.results.items()}


def holds(checks: Iterator[Check], count: int) -> None:
    """Checks that a finding has `count` checks and that all of them hold."""
    checks = list(checks)
    assert len(checks) == count
    assert [check for check in checks if not check.holds] == []


def test_q1_the_shallow_buffer_drops_almost_always(runs):
    _, shallow = findings.q1(runs)
    assert shallow.holds
    assert findings.tail(runs["deep"]) < findings.tail(runs["shallow"]) / 10


@pytest.mark.xfail(
    strict=True,
    reason="With send buffers as in Linux the deep buffer of the small cluster drops nothing (0 % of the intervals; some, under 10 %, are wanted). The "
    "study's sort of 10 GB has drops in 1.1 % of them.",
)
def test_q1_the_deep_buffer_drops_at_particular_moments(runs):
    deep, _ = findings.q1(runs)
    assert deep.holds


def test_q2_ecn_ends_queue_drops_and_high_queues_and_latencies(runs):
    assert findings.tail(runs["shallow"]) > 1_000
    holds(findings.q2(runs), 3)


def test_q2_where_frames_that_cannot_be_marked_pass_ecn_ends_all_drops(runs):
    # The remaining drops with marking are early drops of acknowledgements, so hardly any segment is
    # retransmitted.
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
    # The discarded frames come from the spines, which ignore PAUSE frames. Servers obey them and
    # lose nothing.
    assert (
        sum(count for (count,) in findings.rows(runs["pfc"], "in_discards", servers=False))
        == pfc["in_discards"]
    )
    assert runs["ecn_pfc"].summary["in_discards"] == 0


def test_in_discards_take_the_place_of_queue_drops_where_hosts_ignore_pause(runs):
    """Slide 71 has In Discards instead of Out Discards. This chose the study's default."""
    drops = findings.tail(runs["shallow"])
    ignored, obeyed = runs["pfc-ignored"].summary, runs["pfc-obeyed"].summary
    assert ignored["drops"] == obeyed["drops"] == obeyed["in_discards"] == 0
    assert 0.5 * drops < ignored["in_discards"] < drops
    readme = (files("hadoop") / "README.md").read_text(encoding="utf-8")
    said = f"{ignored['in_discards']:,} frames are discarded at the ingress then, next to {drops:,} queue drops without PFC"
    assert said in " ".join(readme.split())


def test_q5_where_traffic_without_ecn_shares_queues_dctcp_loses_more_than_htcp(runs):
    # DCTCP keeps its queues at the upper threshold, where every frame that cannot be marked is
    # dropped. H-TCP stays well below it most of the time. The loss is measured by retransmitted
    # segments, because with H-TCP most out discards are acknowledgements, which cannot be marked
    # either.
    lost = {
        design: sum(runs[f"{design}-mixed-{seed}"].summary["retransmits"] for seed in (1, 2))
        for design in ("shallow", "ecn", "dctcp")
    }
    assert 2 * lost["ecn"] < lost["dctcp"] < lost["shallow"]


@pytest.mark.xfail(
    strict=True,
    reason="With all hosts on DCTCP nothing is dropped here, where the source saw little change: no tail drops with 6 nodes at 13 or 16 Gbps, 4 at 25 Gbps, "
    "14 in a ring at 13 or 22 Gbps; 5617 with 6 nodes at 25 Gbps and one of three seeds (16345 without ECN, none with H-TCP). On the study's cluster it "
    "comes out where each node sends 25 Gbps to the next (results/assumptions.csv).",
)
def test_q5_dctcp_alone_drops_too(runs):
    holds(findings.q5(runs), 1)


def test_q6_server_ports_hold_20_mb_regularly_and_100_mb_at_times(runs):
    holds(findings.q6(runs), 2)


def test_q7_without_traffic_the_designs_do_not_differ(runs):
    holds(findings.q7(runs), 1)
    # The same job shows a difference once there is other traffic.
    busy = [JOB_TIME.of(runs[design].summary) for design in ("deep", "shallow", "ecn", "dctcp")]
    assert max(busy) > 1.3 * min(busy)
