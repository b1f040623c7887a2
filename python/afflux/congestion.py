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

Such a run is slow (each acknowledgement calls Python, which takes about ten microseconds) and uses
one thread, also if the scenario and `threads` in its summary name more. afflux does not promise that it gives the same bytes everywhere: that depends on the
class. The scenario's transport detects and repairs losses.
"""

import functools
import math
import os
import sys
import tomllib
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _core
from ._core import Ack, RunError, Scenario, ScenarioError

__all__ = ["Ack", "CongestionControl"]


class CongestionControl:
    """Congestion control of one connection. This base class is NewReno; override the methods that
    differ.

    With a handshake (the default) a connection makes two objects: one with the SYN, and one that
    replaces it when the connection opens. Only the second one gets acknowledgements.

    The transport also changes `cwnd` and `ssthresh`: it lowers the window to the threshold after a
    loss, and to one segment at a time-out. Both may be fractional; the transport uses whole
    segments.
    """

    #: Payload of a full segment in bytes. The transport sets `mss`, `cwnd` and `ssthresh` before
    #: the first acknowledgement.
    mss: int = 0
    #: Congestion window in segments. Starts at the scenario's `initial_window`.
    cwnd: float = 0
    #: Slow start threshold in segments. Starts at infinity.
    ssthresh: float = math.inf

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.__dict__.get("pacing")
        if isinstance(own, types.FunctionType):
            setattr(cls, "pacing", _checked(own))  # noqa: B010

    def on_ack(self, ack: Ack) -> None:
        """Changes `cwnd` after an acknowledgement. The change takes effect while `ack.state` is
        `"open"` or `"loss"`; in other states the transport sets the window."""
        if not ack.may_grow:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + ack.acked, self.ssthresh)
        else:
            self.cwnd += ack.acked / self.cwnd

    def on_loss(self, now_ns: float) -> None:
        """Sets `ssthresh` after a lost segment. The transport lowers the window to it, at once or
        over a round trip."""
        self.ssthresh = max(self.cwnd / 2, 2)

    def on_ecn(self, now_ns: float) -> None:
        """Reacts to echoed ECN marks, called once per window. By default calls `on_loss`. Needs
        `ecn` in the scenario's transport."""
        self.on_loss(now_ns)

    def on_timeout(self, now_ns: float) -> None:
        """Sets `ssthresh` after a retransmission time-out. The transport sets the window to one
        segment. By default calls `on_loss`."""
        self.on_loss(now_ns)

    def pacing(self) -> float | None:
        """Returns the pacing rate in payload bits per second. `None` keeps the scenario's setting
        (`pacing` of its transport)."""
        return None


def check_callable(make: object) -> None:
    """Raises `TypeError` if an argument `congestion` cannot make congestion controls."""
    if callable(make):
        return
    if isinstance(make, CongestionControl):
        name = type(make).__name__
        what = (
            f"is an object of {name}, and every connection needs its own: write {name}, the class"
        )
    elif isinstance(make, str):
        what = (
            f"is {make!r}, expected a class such as a subclass of afflux.CongestionControl: to use "
            f'afflux\'s own, set host.transport.congestion = "{make}" in the scenario'
        )
    else:
        what = (
            f"is of type {type(make).__name__}, expected a class such as a subclass of "
            "afflux.CongestionControl, or a function that makes its objects"
        )
    raise TypeError(f"congestion {what}")


def is_paced(make: object) -> bool:
    """True if the class sets its own pacing rate, or that of which `make` is a `functools.partial`.
    Another function says so in its attribute `paced`."""
    if isinstance(make, type):
        return getattr(make, "pacing", None) not in (None, CongestionControl.pacing)
    if isinstance(make, functools.partial) and is_paced(make.func):
        return True
    return bool(getattr(make, "paced", False))


def checked_maker(make: Callable[[], CongestionControl]) -> Callable[[], CongestionControl]:
    """Returns a callable that raises `TypeError` if `make` does not return a congestion control."""
    if isinstance(make, type) and issubclass(make, CongestionControl):
        return make
    name, paced = getattr(make, "__name__", type(make).__name__), is_paced(make)

    def made() -> CongestionControl:
        found: Any = make()
        if isinstance(found, type) or not callable(getattr(found, "on_ack", None)):
            what = f"the class {found.__name__}" if isinstance(found, type) else repr(found)
            raise TypeError(
                f"congestion: {name}() returned {what}, expected a new object of a subclass of "
                "afflux.CongestionControl"
            )
        if not paced and is_paced(type(found)):
            raise TypeError(
                f"congestion: {name}() returned an object of {type(found).__name__}, whose pacing() "
                f"would have no effect: set the attribute paced of {name} to True"
            )
        return found

    return made


def _checked(pacing: types.FunctionType) -> Callable[[CongestionControl], float | None]:
    """Returns a method `pacing` that names itself and its line if its result is not a rate. The
    engine sees the result after the method has returned, so it has no line to name."""

    @functools.wraps(pacing)
    def called(self: CongestionControl) -> float | None:
        rate = pacing(self)
        if rate is None:
            return None
        wanted = f"pacing() is {rate!r}: expected bits per second, more than 0, or None"
        error: Exception | None = None
        try:
            # Unlike float(), isnan() refuses text.
            if math.isnan(rate) or rate <= 0:
                error = ValueError(wanted)
        except TypeError:
            error = TypeError(wanted)
        if error is None:
            return rate
        code = pacing.__code__
        error.__dict__["place"] = code.co_filename, code.co_firstlineno, code.co_name
        raise error

    return called


