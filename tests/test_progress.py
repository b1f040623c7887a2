"""The progress of a run counts the same flows as `afflux check`."""

from types import SimpleNamespace

import pytest

from afflux import templates
from afflux._core import parse
from afflux.estimates.checking import check
from afflux.terminal.progress import Pace

TEMPLATES = {template.name: template.text for template in templates.every()}


def progress(now_ns: int, finished: int) -> SimpleNamespace:
    return SimpleNamespace(
        now_ns=now_ns, packet_hops=0, flows_finished=finished, slowest_guest=None
    )


@pytest.mark.parametrize("name", ["hadoop", "incast", "leaf-spine"])
def test_progress_and_check_have_one_number_of_flows(name):
    loaded = parse(TEMPLATES[name], f"{name}.toml")
    found = check(loaded)
    assert loaded.expected_end_ns == (found.end_ns if name == "hadoop" else None)
    pace = Pace(loaded)
    pace.update(progress(2_000_000, found.flows // 2))
    assert pace.where == f"2.000 ms, {found.flows // 2:,} of {found.flows:,} flows"
    if name != "hadoop":
        assert pace.done == pytest.approx(0.5, abs=0.01)


def scenario(until_ns: int | None) -> SimpleNamespace:
    return SimpleNamespace(flows=1_182, until_ns=until_ns, expected_end_ns=10_000)


def test_the_progress_of_a_job_is_that_of_its_time():
    pace = Pace(scenario(None))
    for now_ns, finished, done in ((2_500, 800, 0.25), (9_000, 810, 0.9), (12_000, 1_123, 0.95)):
        pace.update(progress(now_ns, finished))
        # A job that takes longer than expected is known by its flows alone.
        assert pace.done == pytest.approx(done, abs=0.001)
    of_time = Pace(scenario(20_000))
    of_time.update(progress(5_000, 0))
    assert of_time.done == 0.25
