"""Designs as the core parses them: with defaults and presets, in canonical units. Two designs are
compared in this form, so a key that is left out equals its default."""

import os
import tomllib
from collections.abc import Mapping
from typing import Any

from ... import _core
from ...files import toml
from ..into import STAND_IN
from .design import Design
from .losses import Losses
from .switch import of_settings, to_scenario
from .tables import ConfigError

#: A fabric of one switch, for settings without a fabric.
_STAR = {"kind": "star", "hosts": 2, "rate": "25Gbps", "delay": "1us"}


class Meaning:
    """Settings of a switch, and the design that they are. `dscp` is the priority of each DSCP."""

    def __init__(self, settings: Mapping[str, Any], dscp: list[int]) -> None:
        self.settings = settings
        self.losses = Losses()
        self.design = of_settings(settings, dict(enumerate(dscp)), self.losses)


def of_switch(checked: _core.Scenario, name: str) -> Meaning:
    """Returns the settings of a switch of a scenario."""
    settings = checked.switch_settings(name)
    assert settings is not None, "it is one of the switches"
    return Meaning(tomllib.loads(settings), checked.priority_of_dscp)


def of_design(design: Design, host: Mapping[str, Any], path: str | os.PathLike[str]) -> Meaning:
    """Returns the settings of a switch that has the design of tables. `host` is that of the
    scenario: defaults depend on the MTU."""
    made = to_scenario(design)
    mtu = {"mtu": host["mtu"]} if "mtu" in host else {}
    data = {
        "format": 1,
        "topology": _STAR,
        "traffic": [STAND_IN],
        "switch": made["switch"],
        "host": {**mtu, **made.get("host", {})},
    }
    try:
        checked = _core.parse(toml.dumps(data), path)
    except _core.ScenarioError as error:
        _, _, said = str(error).partition(f"key {error.key}: ")
        raise ConfigError(
            f"{path}: the tables in [sonic] make no valid switch: {error.key}: {said or error}"
        ) from None
    [switch] = [name for name, kind, *_ in checked.nodes if kind == "switch"]
    return of_switch(checked, switch)
