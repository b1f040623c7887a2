"""Records of all transports: paths, gaps, states of senders, captures; and waits of NDP and weighted
Vegas."""

import json

import pytest

import afflux

STAR = """\
format = 1
name = "star"
[topology]
kind = "star"
hosts = {hosts}
rate = "{rate}"
delay = "1us"
[switch]
{switch}
[host.transport]
{transport}
[record]
paths = true
gaps = "all"
senders = "20us"
[[traffic]]
kind = "incast"
to = 0
senders = {senders}
bytes = "{bytes}"
rounds = 1
"""


def star(transport: str, *, hosts=6, senders=4, size="60kB", rate="10Gbps", switch="") -> str:
    return STAR.format(
        transport=transport, hosts=hosts, senders=senders, bytes=size, rate=rate, switch=switch
    )


def run(text: str, **keys: object) -> afflux.Result:
    scenario = afflux.Scenario.parse(text)
    for key, value in keys.items():
        scenario.set(key.replace("__", "."), value)
    return scenario.run(seed=1)


@pytest.mark.parametrize("kind", ["pdq", "d3"])
def test_frames_of_granted_rates_have_paths_and_gaps(kind):
    """Both tables were empty."""
    result = run(star(f'kind = "{kind}"'))
    sent = sum(result.flows["packets_sent"])
    assert sum(result.table("paths")["frames"]) == sent
    gaps = result.table("gaps")
    own = [
        frames
        for node, frames in zip(gaps["node"], gaps["frames"], strict=True)
        if node.startswith("host")
    ]
    assert sum(own) == sent
    # A segment carries at most 1460 B.
    assert 0 < max(result.table("senders")["in_flight_bytes"]) <= 60_000


def test_a_window_below_one_frame_has_a_rate():
    text = star(
        'kind = "rdma"\nmode = "irn"\ncongestion = "swift"', hosts=65, senders=64, size="300kB"
    )
    senders = run(text).table("senders")
    assert min(senders["pacing_bps"]) < 1e9


def test_senders_of_ndp_wait_for_their_pulls():
    """Each of 100 senders timed out between two pulls, and sent frames that nobody had pulled."""
    text = star(
        'kind = "ndp"\ninitial_window = 10',
        hosts=101,
        senders=100,
        size="50kB",
        rate="1Gbps",
        switch='trimming = { data = "12kB", headers = "500kB" }',
    )
    result = run(text)
    assert (result.summary["drops"], result.summary["timeouts"]) == (0, 0)
    # Headers without payload are no frames of data.
    gaps = result.table("gaps")
    to_receiver = sum(
        frames for peer, frames in zip(gaps["peer"], gaps["frames"], strict=True) if peer == "host0"
    )
    assert to_receiver == sum(result.table("paths")["frames"])


def test_state_of_tcp_is_recorded():
    text = star('congestion = "dctcp"\necn = "dctcp"', switch='ecn = { k = "30kB" }', size="1MB")
    senders = run(text).table("senders")
    assert {"open", "reduced"} <= set(senders["state"]) <= {"open", "reduced", "recovery", "loss"}
    assert set(run(star('kind = "pdq"')).table("senders")["state"]) == {None}


def test_weighted_vegas_fills_a_path_without_losses():
    """A window of two segments remained, because the threshold fell with every drain."""
    text = """\
format = 1
name = "lone"
[topology]
kind = "dumbbell"
pairs = 1
access_rate = "1Gbps"
rate = "100Mbps"
delay = "10ms"
[switch]
sharing = "static"
buffer = "450kB"
[host.transport]
receive_window = "4MB"
mptcp = { subflows = 2, coupling = "wvegas" }
[[traffic]]
kind = "pairs"
pairs = [[0, 1]]
sizes = "60MB"
"""
    result = run(text)
    assert result.summary["retransmits"] == 0
    # Each drain of the queues takes half of a subflow's window for a round trip.
    assert result.summary["goodput_bps"] > 60e6


def test_flows_after_the_stop_of_their_block_do_not_start():
    result = run(
        star('congestion = "dctcp"', size="20kB"),
        traffic__0__rounds=3,
        traffic__0__period="1ms",
        traffic__0__stop="1500us",
    )
    flows = result.summary["flows"]
    assert (flows["started"], flows["finished"], flows["not_started"]) == (8, 8, 4)
    late = [start is None for start in result.flows["start_ns"]]
    assert late == [False] * 8 + [True] * 4
    assert set(result.flows["status"][8:]) == {"running"}
    assert set(result.flows["ideal_ns"][8:]) == {None}


def test_every_series_longer_than_the_run_has_a_note():
    result = run(
        star('congestion = "dctcp"'), record__senders="1s", record__ports={"interval": "2s"}
    )
    found = [note for note in result.summary["notes"] if "has no rows" in note]
    for note, table, key in zip(
        found, ("ports", "senders"), ("ports.interval", "senders"), strict=True
    ):
        assert note.startswith(f"{table}.parquet has no rows: the run ended after ")
        assert note.endswith(f"; write a shorter record.{key}")


def test_an_own_capture_counts_no_frame_twice(tmp_path, command):
    text = star('congestion = "dctcp"').replace(
        "[record]\n", '[record]\ncapture = ["host1-switch0"]\n'
    )
    (tmp_path / "s.toml").write_text(text)
    assert command("run", "s.toml", "-o", "out").returncode == 0
    (capture,) = (tmp_path / "out").glob("*.pcapng")
    done = command("import", "pcap", capture, "-o", "flows.csv")
    assert done.returncode == 0, done.stderr
    assert "counts twice" not in done.stdout + done.stderr


def test_tables_of_the_former_format_have_the_names_of_today(tmp_path, command):
    (tmp_path / "s.toml").write_text(star('congestion = "dctcp"'))
    assert command("run", "s.toml", "-o", "out").returncode == 0
    file = tmp_path / "out/senders.parquet"
    table = afflux._core.read_parquet(file)
    names = {
        "window_bytes": "cwnd_bytes",
        "threshold_bytes": "ssthresh_bytes",
        "smoothed_rtt_ns": "srtt_ns",
        "in_flight_bytes": "flight_bytes",
    }
    columns = [(names.get(name, name), table.column(name)) for name in table.column_names]
    afflux._core.write_parquet(
        afflux._core.table_of([pair for pair in columns if pair[0] != "state"]), file
    )
    summary = json.loads((tmp_path / "out/summary.json").read_text()) | {"format": 3}
    del summary["digests"], summary["summary_digest"]
    (tmp_path / "out/summary.json").write_text(json.dumps(summary))
    with pytest.warns(afflux.UncheckedResult):
        opened = afflux.Result.open(tmp_path / "out").table("senders")
    assert opened.column("window_bytes") == table.column("window_bytes")
    assert opened.column("in_flight_bytes") == table.column("in_flight_bytes")
