"""Results that fail their own checks: they are not lost, and every command that
shows them says so.
"""

import hashlib
import json
import tomllib
from pathlib import Path

import polars
import pytest
from given import defect

import afflux
from afflux import report
from afflux.results import failed_checks
from afflux.results.explain import ALL, LABELS
from afflux.results.result import Result
from afflux.words import sentence, text

FAILED = [
    {"flow": None, "check": "conservation", "detail": "7 packets were sent"},
    {
        "flow": 3,
        "check": "split",
        "detail": "the parts add up to 5 ps, its completion time is 6 ps",
    },
]


def change(path, **keys):
    """Changes keys of a summary and adjusts its digest."""
    text = json.dumps(json.loads(path.read_text()) | keys | {"summary_digest": ""})
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(text.replace('"summary_digest": ""', f'"summary_digest": "{digest}"'))


@pytest.fixture
def doubted(scenario, tmp_path):
    """Returns a function that creates a result directory like that of a defective build."""

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
    assert (
        "error: small, seed 1: 2 checks of the result itself failed (whole run, conservation: 7 packets were sent; flow 3, split: "
        in done.stderr
    )
    assert f"please report the defect with {tmp_path}/out/scenario.toml" in done.stderr
    assert "Completion time" in done.stdout
    assert afflux.Result.open(tmp_path / "out").flows.column("id")[-1] == 23
    # The Python API issues a warning.
    with pytest.warns(RuntimeWarning, match="2 checks of the result itself failed"):
        afflux.load(scenario()).run()


def test_whoever_shows_it_says_so(invoke, doubted, tmp_path):
    one, other = doubted(), doubted("other", 250)
    for arguments in (
        ["explain", one],
        ["report", one, "-o", "one.html"],
        ["compare", one, other],
        ["report", one, other, "-o", "both.html"],
    ):
        done = invoke(*arguments)
        assert done.exit_code == 0, done.output
        assert "error: small, seed 1: 2 checks of the result itself failed" in done.stderr
    assert "and 248 more" in invoke("compare", one, other).stderr
    assert (
        "250 checks of the result itself failed" in invoke("compare", one, other, "--json").stdout
    )
    for page in ("one.html", "both.html"):
        text = (tmp_path / page).read_text()
        assert "2 checks of the result itself failed" in text
        assert "結果そのものの検査が 2 件失敗しました" in text


def test_a_sweep_ends_with_1(invoke, scenario, tmp_path):
    arguments = (
        "sweep",
        scenario(),
        "--vary",
        "switch.buffer=20packets,30packets",
        "-o",
        "swept",
        "--jobs",
        "1",
    )
    assert invoke(*arguments).exit_code == 0
    path = next((tmp_path / "swept/points").glob("*20packets*")) / "summary.json"
    change(path, failed_checks=FAILED[:1], failed_checks_total=1)
    done = invoke(*arguments)
    assert done.exit_code == 1
    assert (
        "a check of the result itself failed (whole run, conservation: 7 packets were sent)"
        in done.stderr
    )


def test_a_flow_without_parts_is_left_out_of_the_explanation(scenario):
    result = afflux.load(scenario()).run()
    flows = polars.DataFrame(result.flows)
    first = int(flows["id"][0])
    parts = [
        polars.when(polars.col("id") == first)
        .then(None)
        .otherwise(polars.col(f"{label}_ns"))
        .alias(f"{label}_ns")
        for label in LABELS
    ]
    broken = Result(
        result.summary | {"failed_checks": FAILED, "failed_checks_total": 1},
        None,
        ["flows"],
        lambda _: Columns(flows.with_columns(parts)),
    )
    explanation = broken.explain()
    assert len(explanation) == len(result.explain()) - 1
    assert explanation.sums(explanation.names("size"), explanation.counted())[ALL].flows == len(
        explanation
    )
    with pytest.raises(LookupError, match="do not add up"):
        explanation.flow(first)
    assert failed_checks.count(broken) == 1


class Columns:
    def __init__(self, frame):
        self.frame = frame

    def __contains__(self, name):
        return name in self.frame.columns

    def column(self, name):
        return self.frame[name].to_list()


