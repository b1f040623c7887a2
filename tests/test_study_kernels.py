"""Parts of studies with Linux kernels as hosts: scenarios, what is read from captures, tables, and
what happens without an image."""

import struct

import pytest

from afflux import studies
from afflux.studies import guests
from afflux.studies.guests import KERNEL, MODEL, Segment
from afflux.studies.longfat import kernels as longfat
from afflux.studies.mptcp import background
from afflux.studies.mptcp import kernels as mptcp

#: Modules by study and part.
PARTS = {
    ("longfat", "kernels"): longfat,
    ("mptcp", "kernels"): mptcp,
    ("mptcp", "background"): background,
}


@pytest.fixture
def no_image(tmp_path, monkeypatch):
    monkeypatch.setenv("AFFLUX_KERNELS", str(tmp_path / "none"))


def frame(src: str, dst: str, flags: int, payload: int, seq: int = 0) -> bytes:
    """Returns the headers of a TCP frame; ports are 40000 and 5001."""
    ends = [bytes(map(int, address.split("."))) for address in (src, dst)]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + payload, 0, 0, 64, 6, 0) + b"".join(ends)
    tcp = struct.pack(">HHIIBBHHH", 40000, 5001, seq, 0, 5 << 4, flags, 0, 0, 0)
    return bytes(12) + b"\x08\x00" + ip + tcp


