"""Traffic of tenants: flows and jobs that count in goals, and the same traffic in the run alone."""

from pathlib import Path
from typing import Any

import pytest
from here import Here

import afflux
from afflux.comparison import censored
from afflux.decision.blocks import described
from afflux.decision.file import Question, read
from afflux.decision.measures import Tenant, value
from afflux.decision.points import changed, keep

FABRIC = """\
format = 1
name = "fabric"

[topology]
kind = "star"
hosts = 8
rate = "1Gbps"
delay = "10us"

[switch]
buffer = "1MB"
"""
SMALL, LARGE = Tenant("small", ("small",)), Tenant("large", ("large",))


def incast(more: str = "", size: str = "3kB", to: int = 0) -> str:
    return f"""
[[traffic]]
kind = "incast"
to = {to}
senders = 3
bytes = "{size}"
rounds = 3
period = "5ms"
jitter = "100us"
{more}
"""


#: Two blocks of one kind without names.
TWO = incast('class = "small"') + incast('class = "large"', "60kB", 1)


def scenario(traffic: str, **changes: Any) -> afflux.Scenario:
    made = afflux.Scenario.parse(FABRIC + traffic)
    for key, setting in changes.items():
        made.set(key.replace("__", "."), setting)
    return made


def question(folder: Path, traffic: str, decision: str) -> Question:
    (folder / "fabric.toml").write_text(FABRIC + traffic)
    (folder / "d.toml").write_text(f'scenario = "fabric.toml"\n{decision}')
    return read(folder / "d.toml")


TODAY_AND_DEEP = """
[[design]]
name = "today"
[[design]]
name = "deep"
set = { "switch.buffer" = "2MB" }
"""


def goal(measure: str, bound: str, tenant: str | None = None) -> str:
    owner = f'tenant = "{tenant}"\n' if tenant else ""
    return f'[[goal]]\n{owner}measure = "{measure}"\n{bound}\n'


def test_flows_that_start_after_the_end_of_the_run_do_not_count():
    """The second round starts at 5 ms."""
    result = scenario(incast(size="250kB"), run__until="4.9ms").run(seed=1)
    assert sum(start > 4_900_000 for start in result.flows["start_ns"]) == 6
    assert len(list(censored.started(result))) == len(list(censored.measured(result))) == 3
    time = value(result, None, "fct_mean")
    assert (time.count, time.unfinished) == (3, 3)
    assert 4.7e6 < time.number < 4.9e6
    delivered = sum(result.flows["delivered_bytes"])
    assert value(result, None, "flow_goodput").number == pytest.approx(
        8e9 * delivered / (3 * time.number)
    )


def test_jobs_are_those_of_the_tenants_own_blocks(tmp_path):
    """The second block without a name is not called by its kind."""
    found = question(tmp_path, TWO, TODAY_AND_DEEP)
    small, large = found.tenants
    result = found.scenario.run(seed=1)
    for tenant, job in ((small, "incast"), (large, "traffic1")):
        assert {name for name in result.jobs["job"] if censored.belongs(name, job)} == {
            f"{job}.{number}" for number in range(3)
        }
        assert value(result, tenant, "query_mean").count == 3
    assert value(result, large, "query_mean").number > value(result, small, "query_mean").number
    assert value(result, None, "query_mean").count == 6


@pytest.mark.parametrize(
    "blocks",
    [
        [{}, {}, {}],
        [{"name": "incast"}, {}, {"name": "x"}],
        [{"name": "x"}, {"name": "traffic1"}, {}],
        [{}, {"name": "incast"}, {}],
        [{"name": "traffic0"}, {"name": "traffic2"}, {"name": "traffic1"}],
    ],
)
def test_names_of_jobs_are_those_of_the_engine(blocks):
    made = scenario("".join(incast(to=place) for place in range(3)))
    for block, own in zip(made["traffic"], blocks, strict=True):
        block |= own
    summary = made.run(seed=1).summary
    assert sorted(of_core.name for _, of_core in described(made)) == sorted(
        summary["jobs"]["by_block"]
    )


