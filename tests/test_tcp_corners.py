"""Connections at the edges of TCP's rules: small messages before a large one, handshakes longer
than a SYN's time-out."""

import pytest

from afflux.scenario import Scenario

PATH = """
format = 1
[topology]
kind = "star"
hosts = 2
rate = "{rate}"
delay = "{delay}"
[switch]
sharing = "static"
buffer = "4000packets"
[host]
timing = "exact"
[host.transport]
congestion = "{congestion}"
receive_window = "64MB"
send_buffer_max = "64MB"
[[traffic]]
{traffic}
"""


def completions(tmp_path, **chosen):
    file = tmp_path / "path.toml"
    file.write_text(PATH.format(**chosen))
    result = Scenario.load(file).run()
    return list(result.flows.column("fct_ns")), result.summary["timeouts"]


@pytest.mark.parametrize("congestion", ["bbr", "bbr3"])
def test_small_messages_do_not_tell_the_rate_of_the_path(tmp_path, congestion):
    """A round trip of 10 ms at 1 Gbps: 20 MB take 160 ms besides slow start, 250 ms over a fresh
    connection. If the rate of 10 segments in 50 ms counted as that of the path, they would take
    twice as long."""
    rows = [f"{50_000_000 * number},0,1,14600" for number in range(30)]
    (tmp_path / "small.csv").write_text(
        "\n".join(["start_ns,src,dst,bytes", *rows, "1600000000,0,1,20000000"])
    )
    (tmp_path / "fresh.csv").write_text("start_ns,src,dst,bytes\n0,0,1,20000000\n")
    took = {}
    for name in ("small", "fresh"):
        block = f'kind = "flows"\nfile = "{name}.csv"\npersistent = true'
        fct, _ = completions(
            tmp_path, rate="1Gbps", delay="2500us", congestion=congestion, traffic=block
        )
        took[name] = fct[-1] / 1e6
    assert took["small"] < 1.1 * took["fresh"], took


@pytest.mark.parametrize("delay", ["260ms", "300ms", "475ms", "650ms"])
def test_a_round_trip_above_the_time_out_of_a_syn(tmp_path, delay):
    """The first SYN is answered after the second one was sent. Its answer is measured from the
    first, so no time-out is too short for the path."""
    block = 'kind = "pairs"\npairs = [[1, 0]]\nsizes = "2MB"'
    (fct,), timeouts = completions(
        tmp_path, rate="100Mbps", delay=delay, congestion="bbr", traffic=block
    )
    round_trip = 4 * float(delay.removesuffix("ms")) / 1e3
    # The SYN is sent again after 1 s, and after 3 s.
    assert timeouts == (1 if round_trip < 3 else 2)
    # Slow start from 10 segments needs eight round trips for 1,370, and BBR measures the round trip
    # again every 10 s. Measured from the wrong SYN it took 37.
    assert fct / 1e9 < 15 * round_trip
