"""`--watch`: serves a page on the loopback interface during a run, and only then."""

import http.client
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from conftest import INCAST

import afflux
from afflux import batch, watching
from afflux.batch import Point
from afflux.metrics import METRICS
from afflux.watching.points import Points
from afflux.watching.server import MOST, Page, _content
from afflux.watching.simulation import Simulation, completion, quantile

#: A run of some seconds with queues and drops all the time.
LONG = (
    INCAST.replace("rounds = 3", "rounds = 2000")
    .replace('period = "5ms"', "closed_loop = true")
    .replace('ports = { interval = "100us" }\n', "")
)


def ask(url: str, path: str = "", **headers: str) -> tuple[int, dict[str, str], str]:
    """Returns status, headers and content of a request. `Host` may differ from the address."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    connection.putrequest(
        "GET", path if path.startswith("/") else place.path + path, skip_host="Host" in headers
    )
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read().decode()


def events(url: str) -> Iterator[tuple[str, Any]]:
    """Yields kind and data of each event."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    connection.request("GET", place.path + "events")
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("Content-Type")) == (200, "text/event-stream")
    kind = "message"
    for line in answer:
        name, _, text = line.decode().rstrip("\n").partition(": ")
        if name == "event":
            kind = text
        elif name == "data":
            yield kind, json.loads(text)
            kind = "message"


def refused(url: str) -> bool:
    place = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((place.hostname, place.port)) != 0


def test_only_whoever_has_the_address_sees_the_page():
    with Page() as page:
        place = urlsplit(page.url)
        assert place.hostname == "127.0.0.1"
        assert len(place.path) > 30
        status, headers, content = ask(page.url)
        assert status == 200
        assert content.startswith("<!doctype html>")
        assert headers["Cache-Control"] == "no-store"
        assert ask(page.url, Host=f"localhost:{place.port}")[0] == 200
        for host in ("evil.example", f"evil.example:{place.port}", "127.0.0.1", ""):
            assert ask(page.url, Host=host)[0] == 421, host
        for path in (
            "/",
            "/events",
            "/x/",
            place.path[:-2] + "/",
            place.path.rstrip("/") + "x/",
            place.path + "other",
            f"{place.path}../",
        ):
            status, _, content = ask(page.url, path)
            assert status == 404, path
            assert "afflux" not in content
    assert refused(page.url)


def test_every_run_has_another_address():
    with Page() as one, Page() as other:
        assert urlsplit(one.url).path != urlsplit(other.url).path
        assert urlsplit(one.url).port != urlsplit(other.url).port


def test_the_page_can_load_nothing():
    content, policy = _content()
    html = content.decode()
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert not re.findall(r"\son\w+=|\sstyle=|@import|url\(", html)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert all("unsafe" not in rule and "*" not in rule for rule in rules.values())
    assert rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"


def test_states_come_as_they_are_published_and_the_end_last():
    page = Page()
    with page:
        page.publish({"head": "one"})
        stream = events(page.url)
        assert next(stream) == ("message", {"head": "one"})
        page.publish({"head": "two"})
        assert next(stream) == ("message", {"head": "two"})
        rest: list[tuple[str, Any]] = []
        reader = threading.Thread(target=lambda: rest.extend(stream))
        reader.start()
    reader.join(10)
    assert rest == [("message", {"head": "two"}), ("end", {"failed": False})]


def test_an_error_is_told_as_such():
    page = Page()
    told: list[tuple[str, Any]] = []

    def run() -> None:
        with page:
            stream = events(page.url)
            next(stream)
            readers.append(threading.Thread(target=lambda: told.extend(stream)))
            readers[0].start()
            raise KeyError

    readers: list[threading.Thread] = []
    with pytest.raises(KeyError):
        run()
    readers[0].join(10)
    assert told[-1] == ("end", {"failed": True})


