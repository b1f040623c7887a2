"""Output at a terminal: tables that fit the width, a pager, and completion."""

import fcntl
import io
import itertools
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable
from pathlib import Path

import pytest
from made import design
from rich.console import Console, RenderableType

import afflux
from afflux import settings
from afflux.results.designs import Designs
from afflux.results.explain import LABELS, Flow
from afflux.results.split import Group, Mean
from afflux.terminal import completion, explanation
from afflux.terminal.comparison import comparison, verdicts
from afflux.terminal.drawing import LETTERS, Fitted, legend, stacked, table, zeros

NAMES = ["goodput while busy", "time-outs", "a-name-with-many-words"]


def drawn(made: Fitted, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(made)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def sample(columns: int, **options: object) -> Fitted:
    made = table("Title", "", *(f"column {place}" for place in range(columns)), **options)
    for name in NAMES:
        made.add_row(name, *(f"{place}{place}.123 ms" for place in range(columns)))
    return made


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_cell_is_clipped_and_names_are_repeated(width):
    lines = drawn(sample(8), width)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    rows = {name: [line for line in lines if line.startswith(name)] for name in NAMES}
    tables = len(rows[NAMES[0]])
    assert (tables == 1) == (width == 120)
    for of_name in rows.values():
        assert len(of_name) == tables, "each table repeats the names"
        assert re.findall(r"(\d\d)\.123 ms", "".join(of_name)) == [
            f"{place}{place}" for place in range(8)
        ]


def test_heads_are_broken_between_words_first():
    made = table("", "", "a design with a long name", "another-design-with-hyphens", "time-outs")
    made.add_row("x", "1.00 ms", "2.00 ms", "3")
    lines = drawn(made, 40)
    assert sum(line.startswith("x") for line in lines) == 1, "one table is enough"
    assert "time-outs" in "".join(lines)
    assert (
        "".join(re.sub(r"\s", "", line) for line in lines if "─" not in line).count("hyphens") == 1
    )


def test_bars_are_left_out_before_columns_move():
    made = table("", "", "value", "", extras=[-1])
    made.add_row("name", "1", "█" * 40)
    assert "█" in "".join(drawn(made, 60))
    narrow = drawn(made, 30)
    assert "█" not in "".join(narrow)
    assert sum(line.startswith("name") for line in narrow) == 1


def test_words_are_broken_into_lines():
    made = table("", "name", "meaning", words=[-1])
    made.add_row("short", "one two three four five six seven eight nine ten eleven twelve")
    lines = drawn(made, 40)
    assert max(map(len, lines)) <= 40
    assert "one two three four five six seven eight nine ten eleven twelve" in " ".join(
        " ".join(lines).split()
    )


def test_a_name_wider_than_the_terminal_is_broken_not_clipped():
    made = table("", "", "value")
    made.add_row("n" * 90, "1.234 ms")
    lines = drawn(made, 60)
    assert max(map(len, lines)) <= 60
    assert "".join(lines).count("n") == 90
    assert "1.234 ms" in "".join(lines)


def parts_of(lines: list[str]) -> list[list[str]]:
    """Returns the column heads of each table, as words."""
    return [lines[place - 1].split() for place, line in enumerate(lines) if line.startswith("──")]


@pytest.mark.parametrize("columns", range(2, 14))
def test_no_table_has_a_lone_column(columns):
    made = table("", "", *(f"c{place}" for place in range(columns)))
    made.add_row("name", *(f"{place}{place}.123 ms" for place in range(columns)))
    for width in (40, 52, 60, 80):
        parts = parts_of(drawn(made, width))
        assert [head for part in parts for head in part] == [
            f"c{place}" for place in range(columns)
        ]
        sizes = [*map(len, parts)]
        assert min(sizes) > 1, (width, sizes)
        assert max(sizes) - min(sizes) <= 1, "columns of one width are spread evenly"


def test_labels_are_broken_before_columns_move():
    """A line break between two words is preferred to a second table."""
    made = table("", "", "before", "after", "verdict", labels=[-1])
    made.add_row("goodput while busy", "11.9 Gbps", "6.54 Gbps", "cannot tell")
    assert drawn(made, 50)[2:] == ["goodput while    11.9 Gbps  6.54 Gbps  cannot tell", "busy"]
    assert drawn(made, 38)[2:] == [
        "goodput  11.9 Gbps  6.54 Gbps  cannot",
        "while                          tell",
        "busy",
    ]


def test_bars_of_several_labels_have_letters():
    """The legend distinguishes the parts of a bar also without colours."""
    assert len({*LETTERS.values()}) == len(LETTERS) == len(LABELS)
    assert all(letter in label.upper() for label, letter in LETTERS.items())
    assert (
        stacked({"serialization": 0.25, "recovery": 0.5, "queueing": 0.25}, 8).plain == "SSRRRRQQ"
    )
    assert (
        legend(["serialization", "recovery"]).plain.replace("\N{NO-BREAK SPACE}", " ")
        == "S serialization  R recovery"
    )
    coloured = io.StringIO()
    Console(
        file=coloured, force_terminal=True, color_system="standard", width=40, _environ={}
    ).print(stacked({"recovery": 1.0}, 4))
    assert coloured.getvalue() == "\x1b[30;41mRRRR\x1b[0m\n"


def test_rows_of_zeros_are_named_below():
    assert [line.plain for line in zeros([])] == []
    assert [line.plain for line in zeros(["paused"])] == ["paused is zero and not shown"]
    assert [line.plain for line in zeros(["reordering", "paused", "pacing"])] == [
        "reordering, paused and pacing are zero and not shown"
    ]


#: A flow without reordering, pauses, pacing or window limit.
PARTS = dict.fromkeys(LABELS, 0) | {
    "propagation": 4_000,
    "serialization": 96_000,
    "recovery": 600_000,
    "queueing": 300_000,
}
FLOW = Flow(7, "query", 3, 0, 256_000, 1_000_000, 11.5, PARTS, "host3", "host0", 30_000)
GROUPS = [
    Group(
        "size",
        name,
        Mean(320, 1_000_000, PARTS, {label: ns / 1e6 for label, ns in PARTS.items()}),
        2,
    )
    for name in (None, "100KB_10MB")
]

EXPLAINED = {
    80: """
Where the time went: parts of the mean completion time
                     mean  all flows  100 kB – 10 MB
────────────────────────────────────────────────────────────────────
propagation      4.000 µs      0.4 %           0.4 %  ▏
serialization    96.00 µs      9.6 %           9.6 %  ██▏
recovery         600.0 µs     60.0 %          60.0 %  █████████████▎
queueing         300.0 µs     30.0 %          30.0 %  ██████▋

mean completion             1.000 ms        1.000 ms
flows                            320             320
reordering, paused, pacing, window and application are zero and not shown
a flow weighs as much as the time it took (--shares: all the same); without 2
flows that did not finish

Slowest flows, by slowdown
flow        hosts   bytes  completion  slowdown  where the time went
─────────────────────────────────────────────────────────────────────────
7     host3→host0  256 kB    1.000 ms     11.50  SRRRRRRQQQ recovery 60 %

P propagation  S serialization  R recovery  Q queueing
Flow 7  host3 → host0, 256 kB, class query
completed in 1.000 ms, slowdown 11.50
                      ns   share
────────────────────────────────────────────────────────
propagation        4,000   0.4 %  ▏
serialization     96,000   9.6 %  ███▌
recovery         600,000  60.0 %  █████████████████████▋
queueing         300,000  30.0 %  ██████████▊
  in its host     30,000   3.0 %  █▏

completion     1,000,000
reordering, paused, pacing, window and application are zero and not shown
""",
    120: """
Where the time went: parts of the mean completion time
                     mean  all flows  100 kB – 10 MB
──────────────────────────────────────────────────────────────────────────────
propagation      4.000 µs      0.4 %           0.4 %  ▏
serialization    96.00 µs      9.6 %           9.6 %  ███▉
recovery         600.0 µs     60.0 %          60.0 %  ████████████████████████
queueing         300.0 µs     30.0 %          30.0 %  ████████████

mean completion             1.000 ms        1.000 ms
flows                            320             320
reordering, paused, pacing, window and application are zero and not shown
a flow weighs as much as the time it took (--shares: all the same); without 2 flows that did not finish

Slowest flows, by slowdown
flow        hosts   bytes  completion  slowdown  where the time went
───────────────────────────────────────────────────────────────────────────────────────────────────────
7     host3→host0  256 kB    1.000 ms     11.50  SSSSRRRRRRRRRRRRRRRRRRRRRRRRQQQQQQQQQQQQ recovery 60 %

P propagation  S serialization  R recovery  Q queueing
Flow 7  host3 → host0, 256 kB, class query
completed in 1.000 ms, slowdown 11.50
                      ns   share
────────────────────────────────────────────────────────────────────────────────
propagation        4,000   0.4 %  ▎
serialization     96,000   9.6 %  ███████▎
recovery         600,000  60.0 %  █████████████████████████████████████████████▋
queueing         300,000  30.0 %  ██████████████████████▊
  in its host     30,000   3.0 %  ██▎

completion     1,000,000
reordering, paused, pacing, window and application are zero and not shown
""",
}


def printed(parts: Iterable[RenderableType], width: int) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, no_color=True, color_system=None, highlight=False)
    for part in parts:
        console.print(part)
    # A non-breaking space joins each letter of the legend with its label.
    return [
        line.rstrip() for line in out.getvalue().replace("\N{NO-BREAK SPACE}", " ").splitlines()
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_explanations(width):
    parts = (
        explanation.parts(GROUPS, width, per_flow=False),
        explanation.slowest([FLOW], width),
        explanation.flow(FLOW, width),
    )
    assert printed(itertools.chain(*parts), width) == EXPLAINED[width].rstrip().splitlines()


NAMES_OF_POINTS = [
    (
        ["switch.buffer=200kB,switch.ecn.k=50kB", "switch.buffer=9MB,switch.ecn.k=200kB"],
        ["buffer=200kB k=50kB", "buffer=9MB k=200kB"],
    ),
    (
        ["switch.buffer=9MB,switch.ecn.k=50kB", "switch.buffer=9MB,switch.ecn.k=200kB"],
        ["k=50kB", "k=200kB"],
    ),
    (["host.a.k=1,switch.b.k=2", "host.a.k=2,switch.b.k=1"], ["a.k=1 b.k=2", "a.k=2 b.k=1"]),
    (
        ["traffic.0.pairs=[[0,1],[2,3]]", "traffic.0.pairs=[[0,1]]"],
        ["pairs=[[0,1],[2,3]]", "pairs=[[0,1]]"],
    ),
    (["deep", "switch.buffer=9MB"], ["deep", "buffer=9MB"]),
    (["deep", "shallow"], ["deep", "shallow"]),
    (["switch.buffer=9MB"], ["switch.buffer=9MB"]),
    (
        ["switch.buffer=9MB,switch.ecn.k=1~0123abcd", "switch.buffer=2MB"],
        ["switch.buffer=9MB,switch.ecn.k=1~0123abcd", "buffer=2MB"],
    ),
    (["a=1", "a=1,b=2"], ["a=1", "b=2"]),
]


@pytest.mark.parametrize(("names", "shorter"), NAMES_OF_POINTS)
def test_names_of_points_are_shortened_to_what_differs(names, shorter):
    assert settings.short_names(names) == dict(zip(names, shorter, strict=True))


def points() -> Designs:
    """Returns three points of a sweep, one of which repaired losses."""
    numbers = {
        "switch.buffer=9MB,switch.ecn.k=50kB": {"job": [1.5, 1.52, 1.49]},
        "switch.buffer=200kB,switch.ecn.k=50kB": {
            "job": [2.7, 2.8, 2.9],
            "drops": [1_600, 1_700, 1_650],
            "timeouts": [2, 3, 1],
        },
        "switch.buffer=1MB,switch.ecn.k=200kB": {"job": [1.6, 1.4, 1.5]},
    }
    return Designs([design(name, **of) for name, of in numbers.items()])


#: With a baseline there is a table per design. Neither of them is split.
AGAINST = {
    80: """
buffer=200kB k=50kB against buffer=9MB k=50kB
                     buffer=9MB  buffer=200kB
                         k=50kB        k=50kB   change    95 % interval  verdict
────────────────────────────────────────────────────────────────────────────────
job time               1.503 ms      2.800 ms  +86.2 %  +68.5 to +106 %  worse
FCT mean               5.000 ms      5.000 ms        0                –  same
slowdown p99              20.00         20.00        0                –  same
goodput while busy    10.0 Gbps     10.0 Gbps        0                –  same

buffer=1MB k=200kB against buffer=9MB k=50kB
                  buffer=9MB  buffer=1MB
                      k=50kB     k=200kB   change     95 % interval  verdict
────────────────────────────────────────────────────────────────────────────────
job time            1.503 ms    1.500 ms  −0.37 %  −17.1 to +19.7 %  cannot tell
FCT mean            5.000 ms    5.000 ms        0                 –  same
slowdown p99           20.00       20.00        0                 –  same
goodput while      10.0 Gbps   10.0 Gbps        0                 –  same
busy
""",
    120: """
buffer=200kB k=50kB against buffer=9MB k=50kB
                    buffer=9MB k=50kB  buffer=200kB k=50kB   change    95 % interval  verdict
─────────────────────────────────────────────────────────────────────────────────────────────
job time                     1.503 ms             2.800 ms  +86.2 %  +68.5 to +106 %  worse
FCT mean                     5.000 ms             5.000 ms        0                –  same
slowdown p99                    20.00                20.00        0                –  same
goodput while busy          10.0 Gbps            10.0 Gbps        0                –  same

buffer=1MB k=200kB against buffer=9MB k=50kB
                    buffer=9MB k=50kB  buffer=1MB k=200kB   change     95 % interval  verdict
─────────────────────────────────────────────────────────────────────────────────────────────────
job time                     1.503 ms            1.500 ms  −0.37 %  −17.1 to +19.7 %  cannot tell
FCT mean                     5.000 ms            5.000 ms        0                 –  same
slowdown p99                    20.00               20.00        0                 –  same
goodput while busy          10.0 Gbps           10.0 Gbps        0                 –  same
""",
}


@pytest.mark.parametrize("width", [80, 120])
def test_a_baseline_has_a_table_per_design(width):
    lines = printed(verdicts(afflux.compare(points())), width)
    notes = next(place for place, line in enumerate(lines) if line.startswith("note: "))
    assert lines[: notes - 1] == AGAINST[width].rstrip().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_a_comparison_of_points(width):
    found = afflux.compare(points())
    lines = printed(comparison(found, {}, width), width)
    assert max(map(len, lines)) <= width
    assert len(parts_of(lines)) == len(found.designs), "no table is split"
    assert [line for line in lines if " against " in line] == [
        f"buffer={design} against buffer=9MB k=50kB" for design in ("200kB k=50kB", "1MB k=200kB")
    ]
    # The first design has drops and time-outs, the second one has none.
    assert [
        line.split()[:2] for line in lines if line.startswith(("queue drops", "time-outs"))
    ] == [["queue", "drops"], ["time-outs", "0"], ["queue", "drops"]]
    assert [line for line in lines if "not shown" in line] == [
        "queue drops and time-outs are zero and not shown"
    ]


# ----------------------------------------------------------------------------------------------------------------------- the pager


def at_terminal(arguments: list[str], tmp_path: Path, rows: int = 24, **environment: str) -> str:
    """Returns the output of the command at a terminal of 80 columns."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    own = {
        key: value
        for key, value in os.environ.items()
        if key not in ("COLUMNS", "LINES", "PAGER", "LESS", "NO_COLOR")
    }
    command = [sys.executable, "-m", "afflux", *arguments]
    process = subprocess.Popen(
        command,
        stdin=child,
        stdout=child,
        stderr=child,
        cwd=tmp_path,
        env=own | {"TERM": "xterm"} | environment,
    )
    os.close(child)
    read = b""
    try:
        while part := os.read(parent, 65_536):
            read += part
    except OSError:  # on Linux, the end of the terminal's output
        pass
    os.close(parent)
    assert process.wait(60) == 0, read
    return read.decode()


MARK = "sed s/^/paged:/"


def test_long_output_is_paged(tmp_path):
    assert "paged:" in at_terminal(["models"], tmp_path, PAGER=MARK)
    assert "paged:{" in at_terminal(["schema"], tmp_path, PAGER=MARK)
    assert "\x1b" not in at_terminal(["models"], tmp_path, PAGER=MARK), "only less shows colours"


def test_short_output_is_not_paged(tmp_path):
    shown = at_terminal(["models", "dctcp"], tmp_path, PAGER=MARK)
    assert "RFC 8257" in shown
    assert "paged:" not in shown


NONE = [
    ({"PAGER": ""}, "models"),
    ({"PAGER": "cat"}, "models"),
    ({"TERM": "dumb"}, "models"),
    ({}, "models --no-pager"),
    ({}, "--no-pager models"),
]


@pytest.mark.parametrize(("environment", "arguments"), NONE)
def test_no_pager(environment, arguments, tmp_path):
    shown = at_terminal(arguments.split(), tmp_path, **{"PAGER": MARK} | environment)
    assert "RFC 8257" in shown
    assert "paged:" not in shown


def test_a_pager_that_is_not_there(tmp_path):
    assert "RFC 8257" in at_terminal(["models"], tmp_path, PAGER="no-such-pager-exists")


def test_a_pager_that_ends_early(tmp_path):
    shown = at_terminal(["schema"], tmp_path, PAGER="head -n 3 | sed s/^/paged:/")
    assert shown.count("paged:") == 3
    assert "error" not in shown.lower()


def test_never_a_pager_without_a_terminal(process, monkeypatch):
    monkeypatch.setenv("PAGER", MARK)
    assert "paged:" not in process("models").stdout
    assert "paged:" not in process("schema").stdout


# ----------------------------------------------------------------------------------------------------------------------- completion


@pytest.mark.parametrize(
    ("incomplete", "there", "absent"),
    [
        ("switch.buf", {"switch.buffer="}, {"switch.ecn="}),
        (
            "host.transport.congestion=",
            {"host.transport.congestion=dctcp", "host.transport.congestion=cubic"},
            set(),
        ),
        (
            "host.transport.congestion=d",
            {"host.transport.congestion=dctcp"},
            {"host.transport.congestion=cubic"},
        ),
        (
            "host.transport.congestion=cubic,dc",
            {"host.transport.congestion=cubic,dctcp"},
            {"host.transport.congestion=dctcp"},
        ),
        (
            "switch.sharing=s",
            {"switch.sharing=static", "switch.sharing=sonic"},
            {"switch.sharing=dynamic"},
        ),
        ("record.explain=", {"record.explain=true", "record.explain=false"}, set()),
        ("switch.balance=le", {"switch.balance=letflow"}, set()),
        ("traffic.0.kind=in", {"traffic.0.kind=incast"}, set()),
        ("traffic.query.kind=in", {"traffic.query.kind=incast"}, set()),
        (
            "host.transports.bulk.congestion=d",
            {"host.transports.bulk.congestion=dctcp"},
            {"host.transports.bulk.congestion=cubic"},
        ),
        ("no.such.key=", set(), {"no.such.key="}),
    ],
)
def test_keys_and_values_of_scenarios(incomplete, there, absent):
    found = set(completion.assignments(incomplete))
    assert there <= found
    assert not absent & found
    assert all(one.startswith(incomplete) for one in found)


def completed(tmp_path: Path, words: list[str]) -> list[str]:
    """Returns bash's completions of the last word. Bash treats `=` as a separate word."""
    program = tmp_path / "bin" / "afflux"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable}\nfrom afflux.__main__ import main\n\nmain()\n")
    program.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    file = tmp_path / "completion.bash"
    if not file.exists():
        file.write_text(
            subprocess.run(
                ["afflux", "--show-completion", "bash"],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    line = f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _afflux_completion afflux; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(
        ["bash", "-c", f". {shlex.quote(str(file))}\n{line}"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert not done.stderr, done.stderr
    return done.stdout.split()


def test_bash(tmp_path):
    for name in ("deep", "shallow"):
        (tmp_path / "out" / f"{name}-1").mkdir(parents=True)
        (tmp_path / "out" / f"{name}-1" / "summary.json").write_text(f'{{"name": "{name}"}}')
    assert completed(
        tmp_path, ["afflux", "run", "s.toml", "--set", "host.transport.congestion", "=", "dc"]
    ) == ["dctcp", "dcqcn"]
    assert "cubic" in completed(
        tmp_path, ["afflux", "run", "s.toml", "--set", "host.transport.congestion", "="]
    )
    assert "switch.buffer=" in completed(
        tmp_path, ["afflux", "run", "s.toml", "--set", "switch.buf"]
    )
    assert (
        completed(
            tmp_path,
            [
                "afflux",
                "tune",
                "s.toml",
                "--vary",
                "switch.buffer",
                "=",
                "1MB..9MB",
                "--objective",
                "job_t",
            ],
        )[0]
        == "job_time"
    )
    assert "hadoop" in completed(tmp_path, ["afflux", "study", ""])
    assert completed(
        tmp_path, ["afflux", "compare", "out/deep-1", "out/shallow-1", "--baseline", "s"]
    ) == ["shallow"]
    assert completed(tmp_path, ["afflux", "report", "out/*", "--baseline", ""]) == [
        "deep",
        "shallow",
    ]
    assert completed(
        tmp_path,
        [
            "afflux",
            "sweep",
            "s.toml",
            "--vary",
            "switch.buffer",
            "=",
            "1MB,9MB",
            "--baseline",
            "switch.buffer",
            "=",
            "9",
        ],
    ) == ["9MB"]
    assert completed(tmp_path, ["afflux", "sweep", "s.toml", "--executor", "d"]) == ["dask"]
