"""Errors in configurations of SONiC name the user's file and field."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from sonic_base import base

from afflux.exchange import sonic


def wrong(folder: Path, text: str) -> str:
    path = folder / "config_db.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r".") as error:
        sonic.imported([path])
    message = str(error.value)
    assert "imported.toml" not in message
    assert message.startswith(f"{path}:")
    assert not re.search(r"[A-Z]\w+Error|\berrno\b", message)
    return message


def test_a_key_that_occurs_twice_is_named(tmp_path):
    assert "config_db.json:1: found the key SCHEDULER twice" in wrong(
        tmp_path, '{"SCHEDULER": {"a": {"weight": "1"}}, "SCHEDULER": {"a": {"weight": "2"}}}'
    )
    nested = '{"QUEUE": {"a": {"weight": "1"}},\n"SCHEDULER": {"a": {"weight": "1",\n"type": "DWRR", "w\\u0065ight": "2"}}}'
    assert "config_db.json:3: found the key SCHEDULER → a → weight twice" in wrong(tmp_path, nested)
    assert "thousands of digits" in wrong(tmp_path, '{"a": ' + "9" * 5_000 + "}")


def test_errors_name_the_line_as_editors_read_it(tmp_path):
    message = wrong(tmp_path, '{"BUFFER_POOL":\n3}')
    expected = "config_db.json:1: BUFFER_POOL: found a number, expected an object of entries"
    assert message == f"{tmp_path}/{expected}"


def edited(*path_and_value: Any) -> str:
    tables: Any = base()
    *path, value = path_and_value
    at = tables
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(tables, indent=1)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            ("BUFFER_POOL", "ingress_lossless_pool", "size", "2000000000000"),
            "BUFFER_POOL → ingress_lossless_pool → size = 2000000000000 becomes switch.buffer",
        ),
        (
            ("BUFFER_PROFILE", "egress_lossy_profile", "size", "99000000"),
            "BUFFER_PROFILE → egress_lossy_profile → size = 99000000 becomes switch.reserved",
        ),
        (
            ("BUFFER_PROFILE", "pg_lossless_profile", "xon", "99000000"),
            "BUFFER_PROFILE → pg_lossless_profile → xon = 99000000 becomes switch.mmu.xon",
        ),
        (
            ("BUFFER_POOL", "ingress_lossless_pool", "size", "100000"),
            "BUFFER_POOL → ingress_lossless_pool → size = 100000 becomes switch.buffer",
        ),
        (
            ("WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold", "9000000"),
            "green_min_threshold: found '9000000', expected at most green_max_threshold",
        ),
        (
            ("PFC_WD", {"Ethernet0": {"detection_time": "0"}}),
            "PFC_WD → Ethernet0 → detection_time: found '0', expected a whole number from 1",
        ),
        (
            ("QUEUE", "Ethernet0|4-3", {}),
            "QUEUE → Ethernet0|4-3: '4-3': expected a number or a range of queues",
        ),
        (
            ("QUEUE", "leaf1|Ethernet0|3", {}),
            "expected a key of the form port|priorities or card|chip|port|priorities",
        ),
        (
            ("PORT", {"Ethernet0": {"speed": "fast"}}),
            "PORT → Ethernet0 → speed: found 'fast', expected a whole number",
        ),
        (
            ("BUFFER_PG", "Ethernet0|0", {"profile": None}),
            "BUFFER_PG → Ethernet0|0 → profile: found null, expected text",
        ),
    ],
)
def test_errors_name_the_users_file_and_field(tmp_path, edit, says):
    assert says in wrong(tmp_path, edited(*edit))


def test_an_error_about_the_scenario_names_the_scenario(tmp_path):
    path, into = tmp_path / "config_db.json", tmp_path / "fabric.toml"
    path.write_text(json.dumps(base()))
    into.write_text(
        'format = 1\n[topology]\nkind = "star"\nhosts = 2\nrate = "10Gbps"\ndelay = "1us"\n[host]\nmtu = "9999999B"\n'
    )
    with pytest.raises(ValueError, match=r"fabric\.toml") as error:
        sonic.imported([path], into)
    assert "host.mtu" in str(error.value)