def test_pages_that_are_not_read_do_not_keep_a_run_from_ending():
    with Page() as page:
        place = urlsplit(page.url)
        idle = [socket.create_connection((place.hostname, place.port)) for _ in range(MOST + 4)]
        for one in idle:
            one.sendall(f"GET {place.path}events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
        starts = [one.recv(12) for one in idle]
        assert starts.count(b"HTTP/1.0 200") == MOST
        page.publish({"head": "x" * 1_000_000})
    for one in idle:
        one.close()


class Shown:
    """Collects the states of a page."""

    def __init__(self) -> None:
        self.states: list[dict[str, Any]] = []

    def __call__(self, state: dict[str, Any]) -> None:
        json.dumps(state)
        self.states.append(state)


@pytest.mark.parametrize(("threads", "rounds"), [(1, 100), (2, 10)])
def test_the_results_are_the_same_bytes(tmp_path, monkeypatch, threads, rounds):
    # The page is updated at every opportunity, even if the run is very short.
    monkeypatch.setattr(watching.simulation, "EVERY", 0.0)
    scenario = tmp_path / "long.toml"
    # Threads wait for each other after every window, which takes long on a busy machine.
    scenario.write_text(LONG.replace("rounds = 2000", f"rounds = {rounds}"))
    loaded = afflux.load(scenario).check(threads=threads)
    loaded.run(tmp_path / "plain")
    shown = Shown()
    simulation = Simulation(loaded, lambda progress: None, shown)
    loaded.run(tmp_path / "watched", on_progress=simulation, interval=0.0)
    simulation.close()
    for file in ("flows.parquet", "links.parquet", "paths.parquet", "scenario.toml"):
        assert (tmp_path / "plain" / file).read_bytes() == (
            tmp_path / "watched" / file
        ).read_bytes(), file
    plain, watched = (
        json.loads((tmp_path / name / "summary.json").read_text()) for name in ("plain", "watched")
    )
    for key in ("result_hash", "ports_hash", "counters_hash", "drops", "packet_hops"):
        assert plain[key] == watched[key]
    last = shown.states[-1]
    if "queues" not in last:
        pytest.skip("the run was over before it could be watched")
    # The last state covers the whole run.
    facts = {name: value for name, value, _ in last["facts"]}
    assert facts["flows ended"] == f"{watched['flows']['finished']:,}"
    assert facts["dropped"] == f"{watched['drops']:,}"
    assert last["queues"]["rows"] == []
    assert last["completion"]["sentence"].startswith(
        f"{watched['flows']['finished']:,} flows have ended: "
    )


def test_the_queue_before_the_client_is_shown_while_it_stands(tmp_path, monkeypatch):
    monkeypatch.setattr(watching.simulation, "EVERY", 0.0)
    scenario = tmp_path / "long.toml"
    scenario.write_text(LONG.replace("rounds = 2000", "rounds = 200000"))
    loaded = afflux.load(scenario).check(threads=1)
    shown = Shown()
    simulation = Simulation(loaded, lambda progress: None, shown)

    class Seen(Exception):
        """Ends the run, which would take minutes, once the expected state was shown."""

    def look(progress: afflux.Progress) -> None:
        simulation(progress)
        if any(
            row["name"] == "switch0.0" and row["peer"] == "host0"
            for row in shown.states[-1].get("queues", {"rows": []})["rows"][:1]
        ):
            raise Seen

    with pytest.raises(Seen):
        loaded.run(on_progress=look, interval=0.0)


def test_a_view_agrees_with_the_summary(tmp_path):
    scenario = tmp_path / "small.toml"
    scenario.write_text(LONG.replace("rounds = 2000", "rounds = 400") + '\n[run]\nwarmup = "5ms"\n')
    kept: list[afflux.Progress] = []
    result = afflux.load(scenario).run(
        on_progress=lambda progress: (progress.view(), kept.append(progress)), interval=0.0
    )
    if not kept:
        pytest.skip("the run was over before it could be watched")
    view = kept[-1].view()
    assert view is not None
    counted = [
        fct
        for fct, start in zip(
            result.flows.column("fct_ns"), result.flows.column("start_ns"), strict=True
        )
        if start >= 5_000_000
    ]
    assert (
        sum(count for _, _, count in view.fct_ns)
        == sum(count for _, _, count in view.slowdown)
        == len(counted)
    )
    for steps, what, suffix in ((view.fct_ns, "fct", "_ns"), (view.slowdown, "slowdown", "")):
        for share, name in ((0.5, "p50"), (0.99, "p99")):
            assert quantile(steps, share) == pytest.approx(
                result.summary[what]["all"][name + suffix], rel=0.02
            )
    assert (view.drops, view.timeouts) == (result.summary["drops"], result.summary["timeouts"])


def test_quantiles_of_a_histogram():
    steps = [(10, 11, 1), (20, 30, 2), (100, 200, 1)]
    assert quantile(steps, 0) == 10
    assert quantile(steps, 0.5) == 25
    assert quantile(steps, 1) == 200
    shown = completion(steps, steps)
    assert max(shown["bars"]) == 1
    assert [tick["text"] for tick in shown["ticks"]] == ["10 ns", "100 ns", "1 µs"]
    assert completion([], [])["sentence"] == "No flow has ended that counts."


def test_the_command_serves_its_page_while_it_runs(tmp_path):
    (tmp_path / "long.toml").write_text(LONG.replace("rounds = 2000", "rounds = 200000"))
    words = [sys.executable, "-m", "afflux", "run", "long.toml", "--watch"]
    with subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as running:
        assert running.stderr is not None
        line = running.stderr.readline()
        url = line.removeprefix("watch: ").strip()
        assert url.startswith("http://127.0.0.1:"), line
        assert ask(url)[0] == 200
        for kind, state in events(url):
            assert kind == "message"
            if "queues" in state:
                assert 0 < state["share"] < 1
                break
        else:
            pytest.fail("the run ended before its queues were shown")
        running.terminate()
        running.wait(30)
    assert refused(url)
    assert not (tmp_path / "out" / "small-1").exists()


def test_there_is_no_page_unless_asked_for(process, scenario):
    done = process("run", scenario())
    assert done.returncode == 0
    assert "http" not in done.stderr
    done = process("run", scenario(), "--watch", "--force")
    assert done.returncode == 0
    assert re.search(r"(?m)^watch: http://127\.0\.0\.1:\d+/[\w-]{32}/$", done.stderr)


def test_the_points_of_a_batch(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(INCAST)
    shown = Shown()
    points = [
        Point(name, path, {"switch.buffer": buffer}, seed)
        for name, buffer in (("few", "9packets"), ("many", "90packets"))
        for seed in (1, 2)
    ]
    metric = next(metric for metric in METRICS if metric.name == "fct_mean_ns")
    watch = Points("sweep small.toml", batch.Silent(), shown, [metric])
    batch.run(points[:2], tmp_path / "all", watch=watch)
    outcome = batch.run(points, tmp_path / "all", watch=watch)
    first, last = shown.states[0], shown.states[-1]
    assert first["table"] is None
    assert last["end"] == "4 of 4 points"
    assert "2 read from an earlier run" in last["sub"]
    rows = {row["name"]: row for row in last["table"]["rows"]}
    assert last["table"]["heads"][0] == "FCT mean"
    for name in ("few", "many"):
        values = [outcome.results[name, seed].summary["fct"]["all"]["mean_ns"] for seed in (1, 2)]
        assert rows[name]["seeds"] == 2
        assert rows[name]["cells"][0] == metric.brief(sum(values) / 2)
        assert all(0 <= dot <= 1 for dot in rows[name]["dots"])


def test_a_failed_point_is_named(tmp_path):
    shown = Shown()
    watch = Points("sweep", batch.Silent(), shown, ())
    watch.begin(3, 0)
    watch.running({"a-1": 0.5})
    assert shown.states[-1]["running"] == [{"name": "a-1", "value": "50 %", "share": 0.5}]
    watch.finished("a-1", 1.0, "out of memory")
    assert shown.states[-1]["failed"] == [{"name": "a-1", "value": "out of memory"}]
    assert shown.states[-1]["running"] == []
    assert "1 failed" in shown.states[-1]["sub"]


def test_a_sweep_a_search_and_a_study_take_it(process, scenario):
    done = process("sweep", scenario(), "--vary", "switch.buffer=9packets,90packets", "--watch")
    assert done.returncode == 0, done.stderr
    assert re.search(r"(?m)^watch: http://127\.0\.0\.1:\d+/", done.stderr)
    for name in ("tune", "study"):
        assert "--watch" in process(name, "--help").stdout


def test_without_it_nothing_is_served(tmp_path):
    loaded = afflux.load(_written(tmp_path)).check()
    with watching.of_run(loaded, print, False) as show:
        assert show is print
    silent = batch.Silent()
    with watching.of_batch("sweep", silent, False) as watch:
        assert watch is silent


def _written(folder: Path) -> Path:
    path = folder / "small.toml"
    path.write_text(INCAST)
    return path


@pytest.mark.parametrize("width", [1400, 390])
def test_a_browser_shows_it_without_a_word_on_its_console(browser, width):
    steps = [(1_000.0, 1_100.0, 5), (40_000.0, 41_000.0, 2), (9e6, 9.1e6, 1)]
    rows = [{"name": "leaf0.3", "peer": "host3", "value": "120 kB", "share": 1.0}]
    queues = {
        "sentence": "120 kB in the queues.",
        "rows": rows,
        "line": [[0, 0.1], [0.5, 1], [1, 0.2]],
        "top": "300 kB",
        "ends": ["1 ms", "9 ms"],
    }
    state = {
        "title": "t, seed 1",
        "head": "42 % simulated",
        "share": 0.42,
        "facts": [["dropped", "7", "frames"]],
        "completion": completion(steps, steps),
    }
    dots = {
        "name": "switch.buffer=9MB,switch.ecn.k=<b>",
        "seeds": 2,
        "cells": ["1 ms", "3"],
        "dots": [0, 1],
    }
    table = {
        "heads": ["FCT mean", "queue drops"],
        "ends": ["1 ms", "2 ms"],
        "rows": [dots],
        "note": "Means.",
    }
    troubles: list[str] = []
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    with Page() as served:
        page.on(
            "request",
            lambda request: (
                request.url.startswith((served.url, "data:")) or troubles.append(request.url)
            ),
        )
        served.publish(
            state
            | {"queues": queues, "table": table, "failed": [{"name": "x-1", "value": "<i>why</i>"}]}
        )
        page.goto(served.url)
        page.wait_for_function(
            "() => document.getElementById('head').textContent == '42 % simulated'"
        )
        assert page.locator("#completion rect").count() == 3
        assert page.locator("#queues polyline").count() == 1
        assert page.locator("#table .dots i").count() == 2
        assert page.locator("#failed").inner_text().endswith("<i>why</i>")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator("#state").inner_text() == "● live"
    page.wait_for_function("() => document.getElementById('state').textContent == '✓ ended'")
    assert page.locator("#head").inner_text() == "42 % simulated"
    assert not troubles
    page.context.close()
