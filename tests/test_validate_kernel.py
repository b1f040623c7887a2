"""`make validate-kernel`: the rule that decides a row, the scenarios with kernels, and the page."""

import math

import pytest
from conftest import REPO

import afflux
from validation import decision, kernel, linux, page
from validation.decision import KERNEL, MODEL, Decision

REF = REPO / "validation" / "reference"


@pytest.mark.parametrize(
    ("theirs", "of_kernel", "of_model", "right"),
    [
        (100, (90, 110), (95, 105), "chance"),
        (100, (90, 110), (70, 80), "the reference"),
        # The median of the model is within both times, that of the kernel once.
        (100, (90, 107, 200), (108, 110, 110), "chance"),
        (100, (90, 91, 200), (108, 110, 110), "the reference"),
        (75.9, (88.8, 88.9), (88.8,), "the model"),
        # 2 % count as equal.
        (88.8, (90, 90), (91,), "chance"),
        (50, (90, 110), (70, 80), "neither"),
        (math.inf, (16, math.inf), (16, 16), "the reference"),
        (math.inf, (16, 16), (16, 16), "the model"),
    ],
)
def test_what_is_right(theirs, of_kernel, of_model, right):
    one = Decision("linux.x/y", "half2_mbps", theirs, of_kernel, of_model)
    assert one.right == right


def rows(*lines: tuple) -> list[dict[str, str]]:
    return [dict(zip(decision.COLUMNS, map(str, line), strict=True)) for line in lines]


def test_decisions_need_runs_of_both():
    of_both = (
        ("linux.a/x", KERNEL, "half2_mbps", 10, 1, 11),
        (
            "linux.a/x",
            MODEL,
            "half2_mbps",
            10,
            1,
            12,
        ),
    )
    found = decision.decisions(
        rows(
            *of_both,
            ("linux.a/x", KERNEL, "drops", "", 1, 7),
            ("linux.a/lone", KERNEL, "half2_mbps", 10, 1, 11),
        )
    )
    assert found == [Decision("linux.a/x", "half2_mbps", 10, (11,), (12,))]


def test_a_series_collapses_repetition_by_repetition():
    def line(setting: str, seed: int, *goodput: int) -> list[tuple]:
        return [
            (f"linux.c_incast/c_cubic_dt64k_n{n}", setting, "goodput_mbps", 800, seed, value)
            for n, value in zip((4, 8, 16), goodput, strict=True)
        ]

    found = decision.series(
        rows(
            *line(KERNEL, 1, 900, 800, 290),
            *line(KERNEL, 2, 900, 290, 280),
            *line(KERNEL, 3, 900, 800, 310),
            # A repetition without all numbers of servers is left out.
            *line(KERNEL, 4, 900, 800, 100)[:2],
            *line(MODEL, 1, 900, 800, 290),
        )
    )
    assert found == [
        Decision(decision.SERIES_RUN, "collapse_N", math.inf, (16, 8, math.inf), (16,))
    ]


def test_every_cell_is_a_scenario_with_kernels(tmp_path):
    (tmp_path / "guest").write_bytes(b"program")
    cells = list(kernel.cells(REF))
    assert [name for _, name, _, _ in cells] == [
        name for of in kernel.CELLS.values() for name in of
    ]
    for file, name, row, of_file in cells:
        if file == "d_mptcp_bulk" and not kernel.shutil.which("ip"):
            continue
        setup, trial = kernel.BUILDERS[file](row, of_file, 3)
        loaded = afflux.Scenario(trial.scenario, tmp_path / "scenario.toml").check(seed=3)
        assert trial.scenario["topology"] == setup.scenario["topology"], name
        assert trial.scenario["switch"] == setup.scenario["switch"], name
        assert loaded.hosts == sum(
            len(block["match"]) for block in trial.scenario["host"]["kernel"]
        )


def test_starts_differ_by_seed_within_what_the_reference_left_to_chance():
    by_name = {name: row for _, name, row, _ in kernel.cells(REF)}
    two = by_name["b_cubic_red30k_n2"]
    apart = {
        second - first for first, second in (kernel.starts(two, seed) for seed in range(1, 11))
    }
    assert len(apart) == 10
    assert all(2.6e6 <= one < 4.2e6 for one in apart)
    eight = kernel.starts(by_name["a2_reno_par8_auto_gap2_q01bdp"], 4)
    assert [start // 1_000_000_000 for start in eight] == list(range(0, 16, 2))
    assert all(start % 1_000_000_000 < 3e6 for start in eight)
    assert kernel.settings(linux.network.transport("reno", ecn=False) | {"min_rto": "10ms"}) == (
        kernel.SYSCTLS
        | {
            "net.ipv4.tcp_congestion_control": "reno",
            "net.ipv4.tcp_ecn": 0,
            "net.ipv4.tcp_rto_min_us": 10_000,
        }
    )


def test_the_page_shows_what_was_decided():
    row = {
        "reference": "linux.c_incast",
        "run": "c_reno",
        "metric": "goodput_mbps",
        "theirs": 700.0,
        "ours": 500.0,
        "ours_low": 400.0,
        "ours_high": 600.0,
        "ratio": 0.7,
        "bar": {"rel": 0.15},
        "within": False,
        "compat": None,
        "absent": False,
        "reason": "outside",
    }
    decided = [
        Decision("linux.c_incast/c_reno", "goodput_mbps", 700, (600, 650, 800), (500,)),
        Decision("linux.c_incast/series", "collapse_N", math.inf, (16, math.inf), (16,)),
        Decision("linux.other/x", "half2_mbps", 1, (1,), (1,)),
    ]
    text = page.page([row], [], "1 min", [], decided)
    assert "| ×÷" not in text
    assert "| ±15 % | 650 (600 – 800) | the reference |" in text
    assert (
        "| `linux.c_incast/c_reno` | goodput_mbps | 700 | 650 (600 – 800) | 500 | 3, 1 | the reference |"
        in text
    )
    assert "| none | none (16 – none) | 16 | 2, 1 | the reference |" in text
    assert "linux.other" not in text
    assert "kernels" not in page.page([row], [], "1 min")
