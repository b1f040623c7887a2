"""A service that splits its work: queries are jobs with deadlines, and background traffic delays
their answers."""

from pathlib import Path

import pyarrow.parquet as parquet

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "partition-aggregate.toml"


def test_queries_are_jobs_with_deadlines(command, tmp_path: Path) -> None:
    done = command("run", EXAMPLE, "--set", "traffic[0].duration=50ms", "-o", "out")
    assert done.returncode == 0, done.stderr
    flows, jobs, waits = (
        parquet.read_table(tmp_path / "out" / f"{name}.parquet").to_pylist()
        for name in ("flows", "jobs", "waits")
    )
    assert {flow["class"] for flow in flows} == {"query", "message", "background"}
    answers = [flow for flow in flows if flow["class"] == "query"]
    assert len(answers) == 12 * len(jobs)
    assert {flow["job"] for flow in answers} == {job["job"] for job in jobs}
    assert all(
        flow["deadline_ns"] is not None and 2_000 <= flow["bytes"] <= 20_000 for flow in answers
    )
    assert all(
        flow["deadline_ns"] is None and flow["job"] is None
        for flow in flows
        if flow["class"] != "query"
    )
    # A query ends with its last answer.
    last = {
        name: max(flow["finish_ns"] for flow in answers if flow["job"] == name)
        for name in {flow["job"] for flow in answers}
    }
    assert all(job["finish_ns"] == last[job["job"]] for job in jobs if job["task"] == "")
    ids = {flow["id"] for flow in answers}
    assert any(wait["behind"] == "background" for wait in waits if wait["flow"] in ids)


def test_mistakes(command, scenario) -> None:
    path = scenario(text=EXAMPLE.read_text(), name="service.toml")
    for key, value, said in [
        ("workers", "40", "1 to 31"),
        ("queries_per_second", "-1.0", "0 for none"),
        ("message", "0B", "at least one byte"),
    ]:
        done = command("run", path, "--set", f"traffic[0].{key}={value}")
        assert done.returncode == 2
        assert said in done.stderr
        assert f"traffic[0].{key}" in done.stderr