@pytest.mark.parametrize("own", ["", 'name = "incast"', "seed = 3"])
def test_a_tenant_alone_has_the_same_traffic(tmp_path, own):
    traffic = TWO.replace('"small"\n', f'"small"\n{own}\n')
    traffic += incast('class = "small"', "9kB", 2)
    found = question(tmp_path, traffic, TODAY_AND_DEEP)
    whole = found.scenario.run(seed=1)
    for tenant in found.tenants:
        alone = changed(found.scenario, found.designs[0])
        keep(alone, tenant)
        result = alone.run(seed=1)
        starts = [
            start
            for name, start in zip(whole.flows["class"], whole.flows["start_ns"], strict=True)
            if tenant.has(name)
        ]
        assert list(result.flows["start_ns"]) == starts
        assert {*result.flows["class"]} == {*tenant.classes}
        for measure in ("query_mean", "fct_mean"):
            assert value(result, tenant, measure).count == value(whole, tenant, measure).count


STOPPED = """
[[traffic]]
kind = "pairs"
class = "x"
pairs = [[0, 1], [2, 3]]
sizes = "100MB"
stop = "5ms"

[[traffic]]
kind = "pairs"
class = "y"
pairs = [[4, 5]]
sizes = "100kB"
start = "50ms"
"""


def test_a_flow_that_was_stopped_is_active_until_its_end():
    result = scenario(STOPPED).run(seed=1)
    assert list(result.flows["status"]) == ["terminated", "terminated", "finished"]
    stopped = Tenant("x", ("x",))
    # Both flows are alone on their links, and active for about the same time.
    rate = result.summary["goodput"]["by_class"]["x"]["bps"]
    assert value(result, stopped, "goodput").number == rate
    assert value(result, stopped, "flow_goodput").number == pytest.approx(rate / 2, rel=0.05)
    # A tenant of all classes has the goodput of all traffic.
    both = Tenant("both", ("x", "y"))
    assert value(result, both, "goodput").number == pytest.approx(
        result.summary["goodput_bps"], rel=1e-6
    )


def test_goodput_covers_the_whole_run():
    """Only `flow_goodput` leaves out the flows of the warm-up."""
    traffic = STOPPED.replace('stop = "5ms"\n', "").replace("100MB", "200kB")
    result = scenario(traffic, run__warmup="10ms").run(seed=1)
    both, late = Tenant("both", ("x", "y")), Tenant("y", ("y",))
    assert value(result, both, "goodput").number == pytest.approx(
        result.summary["goodput_bps"], rel=1e-6
    )
    assert value(result, both, "flow_goodput") == value(result, late, "flow_goodput")


def test_a_class_called_all_is_not_all_traffic(tmp_path):
    decision = TODAY_AND_DEEP + "".join(
        goal("fct_mean", 'at_most = "1ms"', tenant) for tenant in (None, "all", "large")
    )
    traffic = TWO.replace('"small"', '"all"')
    found = afflux.decide(
        question(tmp_path, traffic, decision),
        seeds=[1, 2, 3],
        out=tmp_path / "out",
        executor=Here(),
    )
    every, own, large = (one.value for one in found.judged.standings["today"])
    assert own < every < large
    assert every == pytest.approx((own + large) / 2)
    # The report has the value of each.
    (every, own, large) = (
        one.goal.metric.of(found.designs["today"].first.summary)
        for one in found.judged.standings["today"]
    )
    assert own < every < large


HADOOP = '[[traffic]]\nkind = "hadoop"\nsize = "1GB"\nclass = "sort"\n'
SERVICE = (
    '[[traffic]]\nkind = "partition_aggregate"\nqueries_per_second = 100\nduration = "1s"\n'
    'class = "web"\nmessages_per_second = 0\nbackground_per_second = 0\n'
)


