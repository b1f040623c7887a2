"""Mutated scenarios run cleanly or are refused with a message. `make fuzz` tries thousands
(fuzz/scenarios.py)."""

import pytest
from conftest import as_many

from fuzz import scenarios


# Checks and runs scenarios in processes with limits.
@pytest.mark.slow
def test_mutated_scenarios_run_or_are_refused():
    assert scenarios.run(seed=1, count=as_many(10), jobs=1) == []


def test_a_case_is_the_same_each_time():
    one, other = scenarios.Mutator(), scenarios.Mutator()
    assert [one.case(1, number) for number in range(20)] == [
        other.case(1, number) for number in range(20)
    ]
