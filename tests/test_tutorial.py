"""The commands of docs/tutorial.md work one after the other in an empty directory."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPO

import afflux

TUTORIAL = (REPO / "docs/tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(\w+)(?: title="([\w.-]+)")?\n(.*?)^```$', re.M | re.S)


# Runs thirty simulations.
@pytest.mark.slow
def test_the_tutorial(tmp_path):
    blocks = BLOCK.findall(TUTORIAL)
    assert [language for language, _, _ in blocks].count("sh") >= 6
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for language, name, text in blocks:
        if language == "toml":
            (tmp_path / name).write_text(text, encoding="utf-8")
            continue
        assert language == "sh"
        environment = os.environ | {"PATH": path, "NO_COLOR": "1"}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{text}\n{done.stderr}"
    # The page's statements about the results.
    results = [
        tmp_path / "out/decide-designs/points" / f"{name}-{seed}"
        for name in ("shallow", "deep", "marking")
        for seed in range(1, 11)
    ]
    found = afflux.compare(results, "shallow")
    verdicts = {(row.design, row.metric.name): row.verdict for row in found.differences}
    for design in ("deep", "marking"):
        assert (
            verdicts[design, "drops"],
            verdicts[design, "timeouts"],
            verdicts[design, "fct_mean_ns"],
        ) == ("better", "better", "better")
    falls = [
        round(100 * (1 - row.ratio))
        for row in found.differences
        if row.metric.name == "fct_mean_ns"
    ]
    assert falls == [60, 59]
    assert (verdicts["deep", "fct_p50_ns"], verdicts["marking", "fct_p50_ns"]) == (
        "cannot tell",
        "worse",
    )
    established = {(row.design, row.metric.name) for row in found.differences if row.established}
    assert established == {("deep", "goodput_bps")}
    early = [place for place in results if int(place.name.split("-")[1]) <= 5]
    assert not any(row.established for row in afflux.compare(early, "shallow").differences)
    assert json.loads((tmp_path / "decision.json").read_text())["baseline"] == "deep"
    assert len((tmp_path / "flows.csv").read_text().splitlines()) > 160
