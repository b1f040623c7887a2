"""Congestion control algorithms written in Python."""

import _thread
import functools
import json
import re
import signal
import statistics
import threading
import time
from collections.abc import Iterator

import pytest
from conftest import REPO

import afflux

STAR = {
    "name": "star",
    "topology": {"kind": "star", "hosts": 4, "rate": "10Gbps", "delay": "5us"},
    "switch": {"buffer": "60packets", "sharing": "static"},
    "host": {"transport": {"stack": "basic", "congestion": "newreno", "min_rto": "1ms"}},
    "traffic": [{"kind": "pairs", "pairs": [[1, 0], [2, 0], [3, 0]], "sizes": "8MB"}],
}


class Whole(afflux.CongestionControl):
    """NewReno that counts whole segments, like the built-in one."""

    credit = 0

    def on_ack(self, ack: afflux.Ack) -> None:
        if not ack.may_grow:
            return
        acked = ack.acked
        if self.cwnd < self.ssthresh:
            step = min(acked, self.ssthresh - self.cwnd)
            self.cwnd += step
            acked -= step
        self.credit += acked
        while acked and self.credit >= self.cwnd:
            self.credit -= self.cwnd
            self.cwnd += 1

    def on_loss(self, now_ns: float) -> None:
        self.credit = 0
        self.ssthresh = max(self.cwnd // 2, 2)


@pytest.fixture
def star() -> afflux.Scenario:
    return afflux.Scenario(STAR)


def aimd() -> type[afflux.CongestionControl]:
    """Returns the class of docs/python.md."""
    text = (REPO / "docs/python.md").read_text(encoding="utf-8")
    code = next(
        block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "class Aimd" in block
    )
    names: dict = {"afflux": afflux}
    exec(code.split("\n\n\nresult")[0], names)
    return names["Aimd"]


def test_newreno_in_python_is_newreno(star):
    ours, theirs = star.run(), star.run(congestion=Whole)
    assert ours.summary["drops"] > 0
    assert theirs.flows["fct_ns"] == ours.flows["fct_ns"]
    assert theirs.summary["result_hash"] == ours.summary["result_hash"]
    assert theirs.summary["congestion"] == "python:Whole"
    assert any("outside the promise" in note for note in theirs.summary["notes"])


@pytest.mark.parametrize("stack", ["basic", "linux"])
def test_the_example_is_close_to_newreno(star, stack):
    star["host.transport.stack"] = stack
    ours = [star.run(seed=seed) for seed in range(1, 6)]
    theirs = [star.run(seed=seed, congestion=aimd()) for seed in range(1, 6)]
    assert all(result.summary["drops"] > 0 for result in ours)
    last_ours, last_theirs = (
        [max(result.flows["fct_ns"]) for result in results] for results in (ours, theirs)
    )
    assert statistics.median(last_theirs) == pytest.approx(statistics.median(last_ours), rel=0.02)


def test_what_is_called(star):
    calls: dict[str, int] = {}
    threads = set()

    class Seen(afflux.CongestionControl):
        def on_ack(self, ack: afflux.Ack) -> None:
            calls["ack"] = calls.get("ack", 0) + 1
            threads.add(threading.get_ident())
            assert ack.now_ns > 0
            assert ack.rtt_ns is None or ack.rtt_ns >= 20_000
            assert ack.state in ("open", "reduced", "recovery", "loss")
            super().on_ack(ack)

        def on_loss(self, now_ns: float) -> None:
            calls["loss"] = calls.get("loss", 0) + 1
            super().on_loss(now_ns)

        def on_ecn(self, now_ns: float) -> None:
            calls["ecn"] = calls.get("ecn", 0) + 1
            self.ssthresh = max(self.cwnd * 0.8, 2)

        def on_timeout(self, now_ns: float) -> None:
            calls["timeout"] = calls.get("timeout", 0) + 1
            self.ssthresh = 2

    assert star.run(congestion=Seen, threads=3).summary["threads"] == 1
    assert calls["ack"] > 1_000
    assert calls["loss"] > 0
    assert "ecn" not in calls
    assert len(threads) == 1
    star["host.transport.ecn"], star["switch.ecn"] = "classic", {"k": "20packets"}
    assert star.run(congestion=Seen).summary["ecn_marks"] > 0
    assert calls["ecn"] > 0
    # This setting causes losses that only a time-out repairs.
    star["switch.buffer"], star["traffic.0.sizes"] = "2packets", "20kB"
    assert star.run(congestion=Seen).summary["timeouts"] > 0
    assert calls["timeout"] > 0


def test_a_rate(star):
    star["traffic.0.pairs"] = [[1, 0]]

    class Slow(afflux.CongestionControl):
        def pacing(self) -> float:
            return 1e9

    fct = star.run(congestion=Slow).flows["fct_ns"][0]
    assert fct == pytest.approx(8e6 * 8, rel=0.05)
    with pytest.raises(ValueError, match="more than 0"):
        star.run(congestion=type("Stopped", (Slow,), {"pacing": lambda self: 0.0}))


def test_what_goes_wrong_is_raised(star, tmp_path):
    class Broken(afflux.CongestionControl):
        def on_ack(self, ack: afflux.Ack) -> None:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        star.run(congestion=Broken)
    with pytest.raises(ValueError, match="cwnd is NaN"):
        star.run(
            congestion=type(
                "Nan", (Broken,), {"on_ack": lambda self, ack: setattr(self, "cwnd", float("nan"))}
            )
        )
    with pytest.raises(TypeError, match="cwnd is wide"):
        star.run(
            congestion=type(
                "Text", (Broken,), {"on_ack": lambda self, ack: setattr(self, "cwnd", "wide")}
            )
        )
    for wrong, says in (
        ("cubic", r'congestion is .cubic., .*set host.transport.congestion = "cubic"'),
        (Broken(), "congestion is an object of Broken, .*: write Broken, the class"),
        (5, "congestion is of type int, expected a class such as a subclass of"),
    ):
        with pytest.raises(TypeError, match=says):
            star.run(congestion=wrong)
    with pytest.raises(ValueError, match=r"write file and class in \[host.python\]"):
        star.run(congestion=Broken, out=tmp_path / "x")
    star["host.transport"] = {"kind": "rdma", "mode": "gbn_no_pfc"}
    with pytest.raises(ValueError, match="needs TCP"):
        star.run(congestion=Broken)
    assert not (tmp_path / "x").exists()


@pytest.fixture
def heeded() -> Iterator[None]:
    """Makes SIGINT interrupt Python. A background test runner may ignore SIGINT, which child
    processes inherit."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
def test_ctrl_c(star):
    star["traffic.0.sizes"] = "5GB"
    timer = threading.Timer(0.7, _thread.interrupt_main)
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        star.run(congestion=Whole)
    timer.join()
    assert time.monotonic() - began < 30


def test_it_is_listed():
    assert any(
        model.name == "python" and "prototypes" in model.simplified for model in afflux.models()
    )


OWN = """\
import afflux


class Aimd(afflux.CongestionControl):
    def __init__(self, increase=1.0, decrease=0.5):
        self.increase, self.decrease = increase, decrease

    def on_ack(self, ack):
        if not ack.may_grow:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + ack.acked, self.ssthresh)
        else:
            self.cwnd += self.increase * ack.acked / self.cwnd

    def on_loss(self, now_ns):
        self.ssthresh = max(self.cwnd * self.decrease, 2)