class _Unsound(Exception):
    """A class of `[host.python]` that cannot be used: the key of the table, and the reason."""


def check_class(
    scenario: Scenario,
    path: str | os.PathLike[str],
    changes: Sequence[tuple[str, str]] = (),
    text: str | None = None,
) -> None:
    """Raises `ScenarioError` if `[host.python]` of a validated scenario names a class that a run
    would refuse. Executes the Python file, as a run does.

    `path` is the scenario file and `text` its content, read from the file if it is `None`.
    `changes` are keys set on the command line, as `_core.load` takes them.
    """
    if not scenario.has_own_congestion:
        return
    own = tomllib.loads(scenario.resolved)["host"]["python"]
    file = Path(own["file"])
    parameters = tuple(own.get("parameters", {}).items())
    try:
        _try(file, file.read_text(encoding="utf-8"), own.get("class"), parameters)
    except _Unsound as error:
        key, reason = error.args
        if text is None:
            text = Path(path).read_text(encoding="utf-8-sig")
        place = _place(f"host.python.{key}", path, changes, text)
        raise _refused(key, reason, f", {place}") from error.__cause__


@functools.lru_cache(maxsize=64)
def _try(path: Path, text: str, name: str | None, parameters: tuple[tuple[str, Any], ...]) -> None:
    """Makes one object of the class. Points of a batch that differ in other keys only have the same
    answer."""
    _class_of(os.fspath(path), text, name, dict(parameters))


def _place(
    key: str, path: str | os.PathLike[str], changes: Sequence[tuple[str, str]], text: str
) -> str:
    """Names the place where a scenario sets a key: an option, or the file with the line of the key
    or of its table."""
    for other, value in reversed(changes):
        if f"{key}.".startswith(f"{other}."):
            return f"{path}: --set {other}={value}"
    parts = key.split(".")
    line = _core.line_of(text, parts) or _core.line_of(text, parts[:-1])
    return f"{path}:{line}" if line else f"{path}"


def _refused(key: str, reason: str, place: str = "") -> ScenarioError:
    error = ScenarioError(f"{reason} (key host.python.{key}{place})")
    error.key = f"host.python.{key}"
    return error


def of_file(
    path: str | os.PathLike[str], text: str, name: str | None, parameters: Mapping[str, Any]
) -> tuple[Callable[[], CongestionControl], bool]:
    """Returns a function without arguments that makes objects of the class in a Python file, and
    whether the class sets its own pacing rate.

    Raises `ScenarioError` if the file cannot be executed, has no such class, or the class does not
    take the parameters.
    """
    try:
        made = _class_of(os.fspath(path), text, name, parameters)
    except _Unsound as error:
        raise _refused(*error.args) from error.__cause__
    return functools.partial(made, **parameters), is_paced(made)


def _class_of(
    path: str, text: str, name: str | None, parameters: Mapping[str, Any]
) -> type[CongestionControl]:
    """Returns the class in a Python file. Raises `_Unsound`."""
    module = types.ModuleType(f"afflux congestion control {path}")
    module.__file__ = path
    # Dataclasses look up the module of a class there.
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, path, "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[module.__name__]
        # The last frame may be in a library that the file calls.
        lines = [frame.lineno for frame in _frames(path, error)]
        if isinstance(error, SyntaxError) and error.filename == path:
            lines.append(error.lineno)
        place = f"{path}:{lines[-1]}" if lines else path
        raise _Unsound("file", f"{place}: {type(error).__name__}: {error}") from error
    found = {
        key: value
        for key, value in vars(module).items()
        if _is_control(value) and value.__module__ == module.__name__
    }
    if name is None and len(found) != 1:
        what = (
            f'the classes {", ".join(found)}: write class = "NAME" with one of them'
            if found
            else _NONE
        )
        raise _Unsound("class", f"{path}: the file has {what}")
    if name is not None and name not in found:
        what = f"there are {', '.join(found)}" if found else f"the file has {_NONE}"
        raise _Unsound(
            "class", f"{path}: no class {name!r} derived from afflux.CongestionControl: {what}"
        )
    made = found[name or next(iter(found))]
    try:
        made(**parameters)
    except Exception as error:
        call = f"{made.__name__}({', '.join(f'{k}={v!r}' for k, v in parameters.items())})"
        raise _Unsound("parameters", f"{path}: {call}: {error}") from error
    return made


def located(path: str | os.PathLike[str], error: Exception) -> Exception:
    """Converts an exception raised by a class in a file to a `RunError` that names file, line and
    method."""
    path = os.fspath(path)
    places = [(frame.lineno, frame.name) for frame in _frames(path, error)]
    own: tuple[str, int, str] | None = getattr(error, "place", None)
    if own and own[0] == path:
        places.append(own[1:])
    place = f"{path}:{places[-1][0]}: {places[-1][1]}: " if places else f"{path}: "
    return RunError(f"{place}{type(error).__name__}: {error}")


def _frames(path: str, error: Exception) -> list[traceback.FrameSummary]:
    """Returns the frames of a traceback that are in this file."""
    return [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]


_NONE = "no class derived from afflux.CongestionControl"


def _is_control(value: object) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, CongestionControl)
        and value is not CongestionControl
    )
