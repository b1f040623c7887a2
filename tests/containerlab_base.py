"""Topologies of containerlab for tests, and how they are read."""

import tomllib
from pathlib import Path
from typing import Any

from afflux.exchange import containerlab

OPTIONS = containerlab.Options(rate="10Gbps")


def topology_of(
    folder: Path, text: str, options: containerlab.Options = OPTIONS
) -> tuple[dict[str, Any], list[str]]:
    path = folder / "x.clab.yml"
    path.write_text(text)
    scenario, account = containerlab.topology(path, options, None)
    return tomllib.loads(scenario), account.lines()
