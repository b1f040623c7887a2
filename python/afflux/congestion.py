"""Congestion controls written in Python, for prototypes.

    class Aimd(afflux.CongestionControl):
        def on_ack(self, ack):
            if ack.may_grow and self.cwnd < self.ssthresh:
                self.cwnd = min(self.cwnd + ack.acked, self.ssthresh)
            elif ack.may_grow:
                self.cwnd += ack.acked / self.cwnd

        def on_loss(self, now_ns):
            self.ssthresh = max(self.cwnd / 2, 2)

    result = afflux.load("star.toml").run(congestion=Aimd)

A scenario names a class in a file, so that sweeps, studies and result directories have it too:

    [host.python]
    file = "aimd.py"
    parameters = { increase = 2.0 }  # keyword arguments of the class

They are slow (a call into Python for every acknowledgement: about ten microseconds), run on one thread, and are outside the promise that the same
scenario gives the same bytes everywhere: that is up to the class. Losses are found and repaired by the scenario's transport.
"""

import functools
import math
import os
import traceback
import types
from collections.abc import Callable, Mapping
from typing import Any

from ._core import Ack, RunError, ScenarioError

__all__ = ["Ack", "CongestionControl"]


class CongestionControl:
    """What one connection reckons with. This one is NewReno's; override what differs.

    The transport changes `cwnd` and `ssthresh`, too: it lowers the window to the threshold after a loss, and to one segment at a time-out. Both
    may have fractions; what counts is the whole segments.
    """

    #: Payload of a full segment in bytes; set before the first acknowledgement, as the two following are.
    mss: int = 0
    #: The congestion window in segments; at first the scenario's `initial_window`.
    cwnd: float = 0
    #: The slow start threshold in segments; at first infinite.
    ssthresh: float = math.inf

    def on_ack(self, ack: Ack) -> None:
        """An acknowledgement has come: change `cwnd`. It counts while `ack.state` is `"open"` or `"loss"`; else the transport sets the window."""
        if not ack.may_grow:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + ack.acked, self.ssthresh)
        else:
            self.cwnd += ack.acked / self.cwnd

    def on_loss(self, now_ns: float) -> None:
        """A segment was lost: set `ssthresh`, to which the transport lowers the window, at once or over a round trip."""
        self.ssthresh = max(self.cwnd / 2, 2)

    def on_ecn(self, now_ns: float) -> None:
        """Marks were echoed, once per window: as a loss unless overridden. Needs `ecn` in the scenario's transport."""
        self.on_loss(now_ns)

    def on_timeout(self, now_ns: float) -> None:
        """Nothing came back in time: set `ssthresh`; the window becomes one segment. As a loss unless overridden."""
        self.on_loss(now_ns)

    def pacing(self) -> float | None:
        """Bits of payload per second at which segments leave; `None`: as the scenario says (`pacing` of its transport)."""
        return None


def is_paced(make: object) -> bool:
    """Has the class a rate of its own? Factories that are no classes are asked through their attribute `paced`."""
    if isinstance(make, type):
        return getattr(make, "pacing", None) is not CongestionControl.pacing
    return bool(getattr(make, "paced", False))


def of_file(path: str | os.PathLike[str], text: str, name: str | None, parameters: Mapping[str, Any]) -> tuple[Callable[[], CongestionControl], bool]:
    """The class in a Python file with its parameters, as a function without arguments, and whether it has a rate of its own.

    Raises `ScenarioError` if the file cannot be executed, has no such class, or the class does not take the parameters.
    """
    path = os.fspath(path)
    module = types.ModuleType(f"afflux congestion control {path}")
    module.__file__ = path
    try:
        exec(compile(text, path, "exec"), module.__dict__)
    except Exception as error:
        line = error.lineno if isinstance(error, SyntaxError) else traceback.extract_tb(error.__traceback__)[-1].lineno
        raise ScenarioError(f"{path}:{line}: host.python.file: {type(error).__name__}: {error}") from error
    found = {key: value for key, value in vars(module).items() if _is_control(value) and value.__module__ == module.__name__}
    if name is None and len(found) != 1:
        what = f'the classes {", ".join(found)}: write class = "NAME" with one of them' if found else _NONE
        raise ScenarioError(f"{path}: host.python.class: the file has {what}")
    if name is not None and name not in found:
        what = f"there are {', '.join(found)}" if found else f"the file has {_NONE}"
        raise ScenarioError(f"{path}: host.python.class: no class {name!r} derived from afflux.CongestionControl: {what}")
    made = found[name or next(iter(found))]
    try:
        made(**parameters)
    except Exception as error:
        raise ScenarioError(f"{path}: host.python.parameters: {made.__name__}({', '.join(f'{k}={v!r}' for k, v in parameters.items())}): {error}") from error
    return functools.partial(made, **parameters), is_paced(made)


def located(path: str | os.PathLike[str], error: Exception) -> Exception:
    """An exception that the class in a file raised, as an error of the run that names file, line and method."""
    path = os.fspath(path)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    place = f"{path}:{frames[-1].lineno}: {frames[-1].name}: " if frames else f"{path}: "
    return RunError(f"{place}{type(error).__name__}: {error}")


_NONE = "no class derived from afflux.CongestionControl"


def _is_control(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, CongestionControl) and value is not CongestionControl
