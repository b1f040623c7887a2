"""`make validate`: every input yields rows, tolerances are applied correctly, and the product does
not depend on references."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from validating import BARS, references, validate

from validation import run
from validation.bars import Bar, Bars, BarsError
from validation.case import Case, Setup, Unmeasured, fraction, greedy

KEYS = {
    "reference",
    "run",
    "metric",
    "theirs",
    "ours",
    "ours_low",
    "ours_high",
    "ratio",
    "bar",
    "within",
    "compat",
}


@pytest.fixture
def ref(tmp_path: Path) -> Path:
    return references(tmp_path)


def test_every_input_yields_rows(ref: Path):
    code, rows = validate(ref)
    assert code == 1
    assert all(row.keys() >= KEYS and isinstance(row["within"], bool) for row in rows)
    assert all(row["reason"] for row in rows if not row["within"])

    def of(reference: str, run: str = "") -> list[dict]:
        found = [
            row for row in rows if row["reference"] == reference and row["run"].startswith(run)
        ]
        assert found, f"{reference}/{run}"
        return found

    for reference, name, reason in [
        ("linux.a1_window", "odd", "sfq"),
        ("linux.a2_parallel", "a2_parallel.csv", "no column"),
        ("linux.c_incast", "c_incast.csv", ""),
        ("linux.z_new", "z_new.csv", "no reader"),
        ("ns3.lfn1g", "lfn1g.csv", "no column"),
        ("pfabric", "scheme_0.6.csv.gz", "no reader"),
        ("later", "one_run", "no reader"),
    ]:
        assert all(
            not row["within"] and row["ours"] is None and reason in row["reason"]
            for row in of(reference, name)
        )
    # Runs that this version supports are run. For the others the row names the missing key.
    for row in of("linux.a1_window", "small") + of("ns3.dc") + of("ns3.incast"):
        assert row["ours"] is not None or "key " in row["reason"], row
    assert {row["compat"] for row in of("ns3.dc")} == {"ns3"}
    barred = [row["metric"] for row in of("ns3.dc") if row["bar"]]
    assert sorted(barred) == ["drops", "goodput_mbps"]
    assert not {"README.md", "raw", "bars.toml"} & {row["run"] for row in rows}
    page_ = (ref.parent / "out" / "validation.md").read_text()
    assert "linux.a1_window" in page_
    assert "pfabric" in page_


def test_the_table_is_a_list_of_rows_and_the_times_have_a_file_of_their_own(ref: Path):
    validate(ref, "--only", "linux.a1_window")
    rows = json.loads((ref.parent / "out" / "validate.json").read_text())
    assert isinstance(rows, list)
    contract = {"reference", "run", "metric", "theirs", "ours", "ours_low", "ours_high"}
    contract |= {"ratio", "bar", "within", "compat"}
    assert all(contract <= set(row) for row in rows)
    times = json.loads((ref.parent / "out" / "validate-times.json").read_text())
    assert sorted(times) == ["seconds", "took"]


def test_the_page_again_without_a_simulation(ref: Path, monkeypatch: pytest.MonkeyPatch):
    code, rows = validate(ref, "--only", "linux.a1_window")
    monkeypatch.setattr(run, "simulate", lambda *_: pytest.fail("simulated"))
    assert validate(
        ref, "--only", "linux.a1_window", "--rows", str(ref.parent / "out" / "validate.json")
    ) == (code, rows)


def test_a_filter(ref: Path):
    code, rows = validate(ref, "--only", "pfabric")
    assert (code, {row["reference"] for row in rows}) == (1, {"pfabric"})
    assert validate(ref, "--only", "nothing like it")[0] == 2


@pytest.mark.parametrize("given", [[], ["bars.toml"], ["README.md"], ["linux/README.md"]])
def test_nothing_to_compare_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str]
):
    folder = tmp_path / "reference"
    folder.mkdir()
    for name in given:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(BARS if name == "bars.toml" else "")
    code, rows = validate(folder)
    assert (code, rows) == (2, [])
    assert "validate: " in capsys.readouterr().err
    assert validate(tmp_path / "not there")[0] == 2


def test_bars_are_needed(ref: Path, capsys: pytest.CaptureFixture[str]):
    (ref / "bars.toml").unlink()
    assert validate(ref)[0] == 2
    assert "bars.toml" in capsys.readouterr().err
    (ref / "bars.toml").write_text("[linux]\nhalf2_mbps = { rel = 0.1, off = 1 }\n")
    assert validate(ref)[0] == 2
    assert "off" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------ a reference of our own


def constant(runner, parameters):
    """Returns the goodput of a bottleneck in steady state: its rate without headers."""
    return greedy(runner, parameters)


def toy(theirs: float, *, size: int = 10**9, limit: str = "40packets"):
    """Returns a reader whose scenario needs only existing keys."""
    scenario = {
        "format": 1,
        "topology": {
            "kind": "dumbbell",
            "pairs": 1,
            "access_rate": "10Gbps",
            "rate": "1Gbps",
            "delay": "10us",
        },
        "switch": {
            "sharing": "unlimited",
            "override": [{"match": "left", "sharing": "static", "buffer": limit}],
        },
        "host": {"wire": "ns3p2p"},
        "traffic": [{"kind": "flows", "file": "flows.csv"}],
        "record": {"ports": {"interval": "10us", "nodes": ["left"]}},
    }
    parameters = {
        "from_s": 0.005,
        "to_s": 0.01,
        "node": "left",
        "peer": "right",
        "aside_bytes": 1502,
        "unit_bytes": 1502,
    }

    def cases(folder: Path, bars: Bars):
        setups = [
            Setup(
                scenario,
                constant,
                parameters,
                ((round(1000 * fraction(k, 0)), 0, 1, size),),
                seed=k + 1,
            )
            for k in range(3)
        ]
        yield Case("toy.bulk", "one", {"mbps": theirs, "drops": 7.0}, bars.of("toy"), setups)

    return SimpleNamespace(cases=cases)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "reference" / "toy").mkdir(parents=True)
    (tmp_path / "reference" / "toy" / "bulk.csv").write_text("x\n1\n")
    (tmp_path / "reference" / "bars.toml").write_text("[toy]\nmbps = { rel = 0.01 }\n")

    def with_reader(module) -> tuple[int, list[dict]]:
        monkeypatch.setattr(run, "reader", lambda name: module)
        return validate(tmp_path / "reference")

    return with_reader


def test_ends_with_0_only_if_all_is_within(own):
    code, rows = own(toy(1000 * 1460 / 1502))
    mbps, drops = rows
    assert code == 0
    assert mbps["within"]
    assert math.isclose(mbps["ratio"], 1, rel_tol=0.01)
    assert mbps["ours_low"] <= mbps["ours"] <= mbps["ours_high"]
    assert mbps["bar"] == {"rel": 0.01}
    # A row without a tolerance is informational and never fails.
    assert (drops["bar"], drops["within"], drops["theirs"]) == (None, True, 7.0)
    code, rows = own(toy(800.0))
    assert code == 1
    assert not rows[0]["within"]
    assert "outside 792 to 808" in rows[0]["reason"]


def test_what_fails_is_a_row(own):
    code, rows = own(toy(900.0, limit="0packets"))
    assert (code, [(row["metric"], row["within"], row["theirs"]) for row in rows]) == (
        1,
        [("mbps", False, 900.0)],
    )
    assert "switch.override" in rows[0]["reason"]

    def broken(folder: Path, bars: Bars):
        raise ZeroDivisionError("a defect")

    code, rows = own(SimpleNamespace(cases=broken))
    assert code == 1
    assert "a defect" in rows[0]["reason"]


def test_lenient_rows_are_never_within(ref: Path):
    code, rows = validate(ref, "--only", "ns3.dc", "--lenient")
    assert code in (0, 1)
    assert all(row["ours"] is not None for row in rows)


def test_a_run_that_takes_too_long_is_a_row(own, monkeypatch: pytest.MonkeyPatch):
    def never(runner, parameters):
        raise Unmeasured("took longer than 1 s")

    module = toy(900.0)
    cases = [
        Case(c.reference, c.run, c.theirs, c.bars, [Setup({}, never, {})])
        for c in module.cases(Path(), Bars({"toy": {"mbps": {"rel": 0.1}}}))
    ]
    code, rows = own(SimpleNamespace(cases=lambda folder, bars: cases))
    assert (code, rows[0]["reason"]) == (1, "took longer than 1 s")


def test_bars():
    assert Bar(rel=0.1).holds(100, 110)
    assert not Bar(rel=0.1).holds(100, 110.1)
    assert Bar(rel=0.1, or_abs=20).holds(10, 30)
    assert Bar(factor=1.5).holds(30, 20)
    assert not Bar(factor=1.5).holds(30, 46)
    widened = Bar(inside_range_widened_by=0.15, cell=(10.0, 20.0))
    assert widened.holds(12, 8.5)
    assert widened.holds(12, 23)
    assert not widened.holds(12, 8.4)
    assert Bar(rel=0.1).holds(0, 0)
    assert Bar(or_abs=0.1).bounds(0.5) == (0.4, 0.6)
    for bar, inside, outside_ in (
        (Bar(most=0.45), 0.45, 0.46),
        (Bar(least=0.1), 0.1, 0.09),
        (Bar(least=1, most=2), 1.5, 2.1),
    ):
        assert bar.holds(0.3, inside)
        assert not bar.holds(inside, outside_)
    assert (str(Bar(most=0.45)), Bar(least=0.1).json()) == ("≤ 0.45", {"least": 0.1})
    bars = Bars(
        {
            "s": {"repetitions": 11, "a3_loss": {"x": {"rel": 0.1}}, "a3": {"y": {"rel": 0.2}}},
            "flat": {"x": {"factor": 2}},
        }
    )
    assert list(bars.of("s", "a3_loss_extra")) == ["x"]
    assert list(bars.of("s", "a3_other")) == ["y"]
    assert bars.of("s", "b") == {}
    assert bars.repetitions("s", "a3_loss") == 11
    assert list(bars.of("flat", "anything")) == ["x"]
    with pytest.raises(BarsError):
        Bars({"s": {"x": {"rel": 0.1, "unknown": 1}}}).of("s")