#: Multipath flows. Some are complete at the receiver when the run ends, but their sender does not
#: know yet.
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
    """Checks that the parts of every finished flow add up to its completion time."""
    assert (result.summary["failed_checks"], result.summary["failed_checks_total"]) == ([], 0)
    flows = polars.DataFrame(result.flows).filter(polars.col("fct_ns").is_not_null())
    assert len(flows) > 0
    assert (
        flows.select(polars.sum_horizontal(f"{label}_ns" for label in LABELS).alias("sum"))[
            "sum"
        ].to_list()
        == flows["fct_ns"].to_list()
    )


def test_multipath_flows_that_end_with_the_last_byte(scenario):
    accounted(afflux.load(scenario(text=MULTIPATH)).run())


@pytest.mark.parametrize("name", ["mptcp-min", "e2-61", "e2-206", "e2-528", "e2-765", "e2-820"])
def test_multipath_defects(command, tmp_path, name):
    file = defect(f"{name}.toml")
    data = tomllib.loads(file.read_text())
    until = [] if "until" in data["run"] else ["--set", "run.until=1ms"]
    # The stack that was the default when the defect occurred.
    stack = [] if "stack" in data["host"]["transport"] else ["--set", "host.transport.stack=basic"]
    done = command("run", file, "--seed", 1, *until, *stack, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr
    accounted(afflux.Result.open(tmp_path / "out"))


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(value**2 for value in values))


def test_no_goodput_is_above_the_line_rate(command):
    """Half of the data that the first flow had passed to its NIC arrived after its stop. An earlier
    version did not count that time, and so reported 1.9 Gbps on links of 1 Gbps."""
    file = defect("goodput-above-line-rate.toml")
    checked = command("check", file, "--json")
    assert json.loads(checked.stdout)["end_ns"] == 5_000_000_000
    done = command("run", file, "-o", "out")
    assert done.returncode == 0, done.stderr
    result = Result.open(Path("out"))
    flows, summary = polars.DataFrame(result.flows), result.summary
    goodputs = flows["goodput_bps"].to_list()
    group = summary["goodput"]["by_class"]["x"]
    most = 1e9 * 1_460 / 1_538
    assert 0.99 * most < group["bps"] <= most
    assert max(goodputs) <= most
    assert (
        group["bps"]
        == summary["goodput_bps"]
        == pytest.approx(8e9 * flows["delivered_bytes"].sum() / summary["busy_ns"])
    )
    assert (group["jain"], group["flows"]) == (pytest.approx(jain(goodputs)), 4)
    best, worst = (
        flows.row(int(place), named=True)
        for place in (flows["goodput_bps"].arg_max(), flows["goodput_bps"].arg_min())
    )
    (note,) = summary["notes"]
    between = f"between {worst['goodput_bps']:.0f} bps (flow {worst['id']}) and {best['goodput_bps'] / 1e6:.0f} Mbps (flow {best['id']})"
    same = best["start_ns"] == worst["start_ns"]
    together = "started together" if same else "were active at the same time"
    assert note.startswith(
        f"warning: class x: equal flows that {together} got {between}; no difference in their paths explains it: "
    )
    assert sentence(note).ja.startswith("警告: クラス x: ")
    shown = " ".join(done.stdout.split())
    assert f"note: {note}" in shown
    assert (
        f"class x {text.rate(group['bps'])}, Jain's fairness index {text.ratio(group['jain'])} over 4 flows"
        in shown
    )


def test_what_each_of_two_senders_got(command):
    """CUBIC next to BBR: each is a class, and the table, the summary and the terminal show the
    goodput of each."""
    stops = [argument for block in (0, 1) for argument in ("--set", f"traffic.{block}.stop=3s")]
    done = command("run", defect("two-senders.toml"), *stops, "-o", "out")
    assert done.returncode == 0, done.stderr
    result = Result.open(Path("out"))
    flows, groups = polars.DataFrame(result.flows), result.summary["goodput"]["by_class"]
    assert list(groups) == flows["class"].to_list() == ["cubic", "bbr"]
    assert sum(flows["delivered_bytes"]) == result.summary["delivered_bytes"] > 0
    for (name, group), goodput in zip(groups.items(), flows["goodput_bps"], strict=True):
        assert group == {"bps": goodput, "jain": 1.0, "flows": 1}
        assert f"class {name} {text.rate(goodput)} " in " ".join(done.stdout.split())
    assert "equal flows" not in done.stdout, "they are of two classes"
    page = report.write([result], Path("page.html")).read_text()
    assert "ubic: goodput while busy" in page
    assert "bbr: グッドプット（通信中）" in page
    assert "fairness index of class cubic" not in page, "one flow is always fair"
