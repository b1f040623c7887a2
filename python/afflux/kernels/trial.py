"""Trial of an image: two guests, one of which pings the other over 300 ms of simulated network."""

import re
import tempfile
from pathlib import Path

from .. import _core
from .._core import Error

#: Two hosts with 75 ms to their switch: 300 ms there and back.
SCENARIO = """
format = 1
name = "kernel-check"

[topology]
kind = "star"
hosts = 2
rate = "1000Gbps"
delay = "75ms"

[[host.kernel]]
match = "host*"
image = "{version}"

[host.kernel.at]
"1s" = 'test "$AFFLUX_NUMBER" = 1 || ping -c 3 host1'

[run]
until = "6s"
"""


def ping(version: str) -> str:
    """Returns the line with the round trips that the guest measured."""
    with tempfile.TemporaryDirectory(prefix="afflux-") as folder:
        loaded = _core.parse(SCENARIO.format(version=version), Path(folder) / "check.toml")
        result = loaded.run()
    if result.kernel_failure:
        raise Error(result.kernel_failure)
    console = dict(result.kernel_files)["host0.console"].decode()
    found = re.search(r"^round-trip .* = (\S+)/(\S+)/(\S+) ms$", console, re.MULTILINE)
    if not found or any(f"{float(value):.2f}" != "300.00" for value in found.groups()):
        raise Error(f"the guest did not measure 300 ms; its console:\n{console}")
    return found[0]
