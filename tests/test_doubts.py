"""Results that fail checks of their own: nothing is lost, and everybody who shows one says so."""

import hashlib
import json
import tomllib

import polars
import pytest
from given import defect

import afflux
from afflux.results import doubts
from afflux.results.explain import ALL, LABELS
from afflux.results.result import Result

FAILED = [
    {"flow": None, "check": "conservation", "detail": "7 packets were sent"},
    {"flow": 3, "check": "split", "detail": "the parts add up to 5 ps, its completion time is 6 ps"},
]


def change(path, **keys):
    """A summary as if it had been written so."""
    text = json.dumps(json.loads(path.read_text()) | keys | {"summary_digest": ""})
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(text.replace('"summary_digest": ""', f'"summary_digest": "{digest}"'))


@pytest.fixture
def doubted(scenario, tmp_path):
    """A result directory as a defective build would have left it."""

    def make(name: str = "small", total: int = 2) -> str:
        out = tmp_path / f"{name}-1"
        afflux.load(scenario()).set("name", name).run(out=out)
        change(out / "summary.json", failed_checks=FAILED, failed_checks_total=total)
        return str(out)

    return make


def test_a_sound_run_has_no_failed_checks(command, scenario, tmp_path):
    done = command("run", scenario(), "-o", "out")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert (summary["failed_checks"], summary["failed_checks_total"]) == ([], 0)


def test_run_keeps_the_result_and_ends_with_1(invoke, scenario, tmp_path, monkeypatch):
    sound = Result.of_run

    def of_run(run):
        result = sound(run)
        result.summary |= {"failed_checks": FAILED, "failed_checks_total": 2}
        return result

    monkeypatch.setattr(Result, "of_run", of_run)
    done = invoke("run", scenario(), "-o", "out")
    assert done.exit_code == 1
    assert "error: small, seed 1: 2 checks of the result itself failed (whole run, conservation: 7 packets were sent; flow 3, split: " in done.stderr
    assert f"please report the defect with {tmp_path}/out/scenario.toml" in done.stderr
    assert "Completion time" in done.stdout
    assert afflux.Result.open(tmp_path / "out").flows.column("id")[-1] == 23
    # In Python it is a warning.
    with pytest.warns(RuntimeWarning, match="2 checks of the result itself failed"):
        afflux.load(scenario()).run()


def test_whoever_shows_it_says_so(invoke, doubted, tmp_path):
    one, other = doubted(), doubted("other", 250)
    for arguments in (["explain", one], ["report", one, "-o", "one.html"], ["compare", one, other], ["report", one, other, "-o", "both.html"]):
        done = invoke(*arguments)
        assert done.exit_code == 0, done.output
        assert "error: small, seed 1: 2 checks of the result itself failed" in done.stderr
    assert "and 248 more" in invoke("compare", one, other).stderr
    assert "250 checks of the result itself failed" in invoke("compare", one, other, "--json").stdout
    for page in ("one.html", "both.html"):
        text = (tmp_path / page).read_text()
        assert "2 checks of the result itself failed" in text
        assert "結果そのものの検査が 2 件失敗しました" in text


def test_a_sweep_ends_with_1(invoke, scenario, tmp_path):
    arguments = ("sweep", scenario(), "--vary", "switch.buffer=20packets,30packets", "-o", "swept", "--jobs", "1")
    assert invoke(*arguments).exit_code == 0
    path = next((tmp_path / "swept/points").glob("*20packets*")) / "summary.json"
    change(path, failed_checks=FAILED[:1], failed_checks_total=1)
    done = invoke(*arguments)
    assert done.exit_code == 1
    assert "a check of the result itself failed (whole run, conservation: 7 packets were sent)" in done.stderr


def test_a_flow_without_parts_is_left_out_of_the_explanation(scenario):
    result = afflux.load(scenario()).run()
    flows = polars.DataFrame(result.flows)
    first = int(flows["id"][0])
    parts = [polars.when(polars.col("id") == first).then(None).otherwise(polars.col(f"{label}_ns")).alias(f"{label}_ns") for label in LABELS]
    broken = Result(result.summary | {"failed_checks": FAILED, "failed_checks_total": 1}, None, ["flows"], lambda _: Columns(flows.with_columns(parts)))
    explanation = broken.explain()
    assert len(explanation) == len(result.explain()) - 1
    assert explanation.sums(explanation.names("size"), explanation.counted())[ALL].flows == len(explanation)
    with pytest.raises(LookupError, match="do not add up"):
        explanation.flow(first)
    assert doubts.count(broken) == 1


class Columns:
    def __init__(self, frame):
        self.frame = frame

    def column(self, name):
        return self.frame[name].to_list()


#: Multipath flows, some of which are complete at their receiver when the run ends, while their sender does not know.
MULTIPATH = """\
format = 1
[topology]
kind = "fat_tree"
k = 4
rate = "10Gbps"
[switch]
buffer = "60kB"
sharing = "static"
[host.transport]
kind = "tcp"
stack = "basic"
min_rto = "1ms"
mptcp = { subflows = 4 }
[[traffic]]
kind = "random"
sizes = "websearch"
load = 0.8
load_basis = "host_payload"
duration = "5ms"
[run]
fct_end = "last_byte"
until = "1ms"
"""


def accounted(result: Result) -> None:
    """Every finished flow has its parts, and they add up."""
    assert (result.summary["failed_checks"], result.summary["failed_checks_total"]) == ([], 0)
    flows = polars.DataFrame(result.flows).filter(polars.col("fct_ns").is_not_null())
    assert len(flows) > 0
    assert flows.select(polars.sum_horizontal(f"{label}_ns" for label in LABELS).alias("sum"))["sum"].to_list() == flows["fct_ns"].to_list()


def test_multipath_flows_that_end_with_the_last_byte(scenario):
    accounted(afflux.load(scenario(text=MULTIPATH)).run())


@pytest.mark.parametrize("name", ["mptcp-min", "e2-61", "e2-206", "e2-528", "e2-765", "e2-820"])
def test_multipath_defects(command, tmp_path, name):
    file = defect(f"{name}.toml")
    data = tomllib.loads(file.read_text())
    until = [] if "until" in data["run"] else ["--set", "run.until=1ms"]
    # The stack that was the default when they went wrong.
    stack = [] if "stack" in data["host"]["transport"] else ["--set", "host.transport.stack=basic"]
    done = command("run", file, "--seed", 1, *until, *stack, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr
    accounted(afflux.Result.open(tmp_path / "out"))