"""


@pytest.fixture
def own(star, tmp_path) -> afflux.Scenario:
    """Returns a scenario in a file next to the file of its class."""
    (tmp_path / "aimd.py").write_text(OWN)
    star["host.python"] = {"file": "aimd.py", "parameters": {"increase": 2.0}}
    star["traffic.0.sizes"] = "2MB"
    star.path = tmp_path / "star.toml"
    star.path.write_text(star.to_toml())
    return star


def test_a_scenario_names_the_class(own, tmp_path):
    names: dict = {}
    exec(OWN, names)
    wanted = own.copy()
    del wanted["host.python"]
    wanted = wanted.run(congestion=lambda: names["Aimd"](2.0))
    found = own.run(out=tmp_path / "out")
    assert (
        found.summary["result_hash"]
        == wanted.summary["result_hash"]
        != own.set("host.python.parameters.increase", 1.0).run().summary["result_hash"]
    )
    assert any("aimd.py" in note for note in found.summary["notes"])
    # The result directory can be run again, and a different class of the same name is detected.
    again = tmp_path / "out/scenario.toml"
    assert afflux.load(again).run().summary["result_hash"] == found.summary["result_hash"]
    (tmp_path / "aimd.py").write_text(OWN.replace("0.5", "0.6"))
    with pytest.raises(afflux.ScenarioError, match="SHA-256"):
        afflux.load(again)


def test_multipath_without_coupling(own):
    own["host.transport"] = {"mptcp": {"subflows": 2, "coupling": "off"}}
    assert own.run().summary["flows"]["finished"] == 3
    own["host.transport.mptcp.coupling"] = "lia"
    with pytest.raises(
        afflux.ScenarioError, match=r"host\.python: no transport of this scenario can use it"
    ):
        own.check()


def test_check_estimates_a_class_of_ones_own(own, command):
    """The packet-hops are within the effect of a window rule, and the estimated time includes the
    calls."""
    checked = command("check", "star.toml", "--json")
    assert checked.returncode == 0, checked.stderr
    found = json.loads(checked.stdout)
    run = own.run().summary
    assert found["packet_hops"] == pytest.approx(run["packet_hops"], rel=0.15)
    assert found["seconds"] > 3 * 2_000_000 / 1_460 * 9e-6
    assert any(
        "the window rule of a Python class is not known before the run" in note
        for note in found["notes"]
    )
    assert "most of it in the Python class" in command("check", "star.toml").stdout


def test_a_built_in_control_next_to_the_class(own):
    """Only the named transports use the class. The others give the same results as without it."""
    own["host.transports"] = {"mine": {"stack": "basic", "congestion": "newreno", "min_rto": "1ms"}}
    own["traffic"] = [
        {"kind": "pairs", "class": "cubic", "pairs": [[1, 0], [2, 0]], "sizes": "8MB"},
        {
            "kind": "pairs",
            "class": "mine",
            "pairs": [[4, 3], [5, 3], [6, 3]],
            "sizes": "8MB",
            "transport": "mine",
        },
    ]
    own["topology.hosts"] = 7
    own["host.transport.congestion"] = "cubic"

    def fct(scenario: afflux.Scenario) -> dict[str, list[int]]:
        flows = scenario.run().flows
        return {
            name: [
                fct for of, fct in zip(flows["class"], flows["fct_ns"], strict=True) if of == name
            ]
            for name in ("cubic", "mine")
        }

    every = fct(own)
    own["host.python.transports"] = ["mine"]
    one = fct(own)
    del own["host.python"]
    none = fct(own)
    # The classes share no link, so each shows the effect of its own congestion control.
    assert (one["cubic"], one["mine"]) == (none["cubic"], every["mine"])
    assert one["cubic"] != every["cubic"]
    assert one["mine"] != none["mine"]
    for names, says in (
        (
            ["mien"],
            r'host\.python\.transports\[0\]: there is no transport "mien" \(did you mean "mine"\?\)',
        ),
        ([], r"host\.python: no transport of this scenario can use it"),
    ):
        own["host.python"] = {"file": "aimd.py", "transports": names}
        with pytest.raises(afflux.ScenarioError, match=says):
            own.check()
    own["host.transports.fast"] = {"kind": "rdma"}
    own["host.python.transports"] = ["fast"]
    with pytest.raises(
        afflux.ScenarioError,
        match=r'transports\[0\]: the transport "fast" cannot use the class: it needs kind = "tcp"',
    ):
        own.check()


def test_what_the_methods_return_does_not_count(star):
    """Only attributes have an effect: a method that returns False and sets no threshold leaves the
    window as it was."""

    class Sets(afflux.CongestionControl):
        def on_ecn(self, now_ns: float) -> None:
            self.ssthresh = max(self.cwnd / 2, 2)

    class Returns(Sets):
        def on_ecn(self, now_ns: float) -> None:
            super().on_ecn(now_ns)
            return False

    class Ignores(afflux.CongestionControl):
        def on_ecn(self, now_ns: float) -> None:
            self.ssthresh = self.cwnd

    star["switch"] = {"buffer": "4MB", "ecn": {"k": "65kB", "incapable": "pass"}}
    star["host.transport.ecn"] = "classic"
    sets, returns, ignores = (
        star.run(congestion=made).summary for made in (Sets, Returns, Ignores)
    )
    assert returns["result_hash"] == sets["result_hash"]
    assert ignores["ecn_marks"] > 2 * sets["ecn_marks"] > 0


def test_dctcp_of_the_page_is_dctcp(tmp_path):
    """The class of docs/how-to/congestion-control-python.md keeps the same queue length as the
    built-in one."""
    names: dict = {}
    exec(page("dctcp.py"), names)
    star = afflux.Scenario(STAR)
    star["switch"] = {"buffer": "4MB", "ecn": {"k": "65kB"}}
    star["host.transport"] = {"congestion": "dctcp"}
    star["traffic"] = [
        {"kind": "pairs", "pairs": [[1, 0], [2, 0], [3, 0]], "sizes": "8MB", "jitter": "200us"}
    ]
    star["record"] = {"ports": {"interval": "50us"}}

    def queue(result: afflux.Result) -> float:
        ports = result.ports
        rows = zip(
            ports["node"],
            ports["peer"],
            ports["queue"],
            ports["time_ns"],
            ports["queue_bytes"],
            strict=True,
        )
        return statistics.mean(
            bytes
            for node, peer, number, time, bytes in rows
            if (node, peer, number) == ("switch0", "host0", -1) and 5e6 < time < 15e6
        )

    built_in, ours = star.run(), star.run(congestion=names["Dctcp"])
    halves = star.run(congestion=afflux.CongestionControl)
    assert ours.summary["fct"]["all"]["mean_ns"] == pytest.approx(
        built_in.summary["fct"]["all"]["mean_ns"], rel=0.06
    )
    assert ours.summary["ecn_marks"] == pytest.approx(built_in.summary["ecn_marks"], rel=0.15)
    assert queue(ours) == pytest.approx(queue(built_in), rel=0.05)
    # A window that is halved at each mark gives a shorter queue.
    assert queue(halves) < 0.9 * queue(built_in)


def test_dctcp_of_the_page_counts_every_segment_once(star):
    """Also if segments are lost: `acked` is no count of data, `delivered` is one."""
    names: dict = {}
    exec(page("dctcp.py"), names)
    made, grown = [], []

    class Kept(names["Dctcp"]):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

        def on_ack(self, ack: afflux.Ack) -> None:
            grown.append(ack.acked)
            super().on_ack(ack)

    star["switch.ecn"] = {"k": "65kB"}
    star["host.transport"] = {"congestion": "dctcp"}
    star["traffic.0.sizes"] = "2MB"
    assert star.run(congestion=Kept).summary["drops"] > 0
    segments = -(-2_000_000 // made[-1].mss)
    # With a handshake, the first object of a connection gets no acknowledgement.
    assert [one.arrived for one in made] == [0] * 3 + [segments] * 3
    assert sum(grown) < 3 * segments


def test_the_page_names_every_field_of_an_acknowledgement():
    text = (REPO / "docs/how-to/congestion-control-python.md").read_text(encoding="utf-8")
    table = text.split("| field of `ack` |")[1].split("\n\n")[0]
    named = re.findall(r"^\| `(\w+)` \|", table, re.M)
    assert sorted(named) == sorted(name for name in dir(afflux.Ack) if not name.startswith("_"))


def page(name: str) -> str:
    """Returns a file that docs/how-to/congestion-control-python.md creates."""
    text = (REPO / "docs/how-to/congestion-control-python.md").read_text(encoding="utf-8")
    return re.search(rf'```py title="{name}"\n(.*?)```', text, re.S)[1]


def test_a_sweep_over_its_parameters(own, command, tmp_path):
    done = command(
        "sweep", "star.toml", "--vary", "host.python.parameters.increase=1.0,4.0", "-o", "sweep"
    )
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "sweep/sweep.csv").read_text().splitlines()
    assert len(rows) == 3
    assert rows[1].split(",")[1:] != rows[2].split(",")[1:]


@pytest.mark.parametrize(
    ("text", "table", "says"),
    [
        (
            "x = 1\n",
            {},
            r"aimd.py: the file has no class derived from afflux.CongestionControl",
        ),
        (
            OWN + OWN.replace("Aimd", "Other"),
            {},
            r"aimd.py: the file has the classes Aimd, Other: write class = ",
        ),
        (
            OWN,
            {"class": "Aimed"},
            r"aimd.py: no class 'Aimed' derived from afflux.CongestionControl: there are Aimd",
        ),
        (
            OWN,
            {"parameters": {"increment": 1}},
            r"aimd.py: Aimd\(increment=1\): .*unexpected keyword argument 'increment'",
        ),
        (
            OWN,
            {"parameters": {"increase": [1]}},
            r"host.python.parameters.increase: write a number, a string, true or false",
        ),
        (OWN + "\nx = 1 /\n", {}, r"aimd.py:19: SyntaxError"),
        (OWN + "\nx = 1 / 0\n", {}, r"aimd.py:19: ZeroDivisionError"),
        # The last frame of the traceback is in a library.
        (OWN + "\nimport json\njson.loads('{')\n", {}, r"aimd.py:20: JSONDecodeError"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_line(own, tmp_path, text, table, says):
    (tmp_path / "aimd.py").write_text(text)
    own["host.python"] = {"file": "aimd.py"} | table
    with pytest.raises(afflux.ScenarioError, match=says):
        own.run()


WRONG = {
    "file": (OWN + "\nx = 1 /\n", {}, "aimd.py:19: SyntaxError"),
    "class": (OWN, {"class": "Aimed"}, "aimd.py: no class 'Aimed'"),
    "parameters": (OWN, {"parameters": {"increment": 1}}, "aimd.py: Aimd(increment=1): "),
}


@pytest.mark.parametrize("key", WRONG)
@pytest.mark.parametrize(
    "begin",
    [
        "check star.toml",
        "run star.toml",
        "run star.toml --seeds 1-2",
        "sweep star.toml --vary switch.buffer=1MB,2MB",
        "tune star.toml --vary switch.buffer=1MB..2MB --objective fct_p99",
        "decide designs.toml",
    ],
)
def test_a_wrong_class_is_refused_before_anything_is_written(own, command, tmp_path, key, begin):
    text, table, says = WRONG[key]
    (tmp_path / "aimd.py").write_text(text)
    own["host.python"] = {"file": "aimd.py"} | table
    own.path.write_text(own.to_toml())
    (tmp_path / "designs.toml").write_text(
        'scenario = "star.toml"\n[[design]]\nname = "a"\n[[design]]\nname = "b"\n'
        'set = { "switch.buffer" = "400kB" }\n[[goal]]\nmeasure = "fct_p99"\nat_most = "1s"\n'
    )
    before = set(tmp_path.iterdir())
    done = command(*begin.split())
    assert done.returncode == 2, done.stderr
    lines = own.path.read_text().splitlines()
    head = re.compile(rf"{key} = |\[host\.python\.{key}\]")
    (line,) = [number for number, text in enumerate(lines, 1) if head.match(text)]
    assert says in done.stderr
    assert f"(key host.python.{key}, star.toml:{line})" in done.stderr
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("key", WRONG)
def test_a_wrong_class_is_refused_by_load(own, tmp_path, key):
    text, table, says = WRONG[key]
    (tmp_path / "aimd.py").write_text(text)
    own["host.python"] = {"file": "aimd.py"} | table
    own.path.write_text(own.to_toml())
    with pytest.raises(afflux.ScenarioError, match=re.escape(says)) as refused:
        afflux.load(own.path)
    assert refused.value.key == f"host.python.{key}"


def test_an_exception_of_the_class_names_its_line(own, command, tmp_path):
    (tmp_path / "aimd.py").write_text(
        OWN.replace("self.ssthresh = max", "self.ssthresh = 1 / 0 + max")
    )
    done = command("run", "star.toml", "-o", "out")
    assert (done.returncode, not (tmp_path / "out").exists()) == (1, True)
    assert "aimd.py:17: on_loss: ZeroDivisionError" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_class_file_may_define_dataclasses(own, tmp_path):
    """With postponed annotations, a dataclass looks up its module in sys.modules."""
    (tmp_path / "aimd.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n\n"
        f"@dataclass\nclass State:\n    acked: int = 0\n\n\n{OWN}"
    )
    assert own.run().summary["flows"]["finished"] == 3


@pytest.mark.parametrize(
    ("rate", "says"), [("'fast'", "TypeError: pacing"), ("0", "ValueError: pacing")]
)
def test_a_wrong_pacing_rate_names_its_method_and_line(own, tmp_path, rate, says):
    (tmp_path / "aimd.py").write_text(f"{OWN}\n    def pacing(self):\n        return {rate}\n")
    with pytest.raises(afflux.RunError, match=rf"aimd\.py:19: pacing: {says}\(\) is {rate}: exp"):
        own.run()


def test_what_a_maker_returns_is_checked(star):
    for make, says in (
        (lambda: None, r"<lambda>\(\) returned None, expected a new object of a subclass of"),
        (lambda: Whole, r"<lambda>\(\) returned the class Whole, expected a new object"),
    ):
        with pytest.raises(TypeError, match=says):
            star.run(congestion=make)


def test_a_rate_of_a_function_is_not_dropped(star):
    """A function does not tell what its objects do: without `paced` their rates had no effect."""

    class Paced(afflux.CongestionControl):
        def pacing(self):
            return 1e8

    def made():
        return Paced()

    of_class, of_partial = (star.run(congestion=one) for one in (Paced, functools.partial(Paced)))
    assert of_partial.summary["result_hash"] == of_class.summary["result_hash"]
    with pytest.raises(TypeError, match=r"made\(\) returned an object of Paced, whose pacing\(\)"):
        star.run(congestion=made)
    made.paced = True
    assert star.run(congestion=made).summary["result_hash"] == of_class.summary["result_hash"]