def capture(*frames: tuple[int, bytes]) -> bytes:
    head = struct.pack("<IIIIII", 0xA1B23C4D, 0x00040002, 0, 0, 128, 1)
    return head + b"".join(
        struct.pack("<IIII", time // 10**9, time % 10**9, len(content), len(content)) + content
        for time, content in frames
    )


def test_segments_of_a_capture():
    ends = ("10.0.0.2", "10.3.0.4")
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    found = guests.segments(
        capture((1_000_000_005, frame(*ends, 2, 0)), (7, arp), (9, frame(*ends, 17, 1000, 77)))
    )
    src, dst = (ends[0], 40000), (ends[1], 5001)
    assert found == [
        Segment(1_000_000_005, src, dst, True, False, 0, 0),
        Segment(9, src, dst, False, True, 1000, 77),
    ]


def test_flows_of_captures():
    first, second = (("10.1.0.2", "10.1.0.4"), ("10.2.0.2", "10.2.0.4"))
    left = {
        "host1.pcap": capture(
            (1_000_000, frame(*first, 2, 0)),
            (2_000_000, frame(*second, 2, 0)),
            (9_000_000, frame(*first, 17, 500)),
        ),
        "host3.pcap": capture(
            (5_000_000, frame(*first, 16, 500)),
            (8_000_000, frame(*second, 16, 500)),
            (11_000_000, frame(*first, 17, 500)),
            (12_000_000, frame(*first, 16, 0)),
        ),
    }
    assert mptcp.of_captures(left) == [mptcp.Flow(10.0, 8.0), mptcp.Flow(6.0, None)]


def segment(time: int, seq: int, payload: int, syn: bool = False) -> Segment:
    return Segment(time, ("10.0.0.2", 40000), ("10.0.0.4", 5001), syn, False, payload, seq)


def test_a_connection_is_complete_when_its_last_hole_is_filled():
    first = 2**32 - 101
    arrived = [
        segment(1, first, 0, syn=True),
        segment(2, 2**32 - 100, 100),
        segment(3, 200, 100),
        # A retransmission of bytes that are there, and of half of the hole.
        segment(4, 0, 100),
        segment(5, 50, 100),
        segment(6, 150, 100),
        # A spurious retransmission after the end.
        segment(7, 200, 100),
    ]
    assert guests.complete(arrived, 400) == 6
    assert guests.complete(arrived[:5], 400) is None
    assert guests.complete(arrived, 401) is None


def test_flows_beside_mptcp_by_path():
    loaded, other = (("10.1.0.2", "10.1.0.4"), ("10.2.0.2", "10.2.0.4"))
    size = background.BYTES // 2
    left = {
        "host1.pcap": capture(
            (1_000_000, frame(*loaded, 2, 0, 9)),
            (2_000_000, frame(*other, 2, 0, 9)),
            # A SYN that is sent again does not begin a flow.
            (3_000_000, frame(*loaded, 2, 0, 9)),
        ),
        "host3.pcap": capture(
            (4_000_000, frame(*loaded, 2, 0, 9)),
            (4_000_000, frame(*other, 2, 0, 9)),
            (5_000_000, frame(*loaded, 16, size, 10)),
            (6_000_000, frame(*other, 16, size, 10)),
            (9_000_000, frame(*other, 16, size, 10 + size)),
            (11_000_000, frame(*loaded, 16, size, 10 + size)),
        ),
    }
    assert background.of_captures(left) == [
        background.Flow(True, 10.0),
        background.Flow(False, 7.0),
    ]


@pytest.mark.parametrize("name", PARTS)
def test_without_an_image_kernels_are_left_out_and_the_table_says_so(name, no_image, tmp_path):
    part = PARTS[name]
    runs = list(part.COMPARISON.wanted(tmp_path / "none.csv", False))
    assert runs
    assert {run.sender for run in runs} == {MODEL}
    table = part.table(tmp_path / "none.csv")
    assert f"{len(runs)} runs of kernels are left out" in table
    assert "afflux kernel build" in table
    # Lines that come with afflux count.
    shipped = list(part.COMPARISON.wanted(part.FILE, False))
    assert {run.sender for run in shipped} == {KERNEL, MODEL}
    assert not part.SERIES.missing(part.FILE)
    assert "left out" not in part.table(part.FILE)


@pytest.mark.parametrize("name", PARTS)
def test_tables_are_those_of_the_readme(name):
    part = PARTS[name]
    study, named = name
    readme = (studies.files(study) / "README.md").read_text(encoding="utf-8")
    assert part.table(part.FILE) in readme
    assert studies.find(study).part(named) is part.SERIES


@pytest.mark.parametrize(("model", "found"), [(70.0, "confirm"), (84.0, "change")])
def test_the_finding_about_long_paths(model, found, tmp_path):
    file = tmp_path / "kernels.csv"
    values = dict.fromkeys(longfat.FIGURES, "") | {"last_20_s_mbps": 72.0}
    case = next(iter(longfat.BUFFERS))
    longfat.COMPARISON.write(longfat.Run(case, KERNEL, 1), values, file)
    assert longfat.finding(file) == ""
    values["last_20_s_mbps"] = model
    longfat.COMPARISON.write(longfat.Run(case, MODEL, 1), values, file)
    said = longfat.finding(file)
    assert f"the kernels {found} the rate" in said
    assert f"72.0 Mbps, and {model:.1f} Mbps in the model" in said
    assert "neither fills the link" in said


@pytest.mark.parametrize(("model", "found"), [(10.2, "confirm"), (69.9, "change")])
def test_the_finding_about_flows_beside_mptcp(model, found, tmp_path):
    file = tmp_path / "background.csv"
    for case in background.CASES:
        for sender, loaded, late in ((KERNEL, 10.0, 0), (MODEL, model, 3)):
            values = dict.fromkeys(background.FIGURES, 1) | {
                "loaded_ms": loaded,
                "other_ms": 7.0,
                "later_than_130_ms": late,
                "loaded_flows": 25,
            }
            background.COMPARISON.write(background.Run(case, sender, 1), values, file)
    said = background.finding(file)
    assert said.count(f"the kernels {found} how much later") == 2
    assert f"3.0 ms, and {model - 7:.1f} ms in the model" in said
    assert "0 of 25 take more than 130 ms, and 3 of 25 in the model" in said


@pytest.mark.parametrize(
    ("model", "found", "told"),
    [
        ((40.0, 120.0), "agree within chance on", " (difference 5.0 ms, -439.7 to 449.7)"),
        ((160.0, 169.0), "change", ""),
        # The means are alike, but two seeds that differ so much confirm nothing.
        ((60.0, 109.5), "agree within chance on", " (difference 0.2 ms, -250.7 to 251.2)"),
        ((79.5, 90.5), "agree within chance on", " (difference 0.0 ms, -6.4 to 6.4)"),
        ((80.1, 90.1), "confirm", ""),
    ],
)
def test_the_finding_by_seeds_about_flows_beside_mptcp(model, found, told, tmp_path):
    file = tmp_path / "background.csv"
    for case in background.CASES:
        for seed, loaded in enumerate(model, 1):
            for sender, value in ((KERNEL, (80.0, 90.0)[seed - 1]), (MODEL, loaded)):
                values = dict.fromkeys(background.FIGURES, 1) | {"loaded_ms": value}
                background.COMPARISON.write(background.Run(case, sender, seed), values, file)
    mean = sum(model) / 2 - 1
    assert (
        f"kernels {found} how much later flows on the background's paths are: 84.0 ms, "
        f"and {mean:.1f} ms in the model{told};" in background.finding(file)
    )


@pytest.mark.parametrize(("model", "found"), [(7.5, "confirm"), (8.5, "change")])
def test_the_finding_about_lone_flows(model, found, tmp_path):
    file = tmp_path / "kernels.csv"
    for case in mptcp.CASES:
        for sender, last, fin in ((KERNEL, 7.4, 7.7), (MODEL, model, "")):
            values = dict.fromkeys(mptcp.FIGURES, 1) | {"last_byte_ms": last, "fin_ms": fin}
            mptcp.COMPARISON.write(mptcp.Run(case, sender, 1), values, file)
    said = mptcp.finding(file)
    assert f"The kernels {found} the times to the last byte" in said
    assert "7.7 ms (a tenth of the rates) and 7.7 ms (printed rates)" in said


def test_scenarios_are_valid(tmp_path):
    for buffers in longfat.BUFFERS:
        for sender in (KERNEL, MODEL):
            assert longfat.scenario(longfat.Run(buffers, sender, 2)).check(seed=2).hosts == 8
    for case in background.CASES:
        assert (
            background.with_model(background.Run(case, MODEL, 2), tmp_path).check(seed=2).hosts == 4
        )
        if background.shutil.which("ip"):
            kernels = background.with_kernels(background.Run(case, KERNEL, 2)).check(seed=2)
            assert "10.3.0.4 5001 70000B" in kernels.resolved
            assert "10.0.0.3 5001 1000 mptcp" in kernels.resolved
    for case in mptcp.CASES:
        loaded = mptcp.with_model(mptcp.Run(case, MODEL, 2), tmp_path).check(seed=2)
        assert loaded.hosts == 4
        kernels = mptcp.with_kernels(mptcp.Run(case, KERNEL, 2)).check(seed=2)
        assert "10.3.0.4 5001 70000B" in kernels.resolved


def test_starts_of_short_flows():
    first, second = mptcp.starts(1), mptcp.starts(2)
    assert first != second
    assert len(first) == 50
    assert all(0 <= start % 200_000_000 < 8_000_000 for start in first)
