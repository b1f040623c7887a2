"""Every behaviour that `compat = "conweave-ns3"` copies is stated in the description of that
simulator, and no other one is named so."""

import json
import re

from conftest import SHARED
from given import REFERENCE

#: Passages of the README of the reference runs, and of MODEL.md next to the raw runs, that state
#: each behaviour. Line breaks and multiple blanks count as one blank.
STATED = {
    "whole_nanoseconds": [
        "**truncated to whole ns**",
        "nextAvail = now + wire_size*8/rate(QP) (truncated ns)",
    ],
    "ecmp_hash": [
        "MurmurHash3-x86-32 over 12 bytes (sip, dip, sport | dport<<16; little endian words), seed = switch node id, modulo number of next hops"
    ],
    "flow_ports": [
        "source port 10000,10001,.. counted per source, destination port 100,101,.. counted per destination, in file order"
    ],
    "drill_memory": ["the port chosen last time for this destination IP (memory 1)"],
    "flowlet_key": ["Key = (dip, sport, dport|pg), i.e. without the source IP"],
    "conga_routed": [
        "X += packet size for every UDP data packet leaving",
        "3 bits but not clamped",
    ],
    "conga_reports": [
        "each data packet to a ToR carries one uniformly random from-leaf entry back"
    ],
    "conga_choice": [
        "take 4 *consecutive* paths at a random offset",
        "min wins, random among ties",
    ],
    "conga_aging": [
        "Aging every 500 us: to-leaf entries older than 500 us -> 0, from-leaf entries erased"
    ],
    "conweave_tags": [
        "ConWeave/CONGA/LetFlow per-packet metadata are ns-3 *tags*: zero bytes on the wire"
    ],
    "conweave_queues": [
        "VOQ, one FIFO per flow, unlimited memory, not charged to the MMU until released"
    ],
    "conweave_release": ["TAIL arrival reschedules it to now + 1 ns"],
    "conweave_age": ["State idle > 2 ms is erased at both ends"],
    "cnp_out_of_order": ["or (added by these authors) if the packet was out of order"],
    "irn_plain_ack": ["Recovery ends when una >= recovery_seq, or at any pure ACK"],
    "irn_repeats": [
        "recovery_seq = nxt, nxt = una, recovery on (retransmits from una, skipping SACKed blocks as nxt reaches the front block)"
    ],
    "irn_forgets": ["skipping SACKed blocks as nxt reaches the front block"],
}


def deviations(command) -> dict[str, dict]:
    done = command("models", "--json")
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout) if row["kind"] == "compat"}


def test_what_compat_does_is_listed(command):
    found = deviations(command)
    assert found.keys() == STATED.keys()
    assert all("conweave-ns3" in row["source"] and row["faithful"] for row in found.values())


def test_what_compat_does_is_in_the_reference(command):
    names = deviations(command)
    items = dict(
        re.findall(
            r"^- `(\w+)`: (.+)$",
            (REFERENCE / "README.md").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )
    assert items.keys() == names.keys()
    assert not {
        name: passage for name in names for passage in STATED[name] if passage not in items[name]
    }
    # Checks the whole description, if the raw runs are available.
    model = SHARED / "reference/conweave/MODEL.md"
    if model.is_file():
        text = " ".join(model.read_text(encoding="utf-8").split())
        assert not {
            name: passage
            for name in names
            for passage in STATED[name]
            if " ".join(passage.split()) not in text
        }
