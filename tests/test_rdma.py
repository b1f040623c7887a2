"""Completion time of an RDMA message in a scenario file."""

from pathlib import Path

import pytest

import afflux

STAR = """\
format = 1
[topology]
kind = "star"
hosts = 2
rate = "100Gbps"
delay = "1us"
[host]
wire = "rocev2"
timing = "exact"
[host.transport]
kind = "rdma"
congestion = "none"
mode = "irn"
[[traffic]]
kind = "pairs"
pairs = [[0, 1]]
sizes = "10240B"
[run]
fct_end = "{end}"
"""


@pytest.mark.parametrize("end", ["last_byte", "last_ack"])
def test_a_message_of_rocev2_takes_the_time_of_its_frames(tmp_path: Path, end: str) -> None:
    """Ten packets with 1024 B of payload in frames of 1086 B, each with 20 B of preamble and gap.
    The last one crosses two links. Then an acknowledgement of 66 B."""
    per_byte, links, propagation = 8 / 100, 2, 1000
    expected = (10 + links - 1) * (1086 + 20) * per_byte + links * propagation
    if end == "last_ack":
        expected += links * ((66 + 20) * per_byte + propagation)
    (tmp_path / "star.toml").write_text(STAR.format(end=end))
    (took,) = afflux.load(tmp_path / "star.toml").run().flows.column("fct_ns")
    assert took == round(expected)