@pytest.mark.parametrize(
    ("traffic", "tenant", "classes"),
    [
        (TWO, None, "small, large"),
        (TWO, "small", None),
        (TWO.replace("large", "small.more"), "small", "small, small.more"),
        (SERVICE, None, None),
        (SERVICE.replace("messages_per_second = 0\n", "", 1), None, "web, message"),
        (SERVICE.replace("messages_per_second = 0\n", "", 1), "web", None),
        (TWO + '[[traffic]]\nkind = "flows"\nfile = "f.csv"\n', "small", None),
        (HADOOP, "sort", "sort.read, sort.fetch, sort.write, sort.rpc, sort.log"),
    ],
)
def test_jain_over_several_classes_is_refused_before_the_runs(tmp_path, traffic, tenant, classes):
    decision = TODAY_AND_DEEP + goal("jain", "at_least = 0.5", tenant)
    # The file of the scenario is not validated where it holds the decision.
    file = tmp_path / "both.toml"
    file.write_text(FABRIC + traffic + decision)
    if classes is None:
        assert read(file).goals
        return
    with pytest.raises(ValueError, match="key goal") as refused:
        read(file)
    line = file.read_text().splitlines().index('measure = "jain"') + 1
    assert str(refused.value) == (
        f"{file}:{line}: key goal[0].measure: jain: flows of several classes ({classes}) "
        "need not be equal: write a tenant of one class"
    )


def test_jain_is_not_refused_where_a_design_changes_the_classes(tmp_path):
    file = tmp_path / "both.toml"
    for key, refused in (("traffic[1].class", False), ("traffic.1.bytes", True)):
        design = f"[[design]]\nname = 'a'\n[[design]]\nname = 'b'\nset = {{ '{key}' = '30kB' }}\n"
        file.write_text(FABRIC + TWO + design + goal("jain", "at_least = 0.5"))
        if refused:
            with pytest.raises(ValueError, match="several classes"):
                read(file)
        else:
            assert read(file).goals


def test_a_tenant_by_name_has_no_flows_of_its_own(tmp_path):
    """Without `class`, the flows of a block with a name are of the class `default`."""
    file = tmp_path / "both.toml"
    traffic = TWO.replace('class = "large"', 'name = "large"')
    assert traffic != TWO
    file.write_text(
        FABRIC + traffic + TODAY_AND_DEEP + goal("query_mean", 'at_most = "9ms"', "large")
    )
    assert read(file).goals
    file.write_text(
        FABRIC + traffic + TODAY_AND_DEEP + goal("fct_mean", 'at_most = "9ms"', "large")
    )
    with pytest.raises(ValueError, match="class default") as refused:
        read(file)
    line = file.read_text().splitlines().index('measure = "fct_mean"') + 1
    assert str(refused.value) == (
        f"{file}:{line}: key goal[0].measure: found 'fct_mean', but flows of tenant large are of "
        'class default: write class = "large" in its [[traffic]] block'
    )


NAMED = """
[host.transports."my.tcp"]
kind = "tcp"
min_rto = "1ms"
"""


def test_keys_with_quotes_reach_the_run_alone(tmp_path):
    traffic = NAMED + TWO.replace('class = "small"', 'class = "small"\ntransport = "my.tcp"')
    rto = """
[[design]]
name = "today"
[[design]]
name = "rto"
set = { 'host.transports."my.tcp".min_rto' = "2ms" }
"""
    found = question(tmp_path, traffic, rto)
    made = changed(found.scenario, found.design("rto"))
    keep(made, found.tenants[0])
    assert made["host"]["transports"] == {"my.tcp": {"kind": "tcp", "min_rto": "2ms"}}
    assert 'min_rto = "2ms"' in made.check(seed=1).resolved


def test_keys_of_scenarios_in_quotes():
    made = scenario(NAMED + TWO)
    key = 'host.transports."my.tcp".min_rto'
    assert (made[key], made.get("traffic[1].class")) == ("1ms", "large")
    made[key] = "3ms"
    assert made.data["host"]["transports"]["my.tcp"]["min_rto"] == "3ms"
    del made[key]
    assert key not in made
    for wrong in ("", "a..b", "a.", 'a."b', "a[]", "a[1]b"):
        assert made.get(wrong) is None
        with pytest.raises(KeyError):
            del made[wrong]
        with pytest.raises(ValueError, match="expected names with dots between them"):
            made.set(wrong, 1)


def test_a_key_that_is_none_is_refused_with_its_line(tmp_path):
    decision = '[[design]]\nname = "a"\n[[design]]\nname = "b"\nset = { "switch..buffer" = 1 }\n'
    with pytest.raises(ValueError, match=r"d\.toml:6: key design\[1\]\.set: switch\.\.buffer: exp"):
        question(tmp_path, TWO, decision)
