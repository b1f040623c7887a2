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

They are slow (a call into Python for every acknowledgement: about ten microseconds), run on one thread, and are outside the promise that the same
scenario gives the same bytes everywhere: that is up to the class. Losses are found and repaired by the scenario's transport.
"""

import math

from ._core import Ack

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
